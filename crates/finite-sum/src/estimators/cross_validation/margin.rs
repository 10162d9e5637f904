//! Folds of models with one margin.

use fenchel_erm::parts::{Warm, on_centred};
use fenchel_linalg::{Design, row_norms_squared};
use fenchel_metrics::Split;
use fenchel_optim::Loss;
use fenchel_optim::prox::Zero;
use ndarray::ArrayView1;

use super::folds::{Folds, KINKED, RIDGE, SPARSE, Whole, cut_short};
use super::scores::Score;
use crate::estimators::solve::{Fitted, Penalised};
use crate::path::{Grid, PathSettings, penalties, sweep};
use crate::{Error, Point, Problem};

/// The score of the rows of a fold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Judge {
    /// The mean of a number of each row's margin and target.
    Rows(fn(f64, f64) -> f64),
    /// The share of pairs in the wrong order: [`Folds::misranked`].
    Ranks,
}

/// The problem that is fitted on the folds.
pub(super) struct Plan<'a, 'w, D, L> {
    pub(super) design: D,
    pub(super) targets: &'a [f64],
    pub(super) loss: L,
    pub(super) grid: Option<&'a Grid>,
    pub(super) folds: &'a Folds,
    pub(super) whole: &'a Whole<'w>,
    /// Intercept and seed count.
    pub(super) settings: PathSettings,
}

impl<'w, D: Design + Copy, L: Loss + Copy> Plan<'_, 'w, D, L> {
    /// The table. Columns far from 0 are centred for all folds and for the penalties of the grid.
    pub(super) fn scores(&self, l1_ratios: &[f64], by: Judge) -> Result<Vec<Score>, Error> {
        let problem = self.pose(self.design, self.targets, self.folds.weights())?;
        let Some(centred) = problem.centred(self.settings.max_memory) else {
            return self.table(l1_ratios, by);
        };
        on_centred!(centred, design => self.on(design).table(l1_ratios, by))
    }

    /// The same plan on another storage of the data.
    fn on<E>(&self, design: E) -> Plan<'_, 'w, E, L> {
        let Plan { targets, loss, grid, folds, whole, .. } = *self;
        Plan { design, targets, loss, grid, folds, whole, settings: self.settings.clone() }
    }

    fn table(&self, l1_ratios: &[f64], by: Judge) -> Result<Vec<Score>, Error> {
        let problem = self.pose(self.design, self.targets, self.folds.weights())?;
        self.folds.table(
            l1_ratios,
            |l1_ratio| self.penalties(&problem, l1_ratio),
            |split, l1_ratio, grid| self.fold(split, l1_ratio, grid, by),
        )
    }

    fn pose<'b, E: Design>(
        &self,
        design: E,
        targets: &'b [f64],
        weights: Option<&[f64]>,
    ) -> Result<Problem<'b, E, L, Zero>, Error> {
        let problem = Problem::new(design, targets, self.loss, Zero, 0.0)?;
        let problem = if self.settings.intercept { problem.with_intercept() } else { problem };
        match weights {
            None => Ok(problem),
            Some(weights) => problem.with_weights(weights),
        }
    }

    /// One grid for all folds, so that their scores can be compared.
    fn penalties(
        &self,
        problem: &Problem<'_, D, L, Zero>,
        l1_ratio: f64,
    ) -> Result<Vec<f64>, Error> {
        if l1_ratio > 0.0 {
            let origin = Warm::origin(problem, self.settings.max_memory)?;
            let first = origin.largest_correlation() / l1_ratio;
            return penalties(self.grid.unwrap_or(&SPARSE), first);
        }
        // The curvature of the mean loss is at most this: there the weights are half of what they could be.
        let smooth = self.loss.curvature().is_finite();
        let (curvature, grid) = if smooth { (self.loss.curvature(), RIDGE) } else { (1.0, KINKED) };
        let first = curvature * problem.mean_norm_squared();
        penalties(self.grid.unwrap_or(&grid), first)
    }

    /// The scores of one fold, one per penalty.
    fn fold(
        &self,
        (train, test): &Split,
        l1_ratio: f64,
        grid: &[f64],
        by: Judge,
    ) -> Result<Vec<f64>, Error> {
        let targets: Vec<f64> = train.iter().map(|&i| self.targets[i]).collect();
        let weights = self.folds.weights_of(train);
        let rows = self.design.subset(train);
        let points =
            self.points(self.design.part(&rows), &targets, weights.as_deref(), l1_ratio, grid)?;
        let of = |point: &Point| {
            let margin = |&i: &usize| self.design.row_dot(i, &point.weights) + point.intercept;
            let rows = test.iter().map(|i| (margin(i), self.targets[*i]));
            match by {
                Judge::Rows(score) => Ok(self.folds.mean(test, rows.map(|(t, y)| score(t, y)))),
                Judge::Ranks => self.folds.misranked(test, rows.collect()),
            }
        };
        points.iter().map(of).collect()
    }

    fn points(
        &self,
        design: D::Part<'_>,
        targets: &[f64],
        weights: Option<&[f64]>,
        l1_ratio: f64,
        grid: &[f64],
    ) -> Result<Vec<Point>, Error> {
        let PathSettings { intercept, seed, .. } = self.settings;
        if l1_ratio > 0.0 {
            let d = design.columns();
            let stop = self.whole.stop();
            let settings = PathSettings { l1_ratio, stop, ..self.settings.clone() };
            let problem = self.pose(design, targets, weights)?;
            let points = sweep(&problem, &settings, grid, &mut self.whole.watch())?;
            return Ok(points.iter().map(|point| point.dense(d)).collect());
        }
        let norms_squared = row_norms_squared(&design);
        let mut points = Vec::with_capacity(grid.len());
        for &l2 in grid.iter().take_while(|_| !self.whole.ended()) {
            let stop = self.whole.stop();
            let loss = self.loss;
            let ridge = Penalised { loss, regulariser: Zero, l2, intercept, stop, seed };
            let weights = weights.map(ArrayView1::from);
            let design = (design, norms_squared.clone());
            let Fitted { weights, intercept, report, .. } =
                ridge.solve(design, targets, weights, None, &mut self.whole.watch())?;
            if cut_short(&report) {
                break;
            }
            points.push(Point { weights: weights.to_vec(), intercept });
        }
        Ok(points)
    }
}
