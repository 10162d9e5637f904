//! Regression of counts.

use std::fmt;

use fenchel_linalg::special::xlogx;
use fenchel_linalg::{AsDesign, Invalid, Names, Standardiser};
use fenchel_optim::model::Saved;
use fenchel_optim::prox::L1;
use fenchel_optim::settings;
use fenchel_optim::{Fit, Loss, Report, Status, Stop};
use ndarray::{Array1, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::predictor::{margin_model, scores};
use super::solve::{Fitted, Penalised};
use crate::auto::Choice;
use crate::loss::Poisson;
use crate::{Error, Point};

settings! {
    /// Poisson regression with log link and l2 and l1 penalties:
    ///
    /// ```math
    /// \min_{x, b} \; \frac{1}{n} \sum_{i=1}^n \big( \exp(a_i \cdot x + b) - y_i (a_i \cdot x + b) \big) + \frac{l_2}{2} \|x\|^2 + l_1 \|x\|_1
    /// ```
    ///
    /// The targets are counts or rates, `>= 0`. If counts have exposures `e_i` (years, kilometres), fit the rates
    /// `y_i / e_i` with the weights `e_i`. If all counts are 0, the intercept decreases without
    /// bound, and the report says [`NoMinimiser`](Status::NoMinimiser).
    ///
    /// ```
    /// use fenchel_finite_sum::PoissonRegressor;
    /// use ndarray::array;
    ///
    /// // The counts double with every unit of x.
    /// let x = array![[0.0], [1.0], [2.0], [3.0]];
    /// let model = PoissonRegressor { l2: 0.0, ..Default::default() }.fit(&x, &[1.0, 2.0, 4.0, 8.0])?;
    /// assert!((model.predict(&array![[4.0]])?[0] - 16.0).abs() < 0.5);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    pub struct PoissonRegressor {
        /// Weight of `||x||^2 / 2`; scikit-learn's `alpha`.
        l2: f64 = 1.0,
        /// Weight of `||x||_1`.
        l1: f64 = 0.0,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

impl PoissonRegressor {
    /// Fits a model to an `n x d` design and `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, a negative target, or a negative penalty.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<PoissonModel, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches. Only the
    /// proportions of the weights matter; the mean loss becomes the weighted mean.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, or not one a row, and for a
    /// start of other features.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        fit: Fit<'_, PoissonModel>,
    ) -> Result<PoissonModel, Error> {
        let (y, Fit { weights, start, mut watch, .. }) = (y.into(), fit);
        let PoissonRegressor { l1, l2, intercept, mut stop, seed } = *self;
        let counts = |i: usize| weights.is_none_or(|w| w.get(i).is_none_or(|w| *w > 0.0));
        let unbounded = intercept && !y.iter().enumerate().any(|(i, y)| *y != 0.0 && counts(i));
        if unbounded {
            // Where it ends says nothing.
            stop.max_passes = stop.max_passes.min(FEW);
        }
        let regulariser = L1 { strength: l1 };
        let penalised = Penalised { loss: Poisson, regulariser, l2, intercept, stop, seed };
        let start = start.map(|start| start.point());
        let fitted = penalised.regress(x, y, weights, start, &mut watch)?;
        let mut model = PoissonModel::new(fitted, x.names());
        if unbounded {
            model.report.status = Status::NoMinimiser;
        }
        Ok(model)
    }
}

/// The limit of passes for a fit that has no minimiser.
const FEW: f64 = 20.0;

margin_model!(
    /// A fitted Poisson regression. A weight is the logarithm of the factor by which the mean changes if the feature increases
    /// by 1.
    PoissonModel,
    "predictor",
    "Poisson regression"
);

impl PoissonModel {
    /// The predicted mean, one per row.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows are not finite or do not have the length of the weights.
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        Ok(scores(x, &self.names, &self.weights, self.intercept)?.mapv_into(f64::exp))
    }

    /// `D^2`, the share of the deviance that is explained. It is 1 for perfect predictions, and 0 if the predictions
    /// are as good as the mean of the counts.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is not one count per row, if counts are negative, not finite or all equal, or if
    /// rows are not finite or do not have the length of the weights.
    pub fn score<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<f64, Error> {
        let (logs, y) = (scores(x, &self.names, &self.weights, self.intercept)?, y.into());
        Invalid::check_length("targets", logs.len(), y.len())?;
        y.iter().enumerate().try_for_each(|(row, &y)| Poisson.check_target(row, y))?;
        let mean = y.mean().ok_or(Invalid::Empty { what: "targets" })?;
        // Half the deviance of one row from the logarithm of a mean.
        let deviance = |y: f64, log: f64| xlogx(y) - y + Poisson.value(log, y);
        let found: f64 = y.iter().zip(&logs).map(|(&y, &log)| deviance(y, log)).sum();
        if y.iter().all(|&other| other == y[0]) {
            let reason = "all are equal: there is no deviance to explain".to_owned();
            return Err(Invalid::Layout { what: "targets", reason }.into());
        }
        let of_mean: f64 = y.iter().map(|&y| deviance(y, mean.ln())).sum();
        Ok(1.0 - found / of_mean)
    }
}
