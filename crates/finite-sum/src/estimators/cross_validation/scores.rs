//! The table of scores, and the choice of a penalty from it.

use std::fmt;

use fenchel_linalg::text::{cell, fixed, number};
use fenchel_optim::end_of_grid;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The rule that chooses the penalty from the table of scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choose {
    /// The penalty with the least mean score.
    #[default]
    Best,
    /// The largest penalty whose mean score is within one standard error of the best. Only penalties with the
    /// `l1_ratio` of the best one are considered.
    OneStandardError,
}

/// The score of a classifier. Smaller scores are better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scoring {
    /// Mean negative log-likelihood, in nats.
    #[default]
    LogLoss,
    /// The share of misclassified rows.
    Errors,
    /// 1 minus the area under the ROC curve, for two classes. It is the share of pairs, one row from each class, that
    /// the model ranks in the wrong order. Pairs of equal scores count half.
    Auc,
}

/// A penalty and its scores on the folds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Share of the l1 norm in the penalty.
    pub l1_ratio: f64,
    /// The penalty: `l1 = l1_ratio * penalty`, `l2 = (1 - l1_ratio) * penalty`.
    pub penalty: f64,
    /// Mean over the folds.
    pub mean: f64,
    /// The standard error of the mean. It is the standard deviation over the folds, divided by the square root of
    /// their number.
    pub standard_error: f64,
    /// One score per fold.
    pub folds: Vec<f64>,
}

impl Score {
    pub(super) fn new(l1_ratio: f64, penalty: f64, folds: Vec<f64>) -> Self {
        let k = folds.len() as f64;
        let mean = folds.iter().sum::<f64>() / k;
        let squares: f64 = folds.iter().map(|score| (score - mean).powi(2)).sum();
        Score { l1_ratio, penalty, mean, standard_error: (squares / (k - 1.0) / k).sqrt(), folds }
    }

    /// Weight of `||x||_1`.
    pub fn l1(&self) -> f64 {
        self.l1_ratio * self.penalty
    }

    /// Weight of `||x||^2 / 2`.
    pub fn l2(&self) -> f64 {
        (1.0 - self.l1_ratio) * self.penalty
    }
}

/// A fitted model, and the table of scores by which its penalty was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidated<M> {
    /// The model, fitted on all rows with the chosen penalty.
    pub model: M,
    /// All scores. For every `l1_ratio` the penalties are in falling order.
    pub scores: Vec<Score>,
    /// The index in `scores` of the least mean.
    pub best: usize,
    /// The index in `scores` that [`Choose::OneStandardError`] chooses.
    pub one_standard_error: usize,
    /// The index in `scores` of the penalty that the model was fitted with.
    pub chosen: usize,
}

impl<M> CrossValidated<M> {
    /// Chooses a row of the table, and fits the model with it.
    pub(super) fn new(
        scores: Vec<Score>,
        rule: Choose,
        fit: impl FnOnce(&Score) -> Result<M, Error>,
    ) -> Result<Self, Error> {
        let (best, one_standard_error) = choose(&scores);
        let chosen = if rule == Choose::Best { best } else { one_standard_error };
        let model = fit(&scores[chosen])?;
        Ok(CrossValidated { model, scores, best, one_standard_error, chosen })
    }

    /// The warning that the best penalty is at an end of the grid of its share of the l1 norm. With an l1 norm the model of the
    /// largest penalty of the default grid is empty, which is no reason for a warning.
    pub fn end_of_grid(&self) -> Option<&'static str> {
        let ratio = self.scores.get(self.best)?.l1_ratio;
        let mut grid = (0..self.scores.len()).filter(|&k| self.scores[k].l1_ratio == ratio);
        let count = grid.clone().count();
        end_of_grid(count, grid.position(|k| k == self.best)?, ratio > 0.0)
    }
}

/// The best row and the one-standard-error row; there is at least one row.
fn choose(scores: &[Score]) -> (usize, usize) {
    // Of equal means the first: the largest penalty. A score that is not a number is never the best.
    let mut best = 0;
    for (k, score) in scores.iter().enumerate() {
        if score.mean < scores[best].mean || scores[best].mean.is_nan() {
            best = k;
        }
    }
    let bound = scores[best].mean + scores[best].standard_error;
    let kin = |score: &Score| score.l1_ratio == scores[best].l1_ratio && score.mean <= bound;
    (best, scores.iter().position(kin).unwrap_or(best))
}

/// Prints the table with one line per penalty. A `*` marks the chosen penalty. If the best penalty is at an end of
/// the grid, a last line says so. If penalties have no score, as when the time limit ends the
/// fits, a last line says how many.
impl<M> fmt::Display for CrossValidated<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  l1 ratio     penalty        mean  standard error")?;
        for (k, score) in self.scores.iter().enumerate() {
            let mark = if k == self.chosen { '*' } else { ' ' };
            let (penalty, ratio) = (number(score.penalty, 4), fixed(score.l1_ratio, 3));
            let (mean, error) = (cell(score.mean), cell(score.standard_error));
            writeln!(f, "{mark} {ratio:>8}  {penalty:>10}  {mean:>10}  {error:>14}")?;
        }
        if let Some(warning) = self.end_of_grid() {
            writeln!(f, "{warning}")?;
        }
        let (all, missing) =
            (self.scores.len(), self.scores.iter().filter(|score| score.mean.is_nan()).count());
        if missing > 0 {
            let rest =
                if missing < all { "the choice is among the others" } else { "nothing was chosen" };
            writeln!(
                f,
                "{missing} of {all} penalties have no score (NaN), because the fits were ended before; {rest}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(l1_ratio: f64, penalty: f64, folds: &[f64]) -> Score {
        Score::new(l1_ratio, penalty, folds.to_vec())
    }

    #[test]
    fn mean_and_standard_error() {
        let score = score(1.0, 0.1, &[1.0, 2.0, 3.0, 6.0]);
        assert_eq!(score.mean, 3.0);
        // Variance (4 + 1 + 0 + 9) / 3 over 4 folds.
        assert!((score.standard_error - (14.0f64 / 12.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn a_grid_that_ends_too_early_is_noticed() {
        let table = |means: [f64; 3]| {
            let row = |(k, mean)| score(1.0, 0.5f64.powi(k), &[mean, mean]);
            let scores = (0..).zip(means).map(row).collect();
            CrossValidated::new(scores, Choose::Best, |_| Ok(())).unwrap().to_string()
        };
        assert!(table([3.0, 2.0, 1.0]).contains("the smallest of the grid"));
        assert!(!table([3.0, 1.0, 2.0]).contains("the smallest of the grid"));
    }

    #[test]
    fn a_table_that_was_cut_short_says_so() {
        let table = |means: &[f64]| {
            let row = |(k, &mean): (i32, &f64)| score(1.0, 0.5f64.powi(k), &[mean, mean]);
            let scores = (0..).zip(means).map(row).collect();
            CrossValidated::new(scores, Choose::Best, |_| Ok(())).unwrap().to_string()
        };
        let cut = table(&[3.0, 2.0, f64::NAN]);
        assert!(
            cut.contains("1 of 3 penalties have no score") && cut.contains("the others"),
            "{cut}"
        );
        assert!(!cut.contains("the smallest of the grid"), "{cut}");
        assert!(table(&[f64::NAN, f64::NAN]).contains("2 of 2 penalties have no score"));
        assert!(!table(&[3.0, 2.0, 2.5]).contains("no score"));
    }

    #[test]
    fn the_rule_takes_the_largest_penalty_within_a_standard_error() {
        let table = [
            score(0.5, 4.0, &[2.0, 2.0]),
            score(0.5, 2.0, &[1.5, 1.1]),
            score(1.0, 4.0, &[9.0, 7.0]),
            score(1.0, 2.0, &[1.4, 1.4]),
            score(1.0, 1.0, &[1.5, 1.0]),
            score(1.0, 0.5, &[1.3, 1.3]),
        ];
        // The best is 1.25 with a standard error of 0.25: 1.4 is within, and of the same ratio.
        assert_eq!(choose(&table), (4, 3));
        let broken = [score(1.0, 2.0, &[f64::NAN, 1.0]), score(1.0, 1.0, &[3.0, 3.0])];
        assert_eq!(choose(&broken).0, 1);
    }
}
