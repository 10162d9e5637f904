//! Annealed importance sampling (AIS): estimates of log Z with a standard error.
//!
//! ```text
//! P_b(x) ~ P_0(x)^(1 - b) P(x)^b,   0 = b_0 < b_1 < ... < b_K = 1
//! log w = sum_k (b_k - b_{k-1}) (score(x_{k-1}) - score_0(x_{k-1})),    x_k by sweeps that leave P_{b_k} invariant
//! log Z = log Z_0 + log mean(w)
//! ```
//!
//! The base distribution `P_0` has independent variables. The potential of a variable in `P_0` is its own potential times, for
//! every other factor, the geometric mean of that factor over the states of the other variables. For spins these are the same
//! fields without couplings. `mean(w)` is unbiased for `Z / Z_0` whether or not the chains mix. So the estimate of `log Z` is a
//! lower bound in expectation, and it exceeds `log Z` by more than `t` nats with probability at most `e^-t`.
//!
//! The standard error is computed from the observed weights. It means little if the effective sample size is only a few chains,
//! and it cannot include a mode that no chain found. In these cases take more steps. Compare the estimate with the bounds of
//! [`crate::mean_field`] and [`crate::bp::tree_reweighted`].
//!
//! Sources: Neal, "Annealed importance sampling", Statistics and Computing 11 (2001); Zhou, Johansen and Aston, J. Comput.
//! Graph. Stat. 25 (2016), for the steps that adapt to the conditional effective sample size.

mod paths;
mod settings;

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log_sum_exp;
use serde::{Deserialize, Serialize};

use crate::{BinaryPairwise, Error, FactorGraph};
use paths::Path;
pub use settings::{AisSettings, Ladder};

/// Largest number of chains of the pilot run.
const PILOT: usize = 256;

/// An estimate of `log Z`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AisEstimate {
    /// The estimate; `-inf` if no chain found a configuration of positive probability.
    pub log_partition: f64,
    /// The standard error of `log_partition`: the relative standard error of the mean weight, by the delta method. It is
    /// infinite if a single weight has all the mass.
    pub standard_error: f64,
    /// The effective sample size `(sum w)^2 / sum w^2`, at most the number of chains.
    pub effective_samples: f64,
    /// `log w + log Z_0` for every chain. `log_partition` is the logarithm of the mean of their exponentials.
    pub log_weights: Vec<f64>,
    /// The values of `b` of the run, from 0 to 1.
    pub ladder: Vec<f64>,
}

/// Annealed importance sampling of a binary pairwise model by [`BinaryGibbs`](crate::binary::BinaryGibbs), whose model changes at every
/// step.
///
/// ```
/// use fenchel_graphical::ais::{AisSettings, ais_binary};
/// use fenchel_graphical::BinaryPairwise;
///
/// let model = BinaryPairwise::new(&[0.5, -1.0], &[(0, 1, 1.5)])?;
/// let estimate = ais_binary(&model, &AisSettings::default())?;
/// let exact = (1.0 + 0.5_f64.exp() + (-1.0_f64).exp() + 1.0_f64.exp()).ln();
/// assert!((estimate.log_partition - exact).abs() < 4.0 * estimate.standard_error);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// # Errors
/// [`Invalid::Parameter`] for settings out of range; [`Error::Memory`] for more chains than fit.
pub fn ais_binary(model: &BinaryPairwise, settings: &AisSettings) -> Result<AisEstimate, Error> {
    check(settings)?;
    estimate(|settings| paths::Binary::new(model, settings), settings)
}

/// Annealed importance sampling of any model by [`Gibbs`](crate::gibbs::Gibbs). To include evidence, condition the model first; the
/// result is then `log Z + log P(evidence)`.
///
/// # Errors
/// [`Invalid::Parameter`] for settings out of range; [`Error::Memory`] for more chains than fit; [`Error::ImpossibleEvidence`] where a variable has no possible
/// state; [`Error::Potential`] for log-potentials whose sum may exceed 1e300.
pub fn ais(model: &FactorGraph, settings: &AisSettings) -> Result<AisEstimate, Error> {
    check(settings)?;
    estimate(|settings| paths::Factors::new(model, settings), settings)
}

fn check(settings: &AisSettings) -> Result<(), Error> {
    let refuse = |name, value, expected| Err(Invalid::Parameter { name, value, expected }.into());
    match settings.ladder {
        Ladder::Uniform(0) => return refuse("ladder", 0.0, "at least one step"),
        Ladder::Uniform(steps) => Error::check_memory("steps", steps, 2 * size_of::<f64>())?,
        Ladder::Adaptive(share) if !(share > 0.0 && share < 1.0) => {
            return refuse("ladder", share, "a share in (0, 1)");
        }
        Ladder::Adaptive(_) => {}
    }
    if settings.chains == 0 {
        return refuse("chains", 0.0, "at least one chain");
    }
    // A weight and a slope each.
    Error::check_memory("chains", settings.chains, 2 * size_of::<f64>())
}

/// Makes the ladder, by a pilot run if it adapts, and then the weights.
fn estimate<P: Path>(
    path: impl Fn(&AisSettings) -> Result<P, Error>,
    settings: &AisSettings,
) -> Result<AisEstimate, Error> {
    let steps: Vec<f64> = match settings.ladder {
        Ladder::Uniform(steps) => (1..=steps).map(|k| k as f64 / steps as f64).collect(),
        Ladder::Adaptive(share) => {
            let (chains, seed) = (settings.chains.min(PILOT), !settings.seed);
            let pilot = AisSettings { chains, seed, ..*settings };
            let mut steps = Vec::new();
            anneal(&mut path(&pilot)?, &pilot, |b, weights, slopes| {
                let next = adapt(b, share, weights, slopes);
                steps.push(next);
                next
            });
            steps
        }
    };
    let mut rest = steps.iter().copied();
    let log_weights = anneal(&mut path(settings)?, settings, |_, _, _| rest.next().unwrap_or(1.0));
    let ladder = std::iter::once(0.0).chain(steps).collect();
    Ok(summarise(log_weights, ladder))
}

/// Computes the logarithms of the weights along a ladder. The next step of the ladder is a function of the current one, of the
/// weights and of the slopes of the chains.
fn anneal(
    path: &mut impl Path,
    settings: &AisSettings,
    mut next: impl FnMut(f64, &[f64], &[f64]) -> f64,
) -> Vec<f64> {
    let mut log_weights = vec![path.log_partition(); settings.chains];
    let mut slopes = vec![0.0; settings.chains];
    let mut b = 0.0;
    while b < 1.0 {
        path.slopes(&mut slopes);
        let to = next(b, &log_weights, &slopes);
        for (weight, slope) in log_weights.iter_mut().zip(&slopes) {
            *weight += (to - b) * slope;
        }
        b = to;
        if b < 1.0 {
            path.advance(b, settings.sweeps);
        }
    }
    log_weights
}

fn summarise(log_weights: Vec<f64>, ladder: Vec<f64>) -> AisEstimate {
    let chains = log_weights.len() as f64;
    let log_sum = log_sum_exp(&log_weights);
    let log_partition = log_sum - chains.ln();
    let (effective_samples, standard_error) = if log_sum > f64::NEG_INFINITY {
        let squares: f64 = log_weights.iter().map(|w| (2.0 * (w - log_sum)).exp()).sum();
        // sum w^2 / (sum w)^2 lies between 1/R and 1.
        (squares.recip(), ((chains * squares - 1.0).max(0.0) / (chains - 1.0)).sqrt())
    } else {
        (0.0, f64::INFINITY)
    };
    let standard_error = if chains > 1.0 { standard_error } else { f64::INFINITY };
    AisEstimate { log_partition, standard_error, effective_samples, log_weights, ladder }
}

/// Finds by bisection the next `b`, at which the conditional effective sample size `(sum W u)^2 / sum W u^2` equals `share`.
/// Here `W` are the normalised weights so far and `u` the next factors.
fn adapt(b: f64, share: f64, log_weights: &[f64], slopes: &[f64]) -> f64 {
    let total = log_sum_exp(log_weights);
    if total == f64::NEG_INFINITY {
        return 1.0;
    }
    let remains = |step: f64| {
        let sum = |power: f64| -> f64 {
            let terms = log_weights.iter().zip(slopes);
            let logs: Vec<f64> = terms.map(|(w, slope)| w - total + power * step * slope).collect();
            log_sum_exp(&logs)
        };
        (2.0 * sum(1.0) - sum(2.0)).exp()
    };
    // Not shorter than 1e-6, so that it always ends.
    let (mut low, mut high) = (1e-6_f64.min(1.0 - b), 1.0 - b);
    if remains(high) >= share || high <= low {
        return 1.0;
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if remains(middle) >= share { low = middle } else { high = middle }
    }
    b + low
}
