//! The features of a model: which pairs have a weight.

use fenchel_optim::settings;
use serde::{Deserialize, Serialize};

/// Which pairs have a weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Support {
    /// All of them.
    #[default]
    All,
    /// The pairs that occur in the data, as in CRFsuite. The model has several times fewer weights and another optimum.
    Observed,
}

settings! {
    /// The features of a model. By default all pairs have a weight, which makes `(A + 3) K + K^2` weights.
    #[derive(Copy, Eq)]
    pub struct Features {
        /// Which pairs of attribute and label have a weight. Bias and ends count as attributes.
        states: Support = Support::All,
        /// Which pairs of successive labels have a weight.
        transitions: Support = Support::All,
        /// Whether every token has a bias, which is one weight per label.
        bias: bool = true,
        /// Whether the first token and the last one have weights of their own.
        ends: bool = true,
    }
}

impl Features {
    /// The features of CRFsuite: pairs that occur in the data, no bias, no weights for the ends.
    pub const fn crfsuite() -> Self {
        let (states, transitions) = (Support::Observed, Support::Observed);
        Features { states, transitions, bias: false, ends: false }
    }
}
