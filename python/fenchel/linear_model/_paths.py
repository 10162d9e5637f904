"""Solutions for a falling sequence of penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_X_y

from .. import _core
from .._check import SHARE, SIZE, checked, flag, numbers, optional
from .._control import Control, Report
from .._data import Vector, matrix, sound, vector
from ._search import CS, Search, grid, grid_of_c


@dataclass(frozen=True)
class Path:
    """The solutions of a path.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The penalties, falling.
    coefs : ndarray of shape (n_features, n_alphas)
        Weights.
    intercepts : ndarray of shape (n_alphas,)
        Intercepts.
    dual_gaps : ndarray of shape (n_alphas,)
        The duality gap of each.
    reports : list of Report
        The report of each.
    """

    alphas: Vector
    coefs: _core.Weights
    intercepts: Vector
    dual_gaps: Vector
    reports: list[Report]

    def __repr__(self) -> str:
        ended = sum(report.converged for report in self.reports)
        return (
            f"<Path of {len(self.alphas)} penalties from {self.alphas[0]:.4g} to {self.alphas[-1]:.4g}, "
            f"{len(self.coefs)} features, {ended} converged>"
        )

    def __iter__(self) -> Any:
        """``alphas, coefs, dual_gaps``, as scikit-learn returns them."""
        return iter((self.alphas, self.coefs, self.dual_gaps))


@checked(l1_ratio=SHARE, alphas=optional(numbers(SIZE)), positive=flag)
def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Sequence[float] | None = None,
    l1_ratio: float = 1.0,
    positive: bool = False,
    fit_intercept: bool = False,
    max_iter: float = 1000,
    tol: float = 1e-8,
) -> Path:
    """Least squares with an l1 penalty (an elastic net) along a falling sequence of penalties.

    The result is a `Path`, which unpacks as ``alphas, coefs, dual_gaps``. As in scikit-learn, there is no intercept by default.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Targets.
    eps : float, default=1e-3
        The last penalty divided by the first, which is the least one without features.
    n_alphas : int, default=100
        Number of penalties.
    alphas : list of float, default=None
        The penalties, in place of `eps` and `n_alphas`.
    l1_ratio : float, default=1.0
        Share of the l1 norm, above 0 and at most 1.
    positive : bool, default=False
        Whether weights are at least 0; the penalties are those without this condition.
    fit_intercept : bool, default=False
        Whether to fit an intercept, which is not penalised.
    max_iter : float, default=1000
        Passes over the data for each penalty.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.

    Returns
    -------
    path : Path
        The solutions.

    Examples
    --------
    >>> from fenchel.linear_model import lasso_path
    >>> X, y = [[1, 0.3], [2, -0.1], [3, 0.2], [4, -0.3]], [2, 4.1, 5.9, 8]
    >>> alphas, coefs, gaps = lasso_path(X, y, n_alphas=5)
    >>> coefs.shape
    (2, 5)
    """
    X, y = check_X_y(sound(X), y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True)
    given, count = grid(n_alphas if alphas is None else alphas)
    search = Search([l1_ratio], given, count, eps)
    data = (matrix(X), vector(y), None)
    if positive:
        return _positive_path(data, search, fit_intercept, Control(tol=tol, max_iter=max_iter))
    control = Control(tol=tol, max_iter=max_iter)
    return _path(data, "squared", search, fit_intercept, control)


def enet_path(X: Any, y: Any, *, l1_ratio: float = 0.5, **options: Any) -> Path:
    """`lasso_path` with an elastic net.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Targets.
    l1_ratio : float, default=0.5
        Share of the l1 norm, above 0 and at most 1.
    **options
        The other options of `lasso_path`.

    Returns
    -------
    path : Path
        The solutions.

    Examples
    --------
    >>> from fenchel.linear_model import enet_path
    >>> X, y = [[1, 0.3], [2, -0.1], [3, 0.2], [4, -0.3]], [2, 4.1, 5.9, 8]
    >>> enet_path(X, y, n_alphas=5).alphas.shape
    (5,)
    """
    return lasso_path(X, y, l1_ratio=l1_ratio, **options)


@checked(l1_ratio=SHARE, Cs=CS)
def logistic_path(
    X: Any,
    y: Any,
    *,
    Cs: int | Sequence[float] = 100,
    eps: float = 1e-3,
    l1_ratio: float = 1.0,
    fit_intercept: bool = True,
    max_iter: float = 1000,
    tol: float = 1e-8,
) -> Path:
    """Logistic regression of two classes with an l1 penalty (an elastic net) along a falling sequence of penalties.

    There is no peer of this name in scikit-learn. ``path.alphas`` are weights of the penalty beside the mean loss, which is
    ``1 / (C n)``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels of two values.
    Cs : int or list of float, default=100
        Number of penalties, or the values of ``C``.
    eps : float, default=1e-3
        The last penalty divided by the first, which is the least one without features.
    l1_ratio : float, default=1.0
        Share of the l1 norm, above 0 and at most 1.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    max_iter : float, default=1000
        Passes over the data for each penalty.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.

    Returns
    -------
    path : Path
        The solutions.

    Examples
    --------
    >>> from fenchel.linear_model import logistic_path
    >>> X, y = [[0, 1], [1, 0.5], [2.2, 0], [1.5, 1]], ["no", "yes", "yes", "no"]
    >>> path = logistic_path(X, y, Cs=5)
    >>> int((path.coefs[:, 0] != 0).sum())
    0
    """
    X, y = check_X_y(sound(X), y, accept_sparse="csr", dtype=np.float64, order="C")
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) != 2:
        raise ValueError(f"y has {len(labels)} distinct labels; expected two")
    given, count = grid_of_c(Cs, X.shape[0])
    search = Search([l1_ratio], given, count, eps)
    data = (matrix(X), vector(2.0 * codes - 1), None)
    control = Control(tol=tol, max_iter=max_iter)
    return _path(data, "logistic", search, fit_intercept, control)


def _positive_path(data: _core.Rows, search: Search, intercept: bool, control: Control) -> Path:
    """Weights of at least 0, each fit from the last one; the penalties are those of a path that is not solved."""
    rough = Control(tol=1e300, max_iter=1)
    alphas = _core.linear_path(data, rough, "squared", search, intercept)[0]
    (ratio,), start, found = search.l1_ratios, None, []
    for alpha in alphas:
        penalty = (alpha * ratio, alpha * (1 - ratio))
        found.append(_core.least_squares(data, control, penalty, intercept, True, start))
        start = found[-1][:2]
    coefs = np.column_stack([weights for weights, _, _ in found])
    return _path_of(alphas, coefs, np.array([each[1] for each in found]), [e[2] for e in found])


def _path(data: _core.Rows, loss: str, search: Search, intercept: bool, control: Control) -> Path:
    alphas, coefs, intercepts, facts = _core.linear_path(data, control, loss, search, intercept)
    return _path_of(alphas, coefs, intercepts, facts)


def _path_of(
    alphas: list[float], coefs: _core.Weights, intercepts: Vector, facts: list[_core.Facts]
) -> Path:
    reports = [Report(**each) for each in facts]
    gaps = np.array([report.value for report in reports])
    return Path(np.array(alphas), coefs, intercepts, gaps, reports)
