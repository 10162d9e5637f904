//! Settings of the propagations.

use fenchel_optim::{Stop, settings};
use serde::{Deserialize, Serialize};

/// The order in which messages are sent; see the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// All at once, from the messages of the previous pass.
    Parallel,
    /// One after the other, forwards and backwards.
    Sequential,
    /// Whichever would change most.
    #[default]
    Residual,
}

settings! {
    /// Settings of [`belief_propagation`](super::belief_propagation) and [`max_product`](super::max_product).
    pub struct BeliefPropagationSettings {
        /// Order of the messages.
        schedule: Schedule = Schedule::default(),
        /// The weight of the old message, in `[0, 1)`: `new = damping old + (1 - damping) computed`, as logarithms.
        /// `None`: 1/2 if parallel, else 0.
        damping: Option<f64> = None,
        /// When to end, by the largest change of a message (`absolute`); the field `relative` is ignored.
        stop: Stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 1000.0, ..Stop::default() },
    }
}
