//! Exponential families of the targets.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{erfcx, sigmoid, softplus};
use serde::{Deserialize, Serialize};

/// The mean function `a'` of a family, with the other functions that averaging needs. `a` is the log-partition
/// function.
pub trait MeanFunction: Clone + Sync {
    /// `a(t)`.
    fn log_partition(&self, t: f64) -> f64;
    /// `a'(t)`.
    fn mean(&self, t: f64) -> f64;
    /// `a''(t)`.
    fn variance(&self, t: f64) -> f64;
    /// `a'''(t)`.
    fn third(&self, t: f64) -> f64;
    /// `E a'(N(m, v))` for `v >= 0`, which is in the mean domain.
    fn smoothed(&self, m: f64, v: f64) -> f64;
    /// `max a''`, or `None` if it is unbounded.
    fn curvature(&self) -> Option<f64>;
    /// The closed interval of possible means.
    fn range(&self) -> (f64, f64);
    /// A description of valid targets, for error messages.
    fn expected(&self) -> &'static str;

    /// Checks a target.
    ///
    /// # Errors
    /// [`Invalid::Target`].
    fn check(&self, row: usize, y: f64) -> Result<(), Invalid> {
        let (low, high) = self.range();
        if y >= low && y <= high && y.is_finite() {
            return Ok(());
        }
        Err(Invalid::Target { row, value: y, expected: self.expected() })
    }
}

/// The logistic model. Targets are 0 and 1, or probabilities between them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bernoulli;

/// `E sigma(N(m, v))` to about 1e-13, relative, for `m <= 0`.
///
/// The trapezoidal rule converges like `e^(-2 pi a / h)` for a function that is analytic in a strip of half-width `a`. The poles
/// of `sigma(m + s z)` are at `|Im z| >= pi / s`. For large `s` the expectation is `int sigma'(t) Phi((m - t) / s) dt` instead,
/// whose poles are at `|Im t| >= pi`.
fn smoothed_sigmoid(m: f64, v: f64) -> f64 {
    let s = v.sqrt();
    if s <= 2.0 {
        // The integrand is at most e^(m + s z - z^2 / 2), which is largest at z = s.
        const STEP: f64 = 0.3;
        let last = ((9.0 + s) / STEP).ceil() as i32;
        let terms = (-last..=last).map(|k| {
            let z = f64::from(k) * STEP;
            sigmoid(m + s * z) * (-0.5 * z * z).exp()
        });
        return terms.sum::<f64>() * STEP / std::f64::consts::TAU.sqrt();
    }
    const STEP: f64 = 0.55;
    let peak = m + v;
    if peak + 9.0 * s < -37.0 {
        // All of the mass is where sigma(t) is e^t.
        return (m + 0.5 * v).exp();
    }
    // e^-750 is 0.
    let first = ((peak - 9.0 * s).clamp(-750.0, -40.0) / STEP).floor() as i32;
    let last = (40.0 / STEP) as i32;
    let terms = (first..=last).map(|k| {
        let t = f64::from(k) * STEP;
        let z = (m - t) / s * std::f64::consts::FRAC_1_SQRT_2;
        // Phi, without cancellation below 0.
        let tail = 0.5 * erfcx(z.abs()) * (-z * z).exp();
        sigmoid(t) * sigmoid(-t) * if z < 0.0 { tail } else { 1.0 - tail }
    });
    terms.sum::<f64>() * STEP
}

impl MeanFunction for Bernoulli {
    fn log_partition(&self, t: f64) -> f64 {
        softplus(t)
    }

    fn mean(&self, t: f64) -> f64 {
        sigmoid(t)
    }

    fn variance(&self, t: f64) -> f64 {
        sigmoid(t) * sigmoid(-t)
    }

    fn third(&self, t: f64) -> f64 {
        let (p, q) = (sigmoid(t), sigmoid(-t));
        p * q * (q - p)
    }

    fn smoothed(&self, m: f64, v: f64) -> f64 {
        if m > 0.0 { 1.0 - smoothed_sigmoid(-m, v) } else { smoothed_sigmoid(m, v) }
    }

    fn curvature(&self) -> Option<f64> {
        Some(0.25)
    }

    fn range(&self) -> (f64, f64) {
        (0.0, 1.0)
    }

    fn expected(&self) -> &'static str {
        "0, 1 or a probability between"
    }
}

/// Poisson regression with the log link. The second derivative `a''` has no bound, so that a constant step may
/// diverge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poisson;

impl MeanFunction for Poisson {
    fn log_partition(&self, t: f64) -> f64 {
        t.exp()
    }

    fn mean(&self, t: f64) -> f64 {
        t.exp()
    }

    fn variance(&self, t: f64) -> f64 {
        t.exp()
    }

    fn third(&self, t: f64) -> f64 {
        t.exp()
    }

    fn smoothed(&self, m: f64, v: f64) -> f64 {
        (m + 0.5 * v).exp()
    }

    fn curvature(&self) -> Option<f64> {
        None
    }

    fn range(&self) -> (f64, f64) {
        (0.0, f64::MAX)
    }

    fn expected(&self) -> &'static str {
        "a finite number >= 0"
    }
}

/// Least squares, for real targets. The two kinds of averages coincide here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaussian;

impl MeanFunction for Gaussian {
    fn log_partition(&self, t: f64) -> f64 {
        0.5 * t * t
    }

    fn mean(&self, t: f64) -> f64 {
        t
    }

    fn variance(&self, _: f64) -> f64 {
        1.0
    }

    fn third(&self, _: f64) -> f64 {
        0.0
    }

    fn smoothed(&self, m: f64, _: f64) -> f64 {
        m
    }

    fn curvature(&self) -> Option<f64> {
        Some(1.0)
    }

    fn range(&self) -> (f64, f64) {
        (f64::MIN, f64::MAX)
    }

    fn expected(&self) -> &'static str {
        "a finite number"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against quadrature with 40 digits (mpmath), on both sides of the switch and in the tails.
    #[test]
    fn smoothed_means_are_expectations() {
        for (m, v, expected) in [
            (0.3, 0.0, 5.74442516811659e-1),
            (-1.5, 0.01, 1.82898239834803e-1),
            (0.0, 4.0, 5.00000000000000e-1),
            (-2.0, 4.0, 2.24799754603336e-1),
            (1.5, 3.9, 7.16449934550499e-1),
            (1.5, 4.1, 7.13591217712634e-1),
            (-30.0, 4.0, 6.91440010667917e-13),
            (-30.0, 1.0, 1.54281120319124e-13),
            (-100.0, 16.0, 1.10893901931218e-40),
            (-100.0, 150.0, 3.75689726747109e-16),
            (3.0, 16.0, 7.53429974049425e-1),
            (-2.5, 100.0, 4.02832564604171e-1),
            (2.5, 100.0, 5.97167435395829e-1),
            (-40.0, 10000.0, 3.44602481673639e-1),
            (5.0, 1000000.0, 5.01994699809624e-1),
            (-300.0, 300.0, 3.58754798657836e-66),
        ] {
            let found = Bernoulli.smoothed(m, v);
            assert!((found / expected - 1.0_f64).abs() < 2e-12, "{m} {v}: {found} {expected}");
        }
        assert_eq!(Poisson.smoothed(1.0, 2.0), 2f64.exp());
    }
}
