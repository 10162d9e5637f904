//! The features of a model: which pairs have a weight.

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

/// The features of a model. By default all pairs have a weight, which makes `(A + 3) K + K^2` weights.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `states` | `All` | which pairs of attribute and label have a weight |
/// | `transitions` | `All` | which pairs of successive labels have a weight |
/// | `bias` | true | one weight per label that every token has |
/// | `ends` | true | one weight per label for the first token, and one for the last |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// Which pairs of attribute and label have a weight. Bias and ends count as attributes.
    pub states: Support,
    /// Which pairs of successive labels have a weight.
    pub transitions: Support,
    /// Whether every token has a bias.
    pub bias: bool,
    /// Whether the first token and the last one have weights of their own.
    pub ends: bool,
}

impl Default for Features {
    fn default() -> Self {
        let (states, transitions) = (Support::All, Support::All);
        Features { states, transitions, bias: true, ends: true }
    }
}

impl Features {
    /// The features of CRFsuite: pairs that occur in the data, no bias, no weights for the ends.
    pub const fn crfsuite() -> Self {
        let (states, transitions) = (Support::Observed, Support::Observed);
        Features { states, transitions, bias: false, ends: false }
    }
}
