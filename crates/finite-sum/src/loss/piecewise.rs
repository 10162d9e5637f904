//! Piecewise linear losses of regression: not smooth, for dual methods only.

use fenchel_linalg::Invalid;
use fenchel_optim::Loss;

use super::{check_real, onto_domain};

/// `|t - y|`: least absolute deviations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Absolute;

impl Loss for Absolute {
    const NAME: &'static str = "absolute";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        (t - y).abs()
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        side(t - y, -1.0, 1.0)
    }

    #[inline]
    fn second(&self, _: f64, _: f64) -> f64 {
        0.0
    }

    #[inline]
    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        onto_domain(u, -1.0, 1.0).map_or(f64::INFINITY, |u| u * y)
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        clipped_ratio(m - y, q, -1.0, 1.0)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_real(row, y)
    }
}

/// `tau (y - t)` where `t < y`, `(1 - tau) (t - y)` where `t > y`: its minimiser over constants is the
/// `tau`-quantile of the targets.
///
/// R. Koenker and G. Bassett, "Regression quantiles", Econometrica 46 (1978).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// The level, `0 < tau < 1`; 1/2 is half the absolute loss.
    pub tau: f64,
}

impl Quantile {
    /// The two slopes, which are the ends of the domain of the conjugate.
    #[inline]
    fn slopes(&self) -> (f64, f64) {
        (-self.tau, 1.0 - self.tau)
    }
}

impl Loss for Quantile {
    const NAME: &'static str = "quantile";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        let (low, high) = self.slopes();
        f64::max(low * (t - y), high * (t - y))
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        let (low, high) = self.slopes();
        side(t - y, low, high)
    }

    #[inline]
    fn second(&self, _: f64, _: f64) -> f64 {
        0.0
    }

    #[inline]
    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        let (low, high) = self.slopes();
        onto_domain(u, low, high).map_or(f64::INFINITY, |u| u * y)
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        let (low, high) = self.slopes();
        clipped_ratio(m - y, q, low, high)
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.tau > 0.0 && self.tau < 1.0 {
            return Ok(());
        }
        let (name, value) = ("quantile.tau", self.tau);
        Err(Invalid::Parameter { name, value, expected: "a number between 0 and 1, exclusive" })
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_real(row, y)
    }
}

/// `max(0, |t - y| - epsilon)`: support vector regression, where residuals inside the tube cost nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonInsensitive {
    /// Half the width of the tube, `>= 0`; with 0 this is the absolute loss.
    pub epsilon: f64,
}

impl Loss for EpsilonInsensitive {
    const NAME: &'static str = "epsilon-insensitive";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        ((t - y).abs() - self.epsilon).max(0.0)
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        side(beyond_tube(t - y, self.epsilon), -1.0, 1.0)
    }

    #[inline]
    fn second(&self, _: f64, _: f64) -> f64 {
        0.0
    }

    #[inline]
    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        onto_domain(u, -1.0, 1.0).map_or(f64::INFINITY, |u| u * y + self.epsilon * u.abs())
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        clipped_ratio(beyond_tube(m - y, self.epsilon), q, -1.0, 1.0)
    }

    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_nonnegative("epsilon_insensitive.epsilon", self.epsilon)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_real(row, y)
    }
}

/// The slope on the side of a kink where `r` lies; 0 at the kink, which every interval here contains.
#[inline]
fn side(r: f64, low: f64, high: f64) -> f64 {
    if r > 0.0 {
        high
    } else if r < 0.0 {
        low
    } else {
        0.0
    }
}

/// `r / q` cut off to `[low, high]`, for `q >= 0`; 0 for `0 / 0`.
#[inline]
fn clipped_ratio(r: f64, q: f64, low: f64, high: f64) -> f64 {
    if r == 0.0 { 0.0 } else { (r / q).clamp(low, high) }
}

/// What of a residual sticks out of the tube `[-epsilon, epsilon]`.
#[inline]
fn beyond_tube(r: f64, epsilon: f64) -> f64 {
    (r.abs() - epsilon).max(0.0).copysign(r)
}
