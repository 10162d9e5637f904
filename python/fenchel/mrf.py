"""Markov random fields from data: sparse networks of binary variables, and models of alignments."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _check, _core
from ._check import Rule, checked, choice, optional
from ._control import Recorded, control_of
from ._data import dense
from .linear_model._base import Certified

__all__ = ["IsingModel", "PottsModel"]


class IsingModel(Certified):
    """A sparse network of binary variables.

    In IsingFit the penalty is chosen by the extended BIC; here it is given. Couplings are those of 0 and 1, as there:
    ``log P(x) = x bias + sum_{i<j} x_i coupling_ij x_j + constant``.

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of the l1 norm of the couplings beside the mean log-likelihood, >= 0.
    method : {"nodewise", "pseudo_likelihood", "spg"}, default="nodewise"
        One logistic regression a variable, all of them together with one coupling a pair, or the likelihood itself by sampling.
    rule : {"and", "or"}, default="and"
        Whether ``"nodewise"`` needs both regressions of a pair for its edge.
    penalize_bias : bool, default=False
        Whether the biases are penalised too, for the last two methods.
    chains : int, default=2000
        Chains of ``"spg"``.
    tol : float, default=1e-6
        Largest duality gap relative to the objective (``"nodewise"``), largest norm of the gradient (``"pseudo_likelihood"``).
    max_iter : float, default=10000
        Passes after which the fit ends in any case; ``"spg"`` does at most 150 steps.
    max_seconds : float, default=None
        Seconds after which the fit ends in any case.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed; None is 0.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    bias_ : ndarray of shape (n_features,)
        Biases.
    coupling_ : ndarray of shape (n_features, n_features)
        Couplings, symmetric, with a diagonal of 0.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        The value of the certificate.
    n_iter_ : int
        Passes.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.mrf import IsingModel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(500, 3))
    >>> X[:, 1] = np.where(rng.random(500) < 0.9, X[:, 0], X[:, 1])
    >>> [(i, j) for i, j, _ in IsingModel(alpha=0.05).fit(X).edges()]
    [(0, 1)]
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "method": choice("nodewise", "pseudo_likelihood", "spg"),
        "rule": choice("and", "or"),
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        method: str = "nodewise",
        rule: str = "and",
        penalize_bias: bool = False,
        chains: int = 2000,
        tol: float = 1e-6,
        max_iter: float = 10000,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.method = method
        self.rule = rule
        self.penalize_bias = penalize_bias
        self.chains = chains
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> IsingModel:
        """Learns the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples of 0 and 1.
        y : Ignored
            For the interface only.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight >= 0 a row.

        Returns
        -------
        self : IsingModel
            The fitted model.
        """
        control = self._control()
        X = dense(self._design(X, reset=True))
        weights = self._weights(sample_weight, X)
        self.bias_, self.coupling_, said, facts = _core.ising(
            X,
            weights,
            control,
            self.method,
            float(self.alpha),
            bool(self.penalize_bias),
            self.rule,
            int(self.chains),
        )
        for each in said:
            warnings.warn(f"IsingModel: {each}", UserWarning, stacklevel=2)
        self._record(control, facts)
        return self

    def edges(self) -> list[tuple[Any, Any, float]]:
        """Pairs with their coupling, where it is not 0, the strongest first; by name if `fit` was given a frame."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        labels = list(range(len(self.bias_))) if names is None else [str(name) for name in names]
        pairs = zip(*np.nonzero(np.triu(self.coupling_, 1)), strict=True)
        found = [(labels[i], labels[j], float(self.coupling_[i, j])) for i, j in pairs]
        return sorted(found, key=lambda edge: -abs(edge[2]))

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.Graph`` whose edges have ``weight``, the coupling."""
        check_is_fitted(self)
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        graph.add_weighted_edges_from(self.edges())
        return graph


LETTERS = ("protein", "nucleotides")


class PottsModel(Recorded, BaseEstimator):  # type: ignore[misc]
    """A model of aligned sequences, for contacts of residues.

    In CCMpred there is no certificate; the default penalties are its own.

    Parameters
    ----------
    alphabet : {"protein", "nucleotides"}, default="protein"
        The letters; all others are gaps.
    gaps : {"state", "missing"}, default="state"
        Whether a gap is one more letter.
    identity : float or None, default=0.8
        Sequences that agree in this share of the columns share their weight; None for weights of 1.
    l2 : float, default=None
        Weight of the ridge of the couplings; None is ``0.4 (columns - 1) / effective sequences``.
    group : float, default=0.0
        Weight of the norms of whole tables.
    tol : float, default=1e-4
        Largest duality gap, as a fraction of the objective.
    max_iter : float, default=1000
        Passes after which the fit ends in any case.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the order of the sequences; None is 0.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    scores_ : ndarray of shape (columns, columns)
        Norms of the couplings with the average product correction.
    norms_ : ndarray of shape (columns, columns)
        Norms of the couplings.
    fields_ : ndarray of shape (columns, letters)
        Fields.
    weights_ : ndarray of shape (sequences,)
        Weights of the sequences.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective less the least objective.

    Examples
    --------
    >>> from fenchel.mrf import PottsModel
    >>> sequences = ["ACA", "ACD", "CAA", "CAD", "ACA", "CAD"] * 5
    >>> model = PottsModel(identity=None).fit(sequences)
    >>> model.contacts(top=1, separation=1)[0][:2]
    (0, 1)
    """

    scores_: _core.Weights
    _rules: ClassVar[dict[str, Rule]] = {
        "alphabet": choice(*LETTERS),
        "gaps": choice("state", "missing"),
        "identity": optional(_check.SHARE),
        "l2": optional(_check.SIZE),
    }

    def __init__(
        self,
        *,
        alphabet: str = "protein",
        gaps: str = "state",
        identity: float | None = 0.8,
        l2: float | None = None,
        group: float = 0.0,
        tol: float = 1e-4,
        max_iter: float = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphabet = alphabet
        self.gaps = gaps
        self.identity = identity
        self.l2 = l2
        self.group = group
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_alignment(cls, path: str | PathLike[str], **parameters: Any) -> PottsModel:
        """Fits the sequences of a file: FASTA, or one sequence a line."""
        return cls(**parameters).fit(read_alignment(path))

    def fit(self, X: Sequence[str], y: Any = None) -> PottsModel:
        """Learns the model from sequences of one length."""
        control = control_of(self)
        if isinstance(X, str) or not isinstance(X, Iterable):
            raise _check.refuse("X", X, "a list of sequences")
        rows = []
        for number, sequence in enumerate(X):
            _check.text(f"sequence {number}", sequence)
            wrong = re.search(r"[^A-Za-z.\-]", sequence)
            if wrong is not None:
                raise ValueError(
                    f"sequence {number} has {wrong.group()!r} at column {wrong.start()}; expected letters and gaps '-' and '.'"
                )
            rows.append(list(sequence.encode("ascii")))
        self.scores_, self.norms_, self.fields_, self.weights_, facts = _core.potts(
            rows,
            control,
            self.alphabet,
            self.gaps == "missing",
            self.identity,
            self.l2,
            float(self.group),
        )
        if facts is not None:
            self._record(control, facts)
        return self

    @checked(top=optional(_check.count()), separation=_check.count(1))
    def contacts(self, top: int | None = None, separation: int = 6) -> list[tuple[int, int, float]]:
        """Pairs of columns with their score, the highest first.

        Parameters
        ----------
        top : int, default=None
            How many; None is the number of columns.
        separation : int, default=6
            Least distance of the two columns.

        Returns
        -------
        pairs : list of (int, int, float)
            Columns, counted from 0, and score.
        """
        check_is_fitted(self, "scores_")
        first, second = np.triu_indices(len(self.scores_), separation)
        order = np.argsort(-self.scores_[first, second], kind="stable")
        order = order[: len(self.scores_) if top is None else top]
        return [
            (int(first[k]), int(second[k]), float(self.scores_[first[k], second[k]])) for k in order
        ]


def read_alignment(path: str | PathLike[str]) -> list[str]:
    """The sequences of a file: FASTA, or one sequence a line. Insertions (small letters and dots) are left out."""
    sequences: list[str] = []
    fasta = False
    for line in Path(path).read_text().splitlines():
        if line.startswith(">"):
            fasta = True
            sequences.append("")
        elif line.strip():
            kept = "".join(c for c in line.strip() if not (c.islower() or c == "."))
            if fasta:
                sequences[-1] += kept
            else:
                sequences.append(kept)
    return sequences
