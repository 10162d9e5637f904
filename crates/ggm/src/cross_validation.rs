//! The penalty of a graphical lasso by cross-validation.

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_metrics::k_fold;
use fenchel_optim::{MAX_MEMORY, Stop};
use ndarray::{Array1, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::glasso::default_stop;
use crate::path::Path;
use crate::select::{default_grid, each, within};
use crate::statistics::dense;
use crate::{Error, GaussianModel, GraphicalLasso, Method, Scale, Statistics, Weights};

/// The [`GraphicalLasso`] with the penalty that predicts held-out samples best.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `penalties` | `None`: 20 from the largest correlation to 1/100 of it | the grid |
/// | `folds` | 5 | parts of the data, each left out once |
/// | `one_standard_error` | false | the largest penalty within one standard error of the best: sparser graphs |
/// | `scale` | correlation | what the penalty refers to |
/// | `method` | QUIC | of every fit |
/// | `stop` | gap 1e-6 | of every fit |
/// | `max_memory` | 4 GiB | bytes that a fit, and a dense copy of the data, may take; `None`: no limit |
/// | `seed` | 0 | of the folds |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphicalLassoCv {
    /// The grid of penalties.
    pub penalties: Option<Vec<f64>>,
    /// Number of folds.
    pub folds: usize,
    /// Whether the largest penalty within a standard error of the best is taken.
    pub one_standard_error: bool,
    /// The scale of the penalty.
    pub scale: Scale,
    /// The solver for each connected component.
    pub method: Method,
    /// The stopping rule of a fit.
    pub stop: Stop,
    /// Bytes that a fit, and a dense copy of the data, may take.
    pub max_memory: Option<u64>,
    /// Seed of the folds.
    pub seed: u64,
}

impl Default for GraphicalLassoCv {
    fn default() -> Self {
        GraphicalLassoCv {
            penalties: None,
            folds: 5,
            one_standard_error: false,
            scale: Scale::Correlation,
            method: Method::Quic,
            stop: default_stop(),
            max_memory: MAX_MEMORY,
            seed: 0,
        }
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
}

impl GraphicalLassoCv {
    /// Chooses the penalty and fits all data with it.
    ///
    /// # Errors
    /// As [`GraphicalLasso::fit`]; [`Error::Invalid`] for fewer than two folds or more folds than rows.
    pub fn fit<X: AsDesign + ?Sized>(&self, x: &X) -> Result<CrossValidated, Error> {
        let statistics = Statistics::from_data_within(x, self.max_memory)?;
        self.choose(dense(x, self.max_memory)?.view(), None, &statistics)
    }

    /// As [`fit`](GraphicalLassoCv::fit), with one weight `>= 0` per row. The weights are used in the fits and in the held-out
    /// likelihood; only their ratios matter.
    ///
    /// # Errors
    /// As `fit`, for weights of the wrong length, negative, or all 0, and for a fold, or all rows outside of one, whose weights are all 0.
    pub fn fit_weighted<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<CrossValidated, Error> {
        let weights = weights.into();
        let statistics = Statistics::weighted_within(x, weights, self.max_memory)?;
        self.choose(dense(x, self.max_memory)?.view(), Some(weights), &statistics)
    }

    fn choose(
        &self,
        x: ArrayView2<f64>,
        weights: Option<ArrayView1<f64>>,
        statistics: &Statistics,
    ) -> Result<CrossValidated, Error> {
        let penalties = match &self.penalties {
            Some(penalties) => penalties.clone(),
            None => default_grid(statistics, self.scale)?,
        };
        let lasso = GraphicalLasso {
            l1: Weights::Uniform(1.0),
            scale: self.scale,
            method: self.method,
            stop: self.stop,
            max_memory: self.max_memory,
        };
        let splits = k_fold(x.nrows(), self.folds, self.seed)?;
        let losses = each(splits.len(), |k| {
            let (train, test) = &splits[k];
            let rows = x.select(Axis(0), train);
            let of = |rows: &[usize]| weights.map(|w| w.select(Axis(0), rows));
            let statistics = match of(train) {
                Some(w) => Statistics::weighted_within(&rows, w.view(), self.max_memory)?,
                None => Statistics::from_data_within(&rows, self.max_memory)?,
            };
            let path = within("the rows outside fold", k, lasso.fit_path(&statistics, &penalties))?;
            held_out(&path, x.select(Axis(0), test).view(), of(test))
        })?;
        let path = lasso.fit_path(statistics, &penalties)?;
        let count = losses.len() as f64;
        let (mut loss, mut standard_error) = (Vec::new(), Vec::new());
        for k in 0..path.points.len() {
            let mean = losses.iter().map(|l| l[k]).sum::<f64>() / count;
            let square = losses.iter().map(|l| (l[k] - mean).powi(2)).sum::<f64>();
            loss.push(mean);
            standard_error.push((square / (count - 1.0) / count).sqrt());
        }
        let best = (0..loss.len()).min_by(|&a, &b| loss[a].total_cmp(&loss[b])).unwrap_or(0);
        let chosen = if self.one_standard_error {
            let limit = loss[best] + standard_error[best];
            loss.iter().position(|&l| l <= limit).unwrap_or(best)
        } else {
            best
        };
        let point = &path.points[chosen];
        Ok(CrossValidated {
            model: point.model(&path.mean)?,
            l1: point.l1,
            penalties: path.points.iter().map(|point| point.l1).collect(),
            loss,
            standard_error,
        })
    }
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
    let loss = |point: &crate::PathPoint| {
        let precision = &point.precision;
        let mut sum = 0.0;
        for (row, weight) in centred.rows().into_iter().zip(&weights) {
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
