//! The choice of a method: a cost model predicts what each method needs, the cheapest one runs, and another takes over once if the
//! prediction was wrong.
//!
//! `beta = n mu / mean L_i` is the conditioning of the dual. For a loss without a curvature bound, `L_i` is the curvature of the term at
//! its minimum.
//!
//! | case | method |
//! |---|---|
//! | loss with a kink (hinge, absolute, quantile) | [`sdca`] with exact steps, terms drawn by their gaps; needs `l2 > 0` |
//! | l1, badly conditioned dual (`beta < 1`) or a quadratic loss, `phi''` known | [`newton`](fn@crate::methods::newton) on a working set |
//! | l1, the squared loss, at least 20 rows a feature and at most 5 entries a row (indicators), many features | [`coordinate_descent`](fn@crate::methods::coordinate_descent) over all columns |
//! | l1, well conditioned dual (`beta >= 1`) | [`catalyst`], which then is SDCA |
//! | no l1, few features, or few rows of dense data: some Newton steps cost less than the passes of the other methods | [`newton`](fn@crate::methods::newton), and [`subsampled_newton`](fn@crate::methods::subsampled_newton), where that is cheaper, for `l2 > 0` and at least 100 rows a feature |
//! | no l1, dense data with fewer rows than columns, a smooth loss that is not quadratic, rows that overlap little (32 random pairs are looked at) | [`sdca`] with exact steps |
//! | no l1, many features, long rows, `beta >= 0.005` | [`catalyst`] |
//! | no l1, many features: short rows, a quadratic loss or `0 < beta < 0.005` | [`newton_cg`] |
//! | no l1, many features, no l2 | [`lbfgs`] |
//! | l1, and no memory for a copy by columns | [`catalyst`], or [`qning`] without l2 |
//! | bounds, a weight a coordinate, non-negative l1 | [`catalyst`]; [`qning`] for `beta < 0.005`; [`fista`](crate::methods::fista()) for `n < d / 10` |
//! | counts (no curvature bound): many features; few rows and `l2 > 0` | [`newton_cg`]; [`sdca`] with exact steps |
//! | a loss of closures, whose conjugate is not known | [`saga`] with backtracking; [`fista`](crate::methods::fista()) for `n < d / 10` |
//! | a regulariser that ties the weights together (groups, balls, simplex, total variation, one of your own) | [`fista`](crate::methods::fista()) |
//! | rows that are spread over processes | [`batch`] |
//!
//! Three numbers decide without l1: `beta`, the entries of a row, and the price of a Hessian. Newton-CG needs about `5 + 36 beta^(-1/4)`
//! passes, accelerated dual ascent `5 + 5.5 beta^(-1/2)`, of which one costs `1.2 + 26 / entries` as much.
//!
//! Dual methods visit rows in runs of four neighbours, because memory is then read forward.
//!
//! Where the cheapest method is Newton's with an expensive Hessian, and on no quadratic loss, [`lbfgs`] is tried first: on columns that
//! are nearly independent it ends after ten to thirty passes. It is given up as soon as its pace predicts that the other would be
//! cheaper, which then goes on from where it stands.
//!
//! A [`Choice`] says which method was chosen, why, and what each method was predicted to cost. The method may take three times its
//! predicted passes. After 10, 20, 40, ... passes its rate of convergence is extrapolated. If the method will not converge within its
//! limit, or has not, the second best method continues from where it stands. The rate of Newton's methods is not extrapolated, because
//! they are slow at first and fast in the end.
//!
//! Several classes have [`multiclass::auto`](crate::multiclass::auto), general sums `fenchel_finite_sum::general::auto`.

mod automatic;
mod case;
mod choice;
mod cost;
mod guarded;
mod run;

pub use automatic::{auto, batch};
pub(crate) use choice::{Arm, JOINT, WELL_CONDITIONED};
pub use choice::{AutoState, Choice, Method};
pub use guarded::Guarded;
pub(crate) use guarded::{guarded, offers_trial};
pub use run::AutoSettings;

#[allow(unused_imports, reason = "named in the table")]
use crate::methods::{catalyst, lbfgs, newton, newton_cg, qning, saga, sdca};
