//! Which variable a sweep visits next.

use fenchel_optim::Refusal;
use fenchel_optim::random::Order;
use serde::{Deserialize, Serialize};

use crate::VarId;

/// What a sweep is: the table of the [module](super). Of the orders `Cyclic`, `Permuted` and `Uniform` are taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Scan {
    /// Variables one by one, in this order: every chain has its own, or every block of chains of
    /// [`BinaryGibbs`](crate::BinaryGibbs). The default is `Cyclic`.
    Single(Order),
    /// In the order of a greedy colouring: variables of a colour do not depend on one another.
    Chromatic,
    /// These blocks, each drawn exactly from its joint law given the rest, then all other variables in order. A block costs a
    /// junction tree calibration; [`tree_blocks`](super::tree_blocks) proposes blocks that are trees.
    Blocked(Vec<Vec<VarId>>),
}

impl Default for Scan {
    fn default() -> Self {
        Scan::Single(Order::Cyclic)
    }
}

impl From<Order> for Scan {
    fn from(order: Order) -> Self {
        Scan::Single(order)
    }
}

/// The next one of a list of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Listed,
    Shuffled,
    Drawn,
}

impl Scan {
    /// # Errors
    /// [`Refusal::Unsupported`] for another order.
    pub(crate) fn next(&self, method: &'static str) -> Result<Next, Refusal> {
        match self {
            Scan::Single(Order::Permuted) => Ok(Next::Shuffled),
            Scan::Single(Order::Uniform) => Ok(Next::Drawn),
            Scan::Single(order) => {
                let taken = *order == Order::Cyclic;
                order.check(method, taken, "Cyclic, Permuted or Uniform").map(|()| Next::Listed)
            }
            Scan::Chromatic | Scan::Blocked(_) => Ok(Next::Listed),
        }
    }
}
