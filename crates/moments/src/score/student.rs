//! The multivariate t density.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::{cholesky, inverse};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::traits::{ScoreFunction, SecondOrderScore, check_columns, check_precision};
use crate::blocks::finite;
use crate::error::{Error, named};
use crate::file::checked_file;

/// Student's t with `nu` degrees of freedom, location `mu` and scale matrix `Sigma = P^{-1}`; `q = (x-mu)'P(x-mu)`:
///
/// ```text
/// S1 = w P (x - mu),     w = (nu + d) / (nu + q),     S2 = (1 + 2 / (nu + d)) S1 S1' - w P
/// ```
///
/// The score is bounded: outliers among the features do not dominate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct StudentT {
    location: Array1<f64>,
    precision: Array2<f64>,
    degrees: f64,
}

checked_file!(StudentT {
    location: Array1<f64>,
    precision: Array2<f64>,
    degrees: f64
});

impl StudentT {
    /// What a file must hold.
    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_finite("location", &self.location.to_vec())?;
        Invalid::check_positive("degrees", self.degrees)?;
        check_precision(&self.precision, self.location.len())
    }

    /// From location, scale matrix and degrees of freedom.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `degrees > 0`; [`Invalid::NotPositiveDefinite`]; [`Invalid::Length`].
    pub fn new(location: Array1<f64>, scale: ArrayView2<f64>, degrees: f64) -> Result<Self, Error> {
        let d = Invalid::check_square("scale matrix", scale.dim())?;
        Invalid::check_length("location", d, location.len())?;
        Invalid::check_finite("location", &location.to_vec())?;
        Invalid::check_positive("degrees", degrees)?;
        let precision = inverse(&cholesky(scale).map_err(named("scale matrix"))?);
        Ok(StudentT { location, precision, degrees })
    }

    /// `S1` of every row, and `w`.
    fn parts(&self, x: ArrayView2<f64>) -> Result<(Array2<f64>, Array1<f64>), Error> {
        check_columns(x, self.location.len())?;
        let difference = &x - &self.location;
        let mut s = difference.dot(&self.precision);
        let top = self.degrees + self.location.len() as f64;
        let mut weights = Array1::zeros(x.nrows());
        for (i, mut row) in s.rows_mut().into_iter().enumerate() {
            weights[i] = top / (self.degrees + row.dot(&difference.row(i)));
            row *= weights[i];
        }
        Ok((finite(s, "score of the t density")?, weights))
    }
}

impl ScoreFunction for StudentT {
    fn dim(&self) -> usize {
        self.location.len()
    }

    fn score1(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        Ok(self.parts(x)?.0)
    }
}

impl SecondOrderScore for StudentT {
    fn score2_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error> {
        let (s, w) = self.parts(x)?;
        Invalid::check_length("weights", x.nrows(), weights.len())?;
        let weighted = &s * &weights.insert_axis(Axis(1));
        let factor = 1.0 + 2.0 / (self.degrees + self.dim() as f64);
        let sum = weighted.t().dot(&s) * factor - &self.precision * w.dot(&weights);
        Ok(finite(sum, "second score of the t density")?)
    }
}
