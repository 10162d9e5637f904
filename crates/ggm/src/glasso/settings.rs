//! The settings of the graphical lasso.

use fenchel_optim::{MAX_MEMORY, Stop, settings};
use serde::{Deserialize, Serialize};

/// The solver for each connected component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Method {
    /// Proximal Newton steps. Where they are slow another method takes over: ADMM in components of at most 100 variables, and block
    /// coordinate descent.
    #[default]
    Quic,
    /// Coordinate descent on columns of the dual, known as glasso.
    BlockCoordinate,
    /// ADMM: alternating eigendecompositions and soft-thresholding.
    Admm,
}

settings! {
    /// Settings of [`graphical_lasso`](super::graphical_lasso).
    pub struct GlassoSettings {
        /// The solver for each connected component.
        method: Method = Method::Quic,
        /// Whether components are solved by themselves.
        screening: bool = true,
        /// When the method stops; a pass is one iteration, with QUIC a Newton step, the gradient steps before it, or an
        /// iteration of the method that took over.
        /// By default gap 1e-6, absolute or relative; 100,000 iterations.
        stop: Stop = default_stop(),
        /// Bytes that may be allocated; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

/// The stopping rule of this crate: a gap of 1e-6, or 100,000 passes.
pub fn default_stop() -> Stop {
    Stop { absolute: 1e-6, relative: 1e-6, max_passes: 1e5, ..Stop::default() }
}
