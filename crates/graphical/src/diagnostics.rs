//! Convergence diagnostics of Markov chains, computed from samples.
//!
//! | question | function |
//! |---|---|
//! | do the chains agree with each other | [`split_r_hat`]: about 1 if they do; values below 1.01 are customary |
//! | how many independent draws have the same accuracy | [`effective_sample_size`] |
//! | how many draws are worth one independent draw | [`autocorrelation_time`] |
//! | how long to run until a mean is accurate enough | [`run_until`] |
//!
//! Each function takes one statistic (an energy, a mean, one variable) as an array of chains x draws. Diagnostics can show that
//! chains have not mixed. They cannot prove that chains have mixed, because all chains may be in one of two modes.
//! [`crate::influence`] gives proofs for some models.
//!
//! Source: Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an improved R-hat
//! for assessing convergence of MCMC", Bayesian Analysis 16 (2021), equations 3-4 and 10-11, with rank normalisation.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::erfcx;
use fenchel_optim::settings;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use crate::Error;
use crate::binary::BinaryGibbs;
use crate::gibbs::Gibbs;

/// The potential scale reduction factor of Gelman and Rubin. Every chain is cut into halves, and draws are replaced by the
/// normal scores of their ranks. The same is done for the distances of the draws from their median, which shows chains of
/// different widths; the larger factor is returned. It is NaN if all draws are equal: such draws show nothing.
///
/// # Errors
/// [`Invalid::Layout`] for fewer than four draws a chain or no chain; [`Invalid::NonFinite`].
pub fn split_r_hat(draws: ArrayView2<'_, f64>) -> Result<f64, Error> {
    Ok(Halves::of(draws)?.r_hat)
}

/// The number of independent draws whose mean has the same variance (the "bulk ESS": from normal scores of ranks, with chains
/// cut into halves). For `N` draws it is at most `N log10 N`. It is NaN if all draws are equal: the chains may not have left
/// their start, or may have missed a rare event.
///
/// # Errors
/// As [`split_r_hat`].
pub fn effective_sample_size(draws: ArrayView2<'_, f64>) -> Result<f64, Error> {
    let halves = Halves::of(draws)?;
    Ok(halves.draws() / halves.autocorrelation_time())
}

/// The integrated autocorrelation time `1 + 2 sum_t rho_t`, in draws, by Geyer's initial monotone sequence over all chains.
/// This many draws are worth one independent draw. For `N` draws it is at least `1 / log10 N`. It is NaN if
/// all draws are equal.
///
/// # Errors
/// As [`split_r_hat`].
pub fn autocorrelation_time(draws: ArrayView2<'_, f64>) -> Result<f64, Error> {
    Ok(Halves::of(draws)?.autocorrelation_time())
}

/// Normal scores of the draws, with chains cut into halves.
struct Halves {
    scores: Array2<f64>,
    /// Mean and variance of each half chain.
    moments: Vec<(f64, f64)>,
    /// The mean variance within chains, and the estimate of the variance from all chains.
    within: f64,
    pooled: f64,
    r_hat: f64,
}

impl Halves {
    fn of(draws: ArrayView2<'_, f64>) -> Result<Self, Error> {
        let (chains, length) = draws.dim();
        if chains == 0 || length < 4 {
            let reason = format!("{chains} chains x {length}; expected at least 1 x 4");
            return Err(Invalid::Layout { what: "draws", reason }.into());
        }
        if let Some(((row, column), &value)) = draws.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Invalid::NonFinite { what: "draws", row, column, value }.into());
        }
        let half = length / 2;
        // With an odd number of draws the middle one is left out.
        let cut =
            |(k, t): (usize, usize)| draws[[k / 2, if k % 2 == 0 { t } else { length - half + t }]];
        let values = Array2::from_shape_fn((2 * chains, half), cut);
        let halves = Halves::scored(&values);
        let folded = Halves::scored(&folded(values)).r_hat;
        // `max` leaves out a NaN: folded draws may be equal where the draws are not.
        Ok(Halves { r_hat: halves.r_hat.max(folded), ..halves })
    }

    /// From half chains x draws.
    fn scored(values: &Array2<f64>) -> Self {
        let scores = normal_scores(values);
        let n = scores.ncols() as f64;
        let moments: Vec<(f64, f64)> = scores
            .axis_iter(Axis(0))
            .map(|row| {
                let mean = row.sum() / n;
                (mean, row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0))
            })
            .collect();
        let m = moments.len() as f64;
        let within = moments.iter().map(|moment| moment.1).sum::<f64>() / m;
        let grand = moments.iter().map(|moment| moment.0).sum::<f64>() / m;
        let between =
            moments.iter().map(|moment| (moment.0 - grand).powi(2)).sum::<f64>() / (m - 1.0);
        let pooled = (n - 1.0) / n * within + between;
        // Ranks that are all equal have score 0. Constant but different chains never mixed.
        let r_hat = if pooled == 0.0 { f64::NAN } else { (pooled / within).sqrt() };
        Halves { scores, moments, within, pooled, r_hat }
    }

    fn draws(&self) -> f64 {
        self.scores.len() as f64
    }

    fn autocorrelation_time(&self) -> f64 {
        if self.pooled == 0.0 {
            return f64::NAN;
        }
        let half = self.scores.ncols();
        let correlation = |lag: usize| {
            let mut sum = 0.0;
            for (row, (mean, _)) in self.scores.axis_iter(Axis(0)).zip(&self.moments) {
                let products = (lag..half).map(|t| (row[t] - mean) * (row[t - lag] - mean));
                sum += products.sum::<f64>() / half as f64;
            }
            let covariance = sum / self.moments.len() as f64 * half as f64 / (half as f64 - 1.0);
            1.0 - (self.within - covariance) / self.pooled
        };
        // Sums of two neighbours are positive and fall for a reversible chain: the noise beyond is cut off.
        let mut time = -1.0;
        let mut last = f64::INFINITY;
        for lag in (0..half.saturating_sub(1)).step_by(2) {
            let rho = if lag == 0 { 1.0 } else { correlation(lag) };
            let pair = rho + correlation(lag + 1);
            if pair <= 0.0 {
                break;
            }
            last = pair.min(last);
            time += 2.0 * last;
        }
        time.max(1.0 / self.draws().log10())
    }
}

/// The distances from the median.
fn folded(values: Array2<f64>) -> Array2<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let median = 0.5 * sorted[(n - 1) / 2] + 0.5 * sorted[n / 2];
    values.mapv_into(|x| (x - median).abs())
}

/// Replaces every value by the normal quantile of its (mean) rank.
fn normal_scores(values: &Array2<f64>) -> Array2<f64> {
    let mut order: Vec<((usize, usize), f64)> =
        values.indexed_iter().map(|(at, &v)| (at, v)).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let total = order.len() as f64;
    let mut scores = Array2::zeros(values.dim());
    let mut first = 0;
    while first < order.len() {
        let equal = order[first..].iter().take_while(|entry| entry.1 == order[first].1).count();
        let rank = first as f64 + 0.5 * (equal as f64 + 1.0);
        let score = normal_quantile((rank - 0.375) / (total + 0.25));
        order[first..first + equal].iter().for_each(|entry| scores[entry.0] = score);
        first += equal;
    }
    scores
}

/// The `z` with `P(Z <= z) = p` of a standard normal variable, `0 < p < 1`.
fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // Hastings' formula (Abramowitz and Stegun 26.2.23), wrong by less than 4.5e-4; then Newton's steps.
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = above / below - t;
    for _ in 0..3 {
        // P(Z <= z) / density, by the scaled complementary error function.
        let ratio = (std::f64::consts::PI / 2.0).sqrt() * erfcx(-z / std::f64::consts::SQRT_2);
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        z -= ratio - p / density;
    }
    if p == 0.5 { 0.0 } else { z }
}

/// A sampler that runs chains by sweeps.
pub trait Chains {
    /// Number of chains.
    fn chains(&self) -> usize;
    /// Makes the given number of sweeps in every chain.
    fn sweep(&mut self, sweeps: usize);
}

impl Chains for BinaryGibbs {
    fn chains(&self) -> usize {
        BinaryGibbs::chains(self)
    }

    fn sweep(&mut self, sweeps: usize) {
        BinaryGibbs::sweep(self, sweeps);
    }
}

impl Chains for Gibbs {
    fn chains(&self) -> usize {
        Gibbs::chains(self)
    }

    fn sweep(&mut self, sweeps: usize) {
        Gibbs::sweep(self, sweeps);
    }
}

settings! {
    /// Settings of [`run_until`].
    #[derive(Copy)]
    pub struct RunSettings {
        /// Effective sample size to be reached.
        effective_samples: f64 = 1000.0,
        /// Largest accepted [`split_r_hat`].
        largest_r_hat: f64 = 1.01,
        /// Sweeps before the first draw.
        burn_in: usize = 100,
        /// Sweeps from one draw to the next.
        thin: usize = 1,
        /// Draws per chain after which the run ends in any case.
        most_draws: usize = 10_000,
    }
}

/// The result of [`run_until`] for a statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Chains x draws.
    pub draws: Array2<f64>,
    /// The mean of all draws.
    pub mean: f64,
    /// The standard error of the mean: the standard deviation of the draws over the square root of the effective sample size.
    pub standard_error: f64,
    /// See [`effective_sample_size`].
    pub effective_samples: f64,
    /// See [`split_r_hat`].
    pub r_hat: f64,
    /// Whether both goals were reached before `most_draws`, by chains that came at least ten times to either side of the mean.
    /// No number of draws tells of an event that none of them met.
    pub reached: bool,
}

/// Sweeps until the effective sample size of a statistic is at least `effective_samples` and the chains agree. `statistic`
/// writes one number per chain. The test is made after 16 draws per chain, and again each time the number of draws has grown by
/// half. Draws that are all equal never reach the goal, and their standard error is NaN.
///
/// # Errors
/// [`Invalid::Parameter`] for settings out of range; [`Invalid::NonFinite`] for a statistic that is not finite.
pub fn run_until<C: Chains>(
    chains: &mut C,
    mut statistic: impl FnMut(&C, &mut [f64]),
    settings: &RunSettings,
) -> Result<RunSummary, Error> {
    Invalid::check_nonnegative("effective_samples", settings.effective_samples)?;
    Invalid::check_positive("largest_r_hat", settings.largest_r_hat)?;
    for (name, value, least) in [("thin", settings.thin, 1), ("most_draws", settings.most_draws, 4)]
    {
        if value < least {
            let expected = if least == 1 { "at least 1" } else { "at least 4" };
            return Err(Invalid::Parameter { name, value: value as f64, expected }.into());
        }
    }
    let q = chains.chains();
    // Draw by draw; turned around when looked at.
    let mut values: Vec<f64> = Vec::new();
    let mut row = vec![0.0; q];
    let (mut kept, mut look) = (0, settings.most_draws.min(16));
    chains.sweep(settings.burn_in);
    loop {
        while kept < look {
            chains.sweep(settings.thin);
            statistic(chains, &mut row);
            values.extend_from_slice(&row);
            kept += 1;
        }
        let draws = Array2::from_shape_fn((q, kept), |(c, t)| values[t * q + c]);
        let halves = Halves::of(draws.view())?;
        let effective_samples = halves.draws() / halves.autocorrelation_time();
        let r_hat = halves.r_hat;
        let reached = effective_samples >= settings.effective_samples
            && r_hat <= settings.largest_r_hat
            && visits(&draws) >= VISITS;
        if reached || kept == settings.most_draws {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance =
                values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
            let standard_error = (variance / effective_samples).sqrt();
            return Ok(RunSummary {
                draws,
                mean,
                standard_error,
                effective_samples,
                r_hat,
                reached,
            });
        }
        look = (kept + kept / 2).min(settings.most_draws);
    }
}

/// Visits of the rarer side before a mean is trusted: the length of a few says little about how often there are any.
const VISITS: usize = 10;

/// How often the chains came to the side of the mean on which they are less often.
fn visits(draws: &Array2<f64>) -> usize {
    let mean = draws.mean().unwrap_or(0.0);
    let above = draws.iter().filter(|x| **x > mean).count();
    let rarer = |x: f64| (x > mean) == (2 * above <= draws.len());
    let of_chain = |chain: ArrayView1<'_, f64>| {
        let begins = |t: usize| rarer(chain[t]) && (t == 0 || !rarer(chain[t - 1]));
        (0..chain.len()).filter(|&t| begins(t)).count()
    };
    draws.rows().into_iter().map(of_chain).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn quantiles_agree_with_an_independent_implementation() {
        let normal = Normal::standard();
        for p in [1e-12, 1e-6, 0.01, 0.3, 0.499, 0.5, 0.6, 0.975, 1.0 - 1e-6] {
            let error = (normal_quantile(p) - normal.inverse_cdf(p)).abs();
            assert!(error < 1e-9 * (1.0 + normal.inverse_cdf(p).abs()), "{p}: {error}");
        }
    }
}
