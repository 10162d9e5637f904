//! Convex functions with their conjugates, `f*(y) = sup_x <x, y> - f(x)`.
//!
//! Fenchel duality says that `min_x f(x) + g(A x)` is at least `-f*(-A'y) - g*(y)` for every `y`. There is equality
//! at the best `y` if some point lies inside both domains. The saddle form is `min_x max_y f(x) + <A x, y> - g*(y)`.
//! (D. Babichev, PhD thesis 2019, section 1.3, has the opposite sign of the bilinear term, which corresponds to
//! `g*(-y)`.)

use fenchel_linalg::special::{entropy, log_sum_exp, softplus, xlogx};

/// A closed convex function and its conjugate. Values may be `+inf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Conjugate {
    /// `norm(x)^2 / 2`, its own conjugate.
    HalfSquare,
    /// `sum abs(x_i)`; conjugate: 0 in the box `abs(y_i) <= 1`.
    L1,
    /// `sum x ln x` on the simplex; conjugate: `ln sum e^y`.
    Entropy,
    /// `sum max(0, 1 - x_i)`; conjugate: `sum y_i` on `-1 <= y_i <= 0`.
    Hinge,
    /// `sum ln(1 + e^{-x_i})`; conjugate: `sum (-y) ln(-y) + (1 + y) ln(1 + y)` on `-1 <= y_i <= 0`.
    Logistic,
}

/// Tolerance for rounding errors at the boundary of a domain.
const EDGE: f64 = 1e-9;

impl Conjugate {
    /// `f(x)`.
    pub fn value(self, x: &[f64]) -> f64 {
        match self {
            Conjugate::HalfSquare => 0.5 * x.iter().map(|x| x * x).sum::<f64>(),
            Conjugate::L1 => x.iter().map(|x| x.abs()).sum(),
            Conjugate::Entropy => {
                let total: f64 = x.iter().sum();
                let inside = x.iter().all(|x| *x >= 0.0) && (total - 1.0).abs() <= EDGE;
                if inside { -entropy(x) } else { f64::INFINITY }
            }
            Conjugate::Hinge => x.iter().map(|x| (1.0 - x).max(0.0)).sum(),
            Conjugate::Logistic => x.iter().map(|x| softplus(-x)).sum(),
        }
    }

    /// `f*(y)`.
    pub fn conjugate(self, y: &[f64]) -> f64 {
        let between =
            |low: f64, high: f64| y.iter().all(|y| (low - EDGE..=high + EDGE).contains(y));
        match self {
            Conjugate::HalfSquare => self.value(y),
            Conjugate::L1 => {
                if between(-1.0, 1.0) {
                    0.0
                } else {
                    f64::INFINITY
                }
            }
            Conjugate::Entropy => log_sum_exp(y),
            Conjugate::Hinge => {
                if between(-1.0, 0.0) {
                    y.iter().sum()
                } else {
                    f64::INFINITY
                }
            }
            Conjugate::Logistic if between(-1.0, 0.0) => y
                .iter()
                .map(|y| xlogx((-y).clamp(0.0, 1.0)) + xlogx((1.0 + y).clamp(0.0, 1.0)))
                .sum(),
            Conjugate::Logistic => f64::INFINITY,
        }
    }

    /// A maximiser of `<x, y> - f*(y)`: a subgradient of `f`.
    pub fn subgradient(self, x: &[f64], out: &mut [f64]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = match self {
                Conjugate::HalfSquare => *x,
                Conjugate::L1 if *x == 0.0 => 0.0,
                Conjugate::L1 => x.signum(),
                Conjugate::Entropy => 1.0 + x.max(f64::MIN_POSITIVE).ln(),
                Conjugate::Hinge => {
                    if *x < 1.0 {
                        -1.0
                    } else {
                        0.0
                    }
                }
                Conjugate::Logistic => -1.0 / (1.0 + x.exp()),
            };
        }
    }
}

/// Losses of a margin `m = y f(x)`, for two classes with `y` in {-1, 1}. D. Babichev, PhD thesis 2019, draws them in
/// Figure 1-1.
///
/// All but the first are convex. Each convex loss is an upper bound of the zero-one loss, scaled so that it is 1 at
/// `m = 0`, and decreases there. Then a minimiser over all functions has the sign of the best classifier (Bartlett,
/// Jordan and McAuliffe, 2006).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarginLoss {
    /// The zero-one loss: 1 for `m <= 0`, else 0. It is not convex.
    ZeroOne,
    /// `(1 - m)^2`.
    Quadratic,
    /// `max(0, 1 - m)`.
    Hinge,
    /// `ln(1 + e^{-m}) / ln 2`.
    Logistic,
    /// `e^{-m}`.
    Exponential,
}

impl MarginLoss {
    /// All of them, in the order of the figure.
    pub const ALL: [MarginLoss; 5] = [
        MarginLoss::ZeroOne,
        MarginLoss::Quadratic,
        MarginLoss::Hinge,
        MarginLoss::Logistic,
        MarginLoss::Exponential,
    ];

    /// The loss at a margin.
    pub fn value(self, margin: f64) -> f64 {
        match self {
            MarginLoss::ZeroOne => f64::from(margin <= 0.0),
            MarginLoss::Quadratic => (1.0 - margin).powi(2),
            MarginLoss::Hinge => (1.0 - margin).max(0.0),
            MarginLoss::Logistic => softplus(-margin) / std::f64::consts::LN_2,
            MarginLoss::Exponential => (-margin).exp(),
        }
    }
}
