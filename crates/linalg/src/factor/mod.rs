//! Factorisations of dense matrices (feature `factor`).
//!
//! | to get | function | operations |
//! |---|---|---|
//! | `A = L L'`, `A^-1 b`, `log det A` | [`cholesky`] or [`cholesky_in_place`], then [`Cholesky`](crate::Cholesky) | `n^3 / 3` |
//! | `A^-1` of a positive definite `A` | [`inverse`] | `n^3` with the factor |
//! | `T^-1 B`, `T` triangular | [`solve_triangular`] | `n^2 m` |
//! | `A[:, order] = Q R`, rank, least squares | [`qr`], [`least_squares`] | `2 m n^2` |
//! | `A = V diag(l) V'` | [`symmetric_eigen`] | about `9 n^3` |
//! | `A v = l B v` | [`generalised_eigen`] | about `14 n^3` |
//! | `A = U diag(s) V'`, rank, least norm | [`svd`] | about `4 m n^2 + 22 n^3` |
//! | `prox` of the nuclear norm, projection on the spectral ball | [`shrink_singular_values`], [`clip_singular_values`] | as [`svd`] |
//! | features of a kernel from landmarks | [`Nystrom`] | `9 m^3` once, and `m r` per point |
//!
//! Arguments are `ArrayView2` of any memory layout, and results are row-major `Array2`, except Cholesky factors. faer does the work, and nalgebra that of symmetric
//! eigenproblems up to order 30; this module hides them.
//!
//! **Determinism.** faer runs sequentially, whatever its global setting. Factors and inverses of order 256 or more are computed in
//! blocks that the order alone determines, each by one thread. So results do not depend on the number of threads, and no global state is
//! read or written.
//!
//! **Refused arguments** are reported as [`Invalid`]: empty matrices, NaN and infinities (with row and column), shapes that do
//! not fit. Where symmetry is needed, an asymmetry `|a_ij - a_ji|` above [`SYMMETRY`]` * max |a|` is refused too; a smaller one
//! is ignored, and only the lower triangle is used.

mod eigen;
mod nystrom;
mod positive_definite;
mod qr;
mod svd;
#[cfg(test)]
mod tests;

pub use eigen::{SymmetricEigen, generalised_eigen, symmetric_eigen};
pub use nystrom::Nystrom;
pub use positive_definite::{
    Triangle, cholesky, cholesky_in_place, inverse, inverse_into, solve_triangular,
};
pub use qr::{Qr, least_squares, qr};
pub use svd::{Svd, clip_singular_values, shrink_singular_values, svd};

use faer::{Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2};

use crate::Invalid;

/// Asymmetry, relative to the largest entry, that is taken for rounding. A Gram matrix of a million rows may have an asymmetry
/// of about `1e6 * 1e-16`.
pub const SYMMETRY: f64 = 1e-10;

/// Every call into faer says so: see "Determinism" above.
const SEQUENTIAL: Par = Par::Seq;

/// Checks that a matrix has entries and that they are finite.
fn check_entries(what: &'static str, a: ArrayView2<f64>) -> Result<(), Invalid> {
    if a.is_empty() {
        return Err(Invalid::Empty { what });
    }
    if a.iter().all(|v| v.is_finite()) {
        return Ok(());
    }
    // Only on this path is the place worth the slower iterator.
    match a.indexed_iter().find(|(_, v)| !v.is_finite()) {
        Some(((row, column), &value)) => Err(Invalid::NonFinite { what, row, column, value }),
        None => Ok(()),
    }
}

/// Checks a symmetric matrix and returns its order.
fn check_symmetric(what: &'static str, a: ArrayView2<f64>) -> Result<usize, Invalid> {
    let n = Invalid::check_square(what, a.dim())?;
    check_entries(what, a)?;
    let allowed = SYMMETRY * a.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for i in 0..n {
        for j in 0..i {
            let (lower, upper) = (a[[i, j]], a[[j, i]]);
            if (lower - upper).abs() > allowed {
                let reason = format!(
                    "entry ({i}, {j}) is {lower} but ({j}, {i}) is {upper}; expected a symmetric matrix"
                );
                return Err(Invalid::Layout { what, reason });
            }
        }
    }
    Ok(n)
}

/// The power of two at or below the largest absolute entry; 1 for the zero matrix.
///
/// Division by a power of two is exact, and keeps the squares inside an iteration from overflow and underflow.
fn binary_scale(a: ArrayView2<f64>) -> f64 {
    let largest = a.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest > 0.0 { libm::scalbn(1.0, libm::ilogb(largest)) } else { 1.0 }
}

fn to_faer(a: ArrayView2<f64>, scale: f64) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[[i, j]] / scale)
}

fn from_faer(a: MatRef<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn(a.shape(), |(i, j)| a[(i, j)])
}
