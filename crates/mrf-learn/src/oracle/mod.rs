//! Exact means and log-partition functions, for exact gradients.
//!
//! | oracle | cost of a gradient | for |
//! |---|---|---|
//! | [`Enumeration`] | `2^p` exponentials and about `5 2^p` additions | p up to 25, any graph |
//! | [`TreeOracle`] | `p` calibrations of a junction tree | sparse graphs of small width |

mod enumeration;
mod tree;

pub use enumeration::Enumeration;
pub use tree::TreeOracle;

use fenchel_graphical::BinaryPairwise;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Which oracle an exact method uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Oracle {
    /// Enumeration up to 20 variables, a junction tree beyond.
    #[default]
    Auto,
    /// All `2^p` states.
    Enumeration,
    /// A junction tree, compiled again when the support of the parameters changes.
    JunctionTree,
}

/// The oracle of an exact method.
pub(crate) enum AnyOracle {
    Enumeration(Enumeration),
    Tree(Box<TreeOracle>),
}

impl AnyOracle {
    pub(crate) fn new(which: Oracle, p: usize, max_memory: Option<u64>) -> Result<Self, Error> {
        let enumerate = match which {
            Oracle::Auto => p <= 20,
            Oracle::Enumeration => true,
            Oracle::JunctionTree => false,
        };
        Ok(if enumerate {
            AnyOracle::Enumeration(Enumeration::new(p, max_memory)?)
        } else {
            AnyOracle::Tree(Box::new(TreeOracle::new(max_memory)))
        })
    }

    /// `log Z`, and the means of the binary statistics.
    pub(crate) fn means(
        &mut self,
        model: &BinaryPairwise,
        means: &mut [f64],
    ) -> Result<f64, Error> {
        match self {
            AnyOracle::Enumeration(oracle) => oracle.means(model, means),
            AnyOracle::Tree(oracle) => oracle.means(model, means),
        }
    }

    /// `log Z` alone.
    pub(crate) fn log_partition(&mut self, model: &BinaryPairwise) -> Result<f64, Error> {
        match self {
            AnyOracle::Enumeration(oracle) => oracle.log_partition(model),
            AnyOracle::Tree(oracle) => oracle.log_partition(model),
        }
    }
}
