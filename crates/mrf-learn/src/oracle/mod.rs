//! Exact means and log-partition functions, for exact gradients.
//!
//! | oracle | cost of a gradient | for |
//! |---|---|---|
//! | [`Enumeration`] | an exponential and a few additions per joint state | some million joint states, any graph |
//! | [`TreeOracle`] | one calibration of a junction tree per state but the first of every variable | sparse graphs of small width |
//!
//! Both work in binary coordinates ([`Layout::reference`]): the first state of a variable needs no parameter of its own.

mod enumeration;
mod tree;

pub use enumeration::Enumeration;
pub use tree::TreeOracle;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::layout::Layout;

/// Which oracle an exact method uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Oracle {
    /// Enumeration up to `2^20` joint states, a junction tree beyond.
    #[default]
    Auto,
    /// All joint states.
    Enumeration,
    /// A junction tree, compiled again when the support of the parameters changes.
    JunctionTree,
}

/// The number of joint states up to which [`Oracle::Auto`] enumerates.
const FEW: u64 = 1 << 20;

/// The oracle of an exact method.
pub(crate) enum AnyOracle {
    Enumeration(Enumeration),
    Tree(Box<TreeOracle>),
}

impl AnyOracle {
    pub(crate) fn new(
        which: Oracle,
        layout: &Layout,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let enumerate = match which {
            Oracle::Auto => enumeration::states(layout) <= FEW,
            Oracle::Enumeration => true,
            Oracle::JunctionTree => false,
        };
        Ok(if enumerate {
            AnyOracle::Enumeration(Enumeration::new(layout, max_memory)?)
        } else {
            AnyOracle::Tree(Box::new(TreeOracle::new(layout, max_memory)?))
        })
    }

    /// `A(theta)`, and the means of the statistics into `out`.
    pub(crate) fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        match self {
            AnyOracle::Enumeration(oracle) => oracle.means(theta, out),
            AnyOracle::Tree(oracle) => oracle.means(theta, out),
        }
    }

    /// `A(theta)` alone.
    pub(crate) fn log_partition(&mut self, theta: &[f64]) -> Result<f64, Error> {
        match self {
            AnyOracle::Enumeration(oracle) => oracle.log_partition(theta),
            AnyOracle::Tree(oracle) => oracle.log_partition(theta),
        }
    }
}
