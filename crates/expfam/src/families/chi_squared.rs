//! The chi-squared family: sums of squared standard normal variables.

use fenchel_linalg::lanes;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::gamma;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_less_one, check_shape, natural_in, point_in};
use crate::samplers::log_gamma_variable;
use crate::special::{
    digamma, gamma_entropy, inverse_digamma, ln_gamma_divergence, ln_gamma_scaled, trigamma,
};

/// The chi-squared family by degrees of freedom `k`: statistic `T(x) = log x`, `log h = -x/2`, natural parameter
/// `eta = k/2 - 1`, log-partition function `A = log Gamma(k/2) + (k/2) log 2`, mean `mu = psi(k/2) + log 2`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChiSquared;

impl ChiSquared {
    /// The member with this number of degrees of freedom, whole or not.
    ///
    /// # Errors
    /// [`fenchel_linalg::Invalid::Parameter`] unless they are finite and above 1.2e-16, below which half of them less 1 is -1.
    pub fn with_degrees(self, degrees: f64) -> Result<Distribution<Self>, Error> {
        check_less_one("half of the degrees", 0.5 * degrees)?;
        Distribution::from_natural(self, &[0.5 * degrees - 1.0])
    }
}

impl Distribution<ChiSquared> {
    /// Degrees of freedom.
    pub fn degrees(&self) -> f64 {
        2.0 * (self.natural()[0] + 1.0)
    }
}

impl Family for ChiSquared {
    fn name(&self) -> &'static str {
        "chi-squared"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[0] > -1.0, 0, eta[0], "a number > -1")
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let a = eta[0] + 1.0;
        ln_gamma_scaled(a, -std::f64::consts::LN_2)
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu[0] = digamma(eta[0] + 1.0) + std::f64::consts::LN_2;
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        eta[0] = inverse_digamma(mu[0] - std::f64::consts::LN_2) - 1.0;
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        out[0] = trigamma(eta[0] + 1.0);
    }

    /// `a - log 2` less the entropy of the gamma law of rate 1.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let a = eta[0] + 1.0;
        a - std::f64::consts::LN_2 - gamma_entropy(a)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        ln_gamma_divergence(p[0] + 1.0, q[0] + 1.0, q[0] - p[0])
    }
}

impl Density for ChiSquared {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = x.ln();
    }

    fn log_base(&self, x: &f64) -> f64 {
        -0.5 * x
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok(-(eta[0] + 1.0))
    }

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        gamma::log_density((eta[0] + 1.0, eta[0]), 0.5, *x)
    }

    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        Ok(gamma_entropy(eta[0] + 1.0) + std::f64::consts::LN_2)
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        if eta[0] >= gamma::LARGE {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = self.log_density(eta, x));
            return;
        }
        super::batch::logs_and_values(x, (eta[0], -0.5, -self.log_partition(eta)), out);
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean_of_positive(x, lanes::ln, f64::ln);
    }
}

impl Sample for ChiSquared {
    type Owned = f64;

    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> f64 {
        let log = log_gamma_variable(eta[0] + 1.0, &mut rng);
        (2.0 * log.exp()).max(f64::MIN_POSITIVE)
    }
}
