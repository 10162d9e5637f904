//! Estimators: structs of hyper-parameters whose `fit` returns a model with a certificate.
//!
//! | to predict | penalty | estimator |
//! |---|---|---|
//! | a number | l2 | [`Ridge`] |
//! | a number, from few of the features | l1, or l1 and l2 | [`Lasso`], [`ElasticNet`] |
//! | a number, from few groups of features | groups, or groups and l1 | [`GroupLasso`] |
//! | a number, where some are outliers | l2 | [`HuberRegressor`] |
//! | a count or a rate | l2, l1, or both | [`PoissonRegressor`] |
//! | one of two classes, with probabilities | l2, l1, or both | [`LogisticRegression`] |
//! | one of two classes, by a margin | l2 | [`LinearSvc`] |
//! | one of several classes, with probabilities | l2, l1, groups | [`SoftmaxRegression`] |
//! | with a loss or a penalty of your own | any | [`Penalised`] |
//! | one of several classes, each alone against the rest | l2, l1, or both | [`OneVsRest`] |
//!
//! [`RidgeCv`], [`LassoCv`], [`ElasticNetCv`], [`LogisticRegressionCv`], [`LinearSvcCv`] and [`SoftmaxRegressionCv`]
//! also choose the penalty, by cross-validation.
//!
//! Each estimator chooses a method that suits the problem (see [`auto`](mod@crate::auto)): accelerated dual
//! coordinate ascent, a Newton method, L-BFGS or FISTA. No method needs a step size from the user. With default
//! settings, the duality gap of the solution is at most 1e-4 of the objective, and the report says whether this was
//! reached. Without any penalty there is no useful dual bound, and the certificate is the norm of the gradient. The
//! field `choice` of the model says which method was chosen and why. It also says which method replaced the first if
//! that one was slower than predicted:
//!
//! ```
//! use fenchel_finite_sum::Ridge;
//! use ndarray::array;
//!
//! let x = array![[1.0], [2.0], [3.0], [4.0]];
//! let model = Ridge::default().fit(&x, &[2.0, 4.0, 6.0, 8.0])?;
//! let choice = model.choice.expect("of a model that was fitted here");
//! println!("{choice}"); // proximal Newton: ... passes predicted, L-BFGS ..., SDCA ...
//! # Ok::<(), fenchel_finite_sum::Error>(())
//! ```
//!
//! A penalty treats all features alike, so that they should have the same scale. [`Standardiser`] scales the
//! features, and converts a model back to the raw features; both are saved in one file as a pair, `(scale, model).save_file(path)`.
//! A model keeps the names of the features, if the design has them ([`Named`](fenchel_linalg::Named)), and prints its weights.
//! Class labels can be of any type that implements [`Label`]: strings, integers, numbers.

mod class_weights;
mod cross_validation;
mod group_lasso;
mod huber;
mod linear;
mod logistic;
mod one_vs_rest;
mod penalised;
mod poisson;
mod predictor;
mod softmax;
mod solve;
mod svc;

pub use class_weights::ClassWeights;
pub use cross_validation::{
    Choose, CrossValidated, ElasticNetCv, LassoCv, LinearSvcCv, LogisticRegressionCv, RidgeCv,
    Score, Scoring, SoftmaxRegressionCv,
};
pub use fenchel_linalg::Standardiser;
pub use fenchel_linalg::labels::Label;
pub use group_lasso::GroupLasso;
pub use huber::{HuberModel, HuberRegressor};
pub use linear::{ElasticNet, Lasso, LinearModel, Ridge};
pub use logistic::{LogisticModel, LogisticRegression};
pub use one_vs_rest::{OneVsRest, OneVsRestModel};
pub use poisson::{PoissonModel, PoissonRegressor};
pub use softmax::{SoftmaxModel, SoftmaxRegression};
pub use solve::Penalised;
pub use svc::{LinearSvc, SvcLoss, SvcModel};

use ndarray::ArrayView1;

/// Converts `C`, the inverse regularisation strength of scikit-learn and liblinear, to the weight of a penalty beside
/// the mean loss: `1 / (C rows)`. If rows have weights whose sum is not `rows`, use [`weighted_penalty_of_c`].
///
/// ```
/// use fenchel_finite_sum::{LogisticRegression, estimators::penalty_of_c};
///
/// // LogisticRegression(C=10) on 500 rows.
/// let fit = LogisticRegression { l2: Some(penalty_of_c(10.0, 500)), ..Default::default() };
/// assert_eq!(fit.l2, Some(0.0002));
/// ```
pub fn penalty_of_c(c: f64, rows: usize) -> f64 {
    1.0 / (c * rows as f64)
}

/// Converts `C` as [`penalty_of_c`] does, for rows with weights: `1 / (C sum_i w_i)`. scikit-learn adds the weighted
/// losses, so that doubling all weights halves the effect of the penalty. Here only the proportions of the weights
/// matter.
///
/// ```
/// use fenchel_finite_sum::{ClassWeights, LogisticRegression, estimators::weighted_penalty_of_c};
///
/// // LogisticRegression(C=0.5, class_weight={"yes": 3})
/// let y = ["no", "no", "no", "yes"];
/// let class_weights = ClassWeights::of([("yes", 3.0)]);
/// let l2 = Some(weighted_penalty_of_c(0.5, &class_weights.weights(&y)?));
/// assert_eq!(l2, Some(1.0 / (0.5 * 6.0)));
/// let fit = LogisticRegression { l2, class_weights, ..Default::default() };
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
pub fn weighted_penalty_of_c<'w>(c: f64, weights: impl Into<ArrayView1<'w, f64>>) -> f64 {
    1.0 / (c * weights.into().sum())
}
