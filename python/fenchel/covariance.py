"""Gaussian graphical models: sparse precision matrices with certificates.

In each model ``tol`` is the
duality gap, absolute or relative to the objective, and a penalty is on the scale of covariances or of correlations.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.covariance import EmpiricalCovariance
from sklearn.utils.validation import _get_feature_names, check_array, check_is_fitted

from . import _core
from ._check import Rule, choice, optional
from ._control import Control, Recorded, control_of
from ._data import Vector, dense, sound, vector
from .linear_model._base import Certified
from .linear_model._cv import one_standard_error
from .linear_model._search import PENALTIES, folds, grid

__all__ = [
    "GraphicalLasso",
    "GraphicalLassoCV",
    "JointGraphicalLasso",
    "LatentGraphicalLasso",
    "ScaleFreeGraphicalLasso",
    "graphical_lasso",
]


class _Gaussian(Certified):
    """A normal distribution that was fitted."""

    location_: Vector
    precision_: _core.Weights
    covariance_: _core.Weights

    def _solve(self, X: Any, weights: Vector | None, control: Control) -> _core.Gaussian:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fits the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : Ignored
            For the interface only.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight >= 0 a row; only their ratios matter.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        control = self._control()
        X = self._design(X, reset=True)
        if X.shape[0] < 2:
            raise ValueError(f"X has {X.shape[0]} sample; expected at least 2, found 1 sample")
        weights = self._weights(sample_weight, X)
        solved = self._solve(X, weights, control)
        self.location_, self.precision_, self.covariance_, facts = solved
        self._record(control, facts)
        self._hint()
        return self

    def _hint(self) -> None:
        """Says why a graph may be empty."""
        if getattr(self, "correlation", True) or np.triu(self.precision_, 1).any():
            return
        scale = np.sqrt(np.diag(self.covariance_))
        if scale.max() > 10 * scale.min():
            warnings.warn(
                f"{type(self).__name__}: no edges, and standard deviations from {scale.min():.3g} to {scale.max():.3g}; "
                "with correlation=True the penalty is the same for all",
                UserWarning,
                stacklevel=3,
            )

    def get_precision(self) -> _core.Weights:
        """The precision matrix."""
        check_is_fitted(self)
        return self.precision_

    def log_density(self, X: Any) -> Vector:
        """The logarithm of the density of each row, in nats."""
        X = self._design(X)
        return _core.gaussian_log_density(
            X, vector(self.location_), vector(self.precision_), vector(self.covariance_)
        )

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of the logarithms of the densities, in nats."""
        return float(self.log_density(X).mean())

    def mahalanobis(self, X: Any) -> Vector:
        """The squared Mahalanobis distance of each row from the mean."""
        check_is_fitted(self)
        return np.asarray(EmpiricalCovariance.mahalanobis(self, X), dtype=np.float64)

    def error_norm(
        self, comp_cov: Any, norm: str = "frobenius", scaling: bool = True, squared: bool = True
    ) -> float:
        """How far ``covariance_`` is from another matrix, as in scikit-learn."""
        check_is_fitted(self)
        options = {"norm": norm, "scaling": scaling, "squared": squared}
        return float(EmpiricalCovariance.error_norm(self, comp_cov, **options))

    def edges(self) -> list[tuple[Any, Any, float]]:
        """Pairs of variables with their partial correlation, where it is not 0; by name if `fit` was given a frame."""
        check_is_fitted(self)
        return _edges(self.precision_, getattr(self, "feature_names_in_", None))

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.Graph`` whose edges have ``weight``, the partial correlation."""
        check_is_fitted(self)
        import networkx

        graph = networkx.Graph()
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        graph.add_nodes_from(names)
        graph.add_weighted_edges_from(self.edges())
        return graph


def _edges(precision: _core.Weights, names: Any) -> list[tuple[Any, Any, float]]:
    labels = list(range(len(precision))) if names is None else [str(name) for name in names]
    scale = np.sqrt(np.diag(precision))
    return [
        (labels[i], labels[j], float(-precision[i, j] / (scale[i] * scale[j])))
        for i, j in zip(*np.nonzero(np.triu(precision, 1)), strict=True)
    ]


class GraphicalLasso(_Gaussian):
    """A sparse precision matrix by an l1 penalty.

    ``tol`` is the duality gap, absolute or relative to the objective, and ``max_iter`` counts passes. ``mode``, ``enet_tol``,
    ``eps`` and ``assume_centered`` are not there.

    Minimises ``tr(S T) - log det T + alpha sum_{i != j} |T_ij|`` with the empirical covariance ``S``.

    Parameters
    ----------
    alpha : float, default=0.01
        Weight of the penalty, >= 0.
    penalize_diagonal : bool, default=False
        Whether the diagonal is penalised too.
    correlation : bool, default=False
        Whether the penalty is on the scale of correlations, where units do not matter.
    covariance : "precomputed" or None, default=None
        Whether `fit` is given a covariance matrix in the place of samples.
    tol : float, default=1e-6
        Largest duality gap.
    max_iter : float, default=1000
        Passes after which the fit ends in any case.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The mean; 0 with ``covariance="precomputed"``.
    covariance_, precision_ : ndarray of shape (n_features, n_features)
        The covariance matrix and its inverse, which has exact zeros.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective less the least objective.
    n_iter_ : int
        Passes.

    Examples
    --------
    >>> from fenchel.covariance import GraphicalLasso
    >>> X = [[1, 1.1, 0.3], [2, 1.8, -0.2], [3, 3.1, 0.1], [4, 4.2, -0.3], [5, 4.8, 0.2]]
    >>> model = GraphicalLasso(alpha=0.3, correlation=True).fit(X)
    >>> [(i, j) for i, j, _ in model.edges()]
    [(0, 1)]
    """

    _rules: ClassVar[dict[str, Rule]] = {"covariance": choice("precomputed", None)}

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        penalize_diagonal: bool = False,
        correlation: bool = False,
        covariance: str | None = None,
        tol: float = 1e-6,
        max_iter: float = 1000,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.penalize_diagonal = penalize_diagonal
        self.correlation = correlation
        self.covariance = covariance
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _solve(self, X: Any, weights: Vector | None, control: Control) -> _core.Gaussian:
        alpha, given = float(self.alpha), self.covariance == "precomputed"
        if given and weights is not None:
            raise ValueError("sample_weight: a covariance matrix has no samples to weigh")
        X = dense(X) if given else X
        diagonal, correlation = bool(self.penalize_diagonal), bool(self.correlation)
        return _core.graphical_lasso(X, weights, control, alpha, diagonal, correlation, given)


def graphical_lasso(
    emp_cov: Any,
    alpha: float,
    *,
    mode: str = "cd",
    tol: float = 1e-9,
    max_iter: float = 1000,
    return_costs: bool = False,
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """The graphical lasso of a covariance matrix.

    `GraphicalLasso` with ``covariance="precomputed"`` has the same answer, and its report.

    Parameters
    ----------
    emp_cov : array-like of shape (n_features, n_features)
        The covariance matrix.
    alpha : float
        Weight of the penalty, >= 0.
    mode : {"cd", "lars"}, default="cd"
        Ignored.
    tol : float, default=1e-9
        Largest duality gap.
    max_iter : float, default=1000
        Passes after which the fit ends in any case.
    return_costs, return_n_iter : bool, default=False
        Whether to return these too.

    Returns
    -------
    covariance, precision : ndarray of shape (n_features, n_features)
        The covariance matrix and its inverse, which has exact zeros.
    costs : list of (float, float)
        The objective and the duality gap at the end.
    n_iter : int
        Passes.

    Examples
    --------
    >>> from fenchel.covariance import graphical_lasso
    >>> covariance, precision = graphical_lasso([[1.0, 0.5], [0.5, 1.0]], 0.6)
    >>> float(precision[0, 1])
    0.0
    """
    model = GraphicalLasso(alpha, covariance="precomputed", tol=tol, max_iter=max_iter)
    choice("cd", "lars")("mode", mode)
    report = model.fit(emp_cov).report_
    costs = [[(report.objective, report.value)]] if return_costs else []
    return model.covariance_, model.precision_, *costs, *([model.n_iter_] if return_n_iter else [])


class GraphicalLassoCV(_Gaussian):
    """`GraphicalLasso` with its penalty chosen by the likelihood of held-out rows.

    A number for ``cv`` is one of folds that are drawn by `random_state`; in scikit-learn they are consecutive rows.
    ``alphas=None`` tries a grid that suits the data, without refinements.

    Parameters
    ----------
    alphas : list of float or int, default=None
        The penalties; None for a grid that suits the data, or the number of penalties of such a grid.
    cv : int, splitter or list of pairs of rows, default=None
        Number of folds, or what gives the training and test rows of each; None is 5.
    selection_rule : {"best", "one_standard_error"}, default="best"
        The penalty with the best score, or the largest one within a standard error of it.
    correlation : bool, default=False
        Whether the penalty is on the scale of correlations, where units do not matter.
    tol : float, default=1e-6
        Largest duality gap.
    max_iter : float, default=1000
        Passes after which a fit ends in any case.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the folds; None is 0.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    cv_results_ : dict of ndarray
        ``alphas``, ``mean_test_score`` (the mean log-likelihood, up to a constant factor and term), ``std_test_score`` (the
        standard deviation over the folds), ``std_error_test_score`` and ``split0_test_score``, ...
    location_, covariance_, precision_, report_, duality_gap_, n_iter_
        As in `GraphicalLasso`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fenchel.covariance import GraphicalLassoCV
    >>> X = load_wine().data
    >>> 0 < GraphicalLassoCV(correlation=True).fit(X).alpha_ < 1
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"alphas": optional(PENALTIES)}

    def __init__(
        self,
        *,
        alphas: int | Sequence[float] | None = None,
        cv: Any = None,
        selection_rule: str = "best",
        correlation: bool = False,
        tol: float = 1e-6,
        max_iter: float = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.selection_rule = selection_rule
        self.correlation = correlation
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, X: Any, weights: Vector | None, control: Control) -> _core.Gaussian:
        alphas = (None, 0) if self.alphas is None else grid(self.alphas)
        rule = one_standard_error(self.selection_rule)
        solved, self.alpha_, (tried, loss, error, losses) = _core.graphical_lasso_cv(
            X, weights, control, alphas, folds(self.cv, X), rule, bool(self.correlation)
        )
        splits = -np.array(losses)
        self.cv_results_ = {
            "alphas": np.array(tried),
            **{f"split{k}_test_score": splits[:, k] for k in range(splits.shape[1])},
            "mean_test_score": -np.array(loss),
            "std_test_score": splits.std(axis=1),
            "std_error_test_score": np.array(error),
        }
        return solved


class LatentGraphicalLasso(_Gaussian):
    """A sparse precision matrix of observed variables given hidden ones, which are never seen.

    There is no peer in scikit-learn; in GGLasso ``mu1`` is `rank_penalty`.

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of the l1 norm, >= 0.
    rank_penalty : float, default=0.5
        Weight of the trace of the low-rank part, >= 0.
    correlation : bool, default=True
        Whether the penalties are on the scale of correlations, where units do not matter.
    tol : float, default=1e-6
        Largest duality gap.
    max_iter : float, default=10000
        Passes after which the fit ends in any case.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    sparse_ : ndarray of shape (n_features, n_features)
        The precision given the hidden variables, with exact zeros.
    loadings_ : ndarray of shape (n_features, n_hidden)
        ``precision_`` is ``sparse_ - loadings_ @ loadings_.T``.
    location_, covariance_, precision_, report_, duality_gap_, n_iter_
        As in `GraphicalLasso`, of the observed variables by themselves.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fenchel.covariance import LatentGraphicalLasso
    >>> model = LatentGraphicalLasso(alpha=0.2, rank_penalty=0.5).fit(load_wine().data)
    >>> model.loadings_.shape[0]
    13
    """

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        rank_penalty: float = 0.5,
        correlation: bool = True,
        tol: float = 1e-6,
        max_iter: float = 10000,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.rank_penalty = rank_penalty
        self.correlation = correlation
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _solve(self, X: Any, weights: Vector | None, control: Control) -> _core.Gaussian:
        alpha, rank = float(self.alpha), float(self.rank_penalty)
        solved, self.sparse_, self.loadings_ = _core.latent_graphical_lasso(
            X, weights, control, alpha, rank, bool(self.correlation)
        )
        return solved

    def edges(self) -> list[tuple[Any, Any, float]]:
        """Pairs of variables with their partial correlation given the hidden ones, where it is not 0."""
        check_is_fitted(self)
        return _edges(self.sparse_, getattr(self, "feature_names_in_", None))


class ScaleFreeGraphicalLasso(_Gaussian):
    """A sparse precision matrix with a penalty that favours few variables with many neighbours.

    There is no peer in scikit-learn.

    Parameters
    ----------
    strength : float, default=0.1
        Weight of the penalty, >= 0.
    correlation : bool, default=True
        Whether the penalty is on the scale of correlations, where units do not matter.
    tol : float, default=1e-6
        Largest duality gap.
    max_iter : float, default=10000
        Passes after which the fit ends in any case.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    location_, covariance_, precision_, report_, duality_gap_, n_iter_
        As in `GraphicalLasso`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fenchel.covariance import ScaleFreeGraphicalLasso
    >>> ScaleFreeGraphicalLasso(strength=0.1).fit(load_wine().data).precision_.shape
    (13, 13)
    """

    def __init__(
        self,
        strength: float = 0.1,
        *,
        correlation: bool = True,
        tol: float = 1e-6,
        max_iter: float = 10000,
        verbose: bool = False,
    ) -> None:
        self.strength = strength
        self.correlation = correlation
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _solve(self, X: Any, weights: Vector | None, control: Control) -> _core.Gaussian:
        strength = float(self.strength)
        return _core.scale_free(X, weights, control, strength, bool(self.correlation))


class JointGraphicalLasso(Recorded, BaseEstimator):  # type: ignore[misc]
    """Precision matrices of several groups of samples that are alike.

    There is no peer in scikit-learn; in GGLasso ``lambda2`` is `similarity`. `fit` takes a list of matrices, one a group.

    Parameters
    ----------
    alpha : float, default=0.05
        Weight of the l1 norm of every matrix, >= 0.
    similarity : float, default=0.05
        Weight of the norm that couples the matrices, >= 0.
    coupling : {"group", "fused"}, default="group"
        Whether an edge is in all groups or in none, or values are alike.
    correlation : bool, default=True
        Whether the penalties are on the scale of correlations, where units do not matter.
    tol : float, default=1e-6
        Largest duality gap.
    max_iter : float, default=10000
        Passes after which the fit ends in any case.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    precisions_, covariances_, locations_ : list of ndarray
        One for each group.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective less the least objective.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fenchel.covariance import JointGraphicalLasso
    >>> X, y = load_wine(return_X_y=True)
    >>> model = JointGraphicalLasso(0.2).fit([X[y == k] for k in range(3)])
    >>> len(model.precisions_)
    3
    """

    _rules: ClassVar[dict[str, Rule]] = {"coupling": choice("group", "fused")}

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        similarity: float = 0.05,
        coupling: str = "group",
        correlation: bool = True,
        tol: float = 1e-6,
        max_iter: float = 10000,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.similarity = similarity
        self.coupling = coupling
        self.correlation = correlation
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Sequence[Any], y: Any = None) -> JointGraphicalLasso:
        """Fits one matrix a group; all groups have the same features, frames in the same order."""
        control = control_of(self)
        if isinstance(X, str) or not isinstance(X, Iterable) or len(X) == 0:
            raise ValueError(
                f"X is of type {type(X).__name__}; expected a list of matrices, one a group"
            )
        named = [_get_feature_names(group) for group in X]
        for number, names in enumerate(named):
            if names is not None and named[0] is not None and list(names) != list(named[0]):
                raise ValueError(
                    f"group {number} has the columns {list(names)}; expected those of group 0: {list(named[0])}"
                )
        groups = [
            np.ascontiguousarray(check_array(sound(group), dtype=np.float64, ensure_min_samples=2))
            for group in X
        ]
        alpha, similarity = float(self.alpha), float(self.similarity)
        models = _core.joint_graphical_lasso(
            groups, control, alpha, similarity, self.coupling, bool(self.correlation)
        )
        self.locations_ = [model[0] for model in models]
        self.precisions_ = [model[1] for model in models]
        self.covariances_ = [model[2] for model in models]
        self._record(control, models[0][3])
        return self
