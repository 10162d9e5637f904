//! Which features have a weight.

use serde::{Deserialize, Serialize};

/// Which pairs have a weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Support {
    /// All of them.
    #[default]
    All,
    /// Those that occur in the data, as in CRFsuite. Several times fewer weights, and another optimum.
    Observed,
}

/// Which features a model has: by default all, `(A + 3) K + K^2` weights.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `states` | `All` | which pairs of attribute and label have a weight |
/// | `transitions` | `All` | which pairs of labels, one behind the other, have a weight |
/// | `bias` | true | a row of weights that every token has |
/// | `ends` | true | a row for the first token and one for the last |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// Which pairs of attribute and label have a weight, those of bias and ends included.
    pub states: Support,
    /// Which pairs of labels, one behind the other, have a weight.
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
    /// Those of CRFsuite: what occurs in the data, no bias, no weights for the ends.
    pub const fn crfsuite() -> Self {
        let (states, transitions) = (Support::Observed, Support::Observed);
        Features { states, transitions, bias: false, ends: false }
    }
}
