//! The normal family with known variance.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Evidence, Family, Sample, check_shape, point_in};
use crate::samplers::standard_normal;

/// The normal family with known variance `v`: statistic `T(x) = x`, natural parameter `eta = m / v`, log-partition
/// function `A = v eta^2 / 2`, mean `mu = m`. It is the quadratic example of R. Le Priol, PhD thesis 2021, section
/// 5.5.2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NormalKnownVariance {
    variance: f64,
}

checked_file!(NormalKnownVariance { variance: f64 } NormalKnownVariance::new(variance));

impl NormalKnownVariance {
    /// The family of the given variance.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn new(variance: f64) -> Result<Self, Error> {
        Invalid::check_positive("variance", variance)?;
        Ok(NormalKnownVariance { variance })
    }

    /// The variance.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The member with this mean.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`].
    pub fn with_mean(self, mean: f64) -> Result<Distribution<Self>, Error> {
        Distribution::from_natural(self, &[mean / self.variance])
    }
}

impl Distribution<NormalKnownVariance> {
    /// The mean.
    pub fn location(&self) -> f64 {
        self.natural()[0] * self.family().variance
    }
}

impl Family for NormalKnownVariance {
    fn name(&self) -> &'static str {
        "normal of known variance"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        0.5 * self.variance * eta[0] * eta[0]
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu[0] = self.variance * eta[0];
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        eta[0] = mu[0] / self.variance;
        Ok(())
    }

    fn fisher(&self, _: &[f64], out: &mut [f64]) {
        out[0] = self.variance;
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.log_partition(eta)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        0.5 * self.variance * (p[0] - q[0]) * (p[0] - q[0])
    }

    /// The third derivative is 0, so any constant is valid.
    fn self_concordance(&self) -> Option<f64> {
        Some(0.0)
    }
}

impl Density for NormalKnownVariance {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x.is_finite(), x, "a finite number")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, x: &f64) -> f64 {
        -0.5 * (x * x / self.variance + self.variance.ln()) - HALF_LOG_TAU
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        let m = self.variance * eta[0];
        Ok(-0.5 * (m * eta[0] + 1.0 + self.variance.ln()) - HALF_LOG_TAU)
    }

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        let d = x - self.variance * eta[0];
        -0.5 * (d * d / self.variance + self.variance.ln()) - HALF_LOG_TAU
    }

    fn entropy(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.5 * (1.0 + self.variance.ln()) + HALF_LOG_TAU)
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (mean, half) = (self.variance * eta[0], -0.5 / self.variance);
        let constant = -0.5 * self.variance.ln() - HALF_LOG_TAU;
        super::batch::each(
            x,
            out,
            #[inline(always)]
            |x| half * ((x - mean) * (x - mean)) + constant,
        );
    }
}

impl Sample for NormalKnownVariance {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        self.variance * eta[0] + self.variance.sqrt() * standard_normal(rng)
    }
}

impl Evidence for NormalKnownVariance {
    /// `log sqrt(2 pi / (n0 v)) + n0 mu0^2 / (2 v)`.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        HALF_LOG_TAU - 0.5 * (weight * self.variance).ln()
            + 0.5 * weight * centred[0] * centred[0] / self.variance
    }
}
