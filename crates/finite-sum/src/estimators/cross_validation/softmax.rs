//! Cross-validation of models with one score per class.

use fenchel_erm::parts::{CURVATURE, on_centred, scores};
use fenchel_linalg::Design;
use fenchel_linalg::special::softmax_loss;
use fenchel_metrics::Split;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Refusal, Solution};

use super::folds::{Folds, RIDGE, SPARSE, Whole, cut_short};
use super::scores::{Score, Scoring};
use crate::Error;
use crate::auto::AutoSettings;
use crate::multiclass::{MulticlassPoint, MulticlassProblem, auto};
use crate::path::{Grid, penalties};

/// The problem that is fitted on the folds.
pub(super) struct Plan<'a, 'w, D> {
    pub(super) design: D,
    pub(super) codes: &'a [usize],
    pub(super) classes: usize,
    pub(super) grid: Option<&'a Grid>,
    pub(super) folds: &'a Folds,
    pub(super) intercept: bool,
    pub(super) scoring: Scoring,
    pub(super) whole: &'a Whole<'w>,
    /// Without the stopping rule, which is that of the whole.
    pub(super) settings: AutoSettings,
}

impl<'w, D: Design + Copy> Plan<'_, 'w, D> {
    /// The table. Columns far from 0 are centred for all folds and for the penalties of the grid.
    pub(super) fn scores(&self, l1_ratios: &[f64]) -> Result<Vec<Score>, Error> {
        if self.scoring == Scoring::Auc && self.classes != 2 {
            let what = format!("the AUC of {} classes: it is of two", self.classes);
            return Err(Refusal::unsupported("SoftmaxRegressionCv", what).into());
        }
        let problem = self.pose(self.design, self.codes, self.folds.weights())?;
        let Some(centred) = problem.centred(self.settings.max_memory) else {
            return self.table(l1_ratios);
        };
        on_centred!(centred, design => self.on(design).table(l1_ratios))
    }

    /// The same plan on another storage of the data.
    fn on<E>(&self, design: E) -> Plan<'_, 'w, E> {
        let Plan { codes, classes, grid, folds, intercept, scoring, whole, .. } = *self;
        let settings = self.settings.clone();
        Plan { design, codes, classes, grid, folds, intercept, scoring, whole, settings }
    }

    fn table(&self, l1_ratios: &[f64]) -> Result<Vec<Score>, Error> {
        let problem = self.pose(self.design, self.codes, self.folds.weights())?;
        self.folds.table(
            l1_ratios,
            |l1_ratio| {
                if l1_ratio > 0.0 {
                    let first = problem.largest_correlation() / l1_ratio;
                    return penalties(self.grid.unwrap_or(&SPARSE), first);
                }
                penalties(self.grid.unwrap_or(&RIDGE), CURVATURE * problem.mean_norm_squared())
            },
            |split, l1_ratio, grid| self.fold(split, l1_ratio, grid),
        )
    }

    fn pose<'b, E: Design>(
        &self,
        design: E,
        codes: &'b [usize],
        weights: Option<&[f64]>,
    ) -> Result<MulticlassProblem<'b, E, Zero>, Error> {
        let problem = MulticlassProblem::new(design, codes, self.classes, Zero, 0.0)?;
        let problem = match weights {
            None => problem,
            Some(weights) => problem.with_weights(weights)?,
        };
        if self.intercept { problem.with_intercepts() } else { Ok(problem) }
    }

    /// The scores of one fold, one per penalty.
    fn fold(&self, (train, test): &Split, l1_ratio: f64, grid: &[f64]) -> Result<Vec<f64>, Error> {
        let codes: Vec<usize> = train.iter().map(|&i| self.codes[i]).collect();
        let weights = self.folds.weights_of(train);
        let rows = self.design.subset(train);
        let problem = self.pose(self.design.part(&rows), &codes, weights.as_deref())?;
        self.walk(problem, test, grid, l1_ratio)
    }

    /// Fits along the grid, with a warm start from each solution to the next, and scores on the test rows.
    fn walk<E: Design + Copy>(
        &self,
        problem: MulticlassProblem<'_, E, Zero>,
        test: &[usize],
        grid: &[f64],
        l1_ratio: f64,
    ) -> Result<Vec<f64>, Error> {
        let rows = self.design.subset(test);
        let rows = self.design.part(&rows);
        let mut z = vec![0.0; test.len() * self.classes];
        let mut start: Option<MulticlassPoint> = None;
        let mut result = Vec::with_capacity(grid.len());
        for &penalty in grid.iter().take_while(|_| !self.whole.ended()) {
            let l1 = L1 { strength: l1_ratio * penalty };
            let posed = problem.clone().penalised(l1, (1.0 - l1_ratio) * penalty)?;
            let settings = AutoSettings { stop: self.whole.stop(), ..self.settings.clone() };
            let watch = &mut self.whole.watch();
            let Solution { state, report } = auto(&posed, &settings, start.take(), watch)?;
            if cut_short(&report) {
                break;
            }
            let point = state.point;
            scores(&rows, &point.weights, &point.intercepts, &mut z);
            let rows = z.chunks_exact(self.classes).zip(test).map(|(z, &i)| (z, self.codes[i]));
            result.push(match self.scoring {
                Scoring::LogLoss => {
                    self.folds.mean(test, rows.map(|(z, class)| softmax_loss(z, class)))
                }
                Scoring::Errors => self.folds.mean(test, rows.map(|(z, class)| error(z, class))),
                Scoring::Auc => {
                    let margins = rows.map(|(z, class)| (z[1] - z[0], class as f64));
                    self.folds.misranked(test, margins.collect())?
                }
            });
            start = Some(point);
        }
        Ok(result)
    }
}

/// The error of a row. Among equal scores the first class is predicted, as in `predict`.
fn error(z: &[f64], class: usize) -> f64 {
    let better = |k: usize| z[k] > z[class] || (k < class && z[k] == z[class]);
    if (0..z.len()).any(better) { 1.0 } else { 0.0 }
}
