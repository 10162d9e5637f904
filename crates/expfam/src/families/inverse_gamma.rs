//! The inverse gamma family: reciprocals of gamma variables.

use fenchel_linalg::{Invalid, lanes};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::gamma;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::families::Gamma;
use crate::family::{
    Density, Family, Sample, check_less_one, check_shape, mean_in, natural_in, point_in,
};
use crate::special::{digamma, gamma_entropy, log_minus_digamma};

/// `p(x) = b^a x^(-a-1) e^(-b/x) / Gamma(a)` for `x > 0`: statistic `T(x) = (log x, 1/x)`, natural parameter
/// `eta = (-a - 1, -b)`, log-partition function `A = log Gamma(a) - a log b`, mean `mu = (log b - psi(a), a / b)`.
/// All computations are those of the gamma variable `1/x`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InverseGamma;

impl InverseGamma {
    /// The member with the given shape `a` and scale `b`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both are positive and finite, and for a shape below 5.6e-17, which `-shape - 1` loses.
    pub fn with_shape_scale(self, shape: f64, scale: f64) -> Result<Distribution<Self>, Error> {
        check_less_one("shape", shape)?;
        Invalid::check_positive("scale", scale)?;
        Distribution::from_natural(self, &[-shape - 1.0, -scale])
    }
}

impl Distribution<InverseGamma> {
    /// `a`.
    pub fn shape(&self) -> f64 {
        -self.natural()[0] - 1.0
    }

    /// `b`.
    pub fn scale(&self) -> f64 {
        -self.natural()[1]
    }
}

/// The natural parameter of the gamma law of `1/x`.
fn reciprocal(eta: &[f64]) -> [f64; 2] {
    [(-eta[0] - 1.0) - 1.0, eta[1]]
}

impl Family for InverseGamma {
    fn name(&self) -> &'static str {
        "inverse gamma"
    }

    fn dimension(&self) -> usize {
        2
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[0] < -1.0, 0, eta[0], "a number < -1")?;
        natural_in(self, -eta[0] <= gamma::LARGEST, 0, eta[0], "at least -1e305")?;
        natural_in(self, eta[1] < 0.0, 1, eta[1], "a number < 0")
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[1] > 0.0, 1, mu[1], "a number > 0")?;
        let gap = mu[1].ln() + mu[0];
        mean_in(self, gap > 0.0, 0, gap, "log E(1/x) + E log x > 0")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        Gamma.log_partition(&reciprocal(eta))
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        Gamma.mean(&reciprocal(eta), mu);
        mu[0] = -mu[0];
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        self.check_mean(mu)?;
        self.natural_from_centred(&[mu[1], mu[1].ln() + mu[0]], eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        Gamma.fisher(&reciprocal(eta), out);
        out[1] = -out[1];
        out[2] = -out[2];
    }

    /// Less the entropy: `E log x` is that of the gamma law with the other sign.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let a = -eta[0] - 1.0;
        let scale = (-eta[1]).ln();
        if a < gamma::LARGE {
            return 2.0 * digamma(a) - scale - gamma_entropy(a);
        }
        // 2 psi(a) less the 2 log a that the entropy lacks.
        let entropy = gamma_entropy(a) + 2.0 * log_minus_digamma(a) - 2.0 * a.ln();
        -scale - entropy
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        Gamma.kl(&reciprocal(p), &reciprocal(q))
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        Gamma.centred_from_mean(&[-mu[0], mu[1]], c);
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        Gamma.mean_from_centred(c, mu);
        mu[0] = -mu[0];
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        Gamma.centred_from_natural(&reciprocal(eta), c);
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, c[0] > 0.0, 1, c[0], "a number > 0")?;
        mean_in(self, c[1] > 0.0, 0, c[1], "log E(1/x) + E log x > 0")?;
        Gamma.natural_from_centred(c, eta)?;
        eta[0] = -(eta[0] + 1.0) - 1.0;
        Ok(())
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        Gamma.blend(into, share, other);
    }
}

impl Density for InverseGamma {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x.is_finite() && (1.0 / x).is_finite(), x, "a finite number > 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = x.ln();
        out[1] = 1.0 / x;
    }

    fn log_base(&self, _: &f64) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn centred(&self, x: &f64, c: &mut [f64]) {
        c[0] = 1.0 / x;
        c[1] = 0.0;
    }

    /// That of `1 / x`, less `2 log x`.
    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        let a = -eta[0] - 1.0;
        if a < gamma::LARGE {
            return eta[0] * x.ln() + eta[1] / x - self.log_partition(eta);
        }
        gamma::log_density_of_log(a, -eta[1] / x, (-eta[1]).ln() - x.ln()) - x.ln()
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        if eta[0] < -gamma::LARGE {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = self.log_density(eta, x));
            return;
        }
        let (a, b, constant) = (eta[0], eta[1], -self.log_partition(eta));
        super::batch::each_positive(
            x,
            out,
            #[inline(always)]
            |x: f64| a * lanes::ln(x) + (b / x + constant),
            |x| a * x.ln() + (b / x + constant),
        );
    }
}

impl Sample for InverseGamma {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        (1.0 / Gamma.draw(&reciprocal(eta), rng)).clamp(1e-308, f64::MAX)
    }
}
