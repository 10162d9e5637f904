//! The score of the normal density.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::{cholesky, inverse};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::traits::{ScoreFunction, SecondOrderScore, check_columns, check_precision};
use crate::blocks::finite;
use crate::error::{Error, named};
use crate::file::checked_file;

/// Normal features: `S1 = P (x - mu)`, `S2 = S1 S1' - P` for the precision matrix `P`.
///
/// With the sample mean and covariance, SADE equals SIR, and SPHD close to SAVE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Gaussian {
    mean: Array1<f64>,
    precision: Array2<f64>,
}

checked_file!(Gaussian {
    mean: Array1<f64>,
    precision: Array2<f64>
});

impl Gaussian {
    /// What a file must hold.
    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_finite("mean", &self.mean.to_vec())?;
        check_precision(&self.precision, self.mean.len())
    }

    /// From mean and covariance.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`]; [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn new(mean: Array1<f64>, covariance: ArrayView2<f64>) -> Result<Self, Error> {
        let d = Invalid::check_square("covariance", covariance.dim())?;
        Invalid::check_length("mean", d, mean.len())?;
        Invalid::check_finite("mean", &mean.to_vec())?;
        let precision = inverse(&cholesky(covariance).map_err(named("covariance"))?);
        Ok(Gaussian { mean, precision })
    }

    /// Independent features of mean 0 and variance 1.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for dimension 0.
    pub fn standard(dim: usize) -> Result<Self, Error> {
        Gaussian::new(Array1::zeros(dim), Array2::eye(dim).view())
    }
}

impl ScoreFunction for Gaussian {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn score1(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim())?;
        Ok(finite((&x - &self.mean).dot(&self.precision), "score of the normal density")?)
    }
}

impl SecondOrderScore for Gaussian {
    fn score2_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error> {
        let s = self.score1(x)?;
        Invalid::check_length("weights", x.nrows(), weights.len())?;
        let weighted = &s * &weights.insert_axis(Axis(1));
        let sum = weighted.t().dot(&s) - &self.precision * weights.sum();
        Ok(finite(sum, "second score of the normal density")?)
    }
}
