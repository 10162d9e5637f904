//! The geometric family: numbers of failures before the first success.

use fenchel_linalg::special::log1mexp;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::failures::failures_family;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Sample, is_count, mean_in, point_in};
use crate::samplers::open_uniform;

/// `p(x) = p (1 - p)^x` for `x` = 0, 1, 2, ...: statistic `T(x) = x`, natural parameter `eta = log(1 - p)`,
/// log-partition function `A = -log(p)`, mean `mu = (1 - p) / p`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometric;

impl Geometric {
    /// The member with the given probability of success of one trial.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`] unless `0 < p < 1`.
    pub fn with_p(self, p: f64) -> Result<Distribution<Self>, Error> {
        mean_in(&self, p > 0.0 && p < 1.0, 0, p, "a probability inside (0, 1)")?;
        Distribution::from_natural(self, &[(-p).ln_1p()])
    }
}

impl Distribution<Geometric> {
    /// The probability of success of one trial.
    pub fn p(&self) -> f64 {
        -self.natural()[0].exp_m1()
    }
}

failures_family!(Geometric, "geometric", |_| 1.0);

impl Density for Geometric {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, is_count(x), x, "a whole number >= 0")
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

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        x * eta[0] + log1mexp(-eta[0])
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (slope, constant) = (eta[0], log1mexp(-eta[0]));
        super::batch::each(
            x,
            out,
            #[inline(always)]
            |x| slope * x + constant,
        );
    }
}

impl Sample for Geometric {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        (open_uniform(rng).ln() / eta[0]).floor()
    }
}
