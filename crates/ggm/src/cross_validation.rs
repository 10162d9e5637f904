//! The penalty of a graphical lasso by cross-validation.

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_metrics::{Split, k_fold};
use fenchel_optim::{Budget, Fit, MAX_MEMORY, SharedWatch, Stop, settings};
use ndarray::{Array1, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::data::AsStatistics;
use crate::error::Error;
use crate::estimator::GraphicalLasso;
use crate::glasso::{Method, default_stop};
use crate::model::GaussianModel;
use crate::path::Path;
use crate::penalty::PenaltyWeights;
use crate::select::{default_grid, each, within};
use crate::statistics::{Scale, dense};

settings! {
    /// The [`GraphicalLasso`] with the penalty that predicts held-out samples best.
    pub struct GraphicalLassoCv {
        /// The grid of penalties; `None` for `count` of them, from the least one without edges down to a hundredth of it.
        penalties: Option<Vec<f64>> = None,
        /// The number of penalties of a grid that is not given.
        count: usize = 20,
        /// Parts of the data, each left out once.
        folds: usize = 5,
        /// The training rows and the test rows of each fold, in place of `folds`.
        splits: Option<Vec<Split>> = None,
        /// Whether the largest penalty within a standard error of the best is taken.
        one_standard_error: bool = false,
        /// The scale of the penalty.
        scale: Scale = Scale::Correlation,
        /// The solver for each connected component.
        method: Method = Method::Quic,
        /// The stopping rule of a fit.
        /// By default gap 1e-6.
        stop: Stop = default_stop(),
        /// Bytes that a fit, and a dense copy of the data, may take; `None`: no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the folds.
        seed: u64 = 0,
    }
}

/// The result of cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidated {
    /// The model of all data at the chosen penalty.
    pub model: GaussianModel,
    /// The chosen penalty.
    pub l1: f64,
    /// Penalties, falling.
    pub penalties: Vec<f64>,
    /// `<C_test, Theta> - log det Theta`, the mean over folds, one number per penalty.
    pub loss: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
    /// The loss of each fold, a list of them per penalty; empty if a file does not contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<Vec<f64>>,
}

impl GraphicalLassoCv {
    /// Chooses the penalty and fits all data with it.
    ///
    /// # Errors
    /// As [`GraphicalLasso::fit`]; [`Error::Metrics`] for fewer than two folds or more folds than rows; [`Error::Invalid`] for
    /// fewer than two splits, one without training or test rows, or a row that is not there.
    pub fn fit<X: AsDesign + ?Sized>(&self, x: &X) -> Result<CrossValidated, Error> {
        self.fit_with(x, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, of which only the ratios matter, in the fits and in the held-out
    /// likelihood, a former result from whose model the fits of all data start, and a closure that watches all fits. `Break`
    /// ends all fits, and so does the time limit; penalties that were not reached have the loss NaN.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), for weights of the wrong length, negative, or all 0, for a fold, or all rows outside of one, whose
    /// weights are all 0, and for a start of another order.
    pub fn fit_with<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        fit: Fit<'_, CrossValidated>,
    ) -> Result<CrossValidated, Error> {
        let Fit { weights, start, watch, .. } = fit;
        let (watch, budget) = (SharedWatch::from(watch), Budget::new(self.stop));
        let statistics = x.statistics(weights, self.max_memory)?;
        let x = dense(x, self.max_memory)?;
        let penalties = match &self.penalties {
            Some(penalties) => penalties.clone(),
            None => default_grid(&statistics, self.scale, self.count)?,
        };
        let lasso = || GraphicalLasso {
            l1: PenaltyWeights::Uniform(1.0),
            scale: self.scale,
            method: self.method,
            stop: budget.left(),
            max_memory: self.max_memory,
        };
        let splits = match &self.splits {
            None => k_fold(x.nrows(), self.folds, self.seed)?,
            Some(splits) => {
                check_splits(x.nrows(), splits)?;
                splits.clone()
            }
        };
        let losses = each(splits.len(), |k| {
            let (train, test) = &splits[k];
            let rows = x.select(Axis(0), train);
            let of = |rows: &[usize]| weights.map(|w| w.select(Axis(0), rows));
            let own = of(train);
            let weights = own.as_ref().map(|w| w.view());
            let fit = Fit { weights, watch: watch.each(), ..Fit::new() };
            let path =
                within("the rows outside fold", k, lasso().fit_path_with(&rows, &penalties, fit))?;
            held_out(&path, x.select(Axis(0), test).view(), of(test))
        })?;
        let start = start.map(|start| &start.model);
        let fit = Fit { start, watch: watch.each(), ..Fit::new() };
        let path = lasso().fit_path_with(&*statistics, &penalties, fit)?;
        let count = losses.len() as f64;
        let (mut loss, mut standard_error, mut folds) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..path.points.len() {
            let each = losses.iter().map(|l| l.get(k).copied().unwrap_or(f64::NAN));
            let each: Vec<f64> = each.collect();
            let mean = each.iter().sum::<f64>() / count;
            let square = each.iter().map(|l| (l - mean).powi(2)).sum::<f64>();
            loss.push(mean);
            standard_error.push((square / (count - 1.0) / count).sqrt());
            folds.push(each);
        }
        // A NaN of either sign is no least loss.
        let size = |k: usize| if loss[k].is_nan() { f64::INFINITY } else { loss[k] };
        let best = (0..loss.len()).min_by(|&a, &b| size(a).total_cmp(&size(b))).unwrap_or(0);
        let chosen = if self.one_standard_error {
            let limit = loss[best] + standard_error[best];
            loss.iter().position(|&l| l <= limit).unwrap_or(best)
        } else {
            best
        };
        let point = &path.points[chosen];
        Ok(CrossValidated {
            model: point.model(&path)?,
            l1: point.l1,
            penalties: path.points.iter().map(|point| point.l1).collect(),
            loss,
            standard_error,
            folds,
        })
    }
}

/// Whether splits that were given can be used.
fn check_splits(rows: usize, splits: &[Split]) -> Result<(), Invalid> {
    let invalid = |reason| Invalid::Layout { what: "splits", reason };
    if splits.len() < 2 {
        return Err(invalid(format!("{} of them; expected at least 2", splits.len())));
    }
    for (fold, (train, test)) in splits.iter().enumerate() {
        if train.is_empty() || test.is_empty() {
            return Err(invalid(format!("split {fold} has no training rows or no test rows")));
        }
        if let Some(row) = train.iter().chain(test).find(|row| **row >= rows) {
            return Err(invalid(format!("split {fold} has row {row}; expected less than {rows}")));
        }
    }
    Ok(())
}

/// `<C, Theta> - log det Theta` of every point, with the test samples centred by the training means.
fn held_out(
    path: &Path,
    test: ArrayView2<f64>,
    weights: Option<Array1<f64>>,
) -> Result<Vec<f64>, Error> {
    let weights = weights.unwrap_or_else(|| Array1::ones(test.nrows()));
    let total = weights.sum();
    Invalid::check_positive("sum of the weights of a fold", total)?;
    let centred = &test - &ArrayView1::from(&path.mean);
    let loss = |point: &crate::path::PathPoint| {
        let precision = &point.precision;
        let mut sum = 0.0;
        for (row, weight) in centred.outer_iter().zip(&weights) {
            let mut form = 0.0;
            for (x, t) in row.iter().zip(&precision.diagonal) {
                form += t * x * x;
            }
            for &(i, j, t) in &precision.edges {
                form += 2.0 * t * row[i as usize] * row[j as usize];
            }
            sum += weight * form;
        }
        sum / total - point.log_det
    };
    Ok(path.points.iter().map(loss).collect())
}
