"""Classification with convex losses and penalties."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from .. import _core
from .._check import POSITIVE, SHARE, Rule, choice, refuse
from .._control import Control
from ._base import LinearClassifier, Probabilities


def weight_of_c(C: float, weight: float) -> float:
    """The weight of a penalty beside the mean loss; `weight` is the sum of the weights of the rows."""
    return 1.0 / (C * weight)


PENALTY = choice("auto", "l1", "l2", "elasticnet", "none", None)


def ratio_of(penalty: str | None, l1_ratio: float) -> float | None:
    """The share of the l1 norm; None without a penalty."""
    if penalty is None or penalty == "none":
        return None
    if penalty not in ("l1", "l2"):
        return float(l1_ratio)
    if l1_ratio != 0 and l1_ratio != (penalty == "l1"):
        warnings.warn(
            f"l1_ratio = {l1_ratio} is not used with penalty = {penalty!r}; set penalty='elasticnet'",
            UserWarning,
            stacklevel=5,
        )
    return float(penalty == "l1")


class LogisticRegression(Probabilities):
    """Logistic regression of two or more classes.

    ``tol`` is the duality gap relative to the objective, and ``max_iter`` counts passes over the data. ``solver`` is ignored:
    the method is chosen by the problem, and takes every penalty. ``n_jobs=None`` uses all cores.

    Minimises ``C sum_i w_i log(1 + exp(-y_i (x_i coef + intercept))) + r ||coef||_1 + (1 - r)/2 ||coef||^2`` with
    ``r = l1_ratio``; for more classes the loss is that of the softmax.

    Parameters
    ----------
    penalty : {"auto", "l1", "l2", "elasticnet", None}, default="auto"
        ``"auto"`` is what `l1_ratio` says; None is no penalty.
    C : float, default=1.0
        Weight of the losses, > 0; ``numpy.inf`` is no penalty.
    l1_ratio : float, default=0.0
        Share of the l1 norm, from 0 to 1.
    dual : bool, default=False
        Ignored.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    fit_intercept : bool, default=True
        Whether to fit an intercept a class, which is not penalised.
    intercept_scaling : float, default=1
        Ignored.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    random_state : int or RandomState, default=None
        Seed of the visiting order; None is 0, so that a fit can be repeated.
    solver : str, default="auto"
        ``"auto"`` or one of scikit-learn's; ignored.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.
    verbose : bool, default=False
        Whether to show the progress.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective, divided by ``C`` and the sum of the weights, less the least objective.
    n_iter_ : ndarray of shape (1,)
        Passes over the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> round(float(model.score(X, y)), 3)
    0.973
    >>> model.report_.relative <= 1e-8
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"penalty": PENALTY}
    _n_iter_is_array = True

    def __init__(
        self,
        penalty: str | None = "auto",
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: bool = False,
        tol: float = 1e-8,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: float = 1000,
        verbose: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def _penalty(self, weight: float) -> tuple[float, float]:
        ratio = ratio_of(self.penalty, self.l1_ratio)
        if ratio is None:
            return 0.0, 0.0
        lam = weight_of_c(self.C, weight)
        return lam * ratio, lam * (1 - ratio)

    def _fit_two(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Margin]:
        start = self._start_two(data[0].shape[1])
        penalty = self._penalty(weight)
        return [_core.logistic(data, control, penalty, bool(self.fit_intercept), start)]

    def _fit_more(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Several]:
        l1, l2 = self._penalty(weight)
        start = self._start_more(data[0].shape[1])
        return [_core.softmax(data, control, (l1, 0.0, l2), bool(self.fit_intercept), start)]


class SoftmaxRegression(Probabilities):
    """Logistic regression of two or more classes, with one column of weights for each of them.

    There is no peer of this name in scikit-learn: its `LogisticRegression` has one column for two classes, and no penalty of
    groups. ``tol`` is the duality gap relative to the objective, and ``max_iter`` counts passes over the data.

    Minimises ``C sum_i w_i -log softmax(x_i W + b)_{y_i} + r ||W||_1 + g sqrt(k) sum_f ||W_f|| + (1 - r - g)/2 ||W||^2``
    over matrices ``W`` with a row ``W_f`` a feature and ``k`` columns, with ``r = l1_ratio`` and ``g = group_ratio``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; ``numpy.inf`` is no penalty.
    l1_ratio : float, default=0.0
        Share of the l1 norm, from 0 to 1.
    group_ratio : float, default=0.0
        Share of the norms of features, which keep or drop a feature for all classes at once, from 0 to ``1 - l1_ratio``.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    fit_intercept : bool, default=True
        Whether to fit an intercept a class, which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    random_state : int or RandomState, default=None
        Seed of the visiting order; None is 0, so that a fit can be repeated.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.
    verbose : bool, default=False
        Whether to show the progress.
    warm_start : bool, default=False
        Whether a fit starts at the coefficients of the last one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective, divided by ``C`` and the sum of the weights, less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from fenchel.linear_model import SoftmaxRegression
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SoftmaxRegression(C=0.1, group_ratio=1.0).fit(scale(X), y)
    >>> bool((abs(model.coef_).max(axis=0) == 0).any())  # features that no class uses
    True
    """

    _one_column = False

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        group_ratio: float = 0.0,
        tol: float = 1e-8,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        max_iter: float = 1000,
        verbose: bool = False,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.group_ratio = group_ratio
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start

    def _fit_more(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Several]:
        lam = weight_of_c(self.C, weight)
        l1, group = float(self.l1_ratio), float(self.group_ratio)
        # Shares that add up to 1 may exceed it by rounding.
        rest = 1 - l1 - group
        l2 = SHARE("1 - l1_ratio - group_ratio", 0.0 if abs(rest) < 1e-12 else rest)
        penalty = (lam * l1, lam * group, lam * l2)
        start = self._start_more(data[0].shape[1])
        return [_core.softmax(data, control, penalty, bool(self.fit_intercept), start)]


def _ovr(name: str, value: Any) -> str:
    if value != "ovr":
        expected = (
            "'ovr'; MulticlassL1(loss='hinge') has the loss of Crammer and Singer, with an l1 norm"
        )
        raise refuse(name, value, expected)
    return "ovr"


class LinearSVC(LinearClassifier):
    """A linear support vector machine; for more than two classes one against the rest for each.

    The intercept is not penalised; in scikit-learn it is, and ``intercept_scaling`` is ignored. ``tol`` is the duality gap
    relative to the objective, and ``max_iter`` counts passes over the data.

    Minimises ``C sum_i w_i loss_i + 1/2 ||coef||^2`` (for ``penalty="l1"``, the last term is ``||coef||_1``) with
    ``loss_i = max(0, 1 - y_i t_i)``, or its square, and ``t_i = x_i coef + intercept``.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        The penalty; the l1 norm keeps few features, and goes with the squared hinge.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of a violated margin.
    dual : bool or "auto", default="auto"
        Ignored: the method is chosen by the problem.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective. The hinge needs many passes: 1e-4 is practical.
    C : float, default=1.0
        Weight of the losses, > 0.
    multi_class : {"ovr"}, default="ovr"
        One class against the rest; `MulticlassL1` has the loss of Crammer and Singer.
    fit_intercept : bool, default=True
        Whether to fit an intercept a class, which is not penalised.
    intercept_scaling : float, default=1
        Ignored.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    verbose : bool, default=False
        Whether to show the progress.
    random_state : int or RandomState, default=None
        Seed of the visiting order; None is 0, so that a fit can be repeated.
    max_iter : float, default=1000
        Passes over the data after which the fit ends in any case.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    report_ : Report
        How the fit ended, with its certificate; of several fits the one with the largest gap.
    duality_gap_ : float
        A bound of the objective, divided by ``C`` (``2 C`` for the square) and the sum of the weights, less the least
        objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from fenchel.linear_model import LinearSVC
    >>> X, y = [[0, 1], [1, 0.5], [3, 0], [4, 1]], ["no", "no", "yes", "yes"]
    >>> LinearSVC().fit(X, y).predict([[3.5, 0.5]]).tolist()
    ['yes']
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "penalty": choice("l1", "l2"),
        "loss": choice("hinge", "squared_hinge"),
        "C": POSITIVE,
        "multi_class": _ovr,
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-8,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: bool = False,
        random_state: Any = None,
        max_iter: float = 1000,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    def _fit_two(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Margin]:
        # The crate halves the square.
        half = 0.5 if self.loss == "squared_hinge" else 1.0
        lam = half * weight_of_c(self.C, weight)
        penalty = (lam, 0.0) if self.penalty == "l1" else (0.0, lam)
        return [_core.svc(data, control, self.loss, penalty, bool(self.fit_intercept))]

    def _fit_more(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Several]:
        X, codes, weights = data
        fits = []
        for code in range(len(self.classes_)):
            rows = (X, (codes == code).astype(np.float64), weights)
            ((coef, intercept, facts),) = self._fit_two(rows, weight, control)
            fits.append((coef[:, None], np.array([intercept]), facts))
        return fits


class MulticlassL1(LinearClassifier):
    """A sparse linear classifier of two or more classes, for many classes and features.

    There is no peer of this name in scikit-learn. ``tol`` is the duality gap relative to the objective. With an intercept,
    features are centred, and the intercepts of the centred features are penalised like weights.

    Minimises ``1/n sum_i loss(x_i W) + alpha norm(W)`` with the loss of Crammer and Singer, or that of the softmax.

    Parameters
    ----------
    alpha : float, default=0.01
        Weight of the norm, > 0.
    loss : {"hinge", "log_loss"}, default="hinge"
        The loss of a row.
    norm : {"l1", "rows"}, default="l1"
        The sum of all absolute entries, or what keeps or drops whole features.
    fit_intercept : bool, default=True
        Whether features are centred, and a constant one is added.
    standardize : bool, default=True
        Whether features are divided by their root mean square for the fit.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    tol : float, default=0.01
        Largest duality gap, as a fraction of the objective.
    max_iter : float, default=100000
        Passes over the data after which the fit ends in any case.
    max_seconds : float, default=None
        Seconds after which the fit ends in any case.
    random_state : int or RandomState, default=None
        Seed of the draws; None is 0, so that a fit can be repeated.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts.
    report_ : Report
        How the fit ended, with its certificate.
    duality_gap_ : float
        A bound of the objective at ``coef_`` less the least objective.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel.linear_model import MulticlassL1
    >>> X, y = load_iris(return_X_y=True)
    >>> MulticlassL1().fit(X, y).score(X, y) > 0.9
    True
    """

    _one_column = False
    _rules: ClassVar[dict[str, Rule]] = {
        "loss": choice("hinge", "log_loss"),
        "norm": choice("l1", "rows"),
    }

    def __init__(
        self,
        *,
        alpha: float = 0.01,
        loss: str = "hinge",
        norm: str = "l1",
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 0.01,
        max_iter: float = 100000,
        max_seconds: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _fit_more(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Several]:
        alpha = float(self.alpha)
        solved = _core.multiclass_l1(
            data,
            control,
            self.loss,
            self.norm,
            alpha,
            bool(self.fit_intercept),
            bool(self.standardize),
        )
        return [solved]
