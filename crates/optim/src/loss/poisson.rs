//! The loss of Poisson regression.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{wright_omega, xlogx};

use super::{Loss, onto_domain};

/// `e^t - y t` with `y >= 0`: the negative log-likelihood of a Poisson variable with mean `e^t` (log link), without
/// the part that depends on `y` only. The targets need not be integers.
///
/// Its derivative has no Lipschitz constant, so that methods with a step size refuse it.
/// Newton's method, and dual coordinate ascent with exact steps, do not use the constant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Poisson;

impl Loss for Poisson {
    const NAME: &'static str = "Poisson";

    fn recession(&self, y: f64) -> f64 {
        if y == 0.0 { -1.0 } else { 0.0 }
    }

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        t.exp() - y * t
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        t.exp() - y
    }

    #[inline]
    fn second(&self, t: f64, _: f64) -> f64 {
        t.exp()
    }

    #[inline]
    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn twice_differentiable(&self) -> bool {
        true
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        // The end `u = -y` rather than `v = 0`: the rounding of a dual variable is relative to it.
        let Some(u) = onto_domain(u, -y, f64::MAX) else { return f64::INFINITY };
        let v = u + y;
        xlogx(v) - v
    }

    #[inline]
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        (u + y).max(0.0).ln()
    }

    /// With `w = q (u + y)` the equation is `w + log w = log q + m + q y`. Nothing overflows, except for `q = 0`.
    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        if q == 0.0 {
            return self.derivative(m, y);
        }
        wright_omega(q.ln() + m + q * y) / q - y
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        if y >= 0.0 && y.is_finite() {
            Ok(())
        } else {
            Err(Invalid::Target { row, value: y, expected: "a finite number >= 0" })
        }
    }
}
