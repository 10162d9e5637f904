//! Mixtures of normal densities.

use fenchel_linalg::factor::{cholesky, inverse};
use fenchel_linalg::{Invalid, lanes};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::traits::{ScoreFunction, SecondOrderScore, check_columns};
use crate::blocks::finite;
use crate::error::{Error, named};

/// One part of a [`GaussianMixture`].
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its share; the shares add up to 1.
    pub weight: f64,
    /// Its mean.
    pub mean: Array1<f64>,
    /// Its covariance.
    pub covariance: Array2<f64>,
}

/// A mixture of normal densities, with responsibilities `g_r(x)` and `u_r = P_r (x - mu_r)`:
///
/// ```text
/// S1 = sum_r g_r u_r,     S2 = sum_r g_r (u_r u_r' - P_r)
/// ```
///
/// Sums of `S2` take one matrix product per component. Covariances that are multiples of the identity are recognised;
/// they cost O(d) per row instead of O(d^2).
#[derive(Debug, Clone)]
pub struct GaussianMixture {
    parts: Vec<Prepared>,
    dim: usize,
}

#[derive(Debug, Clone)]
struct Prepared {
    mean: Array1<f64>,
    /// `ln weight - ln det(Sigma) / 2`.
    constant: f64,
    precision: Precision,
    /// Cholesky factor of the covariance, for sampling.
    lower: Array2<f64>,
    /// Sum of the weights up to this part.
    up_to: f64,
}

#[derive(Debug, Clone)]
enum Precision {
    Scalar(f64),
    Full(Array2<f64>),
}

impl GaussianMixture {
    /// From its parts.
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Parameter`] unless the weights are positive and sum to 1;
    /// [`Invalid::Empty`]; [`Invalid::Parameter`] unless the weights sum to 1; [`Invalid::Layout`] with the part and what is
    /// wrong with it.
    pub fn new(parts: Vec<Component>) -> Result<Self, Error> {
        let Some(first) = parts.first() else {
            return Err(Invalid::Empty { what: "mixture" }.into());
        };
        let dim = first.mean.len();
        let total: f64 = parts.iter().map(|p| p.weight).sum();
        if !((total - 1.0).abs() < 1e-9) {
            let expected = "1, up to 1e-9";
            return Err(Invalid::Parameter {
                name: "sum of the weights of the mixture",
                value: total,
                expected,
            }
            .into());
        }
        let mut up_to = 0.0;
        let mut prepare = |part: Component| -> Result<Prepared, Invalid> {
            Invalid::check_positive("weight", part.weight)?;
            Invalid::check_length("mean", dim, part.mean.len())?;
            Invalid::check_finite("mean", &part.mean.to_vec())?;
            let d = Invalid::check_square("covariance", part.covariance.dim())?;
            Invalid::check_length("covariance", dim, d)?;
            let factor = cholesky(part.covariance.view()).map_err(named("covariance"))?;
            up_to += part.weight;
            let scale = part.covariance[[0, 0]];
            let isotropic = part
                .covariance
                .indexed_iter()
                .all(|((i, j), &v)| if i == j { v == scale } else { v == 0.0 });
            Ok(Prepared {
                mean: part.mean,
                constant: part.weight.ln() - 0.5 * factor.log_det(),
                precision: if isotropic {
                    Precision::Scalar(1.0 / scale)
                } else {
                    Precision::Full(inverse(&factor))
                },
                lower: factor.lower().to_owned(),
                up_to,
            })
        };
        let one = |(k, part): (usize, Component)| {
            let reason = |invalid: Invalid| format!("part {k}: {invalid}");
            prepare(part).map_err(|i| Invalid::Layout { what: "mixture", reason: reason(i) })
        };
        let parts = parts.into_iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
        Ok(GaussianMixture { parts, dim })
    }

    /// The density of the simulations in D. Babichev, PhD thesis 2019, equation (2.5.1):
    /// `0.6 N(-1, I) + 0.4 N(1, 2 I)`.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for dimension 0.
    pub fn thesis(dim: usize) -> Result<Self, Error> {
        let part = |weight: f64, mean: f64, variance: f64| Component {
            weight,
            mean: Array1::from_elem(dim, mean),
            covariance: Array2::eye(dim) * variance,
        };
        GaussianMixture::new(vec![part(0.6, -1.0, 1.0), part(0.4, 1.0, 2.0)])
    }

    /// `n` independent samples.
    ///
    /// # Panics
    /// For more samples than memory, as an array of so many rows does.
    pub fn sample(&self, n: usize, rng: &mut (impl rand::Rng + ?Sized)) -> Array2<f64> {
        let d = self.dim;
        let mut x = Array2::zeros((n, d));
        let mut z = Array1::<f64>::zeros(d);
        for mut row in x.rows_mut() {
            let u: f64 = rng.random();
            let last = self.parts.len() - 1;
            let part = &self.parts[self.parts.iter().position(|p| u < p.up_to).unwrap_or(last)];
            z.mapv_inplace(|_| StandardNormal.sample(rng));
            match part.precision {
                Precision::Scalar(p) => row.assign(&(&z / p.sqrt())),
                Precision::Full(_) => row.assign(&part.lower.dot(&z)),
            }
            row += &part.mean;
        }
        x
    }

    /// `ln p` of every row.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a wrong number of columns.
    pub fn log_density(&self, x: ArrayView2<f64>) -> Result<Array1<f64>, Error> {
        check_columns(x, self.dim)?;
        let (logs, _) = self.evaluate(x, false);
        let normal = 0.5 * self.dim as f64 * (2.0 * std::f64::consts::PI).ln();
        let sum = |row: ArrayView1<f64>| fenchel_linalg::special::log_sum_exp(&row.to_vec());
        Ok(logs.rows().into_iter().map(|row| sum(row) - normal).collect())
    }

    /// Logarithms of the weighted densities (`n x R` for `R` components, without the constant), and on request the
    /// `u_r` of every row.
    fn evaluate(&self, x: ArrayView2<f64>, vectors: bool) -> (Array2<f64>, Vec<Array2<f64>>) {
        let mut logs = Array2::zeros((x.nrows(), self.parts.len()));
        let mut scores = vec![];
        for (r, part) in self.parts.iter().enumerate() {
            let difference = &x - &part.mean;
            let u = match &part.precision {
                Precision::Scalar(p) => &difference * *p,
                Precision::Full(precision) => difference.dot(precision),
            };
            for i in 0..x.nrows() {
                let (a, b) = (difference.row(i), u.row(i));
                let q = match (a.as_slice(), b.as_slice()) {
                    (Some(a), Some(b)) => lanes::dot(a, b),
                    _ => a.dot(&b),
                };
                logs[[i, r]] = part.constant - 0.5 * q;
            }
            if vectors {
                scores.push(u);
            }
        }
        (logs, scores)
    }

    /// Responsibilities (`n x R`) and `u_r` of every row.
    fn responsibilities(
        &self,
        x: ArrayView2<f64>,
    ) -> Result<(Array2<f64>, Vec<Array2<f64>>), Error> {
        let (mut logs, scores) = self.evaluate(x, true);
        for (i, mut row) in logs.rows_mut().into_iter().enumerate() {
            let most = row.fold(f64::NEG_INFINITY, |m, &v| m.max(v));
            if !most.is_finite() {
                // The square of a distance overflowed.
                let what = "logarithm of the density of the mixture";
                return Err(Invalid::NonFinite { what, row: i, column: 0, value: most }.into());
            }
            row.mapv_inplace(|v| (v - most).exp());
            let sum = row.sum();
            row /= sum;
        }
        Ok((logs, scores))
    }
}

impl ScoreFunction for GaussianMixture {
    fn dim(&self) -> usize {
        self.dim
    }

    fn score1(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim)?;
        let (shares, scores) = self.responsibilities(x)?;
        let mut sum = Array2::zeros(x.dim());
        for (r, u) in scores.iter().enumerate() {
            for (i, mut row) in sum.rows_mut().into_iter().enumerate() {
                row.scaled_add(shares[[i, r]], &u.row(i));
            }
        }
        Ok(finite(sum, "score of the mixture")?)
    }
}

impl SecondOrderScore for GaussianMixture {
    fn score2_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim)?;
        Invalid::check_length("weights", x.nrows(), weights.len())?;
        let (shares, scores) = self.responsibilities(x)?;
        let mut sum = Array2::zeros((self.dim, self.dim));
        for ((part, u), share) in self.parts.iter().zip(&scores).zip(shares.columns()) {
            let weights = &share * &weights;
            let weighted = u * &weights.view().insert_axis(Axis(1));
            ndarray::linalg::general_mat_mul(1.0, &weighted.t(), u, 1.0, &mut sum);
            match &part.precision {
                Precision::Scalar(p) => {
                    let taken = weights.sum() * p;
                    sum.diag_mut().mapv_inplace(|v| v - taken);
                }
                Precision::Full(precision) => sum.scaled_add(-weights.sum(), precision),
            }
        }
        Ok(finite(sum, "second score of the mixture")?)
    }

    /// If all parts are isotropic, `S2 = U diag(g) U' - c I` with a matrix `U` of `R` columns. Its square then costs
    /// one product of two matrices with `R` columns per row: O(R d^2) per row instead of O(d^3).
    fn score2_square_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim)?;
        Invalid::check_length("weights", x.nrows(), weights.len())?;
        let (shares, scores) = self.responsibilities(x)?;
        let scalars: Vec<Option<f64>> = self
            .parts
            .iter()
            .map(|p| match p.precision {
                Precision::Scalar(p) => Some(p),
                Precision::Full(_) => None,
            })
            .collect();
        let (d, parts) = (self.dim, self.parts.len());
        let mut sum = Array2::zeros((d, d));
        if let Some(scalars) = scalars.into_iter().collect::<Option<Vec<f64>>>() {
            // S2^2 = sum_{r,s} g_r g_s (u_r.u_s) u_r u_s' - 2 c sum_r g_r u_r u_r' + c^2 I: as sums over rows of products
            // of the matrices U_r, weighted.
            let c: Array1<f64> = shares.dot(&Array1::from(scalars));
            for r in 0..parts {
                for s in 0..parts {
                    let mut weighted = scores[r].clone();
                    for (i, mut row) in weighted.rows_mut().into_iter().enumerate() {
                        let inner = scores[r].row(i).dot(&scores[s].row(i));
                        let mut scale = shares[[i, r]] * shares[[i, s]] * inner;
                        if r == s {
                            scale -= 2.0 * c[i] * shares[[i, r]];
                        }
                        row *= scale * weights[i];
                    }
                    ndarray::linalg::general_mat_mul(1.0, &weighted.t(), &scores[s], 1.0, &mut sum);
                }
            }
            let last: f64 = c.iter().zip(weights).map(|(c, w)| c * c * w).sum();
            sum.diag_mut().mapv_inplace(|v| v + last);
            return Ok(sum);
        }
        for i in 0..x.nrows() {
            let mut one = Array2::zeros((d, d));
            for (r, part) in self.parts.iter().enumerate() {
                let u = scores[r].row(i).insert_axis(Axis(1));
                one.scaled_add(shares[[i, r]], &u.dot(&u.t()));
                match &part.precision {
                    Precision::Scalar(p) => {
                        let taken = shares[[i, r]] * p;
                        one.diag_mut().mapv_inplace(|v| v - taken);
                    }
                    Precision::Full(precision) => one.scaled_add(-shares[[i, r]], precision),
                }
            }
            ndarray::linalg::general_mat_mul(weights[i], &one, &one, 1.0, &mut sum);
        }
        Ok(sum)
    }
}
