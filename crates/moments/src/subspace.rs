//! Distances between subspaces.
//!
//! A subspace is given as the span of the columns of a `d x k` matrix. No result depends on the choice of the basis.
//!
//! | number | formula | range |
//! |---|---|---|
//! | [`trace_error`], `R^2` in Babichev's thesis | `1 - tr(P Q) / k`, `P` and `Q` the projectors | 0 (equal) to 1 (orthogonal) |
//! | [`principal_angles`] | `arcsin` and `arccos` of singular values | 0 to pi/2, ascending |
//! | [`trace_correlation`] | `sqrt(tr(P Q) / k)` | 1 (equal) to 0 |
//!
//! With `R` the root of the trace error, `sqrt(k) R` is the Frobenius norm of the sines of the principal angles. The
//! sines are computed from `(I - Q Q') P`, so errors far below `1e-8` keep their digits. Source: D. Babichev, PhD
//! thesis 2019, section 2.5.1 and equation (2.4.3), where the transposes are misprinted.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::{qr, svd};
use ndarray::{Array1, Array2, ArrayView2};

use crate::error::Error;

/// An orthonormal basis of the span; the first `j` columns span what the first `j` columns of `a` do.
///
/// # Errors
/// [`Invalid::RankDeficient`] if the columns depend on one another; [`Invalid::NonFinite`].
pub fn orthonormal(a: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
    let (d, k) = a.dim();
    if k > d {
        return Err(
            Invalid::RankDeficient { what: "basis", rank: d, columns: k, column: None }.into()
        );
    }
    // Columns of largest entry 1: their squares neither overflow nor vanish, and their units do not decide the rank.
    let mut q = a.to_owned();
    for mut column in q.columns_mut() {
        let largest = column.fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest > 0.0 && largest.is_finite() {
            column.mapv_inplace(|v| v / largest);
        }
    }
    let rank = qr(q.view())?.rank();
    if rank < k {
        return Err(Invalid::RankDeficient { what: "basis", rank, columns: k, column: None }.into());
    }
    for j in 0..k {
        // Twice is enough (Kahan): the second round removes what rounding left of the first.
        for _ in 0..2 {
            for i in 0..j {
                let dot = q.column(i).dot(&q.column(j));
                let before = q.column(i).to_owned();
                q.column_mut(j).scaled_add(-dot, &before);
            }
            let norm = q.column(j).dot(&q.column(j)).sqrt();
            q.column_mut(j).mapv_inplace(|v| v / norm);
        }
    }
    Ok(q)
}

fn pair(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Result<(Array2<f64>, Array2<f64>), Error> {
    Invalid::check_length("rows of the second basis", a.nrows(), b.nrows())?;
    Invalid::check_length("columns of the second basis", a.ncols(), b.ncols())?;
    if a.ncols() == 0 {
        return Err(Invalid::Empty { what: "basis" }.into());
    }
    Ok((orthonormal(a)?, orthonormal(b)?))
}

/// The square trace error `R^2 = 1 - tr(P_a P_b) / k` of the spans of two `d x k` matrices.
///
/// ```
/// use fenchel_moments::trace_error;
/// use ndarray::array;
///
/// let (a, b) = (array![[1.0], [0.0]], array![[3.0], [4.0]]);
/// assert!((trace_error(a.view(), b.view())? - 16.0 / 25.0).abs() < 1e-15);
/// # Ok::<(), fenchel_moments::Error>(())
/// ```
///
/// # Errors
/// [`Invalid::Length`] unless the shapes agree; [`Invalid::Empty`] without columns; the errors of [`orthonormal`].
pub fn trace_error(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Result<f64, Error> {
    let (a, b) = pair(a, b)?;
    let rest = &b - &a.dot(&a.t().dot(&b));
    Ok((rest.iter().map(|v| v * v).sum::<f64>() / a.ncols() as f64).min(1.0))
}

/// `sqrt(tr(P_a P_b) / k)`: 1 for the same span, 0 for orthogonal ones.
///
/// # Errors
/// As [`trace_error`].
pub fn trace_correlation(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Result<f64, Error> {
    Ok((1.0 - trace_error(a, b)?).max(0.0).sqrt())
}

/// The `k` angles between two subspaces, in radians, ascending.
///
/// # Errors
/// As [`trace_error`].
pub fn principal_angles(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Result<Array1<f64>, Error> {
    let (a, b) = pair(a, b)?;
    let inner = a.t().dot(&b);
    let cosines = svd(inner.view())?.values;
    let rest = &b - &a.dot(&inner);
    let mut sines = svd(rest.view())?.values.to_vec();
    sines.reverse();
    // Small angles from the sine, large ones from the cosine: each is flat where the other is steep.
    let angle = |(&c, s): (&f64, f64)| if s < c { s.min(1.0).asin() } else { c.min(1.0).acos() };
    Ok(cosines.iter().zip(sines).map(angle).collect())
}
