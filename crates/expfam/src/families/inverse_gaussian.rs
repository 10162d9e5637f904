//! The inverse Gaussian family: first passage times of a Brownian motion with drift.

use fenchel_linalg::{Invalid, lanes};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::divergence::phi;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_shape, mean_in, natural_in, point_in};
use crate::samplers::standard_normal;
use crate::special::scaled_exponential_integral;

/// `p(x) = sqrt(l / (2 pi x^3)) exp(-l (x - m)^2 / (2 m^2 x))` for `x > 0`, by mean `m` and shape `l`: statistic
/// `T(x) = (x, 1/x)`, natural parameter `eta = (-l / (2 m^2), -l / 2)`, log-partition function
/// `A = -l / m - log(l) / 2`, mean `mu = (m, 1/m + 1/l)`.
///
/// The natural domain is taken as open: its border `eta_1 = 0` is the Levy law, which has no mean. Centred coordinates
/// are `(m, 1/l)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InverseGaussian;

impl InverseGaussian {
    /// The member with the given mean and shape; the variance is `m^3 / l`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both are positive and finite.
    pub fn with_mean_shape(self, mean: f64, shape: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("mean", mean)?;
        Invalid::check_positive("shape", shape)?;
        Distribution::from_natural(self, &[-0.5 * shape / mean / mean, -0.5 * shape])
    }
}

impl Distribution<InverseGaussian> {
    /// `m`.
    pub fn location(&self) -> f64 {
        parts(self.natural()).0
    }

    /// `l`.
    pub fn shape(&self) -> f64 {
        parts(self.natural()).1
    }
}

/// `(m, l)`
fn parts(eta: &[f64]) -> (f64, f64) {
    ((-eta[1]).sqrt() / (-eta[0]).sqrt(), -2.0 * eta[1])
}

const EXPECTED: &str = "E(1/x) - 1/E(x) > 0";

impl Family for InverseGaussian {
    fn name(&self) -> &'static str {
        "inverse Gaussian"
    }

    fn dimension(&self) -> usize {
        2
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[0] < 0.0, 0, eta[0], "a number < 0")?;
        natural_in(self, eta[1] < 0.0, 1, eta[1], "a number < 0")?;
        let (m, l) = parts(eta);
        let expected = "a number < 0 at which mean and shape are finite";
        natural_in(self, m.is_finite() && l.is_finite(), 1, eta[1], expected)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[0] > 0.0, 0, mu[0], "a number > 0")?;
        let gap = mu[1] - 1.0 / mu[0];
        mean_in(self, gap > 0.0, 1, gap, EXPECTED)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        -2.0 * ((-eta[0]).sqrt() * (-eta[1]).sqrt()) - 0.5 * (-2.0 * eta[1]).ln()
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let (m, l) = parts(eta);
        mu[0] = m;
        mu[1] = 1.0 / m + 1.0 / l;
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, mu[0] > 0.0, 0, mu[0], "a number > 0")?;
        self.natural_from_centred(&[mu[0], mu[1] - 1.0 / mu[0]], eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (m, l) = parts(eta);
        let cross = -m / l;
        out.copy_from_slice(&[m * m * m / l, cross, cross, (1.0 / m + 2.0 / l) / l]);
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        -0.5 * (1.0 - (-2.0 * eta[1]).ln())
    }

    /// `phi(l' / l) / 2 + l' (m - m')^2 / (2 m m'^2)`.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let (m, l) = (parts(p).0, -2.0 * q[1]);
        // m^2 / m'^2 = (1 + a) (1 + b), and from it (m - m') / m'.
        let (a, b) = ((p[1] - q[1]) / q[1], (q[0] - p[0]) / p[0]);
        let root = |p: f64, q: f64| (-p).sqrt() / (-q).sqrt();
        let ratio = root(p[1], q[1]) * root(q[0], p[0]);
        let near = a.abs() < 0.5 && b.abs() < 0.5;
        let off = if near { (a + b + a * b) / (1.0 + ratio) } else { ratio - 1.0 };
        let own = l.sqrt() / m.sqrt() * off;
        0.5 * (phi(p[1], q[1]) + own * own)
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c[0] = mu[0];
        c[1] = mu[1] - 1.0 / mu[0];
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        mu[0] = c[0];
        mu[1] = c[1] + 1.0 / c[0];
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        let (m, l) = parts(eta);
        c[0] = m;
        c[1] = 1.0 / l;
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, c[0] > 0.0, 0, c[0], "a number > 0")?;
        mean_in(self, c[1] > 0.0, 1, c[1], EXPECTED)?;
        eta[0] = -0.5 / c[1] / c[0] / c[0];
        eta[1] = -0.5 / c[1];
        Ok(())
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let mean = into[0] + share * (other[0] - into[0]);
        let between = |part: f64| {
            let d = (part - mean) / mean;
            d * d / part
        };
        into[1] += share * (other[1] - into[1])
            + (1.0 - share) * between(into[0])
            + share * between(other[0]);
        into[0] = mean;
    }
}

impl Density for InverseGaussian {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite() && (1.0 / x).is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
        out[1] = 1.0 / x;
    }

    fn log_base(&self, x: &f64) -> f64 {
        -HALF_LOG_TAU - 1.5 * x.ln()
    }

    /// `E log x = log m - e^(2l/m) E_1(2l/m)`.
    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        let (m, l) = parts(eta);
        Ok(-HALF_LOG_TAU - 1.5 * (m.ln() - scaled_exponential_integral(1.0, 2.0 * l / m)))
    }

    fn centred(&self, x: &f64, c: &mut [f64]) {
        c[0] = *x;
        c[1] = 0.0;
    }

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        let (m, l) = parts(eta);
        let d = (x - m) / m;
        0.5 * (l.ln() - l * d * d / x) - 1.5 * x.ln() - HALF_LOG_TAU
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (m, l) = parts(eta);
        let constant = 0.5 * l.ln() - HALF_LOG_TAU;
        let (half, inverse) = (-0.5 * l, 1.0 / m);
        super::batch::each_positive(
            x,
            out,
            #[inline(always)]
            |x: f64| {
                let d = (x - m) * inverse;
                half * d * d / x + (constant - 1.5 * lanes::ln(x))
            },
            |x| self.log_density(eta, &x),
        );
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let mean = super::batch::mean(x);
        c[0] = mean;
        // The mean of 1/x - 1/mean, whose terms in x - mean add up to 0.
        c[1] = super::batch::mean_of(
            x,
            #[inline(always)]
            |x| {
                let d = (x - mean) / mean;
                d * d / x
            },
        );
    }
}

impl Sample for InverseGaussian {
    type Owned = f64;

    /// J. R. Michael, W. R. Schucany, R. W. Haas (1976), with the smaller root in the form that does not cancel.
    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let (m, l) = parts(eta);
        let z = standard_normal(rng);
        let a = 0.5 * m * z * z / l;
        let ratio = 1.0 / (1.0 + a + (a * (2.0 + a)).sqrt());
        let x = if rng.random::<f64>() * (1.0 + ratio) <= 1.0 { m * ratio } else { m / ratio };
        x.clamp(1e-308, f64::MAX)
    }
}
