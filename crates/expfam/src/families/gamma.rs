//! The gamma family: positive numbers with two free parameters.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log1pmx;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::divergence::phi;
use crate::error::Error;
use crate::family::{
    Density, Family, Sample, check_less_one, check_shape, mean_in, natural_in, point_in,
};
use crate::samplers::log_gamma_variable;
use crate::special::{
    deviance, digamma, gamma_entropy, gamma_shape, ln_gamma_scaled, log_minus_digamma,
    shape_divergence, stirling_error, trigamma,
};

/// `p(x) = b^a x^(a-1) e^(-b x) / Gamma(a)` for `x > 0`, by shape `a` and rate `b`.
///
/// Statistic `T(x) = (log x, x)`, natural parameter `eta = (a - 1, -b)`, log-partition function
/// `A = log Gamma(a) - a log b`, mean `mu = (psi(a) - log b, a / b)`. Centred coordinates are
/// `(E x, log E x - E log x)`; the second entry depends only on the shape.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gamma;

impl Gamma {
    /// The member with this shape and rate; its mean is `shape / rate`, infinite where this quotient overflows.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both are positive and finite, and for a shape below 5.6e-17, which `shape - 1` loses;
    /// [`Error::OutsideNaturalDomain`] for a shape above 1e305.
    pub fn with_shape_rate(self, shape: f64, rate: f64) -> Result<Distribution<Self>, Error> {
        check_less_one("shape", shape)?;
        Invalid::check_positive("rate", rate)?;
        Distribution::from_natural(self, &[shape - 1.0, -rate])
    }
}

impl Distribution<Gamma> {
    /// `a`.
    pub fn shape(&self) -> f64 {
        self.natural()[0] + 1.0
    }

    /// `b`.
    pub fn rate(&self) -> f64 {
        -self.natural()[1]
    }
}

const EXPECTED: &str = "log E x - E log x > 0";

/// The largest shape: `ln Gamma` overflows beyond 2.5e305.
pub(crate) const LARGEST: f64 = 1e305;

impl Family for Gamma {
    fn name(&self) -> &'static str {
        "gamma"
    }

    fn dimension(&self) -> usize {
        2
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[0] > -1.0, 0, eta[0], "a number > -1")?;
        natural_in(self, eta[0] <= LARGEST, 0, eta[0], "at most 1e305")?;
        natural_in(self, eta[1] < 0.0, 1, eta[1], "a number < 0")
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[1] > 0.0, 1, mu[1], "a number > 0")?;
        let gap = mu[1].ln() - mu[0];
        mean_in(self, gap > 0.0, 0, gap, EXPECTED)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let a = eta[0] + 1.0;
        ln_gamma_scaled(a, (-eta[1]).ln())
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let (a, b) = (eta[0] + 1.0, -eta[1]);
        mu[0] = digamma(a) - b.ln();
        mu[1] = a / b;
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, mu[1] > 0.0, 1, mu[1], "a number > 0")?;
        self.natural_from_centred(&[mu[1], mu[1].ln() - mu[0]], eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (a, b) = (eta[0] + 1.0, -eta[1]);
        out.copy_from_slice(&[trigamma(a), 1.0 / b, 1.0 / b, a / b / b]);
    }

    /// `(a - 1) psi(a) - log Gamma(a) - a + log b`.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        (-eta[1]).ln() - gamma_entropy(eta[0] + 1.0)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let shapes = (p[0] + 1.0, q[0] + 1.0);
        divergence((shapes.0, -p[1]), (shapes.1, -q[1]), (q[0] - p[0], p[1] - q[1]))
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c[0] = mu[1];
        c[1] = mu[1].ln() - mu[0];
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        mu[0] = c[0].ln() - c[1];
        mu[1] = c[0];
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        let a = eta[0] + 1.0;
        c[0] = -a / eta[1];
        c[1] = log_minus_digamma(a);
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, c[0] > 0.0, 1, c[0], "a number > 0")?;
        mean_in(self, c[1] > 0.0, 0, c[1], EXPECTED)?;
        let a = gamma_shape(c[1]);
        eta[0] = a - 1.0;
        eta[1] = -a / c[0];
        Ok(())
    }

    /// `log E x - E log x` of a mixture is the mean of the parts' own plus that between their means.
    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let mean = into[0] + share * (other[0] - into[0]);
        let between = (1.0 - share) * phi(mean, into[0]) + share * phi(mean, other[0]);
        into[1] += share * (other[1] - into[1]) + between;
        into[0] = mean;
    }
}

/// `KL` from `(a, b)` to `(a', b')`, given the differences of the parameters. It is a sum of two positive parts:
/// `a' phi(w)` with the ratio `w` of the means, and the divergence due to the shapes.
pub(crate) fn divergence((a, b): (f64, f64), (to, rate): (f64, f64), (da, db): (f64, f64)) -> f64 {
    // w - 1 with w = (b' / b) / (a' / a).
    let near = da.abs() < 0.5 * a && db.abs() < 0.5 * b;
    let u = if near { (db / b - da / a) * (a / to) } else { (rate / b) * (a / to) - 1.0 };
    let scale = if u.abs() < 0.5 {
        -to * log1pmx(u)
    } else {
        // The logarithms of large and small numbers apart, whose quotients may overflow.
        let logs = (rate.ln() - b.ln()) - (to.ln() - a.ln());
        let product = rate / b * a;
        let mean = if product.is_normal() { product } else { (rate.ln() - b.ln() + a.ln()).exp() };
        mean - to * (1.0 + logs)
    };
    scale + shape_divergence(a, to, da)
}

/// From this shape on, densities have the saddle-point form.
pub(crate) const LARGE: f64 = 10.0;

/// `log p(x)` by shape `a`, `a - 1` and rate. For a large shape it is the deviance of `b x` from `a` and Stirling's
/// formula, since the plain terms are far larger than their sum.
pub(crate) fn log_density((a, less): (f64, f64), rate: f64, x: f64) -> f64 {
    if a < LARGE {
        return less * x.ln() - rate * x - ln_gamma_scaled(a, rate.ln());
    }
    log_density_of_log(a, rate * x, rate.ln() + x.ln()) - x.ln()
}

/// The log-density of `log y` for a gamma variable `y` of rate 1 and large shape.
pub(crate) fn log_density_of_log(a: f64, y: f64, log: f64) -> f64 {
    0.5 * a.ln() - HALF_LOG_TAU - stirling_error(a) - deviance(a, y, log)
}

impl Density for Gamma {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = x.ln();
        out[1] = *x;
    }

    fn log_base(&self, _: &f64) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn centred(&self, x: &f64, c: &mut [f64]) {
        c[0] = *x;
        c[1] = 0.0;
    }

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        log_density((eta[0] + 1.0, eta[0]), -eta[1], *x)
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        if eta[0] >= LARGE {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = self.log_density(eta, x));
            return;
        }
        let constant = self.log_partition(eta);
        super::batch::logs_and_values(x, (eta[0], eta[1], -constant), out);
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let mean = super::batch::mean(x);
        c[0] = mean;
        // The mean of -log(x / mean), whose terms x / mean - 1 add up to 0.
        c[1] = super::batch::mean_excess_of_logs(x, mean);
    }
}

impl Sample for Gamma {
    type Owned = f64;

    /// Draws that underflow are returned as the smallest positive number.
    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> f64 {
        let log = log_gamma_variable(eta[0] + 1.0, &mut rng);
        (log - (-eta[1]).ln()).exp().max(f64::MIN_POSITIVE)
    }
}
