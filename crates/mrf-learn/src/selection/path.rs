//! Paths of decreasing penalties, and the choice of a penalty on them.

use fenchel_linalg::Invalid;
use fenchel_metrics::k_fold;
use fenchel_optim::Fit;
use serde::{Deserialize, Serialize};

use super::Learner;
use crate::coordinates::{packed_length, pair_index, pairs};
use crate::{BinaryData, Error, NetworkModel, Penalty};

/// One strength of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathFit {
    /// The strength.
    pub lambda: f64,
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

/// `count` strengths from [`Learner::lambda_max`] down to `ratio` times it, in equal ratios.
///
/// # Errors
/// [`Invalid::Parameter`] for a ratio outside (0, 1) or no strength; as [`Learner::lambda_max`].
pub fn falling_grid(
    data: &BinaryData,
    learner: &impl Learner,
    count: usize,
    ratio: f64,
) -> Result<Vec<f64>, Error> {
    if !(ratio > 0.0 && ratio < 1.0) {
        let expected = "a number in (0, 1)";
        return Err(Invalid::Parameter { name: "ratio", value: ratio, expected }.into());
    }
    Invalid::check_positive("count", count as f64)?;
    let most = learner.lambda_max(data)?;
    let last = (count - 1).max(1) as f64;
    Ok((0..count).map(|k| most * ratio.powf(k as f64 / last)).collect())
}

/// Fits all strengths, largest first. Each fit starts from the previous solution.
///
/// # Errors
/// [`Invalid::Empty`] for no strength; [`Invalid::Parameter`] for one that is negative or not finite; the errors of the method.
pub fn lambda_path(
    data: &BinaryData,
    learner: &impl Learner,
    lambdas: &[f64],
) -> Result<Path, Error> {
    if lambdas.is_empty() {
        return Err(Invalid::Empty { what: "lambdas" }.into());
    }
    for &lambda in lambdas {
        Invalid::check_nonnegative("lambda", lambda)?;
    }
    let mut falling = lambdas.to_vec();
    falling.sort_by(|a, b| b.total_cmp(a));
    let p = data.variables();
    let exact = p <= 20;
    let mut fits: Vec<PathFit> = Vec::with_capacity(falling.len());
    for lambda in falling {
        let model = learner.learn(
            data,
            lambda,
            Fit { start: fits.last().map(|fit| &fit.model), ..Fit::new() },
        )?;
        let log_likelihood = if exact { model.log_likelihood(data)? } else { model.score(data)? };
        fits.push(PathFit { lambda, edges: model.model.edge_count(), model, log_likelihood });
    }
    Ok(Path { fits, rows: data.rows(), variables: p, exact })
}

impl Path {
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
    pub fn refitted(&self, data: &BinaryData, method: &crate::ExactMle) -> Result<Path, Error> {
        let mut fits: Vec<PathFit> = Vec::with_capacity(self.fits.len());
        for fit in &self.fits {
            let pairs = |fit: &PathFit| -> Vec<(u32, u32)> {
                fit.model.model.edges().map(|(i, j, _)| (i, j)).collect()
            };
            let known = fits.last().filter(|last| pairs(last) == pairs(fit));
            let (model, log_likelihood) = match known {
                Some(last) => (last.model.clone(), last.log_likelihood),
                None => {
                    let model = refit(data, &fit.model, method)?;
                    let value =
                        if self.exact { model.log_likelihood(data)? } else { model.score(data)? };
                    (model, value)
                }
            };
            fits.push(PathFit { lambda: fit.lambda, edges: fit.edges, model, log_likelihood });
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
/// As [`lambda_path`]; [`Error::Metrics`] for fewer than two folds or more than rows.
pub fn held_out_scores(
    data: &BinaryData,
    learner: &impl Learner,
    lambdas: &[f64],
    folds: usize,
    seed: u64,
) -> Result<Vec<(f64, f64)>, Error> {
    let splits = k_fold(data.rows(), folds, seed)?;
    let mut scores: Vec<(f64, f64)> = Vec::new();
    for split in &splits {
        let (train, test) = (data.select(&split.0)?, data.select(&split.1)?);
        let path = lambda_path(&train, learner, lambdas)?;
        if scores.is_empty() {
            scores = path.fits.iter().map(|fit| (fit.lambda, 0.0)).collect();
        }
        for (score, fit) in scores.iter_mut().zip(&path.fits) {
            let value = if path.exact {
                fit.model.log_likelihood(&test)?
            } else {
                fit.model.score(&test)?
            };
            score.1 += value / splits.len() as f64;
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
    data: &BinaryData,
    network: &NetworkModel,
    method: &crate::ExactMle,
) -> Result<NetworkModel, Error> {
    let p = data.variables();
    Invalid::check_length("variables of the network", p, network.variables())?;
    let mut weights = vec![f64::INFINITY; packed_length(p)];
    for (c, (i, j)) in pairs(p).enumerate() {
        if i == j {
            weights[c] = 1.0;
        }
    }
    for (i, j, _) in network.edges() {
        weights[pair_index(i as usize, j as usize, p)] = 1.0;
    }
    let penalty = Penalty { lambda: 0.0, unary_weight: 0.0, weights };
    crate::ExactMle { penalty, ..method.clone() }.fit(data)
}
