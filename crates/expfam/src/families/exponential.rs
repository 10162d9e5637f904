//! The exponential family of waiting times.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::scale::scale_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, point_in};
use crate::samplers::open_uniform;

/// `p(x) = rate e^(-rate x)` for `x >= 0`.
///
/// Statistic `T(x) = x`, natural parameter `eta = -rate`, log-partition function `A = -log(rate)`, mean
/// `mu = 1 / rate`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exponential;

impl Exponential {
    /// The member with this rate; its mean is `1 / rate`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn with_rate(self, rate: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("rate", rate)?;
        Distribution::from_natural(self, &[-rate])
    }
}

impl Distribution<Exponential> {
    /// The rate.
    pub fn rate(&self) -> f64 {
        -self.natural()[0]
    }
}

scale_family!(Exponential, "exponential", |_| 1.0, |_| 0.0);

impl Density for Exponential {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x >= 0.0 && x.is_finite(), x, "a finite number >= 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, _: &f64) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let constant = self.log_partition(eta);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = eta[0] * x - constant);
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }
}

impl Sample for Exponential {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        open_uniform(rng).ln() / eta[0]
    }
}
