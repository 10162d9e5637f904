//! Conjugate priors from an interval or a mode.

use fenchel_linalg::Invalid;

use super::Quantiles;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::families::{
    Bernoulli, Beta, Exponential, Gamma, Normal, NormalKnownMean, NormalKnownVariance, Poisson,
};
use crate::prior::Prior;

impl Prior<Bernoulli> {
    /// The probability of 1 lies in `[low, high]` with the given mass, and with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`].
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let (a, b) = Beta.between(low, high, mass)?.shapes();
        Prior::beta(a, b)
    }

    /// The prior whose density in the probability has the given mode and which is worth `weight > 2` observations:
    /// `a = 1 + mode (weight - 2)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < mode < 1` and `weight > 2`.
    pub fn with_mode(mode: f64, weight: f64) -> Result<Self, Error> {
        Invalid::check_positive("weight - 2", weight - 2.0)?;
        if !(mode > 0.0 && mode < 1.0) {
            let expected = "a number inside (0, 1)";
            return Err(Invalid::Parameter { name: "mode", value: mode, expected }.into());
        }
        Prior::beta(1.0 + mode * (weight - 2.0), 1.0 + (1.0 - mode) * (weight - 2.0))
    }
}

impl Prior<Poisson> {
    /// The prior under which the rate lies in `[low, high]` with the given mass, with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`].
    ///
    /// ```
    /// use fenchel_expfam::Prior;
    /// use fenchel_expfam::families::Poisson;
    ///
    /// let prior = Prior::<Poisson>::between(2.0, 8.0, 0.9)?;
    /// let (shape, rate) = prior.as_gamma();
    /// assert!((shape / rate - 4.6).abs() < 0.1);
    /// # Ok::<(), fenchel_expfam::Error>(())
    /// ```
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let rate = Gamma.between(low, high, mass)?;
        Prior::gamma(rate.shape(), rate.rate())
    }

    /// The prior whose density in the rate has the given mode and which is worth `weight` observations.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both are positive.
    pub fn with_mode(mode: f64, weight: f64) -> Result<Self, Error> {
        Invalid::check_positive("mode", mode)?;
        Invalid::check_positive("weight", weight)?;
        Prior::gamma(1.0 + mode * weight, weight)
    }
}

/// `n0` and `mu0` of the prior whose law of `-eta` is `Gamma(n0 a + 1, n0 mu0)`.
fn of_rate(rate: &Distribution<Gamma>, shape: f64, unit: f64) -> Result<(f64, f64), Error> {
    let weight = (rate.shape() - 1.0) / shape;
    if !(weight > 0.0) {
        let (name, value) = ("shape of the gamma law of the rate in this interval", rate.shape());
        let expected = "a shape above 1: a narrower interval";
        return Err(Invalid::Parameter { name, value, expected }.into());
    }
    Ok((weight, unit * rate.rate() / weight))
}

impl Prior<Exponential> {
    /// The prior under which the rate lies in `[low, high]` with the given mass, with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`]; [`Invalid::Parameter`] for an interval so wide that the prior has no weight.
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let (weight, mean) = of_rate(&Gamma.between(low, high, mass)?, 1.0, 1.0)?;
        Prior::new(Exponential, weight, &[mean])
    }
}

impl Prior<NormalKnownMean> {
    /// The precision lies in `[low, high]` with the given mass, and with equal probability below and above.
    ///
    /// # Errors
    /// As of [`Exponential`].
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        // t ~ Gamma(n0 / 2 + 1, n0 mu0 / 2).
        let (weight, mean) = of_rate(&Gamma.between(low, high, mass)?, 0.5, 2.0)?;
        Prior::new(NormalKnownMean::default(), weight, &[mean])
    }
}

impl Prior<NormalKnownVariance> {
    /// The mean lies in `[low, high]` with the given mass, and with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`].
    pub fn between(
        family: NormalKnownVariance,
        low: f64,
        high: f64,
        mass: f64,
    ) -> Result<Self, Error> {
        let mean = Normal.between(low, high, mass)?;
        Prior::new(family, family.variance() / mean.variance(), &[mean.location()])
    }
}
