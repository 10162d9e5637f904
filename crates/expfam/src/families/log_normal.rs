//! The log-normal family: positive numbers whose logarithm is normal.

use fenchel_linalg::lanes;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::error::Error;
use crate::families::Normal;
use crate::family::{Density, Evidence, Family, Sample, point_in};

/// `log x ~ N(m, v)`. The statistic is `T(x) = (log x, log^2 x)` and `log h = -log x - log(2 pi) / 2`; everything else
/// is as for [`Normal`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogNormal;

impl LogNormal {
    /// The member with the given mean and variance of the logarithm.
    ///
    /// # Errors
    /// The errors of [`Normal::with_mean_variance`].
    pub fn with_mean_variance_of_log(
        self,
        mean: f64,
        variance: f64,
    ) -> Result<Distribution<Self>, Error> {
        let normal = Normal.with_mean_variance(mean, variance)?;
        Distribution::from_natural(self, normal.natural())
    }
}

impl Distribution<LogNormal> {
    /// Mean and variance of the logarithm.
    pub fn log_moments(&self) -> (f64, f64) {
        super::normal::moments(self.natural())
    }
}

impl Family for LogNormal {
    fn name(&self) -> &'static str {
        "log-normal"
    }

    fn dimension(&self) -> usize {
        2
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        Normal.check_natural(eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        Normal.check_mean(mu)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        Normal.log_partition(eta)
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        Normal.mean(eta, mu);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        Normal.natural(mu, eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        Normal.fisher(eta, out);
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        Normal.conjugate_at(eta)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        Normal.kl(p, q)
    }

    fn self_concordance(&self) -> Option<f64> {
        Normal.self_concordance()
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        Normal.centred_from_mean(mu, c);
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        Normal.mean_from_centred(c, mu);
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        Normal.centred_from_natural(eta, c);
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        Normal.natural_from_centred(c, eta)
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        Normal.blend(into, share, other);
    }
}

impl Density for LogNormal {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        Normal.statistics(&x.ln(), out);
    }

    fn log_base(&self, x: &f64) -> f64 {
        -x.ln() - super::normal::HALF_LOG_TAU
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok(-super::normal::moments(eta).0 - super::normal::HALF_LOG_TAU)
    }

    fn centred(&self, x: &f64, c: &mut [f64]) {
        Normal.centred(&x.ln(), c);
    }

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        let log = x.ln();
        Normal.log_density(eta, &log) - log
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (m, v) = super::normal::moments(eta);
        let constant = -0.5 * v.ln() - super::normal::HALF_LOG_TAU;
        let slope = eta[1];
        super::batch::each_positive(
            x,
            out,
            #[inline(always)]
            |x: f64| {
                let log = lanes::ln(x);
                slope * ((log - m) * (log - m)) + (constant - log)
            },
            |x| self.log_density(eta, &x),
        );
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let mean = super::batch::mean_of_positive(x, lanes::ln, f64::ln);
        let rest = super::batch::mean_of_positive(
            x,
            #[inline(always)]
            |x| lanes::ln(x) - mean,
            |x| x.ln() - mean,
        );
        let square = super::batch::mean_of_positive(
            x,
            #[inline(always)]
            |x: f64| {
                let d = lanes::ln(x) - mean;
                d * d
            },
            |x| (x.ln() - mean).powi(2),
        );
        c[0] = mean + rest;
        c[1] = (square - rest * rest).max(0.0);
    }
}

impl Sample for LogNormal {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        Normal.draw(eta, rng).exp().clamp(f64::MIN_POSITIVE, f64::MAX)
    }
}

impl Evidence for LogNormal {
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        Normal.log_prior_normaliser(weight, centred)
    }
}
