//! Estimators based on conditional distributions. They need neither the partition function nor sampling.
//!
//! | estimator | objective | for |
//! |---|---|---|
//! | [`PseudoLikelihood`] | all conditionals at once, one shared coupling per pair | the usual choice for large p |
//! | [`NodewiseLogistic`] | one l1 logistic regression per variable, then AND or OR | graph recovery, in parallel |
//! | [`InteractionScreening`] | `mean exp(-energy)` of a spin, or its logarithm | graph recovery at low temperature |
//!
//! All three estimators are consistent. Their objectives differ from the likelihood, so with the same `l1` they
//! keep different edges. An edge enters two conditionals, so near independence the pseudo-likelihood gradient of a
//! coupling is twice that of the likelihood. [`EdgeWeight::Two`] doubles `l1` for couplings to compensate for this.

mod nodewise;
mod pseudo;
mod regression;
mod screening;

pub use nodewise::NodewiseLogistic;
pub use pseudo::{EdgeWeight, PseudoLikelihood};
pub use regression::{Regression, Rule};
pub use screening::{InteractionScreening, ScreeningObjective};
