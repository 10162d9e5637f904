//! Losses of linear models, one file each.
//!
//! `phi(t; y)` of the margin `t = a.x`; the trait [`Loss`](fenchel_optim::Loss) and its symbols are
//! documented in `fenchel-optim`. `p = -y u` is the dual variable of the classification losses.
//!
//! | loss | `phi(t; y)` | `gamma` | `phi*(u; y)` | targets |
//! |---|---|---|---|---|
//! | [`Logistic`] | `log(1 + e^{-yt})` | 1/4 | `p log p + (1-p) log(1-p)`, `0 <= p <= 1` | -1, +1 |
//! | [`Squared`] | `(t - y)^2 / 2` | 1 | `u^2/2 + u y` | real |
//! | [`SquaredHinge`] | `max(0, 1 - yt)^2 / 2` | 1 | `u^2/2 + y u`, `y u <= 0` | -1, +1 |
//! | [`Hinge`] | `max(0, 1 - yt)` | none | `y u`, `-1 <= y u <= 0` | -1, +1 |

mod hinge;
mod logistic;
mod squared;

pub use hinge::{Hinge, SquaredHinge};
pub use logistic::Logistic;
pub use squared::Squared;

use fenchel_linalg::Invalid;

/// Slack of the closed domain of a conjugate: rounding may carry a dual variable this far out.
const DOMAIN_SLACK: f64 = 1e-12;

/// The targets of a binary margin loss.
fn check_sign(row: usize, y: f64) -> Result<(), Invalid> {
    if y == 1.0 || y == -1.0 {
        Ok(())
    } else {
        Err(Invalid::Label { row, value: y, expected: "-1 or +1" })
    }
}
