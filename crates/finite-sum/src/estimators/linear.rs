//! Least squares with l1 and l2 penalties.

use std::fmt;

use fenchel_linalg::{AsDesign, Invalid, Names, Standardiser};
use fenchel_optim::model::Saved;
use fenchel_optim::prox::L1;
use fenchel_optim::settings;
use fenchel_optim::{Fit, Report, Stop};
use ndarray::{Array1, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::predictor::{margin_model, scores};
use super::solve::{Fitted, Penalised};
use crate::auto::Choice;
use crate::loss::Squared;
use crate::{Error, Point};

/// `fit` and `fit_with` of an [`ElasticNet`] in other words, which `posed` gives for the number of rows.
macro_rules! as_elastic_net {
    ($name:ident) => {
        impl $name {
            /// Fits a model to an `n x d` design and `n` targets.
            ///
            /// # Errors
            /// As [`ElasticNet::fit`].
            pub fn fit<'a, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, f64>>,
            ) -> Result<LinearModel, Error> {
                self.fit_with(x, y, Fit::new())
            }

            /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches. Only the
            /// proportions of the weights matter; the mean loss becomes the weighted mean.
            ///
            /// # Errors
            /// As [`ElasticNet::fit_with`].
            pub fn fit_with<'a, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, f64>>,
                fit: Fit<'_, LinearModel>,
            ) -> Result<LinearModel, Error> {
                let y = y.into();
                self.posed(y.len()).fit_with(x, y, fit)
            }
        }
    };
}

settings! {
    /// Least squares with a ridge penalty:
    ///
    /// ```math
    /// \min_{x, b} \; \frac{1}{2n} \sum_{i=1}^n (a_i \cdot x + b - y_i)^2 + \frac{l_2}{2} \|x\|^2
    /// ```
    ///
    /// ```
    /// use fenchel_finite_sum::Ridge;
    /// use ndarray::array;
    ///
    /// let x = array![[1.0], [2.0], [3.0], [4.0]];
    /// let model = Ridge::default().fit(&x, &[2.0, 4.0, 6.0, 8.0])?;
    /// // The slope is 2 * 5 / (5 + 1): the sum of squares around the mean against alpha = 1.
    /// assert!((model.weights[0] - 2.0 * 5.0 / 6.0).abs() < 1e-2);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    pub struct Ridge {
        /// Weight of `||x||^2 / 2`. The default `None` is `1/n`, which corresponds to `alpha = 1` in scikit-learn. In
        /// general, scikit-learn's `alpha` is `l2 n`.
        l2: Option<f64> = None,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

as_elastic_net!(Ridge);

impl Ridge {
    fn posed(&self, n: usize) -> ElasticNet {
        let Ridge { l2, intercept, stop, seed } = *self;
        ElasticNet { l1: 0.0, l2: l2.unwrap_or(1.0 / n.max(1) as f64), intercept, stop, seed }
    }
}

settings! {
    /// Least squares with an l1 penalty:
    ///
    /// ```math
    /// \min_{x, b} \; \frac{1}{2n} \sum_{i=1}^n (a_i \cdot x + b - y_i)^2 + l_1 \|x\|_1
    /// ```
    ///
    /// ```
    /// use fenchel_finite_sum::Lasso;
    /// use ndarray::array;
    ///
    /// let x = array![[1.0, 0.3], [2.0, -0.1], [3.0, 0.2], [4.0, -0.3]];
    /// let y = array![2.0, 4.1, 5.9, 8.0];
    /// let model = Lasso { l1: 0.1, ..Lasso::default() }.fit(&x, &y)?;
    /// assert!((model.weights[0] - 1.9).abs() < 0.1 && model.weights[1] == 0.0);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    pub struct Lasso {
        /// Weight of `||x||_1`; scikit-learn's `alpha`.
        l1: f64 = 1.0,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

as_elastic_net!(Lasso);

impl Lasso {
    fn posed(&self, _: usize) -> ElasticNet {
        let Lasso { l1, intercept, stop, seed } = *self;
        ElasticNet { l1, l2: 0.0, intercept, stop, seed }
    }
}

settings! {
    /// Least squares with l1 and l2 penalties:
    ///
    /// ```math
    /// \min_{x, b} \; \frac{1}{2n} \sum_{i=1}^n (a_i \cdot x + b - y_i)^2 + l_1 \|x\|_1 + \frac{l_2}{2} \|x\|^2
    /// ```
    pub struct ElasticNet {
        /// Weight of `||x||_1`; scikit-learn's `alpha * l1_ratio`.
        l1: f64 = 0.5,
        /// Weight of `||x||^2 / 2`; scikit-learn's `alpha * (1 - l1_ratio)`.
        l2: f64 = 0.5,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

impl ElasticNet {
    /// Fits a model to an `n x d` design and `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, or a negative penalty.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<LinearModel, Error> {
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
        fit: Fit<'_, LinearModel>,
    ) -> Result<LinearModel, Error> {
        let (y, Fit { weights, start, mut watch, .. }) = (y.into(), fit);
        let ElasticNet { l1, l2, intercept, stop, seed } = *self;
        let regulariser = L1 { strength: l1 };
        let penalised = Penalised { loss: Squared, regulariser, l2, intercept, stop, seed };
        let start = start.map(|start| start.point());
        Ok(LinearModel::new(penalised.regress(x, y, weights, start, &mut watch)?, x.names()))
    }
}

margin_model!(
    /// A fitted linear regression.
    LinearModel,
    "predictor",
    "linear regression"
);

impl LinearModel {
    /// The predicted target, one per row.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows are not finite or do not have the length of the weights.
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        scores(x, &self.names, &self.weights, self.intercept)
    }

    /// The coefficient of determination `R^2`, which is the share of the variance of the targets that is explained.
    /// It is 1 for perfect predictions, and 0 if the predictions are as good as the mean of the targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is not one target per row, if targets are not finite or all equal, or if rows are
    /// not finite or do not have the length of the weights.
    pub fn score<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<f64, Error> {
        let (predicted, truth) = (self.predict(x)?.to_vec(), y.into().to_vec());
        Invalid::check_length("targets", predicted.len(), truth.len())?;
        let what = "targets";
        fenchel_metrics::r2(&truth, &predicted)
            .map_err(|error| Invalid::Layout { what, reason: error.to_string() }.into())
    }
}
