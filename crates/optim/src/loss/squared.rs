//! The squared loss.

use fenchel_linalg::Invalid;

use super::Loss;

/// The largest target in absolute value: sums of squares of more would overflow.
const LARGEST: f64 = 1e150;

/// `(t - y)^2 / 2`, for targets between -1e150 and 1e150.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Squared;

impl Loss for Squared {
    const NAME: &'static str = "squared";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        0.5 * (t - y) * (t - y)
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        t - y
    }

    #[inline]
    fn second(&self, _: f64, _: f64) -> f64 {
        1.0
    }

    #[inline]
    fn curvature(&self) -> f64 {
        1.0
    }

    fn quadratic(&self) -> bool {
        true
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        u * (0.5 * u + y)
    }

    #[inline]
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        u + y
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        (m - y) / (1.0 + q)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        if y.abs() <= LARGEST {
            return Ok(());
        }
        let expected =
            "a number between -1e150 and 1e150, whose square is finite; scale the targets down";
        Err(Invalid::Target { row, value: y, expected })
    }
}
