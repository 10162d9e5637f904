//! Exact means and log-partition functions, for exact gradients.
//!
//! | oracle | cost of a gradient | for |
//! |---|---|---|
//! | [`Enumeration`] | an exponential and a few additions per joint state | some million joint states, any graph |
//! | [`TreeOracle`] | one calibration of a junction tree per state but the first of every variable | sparse graphs of small width |
//!
//! Both work in binary coordinates ([`Layout::reference`]): the first state of a variable needs no parameter of its own.

mod backend;
mod enumeration;
mod tree;

pub use backend::Backend;
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

impl Oracle {
    /// The oracle for a layout.
    pub(crate) fn backend(
        self,
        layout: &Layout,
        max_memory: Option<u64>,
    ) -> Result<Box<dyn Backend>, Error> {
        let enumerate = match self {
            Oracle::Auto => enumeration::states(layout) <= FEW,
            Oracle::Enumeration => true,
            Oracle::JunctionTree => false,
        };
        Ok(if enumerate {
            Box::new(Enumeration::new(layout, max_memory)?)
        } else {
            Box::new(TreeOracle::new(layout, max_memory)?)
        })
    }
}
