//! Score functions of a density `p` of the features.
//!
//! ```text
//! S1(x) = -grad log p(x),     S2(x) = Hess p(x) / p(x) = Hess log p(x) + S1(x) S1(x)'
//! ```
//!
//! By Stein's lemma `E[g(x) S1(x)] = E[grad g(x)]` and `E[g(x) S2(x)] = E[Hess g(x)]`. So averages of scores, weighted
//! by a function of the response, lie in the span of the wanted directions, whatever the density of the features.
//!
//! | the features are | score |
//! |---|---|
//! | normal | [`Gaussian`] |
//! | a mixture of normal parts | [`GaussianMixture`] |
//! | independent, each a mixture | [`ProductMixture`] |
//! | heavy-tailed and elliptical | [`StudentT`] |
//! | something you can differentiate | [`FnScore`] |
//! | of unknown density | [`ScoreMatching`](crate::ScoreMatching) learns one |
//!
//! Every score has `E S1 = 0`, `E[(x - mu) S1'] = I` and `E S2 = 0`. [`ScoreDiagnostics`] measures the sample versions
//! of these identities. Source: D. Babichev, PhD thesis 2019, sections 1.1.1 and 2.5, assumptions (A2) and (A3).

mod diagnostics;
mod function;
mod gaussian;
mod mixture;
mod product;
mod student;

pub use diagnostics::ScoreDiagnostics;
pub use function::FnScore;
pub use gaussian::Gaussian;
pub use mixture::{Component, GaussianMixture};
pub use product::{Part, ProductMixture};
pub use student::StudentT;

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::cholesky;
use ndarray::{Array2, ArrayView1, ArrayView2};

use crate::Error;
use crate::error::named;

/// The score of first order.
pub trait Score: Sync {
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
pub trait SecondOrderScore: Score {
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
            let row = row.insert_axis(ndarray::Axis(0));
            let one = self.score2_sum(row, ArrayView1::from(&[1.0]))?;
            ndarray::linalg::general_mat_mul(weight, &one, &one, 1.0, &mut sum);
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
