//! The continuous Bernoulli family: numbers between 0 and 1 with an exponential density.

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_shape, mean_in, point_in};
use crate::samplers::open_uniform;
use crate::special::{
    bessel_ratio, bessel_ratio_slope, integrate_along, inverse_bessel_ratio, ln_sinhc, logit,
};

/// `p(x) ~ lambda^x (1 - lambda)^(1 - x)` for `x` in [0, 1]: statistic `T(x) = x`, natural parameter
/// `eta = log(lambda / (1 - lambda))`, log-partition function `A = log((e^eta - 1) / eta)`, mean
/// `mu = 1 / (1 - e^-eta) - 1 / eta`.
///
/// The computation uses `k = |eta| / 2`. Then `A = eta / 2 + log(sinh(k) / k)` and `mu = (1 +- R(k)) / 2`, where
/// `R = coth(k) - 1 / k` is the mean length of the von Mises-Fisher law in three dimensions.
///
/// Reference: G. Loaiza-Ganem, J. P. Cunningham, "The continuous Bernoulli" (2019).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuousBernoulli;

impl ContinuousBernoulli {
    /// The member with parameter `lambda`; the mean is another number.
    ///
    /// # Errors
    /// [`Error::OutsideMeanDomain`] unless `0 < lambda < 1`.
    pub fn with_lambda(self, lambda: f64) -> Result<Distribution<Self>, Error> {
        let inside = lambda > 0.0 && lambda < 1.0;
        mean_in(&self, inside, 0, lambda, "a lambda inside (0, 1)")?;
        Distribution::from_natural(self, &[logit(lambda)])
    }
}

/// `1 - R(k) = 1 / k - 2 / (e^(2k) - 1)` for `k` not small.
fn deficit(k: f64) -> f64 {
    if k < 1.0 { 1.0 - bessel_ratio(3, k) } else { 1.0 / k - 2.0 / (2.0 * k).exp_m1() }
}

impl Family for ContinuousBernoulli {
    fn name(&self) -> &'static str {
        "continuous Bernoulli"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[0] > 0.0 && mu[0] < 1.0, 0, mu[0], "a number inside (0, 1)")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let t = eta[0];
        if t.abs() > 4.0 {
            return t.max(0.0) + (-(-t.abs()).exp()).ln_1p() - t.abs().ln();
        }
        0.5 * t + ln_sinhc(0.5 * t.abs())
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let rest = 0.5 * deficit(0.5 * eta[0].abs());
        mu[0] = if eta[0] < 0.0 { rest } else { 1.0 - rest };
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, mu[0] > 0.0 && mu[0] < 1.0, 0, mu[0], "a number inside (0, 1)")?;
        let r = 2.0 * mu[0] - 1.0;
        let missing = 2.0 * mu[0].min(1.0 - mu[0]);
        eta[0] = 2.0 * inverse_bessel_ratio(3, r.abs(), missing) * r.signum();
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let k = 0.5 * eta[0].abs();
        out[0] = 0.25
            * if k < 0.7 {
                bessel_ratio_slope(3, k)
            } else {
                let s = 1.0 / k.sinh();
                (1.0 / k - s) * (1.0 / k + s)
            };
    }

    /// The divergence from the uniform law, for which `A = 0`.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.kl(eta, &[0.0])
    }

    /// The pair is reflected so that the mean is below 1/2, where `A` has no linear part. Short steps use the integral
    /// of the variance.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let (p, q) = if p[0] <= 0.0 { (p[0], q[0]) } else { (-p[0], -q[0]) };
        let d = q - p;
        if d.abs() < 4.0 || (d < -0.6 * p && d > 1.5 * p) {
            return integrate_along([(1.0, 1.0)], |s, t| {
                t * self.variance_along(&[p + s * d], &[d])
            });
        }
        let mut mu = [0.0];
        self.mean(&[p], &mut mu);
        self.log_partition(&[q]) - self.log_partition(&[p]) - mu[0] * d
    }
}

impl Density for ContinuousBernoulli {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, (0.0..=1.0).contains(&x), x, "a number in [0, 1]")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, _: &f64) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (slope, constant) = (eta[0], -self.log_partition(eta));
        super::batch::each(
            x,
            out,
            #[inline(always)]
            |x| slope * x + constant,
        );
    }
}

impl Sample for ContinuousBernoulli {
    type Owned = f64;

    /// Draws by inversion of `(e^(eta x) - 1) / (e^eta - 1)`. A positive `eta` uses reflection.
    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let (u, t) = (open_uniform(rng), -eta[0].abs());
        let x = if t > -1e-8 { u } else { ((u * t.exp_m1()).ln_1p() / t).clamp(0.0, 1.0) };
        if eta[0] > 0.0 { 1.0 - x } else { x }
    }
}
