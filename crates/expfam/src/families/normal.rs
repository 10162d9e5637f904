//! The normal family with unknown mean and variance.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::divergence::{difference_of_quotients, phi};
use crate::error::Error;
use crate::family::{
    Density, Evidence, Family, Sample, check_shape, mean_in, natural_in, point_in,
};
use crate::prior::Prior;
use crate::samplers::standard_normal;
use crate::special::ln_gamma;

/// `p(x) = exp(-(x - m)^2 / (2 v)) / sqrt(2 pi v)`, by mean `m` and variance `v`.
///
/// Statistic `T(x) = (x, x^2)`, natural parameter `eta = (m / v, -1 / (2 v))`, log-partition function
/// `A = m^2 / (2 v) + log(v) / 2`, mean `mu = (m, m^2 + v)`. Centred coordinates are `(m, v)`, so a variance of 1
/// around a mean of 10^8 keeps its digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normal;

/// `log(2 pi) / 2`
pub(crate) const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

impl Normal {
    /// The member with the given mean and variance.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless the variance is positive, [`Invalid::NonFinite`] for the mean.
    pub fn with_mean_variance(self, mean: f64, variance: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_finite("mean", &[mean])?;
        Invalid::check_positive("variance", variance)?;
        Distribution::from_natural(self, &[mean / variance, -0.5 / variance])
    }
}

impl Distribution<Normal> {
    /// `m`.
    pub fn location(&self) -> f64 {
        moments(self.natural()).0
    }

    /// `v`.
    pub fn variance(&self) -> f64 {
        moments(self.natural()).1
    }

    /// `sqrt(v)`.
    pub fn standard_deviation(&self) -> f64 {
        self.variance().sqrt()
    }
}

impl Prior<Normal> {
    /// The normal-gamma prior of the mean `m` and the precision `t`: `m | t ~ N(mean, 1 / (weight t))`,
    /// `t ~ Gamma(shape, rate)`.
    ///
    /// The conjugate prior in `eta` has `shape = (weight + 3) / 2`, so the shape is not a free argument.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless weight and rate are positive.
    pub fn normal_gamma(mean: f64, weight: f64, rate: f64) -> Result<Self, Error> {
        Invalid::check_positive("rate", rate)?;
        Invalid::check_positive("weight", weight)?;
        Prior::around(weight, &Normal.with_mean_variance(mean, 2.0 * rate / weight)?)
    }

    /// `(mean, weight, shape, rate)` of the normal-gamma prior of mean and precision.
    pub fn as_normal_gamma(&self) -> (f64, f64, f64, f64) {
        let (c, n0) = (self.centred(), self.weight());
        (c[0], n0, 0.5 * (n0 + 3.0), 0.5 * n0 * c[1])
    }
}

/// `(m, v)`
pub(crate) fn moments(eta: &[f64]) -> (f64, f64) {
    (-0.5 * eta[0] / eta[1], -0.5 / eta[1])
}

impl Family for Normal {
    fn name(&self) -> &'static str {
        "normal"
    }

    fn dimension(&self) -> usize {
        2
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[1] < 0.0, 1, eta[1], "a number < 0")?;
        let (m, v) = moments(eta);
        let expected = "a number < 0 at which mean and variance are finite";
        natural_in(self, m.is_finite() && v.is_finite(), 1, eta[1], expected)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let variance = libm::fma(-mu[0], mu[0], mu[1]);
        mean_in(self, variance > 0.0, 1, variance, "a variance E x^2 - (E x)^2 > 0")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let (m, v) = moments(eta);
        0.5 * (m * eta[0] + v.ln())
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let (m, v) = moments(eta);
        mu[0] = m;
        mu[1] = m * m + v;
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        self.natural_from_centred(&[mu[0], libm::fma(-mu[0], mu[0], mu[1])], eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (m, v) = moments(eta);
        out.copy_from_slice(&[v, 2.0 * m * v, 2.0 * m * v, 4.0 * m * m * v + 2.0 * v * v]);
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        -0.5 * (1.0 + moments(eta).1.ln())
    }

    /// `(phi(v / v') + (m - m')^2 / v') / 2`.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        // m' - m = (e1 e2' - e1' e2) / (2 e2 e2'), without the difference of two large means.
        let own = difference_of_quotients(0.5 * (-q[1]).sqrt(), (p[0], p[1]), (q[0], q[1]));
        0.5 * phi(p[1], q[1]) + own * own
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(std::f64::consts::SQRT_2)
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c[0] = mu[0];
        c[1] = libm::fma(-mu[0], mu[0], mu[1]);
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        mu[0] = c[0];
        mu[1] = c[0] * c[0] + c[1];
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        (c[0], c[1]) = moments(eta);
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, c[1] > 0.0, 1, c[1], "a variance E x^2 - (E x)^2 > 0")?;
        eta[0] = c[0] / c[1];
        eta[1] = -0.5 / c[1];
        Ok(())
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let d = other[0] - into[0];
        into[1] += share * (other[1] - into[1]) + share * (1.0 - share) * d * d;
        into[0] += share * d;
    }
}

impl Density for Normal {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x.is_finite(), x, "a finite number")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
        out[1] = x * x;
    }

    fn log_base(&self, _: &f64) -> f64 {
        -HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-HALF_LOG_TAU)
    }

    fn centred(&self, x: &f64, c: &mut [f64]) {
        c[0] = *x;
        c[1] = 0.0;
    }

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        let (m, v) = moments(eta);
        eta[1] * (x - m) * (x - m) - 0.5 * v.ln() - HALF_LOG_TAU
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (m, v) = moments(eta);
        let constant = 0.5 * v.ln() + HALF_LOG_TAU;
        out.iter_mut().zip(x).for_each(|(out, x)| *out = eta[1] * (x - m) * (x - m) - constant);
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let mean = super::batch::mean(x);
        // What rounding left in the mean is taken out again.
        let rest = super::batch::sum(x, |x| x - mean) / x.len() as f64;
        let square = super::batch::sum(x, |x| (x - mean) * (x - mean)) / x.len() as f64;
        c[0] = mean + rest;
        c[1] = (square - rest * rest).max(0.0);
    }
}

impl Sample for Normal {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let (m, v) = moments(eta);
        m + v.sqrt() * standard_normal(rng)
    }
}

impl Evidence for Normal {
    /// In `(m, t)` with `eta = (t m, -t/2)`, `d eta = (t/2) dm dt`; the exponent is `-(n0 t/2)((m - m0)^2 + v0) + (n0/2) log t`.
    fn log_prior_normaliser(&self, weight: f64, c: &[f64]) -> f64 {
        let shape = 0.5 * (weight + 3.0);
        // integral over m: sqrt(2 pi / (n0 t)); what is left is a gamma integral of order (n0 + 3) / 2.
        HALF_LOG_TAU - 0.5 * weight.ln() - std::f64::consts::LN_2 + ln_gamma(shape)
            - shape * (0.5 * weight * c[1]).ln()
    }
}
