"""Markov random fields from data: sparse networks of binary variables, and models of alignments."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from . import _core
from ._control import Control, Progress, Report, judge, seed, threads
from .linear_model._base import Certified, at_least_0

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
        X = self._design(X, reset=True)
        if hasattr(X, "toarray"):
            X = X.toarray()
        weights = self._weights(sample_weight, X)
        control = self._control()
        self.bias_, self.coupling_, said, facts = _core.ising(
            X,
            weights,
            control,
            self.method,
            at_least_0("alpha", self.alpha),
            self.penalize_bias,
            self.rule,
            self.chains,
        )
        for each in said:
            warnings.warn(f"IsingModel: {each}", UserWarning, stacklevel=2)
        self._record(facts, show=control.show)
        return self

    def edges(self) -> list[tuple[Any, Any, float]]:
        """Pairs with their coupling, where it is not 0, the strongest first; by name if `fit` was given a frame."""
        names = getattr(self, "feature_names_in_", None)
        labels = list(range(len(self.bias_))) if names is None else [str(name) for name in names]
        pairs = zip(*np.nonzero(np.triu(self.coupling_, 1)), strict=True)
        found = [(labels[i], labels[j], float(self.coupling_[i, j])) for i, j in pairs]
        return sorted(found, key=lambda edge: -abs(edge[2]))

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.Graph`` whose edges have ``weight``, the coupling."""
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        graph.add_weighted_edges_from(self.edges())
        return graph


class PottsModel(BaseEstimator):  # type: ignore[misc]
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

    report_: Report
    duality_gap_: float
    scores_: _core.Weights

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
        if self.gaps not in ("state", "missing"):
            raise ValueError(f"gaps is {self.gaps!r}; expected 'state' or 'missing'")
        rows = [list(sequence.encode("ascii", "replace")) for sequence in X]
        show = Progress("PottsModel") if self.verbose else None
        control = Control(
            self.tol,
            self.max_iter,
            seed=seed(self.random_state),
            threads=threads(self.n_jobs),
            show=show,
        )
        self.scores_, self.norms_, self.fields_, self.weights_, facts = _core.potts(
            rows,
            control,
            self.alphabet,
            self.gaps == "missing",
            self.identity,
            self.l2,
            at_least_0("group", self.group),
        )
        if facts is not None:
            self.report_ = Report(**facts)
            self.duality_gap_ = self.report_.value
            if show is not None:
                show.end(self.report_)
            judge(self.report_, "PottsModel")
        return self

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
