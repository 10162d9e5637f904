//! Penalties chosen by cross-validation.
//!
//! The rows are divided into folds. For every fold and every `l1_ratio`, the model is fitted on the other folds along
//! the whole grid of penalties, and scored on the fold. If there is an l1 norm, the fits are a warm-started
//! [`path`](mod@crate::path). Folds run in parallel. The default choice is the penalty with the best mean score. The
//! alternative is the largest penalty whose mean score is within one standard error of the best, which gives a
//! smaller model that is not measurably worse. At the end, the model is fitted on all rows with the chosen penalty.
//!
//! | estimator | chooses | score, less is better |
//! |---|---|---|
//! | [`RidgeCv`] | `l2` | mean squared error |
//! | [`LassoCv`] | `l1` | mean squared error |
//! | [`ElasticNetCv`] | the penalty and the share of l1 in it | mean squared error |
//! | [`LogisticRegressionCv`] | the same | log loss (nats), share of errors, or 1 less the AUC |
//! | [`SoftmaxRegressionCv`] | the same, for several classes | the same, the AUC for two |
//! | [`LinearSvcCv`] | `l2` | share of errors, or 1 less the AUC |
//!
//! Row weights are used in the fits on the folds, in the mean scores, in the grid and in the final model. Folds have
//! equal numbers of rows, not equal weights. Rows of weight 0 are removed before the rows are divided into folds. A
//! row with an integer weight `m` is equivalent to `m` copies of the row in the same fold.
//!
//! Folds that must respect time, or groups of rows, are given as `splits`.

mod estimators;
mod folds;
mod margin;
mod scores;
mod softmax;
mod two_classes;

pub use estimators::{
    ElasticNetCv, LassoCv, LinearSvcCv, LogisticRegressionCv, RidgeCv, SoftmaxRegressionCv,
};
pub use scores::{Choose, CrossValidated, Score, Scoring};
