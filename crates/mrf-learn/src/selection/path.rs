//! Paths of decreasing penalties, and the choice of a penalty on them.

use fenchel_linalg::Invalid;
use fenchel_metrics::k_fold;
use fenchel_optim::{Budget, Fit, SharedWatch};
use serde::{Deserialize, Serialize};

use super::learner::Learner;
use crate::data::Data;
use crate::error::Error;
use crate::exact::ExactMle;
use crate::layout::{packed_length, pair_index, pairs};
use crate::model::NetworkModel;
use crate::penalty::Penalty;

/// One strength of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathFit {
    /// The strength.
    pub strength: f64,
    /// The fit.
    pub model: NetworkModel,
    /// Couplings that are not 0.
    pub edges: usize,
    /// The mean log-likelihood per row, or the mean log pseudo-likelihood if [`Path::exact`] is false.
    pub log_likelihood: f64,
}

/// Fits along a path of decreasing strengths. Each fit starts from the previous solution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// The fits.
    pub fits: Vec<PathFit>,
    /// Rows of the data, `n`.
    pub rows: usize,
    /// Number of variables, `p`.
    pub variables: usize,
    /// Whether likelihoods are exact.
    pub exact: bool,
}

/// `count` strengths from [`Learner::largest_strength`] down to `ratio` times it, in equal ratios.
///
/// # Errors
/// [`Invalid::Parameter`] for a ratio outside (0, 1), no strength, or more than a million; as [`Learner::largest_strength`].
pub fn falling_grid(
    data: &Data,
    learner: &impl Learner,
    count: usize,
    ratio: f64,
) -> Result<Vec<f64>, Error> {
    if !(ratio > 0.0 && ratio < 1.0) {
        let expected = "a number in (0, 1)";
        return Err(Invalid::Parameter { name: "ratio", value: ratio, expected }.into());
    }
    if !(1..=1_000_000).contains(&count) {
        let (name, value) = ("count", count as f64);
        return Err(Invalid::Parameter { name, value, expected: "1 to 1,000,000" }.into());
    }
    let most = learner.largest_strength(data)?;
    let last = (count - 1).max(1) as f64;
    Ok((0..count).map(|k| most * ratio.powf(k as f64 / last)).collect())
}

/// Fits all strengths, largest first. Each fit starts from the previous solution.
///
/// # Errors
/// As [`penalty_path_with`].
pub fn penalty_path(data: &Data, learner: &impl Learner, strengths: &[f64]) -> Result<Path, Error> {
    penalty_path_with(data, learner, strengths, Fit::new())
}

/// As [`penalty_path`], with weights of the rows, a model from which the first fit starts, and a closure that watches all fits.
/// The time limit of the method is that of the whole path. `Break` ends the path, and so does the time limit: the fit that they
/// have ended is the last.
///
/// # Errors
/// [`Invalid::Empty`] for no strength; [`Invalid::Parameter`] for one that is negative or not finite; the errors of the method.
pub fn penalty_path_with(
    data: &Data,
    learner: &impl Learner,
    strengths: &[f64],
    fit: Fit<'_, NetworkModel>,
) -> Result<Path, Error> {
    let data = data.weighted(fit.weights)?;
    let whole = Whole { budget: Budget::new(learner.stop()), watch: fit.watch.into() };
    path(&data, learner, strengths, fit.start, &whole)
}

/// What holds for all fits together: the time limit and the closure that watches.
struct Whole<'w> {
    budget: Budget,
    watch: SharedWatch<'w>,
}

impl Whole<'_> {
    /// Whether there is no next fit: the time is over, or the closure has said `Break`.
    fn ended(&self) -> bool {
        self.budget.left().max_seconds == Some(0.0) || self.watch.stopped()
    }
}

fn path(
    data: &Data,
    learner: &impl Learner,
    strengths: &[f64],
    start: Option<&NetworkModel>,
    whole: &Whole<'_>,
) -> Result<Path, Error> {
    if strengths.is_empty() {
        return Err(Invalid::Empty { what: "strengths" }.into());
    }
    for &strength in strengths {
        Invalid::check_nonnegative("strength", strength)?;
    }
    let mut falling = strengths.to_vec();
    falling.sort_by(|a, b| b.total_cmp(a));
    let (rows, variables) = (data.rows(), data.variables());
    let exact = variables <= 20 && data.is_binary();
    let mut out = Path { fits: Vec::with_capacity(falling.len()), rows, variables, exact };
    for strength in falling {
        if !out.fits.is_empty() && whole.ended() {
            break;
        }
        let start = out.fits.last().map(|fit| &fit.model).or(start);
        let fit = Fit { start, watch: whole.watch.each(), ..Fit::new() };
        let model = learner.learn(data, strength, whole.budget.left(), fit)?;
        let log_likelihood = out.judge(&model, data)?;
        let edges = model.graph()?.edge_count();
        out.fits.push(PathFit { strength, edges, model, log_likelihood });
    }
    Ok(out)
}

impl Path {
    /// The mean log-likelihood per row, exact or not.
    fn judge(&self, model: &NetworkModel, data: &Data) -> Result<f64, Error> {
        if self.exact { model.log_likelihood(data) } else { model.score(data) }
    }

    /// The extended Bayesian information criterion (EBIC) of every fit (Foygel and Drton 2010); smaller is better. It
    /// is `-2 n loglik + k ln n + 4 gamma k ln p` with `k` edges. The usual `gamma` is 0.5; 0 gives BIC.
    pub fn ebic(&self, gamma: f64) -> Vec<f64> {
        let (n, p) = (self.rows as f64, self.variables as f64);
        let one = |fit: &PathFit| {
            let k = fit.edges as f64;
            -2.0 * n * fit.log_likelihood + k * (n.ln() + 4.0 * gamma * p.ln())
        };
        self.fits.iter().map(one).collect()
    }

    /// The networks of the path, refitted without a penalty ([`refit`]). EBIC is consistent with the likelihoods of
    /// refitted networks (Foygel and Drton 2010, Barber and Drton 2015). With the likelihoods of penalised fits it
    /// selects some edges too many.
    ///
    /// # Errors
    /// As [`refit`].
    pub fn refitted(&self, data: &Data, method: &ExactMle) -> Result<Path, Error> {
        let mut fits: Vec<PathFit> = Vec::with_capacity(self.fits.len());
        for fit in &self.fits {
            let support = |fit: &PathFit| fit.model.layout.support(&fit.model.theta);
            let known = fits.last().filter(|last| support(last) == support(fit));
            let (model, log_likelihood) = match known {
                Some(last) => (last.model.clone(), last.log_likelihood),
                None => {
                    let model = refit(data, &fit.model, method)?;
                    let value = self.judge(&model, data)?;
                    (model, value)
                }
            };
            fits.push(PathFit { strength: fit.strength, edges: fit.edges, model, log_likelihood });
        }
        Ok(Path { fits, rows: self.rows, variables: self.variables, exact: self.exact })
    }

    /// The fit with the smallest criterion; the largest strength of several.
    pub fn best_ebic(&self, gamma: f64) -> Option<&PathFit> {
        let values = self.ebic(gamma);
        let best = (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b]))?;
        self.fits.get(best)
    }
}

/// The mean log-likelihood of held-out rows for every strength, by cross-validation with `folds` folds. Beyond 20
/// variables it is the pseudo-likelihood.
///
/// # Errors
/// As [`held_out_scores_with`].
pub fn held_out_scores(
    data: &Data,
    learner: &impl Learner,
    strengths: &[f64],
    folds: usize,
    seed: u64,
) -> Result<Vec<(f64, f64)>, Error> {
    held_out_scores_with(data, learner, strengths, folds, seed, Fit::new())
}

/// As [`held_out_scores`], with weights of the rows, a model from which every path starts, and a closure that watches all fits.
/// The time limit of the method is that of all fits together. `Break` ends them, and so does the time limit; strengths that were
/// not reached in every fold have the score NaN.
///
/// # Errors
/// As [`penalty_path_with`]; [`Error::Metrics`] for fewer than two folds or more than rows.
pub fn held_out_scores_with(
    data: &Data,
    learner: &impl Learner,
    strengths: &[f64],
    folds: usize,
    seed: u64,
    fit: Fit<'_, NetworkModel>,
) -> Result<Vec<(f64, f64)>, Error> {
    let data = data.weighted(fit.weights)?;
    let whole = Whole { budget: Budget::new(learner.stop()), watch: fit.watch.into() };
    let splits = k_fold(data.rows(), folds, seed)?;
    let mut falling = strengths.to_vec();
    falling.sort_by(|a, b| b.total_cmp(a));
    let mut scores: Vec<(f64, f64)> = falling.into_iter().map(|strength| (strength, 0.0)).collect();
    for split in &splits {
        let (train, test) = (data.select(&split.0)?, data.select(&split.1)?);
        let path = path(&train, learner, strengths, fit.start, &whole)?;
        // A fit that was ended counts as one that was not reached.
        let reached = path.fits.len() - usize::from(whole.ended());
        for (k, score) in scores.iter_mut().enumerate() {
            score.1 += match path.fits[..reached].get(k) {
                Some(fit) => path.judge(&fit.model, &test)? / splits.len() as f64,
                None => f64::NAN,
            };
        }
    }
    Ok(scores)
}

/// Fits the couplings of a network again without a penalty, with all other pairs fixed at 0. This removes the shrinkage
/// of the penalty.
///
/// # Errors
/// [`Error::UnboundedMle`] where a pair of the network has an empty cell; the errors of the method.
pub fn refit(
    data: &Data,
    network: &NetworkModel,
    method: &ExactMle,
) -> Result<NetworkModel, Error> {
    let p = data.variables();
    Invalid::check_length("variables of the network", p, network.variables())?;
    let mut weights = vec![f64::INFINITY; packed_length(p)];
    for (c, (i, j)) in pairs(p).enumerate() {
        if i == j {
            weights[c] = 1.0;
        }
    }
    for (i, j) in network.layout.support(&network.theta) {
        weights[pair_index(i, j, p)] = 1.0;
    }
    let penalty = Penalty { unary_weight: 0.0, weights, ..Penalty::l1(0.0) };
    ExactMle { penalty, ..method.clone() }.fit(data)
}
