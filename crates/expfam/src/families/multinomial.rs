//! The multinomial family: counts of `K` categories in a known number of trials.

use fenchel_linalg::Invalid;
use rand::Rng;
use rand_distr::Distribution as _;
use serde::{Deserialize, Serialize};

use super::categorical;
use super::file::{Count, checked_file};
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::families::Categorical;
use crate::family::{Density, Evidence, Family, Sample, check_shape, is_count, point_in};
use crate::special::{deviance, ln_binomial, ln_gamma, log1mexp, stirling_error};

/// Counts `x_1, ..., x_K` with sum `N`: `T(x)` holds the first `K - 1`, `eta_k = log(p_k / p_K)`,
/// `A = N log(1 + sum_k e^eta_k)`, `mu_k = N p_k`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Multinomial {
    trials: f64,
    categories: usize,
}

checked_file!(
    Multinomial { trials: Count, categories: Count } Multinomial::new(trials.0, categories.0 as usize)
);

impl Multinomial {
    /// The family of `trials >= 1` and `categories >= 2`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for fewer.
    pub fn new(trials: u32, categories: usize) -> Result<Self, Error> {
        Invalid::check_positive("trials", f64::from(trials))?;
        categorical::check_categories(categories)?;
        Ok(Multinomial { trials: f64::from(trials), categories })
    }

    /// The member with the given probabilities of all `K` categories, which are normalised.
    ///
    /// # Errors
    /// The errors of [`Categorical::with_probabilities`].
    pub fn with_probabilities(self, p: &[f64]) -> Result<Distribution<Self>, Error> {
        let one = Categorical::new(self.categories)?.with_probabilities(p)?;
        Distribution::from_natural(self, one.natural())
    }
}

impl Distribution<Multinomial> {
    /// All `K` probabilities.
    pub fn probabilities(&self) -> Vec<f64> {
        categorical::probabilities(self.natural())
    }
}

impl Family for Multinomial {
    fn name(&self) -> &'static str {
        "multinomial"
    }

    fn dimension(&self) -> usize {
        self.categories - 1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        categorical::check_natural(self, eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        categorical::check_mean(self, self.trials, mu)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        self.trials * categorical::log_partition(eta)
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let p = categorical::probabilities(eta);
        mu.iter_mut().zip(&p).for_each(|(m, p)| *m = self.trials * p);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        categorical::natural(self, self.trials, mu, eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        categorical::fisher(self.trials, eta, out);
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.trials * categorical::conjugate_at(eta)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        self.trials * categorical::kl(p, q)
    }
}

impl Density for Multinomial {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.categories, x.len())?;
        for &x in x {
            point_in(self, is_count(x), x, "whole numbers >= 0")?;
        }
        let total: f64 = x.iter().sum();
        point_in(self, total == self.trials, total, "counts that add up to the trials")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&x[..self.categories - 1]);
    }

    fn log_base(&self, x: &[f64]) -> f64 {
        ln_gamma(self.trials + 1.0) - x.iter().map(|x| ln_gamma(x + 1.0)).sum::<f64>()
    }

    /// By deviances of the counts and Stirling's formula, which do not cancel.
    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        let n = self.trials;
        let logs = categorical::log_probabilities(eta);
        if let Some(k) = x.iter().position(|&x| x == n) {
            return n * logs[k];
        }
        logs.into_iter().zip(x).fold(own_error(n), |sum, (log, &x)| {
            sum - own_error(x) - deviance(x, n * log.exp(), n.ln() + log)
        })
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        let mean = self.mean_over_counts(eta, |x, _| ln_gamma(x + 1.0))?;
        Ok(ln_gamma(self.trials + 1.0) - mean)
    }

    /// The mean of `-log p` by deviances: `A*` and the base measure would cancel.
    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        let n = self.trials;
        let mean = self.mean_over_counts(eta, |x, log| {
            own_error(x) + deviance(x, n * log.exp(), n.ln() + log)
        })?;
        Ok(mean - own_error(n))
    }
}

/// `log x!` less `x log x - x`, by Stirling's formula.
fn own_error(x: f64) -> f64 {
    if x > 0.0 { stirling_error(x) + 0.5 * x.ln() + HALF_LOG_TAU } else { 0.0 }
}

impl Multinomial {
    /// `sum_k E f(x_k, log p_k)`: every count is binomial.
    fn mean_over_counts(&self, eta: &[f64], f: impl Fn(f64, f64) -> f64) -> Result<f64, Error> {
        let n = self.trials;
        let mut total = 0.0;
        for log in categorical::log_probabilities(eta) {
            let (p, rest) = (log.exp(), log1mexp(-log));
            if p == 0.0 || log == 0.0 {
                total += f(if log == 0.0 { n } else { 0.0 }, log);
                continue;
            }
            let log_p = |x: f64| match n - x {
                0.0 => n * log,
                _ if x == 0.0 => n * rest,
                others => ln_binomial(x, others, (log, rest)),
            };
            let range = (0.0, ((n + 1.0) * p).floor().min(n), n);
            total += super::counts::mean_over(self.name(), range, log_p, |x| f(x, log))?;
        }
        Ok(total)
    }
}

impl Sample for Multinomial {
    type Owned = Vec<f64>;

    /// One binomial after another.
    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let p = categorical::probabilities(eta);
        let (mut left, mut mass) = (self.trials, 1.0);
        let mut x: Vec<f64> = Vec::with_capacity(p.len());
        for p in &p[..p.len() - 1] {
            let share = (p / mass).clamp(0.0, 1.0);
            let count = match rand_distr::Binomial::new(left as u64, share) {
                Ok(law) if left > 0.0 => law.sample(rng) as f64,
                _ => 0.0,
            };
            x.push(count);
            left -= count;
            mass = (mass - p).max(f64::MIN_POSITIVE);
        }
        x.push(left);
        x
    }
}

impl Evidence for Multinomial {
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        let last = self.trials - centred.iter().sum::<f64>();
        let own: f64 = centred.iter().chain([&last]).map(|m| ln_gamma(weight * m)).sum();
        own - ln_gamma(weight * self.trials)
    }
}
