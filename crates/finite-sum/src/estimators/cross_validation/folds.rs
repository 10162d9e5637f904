//! Fitting and scoring on folds.

use fenchel_linalg::{Design, Invalid, Subset};
use fenchel_metrics::Split;
use fenchel_optim::Loss;
use fenchel_optim::prox::Zero;
#[cfg(feature = "parallel")]
use rayon::prelude::*;

use super::scores::Score;
use crate::estimators::solve::{Fitted, Hyper, unwatched};
use crate::newton::Warm;
use crate::path::{Grid, PathSettings, penalties, sweep};
use crate::{Error, Point, Problem};

/// Penalties of a path with an l1 norm, unless others are asked for: as in glmnet.
const SPARSE: Grid = Grid::Log { count: 100, smallest: 1e-3 };
/// Of a ridge penalty, whose solutions are not warm-started and change slowly.
const RIDGE: Grid = Grid::Log { count: 25, smallest: 1e-6 };

/// What all the estimators of this module have in common.
pub(super) struct Plan<'a, D, L> {
    pub(super) design: D,
    pub(super) targets: &'a [f64],
    pub(super) loss: L,
    pub(super) l1_ratios: &'a [f64],
    pub(super) grid: Option<&'a Grid>,
    pub(super) splits: Vec<Split>,
    /// Intercept, stop and seed count.
    pub(super) settings: PathSettings,
}

impl<D: Design + Copy, L: Loss + Copy> Plan<'_, D, L> {
    /// The table: for every `l1_ratio` its penalties, falling.
    pub(super) fn scores(
        &self,
        score: impl Fn(&[f64], &[f64]) -> f64 + Sync,
    ) -> Result<Vec<Score>, Error> {
        if self.l1_ratios.is_empty() {
            return Err(Invalid::Empty { what: "l1_ratios" }.into());
        }
        let problem = self.pose(self.design, self.targets)?;
        let mut table = vec![];
        for &l1_ratio in self.l1_ratios {
            if !(0.0..=1.0).contains(&l1_ratio) {
                let expected = "from 0 to 1";
                return Err(
                    Invalid::Parameter { name: "l1_ratio", value: l1_ratio, expected }.into()
                );
            }
            let grid = self.penalties(&problem, l1_ratio)?;
            let fold = |split: &Split| self.fold(split, l1_ratio, &grid, &score);
            #[cfg(feature = "parallel")]
            let folds: Vec<_> = self.splits.par_iter().map(fold).collect::<Result<_, _>>()?;
            #[cfg(not(feature = "parallel"))]
            let folds: Vec<_> = self.splits.iter().map(fold).collect::<Result<_, _>>()?;
            table.extend(grid.iter().enumerate().map(|(k, &penalty)| {
                let folds = folds.iter().map(|scores: &Vec<f64>| scores[k]);
                Score::new(l1_ratio, penalty, folds.collect())
            }));
        }
        Ok(table)
    }

    fn pose<'b, E: Design>(
        &self,
        design: E,
        targets: &'b [f64],
    ) -> Result<Problem<'b, E, L, Zero>, Error> {
        let problem = Problem::new(design, targets, self.loss, Zero, 0.0)?;
        Ok(if self.settings.intercept { problem.with_intercept() } else { problem })
    }

    /// One grid for all folds, so that their scores can be compared.
    fn penalties(
        &self,
        problem: &Problem<'_, D, L, Zero>,
        l1_ratio: f64,
    ) -> Result<Vec<f64>, Error> {
        if l1_ratio > 0.0 {
            let origin = Warm::origin(problem, self.settings.memory_limit)?;
            let first = origin.largest_correlation() / l1_ratio;
            return penalties(self.grid.unwrap_or(&SPARSE), first);
        }
        // The curvature of the mean loss is at most this: there the weights are half of what they could be.
        let first = self.loss.curvature() * problem.mean_norm_squared();
        penalties(self.grid.unwrap_or(&RIDGE), first)
    }

    /// The scores of one fold, one a penalty.
    fn fold(
        &self,
        (train, test): &Split,
        l1_ratio: f64,
        grid: &[f64],
        score: &impl Fn(&[f64], &[f64]) -> f64,
    ) -> Result<Vec<f64>, Error> {
        let pick = |rows: &[usize]| rows.iter().map(|&i| self.targets[i]).collect::<Vec<f64>>();
        let (targets, truth) = (pick(train), pick(test));
        let rows = Subset::new(self.design, train);
        let points = self.points(rows, &targets, l1_ratio, grid)?;
        let mut margins = vec![0.0; test.len()];
        let of = |point: &Point| {
            for (t, &i) in margins.iter_mut().zip(test) {
                *t = self.design.row_dot(i, &point.weights) + point.intercept;
            }
            score(&margins, &truth)
        };
        Ok(points.iter().map(of).collect())
    }

    fn points(
        &self,
        design: Subset<'_, D>,
        targets: &[f64],
        l1_ratio: f64,
        grid: &[f64],
    ) -> Result<Vec<Point>, Error> {
        let PathSettings { intercept, stop, seed, .. } = self.settings;
        if l1_ratio > 0.0 {
            let d = design.columns();
            let settings = PathSettings { l1_ratio, ..self.settings.clone() };
            let points = sweep(&self.pose(design, targets)?, &settings, grid)?;
            return Ok(points.iter().map(|point| point.dense(d)).collect());
        }
        let ridge = |&l2: &f64| {
            let hyper = Hyper { loss: self.loss, l1: 0.0, l2, intercept, stop, seed };
            let Fitted { weights, intercept, .. } =
                hyper.fit(design, targets, None, &mut unwatched())?;
            Ok(Point { weights: weights.to_vec(), intercept })
        };
        grid.iter().map(ridge).collect()
    }
}

/// Folds that do not fit are a bad argument of ours.
pub(super) fn splits(
    splits: Result<Vec<Split>, fenchel_metrics::Error>,
    folds: usize,
) -> Result<Vec<Split>, Error> {
    splits.map_err(|_| {
        let expected = "at least 2 and at most the number of rows";
        Invalid::Parameter { name: "folds", value: folds as f64, expected }.into()
    })
}
