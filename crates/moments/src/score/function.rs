//! A score given by a function.

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1};

use super::traits::{ScoreFunction, check_columns};
use crate::blocks::finite;
use crate::error::Error;

/// The score that a closure computes: `f(x, out)` writes `-grad log p(x)` into `out`.
///
/// If scores are already in a table, no density is needed: see [`Sade::fit_scores`](crate::Sade::fit_scores).
///
/// ```
/// use fenchel_moments::score::FnScore;
/// use fenchel_moments::ScoreFunction;
/// use ndarray::array;
///
/// // Independent logistic features.
/// let logistic = FnScore::new(2, |x, mut out| out.assign(&x.mapv(|v| (0.5 * v).tanh())));
/// assert!((logistic.score1(array![[0.0, 2.0]].view())?[[0, 1]] - 1_f64.tanh()).abs() < 1e-15);
/// # Ok::<(), fenchel_moments::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FnScore<F> {
    dim: usize,
    f: F,
}

impl<F: Fn(ArrayView1<f64>, ArrayViewMut1<f64>) + Sync> FnScore<F> {
    /// A score of `dim` features.
    pub fn new(dim: usize, f: F) -> Self {
        FnScore { dim, f }
    }
}

impl<F: Fn(ArrayView1<f64>, ArrayViewMut1<f64>) + Sync> ScoreFunction for FnScore<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn score1(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim)?;
        let mut s = Array2::zeros(x.dim());
        for (x, out) in x.rows().into_iter().zip(s.rows_mut()) {
            (self.f)(x, out);
        }
        Ok(finite(s, "score of the closure")?)
    }
}
