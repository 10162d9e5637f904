//! Penalties chosen by cross-validation.
//!
//! The rows are cut into folds. For every fold and every `l1_ratio` the model is fitted along the whole grid of
//! penalties on the other folds (a warm-started [`path`](mod@crate::path) where there is an l1 norm) and scored on
//! the fold; folds run in parallel. The penalty with the best mean score is taken, or the largest one whose mean
//! is within a standard error of it (a smaller model that is not measurably worse), and the model is fitted on
//! all rows.
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
//! Row weights take part in everything: in the fits on the folds, in the means of their scores, in the grid and in the model.
//! Folds count rows, not weights. A row of weight 0 is left out before the folds are cut, and a whole weight is as good as
//! that many copies of the row in one and the same fold.

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
