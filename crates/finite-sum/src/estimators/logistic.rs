//! Binary logistic regression.

use std::ops::ControlFlow;

use fenchel_linalg::labels::binary_signs;
use fenchel_linalg::special::sigmoid;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::model::Saved;
use fenchel_optim::{Progress, Report, Stop};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use super::linear::scores;
use super::solve::{Task, Watch, unwatched};
use crate::Error;
use crate::loss::Logistic;

/// Binary logistic regression with l2 and l1 penalties:
///
/// ```text
/// min_{x, b}  (1/n) sum_i log(1 + exp(-y_i (a_i.x + b))) + (l2/2) ||x||^2 + l1 ||x||_1
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `l2` | `None` | weight of the ridge term; `None` is `1/n`, scikit-learn's `C = 1`, or 0 where `l1 > 0`; in general its `C` is `1/(l2 n)` |
/// | `l1` | 0 | weight of the l1 norm; scikit-learn's `C` with an l1 penalty is `1/(l1 n)` |
/// | `intercept` | true | an unpenalised intercept |
/// | `stop` | relative gap 1e-4 | when to end, see [`Stop`] |
/// | `seed` | 0 | of the visiting order |
///
/// ```
/// use fenchel_finite_sum::LogisticRegression;
/// use ndarray::array;
///
/// let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0]];
/// let y = array![0.0, 0.0, 1.0, 1.0];
/// let model = LogisticRegression::default().fit(&x, y.view())?;
/// assert_eq!(model.predict(&x)?, y);
/// assert!(model.report.certificate.relative() <= 1e-4);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogisticRegression {
    /// Weight of `||x||^2 / 2`; `None` is `1/n`, or 0 where `l1 > 0`.
    pub l2: Option<f64>,
    /// Weight of `||x||_1`.
    pub l1: f64,
    /// Whether to fit an unpenalised intercept.
    pub intercept: bool,
    /// When to end.
    pub stop: Stop,
    /// Seed of the visiting order.
    pub seed: u64,
}

impl Default for LogisticRegression {
    fn default() -> Self {
        LogisticRegression { l2: None, l1: 0.0, intercept: true, stop: Stop::default(), seed: 0 }
    }
}

impl LogisticRegression {
    /// Fits a model to an `n x d` design and `n` labels of two distinct values.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, labels of one or more
    /// than two values, or penalties that are negative.
    pub fn fit<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
    ) -> Result<LogisticModel, Error> {
        self.solve(x, y, &mut unwatched())
    }

    /// As [`fit`](LogisticRegression::fit), showing `watch` every check of the certificate; `Break` ends
    /// the fit with the model so far.
    ///
    /// # Errors
    /// As [`fit`](LogisticRegression::fit).
    pub fn fit_watched<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
        watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<LogisticModel, Error> {
        self.solve(x, y, &mut Watch::new(watch))
    }

    fn solve<X, F, const W: bool>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
        watch: &mut Watch<F, W>,
    ) -> Result<LogisticModel, Error>
    where
        X: AsDesign + ?Sized,
        F: FnMut(&Progress) -> ControlFlow<()>,
    {
        let design = x.as_design()?;
        Invalid::check_length("labels", design.rows(), y.len())?;
        let labels = y.to_vec();
        let (classes, targets) = binary_signs(&labels)?;
        let task = Task {
            l2: self.l2.unwrap_or(if self.l1 > 0.0 { 0.0 } else { 1.0 / y.len().max(1) as f64 }),
            l1: self.l1,
            design,
            targets: &targets,
            loss: Logistic,
            intercept: self.intercept,
            stop: self.stop,
            seed: self.seed,
            quadratic: false,
        };
        let (point, report) = task.solve(watch)?;
        let (weights, intercept) = (Array1::from(point.weights), point.intercept);
        Ok(LogisticModel { weights, intercept, classes, report })
    }
}

/// A fitted binary logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogisticModel {
    /// One weight a feature.
    pub weights: Array1<f64>,
    /// The intercept.
    pub intercept: f64,
    /// The two labels, ascending; scores are positive for the second.
    pub classes: [f64; 2],
    /// The account of the fit, with its certificate.
    pub report: Report,
}

impl LogisticModel {
    /// Log-odds of the second class, one a row.
    ///
    /// # Errors
    /// [`Error::Invalid`] for rows that are not finite or of another length than the weights.
    pub fn decision_function<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        scores(x, &self.weights, self.intercept)
    }

    /// Probability of the second class, one a row.
    ///
    /// # Errors
    /// As [`decision_function`](LogisticModel::decision_function).
    pub fn predict_proba<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        Ok(self.decision_function(x)?.mapv_into(sigmoid))
    }

    /// The likelier label, one a row.
    ///
    /// # Errors
    /// As [`decision_function`](LogisticModel::decision_function).
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        let label = |score: f64| self.classes[usize::from(score > 0.0)];
        Ok(self.decision_function(x)?.mapv_into(label))
    }
}

impl Saved for LogisticModel {
    const KIND: &'static str = "logistic regression";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        super::linear::check_weights(&self.weights, self.intercept)?;
        let [low, high] = self.classes;
        if low < high { Ok(()) } else { Err(format!("classes {low}, {high} do not ascend")) }
    }
}
