//! The normal family on vectors, with unknown mean and covariance.

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::factor::{self, Base, Factor, Solved, Wide, scaled, wide_dot};
use super::file::checked_file;
use super::half::{self, add_outer, pack, pack_outer, unpack};
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Evidence, Family, Sample, check_shape, point_in};
use crate::samplers::NormalVector as Law;
use crate::special::ln_gamma_multivariate;

/// The normal family on vectors of length `d`, by mean `m` and covariance `V` with precision `P = V^-1`.
///
/// Statistic `T(x) = (x, x x')`, natural parameter `eta = (P m, -P/2)` with the precision matrix `P = V^-1`,
/// log-partition function `A = m'P m / 2 - log det(P) / 2`, mean `mu = (m, V + m m')`. A matrix is stored as its
/// lower triangle, row by row, with `sqrt(2)` off the diagonal. Centred coordinates are `(m, V)`. All computations
/// use Cholesky factors. Mean and covariance have finite numbers.
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
        let factor = factor::factor("covariance", &covariance.to_owned())?;
        let precision = factor.inverse();
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
        factor::check_symmetric("precision", precision)?;
        let mut eta = location.to_vec();
        eta.resize(self.dimension(), 0.0);
        pack(&precision.to_owned(), -0.5, &mut eta[self.d..]);
        Distribution::from_natural(self, &eta)
    }

    fn precision(&self, eta: &[f64]) -> Array2<f64> {
        unpack(&eta[self.d..], self.d, -2.0)
    }

    fn factor(&self, eta: &[f64]) -> Result<Factor, Invalid> {
        Factor::unpacked("precision", &eta[self.d..], self.d, -2.0)
    }

    /// `m` as a solution, and the factor of `P`.
    fn parts(&self, eta: &[f64]) -> Option<(Solved, Factor)> {
        let factor = self.factor(eta).ok()?;
        let m = factor.solve(eta[..self.d].iter().map(|&e| (e, 0)))?;
        Some((m, factor))
    }

    /// The mean to full precision, by two steps of iterative refinement. The residual of `P m = eta_1` is summed with
    /// twice the digits.
    fn refined(&self, eta: &[f64], (precision, factor): (&Array2<f64>, &Factor), m: &mut Solved) {
        let units = factor.units();
        for _ in 0..2 {
            let rest = (0..self.d).map(|i| {
                let row = (0..self.d)
                    .map(|j| ((m.solution[j], m.exponent - units[j]), -precision[[i, j]]));
                wide_dot(row.chain([((eta[i], 0), 1.0)]))
            });
            let rest: Vec<Wide> = rest.collect();
            let Some(step) = factor.solve(rest.into_iter()) else { break };
            let scale = step.exponent - m.exponent;
            m.solution.iter_mut().zip(&step.solution).for_each(|(m, s)| *m += scaled(*s, scale));
        }
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
        let factor = self.factor(eta)?;
        factor.check_inverse("covariance")?;
        if let Some(m) = factor.solve(eta[..self.d].iter().map(|&e| (e, 0))) {
            Invalid::check_finite("mean", &factor.plain(&m).collect::<Vec<f64>>())?;
        }
        Ok(())
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let mut c = mu.to_vec();
        self.centred_from_mean(mu, &mut c);
        Factor::unpacked("covariance", &c[self.d..], self.d, 1.0)?;
        Ok(())
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let Ok(factor) = self.factor(eta) else { return f64::NAN };
        let (square, exponent) = factor.inverse_square(eta[..self.d].iter().map(|&e| (e, 0)));
        0.5 * (scaled(square, exponent) - factor.log_det())
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        self.centred_from_natural(eta, mu);
        let (m, squares) = mu.split_at_mut(self.d);
        add_outer(m, 1.0, squares);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let mut c = mu.to_vec();
        self.centred_from_mean(mu, &mut c);
        self.natural_from_centred(&c, eta)
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (d, width) = (self.d, self.dimension());
        let Some((Solved { exponent, solution: m, .. }, factor)) = self.parts(eta) else {
            out.fill(f64::NAN);
            return;
        };
        let (v, units) = (factor.scaled_inverse(), factor.units());
        for i in 0..d {
            for j in 0..d {
                out[i * width + j] = scaled(v[[i, j]], -units[i] - units[j]);
            }
            let mut column = d;
            for j in 0..d {
                for k in 0..=j {
                    let weight = if j == k { 1.0 } else { std::f64::consts::SQRT_2 };
                    let cov = weight * (m[j] * v[[i, k]] + m[k] * v[[i, j]]);
                    let cov = scaled(cov, exponent - units[i] - units[j] - units[k]);
                    out[i * width + column] = cov;
                    out[column * width + i] = cov;
                    column += 1;
                }
            }
        }
        // Means and deviations of every size keep their digits: each product has an exponent of its own.
        let mean = |i: usize| {
            let (m, e) = factor::split(m[i]);
            (m, e + exponent - units[i])
        };
        let m: Vec<Wide> = (0..d).map(mean).collect();
        half::block(d, (out, width, d), |i, j, k, l| {
            let times = |(a, e): Wide, (b, f): Wide| (a * b, e + f);
            let v = |i: usize, j: usize| (v[[i, j]], -units[i] - units[j]);
            let with_means = |i, k, j, l| times(times(m[i], m[k]), v(j, l));
            factor::wide_sum([
                times(v(i, k), v(j, l)),
                times(v(i, l), v(j, k)),
                with_means(i, k, j, l),
                with_means(i, l, j, k),
                with_means(j, k, i, l),
                with_means(j, l, i, k),
            ])
        });
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.factor(eta).map_or(f64::NAN, |factor| 0.5 * (factor.log_det() - self.d as f64))
    }

    /// `(sum phi(lambda_i) + |L'(m - m')|^2) / 2`, with `P' (m - m') = (P' - P) m - (eta' - eta)`.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let d = self.d;
        let (Some((mut m, from)), Ok(to)) = (self.parts(p), self.factor(q)) else {
            return f64::NAN;
        };
        // The differences of the parameters themselves are exact for nearby members; halves do not overflow.
        let half: Vec<f64> = q.iter().zip(p).map(|(q, p)| 0.5 * q - 0.5 * p).collect();
        let change = self.precision(&half);
        self.refined(p, (&self.precision(p), &from), &mut m);
        let shift: Vec<Wide> = (0..d)
            .map(|i| {
                let m = |j: usize| (m.solution[j], m.exponent - from.units()[j]);
                let row = (0..d).map(|j| (m(j), change[[i, j]]));
                wide_dot(row.chain([((half[i], 0), -1.0)]))
            })
            .collect();
        let (square, exponent) = to.inverse_square(shift.into_iter());
        factor::half_phi(&Base::of(&from), (&Base::of(&to), self.precision(q)), change)
            + 0.5 * scaled(square, exponent + 2)
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        let d = self.d;
        c.copy_from_slice(mu);
        add_outer(&mu[..d], -1.0, &mut c[d..]);
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        let d = self.d;
        mu.copy_from_slice(c);
        add_outer(&c[..d], 1.0, &mut mu[d..]);
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        let Some((m, factor)) = self.parts(eta) else {
            c.fill(f64::NAN);
            return;
        };
        c.iter_mut().zip(factor.plain(&m)).for_each(|(c, m)| *c = m);
        pack(&factor.inverse(), 1.0, &mut c[self.d..]);
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let d = self.d;
        let factor = Factor::unpacked("covariance", &c[d..], d, 1.0)?;
        Invalid::check_finite("mean", &c[..d])?;
        if let Some(location) = factor.solve(c[..d].iter().map(|&c| (c, 0))) {
            eta.iter_mut().zip(factor.plain(&location)).for_each(|(eta, l)| *eta = l);
        }
        pack(&factor.inverse(), -0.5, &mut eta[d..]);
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
        let m: Vec<f64> = factor.plain(&m).collect();
        // In halves, which do not overflow.
        let rest = x.iter().zip(&m).map(|(x, m)| (0.5 * x - 0.5 * m, 1));
        let (square, exponent) = factor.square(rest);
        0.5 * (factor.log_det() - scaled(square, exponent)) + self.log_base(x)
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
        let Ok(factor) = Factor::unpacked("scale", &c[self.d..], self.d, weight) else {
            return f64::NAN;
        };
        let ln_2 = std::f64::consts::LN_2;
        d * (HALF_LOG_TAU - 0.5 * weight.ln()) - 0.5 * d * (d + 1.0) * ln_2
            + 0.25 * d * (d - 1.0) * ln_2
            + 0.5 * degrees * (d * ln_2 - factor.log_det())
            + ln_gamma_multivariate(self.d, 0.5 * degrees)
    }
}
