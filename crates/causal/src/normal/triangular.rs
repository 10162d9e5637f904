//! Triangular systems, and the factor of an inverse.

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView2};

use crate::Error;

/// `L X = B`, in place of B.
pub(crate) fn solve_lower(l: &Array2<f64>, b: &mut Array2<f64>) {
    for i in 0..l.nrows() {
        for k in 0..i {
            let factor = l[(i, k)];
            if factor != 0.0 {
                for j in 0..b.ncols() {
                    b[(i, j)] -= factor * b[(k, j)];
                }
            }
        }
        let pivot = l[(i, i)];
        b.row_mut(i).mapv_inplace(|e| e / pivot);
    }
}

/// `L' x = b`, in place of b.
pub(crate) fn solve_lower_transposed(l: &Array2<f64>, b: &mut Array1<f64>) {
    for i in (0..l.nrows()).rev() {
        let known: f64 = (i + 1..l.nrows()).map(|k| l[(k, i)] * b[k]).sum();
        b[i] = (b[i] - known) / l[(i, i)];
    }
}

/// The lower triangular L with `L L' = S^-1`, without the inverse: with rows and columns in reverse order, `S = C C'` gives `L = C^-T`.
pub(crate) fn factor_of_inverse(
    what: &'static str,
    sigma: ArrayView2<'_, f64>,
) -> Result<Array2<f64>, Error> {
    let n = Invalid::check_square(what, sigma.dim())?;
    let back = Array2::from_shape_fn((n, n), |(i, j)| sigma[(n - 1 - i, n - 1 - j)]);
    let c = fenchel_linalg::Cholesky::new(back.view())
        .map_err(|e| match e {
            Invalid::NotPositiveDefinite { pivot, value, .. } => {
                Invalid::NotPositiveDefinite { what, pivot: n - 1 - pivot, value }
            }
            other => other,
        })?
        .lower()
        .to_owned();
    let mut inverse = Array2::eye(n);
    solve_lower(&c, &mut inverse);
    Ok(Array2::from_shape_fn((n, n), |(i, j)| inverse[(n - 1 - j, n - 1 - i)]))
}
