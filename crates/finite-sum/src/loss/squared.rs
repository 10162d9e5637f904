//! The squared loss.

use fenchel_linalg::Invalid;
use fenchel_optim::Loss;

use super::check_real;

/// `(t - y)^2 / 2`.
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
        check_real(row, y)
    }
}
