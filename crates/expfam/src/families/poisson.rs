//! The Poisson family: counts.

use fenchel_linalg::Invalid;
use rand::Rng;
use rand_distr::Distribution as _;
use serde::{Deserialize, Serialize};

use super::counts::mean_over;
use crate::distribution::Distribution;
use crate::divergence::exp_excess;
use crate::error::Error;
use crate::family::{
    Density, Evidence, Family, Sample, check_shape, is_count, mean_in, natural_in, point_in,
};
use crate::prior::Prior;
use crate::special::{ln_gamma, stirling_error};

/// `p(x) = rate^x e^-rate / x!`: statistic `T(x) = x`, natural parameter `eta = log(rate)`, log-partition function and
/// mean `A = mu = rate`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poisson;

impl Poisson {
    /// The member with this rate, which is its mean.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless it is positive and finite.
    pub fn with_rate(self, rate: f64) -> Result<Distribution<Self>, Error> {
        Invalid::check_positive("rate", rate)?;
        Distribution::from_natural(self, &[rate.ln()])
    }
}

impl Distribution<Poisson> {
    /// The rate.
    pub fn rate(&self) -> f64 {
        self.natural()[0].exp()
    }
}

impl Prior<Poisson> {
    /// The prior under which the rate is `Gamma(shape, rate)`. It corresponds to `rate` pseudo-observations with
    /// `shape` events in total.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both are positive.
    pub fn gamma(shape: f64, rate: f64) -> Result<Self, Error> {
        Invalid::check_positive("shape", shape)?;
        Invalid::check_positive("rate", rate)?;
        Prior::new(Poisson, rate, &[shape / rate])
    }

    /// The `(shape, rate)` of the gamma law of the rate.
    pub fn as_gamma(&self) -> (f64, f64) {
        (self.weight() * self.mean()[0], self.weight())
    }
}

/// Beyond this `eta`, `e^eta` overflows.
const LARGEST: f64 = 709.0;

impl Family for Poisson {
    fn name(&self) -> &'static str {
        "Poisson"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[0] <= LARGEST, 0, eta[0], "at most 709, where the mean is a number")
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[0] > 0.0, 0, mu[0], "a number > 0")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        eta[0].exp()
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu[0] = eta[0].exp();
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, mu[0] > 0.0, 0, mu[0], "a number > 0")?;
        eta[0] = mu[0].ln();
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        out[0] = eta[0].exp();
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        eta[0].exp() * (eta[0] - 1.0)
    }

    /// `m (e^d - 1 - d)` with `d = log(m' / m)`.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let d = q[0] - p[0];
        if d < 1.0 { p[0].exp() * exp_excess(d) } else { q[0].exp() - p[0].exp() * (1.0 + d) }
    }
}

impl Poisson {
    /// `E f(x)`
    fn mean_over(&self, eta: &[f64], f: impl Fn(f64) -> f64) -> Result<f64, Error> {
        let range = (0.0, eta[0].exp().floor(), f64::MAX);
        mean_over(self.name(), range, |x| self.log_density(eta, &x), f)
    }
}

impl Density for Poisson {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, is_count(x), x, "a whole number >= 0")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, x: &f64) -> f64 {
        -ln_gamma(x + 1.0)
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| self.log_base(&x))
    }

    /// The mean of `-log p`: `A*` and the base measure would cancel.
    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| -self.log_density(eta, &x))
    }

    /// Large counts use C. Loader's form `-KL(x || rate) - log sqrt(2 pi x) - error`, which loses no digits by
    /// cancellation.
    fn log_density(&self, eta: &[f64], &x: &f64) -> f64 {
        if x < 20.0 {
            return x * eta[0] - eta[0].exp() - ln_gamma(x + 1.0);
        }
        -self.kl(&[x.ln()], eta) - 0.5 * (std::f64::consts::TAU * x).ln() - stirling_error(x)
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        super::batch::counts(x, out, |x| self.log_density(eta, &x));
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }
}

impl Sample for Poisson {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        poisson(eta[0].exp(), rng)
    }
}

/// A Poisson draw for any rate; beyond 10^15 it uses the normal limit.
pub(crate) fn poisson(rate: f64, rng: &mut dyn Rng) -> f64 {
    if rate <= 0.0 {
        return 0.0;
    }
    if rate < 1e15
        && let Ok(law) = rand_distr::Poisson::new(rate)
    {
        return law.sample(rng);
    }
    (rate + rate.sqrt() * crate::samplers::standard_normal(rng)).round().max(0.0)
}

impl Evidence for Poisson {
    /// `log Gamma(n0 mu0) - n0 mu0 log n0`.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        let shape = weight * centred[0];
        ln_gamma(shape) - shape * weight.ln()
    }
}
