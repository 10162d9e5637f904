"""Dimension reduction for regression: the few linear combinations of the features on which a response depends.

Each is a transformer: ``transform`` gives the combinations, and ``components_`` has them as orthonormal rows. A direction is of
length 1 in the units of the features, so that the combinations may be small numbers: put ``StandardScaler`` before a reduction,
or after it where the next step is penalised.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import column_or_1d, validate_data

from . import _core
from ._check import count, refuse
from ._data import matrix, sound, vector
from .linear_model._base import Certified

__all__ = ["MAVE", "OPG", "PHD", "SADE", "SAVE", "SIR", "SPHD", "DirectionalRegression"]

NUMBERS = {
    "eigen_gap": 10.0,
    "eigen_ratio": 10.0,
    "chi_square": 0.05,
    "permutation": 0.05,
    "ladle": 200.0,
}
"""The number of each rule: most directions, level of the tests, bootstrap samples."""


@dataclass
class Method:
    """Which method, and what all have in common; read by the extension module."""

    name: str
    classes: bool
    components: tuple[str, float]
    slices: int = 0
    base_points: int = 500


class Reducer(TransformerMixin, Certified):  # type: ignore[misc]
    """A transformer to a few directions."""

    _name: ClassVar[str]
    _takes_classes: ClassVar[bool] = True
    components_: _core.Weights

    def _method(self, classes: bool, features: int) -> Method:
        components = self._components(features)
        slices, points = getattr(self, "n_slices", None), getattr(self, "base_points", 500)
        return Method(self._name, classes, components, int(slices or 0), int(points))

    def _components(self, features: int) -> tuple[str, float]:
        wanted = self.n_components
        if (theirs := getattr(self, "n_directions", None)) is not None:
            if wanted is not None:
                raise refuse("n_directions", theirs, "None where n_components is given")
            wanted = theirs
        if isinstance(wanted, str):
            wanted = "eigen_gap" if wanted == "auto" else wanted
            if wanted not in NUMBERS:
                expected = f"a number, 'auto' or one of {sorted(NUMBERS)}"
                raise refuse("n_components", wanted, expected)
            return wanted, NUMBERS[wanted]
        if wanted is None:
            return "fixed", 1.0
        try:
            return "fixed", float(count(1, features)("n_components", wanted))
        except ValueError:
            expected = f"a whole number from 1 to the {features} features"
            raise refuse("n_components", wanted, expected) from None

    def fit(self, X: Any, y: Any) -> Any:
        """Finds the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Responses: numbers, or labels of classes if they are no numbers and the method takes them.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        return self._reduce(X, y, None)

    def _reduce(self, X: Any, y: Any, sample_weight: Any) -> Any:
        control = self._control()
        X, y = validate_data(
            self,
            sound(X),
            y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            y_numeric=not self._takes_classes,
            ensure_min_samples=2,
        )
        y = column_or_1d(y, warn=True)
        X = matrix(X)
        classes = not np.issubdtype(np.asarray(y).dtype, np.number)
        if classes:
            _, y = np.unique(y, return_inverse=True)
        weights = self._weights(sample_weight, X)
        method = self._method(classes, X.shape[1])
        self._check_values(y, method)
        found = _core.reduce((X, vector(y), weights), control, method)
        directions, loadings, self.eigenvalues_, self.mean_, said, facts = found
        self.components_ = np.ascontiguousarray(directions.T)
        self.loadings_ = np.ascontiguousarray(loadings.T)
        self.n_components_ = len(self.components_)
        for each in said:
            warnings.warn(f"{type(self).__name__}: {each}", UserWarning, stacklevel=3)
        self._record(control, facts)
        return self

    def _check_values(self, y: Any, method: Method) -> None:
        """Whether a response of few values tells of so many directions."""
        if method.name != "SIR" or method.components[0] != "fixed":
            return
        asked, values = int(method.components[1]), len(np.unique(y))
        if 1 < values <= asked:
            raise ValueError(
                f"n_components = {asked}; expected at most {values - 1}: y has {values} different values, whose means lie in a "
                f"space of {values - 1} dimensions (SAVE and DirectionalRegression find more)"
            )

    @property
    def directions_(self) -> _core.Weights:
        """``loadings_`` under the name of sliced."""
        return self.loadings_

    def transform(self, X: Any) -> _core.Weights:
        """The linear combinations, in the units of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            ``(X - mean_) @ components_.T``.
        """
        X = self._design(X)
        shift = -(self.components_ @ self.mean_)
        return _core.predict_classes(X, vector(self.components_.T), vector(shift), False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the combinations: the name of the method and a number."""
        name = type(self).__name__.lower()
        return np.array([f"{name}{k}" for k in range(self._n_features_out)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class WeightedReducer(Reducer):
    """A transformer whose method takes weights of the rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Finds the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Responses: numbers, or labels of classes if they are no numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight >= 0 a row; a weight of 2 is as good as the row twice.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        return self._reduce(X, y, sample_weight)


class SIR(WeightedReducer):
    """Sliced inverse regression, for elliptical features and a response that is not symmetric in the directions.

    In sliced directions are not orthonormal, as ``directions_`` are; ``"auto"`` is ``"eigen_gap"``.

    Parameters
    ----------
    n_components : int or str, default=None
        Number of directions, or the rule that chooses it: ``"eigen_gap"``, ``"eigen_ratio"``, ``"chi_square"`` and
        ``"permutation"`` (tests of level 0.05), or ``"ladle"`` (bootstrap); None is 1.
    n_slices : int, default=None
        Number of slices of the response with equal counts; None for one that suits the data.
    random_state : int or RandomState, default=None
        Seed of permutations and resamples; None is 0.
    n_directions : int or str, default=None
        `n_components` under the name of sliced.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions.
    loadings_ : ndarray of shape (n_components, n_features)
        The method's own directions, of length 1.
    eigenvalues_ : ndarray of shape (n_features,)
        All eigenvalues, most important first.
    mean_ : ndarray of shape (n_features,)
        The mean of the features.
    report_ : Report
        How the fit ended.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import SIR
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = np.exp(X @ [1, 1, 0, 0])
    >>> SIR(n_components=1).fit(X, y).components_.round(1).tolist()
    [[0.7, 0.7, 0.0, 0.0]]
    """

    _name = "SIR"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_slices: int | None = None,
        random_state: Any = None,
        n_directions: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.random_state = random_state
        self.n_directions = n_directions


class SAVE(WeightedReducer):
    """Sliced average variance estimation, for normal features; it also sees symmetric responses.

    In sliced directions are not orthonormal, as ``directions_`` are; ``"auto"`` is ``"eigen_gap"``.

    Parameters
    ----------
    n_components : int or str, default=None
        Number of directions, or the rule that chooses it: ``"eigen_gap"``, ``"eigen_ratio"``, ``"permutation"`` (tests of level
        0.05) or ``"ladle"`` (bootstrap); None is 1.
    n_slices : int, default=None
        Number of slices of the response with equal counts; None for one that suits the data.
    random_state : int or RandomState, default=None
        Seed of permutations and resamples; None is 0.
    n_directions : int or str, default=None
        `n_components` under the name of sliced.

    Attributes
    ----------
    components_, loadings_, eigenvalues_, mean_, report_
        As in `SIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import SAVE
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = SAVE(n_components=1).fit(X, (X @ [1, 0, 0]) ** 2)
    >>> bool(abs(model.components_[0, 0]) > 0.95)
    True
    """

    _name = "SAVE"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_slices: int | None = None,
        random_state: Any = None,
        n_directions: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.random_state = random_state
        self.n_directions = n_directions


class DirectionalRegression(WeightedReducer):
    """Directional regression, for normal features; it sees what SIR and SAVE see.

    There is no peer in scikit-learn.

    Parameters
    ----------
    n_components : int or str, default=None
        Number of directions, or the rule that chooses it: ``"eigen_gap"``, ``"eigen_ratio"``, ``"permutation"`` (tests of level
        0.05) or ``"ladle"`` (bootstrap); None is 1.
    n_slices : int, default=None
        Number of slices of the response with equal counts; None for one that suits the data.
    random_state : int or RandomState, default=None
        Seed of permutations and resamples; None is 0.

    Attributes
    ----------
    components_, loadings_, eigenvalues_, mean_, report_
        As in `SIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import DirectionalRegression
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = DirectionalRegression(n_components=2).fit(X, X[:, 0] + X[:, 1] ** 2)
    >>> bool(abs(model.components_[:, 2]).max() < 0.2)
    True
    """

    _name = "DR"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_slices: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.random_state = random_state


class PHD(Reducer):
    """Principal Hessian directions of the residuals, for normal features.

    There is no peer in scikit-learn. Responses are numbers.

    Parameters
    ----------
    n_components : int or str, default=None
        Number of directions, or the rule that chooses it: ``"eigen_gap"``, ``"eigen_ratio"``, ``"chi_square"`` and
        ``"permutation"`` (tests of level 0.05), or ``"ladle"`` (bootstrap); None is 1.
    random_state : int or RandomState, default=None
        Seed of permutations and resamples; None is 0.

    Attributes
    ----------
    components_, loadings_, eigenvalues_, mean_, report_
        As in `SIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import PHD
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = PHD(n_components=1).fit(X, np.cos(X[:, 1]))
    >>> bool(abs(model.components_[0, 1]) > 0.9)
    True
    """

    _name = "PHD"
    _takes_classes = False

    def __init__(self, n_components: int | str | None = None, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state


class SADE(Reducer):
    """Sliced average derivative estimation with a score that is learnt, for features of unknown density.

    There is no peer in scikit-learn.

    Parameters
    ----------
    n_components : int or str, default=None
        Number of directions, or the rule that chooses it: ``"eigen_gap"``, ``"eigen_ratio"``, ``"permutation"`` (tests of level
        0.05) or ``"ladle"`` (bootstrap); None is 1.
    n_slices : int, default=None
        Number of slices of the response with equal counts; None for one that suits the data.
    random_state : int or RandomState, default=None
        Seed of permutations and resamples; None is 0.

    Attributes
    ----------
    components_, loadings_, eigenvalues_, mean_, report_
        As in `SIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import SADE
    >>> X = np.random.default_rng(0).normal(size=(1000, 3)) ** 3
    >>> model = SADE(n_components=1).fit(X, X @ [1, 1, 0])
    >>> bool(abs(model.components_[0, 2]) < 0.3)
    True
    """

    _name = "SADE"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_slices: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.random_state = random_state


class SPHD(Reducer):
    """Sliced principal Hessian directions with a score that is learnt, for features of unknown density; it also sees symmetric
    responses.

    There is no peer in scikit-learn.

    Parameters
    ----------
    n_components : int or str, default=None
        Number of directions, or the rule that chooses it: ``"eigen_gap"``, ``"eigen_ratio"``, ``"permutation"`` (tests of level
        0.05) or ``"ladle"`` (bootstrap); None is 1.
    n_slices : int, default=None
        Number of slices of the response with equal counts; None for one that suits the data.
    random_state : int or RandomState, default=None
        Seed of permutations and resamples; None is 0.

    Attributes
    ----------
    components_, loadings_, eigenvalues_, mean_, report_
        As in `SIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import SPHD
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = SPHD(n_components=1).fit(X, (X @ [1, 1, 0]) ** 2)
    >>> bool(abs(model.components_[0, 2]) < 0.3)
    True
    """

    _name = "SPHD"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_slices: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.random_state = random_state


class OPG(Reducer):
    """The outer product of gradients, for any features and few samples.

    There is no peer in scikit-learn. Responses are numbers.

    Parameters
    ----------
    n_components : int or str, default=None
        Number of directions, or the rule that chooses it: ``"eigen_gap"``, ``"eigen_ratio"``, ``"permutation"`` (tests of level
        0.05) or ``"ladle"`` (bootstrap); None is 1.
    base_points : int, default=500
        Planes are fitted around so many samples.
    random_state : int or RandomState, default=None
        Seed of permutations and resamples; None is 0.

    Attributes
    ----------
    components_, loadings_, eigenvalues_, mean_, report_
        As in `SIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import OPG
    >>> X = np.random.default_rng(0).uniform(size=(300, 3))
    >>> model = OPG(n_components=1).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(abs(model.components_[0, 0]) > 0.95)
    True
    """

    _name = "OPG"
    _takes_classes = False

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        base_points: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.base_points = base_points
        self.random_state = random_state


class MAVE(Reducer):
    """Minimum average variance estimation, refined, for any features and few samples.

    There is no peer in scikit-learn. Responses are numbers, and the number of directions is given.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None is 1.
    base_points : int, default=500
        Planes are fitted around so many samples.
    tol : float, default=1e-4
        The fit ends when a round moves the span by no more.
    max_iter : float, default=50
        Rounds after which it ends in any case.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    components_, loadings_, eigenvalues_, mean_, report_
        As in `SIR`; there are no eigenvalues that mean anything.
    duality_gap_ : float
        How far the last round moved the span.
    n_iter_ : int
        Rounds and passes.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.reduction import MAVE
    >>> X = np.random.default_rng(0).uniform(size=(200, 3))
    >>> model = MAVE(n_components=1).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(abs(model.components_[0, 0]) > 0.99)
    True
    """

    _name = "MAVE"
    _takes_classes = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        base_points: int = 500,
        tol: float = 1e-4,
        max_iter: float = 50,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.base_points = base_points
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _components(self, features: int) -> tuple[str, float]:
        if isinstance(self.n_components, str):
            raise ValueError(f"n_components is {self.n_components!r}; expected a number")
        return super()._components(features)
