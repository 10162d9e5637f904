//! Estimators: hyper-parameters in, a certified model out.
//!
//! | to predict | penalty | estimator |
//! |---|---|---|
//! | a number | l2 | [`Ridge`] |
//! | a number, from few of the features | l1, or l1 and l2 | [`Lasso`], [`ElasticNet`] |
//! | one of two classes, with probabilities | l2, l1, or both | [`LogisticRegression`] |
//! | one of two classes, by a margin | l2 | [`LinearSvc`] |
//! | one of several classes, with probabilities | l2, l1, groups | [`SoftmaxRegression`] |
//! | one of several classes, each alone against the rest | l2, l1, or both | [`OneVsRest`] |
//!
//! [`RidgeCv`], [`LassoCv`], [`ElasticNetCv`], [`LogisticRegressionCv`], [`LinearSvcCv`] and [`SoftmaxRegressionCv`] also choose
//! the penalty, by cross-validation.
//!
//! Each chooses its method by the problem ([`auto`](mod@crate::auto): accelerated dual coordinate ascent, Newton's methods,
//! L-BFGS, FISTA) and needs no step size. A user who sets nothing gets a
//! solution whose duality gap is at most 1e-4 of the objective, and a report that says so. Without any penalty there
//! is no useful dual: the certificate is then the norm of the gradient. The model's `choice` says which method was chosen
//! and why, and which took over if the first did not keep its promise:
//!
//! ```
//! use fenchel_finite_sum::Ridge;
//! use ndarray::array;
//!
//! let x = array![[1.0], [2.0], [3.0], [4.0]];
//! let model = Ridge::default().fit(&x, &[2.0, 4.0, 6.0, 8.0])?;
//! let choice = model.choice.expect("of a model that was fitted here");
//! println!("{choice}"); // proximal Newton: n mu / mean L = 1.33e-1; predicted passes: ...; the fewest predicted passes
//! # Ok::<(), fenchel_finite_sum::Error>(())
//! ```
//!
//! Penalties treat all features alike: [`Standardiser`] brings them to one scale, and a model back to the raw
//! features. Class labels are whatever the data calls them, any [`Label`]: strings, integers, numbers.

mod cross_validation;
mod fits;
mod linear;
mod logistic;
mod one_vs_rest;
mod predictor;
mod softmax;
mod solve;
mod standardise;
mod svc;

pub use cross_validation::{
    Choose, CrossValidated, ElasticNetCv, LassoCv, LinearSvcCv, LogisticRegressionCv, RidgeCv,
    Score, Scoring, SoftmaxRegressionCv,
};
use fenchel_linalg::labels::Classes;
pub use fenchel_linalg::labels::Label;
pub use linear::{ElasticNet, Lasso, LinearModel, Ridge};
pub use logistic::{LogisticModel, LogisticRegression};
pub use one_vs_rest::{OneVsRest, OneVsRestModel};
pub use softmax::{SoftmaxModel, SoftmaxRegression};
pub use standardise::Standardiser;
pub use svc::{LinearSvc, SvcLoss, SvcModel};

/// The weight of a penalty, on the scale of the mean loss, that is the inverse regularisation strength `C` of
/// scikit-learn and liblinear on `rows` rows: `1 / (C rows)`.
///
/// ```
/// use fenchel_finite_sum::{LogisticRegression, penalty_of_c};
///
/// // LogisticRegression(C=10) on 500 rows.
/// let fit = LogisticRegression { l2: Some(penalty_of_c(10.0, 500)), ..Default::default() };
/// assert_eq!(fit.l2, Some(0.0002));
/// ```
pub fn penalty_of_c(c: f64, rows: usize) -> f64 {
    1.0 / (c * rows as f64)
}

/// Row weights that give every class the same total: `n / (k n_c)` for a row of class `c` of `k`. For
/// `fit_weighted` where one class is rare; scikit-learn's `class_weight="balanced"`.
///
/// ```
/// use fenchel_finite_sum::balanced_weights;
///
/// assert_eq!(balanced_weights(&["no", "no", "no", "yes"])?, [2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0]);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) without labels, or for a NaN or an infinity among them.
pub fn balanced_weights<L: Label>(labels: &[L]) -> Result<Vec<f64>, crate::Error> {
    let (classes, codes) = Classes::from_labels(labels)?;
    let mut counts = vec![0.0; classes.len()];
    codes.iter().for_each(|&code| counts[code] += 1.0);
    let share = labels.len() as f64 / classes.len() as f64;
    Ok(codes.iter().map(|&code| share / counts[code]).collect())
}
