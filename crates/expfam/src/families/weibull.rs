//! The Weibull family with known shape: lifetimes.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::scale::scale_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Sample, point_in};
use crate::samplers::open_uniform;
use crate::special::digamma;

/// The Weibull family whose shape `k` is known, by scale `l`: statistic `T(x) = x^k`, natural parameter
/// `eta = -l^-k`, log-partition function `A = -log(-eta)`, mean `mu = l^k`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Weibull {
    shape: f64,
}

checked_file!(Weibull { shape: f64 } Weibull::new(shape));

impl Weibull {
    /// The family of the given shape.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn new(shape: f64) -> Result<Self, Error> {
        Invalid::check_positive("shape", shape)?;
        Ok(Weibull { shape })
    }

    /// The shape `k`.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// The member of scale `l`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite; [`Error::OutsideNaturalDomain`] where `l^-k` overflows.
    pub fn with_scale(self, scale: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("scale", scale)?;
        Distribution::from_natural(self, &[-scale.powf(-self.shape)])
    }
}

impl Distribution<Weibull> {
    /// `l`.
    pub fn scale(&self) -> f64 {
        (-self.natural()[0]).powf(-1.0 / self.family().shape)
    }
}

scale_family!(Weibull, "Weibull", |_| 1.0, |_| 0.0);

impl Density for Weibull {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = x.powf(self.shape);
    }

    fn log_base(&self, x: &f64) -> f64 {
        self.shape.ln() + (self.shape - 1.0) * x.ln()
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok(self.shape.ln() + (self.shape - 1.0) / self.shape * (digamma(1.0) - (-eta[0]).ln()))
    }
}

impl Sample for Weibull {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        (open_uniform(rng).ln() / eta[0]).powf(1.0 / self.shape).clamp(f64::MIN_POSITIVE, f64::MAX)
    }
}
