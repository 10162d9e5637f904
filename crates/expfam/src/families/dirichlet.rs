//! The Dirichlet family: probability vectors.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::{shares, simplex};
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_less_one, point_in};
use crate::samplers;

/// `p(x) ~ prod_k x_k^(a_k - 1)` on probability vectors of `K` entries: statistic `T(x) = log x`, natural parameter
/// `eta = a - 1`, log-partition function `A = sum log Gamma(a_k) - log Gamma(sum a)`, mean
/// `mu_k = psi(a_k) - psi(sum a)`.
///
/// The base measure is the Lebesgue measure on the first `K - 1` entries. For draws of logarithms, and for
/// concentrations as small as 1e-8, see [`samplers::Dirichlet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Dirichlet {
    categories: usize,
}

checked_file!(Dirichlet { categories: super::file::Count } Dirichlet::new(categories.0 as usize));

impl Dirichlet {
    /// The family on `categories >= 2` entries.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for fewer.
    pub fn new(categories: usize) -> Result<Self, Error> {
        super::categorical::check_categories(categories)?;
        Ok(Dirichlet { categories })
    }

    /// The member with the given concentrations; the mean is `a / sum a`.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Parameter`] unless all are finite and above 5.6e-17, below which `a - 1` is -1.
    pub fn with_concentrations(self, a: &[f64]) -> Result<Distribution<Self>, Error> {
        a.iter().try_for_each(|&a| check_less_one("concentration", a))?;
        let eta: Vec<f64> = a.iter().map(|a| a - 1.0).collect();
        Distribution::from_natural(self, &eta)
    }
}

impl Distribution<Dirichlet> {
    /// The concentrations.
    pub fn concentrations(&self) -> Vec<f64> {
        self.natural().iter().map(|e| e + 1.0).collect()
    }
}

impl Family for Dirichlet {
    fn name(&self) -> &'static str {
        "Dirichlet"
    }

    fn dimension(&self) -> usize {
        self.categories
    }

    shares::methods!();
}

impl Density for Dirichlet {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.categories, x.len())?;
        for &p in x {
            point_in(self, p > 0.0 && p < 1.0, p, "entries inside (0, 1)")?;
        }
        let total: f64 = x.iter().sum();
        point_in(self, (total - 1.0).abs() <= 1e-8, total, "entries that add up to 1")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = x.ln());
    }

    /// Of the point divided by the sum of its entries, as in the densities.
    fn centred(&self, x: &[f64], c: &mut [f64]) {
        let total: f64 = x.iter().sum();
        let shares: Vec<f64> = x.iter().map(|p| (p / total).ln()).collect();
        shares::centre(&shares, 0.0, c);
    }

    fn log_base(&self, _: &[f64]) -> f64 {
        0.0
    }

    /// Of a concentrated law at the point divided by the sum of its entries, which rounding leaves next to 1.
    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        if !simplex::is_concentrated(eta) {
            let logs: f64 = eta.iter().zip(x).map(|(e, x)| e * x.ln()).sum();
            return logs - simplex::log_partition(eta);
        }
        // The rounding of the sum itself would be seen.
        let excess =
            crate::divergence::accurate_dot(x.iter().map(|&x| (x, 1.0)).chain([(-1.0, 1.0)]));
        let parts = x.iter().map(|x| (x * (1.0 - excess), x.ln() - excess));
        simplex::log_density_of_logs(eta, parts) - x.iter().map(|x| x.ln()).sum::<f64>()
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }
}

impl Sample for Dirichlet {
    type Owned = Vec<f64>;

    /// Entries that underflow are returned as the smallest positive number.
    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Vec<f64> {
        let mut x: Vec<f64> =
            eta.iter().map(|e| samplers::log_gamma_variable(e + 1.0, &mut rng)).collect();
        crate::special::softmax_in_place(&mut x);
        x.iter_mut().for_each(|x| *x = x.clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON));
        x
    }
}
