//! The beta family: numbers between 0 and 1.

use fenchel_linalg::lanes;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{shares, simplex};
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_less_one, point_in};
use crate::samplers::log_gamma_variable;
use crate::special::{logit, softplus};

/// `p(x) = x^(a-1) (1 - x)^(b-1) / B(a, b)` for `0 < x < 1`: statistic `T(x) = (log x, log(1 - x))`, natural
/// parameter `eta = (a - 1, b - 1)`, log-partition function `A = log B(a, b)`, mean
/// `mu = (psi(a) - psi(a + b), psi(b) - psi(a + b))`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beta;

impl Beta {
    /// The member with the given two shapes; the mean is `a / (a + b)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`](fenchel_linalg::Invalid::Parameter) unless both are finite and above 5.6e-17, below which `a - 1` is -1.
    pub fn with_shapes(self, a: f64, b: f64) -> Result<Distribution<Self>, Error> {
        check_less_one("a", a)?;
        check_less_one("b", b)?;
        Distribution::from_natural(self, &[a - 1.0, b - 1.0])
    }
}

impl Distribution<Beta> {
    /// `(a, b)`.
    pub fn shapes(&self) -> (f64, f64) {
        (self.natural()[0] + 1.0, self.natural()[1] + 1.0)
    }
}

impl Family for Beta {
    fn name(&self) -> &'static str {
        "beta"
    }

    fn dimension(&self) -> usize {
        2
    }

    shares::methods!();
}

impl Density for Beta {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x > 0.0 && x < 1.0, x, "a number inside (0, 1)")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = x.ln();
        out[1] = (-x).ln_1p();
    }

    fn log_base(&self, _: &f64) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn log_density(&self, eta: &[f64], &x: &f64) -> f64 {
        if simplex::is_concentrated(eta) {
            let (log, log_rest) = (x.ln(), (-x).ln_1p());
            let parts = [(x, log), (1.0 - x, log_rest)].into_iter();
            return simplex::log_density_of_logs(eta, parts) - log - log_rest;
        }
        eta[0] * x.ln() + eta[1] * (-x).ln_1p() - self.log_partition(eta)
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        if simplex::is_concentrated(eta) {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = self.log_density(eta, x));
            return;
        }
        super::batch::logs_of_both(x, (eta[0], eta[1], -self.log_partition(eta)), out);
    }

    fn centred(&self, x: &f64, c: &mut [f64]) {
        shares::centre(&[x.ln(), (-x).ln_1p()], 0.0, c);
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let mu = [
            super::batch::mean_of_positive(x, lanes::ln, f64::ln),
            super::batch::mean_of_positive(x, super::batch::ln_one_minus, |x| (-x).ln_1p()),
        ];
        shares::centred_from_mean(&mu, c);
        if c[0].max(c[1]) < 1e-3 {
            // Few digits of the gap are left: again, from the mean of the log-odds.
            let mean = |f: &dyn Fn(f64) -> f64| super::batch::sum(x, f) / x.len() as f64;
            let middle = mean(&logit);
            let gap = mean(&|x| super::bernoulli::kl(middle, logit(x)));
            shares::centre(&[-softplus(-middle), -softplus(middle)], gap, c);
        }
    }
}

impl Sample for Beta {
    type Owned = f64;

    /// Draws that round to 0 or 1 are returned as the nearest number inside.
    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> f64 {
        let a = log_gamma_variable(eta[0] + 1.0, &mut rng);
        let b = log_gamma_variable(eta[1] + 1.0, &mut rng);
        crate::special::sigmoid(a - b).clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON)
    }
}
