//! Scans: the order of the visits in a sweep.

use fenchel_optim::Refusal;
use fenchel_optim::random::Order;
use serde::{Deserialize, Serialize};

use crate::VarId;

/// The order of the visits in a sweep; see the table of the [module](super). Of the orders, `Cyclic`, `Permuted` and `Uniform`
/// are supported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Scan {
    /// Variables one by one, in this order. In [`Gibbs`](super::Gibbs) every chain has its own random order, in
    /// [`BinaryGibbs`](crate::binary::BinaryGibbs) every block of chains. The default is `Cyclic`.
    Single(Order),
    /// In the order of a greedy colouring of the graph. Variables of the same colour are conditionally independent given the
    /// others.
    Chromatic,
    /// Draws each of these blocks exactly from its joint distribution given all other variables, then the remaining variables
    /// one by one. A block costs a calibration of a junction tree. [`tree_blocks`](super::tree_blocks) proposes blocks that are
    /// trees.
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
