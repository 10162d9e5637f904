//! The normal family on vectors, with known covariance matrix.

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::factor;
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::divergence::dot;
use crate::error::Error;
use crate::family::{Density, Evidence, Family, Sample, check_shape, point_in};
use crate::samplers::NormalVector as Law;

/// The normal family on vectors of length `d` whose covariance `V` is known: statistic `T(x) = x`, natural parameter
/// `eta = V^-1 m`, log-partition function `A = eta'V eta / 2`, mean `mu = m`. The conjugate prior of the mean is
/// `N(mu0, V / n0)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Array2<f64>", into = "Array2<f64>")]
pub struct NormalVectorKnownCovariance {
    covariance: Array2<f64>,
    /// `L` with `V = L L'`.
    lower: Array2<f64>,
    log_det: f64,
}

impl TryFrom<Array2<f64>> for NormalVectorKnownCovariance {
    type Error = Error;

    fn try_from(covariance: Array2<f64>) -> Result<Self, Error> {
        Self::new(covariance.view())
    }
}

impl From<NormalVectorKnownCovariance> for Array2<f64> {
    fn from(family: NormalVectorKnownCovariance) -> Self {
        family.covariance
    }
}

impl NormalVectorKnownCovariance {
    /// The family of the given covariance.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::NonFinite`].
    pub fn new(covariance: ArrayView2<f64>) -> Result<Self, Error> {
        let covariance = covariance.to_owned();
        let factor = factor::factor("covariance", &covariance)?;
        let (lower, log_det) = (factor.lower(), factor.log_det());
        Ok(NormalVectorKnownCovariance { covariance, lower, log_det })
    }

    /// The covariance `V`.
    pub fn covariance(&self) -> ArrayView2<'_, f64> {
        self.covariance.view()
    }

    /// The member with this mean.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn with_mean(self, mean: &[f64]) -> Result<Distribution<Self>, Error> {
        Distribution::from_mean(self, mean)
    }

    /// `L^-1 x`
    fn whiten(&self, x: &[f64]) -> Vec<f64> {
        let mut z = x.to_vec();
        for i in 0..z.len() {
            let known: f64 = (0..i).map(|j| self.lower[[i, j]] * z[j]).sum();
            z[i] = (z[i] - known) / self.lower[[i, i]];
        }
        z
    }

    /// `x'V x = |L'x|^2`
    fn square(&self, x: &[f64]) -> f64 {
        self.lower.t().dot(&ArrayView1::from(x)).mapv(|z| z * z).sum()
    }
}

impl Distribution<NormalVectorKnownCovariance> {
    /// The mean.
    pub fn location(&self) -> Vec<f64> {
        self.mean()
    }
}

impl Family for NormalVectorKnownCovariance {
    fn name(&self) -> &'static str {
        "multivariate normal of known covariance"
    }

    fn dimension(&self) -> usize {
        self.covariance.nrows()
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        0.5 * self.square(eta)
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu.iter_mut()
            .zip(self.covariance.rows())
            .for_each(|(m, row)| *m = row.dot(&ArrayView1::from(eta)));
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let factor = Cholesky::new(self.covariance.view())?;
        eta.copy_from_slice(mu);
        Ok(factor.solve_in_place(eta)?)
    }

    fn fisher(&self, _: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(&self.covariance).for_each(|(out, v)| *out = *v);
    }

    fn variance_along(&self, _: &[f64], d: &[f64]) -> f64 {
        self.square(d)
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.log_partition(eta)
    }

    fn conjugate(&self, mu: &[f64]) -> Result<f64, Error> {
        let z = self.whiten(mu);
        Ok(0.5 * dot(&z, &z))
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let d: Vec<f64> = q.iter().zip(p).map(|(q, p)| q - p).collect();
        0.5 * self.square(&d)
    }

    /// The third derivative is 0, so any constant is valid.
    fn self_concordance(&self) -> Option<f64> {
        Some(0.0)
    }
}

impl Density for NormalVectorKnownCovariance {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.dimension(), x.len())?;
        let value = x.iter().find(|x| !x.is_finite());
        point_in(self, value.is_none(), value.copied().unwrap_or(0.0), "finite numbers")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
    }

    fn log_base(&self, x: &[f64]) -> f64 {
        let z = self.whiten(x);
        -0.5 * (dot(&z, &z) + self.log_det) - self.dimension() as f64 * HALF_LOG_TAU
    }

    /// `E x'V^-1 x = m'V^-1 m + d`.
    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        let d = self.dimension() as f64;
        Ok(-0.5 * (self.square(eta) + d + self.log_det) - d * HALF_LOG_TAU)
    }

    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        let mut rest = vec![0.0; x.len()];
        self.mean(eta, &mut rest);
        rest.iter_mut().zip(x).for_each(|(m, x)| *m = x - *m);
        self.log_base(&rest)
    }

    fn entropy(&self, _: &[f64]) -> Result<f64, Error> {
        let d = self.dimension() as f64;
        Ok(0.5 * (d + self.log_det) + d * HALF_LOG_TAU)
    }
}

impl Sample for NormalVectorKnownCovariance {
    type Owned = Vec<f64>;

    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Vec<f64> {
        let mut mean = vec![0.0; eta.len()];
        self.mean(eta, &mut mean);
        match Law::from_covariance_factor(Array1::from(mean).view(), self.lower.clone()) {
            Ok(law) => law.sample(&mut rng).to_vec(),
            Err(_) => vec![f64::NAN; eta.len()],
        }
    }
}

impl Evidence for NormalVectorKnownCovariance {
    /// `(d/2) log(2 pi / n0) - log det(V) / 2 + n0 mu0'V^-1 mu0 / 2`.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        let (z, d) = (self.whiten(centred), self.dimension() as f64);
        d * (HALF_LOG_TAU - 0.5 * weight.ln()) - 0.5 * self.log_det + 0.5 * weight * dot(&z, &z)
    }
}
