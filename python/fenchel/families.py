"""Exponential families of one variable, and generalised linear models.

Parameters have the meanings of the crates, which are those of most textbooks; scipy.stats has ``loc`` and ``scale`` in their
place. Each class says how they correspond.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y

from . import _check, _core
from ._check import checked, choice
from ._control import Control, Report, judge, seed_of_draws
from ._data import Vector, matrix, reals, sound, vector

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "ChiSquared",
    "Distribution",
    "Exponential",
    "Gamma",
    "Geometric",
    "GlmResult",
    "InverseGamma",
    "InverseGaussian",
    "Laplace",
    "LogNormal",
    "Logarithmic",
    "NegativeBinomial",
    "Normal",
    "Pareto",
    "Poisson",
    "Prior",
    "Rayleigh",
    "VonMises",
    "Weibull",
    "glm",
]

D = TypeVar("D", bound="Distribution")


class Distribution:
    """A member of an exponential family of one variable."""

    _family: ClassVar[str]
    _fixed: ClassVar[int] = 0
    _law: _core.Law
    _made: list[float]
    parameters: dict[str, float]

    def _set(self, **parameters: float) -> None:
        rule = _check.number()
        self.parameters = {name: rule(name, value) for name, value in parameters.items()}
        self._made = list(self.parameters.values())
        self._law = _core.Law(self._family, self._made)

    @property
    def natural(self) -> Vector:
        """The natural parameter."""
        return np.array(self._law.natural())

    @property
    def mean_parameter(self) -> Vector:
        """The mean of the sufficient statistic."""
        return np.array(self._law.mean())

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density, or of the probability of a count, in nats."""
        return _each(self._law.logpdf, x)

    logpmf = logpdf

    def pdf(self, x: Any) -> Any:
        """The density, or the probability of a count."""
        return np.exp(self.logpdf(x))

    pmf = pdf

    def cdf(self, x: Any) -> Any:
        """The probability of at most `x`; for normal, log-normal, gamma, inverse gamma and beta."""
        return _each(lambda flat: self._law.tail("cdf", flat), x)

    def sf(self, x: Any) -> Any:
        """The probability of more than `x`, accurate in the tail."""
        return _each(lambda flat: self._law.tail("sf", flat), x)

    def ppf(self, p: Any) -> Any:
        """The quantile: the inverse of `cdf`."""
        return _each(lambda flat: self._law.tail("ppf", flat), p)

    def isf(self, q: Any) -> Any:
        """The upper quantile: the inverse of `sf`."""
        return _each(lambda flat: self._law.tail("isf", flat), q)

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: Any = None) -> Any:
        """Draws; ``random_state=None`` takes numpy's global state, as in scipy."""
        sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,)
        shape = [_check.count(0, 10**18)("size", one) for one in sizes]
        _check.memory("size", prod(shape), 8)
        return self._law.rvs(prod(shape), seed_of_draws(random_state)).reshape(shape)

    def entropy(self) -> float:
        """The entropy in nats."""
        return self._law.entropy()

    def kl(self, other: Distribution) -> float:
        """The Kullback-Leibler divergence from `other`, a member of the same family, in nats."""
        if type(other) is not type(self):
            raise _check.refuse("other", other, f"another {type(self).__name__}")
        return self._law.kl(other._law)

    def refit(self: D, x: Any) -> D:
        """The member of the same family, with the same fixed quantities, that has the largest likelihood."""
        return self._of(self._law.fitted(_flat(x)))

    def _of(self: D, law: _core.Law) -> D:
        found = type(self).__new__(type(self))
        found._law, found._made = law, self._made
        found.parameters = dict(list(self.parameters.items())[: self._fixed])
        return found

    def _key(self) -> tuple[Any, ...]:
        """What makes two members equal."""
        return (type(self), *self._made[: self._fixed], *self._law.natural())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def prior(self, weight: float) -> Prior:
        """The conjugate prior with this member as its mode, worth `weight` observations."""
        return Prior(self, self._law.prior(_check.POSITIVE("weight", weight)))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_law": self._law.natural()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        made = _core.Law(self._family, self._made)
        # A member by its parameters is made by them: the way back from the natural parameter rounds.
        fitted = len(self.parameters) == self._fixed
        self._law = made.with_natural(state["_law"]) if fitted else made

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        if len(self.parameters) > self._fixed:
            return f"{type(self).__name__}({inside})"
        return f"<{type(self).__name__} with natural parameter {self.natural}>"


class Normal(Distribution):
    """The normal law.

    In scipy.stats it is ``norm(loc=mean, scale=sqrt(variance))``.

    Parameters
    ----------
    mean : float
        The mean.
    variance : float
        The variance, > 0.

    Examples
    --------
    >>> from fenchel.families import Normal
    >>> Normal(0, 1).kl(Normal(0, 1))
    0.0
    """

    _family = "normal"

    def __init__(self, mean: float, variance: float) -> None:
        self._set(mean=mean, variance=variance)

    @classmethod
    def fit(cls, x: Any) -> Normal:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class LogNormal(Distribution):
    """The law of the exponential of a normal variable.

    In scipy.stats it is ``lognorm(s=sqrt(variance), scale=exp(mean))``.

    Parameters
    ----------
    mean : float
        The mean of the logarithm.
    variance : float
        The variance of the logarithm, > 0.

    Examples
    --------
    >>> from fenchel.families import LogNormal
    >>> LogNormal(0, 1).kl(LogNormal(0, 1))
    0.0
    """

    _family = "log_normal"

    def __init__(self, mean: float, variance: float) -> None:
        self._set(mean=mean, variance=variance)

    @classmethod
    def fit(cls, x: Any) -> LogNormal:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class Gamma(Distribution):
    """The gamma law.

    In scipy.stats it is ``gamma(a=shape, scale=1 / rate)``.

    Parameters
    ----------
    shape : float
        The shape, > 0.
    rate : float
        The rate, > 0.

    Examples
    --------
    >>> from fenchel.families import Gamma
    >>> Gamma(2, 1).kl(Gamma(2, 1))
    0.0
    """

    _family = "gamma"

    def __init__(self, shape: float, rate: float) -> None:
        self._set(shape=shape, rate=rate)

    @classmethod
    def fit(cls, x: Any) -> Gamma:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class InverseGamma(Distribution):
    """The law of one over a gamma variable.

    In scipy.stats it is ``invgamma(a=shape, scale=scale)``.

    Parameters
    ----------
    shape : float
        The shape, > 0.
    scale : float
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import InverseGamma
    >>> InverseGamma(3, 2).kl(InverseGamma(3, 2))
    0.0
    """

    _family = "inverse_gamma"

    def __init__(self, shape: float, scale: float) -> None:
        self._set(shape=shape, scale=scale)

    @classmethod
    def fit(cls, x: Any) -> InverseGamma:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class InverseGaussian(Distribution):
    """The inverse Gaussian law.

    In scipy.stats it is ``invgauss(mu=mean / shape, scale=shape)``.

    Parameters
    ----------
    mean : float
        The mean, > 0.
    shape : float
        The shape, > 0.

    Examples
    --------
    >>> from fenchel.families import InverseGaussian
    >>> InverseGaussian(1, 2).kl(InverseGaussian(1, 2))
    0.0
    """

    _family = "inverse_gaussian"

    def __init__(self, mean: float, shape: float) -> None:
        self._set(mean=mean, shape=shape)

    @classmethod
    def fit(cls, x: Any) -> InverseGaussian:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class Beta(Distribution):
    """The beta law.

    In scipy.stats it is ``beta(a, b)``.

    Parameters
    ----------
    a : float
        The first shape, > 0.
    b : float
        The second shape, > 0.

    Examples
    --------
    >>> from fenchel.families import Beta
    >>> Beta(2, 3).kl(Beta(2, 3))
    0.0
    """

    _family = "beta"

    def __init__(self, a: float, b: float) -> None:
        self._set(a=a, b=b)

    @classmethod
    def fit(cls, x: Any) -> Beta:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class Exponential(Distribution):
    """The exponential law.

    In scipy.stats it is ``expon(scale=1 / rate)``.

    Parameters
    ----------
    rate : float
        The rate, > 0.

    Examples
    --------
    >>> from fenchel.families import Exponential
    >>> Exponential(2).kl(Exponential(2))
    0.0
    """

    _family = "exponential"

    def __init__(self, rate: float) -> None:
        self._set(rate=rate)

    @classmethod
    def fit(cls, x: Any) -> Exponential:
        """The member with the largest likelihood."""
        return cls(1.0).refit(x)


class ChiSquared(Distribution):
    """The chi-squared law.

    In scipy.stats it is ``chi2(df=degrees)``.

    Parameters
    ----------
    degrees : float
        Degrees of freedom, > 0.

    Examples
    --------
    >>> from fenchel.families import ChiSquared
    >>> ChiSquared(4).kl(ChiSquared(4))
    0.0
    """

    _family = "chi_squared"

    def __init__(self, degrees: float) -> None:
        self._set(degrees=degrees)

    @classmethod
    def fit(cls, x: Any) -> ChiSquared:
        """The member with the largest likelihood."""
        return cls(1.0).refit(x)


class Rayleigh(Distribution):
    """The Rayleigh law.

    In scipy.stats it is ``rayleigh(scale=scale)``.

    Parameters
    ----------
    scale : float
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import Rayleigh
    >>> Rayleigh(2).kl(Rayleigh(2))
    0.0
    """

    _family = "rayleigh"

    def __init__(self, scale: float) -> None:
        self._set(scale=scale)

    @classmethod
    def fit(cls, x: Any) -> Rayleigh:
        """The member with the largest likelihood."""
        return cls(1.0).refit(x)


class VonMises(Distribution):
    """The von Mises law of an angle in radians.

    In scipy.stats it is ``vonmises(kappa=concentration, loc=direction)``.

    Parameters
    ----------
    direction : float
        The mean direction.
    concentration : float
        The concentration, >= 0.

    Examples
    --------
    >>> from fenchel.families import VonMises
    >>> VonMises(0, 1).kl(VonMises(0, 1))
    0.0
    """

    _family = "von_mises"

    def __init__(self, direction: float, concentration: float) -> None:
        self._set(direction=direction, concentration=concentration)

    @classmethod
    def fit(cls, x: Any) -> VonMises:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class Bernoulli(Distribution):
    """The law of 0 and 1.

    In scipy.stats it is ``bernoulli(p)``.

    Parameters
    ----------
    p : float
        The probability of 1.

    Examples
    --------
    >>> from fenchel.families import Bernoulli
    >>> Bernoulli(0.3).kl(Bernoulli(0.3))
    0.0
    """

    _family = "bernoulli"

    def __init__(self, p: float) -> None:
        self._set(p=p)

    @classmethod
    def fit(cls, x: Any) -> Bernoulli:
        """The member with the largest likelihood."""
        return cls(0.5).refit(x)


class Poisson(Distribution):
    """The Poisson law.

    In scipy.stats it is ``poisson(mu=rate)``.

    Parameters
    ----------
    rate : float
        The mean, > 0.

    Examples
    --------
    >>> from fenchel.families import Poisson
    >>> Poisson(2).kl(Poisson(2))
    0.0
    """

    _family = "poisson"

    def __init__(self, rate: float) -> None:
        self._set(rate=rate)

    @classmethod
    def fit(cls, x: Any) -> Poisson:
        """The member with the largest likelihood."""
        return cls(1.0).refit(x)


class Geometric(Distribution):
    """The number of failures before the first success.

    In scipy.stats it is ``geom(p, loc=-1)``.

    Parameters
    ----------
    p : float
        The probability of success.

    Examples
    --------
    >>> from fenchel.families import Geometric
    >>> Geometric(0.4).kl(Geometric(0.4))
    0.0
    """

    _family = "geometric"

    def __init__(self, p: float) -> None:
        self._set(p=p)

    @classmethod
    def fit(cls, x: Any) -> Geometric:
        """The member with the largest likelihood."""
        return cls(0.5).refit(x)


class Logarithmic(Distribution):
    """The logarithmic law.

    In scipy.stats it is ``logser(p=q)``.

    Parameters
    ----------
    q : float
        The parameter, between 0 and 1.

    Examples
    --------
    >>> from fenchel.families import Logarithmic
    >>> Logarithmic(0.5).kl(Logarithmic(0.5))
    0.0
    """

    _family = "logarithmic"

    def __init__(self, q: float) -> None:
        self._set(q=q)

    @classmethod
    def fit(cls, x: Any) -> Logarithmic:
        """The member with the largest likelihood."""
        return cls(0.5).refit(x)


class Binomial(Distribution):
    """The number of successes in n trials.

    In scipy.stats it is ``binom(n, p)``.

    Parameters
    ----------
    n : int
        The number of trials, which is fixed.
    p : float
        The probability of success.

    Examples
    --------
    >>> from fenchel.families import Binomial
    >>> Binomial(5, 0.3).kl(Binomial(5, 0.3))
    0.0
    """

    _family = "binomial"
    _fixed = 1

    @checked(n=_check.count(0, 2**32 - 1))
    def __init__(self, n: float, p: float) -> None:
        self._set(n=n, p=p)

    @classmethod
    def fit(cls, x: Any, n: float) -> Binomial:
        """The member with the largest likelihood."""
        return cls(n, 0.5).refit(x)


class NegativeBinomial(Distribution):
    """The number of failures before r successes.

    In scipy.stats it is ``nbinom(r, p)``.

    Parameters
    ----------
    r : float
        The number of successes, > 0, which is fixed.
    p : float
        The probability of success.

    Examples
    --------
    >>> from fenchel.families import NegativeBinomial
    >>> NegativeBinomial(3, 0.4).kl(NegativeBinomial(3, 0.4))
    0.0
    """

    _family = "negative_binomial"
    _fixed = 1

    def __init__(self, r: float, p: float) -> None:
        self._set(r=r, p=p)

    @classmethod
    def fit(cls, x: Any, r: float) -> NegativeBinomial:
        """The member with the largest likelihood."""
        return cls(r, 0.5).refit(x)


class Laplace(Distribution):
    """The Laplace law.

    In scipy.stats it is ``laplace(loc=location, scale=scale)``.

    Parameters
    ----------
    location : float
        The location, which is fixed.
    scale : float
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import Laplace
    >>> Laplace(0, 1).kl(Laplace(0, 1))
    0.0
    """

    _family = "laplace"
    _fixed = 1

    def __init__(self, location: float, scale: float) -> None:
        self._set(location=location, scale=scale)

    @classmethod
    def fit(cls, x: Any, location: float) -> Laplace:
        """The member with the largest likelihood."""
        return cls(location, 1.0).refit(x)


class Weibull(Distribution):
    """The Weibull law.

    In scipy.stats it is ``weibull_min(c=shape, scale=scale)``.

    Parameters
    ----------
    shape : float
        The shape, > 0, which is fixed.
    scale : float
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import Weibull
    >>> Weibull(2, 1).kl(Weibull(2, 1))
    0.0
    """

    _family = "weibull"
    _fixed = 1

    def __init__(self, shape: float, scale: float) -> None:
        self._set(shape=shape, scale=scale)

    @classmethod
    def fit(cls, x: Any, shape: float) -> Weibull:
        """The member with the largest likelihood."""
        return cls(shape, 1.0).refit(x)


class Pareto(Distribution):
    """The Pareto law.

    In scipy.stats it is ``pareto(b=index, scale=minimum)``.

    Parameters
    ----------
    minimum : float
        The least value, > 0, which is fixed.
    index : float
        The index, > 0.

    Examples
    --------
    >>> from fenchel.families import Pareto
    >>> Pareto(1, 3).kl(Pareto(1, 3))
    0.0
    """

    _family = "pareto"
    _fixed = 1

    def __init__(self, minimum: float, index: float) -> None:
        self._set(minimum=minimum, index=index)

    @classmethod
    def fit(cls, x: Any, minimum: float) -> Pareto:
        """The member with the largest likelihood."""
        return cls(minimum, 1.0).refit(x)


class Prior:
    """A conjugate prior.

    Examples
    --------
    >>> from fenchel.families import Bernoulli
    >>> belief = Bernoulli(0.5).prior(2).posterior([1, 1, 1, 0])
    >>> round(float(belief.mode().pdf(1)), 6)  # (1 + 3) / (2 + 4)
    0.666667
    """

    def __init__(self, member: Distribution, belief: _core.Belief) -> None:
        self._member = member
        self._belief = belief

    def __getstate__(self) -> dict[str, Any]:
        return {"_member": self._member, "mode": self.mode(), "weight": self.weight}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._member = state["_member"]
        self._belief = state["mode"]._law.prior(state["weight"])

    @property
    def weight(self) -> float:
        """How many observations it is worth."""
        return self._belief.weight()

    @property
    def mean(self) -> Vector:
        """The mean of the mean parameter."""
        return np.array(self._belief.mean())

    def mode(self) -> Distribution:
        """The member at the mode."""
        return self._member._of(self._belief.map())

    def posterior(self, x: Any) -> Prior:
        """The belief after observations."""
        return Prior(self._member, self._belief.posterior(_flat(x)))

    def log_marginal_likelihood(self, x: Any) -> float:
        """The logarithm of the probability of observations, with the parameter integrated out, in nats."""
        return self._belief.log_marginal(_flat(x))

    def log_predictive(self, x: float) -> float:
        """The logarithm of the probability of one more observation, in nats."""
        return self.log_marginal_likelihood([x])


def _flat(x: Any) -> Vector:
    return vector(np.ravel(reals("x", x)))


def _each(of: Any, x: Any) -> Any:
    array = reals("x", x)
    found = of(_flat(array)).reshape(array.shape)
    return float(found) if array.ndim == 0 else found


@dataclass(frozen=True)
class GlmResult:
    """A fitted generalised linear model.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns.
    intercept_ : float
        The intercept; 0 without.
    names : list of str
        The names of the coefficients, the intercept first.
    params, bse, tvalues, pvalues : ndarray
        Estimates, standard errors, statistics and two-sided p-values, in the order of `names`.
    scale : float
        The dispersion.
    deviance, null_deviance, llf, aic : float
        As in statsmodels; NaN where they do not exist.
    df_resid, df_null : int
        Degrees of freedom.
    link : str
        The link.
    report_ : Report
        How the fit ended, with its certificate.
    """

    coef_: Vector
    intercept_: float
    names: list[str]
    params: Vector
    bse: Vector
    tvalues: Vector
    pvalues: Vector
    scale: float
    deviance: float
    null_deviance: float
    llf: float
    aic: float
    df_resid: int
    df_null: int
    link: str
    report_: Report
    _text: str
    _intervals: list[tuple[float, float]]
    _law: tuple[str, float]

    def summary(self) -> str:
        """The table that R prints."""
        return self._text

    def predict(self, X: Any, offset: Any = None) -> Vector:
        """The mean of the response for each row; NaN where the linear predictor is outside of the domain of the link."""
        checked = check_array(sound(X), accept_sparse="csr", dtype=np.float64, order="C")
        if checked.shape[1] != len(self.coef_):
            raise ValueError(f"X has {checked.shape[1]} columns; expected {len(self.coef_)}")
        eta = _core.predict(matrix(checked), vector(self.coef_), self.intercept_, "identity")
        shift = 0.0 if offset is None else reals("offset", offset)
        return _core.glm_mean(*self._law, vector(eta + shift))

    def conf_int(self) -> Vector:
        """Intervals of level 0.95: a row a coefficient, with its lower and upper end."""
        return np.array(self._intervals)


@checked(
    family=choice(
        "gaussian", "binomial", "poisson", "gamma", "inverse_gaussian", "negative_binomial"
    ),
    size=_check.POSITIVE,
)
def glm(
    X: Any,
    y: Any,
    family: str = "gaussian",
    *,
    size: float = 1.0,
    offset: Any = None,
    sample_weight: Any = None,
    intercept: bool = True,
    l2: float = 0.0,
    max_iter: float = 1e6,
    tol: float = 1e-10,
) -> GlmResult:
    """Fits a generalised linear model, with standard errors.

    An intercept is added unless ``intercept=False``; in statsmodels it is a column of ``X``. The links of ``"gamma"`` and
    ``"inverse_gaussian"`` are those of the natural parameter: coefficients have the opposite sign of those in R and statsmodels
    with the links ``inverse`` and ``inverse_squared``, and half the size in the second case.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Targets.
    family : str, default="gaussian"
        ``"gaussian"``, ``"binomial"``, ``"poisson"``, ``"gamma"``, ``"inverse_gaussian"`` or ``"negative_binomial"`` (log link).
    size : float, default=1.0
        The size of ``"negative_binomial"``, which R calls theta.
    offset : array-like of shape (n_samples,), default=None
        A number a row that is added to the linear predictor.
    sample_weight : array-like of shape (n_samples,), default=None
        A weight a row; for shares the number of trials.
    intercept : bool, default=True
        Whether to fit an intercept.
    l2 : float, default=0.0
        Weight of half the squared norm of the coefficients.
    max_iter : float, default=1e6
        Passes after which the fit ends in any case.
    tol : float, default=1e-10
        Largest certificate.

    Returns
    -------
    result : GlmResult
        The fit.

    Examples
    --------
    >>> from fenchel.families import glm
    >>> result = glm([[0], [1], [2], [3]], [1, 2, 4, 8], "poisson")
    >>> result.params.round(4).tolist()
    [0.0, 0.6931]
    """
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X, y = check_X_y(sound(X), y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True)
    X = matrix(X)
    weights = None
    if sample_weight is not None:
        weights = vector(
            _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        )
    shift = None if offset is None else _flat(offset)
    control = Control(tol, max_iter)
    coef, constant, facts, ended = _core.glm(
        (X, vector(y), weights), control, family, size, l2, intercept, shift, names
    )
    report = Report(**ended)
    judge(report, "glm")
    return GlmResult(
        coef_=coef,
        intercept_=constant,
        names=list(facts["names"]),
        params=np.array(facts["estimates"]),
        bse=np.array(facts["standard_errors"]),
        tvalues=np.array(facts["statistics"]),
        pvalues=np.array(facts["p_values"]),
        scale=facts["dispersion"],
        deviance=facts["deviance"],
        null_deviance=facts["null_deviance"],
        llf=facts["llf"],
        aic=facts["aic"],
        df_resid=facts["df_resid"],
        df_null=facts["df_null"],
        link=facts["link"],
        report_=report,
        _text=facts["text"],
        _intervals=facts["intervals"],
        _law=(family, size),
    )
