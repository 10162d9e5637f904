//! The normal family with known mean.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::normal::HALF_LOG_TAU;
use super::scale::scale_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, point_in};
use crate::samplers::standard_normal;

/// The normal family with known mean `m`, by variance `v`: statistic `T(x) = (x - m)^2`, natural parameter
/// `eta = -1 / (2 v)`, log-partition function `A = log(v) / 2`, mean `mu = v`. It is the example of R. Le Priol, PhD
/// thesis 2021, section 5.4.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NormalKnownMean {
    mean: f64,
}

checked_file!(NormalKnownMean { mean: f64 } NormalKnownMean::new(mean));

impl NormalKnownMean {
    /// The family around the given mean.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`].
    pub fn new(mean: f64) -> Result<Self, Error> {
        Invalid::check_finite("mean", &[mean])?;
        Ok(NormalKnownMean { mean })
    }

    /// The member of variance `v`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn with_variance(self, variance: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("variance", variance)?;
        Distribution::from_natural(self, &[-0.5 / variance])
    }
}

impl Distribution<NormalKnownMean> {
    /// The known mean `m`.
    pub fn location(&self) -> f64 {
        self.family().mean
    }

    /// The variance `v`.
    pub fn variance(&self) -> f64 {
        -0.5 / self.natural()[0]
    }
}

scale_family!(NormalKnownMean, "normal of known mean", |_| 0.5, |_| -0.5 * std::f64::consts::LN_2);

impl Density for NormalKnownMean {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x.is_finite(), x, "a finite number")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = (x - self.mean) * (x - self.mean);
    }

    fn log_base(&self, _: &f64) -> f64 {
        -HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-HALF_LOG_TAU)
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (slope, mean) = (eta[0], self.mean);
        let constant = -self.log_partition(eta) - HALF_LOG_TAU;
        super::batch::each(
            x,
            out,
            #[inline(always)]
            |x| slope * ((x - mean) * (x - mean)) + constant,
        );
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let mean = self.mean;
        c[0] = super::batch::mean_of(
            x,
            #[inline(always)]
            |x| (x - mean) * (x - mean),
        );
    }
}

impl Sample for NormalKnownMean {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        self.mean + (-0.5 / eta[0]).sqrt() * standard_normal(rng)
    }
}
