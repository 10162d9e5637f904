//! The methods, for saddle point problems of your own.
//!
//! | method | for | an iteration costs | guarantee |
//! |---|---|---|---|
//! | [`mirror_pdhg`](fn@mirror_pdhg) | bilinear problems in any geometry, two or three digits | two products | gap at most `4a/T` with constant steps |
//! | [`mirror_prox`](fn@mirror_prox) | the same, the constant of the theory | four products | gap at most `2a/T` |
//! | [`mirror_descent`](fn@mirror_descent) | comparisons | two products | `2 sqrt(5) a / sqrt(T)` |
//! | [`stochastic_mirror_descent`], [`stochastic_mirror_prox`] | estimates of the field by an [`Oracle`] | an estimate, or two | `O(1/sqrt(T))` in expectation |
//! | [`pdhg`](fn@pdhg) | polyhedral problems, many digits | two products | linear, by restarts |

mod best;
pub(crate) mod mirror;
pub(crate) mod mirror_descent;
pub(crate) mod mirror_pdhg;
pub(crate) mod mirror_prox;
pub(crate) mod pdhg;
pub(crate) mod steps;

pub use mirror::{At, Oracle};
pub use mirror_descent::{
    MirrorDescent, MirrorDescentSettings, Potential, mirror_descent, stochastic_mirror_descent,
};
pub use mirror_pdhg::{MirrorPdhg, MirrorPdhgSettings, mirror_pdhg};
pub use mirror_prox::{MirrorProx, MirrorProxSettings, mirror_prox, stochastic_mirror_prox};
pub use pdhg::{Pdhg, PdhgSettings, PdhgState, pdhg};
pub use steps::{Bilinear, Pair, Steps};
