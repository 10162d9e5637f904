//! The negative binomial family: numbers of failures before a known number of successes. Such counts have a larger
//! variance than Poisson counts of the same mean.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log1mexp;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::counts::mean_over;
use super::failures::failures_family;
use super::file::checked_file;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, is_count, mean_in, point_in};
use crate::special::{ln_beta, ln_binomial};

/// `p(x) = Gamma(x + r) / (Gamma(r) x!) p^r (1 - p)^x`, with `r > 0` known, whole or not: statistic `T(x) = x`,
/// natural parameter `eta = log(1 - p)`, log-partition function `A = -r log(p)`, mean `mu = r (1 - p) / p`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NegativeBinomial {
    successes: f64,
}

checked_file!(NegativeBinomial { successes: f64 } NegativeBinomial::new(successes));

impl NegativeBinomial {
    /// The family of `r` successes.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn new(successes: f64) -> Result<Self, Error> {
        Invalid::check_positive("successes", successes)?;
        Ok(NegativeBinomial { successes })
    }

    /// `r`.
    pub fn successes(&self) -> f64 {
        self.successes
    }

    /// The member with the given probability of success of one trial.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`] unless `0 < p < 1`.
    pub fn with_p(self, p: f64) -> Result<Distribution<Self>, Error> {
        mean_in(&self, p > 0.0 && p < 1.0, 0, p, "a probability inside (0, 1)")?;
        Distribution::from_natural(self, &[(-p).ln_1p()])
    }
}

impl Distribution<NegativeBinomial> {
    /// The probability of success of one trial.
    pub fn p(&self) -> f64 {
        -self.natural()[0].exp_m1()
    }
}

failures_family!(NegativeBinomial, "negative binomial", |f| f.successes);

impl NegativeBinomial {
    /// `E f(x)`
    fn mean_over(&self, eta: &[f64], f: impl Fn(f64) -> f64) -> Result<f64, Error> {
        let mode = ((self.successes - 1.0) / (-eta[0]).exp_m1()).floor().max(0.0);
        let range = (0.0, mode, f64::MAX);
        mean_over(self.name(), range, |x| self.log_density(eta, &x), f)
    }
}

impl Density for NegativeBinomial {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, is_count(x), x, "a whole number >= 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    /// `log Gamma(x + r) - log Gamma(r) - log x!`, as `-log x - log B(x, r)`.
    fn log_base(&self, &x: &f64) -> f64 {
        if x == 0.0 { 0.0 } else { -x.ln() - ln_beta(x, self.successes) }
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| self.log_base(&x))
    }

    /// The mean of `-log p`: `A*` and the base measure would cancel.
    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| -self.log_density(eta, &x))
    }

    /// `r / (x + r)` times a binomial probability.
    fn log_density(&self, eta: &[f64], &x: &f64) -> f64 {
        let (r, log_p) = (self.successes, log1mexp(-eta[0]));
        if x == 0.0 {
            return r * log_p;
        }
        ln_binomial(r, x, (log_p, eta[0])) + r.ln() - (r + x).ln()
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        super::batch::counts(x, out, |x| self.log_density(eta, &x));
    }
}

impl Sample for NegativeBinomial {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        super::failures::draw(self.successes, eta[0], rng)
    }
}
