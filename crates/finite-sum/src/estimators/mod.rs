//! Estimators: hyper-parameters in, a certified model out.
//!
//! Each chooses its method by the problem (accelerated dual coordinate ascent, proximal Newton, L-BFGS) and
//! needs no step size. A user who sets nothing gets a
//! solution whose duality gap is at most 1e-4 of the objective, and a report that says so. Without any penalty there
//! is no useful dual: the certificate is then the norm of the gradient.

mod choice;
mod linear;
mod logistic;
mod solve;

pub use linear::{ElasticNet, Lasso, LinearModel};
pub use logistic::{LogisticModel, LogisticRegression};
