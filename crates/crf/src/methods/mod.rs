//! The training methods, for a [`Problem`](crate::Problem) of your own.
//!
//! | method | for | memory |
//! |---|---|---|
//! | [`sdca`](fn@sdca) | sparse text: a tenth of the passes of L-BFGS | `K^2 N` numbers |
//! | [`catalyst`](fn@catalyst) | an `l2` below `1/n`: accelerated SDCA | `K^2 N` numbers |
//! | [`sag`](fn@sag) | dense attributes, many sequences, one core | a gradient per sequence |
//! | [`oeg`](fn@oeg) | comparisons | `K^2 N` numbers |
//! | [`lbfgs`](fn@lbfgs), [`owlqn`] | several cores, many labels; an l1 penalty | a few vectors of weights |
//! | [`CrfFiniteSum`] | the incremental methods of `fenchel-finite-sum` | of the method |

pub(crate) mod finite_sum;
pub(crate) mod lbfgs;
pub(crate) mod oeg;
pub(crate) mod radius;
pub(crate) mod sag;
pub(crate) mod sdca;

pub use crate::likelihood::Likelihood;
pub use finite_sum::CrfFiniteSum;
pub use lbfgs::{lbfgs, owlqn};
pub use oeg::{Oeg, OegSettings, oeg};
pub use radius::{radius_heuristic, radius_upper};
pub use sag::{Sag, SagSettings, sag};
pub use sdca::{
    Catalyst, CatalystSettings, DualAscent, DualState, Init, NewtonStart, Sdca, SdcaSettings,
    SdcaStep, catalyst, memory, sdca, single_precision_suffices,
};
