//! Piecewise linear losses of regression. They are not smooth, so that only dual methods accept them.

use fenchel_linalg::Invalid;

use super::{Loss, check_real, onto_domain};

/// `|t - y|`: least absolute deviations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Absolute;

impl Absolute {
    #[inline]
    fn slopes(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }

    fn check_slopes(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// The quantile (pinball) loss: `tau (y - t)` for `t < y`, and `(1 - tau) (t - y)` for `t > y`. The constant `t` that
/// minimises its sum is the `tau`-quantile of the targets.
///
/// R. Koenker and G. Bassett, "Regression quantiles", Econometrica 46 (1978).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// The level, `0 < tau < 1`. With 1/2 it is half of the absolute loss.
    pub tau: f64,
}

impl Quantile {
    #[inline]
    fn slopes(&self) -> (f64, f64) {
        (-self.tau, 1.0 - self.tau)
    }

    fn check_slopes(&self) -> Result<(), Invalid> {
        if self.tau > 0.0 && self.tau < 1.0 {
            return Ok(());
        }
        let (name, value) = ("quantile.tau", self.tau);
        Err(Invalid::Parameter { name, value, expected: "a number between 0 and 1, exclusive" })
    }
}

/// A loss with one slope on each side of its target. The slopes are also the ends of the domain of the conjugate.
macro_rules! two_slopes {
    ($loss:ty, $name:literal) => {
        impl Loss for $loss {
            const NAME: &'static str = $name;

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

            piecewise_linear!();

            #[inline]
            fn conjugate(&self, u: f64, y: f64) -> f64 {
                let (low, high) = self.slopes();
                onto_domain(u, low, high).map_or(f64::INFINITY, |u| u * y)
            }

            #[inline]
            fn conjugate_derivative(&self, _: f64, y: f64) -> f64 {
                y
            }

            #[inline]
            fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
                let (low, high) = self.slopes();
                clipped_ratio(m - y, q, low, high)
            }

            fn check(&self) -> Result<(), Invalid> {
                self.check_slopes()
            }

            fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
                check_real(row, y)
            }
        }
    };
}

two_slopes!(Absolute, "absolute");
two_slopes!(Quantile, "quantile");

/// `max(0, |t - y| - epsilon)`, the loss of support vector regression. Residuals up to `epsilon` cost nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonInsensitive {
    /// Half the width of the interval without loss, `>= 0`. With 0 it is the absolute loss.
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

    piecewise_linear!();

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        onto_domain(u, -1.0, 1.0).map_or(f64::INFINITY, |u| u * y + self.epsilon * u.abs())
    }

    #[inline]
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        y + side(u, -self.epsilon, self.epsilon)
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

/// The derivative of the loss at `r`. At a kink it is 0, which is a subgradient there.
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

/// `r / q` clipped to `[low, high]`, for `q >= 0`. It is 0 for `0 / 0`.
#[inline]
fn clipped_ratio(r: f64, q: f64, low: f64, high: f64) -> f64 {
    if r == 0.0 { 0.0 } else { (r / q).clamp(low, high) }
}

/// The distance of a residual from the interval `[-epsilon, epsilon]`, with its sign.
#[inline]
fn beyond_tube(r: f64, epsilon: f64) -> f64 {
    (r.abs() - epsilon).max(0.0).copysign(r)
}
