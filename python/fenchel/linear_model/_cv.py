"""Penalties chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._check import SIZE, Rule, choice, flag, numbers, optional, refuse
from .._control import Control
from ._base import Fit, LinearClassifier, LinearRegressor, Probabilities
from ._paths import enet_path, lasso_path
from ._search import CS, PENALTIES, SHARES, Search, folds, grid, grid_of_c, ratios


class _Table:
    """What a cross-validation leaves on an estimator."""

    _least_rows = 2

    def _keep(self, scores: list[_core.Score], chosen: int, factor: float = 1.0) -> None:
        columns = list(zip(*scores, strict=True))
        # The crate scores by the share of errors, and by 1 less the AUC.
        best = 1.0 if getattr(self, "scoring", "") in ("accuracy", "roc_auc") else 0.0
        self.cv_results_ = {
            "l1_ratio": np.array(columns[0]),
            "alpha": np.array(columns[1]) * factor,
            "mean_test_score": best - np.array(columns[2]),
            "std_error_test_score": np.array(columns[3]),
            "split_test_scores": best - np.array(columns[4]),
        }
        self.best_index_ = chosen

    @property
    def best_score_(self) -> float:
        """The mean score of the penalty that was chosen."""
        check_is_fitted(self, "cv_results_")
        return float(self.cv_results_["mean_test_score"][self.best_index_])

    @property
    def alphas_(self) -> Any:
        """The penalties, falling; for several shares of the l1 norm a row each."""
        check_is_fitted(self, "cv_results_")
        alphas = self._by_share(self.cv_results_["alpha"])
        # Penalties that were given are the same for all shares.
        return alphas[0] if alphas.ndim == 2 and (alphas == alphas[0]).all() else alphas

    def _by_share(self, values: Any) -> Any:
        shares = len(np.unique(self.cv_results_["l1_ratio"]))
        return values if shares == 1 else values.reshape(shares, -1, *values.shape[1:])


class _ErrorTable(_Table):
    """That of a regression."""

    @property
    def mse_path_(self) -> Any:
        """The mean squared error of each penalty on each fold; for several shares of the l1 norm a matrix each."""
        check_is_fitted(self, "cv_results_")
        return -self._by_share(self.cv_results_["split_test_scores"])

    @property
    def dual_gap_(self) -> float:
        """The duality gap of the last fit under scikit-learn's name."""
        check_is_fitted(self, "cv_results_")
        return self.duality_gap_  # type: ignore[attr-defined,no-any-return]


class ElasticNetCV(_ErrorTable, LinearRegressor):
    """`ElasticNet` with its penalty chosen by cross-validation.

    A number for ``cv`` is one of folds that are drawn by `random_state`; in scikit-learn they are consecutive rows. ``l1_ratio``
    tries four shares by default. ``n_jobs=None`` uses all cores. ``cv_results_`` has all scores.

    Parameters
    ----------
    l1_ratio : float or list of float, default=(0.1, 0.5, 0.9, 1.0)
        Shares of the l1 norm to try, from 0 to 1.
    eps : float, default=1e-3
        The least penalty divided by the largest, which is the least one without features.
    alphas : int or list of float, default=100
        Number of penalties for each share, or the penalties.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    precompute : bool or "auto", default="auto"
        Ignored.
    copy_X : bool, default=True
        Ignored: `X` is never changed.
    selection : {"cyclic", "random"}, default="cyclic"
        Ignored.
    max_iter : float, default=1000
        Passes over the data for each fit.
    tol : float, default=1e-6
        Largest duality gap, as a fraction of the objective.
    cv : int, splitter or list of pairs of rows, default=None
        Number of folds, or what gives the training and test rows of each; None is 5, or one a row if there are fewer.
    selection_rule : {"best", "one_standard_error"}, default="best"
        The penalty with the least error, or the largest one within a standard error of it.
    verbose : bool, default=False
        Whether to show the progress.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the folds and visiting orders; None is 0, so that a fit can be repeated.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    l1_ratio_ : float
        The share of the l1 norm that was chosen.
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        The intercept.
    cv_results_ : dict of ndarray
        ``l1_ratio``, ``alpha``, ``mean_test_score`` (the negative mean squared error), ``std_error_test_score`` and
        ``split_test_scores``, one entry for each penalty.
    best_index_ : int
        The entry that was chosen.
    report_ : Report
        How the last fit, to all rows, ended.
    duality_gap_ : float
        A bound of the objective of the last fit less the least objective.
    n_iter_ : int
        Passes over the data of the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel.linear_model import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=20).fit(X, y)
    >>> model.l1_ratio_
    1.0
    """

    _rules: ClassVar[dict[str, Rule]] = {"alphas": PENALTIES, "l1_ratio": SHARES}
    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio: float | Sequence[float] = (0.1, 0.5, 0.9, 1.0),
        eps: float = 1e-3,
        alphas: int | Sequence[float] = 100,
        fit_intercept: bool = True,
        precompute: bool | str = "auto",
        copy_X: bool = True,
        selection: str = "cyclic",
        max_iter: float = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        selection_rule: str = "best",
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.selection = selection
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.selection_rule = selection_rule
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        given, count = grid(self.alphas)
        rule = one_standard_error(self.selection_rule)
        shares, split = ratios(self.l1_ratio), folds(self.cv, *data[:2])
        search = Search(shares, given, count, self.eps, *split, one_standard_error=rule)
        solved = _core.least_squares_cv(data, control, search, bool(self.fit_intercept))
        model, scores, chosen = solved
        self._keep(scores, chosen)
        self.l1_ratio_, self.alpha_ = scores[chosen][:2]
        return model


class LassoCV(_ErrorTable, LinearRegressor):
    """`Lasso` with its penalty chosen by cross-validation.

    A number for ``cv`` is one of folds that are drawn by `random_state`; in scikit-learn they are consecutive rows.
    ``n_jobs=None`` uses all cores. ``cv_results_`` has all scores.

    Parameters
    ----------
    eps : float, default=1e-3
        The least penalty divided by the largest, which is the least one without features.
    alphas : int or list of float, default=100
        Number of penalties, or the penalties.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    precompute : bool or "auto", default="auto"
        Ignored.
    copy_X : bool, default=True
        Ignored: `X` is never changed.
    selection : {"cyclic", "random"}, default="cyclic"
        Ignored.
    max_iter : float, default=1000
        Passes over the data for each fit.
    tol : float, default=1e-6
        Largest duality gap, as a fraction of the objective.
    cv : int, splitter or list of pairs of rows, default=None
        Number of folds, or what gives the training and test rows of each; None is 5, or one a row if there are fewer.
    selection_rule : {"best", "one_standard_error"}, default="best"
        The penalty with the least error, or the largest one within a standard error of it.
    verbose : bool, default=False
        Whether to show the progress.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the folds and visiting orders; None is 0, so that a fit can be repeated.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        The intercept.
    cv_results_ : dict of ndarray
        See `ElasticNetCV`.
    best_index_ : int
        The entry of it that was chosen.
    report_ : Report
        How the last fit, to all rows, ended.
    duality_gap_ : float
        A bound of the objective of the last fit less the least objective.
    n_iter_ : int
        Passes over the data of the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel.linear_model import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> 0 < LassoCV().fit(X, y).alpha_ < 1
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"alphas": PENALTIES}
    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: int | Sequence[float] = 100,
        fit_intercept: bool = True,
        precompute: bool | str = "auto",
        copy_X: bool = True,
        selection: str = "cyclic",
        max_iter: float = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        selection_rule: str = "best",
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.selection = selection
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.selection_rule = selection_rule
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        given, count = grid(self.alphas)
        rule = one_standard_error(self.selection_rule)
        split = folds(self.cv, *data[:2])
        search = Search([1.0], given, count, self.eps, *split, one_standard_error=rule)
        solved = _core.least_squares_cv(data, control, search, bool(self.fit_intercept))
        model, scores, chosen = solved
        self._keep(scores, chosen)
        self.alpha_ = scores[chosen][1]
        return model


class RidgeCV(_ErrorTable, LinearRegressor):
    """`Ridge` with its penalty chosen by cross-validation.

    ``cv=None`` is five folds (one a row if there are fewer), which are drawn by `random_state`; in scikit-learn it
    leaves out one row at a time.

    Parameters
    ----------
    alphas : list of float or None, default=(0.1, 1.0, 10.0)
        The penalties; None for 25 that suit the data.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    max_iter : float, default=1000
        Passes over the data for each fit.
    tol : float, default=1e-8
        Largest duality gap, as a fraction of the objective.
    cv : int, splitter or list of pairs of rows, default=None
        Number of folds, or what gives the training and test rows of each; None is 5, or one a row if there are fewer.
    selection_rule : {"best", "one_standard_error"}, default="best"
        The penalty with the least error, or the largest one within a standard error of it.
    verbose : bool, default=False
        Whether to show the progress.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the folds and visiting orders; None is 0, so that a fit can be repeated.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        The intercept.
    cv_results_ : dict of ndarray
        See `ElasticNetCV`.
    best_index_ : int
        The entry of it that was chosen.
    report_ : Report
        How the last fit, to all rows, ended.
    duality_gap_ : float
        A bound of the objective of the last fit less the least objective.
    n_iter_ : int
        Passes over the data of the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel.linear_model import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RidgeCV(alphas=[0.01, 0.1, 1.0]).fit(X, y).alpha_ in (0.01, 0.1)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"alphas": optional(numbers(SIZE))}

    def __init__(
        self,
        alphas: Sequence[float] | None = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        max_iter: float = 1000,
        tol: float = 1e-8,
        cv: Any = None,
        selection_rule: str = "best",
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.selection_rule = selection_rule
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        given = None if self.alphas is None else grid(self.alphas, 1 / weight)[0]
        rule = one_standard_error(self.selection_rule)
        count, splits = folds(self.cv, *data[:2])
        search = Search([0.0], given, folds=count, splits=splits, one_standard_error=rule)
        solved = _core.least_squares_cv(data, control, search, bool(self.fit_intercept))
        model, scores, chosen = solved
        self._keep(scores, chosen, weight)
        self.alpha_ = _given(self.alphas, scores[chosen][1] * weight)
        return model


def _refit(name: str, value: Any) -> bool:
    if not flag(name, value):
        raise refuse(name, value, "True: there is no model without a fit to all rows")
    return True


def _new_attributes(name: str, value: Any) -> bool:
    if value is not False and value != "warn":
        raise refuse(name, value, "False: C_ is a number and scores_ an array")
    return False


class LogisticRegressionCV(_Table, Probabilities):
    """`LogisticRegression` with its penalty chosen by cross-validation.

    ``scoring`` is the log loss by default; in scikit-learn it was the accuracy. A number for ``cv`` is one of folds that are
    stratified and drawn by `random_state`. ``C_`` and ``l1_ratio_`` are numbers and ``scores_`` is an array, as with
    ``use_legacy_attributes=False``; ``coefs_paths_`` is not there. ``solver``, ``dual`` and ``intercept_scaling`` are ignored.
    ``n_jobs=None`` uses all cores.

    Parameters
    ----------
    penalty : {"auto", "l1", "l2", "elasticnet"}, default="auto"
        ``"auto"`` and ``"elasticnet"`` are what `l1_ratios` says.
    dual : bool, default=False
        Ignored.
    Cs : int, list of float or None, default=None
        Number of penalties, or the values of ``C``; None for those that suit the data.
    l1_ratios : list of float, default=(0.0,)
        Shares of the l1 norm to try, from 0 to 1; not used with ``penalty="l1"`` and ``"l2"``.
    fit_intercept : bool, default=True
        Whether to fit an intercept a class, which is not penalised.
    cv : int, splitter or list of pairs of rows, default=None
        Number of folds, or what gives the training and test rows of each; None is 5, or one a row if there are fewer.
    scoring : {"neg_log_loss", "accuracy", "roc_auc"}, default="neg_log_loss"
        The score on the folds; the last for two classes only.
    solver : str, default="auto"
        ``"auto"`` or one of scikit-learn's; ignored.
    tol : float, default=1e-6
        Largest duality gap, as a fraction of the objective.
    max_iter : float, default=1000
        Passes over the data for each fit.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    selection_rule : {"best", "one_standard_error"}, default="best"
        The penalty with the best score, or the largest one within a standard error of it.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    verbose : bool, default=False
        Whether to show the progress.
    refit : bool, default=True
        True: the chosen penalty is fitted to all rows.
    intercept_scaling : float, default=1
        Ignored.
    random_state : int or RandomState, default=None
        Seed of the folds and visiting orders; None is 0, so that a fit can be repeated.
    use_legacy_attributes : False or "warn", default=False
        The attributes of scikit-learn's new form are there in any case.

    Attributes
    ----------
    C_ : float
        The value of ``C`` that was chosen.
    Cs_ : ndarray of shape (n_cs,)
        The values of ``C``, ascending; a row for each share of the l1 norm where they differ.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        The score of each value on each fold.
    l1_ratio_ : float
        The share of the l1 norm that was chosen.
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    cv_results_ : dict of ndarray
        ``l1_ratio``, ``alpha`` (``1/C`` divided by the sum of the weights), ``mean_test_score`` (negative log loss, accuracy or
        AUC), ``std_error_test_score`` and ``split_test_scores``.
    best_index_ : int
        The entry of it that was chosen.
    report_ : Report
        How the last fit, to all rows, ended.
    duality_gap_ : float
        A bound of the objective of the last fit less the least objective.
    n_iter_ : int
        Passes over the data of the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel.linear_model import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.1, 1, 10]).fit(X, y)
    >>> round(model.C_, 6)
    10.0
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "penalty": choice("auto", "l1", "l2", "elasticnet"),
        "Cs": optional(CS),
        "l1_ratios": SHARES,
        "scoring": choice("neg_log_loss", "accuracy", "roc_auc"),
        "refit": _refit,
        "use_legacy_attributes": _new_attributes,
    }
    _n_iter_is_array = True

    def __init__(
        self,
        *,
        penalty: str = "auto",
        dual: bool = False,
        Cs: int | Sequence[float] | None = None,
        l1_ratios: Sequence[float] = (0.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: str = "neg_log_loss",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: float = 1000,
        class_weight: Any = None,
        selection_rule: str = "best",
        n_jobs: int | None = None,
        verbose: bool = False,
        refit: bool = True,
        intercept_scaling: float = 1,
        random_state: Any = None,
        use_legacy_attributes: bool | str = False,
    ) -> None:
        self.penalty = penalty
        self.dual = dual
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.selection_rule = selection_rule
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    @property
    def Cs_(self) -> Any:
        """The values of ``C``, ascending."""
        check_is_fitted(self, "cv_results_")
        values = np.array([_given(self.Cs, C) for C in self._C_of_alpha(self.alphas_.ravel())])
        return values.reshape(self.alphas_.shape)

    @property
    def scores_(self) -> Any:
        """The score on each fold, for each share of the l1 norm and each value of ``C``."""
        check_is_fitted(self, "cv_results_")
        scores = self._by_share(self.cv_results_["split_test_scores"])
        return np.moveaxis(scores.reshape(-1, *scores.shape[-2:]), 2, 0)

    def _C_of_alpha(self, alpha: Any) -> Any:
        return 1 / (alpha * self._weight)

    def _search(self, data: _core.Rows, weight: float) -> Search:
        shares = {"l1": [1.0], "l2": [0.0]}.get(self.penalty) or ratios(self.l1_ratios)
        return _search_of_c(self, data, shares, weight)

    def _chosen(self, scores: list[_core.Score], chosen: int, weight: float) -> None:
        self._keep(scores, chosen)
        self._weight = weight
        self.l1_ratio_ = scores[chosen][0]
        self.C_ = _given(self.Cs, self._C_of_alpha(scores[chosen][1]))

    def _fit_two(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Margin]:
        solved = _core.logistic_cv(
            data, control, self._search(data, weight), bool(self.fit_intercept)
        )
        self._chosen(solved[1], solved[2], weight)
        return [solved[0]]

    def _fit_more(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Several]:
        solved = _core.softmax_cv(
            data, control, self._search(data, weight), bool(self.fit_intercept)
        )
        self._chosen(solved[1], solved[2], weight)
        return [solved[0]]


class LinearSVCCV(_Table, LinearClassifier):
    """`LinearSVC` of two classes with its penalty chosen by cross-validation.

    There is no peer of this name in scikit-learn.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of a violated margin.
    Cs : int, list of float or None, default=None
        Number of penalties, or the values of ``C``; None for those that suit the data.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    cv : int, splitter or list of pairs of rows, default=None
        Number of folds, which are stratified, or what gives the training and test rows of each; None is 5, or one a
        row if there are fewer.
    scoring : {"accuracy", "roc_auc"}, default="accuracy"
        The score on the folds.
    tol : float, default=1e-6
        Largest duality gap, as a fraction of the objective.
    max_iter : float, default=1000
        Passes over the data for each fit.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    selection_rule : {"best", "one_standard_error"}, default="best"
        The penalty with the best score, or the largest one within a standard error of it.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    verbose : bool, default=False
        Whether to show the progress.
    random_state : int or RandomState, default=None
        Seed of the folds and visiting orders; None is 0, so that a fit can be repeated.

    Attributes
    ----------
    C_ : float
        The value of ``C`` that was chosen.
    classes_ : ndarray of shape (2,)
        The labels, ascending.
    coef_ : ndarray of shape (1, n_features)
        Weights.
    intercept_ : ndarray of shape (1,)
        The intercept.
    cv_results_ : dict of ndarray
        See `LogisticRegressionCV`.
    best_index_ : int
        The entry of it that was chosen.
    report_ : Report
        How the last fit, to all rows, ended.
    duality_gap_ : float
        A bound of the objective of the last fit less the least objective.
    n_iter_ : int
        Passes over the data of the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fenchel.linear_model import LinearSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> LinearSVCCV().fit(scale(X), y).score(scale(X), y) > 0.97
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "loss": choice("hinge", "squared_hinge"),
        "Cs": optional(CS),
        "scoring": choice("accuracy", "roc_auc"),
    }

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        Cs: int | Sequence[float] | None = None,
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: str = "accuracy",
        tol: float = 1e-6,
        max_iter: float = 1000,
        class_weight: Any = None,
        selection_rule: str = "best",
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.Cs = Cs
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.selection_rule = selection_rule
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit_two(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Margin]:
        # The crate halves the square.
        weight = 2 * weight if self.loss == "squared_hinge" else weight
        search = _search_of_c(self, data, [0.0], weight)
        solved = _core.svc_cv(data, control, search, self.loss, bool(self.fit_intercept))
        self._keep(solved[1], solved[2])
        self.C_ = _given(self.Cs, 1 / (solved[1][solved[2]][1] * weight))
        return [solved[0]]

    def _fit_more(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Several]:
        raise ValueError(
            f"y has {len(self.classes_)} classes; Only binary classification is supported."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _search_of_c(estimator: Any, data: _core.Rows, l1_ratios: list[float], weight: float) -> Search:
    given, tried = grid_of_c(estimator.Cs, weight)
    rule = one_standard_error(estimator.selection_rule)
    count, splits = folds(estimator.cv, *data[:2])
    return Search(l1_ratios, given, tried, 1e-3, count, splits, estimator.scoring, rule)


def one_standard_error(rule: str) -> bool:
    """Whether the larger penalty is taken."""
    return rule == "one_standard_error"


def _given(values: int | Sequence[float] | None, found: float) -> float:
    """The value of a list that `found` is up to rounding."""
    if values is None or isinstance(values, (int, np.integer)):
        return found
    return float(min(values, key=lambda value: abs(value - found)))
