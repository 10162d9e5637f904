//! Binary logistic regression.

use std::fmt;

use fenchel_linalg::labels::Label;
use fenchel_linalg::special::sigmoid;
use fenchel_linalg::{AsDesign, Names, Standardiser};
use fenchel_optim::model::Saved;
use fenchel_optim::prox::L1;
use fenchel_optim::settings;
use fenchel_optim::{Fit, Report, Stop};
use ndarray::{Array1, ArrayView1, Axis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::class_weights::ClassWeights;
use super::predictor::{margin_model, two_classes};
use super::solve::{Fitted, Penalised};
use crate::auto::Choice;
use crate::loss::Logistic;
use crate::{Error, Point};

settings! {
    /// Binary logistic regression with l2 and l1 penalties:
    ///
    /// ```math
    /// \min_{x, b} \; \frac{1}{n} \sum_{i=1}^n \log(1 + \exp(-y_i (a_i \cdot x + b))) + \frac{l_2}{2} \|x\|^2 + l_1 \|x\|_1
    /// ```
    ///
    /// ```
    /// use fenchel_finite_sum::LogisticRegression;
    /// use ndarray::array;
    ///
    /// let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0]];
    /// let y = ["no", "no", "yes", "yes"];
    /// let model = LogisticRegression::default().fit(&x, &y)?;
    /// assert_eq!(model.predict(&x)?, array!["no", "no", "yes", "yes"]);
    /// assert!(model.report.certificate.relative() <= 1e-4);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    ///
    /// In scikit-learn `C` is the weight of the sum of the losses. Here the mean loss has weight 1, so that `C` is
    /// `1/(l2 n)`, and `1/(l1 n)` for an l1 penalty. The function [`penalty_of_c`](super::penalty_of_c) converts `C`,
    /// and [`weighted_penalty_of_c`](super::weighted_penalty_of_c) does so for rows with weights.
    pub struct LogisticRegression {
        /// Weight of `||x||^2 / 2`. The default `None` is `1/n`, which is `C = 1` in scikit-learn, or 0 if `l1 > 0`.
        l2: Option<f64> = None,
        /// Weight of `||x||_1`.
        l1: f64 = 0.0,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The weight of each class.
        class_weights: ClassWeights = ClassWeights::Equal,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

impl LogisticRegression {
    /// Fits a model to an `n x d` design and `n` labels of two distinct values: any [`Label`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, labels of one or more than two values, or penalties that are negative.
    pub fn fit<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
    ) -> Result<LogisticModel<L>, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches. Only the
    /// proportions of the weights matter; the mean loss becomes the weighted mean.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, all 0 in one of the classes, or not one a row, and for a
    /// start of other features or classes.
    pub fn fit_with<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
        fit: Fit<'_, LogisticModel<L>>,
    ) -> Result<LogisticModel<L>, Error> {
        let (y, Fit { weights, start, mut watch, .. }) = (y.into(), fit);
        let start = start.map(|start| (start.point(), start.classes.clone()));
        let LogisticRegression { l1, intercept, stop, seed, .. } = *self;
        let by_default = if l1 > 0.0 { 0.0 } else { 1.0 / y.len().max(1) as f64 };
        let l2 = self.l2.unwrap_or(by_default);
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        let regulariser = L1 { strength: l1 };
        let penalised = Penalised { loss: Logistic, regulariser, l2, intercept, stop, seed };
        let (fitted, classes) = penalised.classify(x, y, weights, start, &mut watch)?;
        Ok(LogisticModel::new(fitted, x.names(), classes))
    }
}

margin_model!(
    /// A fitted binary logistic regression. A model can be saved only if its labels are owned (`String`, not `&str`).
    LogisticModel,
    "classifier",
    "logistic regression",
    L
);

two_classes!(LogisticModel, "Log-odds of the second class, one a row.");

impl<L: Label> LogisticModel<L> {
    /// Probability of the second class, one per row.
    ///
    /// # Errors
    /// The errors of [`decision_function`](LogisticModel::decision_function).
    pub fn predict_proba<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        Ok(self.decision_function(x)?.mapv_into(sigmoid))
    }
}
