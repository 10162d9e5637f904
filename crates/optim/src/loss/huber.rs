//! The loss of robust regression.

use fenchel_linalg::Invalid;

use super::{Loss, check_real, onto_domain};

/// With the residual `r = t - y` it is `r^2 / 2` for `|r| <= delta`, and the tangent `delta |r| - delta^2 / 2` for
/// larger residuals. So the derivative is at most `delta` in absolute value.
///
/// P. J. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35 (1964).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Huber {
    /// The absolute residual above which the loss is linear, `> 0`.
    pub delta: f64,
}

impl Loss for Huber {
    const NAME: &'static str = "Huber";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        let r = (t - y).abs();
        if r <= self.delta { 0.5 * r * r } else { self.delta * (r - 0.5 * self.delta) }
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        (t - y).clamp(-self.delta, self.delta)
    }

    #[inline]
    fn second(&self, t: f64, y: f64) -> f64 {
        if (t - y).abs() <= self.delta { 1.0 } else { 0.0 }
    }

    #[inline]
    fn curvature(&self) -> f64 {
        1.0
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        let Some(u) = onto_domain(u, -self.delta, self.delta) else { return f64::INFINITY };
        u * (0.5 * u + y)
    }

    #[inline]
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        u + y
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        ((m - y) / (1.0 + q)).clamp(-self.delta, self.delta)
    }

    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_positive("huber.delta", self.delta)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_real(row, y)
    }
}
