//! The isotropic normal family: real vectors with the same variance in all directions.

use std::f64::consts::LN_2;

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::divergence::{difference_of_quotients, dot, phi};
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_shape, mean_in, natural_in, point_in};
use crate::samplers::standard_normal;

/// `N(m, v I)` on vectors of length `d`: statistic `T(x) = (x, |x|^2)`, natural parameter
/// `eta = (m / v, -1 / (2 v))`, log-partition function `A = |m|^2 / (2 v) + d log(v) / 2`, mean
/// `mu = (m, |m|^2 + d v)`. Centred coordinates are `(m, d v)`.
///
/// The maximum likelihood variance divides by `n d`; equation (2.8) of R. Le Priol, PhD thesis 2021, lacks the `d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct IsotropicNormal {
    d: usize,
}

checked_file!(IsotropicNormal { d: super::file::Count } IsotropicNormal::new(d.0 as usize));

impl IsotropicNormal {
    /// The family on vectors of length `d >= 1`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0.
    pub fn new(d: usize) -> Result<Self, Error> {
        Invalid::check_count("d", d)?;
        Ok(IsotropicNormal { d })
    }

    /// Writes the mean of each entry, and returns the variance, at most the largest finite number: its products with 0 are 0.
    fn location_scale(self, eta: &[f64], mean: &mut [f64]) -> f64 {
        mean.iter_mut().zip(&eta[..self.d]).for_each(|(m, e)| *m = -0.5 * (e / eta[self.d]));
        (-0.5 / eta[self.d]).min(f64::MAX)
    }

    /// The member with the given mean and variance of each entry.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless the variance is positive.
    pub fn with_mean_variance(
        self,
        mean: &[f64],
        variance: f64,
    ) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("variance", variance)?;
        let mut eta: Vec<f64> = mean.iter().map(|m| m / variance).collect();
        eta.push(-0.5 / variance);
        Distribution::from_natural(self, &eta)
    }
}

impl Distribution<IsotropicNormal> {
    /// The variance of each entry.
    pub fn variance(&self) -> f64 {
        -0.5 / self.natural()[self.family().d]
    }
}

impl Family for IsotropicNormal {
    fn name(&self) -> &'static str {
        "isotropic normal"
    }

    fn dimension(&self) -> usize {
        self.d + 1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[self.d] < 0.0, self.d, eta[self.d], "a number < 0")
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let v = mu[self.d] - dot(&mu[..self.d], &mu[..self.d]);
        mean_in(self, v > 0.0, self.d, v, "a variance E |x|^2 - |E x|^2 > 0")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let last = eta[self.d];
        let squares: f64 = eta[..self.d].iter().map(|e| e * (e / last)).sum();
        -0.25 * squares - 0.5 * self.d as f64 * ((-last).ln() + LN_2)
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let v = self.location_scale(eta, mu);
        mu[self.d] = dot(&mu[..self.d], &mu[..self.d]) + self.d as f64 * v;
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let mut c = mu.to_vec();
        self.centred_from_mean(mu, &mut c);
        self.natural_from_centred(&c, eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (d, width) = (self.d, self.d + 1);
        let mut location = vec![0.0; d];
        let v = self.location_scale(eta, &mut location);
        out.fill(0.0);
        let mut square = 0.0;
        for (i, m) in location.into_iter().enumerate() {
            square += m * m;
            out[i * width + i] = v;
            out[i * width + d] = 2.0 * m * v;
            out[d * width + i] = 2.0 * m * v;
        }
        out[d * width + d] = 4.0 * square * v + 2.0 * d as f64 * v * v;
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        0.5 * self.d as f64 * ((-eta[self.d]).ln() + LN_2 - 1.0)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let (a, b) = (p[self.d], q[self.d]);
        let shift: f64 = (0..self.d)
            .map(|i| difference_of_quotients(0.5 * (-b).sqrt(), (p[i], a), (q[i], b)).powi(2))
            .sum();
        0.5 * self.d as f64 * phi(a, b) + shift
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(std::f64::consts::SQRT_2)
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c.copy_from_slice(mu);
        c[self.d] -= dot(&mu[..self.d], &mu[..self.d]);
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        mu.copy_from_slice(c);
        mu[self.d] += dot(&c[..self.d], &c[..self.d]);
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        let v = self.location_scale(eta, c);
        c[self.d] = self.d as f64 * v;
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let v = c[self.d] / self.d as f64;
        mean_in(self, v > 0.0, self.d, v, "a variance E |x|^2 - |E x|^2 > 0")?;
        eta.iter_mut().zip(&c[..self.d]).for_each(|(e, m)| *e = m / v);
        eta[self.d] = -0.5 / v;
        Ok(())
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let d = self.d;
        let between: f64 = (0..d).map(|i| (other[i] - into[i]).powi(2)).sum();
        for (a, b) in into.iter_mut().zip(other) {
            *a += share * (b - *a);
        }
        into[d] += share * (1.0 - share) * between;
    }
}

impl Density for IsotropicNormal {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.d, x.len())?;
        let value = x.iter().find(|x| !x.is_finite());
        point_in(self, value.is_none(), value.copied().unwrap_or(0.0), "finite numbers")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        out[..self.d].copy_from_slice(x);
        out[self.d] = dot(x, x);
    }

    fn log_base(&self, _: &[f64]) -> f64 {
        -(self.d as f64) * HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-(self.d as f64) * HALF_LOG_TAU)
    }

    fn centred(&self, x: &[f64], c: &mut [f64]) {
        c[..self.d].copy_from_slice(x);
        c[self.d] = 0.0;
    }
}

impl Sample for IsotropicNormal {
    type Owned = Vec<f64>;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let mut x = vec![0.0; self.d];
        let deviation = self.location_scale(eta, &mut x).sqrt();
        x.iter_mut().for_each(|x| *x += deviation * standard_normal(rng));
        x
    }
}
