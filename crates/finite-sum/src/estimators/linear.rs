//! Least squares with l1 and l2 penalties.

use std::ops::ControlFlow;

use fenchel_linalg::{AsDesign, Design, Invalid, multiply};
use fenchel_optim::model::Saved;
use fenchel_optim::{Progress, Report, Stop};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use super::solve::{Task, Watch, unwatched};
use crate::Error;
use crate::loss::Squared;

/// Least squares with an l1 penalty:
///
/// ```text
/// min_{x, b}  (1/2n) sum_i (a_i.x + b - y_i)^2 + l1 ||x||_1
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `l1` | 1 | weight of the l1 norm; scikit-learn's `alpha` |
/// | `intercept` | true | an unpenalised intercept |
/// | `stop` | relative gap 1e-4 | when to end, see [`Stop`] |
/// | `seed` | 0 | of the visiting order |
///
/// ```
/// use fenchel_finite_sum::Lasso;
/// use ndarray::array;
///
/// let x = array![[1.0, 0.3], [2.0, -0.1], [3.0, 0.2], [4.0, -0.3]];
/// let y = array![2.0, 4.1, 5.9, 8.0];
/// let model = Lasso { l1: 0.1, ..Lasso::default() }.fit(&x, y.view())?;
/// assert!((model.weights[0] - 1.9).abs() < 0.1 && model.weights[1] == 0.0);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lasso {
    /// Weight of `||x||_1`.
    pub l1: f64,
    /// Whether to fit an unpenalised intercept.
    pub intercept: bool,
    /// When to end.
    pub stop: Stop,
    /// Seed of the visiting order.
    pub seed: u64,
}

impl Default for Lasso {
    fn default() -> Self {
        Lasso { l1: 1.0, intercept: true, stop: Stop::default(), seed: 0 }
    }
}

impl Lasso {
    /// Fits a model to an `n x d` design and `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, or a negative penalty.
    pub fn fit<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
    ) -> Result<LinearModel, Error> {
        self.as_net().fit(x, y)
    }

    /// As [`fit`](Lasso::fit), showing `watch` every check of the certificate; `Break` ends the fit with
    /// the model so far.
    ///
    /// # Errors
    /// As [`fit`](Lasso::fit).
    pub fn fit_watched<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
        watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<LinearModel, Error> {
        self.as_net().fit_watched(x, y, watch)
    }

    fn as_net(&self) -> ElasticNet {
        let Lasso { l1, intercept, stop, seed } = *self;
        ElasticNet { l1, l2: 0.0, intercept, stop, seed }
    }
}

/// Least squares with l1 and l2 penalties:
///
/// ```text
/// min_{x, b}  (1/2n) sum_i (a_i.x + b - y_i)^2 + l1 ||x||_1 + (l2/2) ||x||^2
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `l1` | 0.5 | weight of the l1 norm; scikit-learn's `alpha * l1_ratio` |
/// | `l2` | 0.5 | weight of half the squared norm; scikit-learn's `alpha * (1 - l1_ratio)` |
/// | `intercept` | true | an unpenalised intercept |
/// | `stop` | relative gap 1e-4 | when to end, see [`Stop`] |
/// | `seed` | 0 | of the visiting order |
///
/// With `l1 = 0` this is ridge regression (scikit-learn's `Ridge` has `alpha = l2 n`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ElasticNet {
    /// Weight of `||x||_1`.
    pub l1: f64,
    /// Weight of `||x||^2 / 2`.
    pub l2: f64,
    /// Whether to fit an unpenalised intercept.
    pub intercept: bool,
    /// When to end.
    pub stop: Stop,
    /// Seed of the visiting order.
    pub seed: u64,
}

impl Default for ElasticNet {
    fn default() -> Self {
        ElasticNet { l1: 0.5, l2: 0.5, intercept: true, stop: Stop::default(), seed: 0 }
    }
}

impl ElasticNet {
    /// Fits a model to an `n x d` design and `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, or a negative penalty.
    pub fn fit<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
    ) -> Result<LinearModel, Error> {
        self.solve(x, y, &mut unwatched())
    }

    /// As [`fit`](ElasticNet::fit), showing `watch` every check of the certificate; `Break` ends the fit
    /// with the model so far.
    ///
    /// # Errors
    /// As [`fit`](ElasticNet::fit).
    pub fn fit_watched<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
        watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<LinearModel, Error> {
        self.solve(x, y, &mut Watch::new(watch))
    }

    fn solve<X, F, const W: bool>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
        watch: &mut Watch<F, W>,
    ) -> Result<LinearModel, Error>
    where
        X: AsDesign + ?Sized,
        F: FnMut(&Progress) -> ControlFlow<()>,
    {
        let design = x.as_design()?;
        let targets = y.to_vec();
        let task = Task {
            design,
            targets: &targets,
            loss: Squared,
            l1: self.l1,
            l2: self.l2,
            intercept: self.intercept,
            stop: self.stop,
            seed: self.seed,
            quadratic: true,
        };
        let (point, report) = task.solve(watch)?;
        Ok(LinearModel { weights: point.weights.into(), intercept: point.intercept, report })
    }
}

/// A fitted linear regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearModel {
    /// One weight a feature.
    pub weights: Array1<f64>,
    /// The intercept.
    pub intercept: f64,
    /// The account of the fit, with its certificate.
    pub report: Report,
}

impl LinearModel {
    /// The predicted target, one a row.
    ///
    /// # Errors
    /// [`Error::Invalid`] for rows that are not finite or of another length than the weights.
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        scores(x, &self.weights, self.intercept)
    }
}

impl Saved for LinearModel {
    const KIND: &'static str = "linear regression";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        check_weights(&self.weights, self.intercept)
    }
}

/// `A x + b`
pub(super) fn scores<X: AsDesign + ?Sized>(
    x: &X,
    weights: &Array1<f64>,
    intercept: f64,
) -> Result<Array1<f64>, Error> {
    let design = x.as_design()?;
    Invalid::check_length("columns of the design matrix", weights.len(), design.columns())?;
    let weights = weights.to_vec();
    let mut scores = vec![0.0; design.rows()];
    multiply(&design, &weights, &mut scores);
    scores.iter_mut().for_each(|score| *score += intercept);
    Ok(scores.into())
}

pub(super) fn check_weights(weights: &Array1<f64>, intercept: f64) -> Result<(), String> {
    if weights.is_empty() {
        return Err("weights are empty; expected one a feature".into());
    }
    match weights.iter().chain([&intercept]).position(|w| !w.is_finite()) {
        None => Ok(()),
        Some(place) => Err(format!("weight {place} is not finite")),
    }
}
