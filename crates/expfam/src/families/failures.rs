//! The common part of the geometric and negative binomial families: numbers of failures before the `r`-th success.
//!
//! Both have the statistic `T(x) = x`, the natural parameter `eta = log(1 - p) < 0`, the log-partition function
//! `A = -r log(1 - e^eta)`, the mean `mu = r / (e^-eta - 1)`, and the conjugate
//! `A* = mu log(mu / (mu + r)) + r log(r / (mu + r))`. The conjugate prior of `p` is `Beta(n0 r + 1, n0 mu0)`.

use fenchel_linalg::special::log1pmx;
use rand::Rng;

use crate::divergence::{exp_excess, phi};
use crate::samplers::log_gamma_variable;

/// `KL` of two members: `r` times that of one success, from the odds of single trials.
pub(crate) fn kl(r: f64, a: f64, b: f64) -> f64 {
    let d = b - a;
    let success = -a.exp_m1();
    let failure = a.exp();
    // p' / p - 1.
    let u = -failure * d.exp_m1() / success;
    let lost = if d < 1.0 {
        failure * exp_excess(d) / success
    } else {
        (b.exp() - failure * (1.0 + d)) / success
    };
    let kept = if u.abs() < 0.5 { -log1pmx(u) } else { phi(a.exp_m1(), b.exp_m1()) };
    r * (kept + lost)
}

/// `(1 - p) / p = e^eta / (1 - e^eta)`
pub(crate) fn odds(eta: f64) -> f64 {
    eta.exp() / -eta.exp_m1()
}

/// A Poisson variable whose rate is a gamma variable.
pub(crate) fn draw(r: f64, eta: f64, mut rng: &mut dyn Rng) -> f64 {
    let odds = odds(eta);
    let rate = (log_gamma_variable(r, &mut rng) + odds.ln()).exp();
    super::poisson::poisson(rate.min(1e300), rng)
}

/// Implements [`Family`](crate::family::Family) and [`Evidence`](crate::family::Evidence) for a type with a number of successes `r`.
macro_rules! failures_family {
    ($type:ty, $name:literal, $r:expr) => {
        impl $crate::family::Family for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn dimension(&self) -> usize {
                1
            }

            fn check_natural(&self, eta: &[f64]) -> Result<(), $crate::error::Error> {
                $crate::family::check_shape(self, "natural parameter", eta)?;
                $crate::family::natural_in(self, eta[0] < 0.0, 0, eta[0], "a number < 0")
            }

            fn check_mean(&self, mu: &[f64]) -> Result<(), $crate::error::Error> {
                $crate::family::check_shape(self, "mean parameter", mu)?;
                $crate::family::mean_in(self, mu[0] > 0.0, 0, mu[0], "a number > 0")
            }

            fn log_partition(&self, eta: &[f64]) -> f64 {
                let r: fn(&$type) -> f64 = $r;
                -r(self) * fenchel_linalg::special::log1mexp(-eta[0])
            }

            fn mean(&self, eta: &[f64], mu: &mut [f64]) {
                let r: fn(&$type) -> f64 = $r;
                mu[0] = r(self) * $crate::families::failures::odds(eta[0]);
            }

            fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), $crate::error::Error> {
                let r: fn(&$type) -> f64 = $r;
                $crate::family::mean_in(self, mu[0] > 0.0, 0, mu[0], "a number > 0")?;
                eta[0] = -(r(self) / mu[0]).ln_1p();
                Ok(())
            }

            fn fisher(&self, eta: &[f64], out: &mut [f64]) {
                let r: fn(&$type) -> f64 = $r;
                out[0] = r(self) * $crate::families::failures::odds(eta[0]) / -eta[0].exp_m1();
            }

            /// The two terms have the same sign, so no digits cancel.
            fn conjugate_at(&self, eta: &[f64]) -> f64 {
                let r: fn(&$type) -> f64 = $r;
                let odds = $crate::families::failures::odds(eta[0]);
                r(self) * (odds * eta[0] + fenchel_linalg::special::log1mexp(-eta[0]))
            }

            fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
                let r: fn(&$type) -> f64 = $r;
                $crate::families::failures::kl(r(self), p[0], q[0])
            }
        }

        impl $crate::family::Evidence for $type {
            fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
                let r: fn(&$type) -> f64 = $r;
                $crate::special::ln_beta(weight * r(self) + 1.0, weight * centred[0])
            }
        }
    };
}
pub(crate) use failures_family;
