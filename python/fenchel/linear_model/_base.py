"""What all linear models share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .. import _check, _core
from .._check import Rule
from .._control import Control, Recorded, control_of
from .._data import Matrix, Vector, matrix, sound, vector


class Certified(Recorded, BaseEstimator):  # type: ignore[misc]
    """An estimator of samples that are rows of a matrix."""

    _least_rows: ClassVar[int] = 1
    _rules: ClassVar[dict[str, Rule]] = {}
    """What its parameters may be where that is not `_check.RULES`."""

    def _control(self) -> Control:
        """The limits that the parameters ask for."""
        return control_of(self)

    def _design(self, X: Any, reset: bool = False) -> Matrix:
        """Checks and converts samples for a prediction."""
        if not reset:
            check_is_fitted(self)
        checked = validate_data(
            self, sound(X), accept_sparse="csr", dtype=np.float64, order="C", reset=reset
        )
        return matrix(checked)

    def _weights(self, sample_weight: Any, X: Matrix) -> Vector | None:
        """Checks the weights of the rows."""
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return vector(weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class Fit:
    """Where one of several fits starts, which target it is for, and how many there are."""

    start: _core.Start | None
    target: int
    targets: int


def total(weights: Vector | None, rows: int) -> float:
    """The sum of the weights of the rows, each 1 by default."""
    return float(rows) if weights is None else float(weights.sum())


class LinearRegressor(RegressorMixin, Certified):  # type: ignore[misc]
    """A regression with one weight per feature, and per target if there are several."""

    coef_: _core.Weights
    intercept_: Any
    _link: ClassVar[str] = "identity"
    _several_targets: ClassVar[bool] = False

    def _solve(self, data: _core.Rows, weight: float, control: Control, fit: Fit) -> _core.Margin:
        """Calls the crate. `weight` is the sum of the weights of the rows."""
        raise NotImplementedError

    def _start(self, shape: tuple[int, ...], target: int) -> _core.Start | None:
        """The former coefficients, for ``warm_start=True``."""
        former = getattr(self, "coef_", None)
        if not getattr(self, "warm_start", False) or former is None or former.shape != shape:
            return None
        coef, intercept = np.atleast_2d(former), np.atleast_1d(self.intercept_)
        return vector(coef[target]), float(intercept[target])

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fits the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples. A C-ordered float64 array and a CSR matrix of float64 are not copied.
        y : array-like of shape (n_samples,)
            Targets. `Ridge`, `Lasso` and `ElasticNet` also take one column a target, and fit each by itself.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight >= 0 a row; a weight of 2 is as good as the row twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        control = self._control()
        X, y = validate_data(
            self,
            sound(X),
            y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            y_numeric=True,
            multi_output=self._several_targets,
            ensure_min_samples=self._least_rows,
        )
        X, y = matrix(X), np.asarray(y, dtype=np.float64)
        weights = self._weights(sample_weight, X)
        weight, targets = total(weights, X.shape[0]), y.reshape(len(y), -1).T
        shape = (len(targets), X.shape[1]) if len(targets) > 1 else (X.shape[1],)
        fits = []
        for k, column in enumerate(targets):
            data, fit = (X, vector(column), weights), Fit(self._start(shape, k), k, len(targets))
            fits.append(self._solve(data, weight, control, fit))
        self.coef_ = np.array([each[0] for each in fits]).reshape(shape)
        intercepts = np.array([each[1] for each in fits])
        self.intercept_ = intercepts[0] if y.ndim == 1 else intercepts
        self._record(control, *(each[2] for each in fits))
        self._gaps = np.array([each[2]["value"] for each in fits])
        return self

    def predict(self, X: Any) -> Vector:
        """Predicts one number a row, and per target if there are several.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        X = self._design(X)
        if self.coef_.ndim == 2:
            intercepts = vector(np.broadcast_to(self.intercept_, len(self.coef_)))
            return _core.predict_classes(X, vector(self.coef_.T), intercepts, False)
        intercept = float(np.ravel(self.intercept_)[0])
        return _core.predict(X, vector(self.coef_), intercept, self._link)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        return tags


def _dense(coef: Any) -> _core.Weights:
    """Weights as an array."""
    return coef.toarray() if sparse.issparse(coef) else coef  # type: ignore[no-any-return]


def _class_weights(class_weight: Any, y: Any, weights: Vector | None) -> Vector:
    """The weight of the class of each row; ``"balanced"`` counts a row by its weight."""
    if isinstance(class_weight, str):
        _check.choice("balanced")("class_weight", class_weight)
        _, codes = np.unique(y, return_inverse=True)
        counts = np.bincount(codes, weights)
        with np.errstate(divide="ignore"):
            of_class = counts.sum() / (len(counts) * counts)
        return np.where(counts > 0, of_class, 0.0)[codes]
    if not isinstance(class_weight, Mapping):
        raise _check.refuse("class_weight", class_weight, "None, 'balanced' or a dict of numbers")
    for label, weight in class_weight.items():
        _check.SIZE(f"class_weight[{label!r}]", weight)
    return np.asarray(compute_sample_weight(class_weight, y), dtype=np.float64)


class LinearClassifier(ClassifierMixin, Certified):  # type: ignore[misc]
    """A classifier with one weight per feature and class; for two classes one per feature if `_one_column`."""

    classes_: Any
    _one_column: ClassVar[bool] = True
    _n_iter_is_array: ClassVar[bool] = False
    coef_: _core.Weights
    intercept_: Vector

    def _fit_two(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Margin]:
        """Fits the codes 0 and 1."""
        raise NotImplementedError

    def _fit_more(self, data: _core.Rows, weight: float, control: Control) -> list[_core.Several]:
        """Fits the codes 0, 1, ..., at least three of them."""
        raise NotImplementedError

    def _start_two(self, features: int) -> _core.Start | None:
        former = self._former((1, features))
        return None if former is None else (vector(former[0][0]), float(former[1][0]))

    def _start_more(self, features: int) -> tuple[_core.Weights, Vector] | None:
        former = self._former((len(self.classes_), features))
        return None if former is None else (vector(former[0].T), vector(former[1]))

    def _former(self, shape: tuple[int, int]) -> tuple[_core.Weights, Vector] | None:
        former = getattr(self, "coef_", None)
        if not getattr(self, "warm_start", False) or former is None or former.shape != shape:
            return None
        return _dense(former), np.broadcast_to(self.intercept_, shape[0])

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fits the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples. A C-ordered float64 array and a CSR matrix of float64 are not copied.
        y : array-like of shape (n_samples,)
            Labels of at least two values.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight >= 0 a row; a weight of 2 is as good as the row twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        control = self._control()
        X, y = validate_data(
            self,
            sound(X),
            y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_min_samples=self._least_rows,
        )
        y = column_or_1d(y, warn=True)
        X = matrix(X)
        weights = self._weights(sample_weight, X)
        class_weight = getattr(self, "class_weight", None)
        if class_weight is not None:
            of_class = _class_weights(class_weight, y, weights)
            weights = vector(of_class if weights is None else weights * of_class)
        self.classes_, codes = np.unique(y, return_inverse=True)
        # Whole numbers and texts are labels. The check looks at all rows, and is only needed for what may be none.
        kind, values = y.dtype.kind, self.classes_
        if kind not in "biuUSf" or (kind == "f" and (values != np.floor(values)).any()):
            check_classification_targets(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y: all labels are {self.classes_[:1].tolist()[0]!r}; expected at least two classes, found one class"
            )
        if weights is not None and (weight_of := np.bincount(codes, weights)).min() == 0:
            label = self.classes_[weight_of.argmin()].item()
            raise ValueError(
                f"all rows of class {label!r} have weight 0; leave them out (if one class is left, there is nothing to fit)"
            )
        data, weight = (X, vector(codes), weights), total(weights, X.shape[0])
        if len(self.classes_) == 2 and self._one_column:
            fits = self._fit_two(data, weight, control)
            self.coef_ = np.vstack([each[0] for each in fits])
            self.intercept_ = np.array([each[1] for each in fits])
        else:
            # The crate has a handful of matrices of this size.
            size = len(self.classes_) * X.shape[1]
            _check.memory("classes * features", size, 4 * 8)
            more = self._fit_more(data, weight, control)
            fits = more  # type: ignore[assignment]
            self.coef_ = np.vstack([np.ascontiguousarray(each[0].T) for each in more])
            self.intercept_ = np.concatenate([each[1] for each in more])
            if len(more) == 1:
                # Those of one fit are determined up to a constant.
                self.intercept_ -= self.intercept_.mean()
        self._record(control, *(each[2] for each in fits))
        if self._n_iter_is_array:
            self.n_iter_ = np.array([self.n_iter_])
        return self

    def _scores(self, X: Any, probabilities: bool) -> Any:
        X = self._design(X)
        coef = _dense(self.coef_)
        intercept = np.broadcast_to(self.intercept_, coef.shape[0])
        if coef.shape[0] == 1:
            link = "sigmoid" if probabilities else "identity"
            return _core.predict(X, vector(coef[0]), float(intercept[0]), link)
        scores = _core.predict_classes(X, vector(coef.T), vector(intercept), probabilities)
        return scores if probabilities or len(coef) > 2 else scores[:, 1] - scores[:, 0]

    def densify(self) -> Any:
        """Makes ``coef_`` an array again, after `sparsify`."""
        check_is_fitted(self)
        self.coef_ = _dense(self.coef_)
        return self

    def sparsify(self) -> Any:
        """Makes ``coef_`` a sparse matrix, which takes less memory if most weights are 0."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def decision_function(self, X: Any) -> Any:
        """The scores ``x w + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score a row, positive for ``classes_[1]``.
        """
        return self._scores(X, probabilities=False)

    def predict(self, X: Any) -> Any:
        """Predicts one label a row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


class Probabilities(LinearClassifier):
    """A classifier with probabilities."""

    def predict_proba(self, X: Any) -> _core.Weights:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        p = self._scores(X, probabilities=True)
        return np.column_stack([1 - p, p]) if p.ndim == 1 else p

    def predict_log_proba(self, X: Any) -> _core.Weights:
        """Logarithms of the probabilities, see `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
