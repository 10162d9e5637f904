//! Losses of linear models, one file each.
//!
//! A loss `phi(t; y)` is a function of the margin `t = a.x`, where `a` is a row of the design and `y` its target.
//! `gamma` is the Lipschitz constant of `phi'`, and `phi*` the conjugate, a function of the dual variable `u`. The
//! trait [`Loss`](fenchel_optim::Loss) is documented in `fenchel-optim`. For the classification losses, `p` stands
//! for `-y u`.
//!
//! | loss | `phi(t; y)` | `gamma` | `phi*(u; y)` | targets |
//! |---|---|---|---|---|
//! | [`Logistic`] | `log(1 + e^{-yt})` | 1/4 | `p log p + (1-p) log(1-p)`, `0 <= p <= 1` | -1, +1 |
//! | [`SquaredHinge`] | `max(0, 1 - yt)^2 / 2` | 1 | `u^2/2 + y u`, `y u <= 0` | -1, +1 |
//! | [`SmoothedHinge`] | 0, then `(1 - yt)^2 / (2g)`, then `1 - yt - g/2` | `1/g` | `g u^2/2 + y u`, `-1 <= y u <= 0` | -1, +1 |
//! | [`Hinge`] | `max(0, 1 - yt)` | none | `y u`, `-1 <= y u <= 0` | -1, +1 |
//! | [`Squared`] | `(t - y)^2 / 2` | 1 | `u^2/2 + u y` | real |
//! | [`Huber`] | `r^2/2` where `abs(r) <= delta`, else `delta abs(r) - delta^2/2` | 1 | `u^2/2 + u y`, `abs(u) <= delta` | real |
//! | [`Absolute`] | `abs(r)` | none | `u y`, `abs(u) <= 1` | real |
//! | [`Quantile`] | `max((1 - tau) r, -tau r)` | none | `u y`, `-tau <= u <= 1 - tau` | real |
//! | [`EpsilonInsensitive`] | `max(0, abs(r) - epsilon)` | none | `u y + epsilon abs(u)`, `abs(u) <= 1` | real |
//! | [`Poisson`] | `e^t - y t` | none | `v log v - v`, `v = u + y >= 0` | `>= 0` |
//! | [`Custom`] | a closure | given | not known | real |
//!
//! Here `r = t - y`, and `g` is the width of the smoothed hinge. A loss without `gamma` needs
//! [`sdca`](crate::methods::sdca()), whose exact steps do not use it. The Poisson loss is also accepted by
//! [`newton`](crate::methods::newton()).

/// A piecewise linear loss bends at its kinks alone: its second derivative is 0, and its first has no Lipschitz constant.
macro_rules! piecewise_linear {
    () => {
        #[inline]
        fn second(&self, _: f64, _: f64) -> f64 {
            0.0
        }

        #[inline]
        fn curvature(&self) -> f64 {
            f64::INFINITY
        }
    };
}

mod custom;
mod hinge;
mod huber;
mod logistic;
mod piecewise;
mod poisson;
mod squared;

pub use custom::Custom;
pub use hinge::{Hinge, SmoothedHinge, SquaredHinge};
pub use huber::Huber;
pub use logistic::Logistic;
pub use piecewise::{Absolute, EpsilonInsensitive, Quantile};
pub use poisson::Poisson;
pub use squared::Squared;

use fenchel_linalg::Invalid;

/// Tolerance at the ends of the domain of a conjugate, because of rounding.
const DOMAIN_SLACK: f64 = 1e-12;

/// Projects a dual variable on `[low, high]`. Returns `None` if it is outside by more than the tolerance, or NaN.
#[inline]
fn onto_domain(u: f64, low: f64, high: f64) -> Option<f64> {
    let slack = |end: f64| DOMAIN_SLACK * end.abs().max(1.0);
    (low - slack(low)..=high + slack(high)).contains(&u).then(|| u.clamp(low, high))
}

/// Checks a target of a regression loss.
fn check_real(row: usize, y: f64) -> Result<(), Invalid> {
    if y.is_finite() {
        Ok(())
    } else {
        Err(Invalid::Target { row, value: y, expected: "a finite number" })
    }
}

/// Checks a target of a binary classification loss.
fn check_sign(row: usize, y: f64) -> Result<(), Invalid> {
    if y == 1.0 || y == -1.0 {
        Ok(())
    } else {
        Err(Invalid::Label { row, value: y, expected: "-1 or +1" })
    }
}
