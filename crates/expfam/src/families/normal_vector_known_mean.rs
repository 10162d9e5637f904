//! The normal family on vectors, with mean 0.

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView2};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::factor::{self, Base, Factor, scaled};
use super::file::checked_file;
use super::half::{self, pack, pack_outer, unpack};
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_shape, point_in};
use crate::samplers::NormalVector as Law;

/// The normal family on vectors of length `d` with mean 0, by covariance `V`: statistic `T(x) = x x'`, natural
/// parameter `eta = -V^-1 / 2`, log-partition function `A = log det(V) / 2`, mean `mu = V`. It is the example of R.
/// Le Priol, PhD thesis 2021, section 5.A.2. Precision and covariance have finite numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NormalVectorZeroMean {
    d: usize,
}

checked_file!(NormalVectorZeroMean { d: super::file::Count } NormalVectorZeroMean::new(d.0 as usize));

impl NormalVectorZeroMean {
    /// The family on vectors of length `d >= 1`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0.
    pub fn new(d: usize) -> Result<Self, Error> {
        half::check_order(d)?;
        Ok(NormalVectorZeroMean { d })
    }

    /// By covariance.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn with_covariance(self, covariance: ArrayView2<f64>) -> Result<Distribution<Self>, Error> {
        Invalid::check_length("covariance", self.d, covariance.nrows())?;
        let factor = factor::factor("covariance", &covariance.to_owned())?;
        let mut eta = vec![0.0; self.dimension()];
        pack(&factor.inverse(), -0.5, &mut eta);
        Distribution::from_natural(self, &eta)
    }

    fn precision(&self, eta: &[f64]) -> Array2<f64> {
        unpack(eta, self.d, -2.0)
    }

    fn factor(&self, eta: &[f64]) -> Result<Factor, Invalid> {
        Factor::unpacked("precision", eta, self.d, -2.0)
    }
}

impl Distribution<NormalVectorZeroMean> {
    /// The covariance matrix.
    pub fn covariance(&self) -> Array2<f64> {
        unpack(&self.mean(), self.family().d, 1.0)
    }
}

impl Family for NormalVectorZeroMean {
    fn name(&self) -> &'static str {
        "multivariate normal of mean 0"
    }

    fn dimension(&self) -> usize {
        half::length(self.d)
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        self.factor(eta)?.check_inverse("covariance")?;
        Ok(())
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        Factor::unpacked("covariance", mu, self.d, 1.0)?;
        Ok(())
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        self.factor(eta).map_or(f64::NAN, |f| -0.5 * f.log_det())
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        match self.factor(eta) {
            Ok(factor) => pack(&factor.inverse(), 1.0, mu),
            Err(_) => mu.fill(f64::NAN),
        }
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let factor = Factor::unpacked("covariance", mu, self.d, 1.0)?;
        pack(&factor.inverse(), -0.5, eta);
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let Ok(factor) = self.factor(eta) else {
            out.fill(f64::NAN);
            return;
        };
        let (v, units) = (factor.scaled_inverse(), factor.units());
        half::block(self.d, (out, self.dimension(), 0), |i, j, k, l| {
            let in_units = v[[i, k]] * v[[j, l]] + v[[i, l]] * v[[j, k]];
            scaled(in_units, -units[i] - units[j] - units[k] - units[l])
        });
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        -0.5 * self.d as f64 - self.log_partition(eta)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let (Ok(from), Ok(to)) = (self.factor(p), self.factor(q)) else { return f64::NAN };
        let half_change: Vec<f64> = q.iter().zip(p).map(|(q, p)| 0.5 * q - 0.5 * p).collect();
        factor::half_phi(
            &Base::of(&from),
            (&Base::of(&to), self.precision(q)),
            self.precision(&half_change),
        )
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(std::f64::consts::SQRT_2)
    }
}

impl Density for NormalVectorZeroMean {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.d, x.len())?;
        let value = x.iter().find(|x| !x.is_finite());
        point_in(self, value.is_none(), value.copied().unwrap_or(0.0), "finite numbers")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        pack_outer(x, 1.0, out);
    }

    fn log_base(&self, _: &[f64]) -> f64 {
        -(self.d as f64) * HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-(self.d as f64) * HALF_LOG_TAU)
    }

    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        let Ok(factor) = self.factor(eta) else { return f64::NAN };
        let (square, exponent) = factor.square(x.iter().map(|&x| (x, 0)));
        0.5 * (factor.log_det() - scaled(square, exponent)) + self.log_base(x)
    }
}

impl Sample for NormalVectorZeroMean {
    type Owned = Vec<f64>;

    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Vec<f64> {
        match Law::from_natural(Array1::zeros(self.d).view(), self.precision(eta).view()) {
            Ok(law) => law.sample(&mut rng).to_vec(),
            Err(_) => vec![f64::NAN; self.d],
        }
    }
}
