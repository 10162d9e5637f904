//! The Rayleigh family: lengths of normal vectors in the plane.

use fenchel_linalg::{Invalid, lanes};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::scale::scale_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, point_in};
use crate::samplers::open_uniform;
use crate::special::digamma;

/// `p(x) = x / s^2 e^(-x^2 / (2 s^2))` for `x > 0`: statistic `T(x) = x^2`, natural parameter `eta = -1 / (2 s^2)`,
/// log-partition function `A = -log(-2 eta)`, mean `mu = 2 s^2`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rayleigh;

impl Rayleigh {
    /// The member with parameter scale `s`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn with_scale(self, scale: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("scale", scale)?;
        Distribution::from_natural(self, &[-0.5 / scale / scale])
    }
}

impl Distribution<Rayleigh> {
    /// `s`.
    pub fn scale(&self) -> f64 {
        (-0.5 / self.natural()[0]).sqrt()
    }
}

scale_family!(Rayleigh, "Rayleigh", |_| 1.0, |_| -std::f64::consts::LN_2);

impl Density for Rayleigh {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = x * x;
    }

    fn log_base(&self, x: &f64) -> f64 {
        x.ln()
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok(0.5 * (digamma(1.0) - (-eta[0]).ln()))
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (slope, constant) = (eta[0], -self.log_partition(eta));
        super::batch::each_positive(
            x,
            out,
            #[inline(always)]
            |x: f64| slope * (x * x) + (lanes::ln(x) + constant),
            |x| slope * (x * x) + (x.ln() + constant),
        );
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean_of(
            x,
            #[inline(always)]
            |x| x * x,
        );
    }
}

impl Sample for Rayleigh {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        (open_uniform(rng).ln() / eta[0]).sqrt().max(f64::MIN_POSITIVE)
    }
}
