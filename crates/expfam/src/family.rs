//! The traits of families, one trait per capability.
//!
//! ```text
//! p(x | eta) = h(x) exp(<eta, T(x)> - A(eta)),     mu = grad A(eta) = E T(x),     A*(mu) = <mu, eta> - A(eta)
//! ```
//!
//! | symbol | name |
//! |---|---|
//! | `eta` | natural parameter |
//! | `mu` | mean parameter |
//! | `A`, `A*` | log-partition function and its conjugate |
//! | `I(eta) = Hess A(eta)` | Fisher information |
//! | `c` | centred mean parameter: the same information as `mu`, stored without cancellation |
//!
//! | capability | trait |
//! |---|---|
//! | parameters and the maps between them | [`Family`] |
//! | densities and statistics of observations | [`Density`] |
//! | random draws | [`Sample`] |
//! | a known normaliser of the conjugate prior | [`Evidence`] |
//!
//! The methods of these traits work on slices and do not check their arguments; a new family *implements* them. The
//! types that check their arguments are [`Distribution`](crate::distribution::Distribution), [`Summary`](crate::summary::Summary) and
//! [`Prior`](crate::prior::Prior).

use std::borrow::Borrow;

use fenchel_linalg::Invalid;
use rand::Rng;

use crate::divergence::{dot, quadratic};
use crate::error::Error;
use crate::special::legendre;

/// An exponential family with its fixed quantities (numbers of trials, known shapes, dimensions).
///
/// A family of your own must have `name`, `dimension`, `check_natural`, `check_mean`, `log_partition`, `mean`, `natural` and
/// `fisher`; to be fitted to observations it must be a [`Density`] too, and for random draws a [`Sample`], with the
/// generators of `rand` 0.10.
///
/// # Panics
/// All methods but the two checks may panic, or return NaN, for slices of the wrong length than [`dimension`](Self::dimension)
/// and points outside of the open domain.
pub trait Family {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Length of `eta` and `mu`.
    fn dimension(&self) -> usize;

    /// Checks that `eta` lies in the open natural domain.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Invalid::NonFinite`], [`Error::OutsideNaturalDomain`].
    fn check_natural(&self, eta: &[f64]) -> Result<(), Error>;

    /// Checks that `mu` lies in the open mean domain.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Invalid::NonFinite`], [`Error::OutsideMeanDomain`].
    fn check_mean(&self, mu: &[f64]) -> Result<(), Error>;

    /// Checks that a mean in double precision can be distinguished from the border of the domain. If all data are equal
    /// up to rounding, the likelihood has no maximum; [`Summary::mle`](crate::summary::Summary::mle) detects this case by this
    /// check.
    ///
    /// # Errors
    /// [`Error::BoundaryMean`].
    fn check_resolved(&self, _: &[f64]) -> Result<(), Error> {
        Ok(())
    }

    /// `A(eta)`.
    fn log_partition(&self, eta: &[f64]) -> f64;

    /// Writes `mu = grad A(eta)`.
    fn mean(&self, eta: &[f64], mu: &mut [f64]);

    /// Writes `eta = grad A*(mu)`.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`].
    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error>;

    /// Writes the Fisher information `Hess A(eta)`, row by row.
    fn fisher(&self, eta: &[f64], out: &mut [f64]);

    /// `d' I(eta) d`, the variance of `<d, T(x)>`.
    fn variance_along(&self, eta: &[f64], d: &[f64]) -> f64 {
        let mut information = vec![0.0; d.len() * d.len()];
        self.fisher(eta, &mut information);
        quadratic(&information, d)
    }

    /// `A*(mu)` at `mu = grad A(eta)`: the negative entropy, up to the expectation of the log base measure.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let mut mu = vec![0.0; self.dimension()];
        self.mean(eta, &mut mu);
        dot(eta, &mu) - self.log_partition(eta)
    }

    /// `A*(mu)`.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`].
    fn conjugate(&self, mu: &[f64]) -> Result<f64, Error> {
        let mut eta = vec![0.0; self.dimension()];
        self.natural(mu, &mut eta)?;
        Ok(dot(&eta, mu) - self.log_partition(&eta))
    }

    /// `KL(p || q)` of two natural parameters, in nats. Never negative, and accurate for nearby members.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        bregman(self, p, q)
    }

    /// The `M` with `|D^3 A*[u,u,u]| <= 2 M (D^2 A*[u,u])^(3/2)`, if there is one.
    fn self_concordance(&self) -> Option<f64> {
        None
    }

    /// Writes the centred coordinates of a mean parameter. By default they are `mu` itself. Families whose `mu`
    /// contains second moments store variances instead.
    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c.copy_from_slice(mu);
    }

    /// The inverse of [`centred_from_mean`](Self::centred_from_mean).
    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        mu.copy_from_slice(c);
    }

    /// Writes the centred coordinates of `grad A(eta)`.
    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        self.mean(eta, c);
    }

    /// Writes `eta` from centred coordinates.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`].
    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        self.natural(c, eta)
    }

    /// Combines two means: replaces the mean `mu` that belongs to the coordinates `into` by
    /// `(1 - share) mu + share mu'`, where `mu'` belongs to `other`. A negative share removes `other` again.
    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        for (a, b) in into.iter_mut().zip(other) {
            *a += share * (b - *a);
        }
    }
}

/// A family that knows the densities of its members.
pub trait Density: Family {
    /// One observation: `f64` for numbers and counts, `usize` for categories, `[f64]` for vectors.
    type Point: ?Sized;

    /// Checks that an observation lies in the support.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`] with observation 0.
    fn check_point(&self, x: &Self::Point) -> Result<(), Error>;

    /// Writes `T(x)`.
    fn statistics(&self, x: &Self::Point, out: &mut [f64]);

    /// `log h(x)`.
    fn log_base(&self, x: &Self::Point) -> f64;

    /// `E log h(x)` under `eta`, which the entropy needs.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error>;

    /// Writes the centred coordinates of `T(x)`.
    fn centred(&self, x: &Self::Point, c: &mut [f64]) {
        self.statistics(x, c);
    }

    /// `log p(x | eta)` of a point in the support.
    fn log_density(&self, eta: &[f64], x: &Self::Point) -> f64 {
        let mut t = vec![0.0; self.dimension()];
        self.statistics(x, &mut t);
        dot(eta, &t) - self.log_partition(eta) + self.log_base(x)
    }

    /// Writes `log p(x_i | eta)` of many points in the support.
    fn log_densities(&self, eta: &[f64], x: &[Self::Point], out: &mut [f64])
    where
        Self::Point: Sized,
    {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = self.log_density(eta, x));
    }

    /// Writes the centred mean of the statistics of many points in the support, at least one.
    fn centred_mean(&self, x: &[Self::Point], c: &mut [f64])
    where
        Self::Point: Sized,
    {
        let mut one = vec![0.0; self.dimension()];
        for (i, x) in x.iter().enumerate() {
            self.centred(x, &mut one);
            if i == 0 {
                c.copy_from_slice(&one);
            } else {
                self.blend(c, 1.0 / (i + 1) as f64, &one);
            }
        }
    }

    /// The entropy of `eta` in nats; of densities it may be negative.
    ///
    /// # Errors
    /// The errors of [`mean_log_base`](Self::mean_log_base).
    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok(-self.conjugate_at(eta) - self.mean_log_base(eta)?)
    }
}

/// A family that can draw from its members.
pub trait Sample: Density {
    /// An observation by value.
    type Owned: Borrow<Self::Point>;

    /// One draw from `eta`.
    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> Self::Owned;
}

/// A family whose conjugate prior has a known normaliser. Such a family has marginal likelihoods and predictive
/// densities.
pub trait Evidence: Family {
    /// `log of the integral of exp(weight (<mu, eta> - A(eta))) d eta`, with `mu` in centred coordinates.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64;
}

/// The divergence is a sum of terms that cancel. If it is below this fraction of the terms, it is computed as an
/// integral instead.
const CANCELS: f64 = 1e-3;

/// The divergence as the Bregman divergence of `A`, `A(q) - A(p) - <mu_p, q - p>`. If its three terms cancel, it is computed as the integral
/// `int_0^1 (1 - s) d' I(p + s d) d ds` with `d = q - p`, whose integrand does not change sign. The quadrature has 16
/// points, or 8 panels of 16 points.
fn bregman<F: Family + ?Sized>(family: &F, p: &[f64], q: &[f64]) -> f64 {
    let k = family.dimension();
    let mut mu = vec![0.0; k];
    family.mean(p, &mut mu);
    let d: Vec<f64> = q.iter().zip(p).map(|(q, p)| q - p).collect();
    if d.iter().all(|&d| d == 0.0) {
        return 0.0;
    }
    let (to, from, slope) = (family.log_partition(q), family.log_partition(p), dot(&mu, &d));
    let direct = to - from - slope;
    if direct > CANCELS * (to.abs() + from.abs() + slope.abs()) {
        return direct;
    }
    // A step as long as the point itself is cut into pieces.
    let far = d.iter().zip(p).any(|(d, p)| d.abs() > 0.1 * p.abs().max(1e-3));
    let panels = if far { 8 } else { 1 };
    let mut integrand = |s: f64| {
        let at: Vec<f64> = p.iter().zip(&d).map(|(p, d)| p + s * d).collect();
        (1.0 - s) * family.variance_along(&at, &d)
    };
    let width = 1.0 / f64::from(panels);
    let integral: f64 = (0..panels)
        .map(|i| legendre(f64::from(i) * width, f64::from(i + 1) * width, &mut integrand))
        .sum();
    integral.max(0.0)
}

/// Checks length and finiteness of a parameter.
pub(crate) fn check_shape(
    family: &(impl Family + ?Sized),
    what: &'static str,
    parameter: &[f64],
) -> Result<(), Error> {
    Invalid::check_length(what, family.dimension(), parameter.len())?;
    Ok(Invalid::check_finite(what, parameter)?)
}

/// `Ok` if the condition holds, else the error of a natural parameter.
pub(crate) fn natural_in(
    family: &(impl Family + ?Sized),
    holds: bool,
    index: usize,
    value: f64,
    expected: &'static str,
) -> Result<(), Error> {
    let family = family.name();
    if holds { Ok(()) } else { Err(Error::OutsideNaturalDomain { family, index, value, expected }) }
}

/// Checks a shape of which the natural parameter holds `shape - 1`, a number above -1 also after rounding.
pub(crate) fn check_less_one(name: &'static str, shape: f64) -> Result<(), Error> {
    Invalid::check_positive(name, shape)?;
    if shape - 1.0 > -1.0 {
        return Ok(());
    }
    let expected = "more than 5.6e-17: the natural parameter is this number less 1";
    Err(Invalid::Parameter { name, value: shape, expected }.into())
}

/// `Ok` if the condition holds, else the error of a mean parameter.
pub(crate) fn mean_in(
    family: &(impl Family + ?Sized),
    holds: bool,
    index: usize,
    value: f64,
    expected: &'static str,
) -> Result<(), Error> {
    let family = family.name();
    if holds { Ok(()) } else { Err(Error::OutsideMeanDomain { family, index, value, expected }) }
}

/// The error for data without spread. It applies if a concentration is so large that a mean in double precision cannot
/// distinguish it from infinity.
pub(crate) fn resolved(family: &(impl Family + ?Sized), concentration: f64) -> Result<(), Error> {
    resolved_below(family, concentration, 1e14)
}

pub(crate) fn resolved_below(
    family: &(impl Family + ?Sized),
    concentration: f64,
    limit: f64,
) -> Result<(), Error> {
    if concentration < limit {
        return Ok(());
    }
    Err(Error::BoundaryMean {
        family: family.name(),
        reason: "observations that differ by more than rounding",
        remedy: "use a conjugate prior with positive weight, or more data",
    })
}

/// The error of a conjugate law whose natural parameter is `-b - lost` instead of `-b`, if fewer than six digits of `b`
/// remain.
pub(crate) fn digits_kept(family: &(impl Family + ?Sized), lost: f64) -> Result<(), Error> {
    if lost < 1e10 {
        return Ok(());
    }
    Err(Error::Unavailable {
        family: family.name(),
        what: "a natural parameter with six digits of the scale",
        hint: "the location is too far from 0 for its spread; subtract a number near it from all data",
    })
}

/// `Ok` if the condition holds, else the error of an observation.
pub(crate) fn point_in(
    family: &(impl Family + ?Sized),
    holds: bool,
    value: f64,
    expected: &'static str,
) -> Result<(), Error> {
    let family = family.name();
    if holds { Ok(()) } else { Err(Error::OutsideSupport { family, index: 0, value, expected }) }
}

/// Whether a number is a count: whole, not negative, and small enough that consecutive counts are distinct in double
/// precision.
pub(crate) fn is_count(x: f64) -> bool {
    (0.0..=9_007_199_254_740_992.0).contains(&x) && x.trunc() == x
}
