"""Conditional random fields: taggers of sequences, with the names of sklearn-crfsuite."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._control import Control, Progress, Report, judge, seed, threads

__all__ = ["CRF"]


class CRF(BaseEstimator):  # type: ignore[misc]
    """A tagger of sequences: a conditional random field on chains.

    ``tol`` is the duality gap relative to the objective, and ``max_iterations`` counts passes over the data; other stopping
    rules of CRFsuite (``epsilon``, ``delta``, ``period``) are not there. `algorithm` has other values, and all of them reach
    the same optimum as CRFsuite's ``"lbfgs"``.

    Minimises ``sum_i -log p(y_i | x_i; w) + c1 ||w||_1 + c2 ||w||^2`` over sequences.

    Parameters
    ----------
    algorithm : {"auto", "sdca", "lbfgs"}, default="auto"
        The method of the training.
    c1 : float, default=0.0
        Weight of the l1 norm, >= 0.
    c2 : float, default=1.0
        Weight of the squared l2 norm, >= 0.
    max_iterations : float, default=10000
        Passes over the data after which the training ends in any case.
    tol : float, default=1e-4
        Largest duality gap, as a fraction of the objective.
    min_freq : int, default=0
        Attributes that occur less often are left out.
    all_possible_states : bool, default=False
        Whether pairs of attribute and label that do not occur have a weight.
    all_possible_transitions : bool, default=False
        Whether pairs of labels that do not occur have a weight.
    bias : bool, default=False
        Whether each label has a weight of its own.
    ends : bool, default=False
        Whether the first token and the last have weights of their own.
    warm_start : bool, default=False
        Whether a training starts at the weights of the last one.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the order of the sequences; None is 0, so that a training can be repeated.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    classes_ : list of str
        The labels, in the order of their first appearance.
    attributes_ : list of str
        The attributes.
    state_features_ : dict
        The weight of each pair ``(attribute, label)``.
    transition_features_ : dict
        The weight of each pair of successive labels.
    report_ : Report
        How the training ended, with its certificate.
    duality_gap_ : float
        A bound of the objective, divided by the number of sequences, less the least objective.
    n_iter_ : int
        Passes over the data.

    Notes
    -----
    A token is a dictionary or a list of strings. In a dictionary, a text ``{"word": "dog"}`` is the attribute ``word:dog``, a
    number is the value of its key, and a list or dictionary has an attribute for each entry.

    Examples
    --------
    >>> from fenchel.crf import CRF
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]]
    >>> y = [["D", "N"], ["D", "N"]]
    >>> model = CRF(c2=0.1).fit(X, y)
    >>> model.predict([[{"word": "a"}, {"word": "dog"}]])
    [['D', 'N']]
    """

    report_: Report
    duality_gap_: float
    n_iter_: int

    def __init__(
        self,
        algorithm: str = "auto",
        *,
        c1: float = 0.0,
        c2: float = 1.0,
        max_iterations: float = 10000,
        tol: float = 1e-4,
        min_freq: int = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        bias: bool = False,
        ends: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.algorithm = algorithm
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.tol = tol
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.bias = bias
        self.ends = ends
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> CRF:
        """Trains the model.

        Parameters
        ----------
        X : list of lists of dicts, or of lists of strings
            Sequences of tokens.
        y : list of lists of strings
            Their labels.

        Returns
        -------
        self : CRF
            The fitted tagger.
        """
        for name, value in (("c1", self.c1), ("c2", self.c2)):
            if not value >= 0:
                raise ValueError(f"{name} = {value}; expected a number >= 0")
        show = Progress("CRF") if self.verbose else None
        control = Control(
            self.tol,
            self.max_iterations,
            seed=seed(self.random_state),
            threads=threads(self.n_jobs),
            show=show,
        )
        # The crate halves the square.
        penalty = (self.c1, 2 * self.c2)
        start = getattr(self, "_model", None) if self.warm_start else None
        self._model, facts = _core.fit_crf(
            X,
            y,
            control,
            penalty,
            self.algorithm,
            self.all_possible_states,
            self.all_possible_transitions,
            self.bias,
            self.ends,
            self.min_freq,
            start,
        )
        self._keep()
        self.report_ = Report(**facts)
        self.duality_gap_ = self.report_.value
        self.n_iter_ = max(1, int(np.ceil(self.report_.passes)))
        if show is not None:
            show.end(self.report_)
        judge(self.report_, "CRF", "max_iterations")
        return self

    def _keep(self) -> None:
        self.classes_ = self._model.labels()

    @property
    def attributes_(self) -> list[str]:
        """The attributes."""
        return self._model.attributes()

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each pair of attribute and label, the largest first."""
        return {(attribute, label): w for attribute, label, w in self._model.state_features()}

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each pair of successive labels, the largest first."""
        return {(a, b): w for a, b, w in self._model.transition_features()}

    def predict(self, X: Any) -> list[list[str]]:
        """The most probable labels of each sequence."""
        check_is_fitted(self, "_model")
        return self._model.tag(X)

    def predict_single(self, xseq: Any) -> list[str]:
        """The most probable labels of one sequence."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """The probability of each label of each token of each sequence."""
        check_is_fitted(self, "_model")
        return [
            [dict(zip(self.classes_, row, strict=True)) for row in array.tolist()]
            for array in self._model.marginals(X)
        ]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The probability of each label of each token of one sequence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Sequence[Sequence[str]]) -> float:
        """The share of tokens whose label is predicted correctly."""
        pairs = [
            found == truth
            for ours, theirs in zip(self.predict(X), y, strict=True)
            for found, truth in zip(ours, theirs, strict=True)
        ]
        return float(np.mean(pairs))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a model file, which the program ``fenchel-crf`` reads too."""
        check_is_fitted(self, "_model")
        Path(path).write_bytes(self._model.dump())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CRF:
        """Reads a model file."""
        model = cls()
        model._model = _core.Chain.load(Path(path).read_bytes())
        model._keep()
        return model

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].dump()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_model" in state:
            state["_model"] = _core.Chain.load(state["_model"])
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")
