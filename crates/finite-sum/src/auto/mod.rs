//! The method that suits a problem: chosen by a cost model, explained, and changed once if it was the wrong one.
//!
//! | case | method |
//! |---|---|
//! | loss with a kink (hinge, absolute, quantile) | [`sdca`] with exact steps; needs `l2 > 0` |
//! | l1, badly conditioned dual (`beta < 1`) or a quadratic loss, `phi''` known | [`newton`](fn@crate::newton) on a working set |
//! | no l1, few features: some Newton steps cost less than the passes of the dual method | [`newton`](fn@crate::newton) |
//! | well conditioned dual (`beta >= 1`), with l1 or without | [`catalyst`], which then is SDCA |
//! | no l1, many features, `0.005 <= beta < 1` | [`catalyst`] |
//! | no l1, many features (`n < 50 d`), short rows (fewer than 36 entries), `beta >= 0.005` | [`lbfgs`] |
//! | no l1, many features, `0 < beta < 0.005` | [`newton_cg`] |
//! | no l1, many features, no l2 | [`lbfgs`] |
//!
//! `beta = n mu / mean L_i`. What was chosen and by which numbers is a [`Choice`], which is returned. The method runs for
//! three times the passes that were predicted; if they were not enough, the second best takes over once, where it is.
//!
//! Regularisers that are not l1, l2 or both have one method each: [`fista`](crate::fista()) for any,
//! [`catalyst`] for a separable one with few passes.

mod choice;
mod run;

pub use choice::{Choice, Method};
pub use run::{AutoSettings, AutoState, auto};

#[allow(unused_imports, reason = "named in the table")]
use crate::{catalyst, lbfgs, newton, newton_cg, sdca};
