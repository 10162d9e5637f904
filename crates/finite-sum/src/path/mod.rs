//! Regularisation paths: the solutions for a falling sequence of penalties, each the start of the next.
//!
//! ```text
//! min_{x, b}  (1/n) sum_i phi(a_i.x + b; y_i) + penalty (r ||x||_1 + (1 - r)/2 ||x||^2)
//! ```
//!
//! with `r` the `l1_ratio`: 1 is the lasso, less an elastic net. The path starts at the smallest penalty for which
//! no feature enters (`max_c |A_c'phi'(b)| / (n r)`, at the best intercept) and by default falls to a thousandth
//! of it in 100 equal steps of the logarithm. A whole path costs a few single fits: warm starts of the point and
//! the dual point, one copy of the data by columns, and features that are proved to be 0 ([`Screening`]) are not
//! looked at. Every point of the path has its own certificate, computed over all features.
//!
//! | to get | use |
//! |---|---|
//! | the path of the lasso or the elastic net | [`elastic_net_path`] |
//! | the path of logistic regression | [`logistic_path`] |
//! | the path of any smooth loss (squared hinge, Huber) | [`path`](fn@path) |
//! | the path of the group lasso, for any smooth loss | [`group_path`] |
//! | the rest of a path that was begun, or a path with an observer | [`path_from`], [`group_path_from`] |
//! | one model, its penalty chosen by cross-validation | [`LassoCv`](crate::LassoCv) and its kin |
//!
//! Reference: Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models via coordinate
//! descent", Journal of Statistical Software 33 (2010).

mod groups;
mod method;
mod result;

pub use crate::methods::newton::Screening;
pub use groups::{GroupPathSettings, group_path, group_path_from};
pub use method::{Grid, PathSettings, elastic_net_path, logistic_path, path, path_from};
pub use result::{Path, PathPoint};

pub(crate) use method::{penalties, sweep};
