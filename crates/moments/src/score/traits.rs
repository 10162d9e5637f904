//! What a score can do.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::cholesky;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use crate::error::{Error, named};

/// The score of first order.
pub trait ScoreFunction: Sync {
    /// The number of features.
    fn dim(&self) -> usize;

    /// `S1` of every row of `x`.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a wrong number of columns.
    fn score1(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error>;
}

/// A score of second order. Methods need only sums of second-order scores, so the matrices of single samples are not
/// stored.
pub trait SecondOrderScore: ScoreFunction {
    /// `sum_i weights_i S2(x_i)`.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    fn score2_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error>;

    /// `sum_i weights_i S2(x_i) S2(x_i)`, matrix products. O(n d^3) unless the density has a better way.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    fn score2_square_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error> {
        let mut sum = Array2::zeros((self.dim(), self.dim()));
        for (row, &weight) in x.rows().into_iter().zip(weights) {
            let row = row.insert_axis(Axis(0));
            let one = self.score2_sum(row, ArrayView1::from(&[1.0]))?;
            general_mat_mul(weight, &one, &one, 1.0, &mut sum);
        }
        Ok(sum)
    }
}

/// Checks the precision matrix of a density that a file has.
pub(crate) fn check_precision(precision: &Array2<f64>, dim: usize) -> Result<(), Invalid> {
    let d = Invalid::check_square("precision", precision.dim())?;
    Invalid::check_length("precision", dim, d)?;
    cholesky(precision.view()).map_err(named("precision")).map(|_| ())
}

/// Checks the number of columns.
pub(crate) fn check_columns(x: ArrayView2<f64>, dim: usize) -> Result<(), Invalid> {
    Invalid::check_length("columns of the features (the score's dimension)", dim, x.ncols())
}
