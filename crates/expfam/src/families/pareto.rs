//! The Pareto family with known minimum.

use fenchel_linalg::{Invalid, lanes};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::scale::scale_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, point_in};
use crate::samplers::open_uniform;

/// `p(x) = a m^a x^(-a-1)` for `x >= m`, with the minimum `m` known: statistic `T(x) = log(x / m)`, natural parameter
/// `eta = -a`, log-partition function `A = -log(a)`, mean `mu = 1 / a`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Pareto {
    minimum: f64,
}

checked_file!(Pareto { minimum: f64 } Pareto::new(minimum));

impl Pareto {
    /// The family above the given minimum.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn new(minimum: f64) -> Result<Self, Error> {
        Invalid::check_positive("minimum", minimum)?;
        Ok(Pareto { minimum })
    }

    /// The minimum `m`.
    pub fn minimum(&self) -> f64 {
        self.minimum
    }

    /// The member of tail index `a`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn with_index(self, index: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("index", index)?;
        Distribution::from_natural(self, &[-index])
    }
}

impl Distribution<Pareto> {
    /// The tail index `a`.
    pub fn index(&self) -> f64 {
        -self.natural()[0]
    }
}

scale_family!(Pareto, "Pareto", |_| 1.0, |_| 0.0);

impl Density for Pareto {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(
            self,
            x >= self.minimum && x.is_finite(),
            x,
            "a finite number, at least the minimum",
        )
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = (x / self.minimum).ln();
    }

    fn log_base(&self, x: &f64) -> f64 {
        -x.ln()
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok(1.0 / eta[0] - self.minimum.ln())
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        // eta log(x / x_m) - A - log x
        let (slope, minimum, constant) = (eta[0], self.minimum, -self.log_partition(eta));
        let exact = |x: f64| slope * (x / minimum).ln() - x.ln() + constant;
        super::batch::each_positive(
            x,
            out,
            #[inline(always)]
            |x: f64| slope * lanes::ln(x / minimum) - lanes::ln(x) + constant,
            exact,
        );
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let minimum = self.minimum;
        c[0] = super::batch::mean_of_positive(
            x,
            #[inline(always)]
            |x: f64| lanes::ln(x / minimum),
            |x| (x / minimum).ln(),
        );
    }
}

impl Sample for Pareto {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        (self.minimum * (open_uniform(rng).ln() / eta[0]).exp()).min(f64::MAX)
    }
}
