//! The binomial family: numbers of successes in a known number of trials.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{sigmoid, softplus};
use rand::Rng;
use rand_distr::Distribution as _;
use serde::{Deserialize, Serialize};

use super::counts::mean_over;
use super::file::checked_file;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::families::Bernoulli;
use crate::family::{Density, Evidence, Family, Sample, check_shape, is_count, mean_in, point_in};
use crate::special::{ln_beta, ln_binomial, ln_choose};

/// `x` successes in `N` trials, `N` known: statistic `T(x) = x`, natural parameter `eta = log(p / (1 - p))`,
/// log-partition function `A = N log(1 + e^eta)`, mean `mu = N p`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Binomial {
    trials: f64,
}

checked_file!(Binomial { trials: super::file::Count } Binomial::new(trials.0));

impl Binomial {
    /// The family of `trials >= 1`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0 trials.
    pub fn new(trials: u32) -> Result<Self, Error> {
        Invalid::check_positive("trials", f64::from(trials))?;
        Ok(Binomial { trials: f64::from(trials) })
    }

    /// The number of trials.
    pub fn trials(&self) -> f64 {
        self.trials
    }

    /// The member with the given probability of success.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`] unless `0 < p < 1`.
    pub fn with_p(self, p: f64) -> Result<Distribution<Self>, Error> {
        let coin = Bernoulli.with_p(p)?;
        Distribution::from_natural(self, coin.natural())
    }
}

impl Distribution<Binomial> {
    /// The probability of success.
    pub fn p(&self) -> f64 {
        sigmoid(self.natural()[0])
    }
}

impl Family for Binomial {
    fn name(&self) -> &'static str {
        "binomial"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let inside = mu[0] > 0.0 && mu[0] < self.trials;
        mean_in(self, inside, 0, mu[0], "a number inside (0, trials)")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        self.trials * softplus(eta[0])
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu[0] = self.trials * sigmoid(eta[0]);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let inside = mu[0] > 0.0 && mu[0] < self.trials;
        mean_in(self, inside, 0, mu[0], "a number inside (0, trials)")?;
        // log(x / (N - x)); near the middle by the difference, which is exact there.
        let (x, rest) = (mu[0], self.trials - mu[0]);
        eta[0] = if 2.0 * x > rest && 2.0 * rest > x {
            2.0 * ((x - rest) / self.trials).atanh()
        } else {
            (x / rest).ln()
        };
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        out[0] = self.trials * sigmoid(eta[0]) * sigmoid(-eta[0]);
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.trials * Bernoulli.conjugate_at(eta)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        self.trials * Bernoulli.kl(p, q)
    }
}

impl Binomial {
    /// `E f(x)`
    fn mean_over(&self, eta: &[f64], f: impl Fn(f64) -> f64) -> Result<f64, Error> {
        let mode = ((self.trials + 1.0) * sigmoid(eta[0])).floor().min(self.trials);
        let range = (0.0, mode, self.trials);
        mean_over(self.name(), range, |x| self.log_density(eta, &x), f)
    }
}

impl Density for Binomial {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, is_count(x) && x <= self.trials, x, "a whole number from 0 to the trials")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, x: &f64) -> f64 {
        ln_choose(self.trials, *x)
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| self.log_base(&x))
    }

    /// The mean of `-log p`: `A*` and the base measure would cancel.
    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| -self.log_density(eta, &x))
    }

    fn log_density(&self, eta: &[f64], &x: &f64) -> f64 {
        let failures = self.trials - x;
        let logs = (-softplus(-eta[0]), -softplus(eta[0]));
        if x == 0.0 || failures == 0.0 {
            // Not a product of 0 and an infinite logarithm.
            return if x == 0.0 { failures * logs.1 } else { x * logs.0 };
        }
        ln_binomial(x, failures, logs)
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        super::batch::counts(x, out, |x| self.log_density(eta, &x));
    }
}

impl Sample for Binomial {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        // The rarer outcome is drawn, whose probability has all digits.
        let rare = sigmoid(-eta[0].abs());
        match rand_distr::Binomial::new(self.trials as u64, rare) {
            Ok(law) if eta[0] <= 0.0 => law.sample(rng) as f64,
            Ok(law) => self.trials - law.sample(rng) as f64,
            // A probability is never outside of [0, 1/2].
            Err(_) => f64::NAN,
        }
    }
}

impl Evidence for Binomial {
    /// `log B(n0 mu0, n0 (N - mu0))`.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        ln_beta(weight * centred[0], weight * (self.trials - centred[0]))
    }
}
