//! The categorical family: one of `K` categories.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::softmax_in_place;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use crate::distribution::Distribution;
use crate::divergence::exp_excess;
use crate::error::Error;
use crate::family::{
    Density, Evidence, Family, Sample, check_shape, mean_in, natural_in, point_in,
};
use crate::prior::Prior;
use crate::special::ln_gamma;

/// `p(x = k) = p_k` for `k` in 0..K, in minimal coordinates: `T(x)` has `K - 1` entries, the indicators of the first
/// `K - 1` categories; `eta_k = log(p_k / p_K)`, `A = log(1 + sum_k e^eta_k)`, `mu_k = p_k` for `k < K`.
///
/// The last category is the reference. [`with_log_weights`](Categorical::with_log_weights) takes all `K` log-weights,
/// which are determined only up to a common shift. The probability of the last category is 1 minus the sum of the
/// others. A value below 1e-16 is treated as 0, so the last category should not be a rare one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Categorical {
    categories: usize,
}

checked_file!(Categorical { categories: super::file::Count } Categorical::new(categories.0 as usize));

impl Categorical {
    /// The family of `categories >= 2`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for fewer.
    pub fn new(categories: usize) -> Result<Self, Error> {
        check_categories(categories)?;
        Ok(Categorical { categories })
    }

    /// The number of categories.
    pub fn categories(&self) -> usize {
        self.categories
    }

    /// The member with the given probabilities of all `K` categories, which are normalised.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Error::OutsideMeanDomain`] unless all are positive and finite.
    pub fn with_probabilities(self, p: &[f64]) -> Result<Distribution<Self>, Error> {
        Invalid::check_length("probabilities", self.categories, p.len())?;
        for (k, &p) in p.iter().enumerate() {
            mean_in(&self, p > 0.0 && p.is_finite(), k, p, "a probability inside (0, 1)")?;
        }
        let logs: Vec<f64> = p.iter().map(|p| p.ln()).collect();
        self.with_log_weights(&logs)
    }

    /// The member with the given log-weights of all `K` categories (the overcomplete parametrisation).
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn with_log_weights(self, weights: &[f64]) -> Result<Distribution<Self>, Error> {
        Invalid::check_length("log-weights", self.categories, weights.len())?;
        let last = weights[self.categories - 1];
        let eta: Vec<f64> = weights[..self.categories - 1].iter().map(|w| w - last).collect();
        Distribution::from_natural(self, &eta)
    }
}

impl Distribution<Categorical> {
    /// All `K` probabilities.
    pub fn probabilities(&self) -> Vec<f64> {
        probabilities(self.natural())
    }
}

impl Prior<Categorical> {
    /// The prior under which `p ~ Dirichlet(a)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless all concentrations are positive and there are at least two.
    pub fn dirichlet(a: &[f64]) -> Result<Self, Error> {
        a.iter().try_for_each(|&a| Invalid::check_positive("concentration", a))?;
        let family = Categorical::new(a.len())?;
        Prior::around(a.iter().sum(), &family.with_probabilities(a)?)
    }

    /// The concentrations `a` for which `p ~ Dirichlet(a)`.
    pub fn as_dirichlet(&self) -> Vec<f64> {
        full(self.centred()).iter().map(|p| self.weight() * p).collect()
    }
}

pub(crate) fn check_categories(categories: usize) -> Result<(), Error> {
    if categories >= 2 {
        return Ok(());
    }
    let (value, expected) = (categories as f64, "at least 2");
    Err(Invalid::Parameter { name: "categories", value, expected }.into())
}

/// All `K` probabilities of minimal coordinates.
pub(crate) fn probabilities(eta: &[f64]) -> Vec<f64> {
    let mut p = eta.to_vec();
    p.push(0.0);
    softmax_in_place(&mut p);
    p
}

/// Their logarithms, relative to the likeliest.
pub(crate) fn log_probabilities(eta: &[f64]) -> Vec<f64> {
    let (top, rest) = split_log_partition(eta);
    eta.iter().chain([&0.0]).map(|e| (e - top) - rest).collect()
}

/// All `K` means from the first `K - 1`.
fn full(mu: &[f64]) -> Vec<f64> {
    let mut p = mu.to_vec();
    p.push((1.0 - mu.iter().sum::<f64>()).max(0.0));
    p
}

/// `A`: all but the largest term are summed apart, so that a nearly certain category keeps its digits.
pub(crate) fn log_partition(eta: &[f64]) -> f64 {
    let (top, rest) = split_log_partition(eta);
    top + rest
}

/// The largest exponent, and what `A` is above it.
fn split_log_partition(eta: &[f64]) -> (f64, f64) {
    let (mut top, mut place) = (0.0, None);
    for (k, &e) in eta.iter().enumerate() {
        if e > top {
            (top, place) = (e, Some(k));
        }
    }
    let mut others: f64 = if place.is_some() { (-top).exp() } else { 0.0 };
    for (k, e) in eta.iter().enumerate() {
        if Some(k) != place {
            others += (e - top).exp();
        }
    }
    (top, others.ln_1p())
}

/// `eta_k = log mu_k - log(total - sum mu)`.
pub(crate) fn natural(
    family: &impl Family,
    total: f64,
    mu: &[f64],
    eta: &mut [f64],
) -> Result<(), Error> {
    check_mean(family, total, mu)?;
    let rest = (total - mu.iter().sum::<f64>()).ln();
    eta.iter_mut().zip(mu).for_each(|(e, m)| *e = m.ln() - rest);
    Ok(())
}

pub(crate) fn check_mean(family: &impl Family, total: f64, mu: &[f64]) -> Result<(), Error> {
    for (k, &m) in mu.iter().enumerate() {
        mean_in(family, m > 0.0, k, m, "every category seen with positive frequency")?;
    }
    let rest = total - mu.iter().sum::<f64>();
    mean_in(family, rest > 0.0, mu.len(), rest, "every category seen with positive frequency")
}

/// Differences of two natural parameters must be numbers.
pub(crate) fn check_natural(family: &impl Family, eta: &[f64]) -> Result<(), Error> {
    check_shape(family, "natural parameter", eta)?;
    let large = eta.iter().position(|e| e.abs() > 8e307);
    let index = large.unwrap_or(0);
    let value = eta.get(index).copied().unwrap_or(0.0);
    natural_in(family, large.is_none(), index, value, "at most 8e307 in size")
}

/// `sum_k p_k log p_k`, all terms of one sign.
pub(crate) fn conjugate_at(eta: &[f64]) -> f64 {
    log_probabilities(eta).into_iter().map(|log| log.exp() * log).sum()
}

/// `diag(p) - p p'`, with `1 - p_k` summed from the others.
pub(crate) fn fisher(total: f64, eta: &[f64], out: &mut [f64]) {
    let p = probabilities(eta);
    let k = eta.len();
    for i in 0..k {
        for j in 0..k {
            out[i * k + j] = -total * p[i] * p[j];
        }
        let rest: f64 = p.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, p)| p).sum();
        out[i * k + i] = total * p[i] * rest;
    }
}

/// `sum_k p_k (u_k - log(1 + u_k))` with `u_k = q_k / p_k - 1`.
pub(crate) fn kl(eta_p: &[f64], eta_q: &[f64]) -> f64 {
    let (p, q) = (probabilities(eta_p), probabilities(eta_q));
    let top = (0..p.len()).max_by(|&j, &k| p[j].total_cmp(&p[k])).unwrap_or(0);
    let at = |eta: &[f64], k: usize| eta.get(k).copied().unwrap_or(0.0);
    let change = |k: usize| at(eta_q, k) - at(eta_p, k);
    let (before, after) = (log_probabilities(eta_p), log_probabilities(eta_q));
    // With d relative to the likeliest category, log(q_k / p_k) = d_k - D, where e^D is the mean of e^d under p: what is rare counts
    // in its own digits.
    let excess: f64 = (0..p.len())
        .filter(|&k| k != top)
        .map(|k| {
            let d = change(k) - change(top);
            if d < 1.0 {
                p[k] * d.exp_m1()
            } else {
                (after[k] - after[top] + before[top]).exp() - p[k]
            }
        })
        .sum();
    let total = if excess.is_finite() { excess.ln_1p() } else { before[top] - after[top] };
    let term = |k: usize| {
        let log = change(k) - change(top) - total;
        if log.abs() < 1.0 {
            p[k] * exp_excess(log)
        } else {
            q[k] - p[k] - p[k] * (after[k] - before[k])
        }
    };
    (0..p.len()).map(term).sum()
}

impl Family for Categorical {
    fn name(&self) -> &'static str {
        "categorical"
    }

    fn dimension(&self) -> usize {
        self.categories - 1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_natural(self, eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        check_mean(self, 1.0, mu)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        log_partition(eta)
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu.copy_from_slice(&probabilities(eta)[..mu.len()]);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        natural(self, 1.0, mu, eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        fisher(1.0, eta, out);
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        conjugate_at(eta)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        kl(p, q)
    }
}

impl Density for Categorical {
    type Point = usize;

    fn check_point(&self, &x: &usize) -> Result<(), Error> {
        point_in(self, x < self.categories, x as f64, "a category below the number of categories")
    }

    fn statistics(&self, &x: &usize, out: &mut [f64]) {
        out.fill(0.0);
        if x < out.len() {
            out[x] = 1.0;
        }
    }

    fn log_base(&self, _: &usize) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn log_density(&self, eta: &[f64], &x: &usize) -> f64 {
        let (top, rest) = split_log_partition(eta);
        (eta.get(x).copied().unwrap_or(0.0) - top) - rest
    }

    fn log_densities(&self, eta: &[f64], x: &[usize], out: &mut [f64]) {
        let table = log_probabilities(eta);
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = table[x]);
    }

    fn centred_mean(&self, x: &[usize], c: &mut [f64]) {
        let mut counts = vec![0_u64; self.categories];
        x.iter().for_each(|&x| counts[x] += 1);
        c.iter_mut().zip(&counts).for_each(|(c, &n)| *c = n as f64 / x.len() as f64);
    }
}

impl Sample for Categorical {
    type Owned = usize;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> usize {
        let mut left: f64 = rng.random();
        let p = probabilities(eta);
        for (k, p) in p.iter().enumerate() {
            if left < *p {
                return k;
            }
            left -= p;
        }
        // Rounding may leave a little over.
        p.iter().rposition(|&p| p > 0.0).unwrap_or(0)
    }
}

impl Evidence for Categorical {
    /// The log of the multivariate beta function of `n0 mu0`.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        let own: f64 = full(centred).iter().map(|m| ln_gamma(weight * m)).sum();
        own - ln_gamma(weight)
    }
}
