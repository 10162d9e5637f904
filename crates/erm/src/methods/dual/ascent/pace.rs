//! The length of a step of dual coordinate ascent, and the rows that it changes.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use fenchel_optim::Loss;

/// The length of a step along a dual coordinate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SdcaStep {
    /// The step to the maximum along the coordinate. Without a regulariser it is exact. With one, it maximises a
    /// quadratic lower bound of the dual objective. For the logistic loss it costs a few exponentials per step.
    #[default]
    Exact,
    /// The maximum on the interval between the dual variable and the current derivative, found by a search
    /// ([`Loss::interval_step`]). It needs no closed form, but a few derivatives per step.
    Interval,
    /// A step of the fraction `mu n / (mu n + L_j)` of the way to the current derivative. For the logistic loss it
    /// costs one exponential per step, and a run needs nearly the same number of passes. It requires a smooth loss.
    Constant,
}

/// The length of a step, in the form that the inner loop uses.
#[derive(Debug, Clone, Copy)]
pub(in crate::methods::dual) enum Move {
    Exact,
    Interval,
    /// A step of the fraction `1 / (1 + gamma q_j) = mu n / (mu n + L_j)`.
    PerTerm,
    /// A step of a given fraction.
    Fraction(f64),
}

impl From<SdcaStep> for Move {
    fn from(step: SdcaStep) -> Self {
        match step {
            SdcaStep::Exact => Move::Exact,
            SdcaStep::Interval => Move::Interval,
            SdcaStep::Constant => Move::PerTerm,
        }
    }
}

/// The length of a step, and the number of rows that it changes.
#[derive(Debug, Clone, Copy)]
pub(in crate::methods::dual) struct Pace {
    pub(in crate::methods::dual) step: Move,
    pub(in crate::methods::dual) batch: usize,
}

impl<M: Into<Move>> From<M> for Pace {
    fn from(step: M) -> Self {
        Pace { step: step.into(), batch: 1 }
    }
}
