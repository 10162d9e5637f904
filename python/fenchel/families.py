"""Exponential families of one variable, and generalised linear models.

Parameters have the meanings of the crates, which are those of most textbooks; scipy.stats has ``loc`` and ``scale`` in their
place. Each class says how they correspond, and `Distribution.to_scipy` makes the law of scipy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import stats
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y

from . import _check, _core
from ._check import checked, choice
from ._control import Control, Report, judge, seed_of_draws
from ._data import Vector, dense, matrix, reals, sound, vector

__all__ = [
    "GLM",
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
    """A member of an exponential family of one variable; its parameters are attributes, and in `parameters`."""

    _family: ClassVar[str]
    _fixed: ClassVar[int] = 0
    _tails: ClassVar[bool] = False
    """Whether the crates have its distribution function and quantiles."""
    _law: _core.Law
    _made: list[float]
    parameters: dict[str, float]

    def _set(self, **parameters: float) -> None:
        rule = _check.number()
        self.parameters = {name: rule(name, value) for name, value in parameters.items()}
        self._made = list(self.parameters.values())
        self._law = _core.Law(self._family, self._made)

    def __getattr__(self, name: str) -> float:
        parameters = vars(self).get("parameters", {})
        if name in parameters:
            return float(parameters[name])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        raise NotImplementedError

    def mean(self) -> float:
        """The mean of the variable; that of the sufficient statistic is `mean_parameter`."""
        return float(self.to_scipy().mean())

    def var(self) -> float:
        """The variance."""
        return float(self.to_scipy().var())

    def std(self) -> float:
        """The standard deviation."""
        return float(self.to_scipy().std())

    def median(self) -> float:
        """The median."""
        return float(self.ppf(0.5))

    def interval(self, confidence: float) -> tuple[Any, Any]:
        """The interval with this probability, and as much below it as above."""
        level = _check.SHARE("confidence", confidence)
        return self.ppf((1 - level) / 2), self.isf((1 - level) / 2)

    def stats(self, moments: str = "mv") -> Any:
        """Mean (m), variance (v), skewness (s) and kurtosis (k), as in scipy."""
        return self.to_scipy().stats(moments)

    @property
    def natural(self) -> Vector:
        """The natural parameter."""
        return np.array(self._law.natural())

    @property
    def mean_parameter(self) -> Vector:
        """The mean of the sufficient statistic."""
        return np.array(self._law.mean())

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density, or of the probability of a count, in nats; minus infinity outside of the support."""
        return _each(self._law.logpdf, x)

    logpmf = logpdf

    def pdf(self, x: Any) -> Any:
        """The density, or the probability of a count."""
        return np.exp(self.logpdf(x))

    pmf = pdf

    def cdf(self, x: Any) -> Any:
        """The probability of at most `x`.

        Distribution functions and quantiles are those of the crates for normal, log-normal, gamma, inverse gamma and beta, and
        scipy's for the others.
        """
        return _each(self._tail("cdf"), x)

    def sf(self, x: Any) -> Any:
        """The probability of more than `x`, accurate in the tail."""
        return _each(self._tail("sf"), x)

    def ppf(self, p: Any) -> Any:
        """The quantile: the inverse of `cdf`."""
        return _each(self._tail("ppf"), p)

    def isf(self, q: Any) -> Any:
        """The upper quantile: the inverse of `sf`."""
        return _each(self._tail("isf"), q)

    def _tail(self, of: str) -> Callable[[Vector], Vector]:
        if self._tails:
            return lambda flat: self._law.tail(of, flat)
        theirs = getattr(self.to_scipy(), of)
        return lambda flat: np.asarray(theirs(flat), dtype=np.float64)

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
        found.parameters = dict(zip(self.parameters, law.parameters(), strict=True))
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
        same = list(made.natural()) == list(state["_law"])
        self._law = made if same else made.with_natural(state["_law"])

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({inside})"


class Normal(Distribution):
    """The normal law.

    In scipy.stats it is ``norm(loc=mean, scale=sqrt(variance))``.

    Parameters
    ----------
    mean : float, default=0.0
        The mean.
    variance : float, default=1.0
        The variance, > 0.

    Examples
    --------
    >>> from fenchel.families import Normal
    >>> Normal(0, 1).kl(Normal(0, 1))
    0.0
    """

    _family = "normal"
    _tails = True

    def __init__(self, mean: float = 0.0, variance: float = 1.0) -> None:
        self._set(mean=mean, variance=variance)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.norm(p["mean"], np.sqrt(p["variance"]))

    @classmethod
    def fit(cls, x: Any) -> Normal:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class LogNormal(Distribution):
    """The law of the exponential of a normal variable.

    In scipy.stats it is ``lognorm(s=sqrt(variance), scale=exp(mean))``.

    Parameters
    ----------
    mean : float, default=0.0
        The mean of the logarithm.
    variance : float, default=1.0
        The variance of the logarithm, > 0.

    Examples
    --------
    >>> from fenchel.families import LogNormal
    >>> LogNormal(0, 1).kl(LogNormal(0, 1))
    0.0
    """

    _family = "log_normal"
    _tails = True

    def __init__(self, mean: float = 0.0, variance: float = 1.0) -> None:
        self._set(mean=mean, variance=variance)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.lognorm(np.sqrt(p["variance"]), scale=np.exp(p["mean"]))

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
    rate : float, default=1.0
        The rate, > 0.

    Examples
    --------
    >>> from fenchel.families import Gamma
    >>> Gamma(2, 1).kl(Gamma(2, 1))
    0.0
    """

    _family = "gamma"
    _tails = True

    def __init__(self, shape: float, rate: float = 1.0) -> None:
        self._set(shape=shape, rate=rate)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.gamma(p["shape"], scale=1 / p["rate"])

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
    scale : float, default=1.0
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import InverseGamma
    >>> InverseGamma(3, 2).kl(InverseGamma(3, 2))
    0.0
    """

    _family = "inverse_gamma"
    _tails = True

    def __init__(self, shape: float, scale: float = 1.0) -> None:
        self._set(shape=shape, scale=scale)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.invgamma(p["shape"], scale=p["scale"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.invgauss(p["mean"] / p["shape"], scale=p["shape"])

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
    _tails = True

    def __init__(self, a: float, b: float) -> None:
        self._set(a=a, b=b)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.beta(p["a"], p["b"])

    @classmethod
    def fit(cls, x: Any) -> Beta:
        """The member with the largest likelihood."""
        return cls(1.0, 1.0).refit(x)


class Exponential(Distribution):
    """The exponential law.

    In scipy.stats it is ``expon(scale=1 / rate)``.

    Parameters
    ----------
    rate : float, default=1.0
        The rate, > 0.

    Examples
    --------
    >>> from fenchel.families import Exponential
    >>> Exponential(2).kl(Exponential(2))
    0.0
    """

    _family = "exponential"

    def __init__(self, rate: float = 1.0) -> None:
        self._set(rate=rate)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.expon(scale=1 / p["rate"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.chi2(p["degrees"])

    @classmethod
    def fit(cls, x: Any) -> ChiSquared:
        """The member with the largest likelihood."""
        return cls(1.0).refit(x)


class Rayleigh(Distribution):
    """The Rayleigh law.

    In scipy.stats it is ``rayleigh(scale=scale)``.

    Parameters
    ----------
    scale : float, default=1.0
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import Rayleigh
    >>> Rayleigh(2).kl(Rayleigh(2))
    0.0
    """

    _family = "rayleigh"

    def __init__(self, scale: float = 1.0) -> None:
        self._set(scale=scale)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.rayleigh(scale=p["scale"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.vonmises(p["concentration"], loc=p["direction"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.bernoulli(p["p"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.poisson(p["rate"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.geom(p["p"], loc=-1)

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.logser(p["q"])

    @classmethod
    def fit(cls, x: Any) -> Logarithmic:
        """The member with the largest likelihood."""
        return cls(0.5).refit(x)


def _trials(name: str, value: Any) -> int:
    """A number of trials; a whole number with a point is one."""
    whole = isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer()
    return int(_check.count(0, 2**32 - 1)(name, int(value) if whole else value))


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

    @checked(n=_trials)
    def __init__(self, n: float, p: float) -> None:
        self._set(n=n, p=p)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.binom(int(p["n"]), p["p"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.nbinom(p["r"], p["p"])

    @classmethod
    def fit(cls, x: Any, r: float) -> NegativeBinomial:
        """The member with the largest likelihood."""
        return cls(r, 0.5).refit(x)


class Laplace(Distribution):
    """The Laplace law.

    In scipy.stats it is ``laplace(loc=location, scale=scale)``.

    Parameters
    ----------
    location : float, default=0.0
        The location, which is fixed.
    scale : float, default=1.0
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import Laplace
    >>> Laplace(0, 1).kl(Laplace(0, 1))
    0.0
    """

    _family = "laplace"
    _fixed = 1

    def __init__(self, location: float = 0.0, scale: float = 1.0) -> None:
        self._set(location=location, scale=scale)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.laplace(p["location"], p["scale"])

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
    scale : float, default=1.0
        The scale, > 0.

    Examples
    --------
    >>> from fenchel.families import Weibull
    >>> Weibull(2, 1).kl(Weibull(2, 1))
    0.0
    """

    _family = "weibull"
    _fixed = 1

    def __init__(self, shape: float, scale: float = 1.0) -> None:
        self._set(shape=shape, scale=scale)

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.weibull_min(p["shape"], scale=p["scale"])

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

    def to_scipy(self) -> Any:
        """The same law in scipy.stats."""
        p = self.parameters
        return stats.pareto(p["index"], scale=p["minimum"])

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
    params, bse, tvalues, pvalues : ndarray or pandas.Series
        Estimates, standard errors, statistics and two-sided p-values, in the order of `names`; series if `X` was a pandas frame.
    fittedvalues, resid_response : ndarray or pandas.Series
        The mean of each row, and its target less this mean.
    scale : float
        The dispersion.
    deviance, null_deviance, llf, aic, bic, pearson_chi2 : float
        As in statsmodels (`bic` by the likelihood); NaN where they do not exist.
    nobs, df_resid, df_null : int
        Rows of weight above 0, and degrees of freedom.
    link : str
        The link.
    report_ : Report
        How the fit ended, with its certificate.
    """

    coef_: Vector
    intercept_: float
    names: list[str]
    params: Any
    bse: Any
    tvalues: Any
    pvalues: Any
    fittedvalues: Any
    resid_response: Any
    scale: float
    deviance: float
    null_deviance: float
    llf: float
    aic: float
    bic: float
    pearson_chi2: float
    nobs: int
    df_resid: int
    df_null: int
    link: str
    report_: Report
    _text: str
    _covariance: list[float]
    _known_dispersion: bool
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
        return _core.glm_mean(*self._law, vector(eta + _offset(offset, len(eta))))

    def conf_int(self, alpha: float = 0.05) -> Any:
        """Intervals of level ``1 - alpha``: a row a coefficient, with its lower and upper end; a frame if `X` was one."""
        level = 1 - _check.number(0, 1, above=True)("alpha", alpha)
        degrees = None if self._known_dispersion else self.df_resid
        half = _core.glm_quantile(level, degrees) * np.asarray(self.bse)
        params = np.asarray(self.params)
        return self._framed(np.column_stack([params - half, params + half]), [0, 1])

    def cov_params(self) -> Any:
        """The covariances of the estimates, in the order of `names`; NaN where there are none."""
        k = len(self.names)
        covariance = np.array(self._covariance) if self._covariance else np.full(k * k, np.nan)
        return self._framed(covariance.reshape(k, k), self.names)

    def _framed(self, values: Vector, columns: list[Any]) -> Any:
        if not hasattr(self.params, "index"):
            return values
        import pandas

        return pandas.DataFrame(values, index=self.params.index, columns=columns)


def _offset(offset: Any, rows: int) -> Vector:
    """A number a row; 0 for None."""
    if offset is None:
        return np.zeros(rows)
    shift = reals("offset", offset)
    if shift.shape != (rows,):
        raise ValueError(f"offset has the shape {shift.shape}; expected ({rows},)")
    wrong = np.flatnonzero(~np.isfinite(shift))
    if len(wrong):
        raise ValueError(f"offset: {shift[wrong[0]]} at row {wrong[0]}; expected a finite number")
    return vector(shift)


FAMILY = choice("gaussian", "binomial", "poisson", "gamma", "inverse_gaussian", "negative_binomial")
LINKS = {
    ("Binomial", "Logit"): "binomial",
    ("Gaussian", "Identity"): "gaussian",
    ("NegativeBinomial", "Log"): "negative_binomial",
    ("Poisson", "Log"): "poisson",
}
"""Families of statsmodels whose link is ours."""


def _family(name: str, value: Any) -> Any:
    """A name, or a family of statsmodels."""
    link = type(getattr(value, "link", None)).__name__
    if (known := LINKS.get((type(value).__name__, link))) is not None:
        return known
    return FAMILY(name, value)


def _targets(X: Any, y: Any, family: str) -> tuple[Any, Any]:
    """Targets, and the number of trials of each row if there are columns of successes and failures."""
    if np.ndim(X) == 1 and np.ndim(y) == 2:
        raise ValueError(
            "X has 1 dimension and y 2; expected glm(X, y) (GLM(y, X) has the order of statsmodels)"
        )
    if family != "binomial" or np.ndim(y) != 2 or np.shape(y)[1] != 2:
        return y, None
    pairs = check_array(y, dtype=np.float64)
    if pairs.min(initial=0.0) < 0:
        raise ValueError(f"y: {pairs.min()}; expected columns of successes and failures, >= 0")
    trials = pairs.sum(axis=1)
    return pairs[:, 0] / np.maximum(trials, 1e-300), trials


@checked(family=_family, size=_check.POSITIVE)
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
    y : array-like of shape (n_samples,), or (n_samples, 2) for ``"binomial"``
        Targets; two columns are numbers of successes and failures.
    family : str, default="gaussian"
        ``"gaussian"``, ``"binomial"``, ``"poisson"``, ``"gamma"``, ``"inverse_gaussian"`` or ``"negative_binomial"`` (log link);
        or a family of statsmodels with the link that we have.
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
    control = Control(tol, max_iter)
    frame = X if hasattr(X, "columns") else None
    names = None if frame is None else [str(name) for name in frame.columns]
    y, trials = _targets(X, y, family)
    X, y = check_X_y(sound(X), y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True)
    X = matrix(X)
    weights = None
    if sample_weight is not None:
        weights = vector(
            _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        )
    if trials is not None:
        weights = vector(trials if weights is None else weights * trials)
    shift, data = None if offset is None else _offset(offset, len(y)), (X, vector(y), weights)
    try:
        solved = _core.glm(data, control, family, size, l2, intercept, shift, names)
    except ValueError as error:
        if not intercept or "rank" not in str(error):
            raise
        alike = np.flatnonzero(np.ptp(dense(X), axis=0) == 0)
        if len(alike) == 0:
            raise
        name = alike[0] if names is None else repr(names[alike[0]])
        raise ValueError(
            f"column {name} of X is constant, and so is the intercept; expected intercept=False, or X without the column"
        ) from None
    coef, constant, facts, ended = solved
    eta = _core.predict(X, vector(coef), constant, "identity") + (0.0 if shift is None else shift)
    fitted = _core.glm_mean(family, size, vector(eta))

    def series(values: Any, index: Any) -> Any:
        if not type(frame).__module__.startswith("pandas"):
            return np.array(values)
        import pandas

        return pandas.Series(np.array(values), index=index)

    names, rows = list(facts["names"]), getattr(frame, "index", None)
    report = control.report(ended)
    judge(report, "glm")
    return GlmResult(
        coef_=coef,
        intercept_=constant,
        names=names,
        params=series(facts["estimates"], names),
        bse=series(facts["standard_errors"], names),
        tvalues=series(facts["statistics"], names),
        pvalues=series(facts["p_values"], names),
        fittedvalues=series(fitted, rows),
        resid_response=series(y - fitted, rows),
        scale=facts["dispersion"],
        deviance=facts["deviance"],
        null_deviance=facts["null_deviance"],
        llf=facts["llf"],
        aic=facts["aic"],
        bic=facts["bic"],
        pearson_chi2=facts["pearson"],
        nobs=facts["rows"],
        df_resid=facts["df_resid"],
        df_null=facts["df_null"],
        link=facts["link"],
        report_=report,
        _text=facts["text"],
        _covariance=facts["covariance"],
        _known_dispersion=facts["known_dispersion"],
        _law=(family, size),
    )


class GLM:
    """`glm` with the signature of statsmodels: targets come first, and no intercept is added.

    Parameters
    ----------
    endog : array-like of shape (n_samples,), or (n_samples, 2) for ``"binomial"``
        Targets.
    exog : array-like of shape (n_samples, n_features)
        Samples, with a column of ones for the intercept (``statsmodels.api.add_constant``).
    family : str or family of statsmodels, default="gaussian"
        As in `glm`.
    offset : array-like of shape (n_samples,), default=None
        A number a row that is added to the linear predictor.

    Examples
    --------
    >>> from fenchel.families import GLM
    >>> result = GLM([1, 2, 4, 8], [[1, 0], [1, 1], [1, 2], [1, 3]], "poisson").fit()
    >>> round(float(result.params[1]), 4)
    0.6931
    """

    def __init__(
        self, endog: Any, exog: Any, family: Any = "gaussian", *, offset: Any = None
    ) -> None:
        size = {} if isinstance(family, str) else {"size": 1 / getattr(family, "alpha", 1.0)}
        self._arguments = (exog, endog, family)
        self._options = {"offset": offset, "intercept": False, **size}

    def fit(self) -> GlmResult:
        """Fits the model."""
        return glm(*self._arguments, **self._options)
