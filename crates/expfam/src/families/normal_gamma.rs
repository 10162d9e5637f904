//! The normal-gamma family of a mean and a precision: the conjugate law of normal observations.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::gamma;
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::divergence::{difference_of_quotients, phi};
use crate::error::Error;
use crate::family::{
    Density, Family, Sample, check_shape, digits_kept, mean_in, natural_in, point_in,
};
use crate::prior::Prior;
use crate::samplers::{log_gamma_variable, standard_normal};
use crate::special::{
    digamma, gamma_entropy, gamma_shape, ln_gamma_scaled, log_minus_digamma, trigamma,
};

/// Points `(m, t)` of a mean `m` and a precision `t`: `t ~ Gamma(a, b)` by shape and rate, and
/// `m | t ~ N(m0, 1 / (k t))`.
///
/// Statistic `T = (log t, t, t m, t m^2)`, natural parameter `eta = (a - 1/2, -b - k m0^2 / 2, k m0, -k / 2)`,
/// log-partition function `A = log Gamma(a) - a log b - log(k) / 2`, mean
/// `mu = (psi(a) - log b, a / b, m0 a / b, 1 / k + m0^2 a / b)`. Centred coordinates are
/// `(E t, log E t - E log t, m0, 1 / k)`. `m0`, `k` and the mean have finite numbers, `E t` does not underflow, and `eta` begins with at most 1e305.
///
/// The posterior of [`Normal`](crate::families::Normal) observations is a member of this family: see [`NormalGamma::of_prior`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NormalGamma;

/// The textbook parameters of [`NormalGamma`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalGammaParameters {
    /// `m0`: the mean of `m`.
    pub location: f64,
    /// `k > 0`: how many observations the location is worth.
    pub weight: f64,
    /// `a > 0`
    pub shape: f64,
    /// `b > 0`
    pub rate: f64,
}

impl NormalGamma {
    /// The member with the given textbook parameters.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`] for the location, [`Invalid::Parameter`] unless the others are positive,
    /// [`Error::OutsideNaturalDomain`] if means overflow. [`Error::Unavailable`] where `k m0^2 / (2 b)` is above 1e10: the natural
    /// parameter is then too coarse for the rate. Subtracting a number near `m0` from all data helps.
    pub fn with_parameters(
        self,
        NormalGammaParameters { location, weight, shape, rate }: NormalGammaParameters,
    ) -> Result<Distribution<Self>, Error> {
        Invalid::check_finite("location", &[location])?;
        Invalid::check_positive("weight", weight)?;
        Invalid::check_positive("shape", shape)?;
        Invalid::check_positive("rate", rate)?;
        digits_kept(&self, 0.5 * weight * location / rate * location)?;
        let along = weight * location;
        let eta = [shape - 0.5, -rate - 0.5 * along * location, along, -0.5 * weight];
        Distribution::from_natural(self, &eta)
    }

    /// The law of mean and precision under a prior or posterior of normal observations.
    ///
    /// # Errors
    /// The errors of [`with_parameters`](Self::with_parameters), if numbers overflow or the location is too far from 0 for the spread
    /// of the data.
    pub fn of_prior(prior: &Prior<crate::families::Normal>) -> Result<Distribution<Self>, Error> {
        let (location, weight, shape, rate) = prior.as_normal_gamma();
        NormalGamma.with_parameters(NormalGammaParameters { location, weight, shape, rate })
    }
}

impl Distribution<NormalGamma> {
    /// Textbook parameters.
    pub fn parameters(&self) -> NormalGammaParameters {
        parts(self.natural())
    }
}

fn parts(eta: &[f64]) -> NormalGammaParameters {
    let weight = -2.0 * eta[3];
    // b = -eta_1 - eta_2^2 / (2 k): what rounding took from square and quotient is put back, since the two may cancel. Exponents are
    // apart, since the square may overflow.
    let ((along, e), (twice, twice_e)) = (libm::frexp(eta[2]), libm::frexp(2.0 * weight));
    let square = along * along;
    let lost = libm::fma(along, along, -square);
    let quotient = square / twice;
    let rest = libm::fma(-quotient, twice, square) + lost;
    let [quotient, rest] = [quotient, rest / twice].map(|x| libm::scalbn(x, 2 * e - twice_e));
    let rate = -eta[1] - quotient - rest;
    NormalGammaParameters { location: eta[2] / weight, weight, shape: eta[0] + 0.5, rate }
}

const GAP: &str = "log E t - E log t > 0";
const SPREAD: &str = "E t m^2 - (E t m)^2 / E t > 0";

impl Family for NormalGamma {
    fn name(&self) -> &'static str {
        "normal-gamma"
    }

    fn dimension(&self) -> usize {
        4
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[0] > -0.5, 0, eta[0], "a number > -1/2")?;
        natural_in(self, eta[3] < 0.0, 3, eta[3], "a number < 0")?;
        let p = parts(eta);
        natural_in(self, p.rate > 0.0, 1, eta[1], "below -eta_2^2 / (2 k)")?;
        natural_in(self, eta[0] <= gamma::LARGEST, 0, eta[0], "at most 1e305")?;
        let mut mu = [0.0; 4];
        self.mean(eta, &mut mu);
        let finite = [p.location, p.weight].iter().chain(&mu).all(|x| x.is_finite());
        let expected = "parameters at which m0, k and the mean are finite, and E t > 0";
        natural_in(self, finite && mu[1] > 0.0, 1, eta[1], expected)
    }

    fn check_resolved(&self, eta: &[f64]) -> Result<(), Error> {
        let p = parts(eta);
        digits_kept(self, 0.5 * p.weight * p.location / p.rate * p.location)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[1] > 0.0, 1, mu[1], "a number > 0")?;
        let gap = mu[1].ln() - mu[0];
        mean_in(self, gap > 0.0, 0, gap, GAP)?;
        let spread = mu[3] - mu[2] / mu[1] * mu[2];
        mean_in(self, spread > 0.0, 3, spread, SPREAD)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let p = parts(eta);
        ln_gamma_scaled(p.shape, p.rate.ln()) - 0.5 * p.weight.ln()
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let p = parts(eta);
        let t = p.shape / p.rate;
        let along = t * p.location;
        mu[0] = digamma(p.shape) - p.rate.ln();
        mu[1] = t;
        mu[2] = along;
        mu[3] = 1.0 / p.weight + along * p.location;
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        self.check_mean(mu)?;
        let mut c = [0.0; 4];
        self.centred_from_mean(mu, &mut c);
        self.natural_from_centred(&c, eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let NormalGammaParameters { location: m, weight: k, shape: a, rate: b } = parts(eta);
        // T is a function of t whose mean given t is t (1, m, m^2); what m adds is in the corner.
        let t = a / b;
        let means = [0.0, t, t * m, t * m * m];
        for (i, of_t) in [(1, 1.0 / b), (2, m / b), (3, m / b * m)] {
            out[i] = of_t;
            out[4 * i] = of_t;
            for j in 1..=i {
                out[4 * i + j] = means[j] * of_t;
                out[4 * j + i] = out[4 * i + j];
            }
        }
        out[0] = trigamma(a);
        out[10] += t / k;
        out[11] += 2.0 * means[2] / k;
        out[14] += 2.0 * means[2] / k;
        out[15] += 4.0 * means[3] / k + 2.0 / k / k;
    }

    /// That of the gamma law, and of the location given the precision.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let p = parts(eta);
        let of_precision = 0.5 * (digamma(p.shape) + p.rate.ln()) - gamma_entropy(p.shape);
        of_precision + 0.5 * (p.weight.ln() - 1.0)
    }

    /// The divergence of the gamma laws, plus `(phi(k'/k) + k' E t (m0 - m0')^2) / 2` of the location given `t`.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let d: [f64; 4] = std::array::from_fn(|i| q[i] - p[i]);
        let (from, to) = (parts(p), parts(q));
        // b' - b and m0' - m0 from the differences of the parameters.
        // c'^2 / e' - c^2 / e with the quotients c / e, of which none overflows.
        let squares = if d[3].abs() < 0.5 * p[3].abs() {
            d[2] * (p[2] / q[3] + q[2] / q[3]) - p[2] / q[3] * (p[2] / p[3]) * d[3]
        } else {
            q[2] * (q[2] / q[3]) - p[2] * (p[2] / p[3])
        };
        let rate = -d[1] + 0.25 * squares;
        let scale = 0.5 * to.weight.sqrt() * (from.shape / from.rate).sqrt();
        let location = difference_of_quotients(scale, (p[2], p[3]), (q[2], q[3])).powi(2);
        gamma::divergence((from.shape, from.rate), (to.shape, to.rate), (d[0], rate))
            + 0.5 * (phi(p[3], q[3]) + location)
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c[0] = mu[1];
        c[1] = mu[1].ln() - mu[0];
        c[2] = mu[2] / mu[1];
        c[3] = mu[3] - c[2] * mu[2];
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        mu[0] = c[0].ln() - c[1];
        mu[1] = c[0];
        mu[2] = c[0] * c[2];
        mu[3] = c[3] + mu[2] * c[2];
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        let p = parts(eta);
        c[0] = p.shape / p.rate;
        c[1] = log_minus_digamma(p.shape);
        c[2] = p.location;
        c[3] = 1.0 / p.weight;
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, c[0] > 0.0, 1, c[0], "a number > 0")?;
        mean_in(self, c[1] > 0.0, 0, c[1], GAP)?;
        mean_in(self, c[3] > 0.0, 3, c[3], SPREAD)?;
        let (shape, weight) = (gamma_shape(c[1]), 1.0 / c[3]);
        eta[0] = shape - 0.5;
        eta[1] = -shape / c[0] - 0.5 * weight * c[2] * c[2];
        eta[2] = weight * c[2];
        eta[3] = -0.5 * weight;
        Ok(())
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let keep = 1.0 - share;
        let (t, s) = (into[0], other[0]);
        crate::families::Gamma.blend(&mut into[..2], share, &other[..2]);
        // Locations count with their precisions.
        let location = into[2] + share * s / into[0] * (other[2] - into[2]);
        let between = keep * t * (into[2] - location) * (into[2] - location)
            + share * s * (other[2] - location) * (other[2] - location);
        into[3] += share * (other[3] - into[3]) + between;
        into[2] = location;
    }
}

impl Density for NormalGamma {
    /// `[m, t]`
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", 2, x.len())?;
        point_in(self, x[0].is_finite(), x[0], "a finite mean")?;
        point_in(self, x[1] > 0.0 && x[1].is_finite(), x[1], "a finite precision > 0")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        let (m, t) = (x[0], x[1]);
        out.copy_from_slice(&[t.ln(), t, t * m, t * m * m]);
    }

    fn log_base(&self, _: &[f64]) -> f64 {
        -HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-HALF_LOG_TAU)
    }

    fn centred(&self, x: &[f64], c: &mut [f64]) {
        c.copy_from_slice(&[x[1], 0.0, x[0], 0.0]);
    }

    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        let (p, d) = (parts(eta), x[0] - parts(eta).location);
        (p.shape - 0.5) * x[1].ln()
            - x[1] * (p.rate + 0.5 * p.weight * d * d)
            - self.log_partition(eta)
            - HALF_LOG_TAU
    }
}

impl Sample for NormalGamma {
    type Owned = Vec<f64>;

    /// Precisions that underflow are returned as the smallest positive number.
    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Vec<f64> {
        let p = parts(eta);
        let t = (log_gamma_variable(p.shape, &mut rng) - p.rate.ln()).exp().max(f64::MIN_POSITIVE);
        vec![p.location + standard_normal(rng) / (p.weight * t).sqrt(), t]
    }
}
