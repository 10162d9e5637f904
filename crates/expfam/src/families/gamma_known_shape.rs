//! The gamma family with known shape.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::scale::scale_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, point_in};
use crate::samplers::log_gamma_variable;
use crate::special::{digamma, ln_gamma};

/// The gamma family whose shape `a` is known: statistic `T(x) = x`, natural parameter `eta = -rate`, log-partition
/// function `A = -a log(rate)`, mean `mu = a / rate`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct GammaKnownShape {
    shape: f64,
}

checked_file!(GammaKnownShape { shape: f64 } GammaKnownShape::new(shape));

impl GammaKnownShape {
    /// The family of the given shape.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn new(shape: f64) -> Result<Self, Error> {
        Invalid::check_positive("shape", shape)?;
        Ok(GammaKnownShape { shape })
    }

    /// The shape.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// The member of the given rate.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn with_rate(self, rate: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("rate", rate)?;
        Distribution::from_natural(self, &[-rate])
    }
}

impl Distribution<GammaKnownShape> {
    /// The rate.
    pub fn rate(&self) -> f64 {
        -self.natural()[0]
    }
}

scale_family!(GammaKnownShape, "gamma of known shape", |f| f.shape, |_| 0.0);

impl Density for GammaKnownShape {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, x: &f64) -> f64 {
        (self.shape - 1.0) * x.ln() - ln_gamma(self.shape)
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok((self.shape - 1.0) * (digamma(self.shape) - (-eta[0]).ln()) - ln_gamma(self.shape))
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let constant = -ln_gamma(self.shape) - self.log_partition(eta);
        super::batch::logs_and_values(x, (self.shape - 1.0, eta[0], constant), out);
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }
}

impl Sample for GammaKnownShape {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let mut rng = rng;
        (log_gamma_variable(self.shape, &mut rng) - (-eta[0]).ln()).exp().max(f64::MIN_POSITIVE)
    }
}
