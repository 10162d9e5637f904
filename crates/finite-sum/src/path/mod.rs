//! Regularisation paths: the solutions for a falling sequence of penalties. Each solution is the start of the next.
//!
//! ```text
//! min_{x, b}  (1/n) sum_i phi(a_i.x + b; y_i) + penalty (r ||x||_1 + (1 - r)/2 ||x||^2)
//! ```
//!
//! Here `r` is the `l1_ratio`: 1 is the lasso, smaller values are the elastic net. The path starts at the smallest
//! penalty for which all weights are 0. This penalty is `max_c |A_c'phi'(b)| / (n r)`, with the best intercept `b`.
//! By default the path ends at a thousandth of it, after 100 penalties that are equally spaced in the logarithm. A
//! whole path costs only a few times as much as a single fit, for three reasons. The point and the dual point are
//! warm starts, the data are copied by columns only once, and features that are proved to be 0 ([`Screening`]) are
//! skipped. Every point of the path has a certificate, which is computed over all features.
//!
//! | to get | use |
//! |---|---|
//! | the path of the lasso or the elastic net | [`elastic_net_path`] |
//! | the path of logistic regression | [`logistic_path`] |
//! | the path of any smooth loss (squared hinge, Huber) | [`path`](fn@path) |
//! | the path of the group lasso, for any smooth loss | [`group_path`] |
//! | the rest of a path that was begun, or a path with an observer | [`path_from`], [`group_path_from`] |
//! | one model, its penalty chosen by cross-validation | [`LassoCv`](crate::LassoCv) and the other `...Cv` estimators |
//!
//! Reference: Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models via coordinate
//! descent", Journal of Statistical Software 33 (2010).

mod centring;
mod groups;
mod method;
mod part;
mod result;

pub use crate::methods::newton::Screening;
pub use groups::{GroupPathSettings, group_path, group_path_from};
pub use method::{Grid, PathSettings, elastic_net_path, logistic_path, path, path_from};
pub use result::{Path, PathPoint};

pub(crate) use method::{penalties, sweep};
