//! The common part of the families with `A(eta) = -a log(-eta) + c`, `eta < 0`: exponential, gamma of known shape,
//! Rayleigh, Weibull, Pareto, Laplace, normal of known mean.
//!
//! All of them have the mean `mu = -a / eta`, the conjugate `A*(mu) = a log(a) - a - a log(mu) - c`, the Fisher
//! information `I = a / eta^2`, and `KL(p || q) = a phi(eta_q / eta_p)` with `phi(z) = z - 1 - log z`. The conjugate
//! prior of `-eta` is `Gamma(n0 a + 1, n0 mu0)`.

use crate::divergence::phi;
use crate::special::ln_gamma;

/// `a phi(q / p)`.
pub(crate) fn kl(shape: f64, p: f64, q: f64) -> f64 {
    shape * phi(p, q)
}

/// `log of the integral of exp(n0 (mu0 eta + a log(-eta) - c))` over `eta < 0`.
pub(crate) fn log_prior_normaliser(shape: f64, offset: f64, weight: f64, mean: f64) -> f64 {
    let order = weight * shape + 1.0;
    ln_gamma(order) - order * (weight * mean).ln() - weight * offset
}

/// Implements [`Family`](crate::family::Family) and [`Evidence`](crate::family::Evidence) for a type with a shape `a` and an offset `c`.
macro_rules! scale_family {
    ($type:ty, $name:literal, $shape:expr, $offset:expr) => {
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
                let (shape, offset): (fn(&$type) -> f64, fn(&$type) -> f64) = ($shape, $offset);
                offset(self) - shape(self) * (-eta[0]).ln()
            }

            fn mean(&self, eta: &[f64], mu: &mut [f64]) {
                let shape: fn(&$type) -> f64 = $shape;
                mu[0] = -shape(self) / eta[0];
            }

            fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), $crate::error::Error> {
                let shape: fn(&$type) -> f64 = $shape;
                $crate::family::mean_in(self, mu[0] > 0.0, 0, mu[0], "a number > 0")?;
                eta[0] = -shape(self) / mu[0];
                Ok(())
            }

            fn fisher(&self, eta: &[f64], out: &mut [f64]) {
                let shape: fn(&$type) -> f64 = $shape;
                out[0] = shape(self) / eta[0] / eta[0];
            }

            fn conjugate_at(&self, eta: &[f64]) -> f64 {
                let shape: fn(&$type) -> f64 = $shape;
                -shape(self) - self.log_partition(eta)
            }

            fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
                let shape: fn(&$type) -> f64 = $shape;
                $crate::families::scale::kl(shape(self), p[0], q[0])
            }

            fn self_concordance(&self) -> Option<f64> {
                let shape: fn(&$type) -> f64 = $shape;
                Some(1.0 / shape(self).sqrt())
            }
        }

        impl $crate::family::Evidence for $type {
            fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
                let (shape, offset): (fn(&$type) -> f64, fn(&$type) -> f64) = ($shape, $offset);
                $crate::families::scale::log_prior_normaliser(
                    shape(self),
                    offset(self),
                    weight,
                    centred[0],
                )
            }
        }
    };
}
pub(crate) use scale_family;
