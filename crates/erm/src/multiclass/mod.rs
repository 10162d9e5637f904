//! Multinomial logistic regression: one vector of weights per class, all fitted together.
//!
//! ```text
//! F(W, b) = (1/n) sum_i c_i [ log sum_k exp(z_ik) - z_{i y_i} ] + (l2/2) ||W||^2 + h(W),     z_i = W'a_i + b
//! ```
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `W` | weights, row-major: the `r` weights of a feature are neighbours | `d x r` |
//! | `b` | intercepts, unpenalised | `r` |
//! | `z_i` | scores of a row | `r` |
//! | `p_i` | dual variables: a distribution over the classes, `softmax(z_i)` at the optimum | `r` |
//! | `u_i = c_i (p_i - e_{y_i})` | the same as the gradient of the term in `z_i` | `r` |
//! | `c_i` | weights of mean 1, all 1 unless [`with_weights`](MulticlassProblem::with_weights) | |
//!
//! The dual function of a term is the negative entropy of `p_i`. For any distributions `p`,
//!
//! ```text
//! D(p) = -(1/n) sum_ik c_i p_ik log p_ik - R*(v) <= F*,     v = -(1/n) A'u,   R = (l2/2) ||.||^2 + h
//! ```
//!
//! | you have | use |
//! |---|---|
//! | a strongly convex problem with `n l2 >= L`, or l1 | [`sdca`], or [`catalyst`], which is the same there |
//! | `l2` smaller, or l1 alone | [`catalyst`] |
//! | few features and classes, without l1 | [`newton`](fn@newton) |
//! | many features, a tiny `l2` or none | [`newton_cg`] |
//! | few rows, many cores | [`lbfgs`] |
//! | groups (a feature for all classes or for none), any regulariser | [`fista`] |
//!
//! Here `L = max ||a_i||^2 / 2`, because the curvature of the loss in the scores is at most 1/2. With two classes and
//! `l2`, the problem is binary logistic regression with the weights `w = W_1 - W_0` and half of the `l2`.
//!
//! Source: A. Defazio, PhD thesis 2014, section 2.3.2, for dual ascent with vectors of dual variables. The exact
//! step, which solves one equation in Wright's omega function, is not from the thesis.

mod ascent;
pub(crate) mod auto;
mod batch;
mod gap;
mod newton;
mod problem;
mod product;
mod sdca;
mod state;
mod step;

pub use ascent::MulticlassAscent;
pub use auto::{MulticlassAuto, auto};
pub use batch::{MulticlassSmooth, fista, lbfgs};
pub use newton::{newton, newton_cg};
pub use product::multiply_rows as scores;
pub(crate) use product::multiply_transposed_rows;

pub use problem::CURVATURE;
pub use problem::{MulticlassPoint, MulticlassProblem, feature_groups};
pub use sdca::{MulticlassSettings, catalyst, draw_weights, sdca};
pub use state::MulticlassState;
pub use step::{SoftmaxStep, exact_step, interval_step};
