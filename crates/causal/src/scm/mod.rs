//! Structural causal models and counterfactuals.
//!
//! ```text
//! X_i = f_i(X_parents, U_i),    U_1, ..., U_d independent
//! ```
//!
//! A counterfactual asks what would have happened to one and the same unit: *abduction* finds the law of the noise given what was seen,
//! *action* sets variables, *prediction* runs the model with that noise.
//!
//! | model | functions | counterfactual |
//! |---|---|---|
//! | [`DiscreteScm`] | tables over parents and a discrete noise | exact, by elimination in the twin network |
//! | [`LinearGaussianScm`] | linear, normal noise | exact: a normal law |
//!
//! The observed law and all effects of interventions are the same for many functions; counterfactuals are not. That is why a
//! Bayesian network is not enough and [`DiscreteScm::monotone`] names its assumption.
//!
//! Source: R. Le Priol, PhD thesis 2021, section 2.3.3, (2.39); Pearl, Causality, 2009, theorem 7.1.7. The thesis
//! leaves counterfactuals out.

mod discrete;
mod linear;

pub use discrete::DiscreteScm;
pub use linear::{LinearGaussianScm, Normal};
