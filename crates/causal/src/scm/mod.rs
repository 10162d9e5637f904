//! Structural causal models and counterfactuals.
//!
//! ```text
//! X_i = f_i(X_parents, U_i),    U_1, ..., U_d independent
//! ```
//!
//! A counterfactual query asks what would have happened to the same unit under an intervention. It is answered in three
//! steps. *Abduction* finds the distribution of the noise given the observations, *action* sets variables, and
//! *prediction* runs the model with that noise.
//!
//! | model | functions | counterfactual |
//! |---|---|---|
//! | [`DiscreteScm`] | tables over parents and a discrete noise | exact, by elimination in the twin network |
//! | [`LinearGaussianScm`] | linear, normal noise | exact: a normal law |
//!
//! Many choices of the functions `f_i` give the same observed distribution and the same effects of interventions, but
//! different counterfactuals. So a Bayesian network does not determine counterfactuals, and [`DiscreteScm::monotone`]
//! has to state the assumption that it adds.
//!
//! Sources: R. Le Priol, PhD thesis 2021, section 2.3.3, equation (2.39), for the model; J. Pearl, *Causality*, 2009,
//! theorem 7.1.7, for counterfactuals.

mod discrete;
mod linear;

pub use discrete::DiscreteScm;
pub use linear::{LinearGaussianScm, Normal};
