//! The normal family on vectors, with unknown mean and covariance.

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::file::checked_file;
use super::half::{self, pack, pack_outer, unpack};
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::divergence::accurate_dot;
use crate::error::Error;
use crate::family::{Density, Evidence, Family, Sample, check_shape, point_in};
use crate::samplers::NormalVector as Law;
use crate::special::ln_gamma_multivariate;

/// The normal family on vectors of length `d`, by mean `m` and covariance `V` with precision `P = V^-1`.
///
/// Statistic `T(x) = (x, x x')`, natural parameter `eta = (P m, -P/2)` with the precision matrix `P = V^-1`,
/// log-partition function `A = m'P m / 2 - log det(P) / 2`, mean `mu = (m, V + m m')`. A matrix is stored as its
/// lower triangle, row by row, with `sqrt(2)` off the diagonal. Centred coordinates are `(m, V)`. All computations
/// use Cholesky factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NormalVector {
    d: usize,
}

checked_file!(NormalVector { d: super::file::Count } NormalVector::new(d.0 as usize));

impl NormalVector {
    /// The family on vectors of length `d >= 1`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0.
    pub fn new(d: usize) -> Result<Self, Error> {
        half::check_order(d)?;
        Ok(NormalVector { d })
    }

    /// The member with the given mean and covariance.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::Layout`] unless symmetric; [`Invalid::Length`];
    /// [`Invalid::NonFinite`].
    pub fn with_mean_covariance(
        self,
        mean: ArrayView1<f64>,
        covariance: ArrayView2<f64>,
    ) -> Result<Distribution<Self>, Error> {
        let factor = half::factor("covariance", &covariance.to_owned())?;
        let precision = half::inverse(&factor);
        Invalid::check_length("mean", self.d, mean.len())?;
        Invalid::check_length("covariance", self.d, factor.order())?;
        self.with_natural(precision.dot(&mean).view(), precision.view())
    }

    /// The member with the given `P m` and the precision `P`.
    ///
    /// # Errors
    /// As [`with_mean_covariance`](Self::with_mean_covariance).
    pub fn with_natural(
        self,
        location: ArrayView1<f64>,
        precision: ArrayView2<f64>,
    ) -> Result<Distribution<Self>, Error> {
        Invalid::check_length("P m", self.d, location.len())?;
        Invalid::check_length("precision", self.d, precision.nrows())?;
        half::check_symmetric("precision", precision)?;
        let mut eta = location.to_vec();
        eta.resize(self.dimension(), 0.0);
        pack(&precision.to_owned(), -0.5, &mut eta[self.d..]);
        Distribution::from_natural(self, &eta)
    }

    fn precision(&self, eta: &[f64]) -> Array2<f64> {
        unpack(&eta[self.d..], self.d, -2.0)
    }

    /// `m` and the factor of `P`.
    fn parts(&self, eta: &[f64]) -> Option<(Vec<f64>, Cholesky)> {
        let factor = Cholesky::new(self.precision(eta).view()).ok()?;
        let mut m = eta[..self.d].to_vec();
        factor.solve_in_place(&mut m).ok()?;
        Some((m, factor))
    }

    /// The mean to full precision, by two steps of iterative refinement. The residual of `P m = eta_1` is summed with
    /// twice the digits.
    fn refined(
        &self,
        eta: &[f64],
        (precision, factor): (&Array2<f64>, &Cholesky),
        mut m: Vec<f64>,
    ) -> Vec<f64> {
        for _ in 0..2 {
            let rest = (0..self.d).map(|i| {
                let row = (0..self.d).map(|j| (-precision[[i, j]], m[j]));
                accurate_dot(row.chain([(1.0, eta[i])]))
            });
            let mut rest: Vec<f64> = rest.collect();
            if factor.solve_in_place(&mut rest).is_err() || rest.iter().any(|r| !r.is_finite()) {
                break;
            }
            m.iter_mut().zip(&rest).for_each(|(m, r)| *m += r);
        }
        m
    }
}

impl Distribution<NormalVector> {
    /// The mean.
    pub fn location(&self) -> Array1<f64> {
        let mut c = vec![0.0; self.family().dimension()];
        self.family().centred_from_natural(self.natural(), &mut c);
        c[..self.family().d].to_vec().into()
    }

    /// The covariance matrix.
    pub fn covariance(&self) -> Array2<f64> {
        let mut c = vec![0.0; self.family().dimension()];
        self.family().centred_from_natural(self.natural(), &mut c);
        unpack(&c[self.family().d..], self.family().d, 1.0)
    }

    /// The precision matrix.
    pub fn precision(&self) -> Array2<f64> {
        self.family().precision(self.natural())
    }

    /// A sampler, for many draws.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] for a precision that is singular to rounding.
    pub fn sampler(&self) -> Result<Law, Error> {
        let eta = ArrayView1::from(&self.natural()[..self.family().d]);
        Ok(Law::from_natural(eta, self.precision().view())?)
    }
}

impl Family for NormalVector {
    fn name(&self) -> &'static str {
        "multivariate normal"
    }

    fn dimension(&self) -> usize {
        self.d + half::length(self.d)
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        half::factor("precision", &self.precision(eta))?;
        Ok(())
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let mut c = mu.to_vec();
        self.centred_from_mean(mu, &mut c);
        half::factor("covariance", &unpack(&c[self.d..], self.d, 1.0))?;
        Ok(())
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let Some((m, factor)) = self.parts(eta) else { return f64::NAN };
        0.5 * (crate::divergence::dot(&m, &eta[..self.d]) - factor.log_det())
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        self.centred_from_natural(eta, mu);
        let c = mu.to_vec();
        self.mean_from_centred(&c, mu);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let mut c = mu.to_vec();
        self.centred_from_mean(mu, &mut c);
        self.natural_from_centred(&c, eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (d, width) = (self.d, self.dimension());
        let mut c = vec![0.0; width];
        self.centred_from_natural(eta, &mut c);
        let v = unpack(&c[d..], d, 1.0);
        let m = &c[..d];
        for i in 0..d {
            for j in 0..d {
                out[i * width + j] = v[[i, j]];
            }
            let mut column = d;
            for j in 0..d {
                for k in 0..=j {
                    let weight = if j == k { 1.0 } else { std::f64::consts::SQRT_2 };
                    let cov = weight * (m[j] * v[[i, k]] + m[k] * v[[i, j]]);
                    out[i * width + column] = cov;
                    out[column * width + i] = cov;
                    column += 1;
                }
            }
        }
        half::block(d, (out, width, d), |i, j, k, l| {
            v[[i, k]] * v[[j, l]]
                + v[[i, l]] * v[[j, k]]
                + m[i] * (m[k] * v[[j, l]] + m[l] * v[[j, k]])
                + m[j] * (m[k] * v[[i, l]] + m[l] * v[[i, k]])
        });
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let Some((_, factor)) = self.parts(eta) else { return f64::NAN };
        0.5 * (factor.log_det() - self.d as f64)
    }

    /// `(sum phi(lambda_i) + |L'(m - m')|^2) / 2`, with `P' (m - m') = (P' - P) m - (eta' - eta)`.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let d = self.d;
        let (from, to) = (self.precision(p), self.precision(q));
        let (Some((m, own)), Ok(factor)) = (self.parts(p), Cholesky::new(to.view())) else {
            return f64::NAN;
        };
        // The differences of the parameters themselves are exact for nearby members.
        let difference: Vec<f64> = q.iter().zip(p).map(|(q, p)| q - p).collect();
        let change = self.precision(&difference);
        let m = self.refined(p, (&from, &own), m);
        let shift: Array1<f64> = (0..d)
            .map(|i| {
                let row = (0..d).map(|j| (change[[i, j]], m[j]));
                accurate_dot(row.chain([(-1.0, difference[i])]))
            })
            .collect();
        let Ok(solved) = factor.solve(shift.view()) else { return f64::NAN };
        half::half_phi(&from, to, change) + 0.5 * solved.dot(&shift)
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        let d = self.d;
        pack_outer(&mu[..d], -1.0, &mut c[d..]);
        c[d..].iter_mut().zip(&mu[d..]).for_each(|(c, m)| *c += m);
        c[..d].copy_from_slice(&mu[..d]);
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        let d = self.d;
        pack_outer(&c[..d], 1.0, &mut mu[d..]);
        mu[d..].iter_mut().zip(&c[d..]).for_each(|(m, c)| *m += c);
        mu[..d].copy_from_slice(&c[..d]);
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        let Some((m, factor)) = self.parts(eta) else {
            c.fill(f64::NAN);
            return;
        };
        c[..self.d].copy_from_slice(&m);
        pack(&half::inverse(&factor), 1.0, &mut c[self.d..]);
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let d = self.d;
        let factor = half::factor("covariance", &unpack(&c[d..], d, 1.0))?;
        let precision = half::inverse(&factor);
        let mut location = c[..d].to_vec();
        factor.solve_in_place(&mut location)?;
        eta[..d].copy_from_slice(&location);
        pack(&precision, -0.5, &mut eta[d..]);
        Ok(())
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(std::f64::consts::SQRT_2)
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let d = self.d;
        let between: Vec<f64> = (0..d).map(|i| other[i] - into[i]).collect();
        let mut k = d;
        for i in 0..d {
            for j in 0..=i {
                let weight = if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
                into[k] += share * (other[k] - into[k])
                    + share * (1.0 - share) * weight * between[i] * between[j];
                k += 1;
            }
        }
        into[..d].iter_mut().zip(&between).for_each(|(a, b)| *a += share * b);
    }
}

impl Density for NormalVector {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.d, x.len())?;
        let value = x.iter().find(|x| !x.is_finite());
        point_in(self, value.is_none(), value.copied().unwrap_or(0.0), "finite numbers")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        out[..self.d].copy_from_slice(x);
        pack_outer(x, 1.0, &mut out[self.d..]);
    }

    fn log_base(&self, _: &[f64]) -> f64 {
        -(self.d as f64) * HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-(self.d as f64) * HALF_LOG_TAU)
    }

    fn centred(&self, x: &[f64], c: &mut [f64]) {
        c[..self.d].copy_from_slice(x);
        c[self.d..].fill(0.0);
    }

    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        let Some((m, factor)) = self.parts(eta) else { return f64::NAN };
        let lower = factor.lower();
        // |L'(x - m)|^2
        let square: f64 = (0..self.d)
            .map(|j| (j..self.d).map(|i| lower[[i, j]] * (x[i] - m[i])).sum::<f64>().powi(2))
            .sum();
        0.5 * (factor.log_det() - square) + self.log_base(x)
    }
}

impl Sample for NormalVector {
    type Owned = Vec<f64>;

    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Vec<f64> {
        let location = ArrayView1::from(&eta[..self.d]);
        match Law::from_natural(location, self.precision(eta).view()) {
            Ok(law) => law.sample(&mut rng).to_vec(),
            Err(_) => vec![f64::NAN; self.d],
        }
    }
}

impl Evidence for NormalVector {
    /// In `(m, P)`: `P ~ Wishart(n0 + d + 2, (n0 V0)^-1)`, `m | P ~ N(m0, (n0 P)^-1)`.
    fn log_prior_normaliser(&self, weight: f64, c: &[f64]) -> f64 {
        let (d, degrees) = (self.d as f64, weight + self.d as f64 + 2.0);
        let Ok(factor) = Cholesky::new(unpack(&c[self.d..], self.d, weight).view()) else {
            return f64::NAN;
        };
        let ln_2 = std::f64::consts::LN_2;
        d * (HALF_LOG_TAU - 0.5 * weight.ln()) - 0.5 * d * (d + 1.0) * ln_2
            + 0.25 * d * (d - 1.0) * ln_2
            + 0.5 * degrees * (d * ln_2 - factor.log_det())
            + ln_gamma_multivariate(self.d, 0.5 * degrees)
    }
}
