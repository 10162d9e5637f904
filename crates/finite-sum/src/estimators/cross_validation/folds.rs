//! The folds of cross-validation, and the table of their scores.

use fenchel_erm::parts::term_scales;
use fenchel_linalg::{Invalid, parallel};
use fenchel_metrics::Split;
use fenchel_optim::{Budget, Report, SharedWatch, Status, Stop, Watch};
use ndarray::ArrayView1;

use super::scores::{CrossValidated, Score};
use crate::Error;
use crate::path::Grid;

/// The default grid for penalties with an l1 norm, as in glmnet.
pub(super) const SPARSE: Grid = Grid::Log { count: 100, smallest: 1e-3 };
/// The default grid for ridge penalties, whose solutions change slowly.
pub(super) const RIDGE: Grid = Grid::Log { count: 25, smallest: 1e-6 };
/// The default grid for ridge penalties under a loss that is not differentiable. Dual ascent is slow for small
/// penalties, and their scores hardly differ.
pub(super) const KINKED: Grid = Grid::Log { count: 15, smallest: 1e-4 };

/// What holds for all fits together: the time limit and the closure that watches.
pub(super) struct Whole<'w> {
    stop: Stop,
    budget: Budget,
    watch: SharedWatch<'w>,
}

impl<'w> Whole<'w> {
    pub(super) fn new(stop: Stop, watch: Watch<'w>) -> Self {
        Whole { stop, budget: Budget::new(stop), watch: watch.into() }
    }

    /// The stopping rule of the next fit. Passes are counted for each fit, seconds for all.
    pub(super) fn stop(&self) -> Stop {
        Stop { max_seconds: self.budget.left().max_seconds, ..self.stop }
    }

    /// Whether there is no next fit on a fold: the time is over, or the closure has said `Break`.
    pub(super) fn ended(&self) -> bool {
        self.budget.left().max_seconds == Some(0.0) || self.watch.stopped()
    }

    /// The result, whose report says that the fits on the folds were ended before all penalties had a score. The last fit may
    /// well have converged, but its penalty was not chosen among all.
    pub(super) fn judged<M>(
        &self,
        mut result: CrossValidated<M>,
        report: fn(&mut M) -> &mut Report,
    ) -> CrossValidated<M> {
        if self.ended() && result.scores.iter().any(|score| score.mean.is_nan()) {
            let by_closure = self.watch.stopped();
            report(&mut result.model).status =
                if by_closure { Status::Stopped } else { Status::TimeLimit };
        }
        result
    }

    /// The watch of the next fit.
    pub(super) fn watch(&self) -> Watch<'_> {
        self.watch.each()
    }
}

/// Whether the time limit or the closure ended a fit, so that its score would say nothing of its penalty.
pub(super) fn cut_short(report: &Report) -> bool {
    matches!(report.status, Status::TimeLimit | Status::Stopped)
}

/// The folds, and the weights of the rows if they have any.
pub(super) struct Folds {
    splits: Vec<Split>,
    weights: Option<Vec<f64>>,
}

impl Folds {
    /// Divides the rows with positive weight into `count` folds. `cut` receives the indices of these rows. It returns
    /// positions in this list. If splits are `given`, they are taken, without rows of weight 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights out of range, if `count` is not between 2 and the number of rows with
    /// positive weight, or for given splits as [`Folds::given`].
    pub(super) fn new(
        rows: usize,
        weights: Option<ArrayView1<f64>>,
        (count, given): (usize, Option<&[Split]>),
        cut: impl FnOnce(&[usize]) -> Result<Vec<Split>, fenchel_metrics::Error>,
    ) -> Result<Self, Error> {
        let weights = weights.map(|weights| weights.to_vec());
        let mut present: Vec<usize> = (0..rows).collect();
        if let Some(weights) = &weights {
            term_scales(weights, rows)?;
            present.retain(|&row| weights[row] > 0.0);
        }
        if let Some(given) = given {
            let splits = Folds::given(rows, weights.as_deref(), given)?;
            return Ok(Folds { splits, weights });
        }
        let mut splits = cut(&present).map_err(|_| {
            let of = if weights.is_some() { "rows of positive weight" } else { "rows" };
            let found = present.len();
            let reason =
                format!("{count} of {found} {of}; expected at least 2, and no more than rows");
            Invalid::Layout { what: "folds", reason }
        })?;
        let parts = splits.iter_mut().flat_map(|(train, test)| [train, test]);
        parts.flatten().for_each(|place| *place = present[*place]);
        Ok(Folds { splits, weights })
    }

    /// The given splits without rows of weight 0.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for fewer than two splits, a row that is not there, a test row that is a training row too, or a side
    /// without rows of positive weight.
    fn given(rows: usize, weights: Option<&[f64]>, given: &[Split]) -> Result<Vec<Split>, Invalid> {
        let invalid = |reason| Invalid::Layout { what: "splits", reason };
        if given.len() < 2 {
            return Err(invalid(format!("{} of them; expected at least 2", given.len())));
        }
        let side = |fold: usize, side: &str, places: &[usize]| {
            if let Some(row) = places.iter().find(|row| **row >= rows) {
                return Err(invalid(format!(
                    "split {fold} has row {row}; expected less than {rows}"
                )));
            }
            let counts = |row: &usize| weights.is_none_or(|weights| weights[*row] > 0.0);
            let kept: Vec<usize> = places.iter().copied().filter(counts).collect();
            if kept.is_empty() {
                let reason = format!("split {fold} has no {side} row of positive weight");
                return Err(invalid(reason));
            }
            Ok(kept)
        };
        let split = |(fold, (train, test)): (usize, &Split)| {
            let (train, test) = (side(fold, "training", train)?, side(fold, "test", test)?);
            let mut trained = vec![false; rows];
            train.iter().for_each(|&row| trained[row] = true);
            match test.iter().find(|row| trained[**row]) {
                Some(row) => Err(invalid(format!(
                    "split {fold} has row {row} on both sides; expected test rows apart from the training rows"
                ))),
                None => Ok((train, test)),
            }
        };
        given.iter().enumerate().map(split).collect()
    }

    /// The weights of all rows.
    pub(super) fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The weights of some rows.
    pub(super) fn weights_of(&self, rows: &[usize]) -> Option<Vec<f64>> {
        self.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect())
    }

    /// The weighted mean of the scores of the rows, one score per row.
    pub(super) fn mean(&self, rows: &[usize], scores: impl Iterator<Item = f64>) -> f64 {
        let Some(weights) = &self.weights else { return scores.sum::<f64>() / rows.len() as f64 };
        let total: f64 = rows.iter().map(|&row| weights[row]).sum();
        rows.iter().zip(scores).map(|(&row, score)| weights[row] / total * score).sum()
    }

    /// The share of misranked pairs, which is 1 minus the AUC. A pair consists of a row with a target above 0 and a
    /// row with another target. It is misranked if its scores are in the wrong order, and a pair of equal scores
    /// counts half. The weight of a pair is the product of its two row weights. `rows` contains pairs of score and
    /// target.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no pair.
    pub(super) fn misranked(&self, places: &[usize], rows: Vec<(f64, f64)>) -> Result<f64, Error> {
        let weight = |place: usize| self.weights.as_ref().map_or(1.0, |weights| weights[place]);
        let mut rows: Vec<(f64, bool, f64)> = (rows.into_iter().zip(places))
            .map(|((score, y), &place)| (score, y > 0.0, weight(place)))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        if rows.iter().any(|row| row.0.is_nan()) {
            return Ok(f64::NAN);
        }
        let (mut positive, mut negative, mut wrong) = (0.0, 0.0, 0.0);
        for tied in rows.chunk_by(|a, b| a.0 == b.0) {
            let of = |sign: bool| tied.iter().filter(|r| r.1 == sign).map(|r| r.2).sum::<f64>();
            let (up, down) = (of(true), of(false));
            wrong += down * (positive + 0.5 * up);
            positive += up;
            negative += down;
        }
        if positive > 0.0 && negative > 0.0 {
            return Ok(wrong / (positive * negative));
        }
        let reason = "a fold has rows of one class only, which have no order; use fewer folds";
        Err(Invalid::Layout { what: "labels", reason: reason.into() }.into())
    }

    /// The table of scores. For every share of the l1 norm it contains the penalties in falling order, each with the
    /// scores of all folds. `fold` fits along a grid on the training rows of a split, and scores on the test rows. A penalty
    /// that it did not reach has no score: NaN.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are no shares or a share is out of range. Errors of `grid` and `fold` are passed
    /// on.
    pub(super) fn table(
        &self,
        l1_ratios: &[f64],
        grid: impl Fn(f64) -> Result<Vec<f64>, Error>,
        fold: impl Fn(&Split, f64, &[f64]) -> Result<Vec<f64>, Error> + Sync,
    ) -> Result<Vec<Score>, Error> {
        if l1_ratios.is_empty() {
            return Err(Invalid::Empty { what: "l1_ratios" }.into());
        }
        let mut table = vec![];
        for &l1_ratio in l1_ratios {
            if !(0.0..=1.0).contains(&l1_ratio) {
                let (name, expected) = ("l1_ratio", "from 0 to 1");
                return Err(Invalid::Parameter { name, value: l1_ratio, expected }.into());
            }
            let grid = grid(l1_ratio)?;
            let fold = |split: &Split| fold(split, l1_ratio, &grid);
            let folds = parallel::try_map(&self.splits, fold)?;
            table.extend(grid.iter().enumerate().map(|(k, &penalty)| {
                let folds =
                    folds.iter().map(|scores: &Vec<f64>| *scores.get(k).unwrap_or(&f64::NAN));
                Score::new(l1_ratio, penalty, folds.collect())
            }));
        }
        Ok(table)
    }
}
