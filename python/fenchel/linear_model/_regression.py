"""Regression with convex losses and penalties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from .. import _check, _core
from .._check import SIZE, Rule, choice, count, either, number, numbers, refuse
from .._control import Control
from .._data import dense
from ._base import Fit, LinearRegressor
from ._paths import enet_path


class Ridge(LinearRegressor):
    """Least squares with an l2 penalty.

    ``tol`` is the duality gap relative to the objective, and ``max_iter`` counts passes over the data. ``solver`` is
    ignored: the method is chosen by the problem.

    Minimises ``sum_i w_i (x_i coef + intercept - y_i)^2 + alpha ||coef||^2``.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Weight of the penalty, >= 0, or one for each target.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    copy_X : bool, default=True
        Ignored: `X` is never changed.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.
    tol : float, default=1e-10
        Largest duality gap, as a fraction of the objective.
    solver : str, default="auto"
        ``"auto"`` or one of scikit-learn's; ignored.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.
    random_state : int or RandomState, default=None
        Seed of the visiting order; None is 0, so that a fit can be repeated.
    positive : bool, default=False
        Whether weights are at least 0. With ``alpha=0`` the certificate is then a norm of the gradient, and no gap.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0 if ``fit_intercept=False``.
    report_ : Report
        How the fit ended, with its certificate; of several targets the one with the largest gap.
    duality_gap_ : float
        A bound of the objective, divided by twice the sum of the weights, less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import Ridge
    >>> model = Ridge(alpha=1.0).fit([[1], [2], [3], [4]], [2, 4, 6, 8])
    >>> round(float(model.coef_[0]), 6)  # 2 * 5 / (5 + 1)
    1.666667
    """

    _several_targets = True
    _rules: ClassVar[dict[str, Rule]] = {
        "alpha": either(
            SIZE, numbers(SIZE), expected="a finite number >= 0, or one for each target"
        )
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: float = 1000,
        tol: float = 1e-10,
        solver: str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        positive: bool = False,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.positive = positive
        self.verbose = verbose

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        alphas = np.ravel(self.alpha)
        if len(alphas) not in (1, fit.targets):
            raise ValueError(f"alpha has {len(alphas)} numbers; expected one for each target")
        alpha = float(alphas[fit.target if len(alphas) > 1 else 0])
        penalty, intercept = (0.0, alpha / weight), bool(self.fit_intercept)
        return _core.least_squares(
            data, control, penalty, intercept, bool(self.positive), fit.start
        )


class ElasticNet(LinearRegressor):
    """Least squares with l1 and l2 penalties.

    ``tol`` is the duality gap relative to the objective, and ``max_iter`` counts passes over the data.

    Minimises ``1/(2n) sum_i (x_i coef + intercept - y_i)^2 + alpha (r ||coef||_1 + (1 - r)/2 ||coef||^2)`` with
    ``r = l1_ratio``. With weights of the rows, their sum is in the place of ``n``.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, >= 0.
    l1_ratio : float, default=0.5
        Share of the l1 norm, from 0 to 1.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    precompute : bool, default=False
        Ignored.
    copy_X : bool, default=True
        Ignored: `X` is never changed.
    selection : {"cyclic", "random"}, default="cyclic"
        Ignored.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.
    random_state : int or RandomState, default=None
        Seed of the visiting order; None is 0, so that a fit can be repeated.
    positive : bool, default=False
        Whether weights are at least 0. With ``alpha=0`` the certificate is then a norm of the gradient, and no gap.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0 if ``fit_intercept=False``.
    report_ : Report
        How the fit ended, with its certificate; of several targets the one with the largest gap.
    duality_gap_ : float
        A bound of the objective at ``coef_`` less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import ElasticNet
    >>> X, y = [[1, 0.3], [2, -0.1], [3, 0.2], [4, -0.3]], [2, 4.1, 5.9, 8]
    >>> model = ElasticNet(alpha=0.1, l1_ratio=0.9).fit(X, y)
    >>> model.report_.converged
    True
    """

    _several_targets = True
    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: bool = False,
        copy_X: bool = True,
        selection: str = "cyclic",
        max_iter: float = 1000,
        tol: float = 1e-8,
        warm_start: bool = False,
        random_state: Any = None,
        positive: bool = False,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.selection = selection
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.positive = positive
        self.verbose = verbose

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        penalty = (alpha * ratio, alpha * (1 - ratio))
        intercept = bool(self.fit_intercept)
        return _core.least_squares(
            data, control, penalty, intercept, bool(self.positive), fit.start
        )

    @property
    def dual_gap_(self) -> Any:
        """The duality gap under scikit-learn's name, one for each of several targets."""
        return self.duality_gap_ if len(self._gaps) == 1 else self._gaps

    @property
    def sparse_coef_(self) -> Any:
        """The weights as a CSR matrix with a row a target."""
        from scipy.sparse import csr_matrix

        return csr_matrix(self.coef_)


class Lasso(ElasticNet):
    """Least squares with an l1 penalty.

    ``tol`` is the duality gap relative to the objective, and ``max_iter`` counts passes over the data.

    Minimises ``1/(2n) sum_i (x_i coef + intercept - y_i)^2 + alpha ||coef||_1``. With weights of the rows, their sum is in
    the place of ``n``.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, >= 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    precompute : bool, default=False
        Ignored.
    copy_X : bool, default=True
        Ignored: `X` is never changed.
    selection : {"cyclic", "random"}, default="cyclic"
        Ignored.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.
    random_state : int or RandomState, default=None
        Seed of the visiting order; None is 0, so that a fit can be repeated.
    positive : bool, default=False
        Whether weights are at least 0. With ``alpha=0`` the certificate is then a norm of the gradient, and no gap.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0 if ``fit_intercept=False``.
    report_ : Report
        How the fit ended, with its certificate; of several targets the one with the largest gap.
    duality_gap_ : float
        A bound of the objective at ``coef_`` less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import Lasso
    >>> X, y = [[1, 0.3], [2, -0.1], [3, 0.2], [4, -0.3]], [2, 4.1, 5.9, 8]
    >>> model = Lasso(alpha=0.1).fit(X, y)
    >>> float(model.coef_[1])
    0.0
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: bool = False,
        copy_X: bool = True,
        selection: str = "cyclic",
        max_iter: float = 1000,
        tol: float = 1e-8,
        warm_start: bool = False,
        random_state: Any = None,
        positive: bool = False,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            selection=selection,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            random_state=random_state,
            positive=positive,
            verbose=verbose,
        )


def _groups(name: str, value: Any) -> list[list[int]] | int:
    """A size, or lists of features."""
    if isinstance(value, Integral):
        return int(count(1, 10**9)(name, value))
    feature = count(0, 2**32 - 1)
    try:
        return [[feature(f"{name}[{g}]", one) for one in group] for g, group in enumerate(value)]
    except TypeError:
        expected = "a size, or a list of lists of features"
        raise refuse(name, value, expected) from None


class GroupLasso(LinearRegressor):
    """Least squares with a penalty that keeps or drops whole groups of features.

    There is no peer of this name in scikit-learn. In skglm and group-lasso the weight of a group is given or the root of its
    size; here it is the root of its size.

    Minimises ``1/(2n) sum_i (x_i coef + intercept - y_i)^2 + alpha ((1 - r) sum_g sqrt(|g|) ||coef_g|| + r ||coef||_1)``
    with ``r = l1_ratio``.

    Parameters
    ----------
    groups : int or list of lists of int, default=1
        The features of each group, counted from 0. A number is the size of groups of consecutive features. A feature in no
        group is not penalised by the norm of groups.
    alpha : float, default=1.0
        Weight of the penalty, >= 0.
    l1_ratio : float, default=0.0
        Share of the l1 norm; above 0 it is the sparse group lasso.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    max_iter : float, default=10000
        Passes over the data after which the fit ends in any case.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        The intercept; 0 if ``fit_intercept=False``.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective at ``coef_`` less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import GroupLasso
    >>> X = [[1, 0.9, 0.3], [2, 2.2, -0.1], [3, 2.8, 0.2], [4, 4.1, -0.3]]
    >>> model = GroupLasso([[0, 1], [2]], alpha=0.2).fit(X, [2, 4.1, 5.9, 8])
    >>> (model.coef_ != 0).tolist()
    [True, True, False]
    """

    _rules: ClassVar[dict[str, Rule]] = {"groups": _groups}

    def __init__(
        self,
        groups: int | Sequence[Sequence[int]] = 1,
        *,
        alpha: float = 1.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        max_iter: float = 10000,
        tol: float = 1e-8,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        features, groups = data[0].shape[1], _groups("groups", self.groups)
        lists = (
            [list(range(k, min(k + groups, features))) for k in range(0, features, groups)]
            if isinstance(groups, int)
            else groups
        )
        penalty = (alpha * (1 - ratio), alpha * ratio)
        return _core.group_lasso(data, control, lists, penalty, bool(self.fit_intercept), fit.start)


class PoissonRegressor(LinearRegressor):
    """Regression of counts and rates with log link.

    ``tol`` is the duality gap relative to the objective, and ``max_iter`` counts passes over the data. ``solver`` is ignored:
    the method is chosen by the problem.

    Minimises ``1/n sum_i (exp(t_i) - y_i t_i) + alpha (r ||coef||_1 + (1 - r)/2 ||coef||^2)`` with ``t_i = x_i coef +
    intercept`` and ``r = l1_ratio``. With weights of the rows, their sum is in the place of ``n``.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, >= 0.
    l1_ratio : float, default=0.0
        Share of the l1 norm, from 0 to 1.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    solver : str, default="auto"
        ``"auto"`` or one of scikit-learn's; ignored.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        The intercept; 0 if ``fit_intercept=False``.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective at ``coef_`` less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import PoissonRegressor
    >>> model = PoissonRegressor(alpha=0).fit([[0], [1], [2], [3]], [1, 2, 4, 8])
    >>> round(float(model.predict([[4]])[0]), 3)
    16.0
    """

    _link = "exp"

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: float = 1000,
        tol: float = 1e-8,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        penalty = (alpha * ratio, alpha * (1 - ratio))
        return _core.poisson(data, control, penalty, bool(self.fit_intercept), fit.start)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``D^2``, the share of the deviance that is explained; at most 1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Counts or rates.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for the mean.
        """
        from sklearn.metrics import d2_tweedie_score

        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


class HuberRegressor(LinearRegressor):
    """Regression that is not moved far by outliers.

    ``tol`` is the duality gap relative to the objective, and ``max_iter`` counts passes over the data.

    Minimises ``sum_i w_i (s + s h((x_i coef + intercept - y_i) / s)) + alpha ||coef||^2`` over the model and the scale ``s``
    of the noise, with ``h(z) = z^2`` for ``|z| <= epsilon``, and its tangent beyond.

    Parameters
    ----------
    epsilon : float, default=1.35
        The residual above which the loss is linear, in units of the scale, at least 1.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.
    alpha : float, default=0.0001
        Weight of the penalty, >= 0.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        The intercept; 0 if ``fit_intercept=False``.
    scale_ : float
        The scale of the noise.
    outliers_ : ndarray of shape (n_samples,)
        Whether the residual of a row is above `epsilon` times the scale.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective, divided by twice the sum of the weights, less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import HuberRegressor
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0.1, 0.8, 2.2, 2.9, 4.1, 500]
    >>> model = HuberRegressor().fit(X, y)
    >>> model.outliers_.tolist()
    [False, False, False, False, False, True]
    """

    scale_: float
    _rules: ClassVar[dict[str, Rule]] = {"epsilon": number(1)}

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: float = 1000,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.verbose = verbose

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        epsilon, l2 = float(self.epsilon), float(self.alpha) / weight
        start = None if fit.start is None else (fit.start, self.scale_)
        solved, scale = _core.huber(data, control, epsilon, l2, bool(self.fit_intercept), start)
        fitted = _core.predict(data[0], solved[0], solved[1], "identity")
        self.scale_, self.outliers_ = scale, np.abs(data[1] - fitted) > epsilon * scale
        return solved


def _solver_options(name: str, value: Any) -> None:
    if not (value is None or isinstance(value, Mapping)):
        raise refuse(name, value, "None or a dict")


class QuantileRegressor(LinearRegressor):
    """Regression of a quantile.

    ``solver`` and ``solver_options`` are ignored. A sparse matrix is made dense for the l1 norm.

    Minimises ``1/n sum_i p(y_i - x_i coef - intercept) + alpha ||coef||_1`` with ``p(r) = quantile r`` for ``r > 0`` and
    ``(quantile - 1) r`` else, by linear programming. With ``penalty="l2"``, the last term is ``alpha/2 ||coef||^2``, which suits
    many rows. With weights of the rows, their sum is in the place of ``n``.

    Parameters
    ----------
    quantile : float, default=0.5
        The level, between 0 and 1.
    alpha : float, default=1.0
        Weight of the penalty, >= 0; above 0 for ``penalty="l2"``.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    solver : str, default="highs"
        One of scikit-learn's; ignored.
    solver_options : dict, default=None
        Ignored.
    penalty : {"l1", "l2"}, default="l1"
        The penalty.
    max_iter : float, default=100000
        Passes over the data after which the fit ends in any case.
    tol : float, default=1e-8
        Largest residual of the linear program, or for ``penalty="l2"`` the largest duality gap as a fraction of the objective.
    random_state : int or RandomState, default=None
        Seed of the visiting order; None is 0, so that a fit can be repeated.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        The intercept; 0 if ``fit_intercept=False``.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        The value of the certificate.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import QuantileRegressor
    >>> model = QuantileRegressor(quantile=0.5, alpha=0).fit([[0], [1], [2]], [0, 1, 2])
    >>> round(float(model.coef_[0]), 6)
    1.0
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "penalty": choice("l1", "l2"),
        "solver": choice("highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex"),
        "solver_options": _solver_options,
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "highs",
        solver_options: Any = None,
        penalty: str = "l1",
        max_iter: float = 100000,
        tol: float = 1e-8,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        if self.penalty == "l1":
            return self._program(data, weight, control)
        level, l2 = float(self.quantile), _check.POSITIVE("alpha", self.alpha)
        return _core.quantile(data, control, level, l2, bool(self.fit_intercept))

    def _program(self, data: _core.Rows, weight: float, control: Control) -> _core.Margin:
        """The dual linear program: a number a row between the slopes of its loss, and one a feature of at most `alpha`; the
        multipliers of its equations are the weights."""
        X, y, weights = data
        (n, d), bordered = X.shape, bool(self.fit_intercept)
        _check.memory("samples * features", (n + d) * (d + bordered), 3 * 8)
        equations = np.block([[dense(X).T, np.eye(d)], [np.ones((1, n)), np.zeros((1, d))]])
        equations = np.ascontiguousarray(equations[: d + bordered])
        share = (np.ones(n) if weights is None else weights) / weight
        size, level = np.full(d, float(self.alpha)), float(self.quantile)
        bounds = np.r_[share * (level - 1), -size], np.r_[share * level, size]
        equal, none = (equations, np.zeros(len(equations))), (np.empty((0, n + d)), np.empty(0))
        solved = _core.linprog(np.r_[-y, np.zeros(d)], equal, none, bounds, control)
        _, point, multipliers, least, facts = solved
        if point is None or multipliers is None or least is None:
            # Zero is feasible and bounds are finite: the limit was reached, as the report says.
            return np.zeros(d), 0.0, facts
        facts["objective"] = -least
        weights = -multipliers[:d]
        weights[np.abs(point[n:]) < size] = 0.0  # a number that is off its bounds has no multiplier
        return weights, -float(multipliers[d]) if bordered else 0.0, facts
