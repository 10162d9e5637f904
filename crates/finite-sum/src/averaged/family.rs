//! Exponential families of the targets.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{sigmoid, softplus};
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
    /// `E a'(N(m, v))`. It is in the mean domain for every `v >= 0`.
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

/// Nodes and weights of Gauss-Hermite quadrature with 7 points, for the standard normal law.
const HERMITE: [(f64, f64); 4] = [
    (0.0, 0.457_142_857_142_857_1),
    (1.154_405_394_739_968_1, 0.240_123_178_605_012_72),
    (2.366_759_410_734_541, 0.030_757_123_967_586_5),
    (3.750_439_717_725_742, 0.000_548_268_855_972_217_9),
];

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
        let s = v.sqrt();
        HERMITE
            .iter()
            .map(|&(x, w)| {
                let pair = sigmoid(m + s * x) + sigmoid(m - s * x);
                if x == 0.0 { 0.5 * w * pair } else { w * pair }
            })
            .sum()
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
