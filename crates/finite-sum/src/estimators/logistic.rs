//! Binary logistic regression.

use std::ops::ControlFlow;

use fenchel_erm::settings;
use fenchel_linalg::AsDesign;
use fenchel_linalg::labels::Label;
use fenchel_linalg::special::sigmoid;
use fenchel_optim::model::Saved;
use fenchel_optim::{Observer, Progress, Report, Stop};
use ndarray::{Array1, ArrayView1};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::class_weights::ClassWeights;
use super::fits::fits_and_starts;
use super::predictor::{margin_model, two_classes};
use super::solve::{Fitted, Hyper, Watch};
use super::standardise::Standardiser;
use crate::auto::{Choice, Method};
use crate::loss::Logistic;
use crate::{Error, Point};

settings! {
    /// Binary logistic regression with l2 and l1 penalties:
    ///
    /// ```text
    /// min_{x, b}  (1/n) sum_i log(1 + exp(-y_i (a_i.x + b))) + (l2/2) ||x||^2 + l1 ||x||_1
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

fits_and_starts!(
    LogisticRegression -> LogisticModel<L>, L, "labels of two distinct values: any [`Label`]",
    "[`Error::Invalid`] for data that is empty, not finite or of another shape, labels of one or more than two values, or penalties that are negative.",
    ", all 0 in one of the classes", "features or classes"; L
);

impl LogisticRegression {
    pub(super) fn solve<X: AsDesign + ?Sized, L: Label, O: Observer<Method>>(
        &self,
        x: &X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
        start: Option<LogisticModel<L>>,
        watch: &mut O,
    ) -> Result<LogisticModel<L>, Error> {
        let start = start.map(|start| (start.point(), start.classes));
        let LogisticRegression { l1, intercept, stop, seed, .. } = *self;
        let by_default = if l1 > 0.0 { 0.0 } else { 1.0 / y.len().max(1) as f64 };
        let l2 = self.l2.unwrap_or(by_default);
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        let hyper = Hyper { loss: Logistic, l1, l2, intercept, stop, seed };
        let (fitted, classes) = hyper.classify(x, y, weights, start, watch)?;
        Ok(LogisticModel::new(fitted, classes))
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
