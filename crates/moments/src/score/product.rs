//! Independent features, each a mixture of normal densities.

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::traits::{ScoreFunction, SecondOrderScore, check_columns};
use crate::blocks::finite;
use crate::error::Error;

/// One part of the density of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The weight of this part. The weights of the parts of a feature sum to 1.
    pub weight: f64,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

/// Independent features with scores `s_j(x_j)`: `S2` has `s_i s_j` off the diagonal and `s_j^2 - s_j'` on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct ProductMixture {
    features: Vec<Vec<Part>>,
}

/// The contents of a file.
#[derive(Deserialize)]
struct Unchecked {
    features: Vec<Vec<Part>>,
}

impl TryFrom<Unchecked> for ProductMixture {
    type Error = Error;

    fn try_from(file: Unchecked) -> Result<Self, Error> {
        ProductMixture::new(file.features)
    }
}

impl ProductMixture {
    /// From the parts of every feature.
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Parameter`] unless weights are positive and sum to 1 and deviations are
    /// positive.
    pub fn new(features: Vec<Vec<Part>>) -> Result<Self, Error> {
        if features.is_empty() || features.iter().any(Vec::is_empty) {
            return Err(Invalid::Empty { what: "mixture of a feature" }.into());
        }
        for parts in &features {
            for part in parts {
                Invalid::check_positive("weight of the mixture", part.weight)?;
                Invalid::check_positive("deviation of the mixture", part.deviation)?;
                Invalid::check_finite("mean of the mixture", &[part.mean])?;
            }
            let total: f64 = parts.iter().map(|p| p.weight).sum();
            if !((total - 1.0).abs() < 1e-9) {
                let expected = "weights that add up to 1";
                return Err(Invalid::Parameter {
                    name: "weight of the mixture",
                    value: total,
                    expected,
                }
                .into());
            }
        }
        Ok(ProductMixture { features })
    }

    /// The density with which D. Babichev, PhD thesis 2019, section 2.5, compares SADE and MAVE: every feature is
    /// `0.6 N(-1, 1) + 0.4 N(1, 2^2)`.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for dimension 0.
    pub fn thesis(dim: usize) -> Result<Self, Error> {
        let parts = vec![
            Part { weight: 0.6, mean: -1.0, deviation: 1.0 },
            Part { weight: 0.4, mean: 1.0, deviation: 2.0 },
        ];
        ProductMixture::new(vec![parts; dim])
    }

    /// `n` independent samples.
    ///
    /// # Panics
    /// For more samples than memory, as an array of so many rows does.
    pub fn sample(&self, n: usize, rng: &mut (impl rand::Rng + ?Sized)) -> Array2<f64> {
        Array2::from_shape_fn((n, self.features.len()), |(_, c)| {
            let parts = &self.features[c];
            let mut u: f64 = rng.random();
            let mut part = parts[parts.len() - 1];
            for &p in parts {
                if u < p.weight {
                    part = p;
                    break;
                }
                u -= p.weight;
            }
            let z: f64 = StandardNormal.sample(rng);
            part.mean + part.deviation * z
        })
    }

    /// `s` and `s' = s^2 - p''/p` of a feature.
    fn at(parts: &[Part], x: f64) -> (f64, f64) {
        let log =
            |p: &Part| (p.weight / p.deviation).ln() - 0.5 * ((x - p.mean) / p.deviation).powi(2);
        let most = parts.iter().map(log).fold(f64::NEG_INFINITY, f64::max);
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for part in parts {
            let g = (log(part) - most).exp();
            let precision = part.deviation.powi(-2);
            let u = precision * (x - part.mean);
            total += g;
            first += g * u;
            second += g * (u * u - precision);
        }
        let s = first / total;
        (s, s * s - second / total)
    }
}

/// The name of the method in messages.
const WHAT: &str = "score of the product mixture";

impl ScoreFunction for ProductMixture {
    fn dim(&self) -> usize {
        self.features.len()
    }

    fn score1(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim())?;
        let mut s = x.to_owned();
        s.indexed_iter_mut().for_each(|((_, c), v)| *v = Self::at(&self.features[c], *v).0);
        Ok(finite(s, WHAT)?)
    }
}

impl SecondOrderScore for ProductMixture {
    fn score2_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim())?;
        Invalid::check_length("weights", x.nrows(), weights.len())?;
        let mut s = x.to_owned();
        let mut slopes = Array1::<f64>::zeros(self.dim());
        for ((i, c), v) in s.indexed_iter_mut() {
            let (value, slope) = Self::at(&self.features[c], *v);
            *v = value;
            slopes[c] += weights[i] * slope;
        }
        let s = finite(s, WHAT)?;
        let weighted = &s * &weights.insert_axis(Axis(1));
        let mut sum = weighted.t().dot(&s);
        sum.diag_mut().zip_mut_with(&slopes, |v, slope| *v -= slope);
        Ok(finite(sum, WHAT)?)
    }
}
