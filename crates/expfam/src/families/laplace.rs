//! The Laplace family with known location.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::scale::scale_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, point_in};
use crate::samplers::open_uniform;

/// `p(x) = e^(-|x - m| / b) / (2 b)` with the location `m` known: statistic `T(x) = |x - m|`, natural parameter
/// `eta = -1 / b`, log-partition function `A = log(2 b)`, mean `mu = b`.
///
/// With an unknown location the Laplace laws are no exponential family.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Laplace {
    location: f64,
}

checked_file!(Laplace { location: f64 } Laplace::new(location));

impl Laplace {
    /// The family around the given location.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`].
    pub fn new(location: f64) -> Result<Self, Error> {
        Invalid::check_finite("location", &[location])?;
        Ok(Laplace { location })
    }

    /// The location `m`.
    pub fn location(&self) -> f64 {
        self.location
    }

    /// The member of scale `b`, the mean distance from the location.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn with_scale(self, scale: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("scale", scale)?;
        Distribution::from_natural(self, &[-1.0 / scale])
    }
}

impl Distribution<Laplace> {
    /// The scale `b`.
    pub fn scale(&self) -> f64 {
        -1.0 / self.natural()[0]
    }
}

scale_family!(Laplace, "Laplace", |_| 1.0, |_| std::f64::consts::LN_2);

impl Density for Laplace {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x.is_finite(), x, "a finite number")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = (x - self.location).abs();
    }

    fn log_base(&self, _: &f64) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (slope, location, constant) = (eta[0], self.location, -self.log_partition(eta));
        super::batch::each(
            x,
            out,
            #[inline(always)]
            |x| slope * (x - location).abs() + constant,
        );
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let location = self.location;
        c[0] = super::batch::mean_of(
            x,
            #[inline(always)]
            |x| (x - location).abs(),
        );
    }
}

impl Sample for Laplace {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let distance = open_uniform(rng).ln() / eta[0];
        if rng.next_u32() & 1 == 0 { self.location + distance } else { self.location - distance }
    }
}
