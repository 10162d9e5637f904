//! The Bernoulli family: coins.

use fenchel_linalg::special::{log1pmx, sigmoid, softplus};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Evidence, Family, Sample, check_shape, mean_in, point_in};
use crate::prior::Prior;
use crate::special::{ln_beta, logit};

/// `p(x) = p^x (1 - p)^(1 - x)` for `x` in {0, 1}.
///
/// Statistic `T(x) = x`, natural parameter `eta = log(p / (1 - p))`, log-partition function `A = log(1 + e^eta)`,
/// mean `mu = p`. All quantities are computed from `eta`, so probabilities within 1e-300 of 0 or 1 keep their digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bernoulli;

impl Bernoulli {
    /// The coin with `P(x = 1) = p`.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`] unless `0 < p < 1`.
    pub fn with_p(self, p: f64) -> Result<Distribution<Self>, Error> {
        Distribution::from_mean(self, &[p])
    }
}

impl Distribution<Bernoulli> {
    /// `P(x = 1)`.
    pub fn p(&self) -> f64 {
        sigmoid(self.natural()[0])
    }
}

impl Prior<Bernoulli> {
    /// The prior under which `p ~ Beta(a, b)`: `a + b` pseudo-observations, `a` of them 1.
    ///
    /// # Errors
    /// [`fenchel_linalg::Invalid::Parameter`] unless `a` and `b` are positive.
    pub fn beta(a: f64, b: f64) -> Result<Self, Error> {
        fenchel_linalg::Invalid::check_positive("a", a)?;
        fenchel_linalg::Invalid::check_positive("b", b)?;
        Prior::new(Bernoulli, a + b, &[a / (a + b)])
    }

    /// The `(a, b)` for which `p ~ Beta(a, b)`.
    pub fn as_beta(&self) -> (f64, f64) {
        (self.weight() * self.mean()[0], self.weight() * (1.0 - self.mean()[0]))
    }
}

/// `KL` of two coins from their log-odds.
///
/// `sum_k p_k (u_k - log(1 + u_k))` with `u_1 = q_1 / p_1 - 1 = sigma(-b) (e^d - 1)`, `u_0 = sigma(b) (e^-d - 1)`, `d = b - a`.
pub(crate) fn kl(a: f64, b: f64) -> f64 {
    let d = b - a;
    // log(q_1 / p_1) and log(q_0 / p_0).
    let (kept, lost) = (softplus(-a) - softplus(-b), softplus(a) - softplus(b));
    let side = |p: f64, q: f64, (other, log_other): (f64, f64), d: f64, log: f64| {
        // Where e^d overflows, its product with a small probability need not.
        let u = if d < 30.0 { other * d.exp_m1() } else { (d + log_other).exp() - other };
        if u.abs() < 0.5 { -p * log1pmx(u) } else { q - p - p * log }
    };
    side(sigmoid(a), sigmoid(b), (sigmoid(-b), -softplus(b)), d, kept)
        + side(sigmoid(-a), sigmoid(-b), (sigmoid(b), -softplus(-b)), -d, lost)
}

impl Family for Bernoulli {
    fn name(&self) -> &'static str {
        "Bernoulli"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[0] > 0.0 && mu[0] < 1.0, 0, mu[0], "a probability inside (0, 1)")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        softplus(eta[0])
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu[0] = sigmoid(eta[0]);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, mu[0] > 0.0 && mu[0] < 1.0, 0, mu[0], "a probability inside (0, 1)")?;
        eta[0] = logit(mu[0]);
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        out[0] = sigmoid(eta[0]) * sigmoid(-eta[0]);
    }

    /// `-(p softplus(-eta) + (1 - p) softplus(eta))`, two terms of one sign.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let t = eta[0];
        -(sigmoid(t) * softplus(-t) + sigmoid(-t) * softplus(t))
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        kl(p[0], q[0])
    }
}

impl Density for Bernoulli {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x == 0.0 || x == 1.0, x, "0 or 1")
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

    fn log_density(&self, eta: &[f64], &x: &f64) -> f64 {
        -softplus(if x == 1.0 { -eta[0] } else { eta[0] })
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (tail, head) = (self.log_density(eta, &0.0), self.log_density(eta, &1.0));
        super::batch::each(
            x,
            out,
            #[inline(always)]
            |x| if x == 1.0 { head } else { tail },
        );
    }
}

impl Sample for Bernoulli {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        if rng.random::<f64>() < sigmoid(eta[0]) { 1.0 } else { 0.0 }
    }
}

impl Evidence for Bernoulli {
    /// `log B(n0 mu0, n0 (1 - mu0))`.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        ln_beta(weight * centred[0], weight * (1.0 - centred[0]))
    }
}
