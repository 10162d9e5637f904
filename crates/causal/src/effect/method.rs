//! The three ways to use the two regressions.

use serde::{Deserialize, Serialize};

/// How the two models are used. If the columns of x separate treated and untreated people perfectly, the last two methods are refused
/// with [`Error::Separated`](crate::Error::Separated).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EffectMethod {
    /// The outcome model alone (the g-formula).
    Standardisation,
    /// The propensity model alone (inverse probability weighting, weights normalised in each arm).
    Weighting,
    /// Both.
    #[default]
    DoublyRobust,
}
