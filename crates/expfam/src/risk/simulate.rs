//! Simulated risks, and the decomposition of a risk into bias and variance.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, Refusal};

use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Family, Sample};
use crate::prior::Prior;
use crate::summary::Summary;

/// A simulated risk.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The mean divergence over the trials with an estimate; NaN if there are none.
    pub mean: f64,
    /// Its standard error; NaN with fewer than two such trials.
    pub standard_error: f64,
    /// The number of trials without an estimate: the data lay on the border, and the divergence is infinite.
    pub failures: usize,
    /// The divergences, in ascending order, failures as infinities.
    pub sorted: Vec<f64>,
}

impl Simulated {
    /// The `q`-quantile of the divergences.
    pub fn quantile(&self, q: f64) -> f64 {
        let last = self.sorted.len() - 1;
        self.sorted[((q * last as f64).round() as usize).min(last)]
    }
}

/// `E KL(truth || estimate)` after `n` observations, by `trials` simulations. Trial `i` draws from random stream `i` of
/// the seed. Without a prior the estimate is maximum likelihood.
///
/// # Errors
/// [`Invalid::Parameter`] for 0 trials or 0 observations; [`Error::Refused`] for more trials than memory.
pub fn monte_carlo<F: Sample + Clone + PartialEq>(
    truth: &Distribution<F>,
    prior: Option<&Prior<F>>,
    n: usize,
    trials: usize,
    seed: u64,
) -> Result<Simulated, Error> {
    Invalid::check_count("trials", trials)?;
    let bytes = (trials as u64).saturating_mul(8);
    Refusal::check_memory("the trials", bytes, MAX_MEMORY, "take fewer trials")?;
    Invalid::check_count("n", n)?;
    let mut sorted: Vec<f64> = (0..trials)
        .map(|trial| {
            let mut rng = stream(seed, trial as u64);
            let mut data = Summary::new(truth.family().clone());
            (0..n).for_each(|_| {
                data.count(std::borrow::Borrow::borrow(&truth.sample(&mut rng)), 1.0)
            });
            let estimate = match prior {
                Some(prior) => prior.posterior(&data).map(|p| p.map().clone()),
                None => data.mle(),
            };
            estimate.map_or(f64::INFINITY, |estimate| truth.kl(&estimate))
        })
        .collect();
    sorted.sort_by(f64::total_cmp);
    let failures = sorted.iter().filter(|x| !x.is_finite()).count();
    let finite = &sorted[..trials - failures];
    let m = finite.len() as f64;
    let mean = finite.iter().sum::<f64>() / m;
    let square: f64 = finite.iter().map(|x| (x - mean) * (x - mean)).sum();
    // 0 / 0 where nothing is known.
    let standard_error = (square / (m * (m - 1.0))).sqrt();
    Ok(Simulated { mean, standard_error, failures, sorted })
}

/// The Bregman bias-variance decomposition of a finite set of estimates `p_i`. It is the identity
/// `mean KL(p* || p_i) = KL(p* || p~) + mean KL(p~ || p_i)`, where `p~` is the member with the mean natural parameter
/// of the estimates. Source: R. Le Priol, PhD thesis 2021, theorem 5.5.2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BiasVariance {
    /// `mean_i KL(p* || p_i)`.
    pub risk: f64,
    /// `KL(p* || p~)`.
    pub bias: f64,
    /// `mean_i KL(p~ || p_i)`.
    pub variance: f64,
}

/// Splits the risk of a set of estimates.
///
/// # Errors
/// [`Invalid::Empty`]; the errors of [`Family::check_natural`] if the mean of the natural parameters overflows.
pub fn bias_variance<F: Family + Clone + PartialEq>(
    truth: &Distribution<F>,
    estimates: &[Distribution<F>],
) -> Result<BiasVariance, Error> {
    if estimates.is_empty() {
        return Err(Invalid::Empty { what: "estimates" }.into());
    }
    let n = estimates.len() as f64;
    let mut middle = vec![0.0; truth.natural().len()];
    for estimate in estimates {
        middle.iter_mut().zip(estimate.natural()).for_each(|(m, e)| *m += e / n);
    }
    let middle = Distribution::from_natural(truth.family().clone(), &middle)?;
    let mean = |p: &Distribution<F>| estimates.iter().map(|q| p.kl(q)).sum::<f64>() / n;
    Ok(BiasVariance { risk: mean(truth), bias: truth.kl(&middle), variance: mean(&middle) })
}
