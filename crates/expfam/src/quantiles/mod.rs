//! Elicitation: distributions from stated beliefs such as "the rate lies between 2 and 8 with 90 %".
//!
//! | you know | use |
//! |---|---|
//! | two quantiles | [`Quantiles::with_quantiles`] |
//! | an interval with its probability, both tails alike | [`Quantiles::between`] |
//! | an interval with its probability, and nothing else | [`maximum_entropy_within`] |
//! | the mode, and how many observations it is worth | [`Prior::<Bernoulli>::with_mode`](crate::prior::Prior), [`Prior::<Poisson>::with_mode`](crate::prior::Prior) |
//!
//! Conjugate priors of a parameter can be found in the same way, for example with [`Prior::<Bernoulli>::between`](crate::prior::Prior). There
//! are such constructors for probabilities, Poisson rates, exponential rates, normal means and normal precisions. Posteriors, evidence
//! and predictive densities then follow.

mod laws;
mod priors;

#[cfg(feature = "plot")]
pub(crate) use laws::normal_quantile;

use fenchel_linalg::Invalid;
use fenchel_optim::scalar::brent_maximum;

use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::Density;

/// A family of numbers with a distribution function.
pub trait Quantiles: Density<Point = f64> + Copy {
    /// `P(X <= x)` and `P(X > x)` under `eta`; the smaller of the two is not 1 minus the other.
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64);

    /// Their logarithms, which go on where a probability underflows.
    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64);

    /// The point `x` with `P(X <= x) = below`, for `below + above = 1`; the smaller of the two decides. At the border of the support
    /// where the point is no other number.
    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64;

    /// `P(X <= x)` under `eta`.
    fn cdf(self, eta: &[f64], x: f64) -> f64 {
        self.tails(eta, x).0
    }

    /// The member with `P(X <= x_i) = p_i` for two pairs `(x, p)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both points lie in the support and both numbers rise; [`Invalid::Layout`] where no member of
    /// the family that a double can hold has these quantiles, with what to move.
    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error>;

    /// The member with probability `mass` in `[low, high]` and equal probabilities below and above.
    ///
    /// # Errors
    /// As [`with_quantiles`](Self::with_quantiles).
    fn between(self, low: f64, high: f64, mass: f64) -> Result<Distribution<Self>, Error> {
        check_probability("mass", mass)?;
        let tail = 0.5 * (1.0 - mass);
        self.with_quantiles((low, tail), (high, 1.0 - tail))
    }
}

impl<F: Quantiles> Distribution<F> {
    /// `P(X <= x)`.
    pub fn cdf(&self, x: f64) -> f64 {
        self.family().tails(self.natural(), x).0
    }

    /// `P(X > x)`, with its digits where it is small.
    pub fn survival(&self, x: f64) -> f64 {
        self.family().tails(self.natural(), x).1
    }

    /// `log P(X <= x)`, also where the probability underflows.
    pub fn log_cdf(&self, x: f64) -> f64 {
        self.family().log_tails(self.natural(), x).0
    }

    /// `log P(X > x)`, also where the probability underflows.
    pub fn log_survival(&self, x: f64) -> f64 {
        self.family().log_tails(self.natural(), x).1
    }

    /// The point with `P(X <= x) = p`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < p < 1`.
    pub fn quantile(&self, p: f64) -> Result<f64, Error> {
        check_probability("p", p)?;
        Ok(self.family().quantile(self.natural(), p, 1.0 - p))
    }

    /// The point with `P(X > x) = q`: for small `q` it keeps the digits that `1 - q` has not.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < q < 1`.
    pub fn upper_quantile(&self, q: f64) -> Result<f64, Error> {
        check_probability("q", q)?;
        Ok(self.family().quantile(self.natural(), 1.0 - q, q))
    }
}

/// The member of largest entropy with probability `mass` in `[low, high]`. The remaining probability is divided between the two sides
/// so that the entropy is largest.
///
/// # Errors
/// The errors of [`Quantiles::with_quantiles`].
pub fn maximum_entropy_within<F: Quantiles>(
    family: F,
    low: f64,
    high: f64,
    mass: f64,
) -> Result<Distribution<F>, Error> {
    check_probability("mass", mass)?;
    let member = |share: f64| {
        let below = share * (1.0 - mass);
        let found = family.with_quantiles((low, below), (high, below + mass));
        found.and_then(|p| Ok((p.entropy()?, p)))
    };
    // A share that no member has counts as minus infinity.
    let entropy = |share: f64| member(share).map_or(f64::NEG_INFINITY, |(entropy, _)| entropy);
    member(brent_maximum(entropy, 1e-6, 1.0 - 1e-6, 1e-7)).map(|(_, p)| p)
}

fn check_probability(name: &'static str, value: f64) -> Result<(), Error> {
    let bad = Invalid::Parameter { name, value, expected: "a probability inside (0, 1)" };
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(bad.into()) }
}
