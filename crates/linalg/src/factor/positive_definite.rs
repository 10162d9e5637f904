//! Cholesky factors, inverses and triangular systems.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::cholesky::llt::factor::LltError;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{Accum, Mat, MatMut, MatRef};
use ndarray::{Array2, ArrayView2};

use super::{SEQUENTIAL, check_entries, check_symmetric, from_faer, to_faer};
use crate::{Cholesky, Invalid, parallel};

/// The order from which on threads share a factorisation or an inverse. A smaller one takes them longer than it takes one of them.
const SHARED: usize = 256;
/// Columns of a block.
const BLOCK: usize = 64;
/// Rows of a block that a thread takes at a time.
const PART: usize = 96;

/// [`cholesky_in_place`] of a copy of a matrix whose symmetry is checked first.
///
/// # Errors
/// Those of the [module](super), and [`Invalid::NotPositiveDefinite`] with the first pivot that is
/// not positive and its value. A singular matrix may have a tiny positive pivot by rounding and pass.
pub fn cholesky(a: ArrayView2<f64>) -> Result<Cholesky, Invalid> {
    check_symmetric("matrix", a)?;
    cholesky_in_place(a.t().iter().copied().collect(), a.nrows())
}

/// Factors an `n x n` matrix in its own memory, as [`Cholesky::in_place`] does, by faer: in half of the time from order 10 on.
///
/// # Errors
/// As [`Cholesky::in_place`].
pub fn cholesky_in_place(mut entries: Vec<f64>, n: usize) -> Result<Cholesky, Invalid> {
    Cholesky::check_lower(&entries, n)?;
    let diagonal: Vec<f64> = (0..n).map(|i| entries[i * n + i]).collect();
    let factored = factor_blocks(MatMut::from_column_major_slice_mut(&mut entries, n, n));
    let positive = |i: &usize| entries[i * n + i] > 0.0 && entries[i * n + i].is_finite();
    let bad = match factored {
        Ok(()) => (0..n).find(|i| !positive(i)),
        Err(pivot) => Some(pivot),
    };
    if let Some(pivot) = bad {
        let known: f64 = (0..pivot).map(|k| entries[k * n + pivot].powi(2)).sum();
        let value = diagonal[pivot] - known;
        return Err(Invalid::NotPositiveDefinite { what: "matrix", pivot, value });
    }
    for (j, column) in entries.chunks_exact_mut(n).enumerate() {
        column[..j].fill(0.0);
    }
    Ok(Cholesky::from_lower(entries, n))
}

/// Replaces the lower triangle of a matrix by its factor, a block of columns after the other, whose rows threads share. The order of the
/// matrix alone decides what is computed in one piece. Or returns the number of the first pivot that is not positive.
fn factor_blocks(mut a: MatMut<'_, f64>) -> Result<(), usize> {
    let n = a.nrows();
    let width = if n < SHARED { n } else { BLOCK };
    for from in (0..n).step_by(width) {
        let width = width.min(n - from);
        let (known, rest) = a.rb_mut().split_at_col_mut(from);
        let known = known.rb().subrows(from, n - from);
        let mut block = rest.get_mut(from.., ..width);
        // What the columns before have contributed.
        if from > 0 {
            let left = known.subrows(0, width).transpose();
            parallel::map(row_parts(block.rb_mut()).into_iter().enumerate(), |(k, part)| {
                let known = known.subrows(k * PART, part.nrows());
                matmul(part, Accum::Add, known, left, -1.0, SEQUENTIAL);
            });
        }
        let (mut square, below) = block.split_at_row_mut(width);
        let need =
            llt::factor::cholesky_in_place_scratch::<f64>(width, SEQUENTIAL, Default::default());
        let factored = llt::factor::cholesky_in_place(
            square.rb_mut(),
            Default::default(),
            SEQUENTIAL,
            MemStack::new(&mut MemBuffer::new(need)),
            Default::default(),
        );
        if let Err(LltError::NonPositivePivot { index }) = factored {
            return Err(from + index);
        }
        let square = square.rb();
        parallel::map(row_parts(below), |part| {
            solve_lower_triangular_in_place(square, part.transpose_mut(), SEQUENTIAL);
        });
    }
    Ok(())
}

/// Runs of [`PART`] rows.
fn row_parts(mut a: MatMut<'_, f64>) -> Vec<MatMut<'_, f64>> {
    let mut parts = Vec::with_capacity(a.nrows() / PART + 1);
    while a.nrows() > PART {
        let (part, rest) = a.split_at_row_mut(PART);
        parts.push(part);
        a = rest;
    }
    parts.push(a);
    parts
}

/// `A^-1` from the Cholesky factor of `A`; symmetric to the last bit.
///
/// To solve a system do not form the inverse: use [`Cholesky::solve`](crate::Cholesky::solve).
pub fn inverse(factor: &Cholesky) -> Array2<f64> {
    let n = factor.order();
    let mut out = Array2::zeros((n, n));
    inverse_into(factor, out.as_slice_mut().expect("standard layout"));
    out
}

/// Writes `A^-1` as [`inverse`] does, in row-major order, for loops that invert often. `2 n^3 / 3` operations.
///
/// # Panics
/// Unless `out` has `n^2` entries.
pub fn inverse_into(factor: &Cholesky, out: &mut [f64]) {
    let n = factor.order();
    assert_eq!(out.len(), n * n, "an n x n matrix");
    let factor = MatRef::from_column_major_slice(factor.entries(), n, n);
    if n < SHARED {
        let need = llt::inverse::inverse_scratch::<f64>(n, SEQUENTIAL);
        llt::inverse::inverse(
            MatMut::from_column_major_slice_mut(out, n, n),
            factor,
            SEQUENTIAL,
            MemStack::new(&mut MemBuffer::new(need)),
        );
    } else {
        invert_blocks(factor, out);
    }
    // The lower triangle by columns is the upper one by rows.
    for_lower(n, |i, j| out[i * n + j] = out[j * n + i]);
}

/// Fills the lower triangle of the inverse by columns, whose blocks threads share. What is above the diagonal of a block takes no part
/// in it: that makes as many operations as an inverse in one piece.
fn invert_blocks(factor: MatRef<'_, f64>, out: &mut [f64]) {
    let n = factor.nrows();
    parallel::map(out.chunks_mut(BLOCK * n).enumerate(), |(block, out)| {
        let (from, width) = (block * BLOCK, out.len() / n);
        let columns = MatMut::from_column_major_slice_mut(out, n, width);
        let mut columns = columns.get_mut(from.., ..);
        columns.fill(0.0);
        (0..width).for_each(|k| columns[(k, k)] = 1.0);
        let factor = factor.submatrix(from, from, n - from, n - from);
        solve_lower_triangular_in_place(factor, columns.rb_mut(), SEQUENTIAL);
        solve_upper_triangular_in_place(factor.transpose(), columns, SEQUENTIAL);
    });
}

/// Visits the entries `j <= i`, a tile at a time, so that rows and columns stay in cache.
fn for_lower(n: usize, mut f: impl FnMut(usize, usize)) {
    const TILE: usize = 32;
    for top in (0..n).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..(top + TILE).min(n) {
                for j in left..(left + TILE).min(i + 1) {
                    f(i, j);
                }
            }
        }
    }
}

/// Which half of a triangular matrix is read. The other half may hold any finite numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triangle {
    /// On and below the diagonal.
    Lower,
    /// On and above the diagonal.
    Upper,
}

/// Computes `T^-1 B` for an `n x n` triangular matrix `T` and an `n x m` matrix `B`.
///
/// For `T'` pass `t.t()` and the other triangle.
///
/// # Errors
/// Those of the [module](super); [`Invalid::Length`] unless `B` has `n` rows; [`Invalid::Singular`]
/// with the first zero on the diagonal.
pub fn solve_triangular(
    t: ArrayView2<f64>,
    triangle: Triangle,
    b: ArrayView2<f64>,
) -> Result<Array2<f64>, Invalid> {
    let what = "triangular matrix";
    let n = Invalid::check_square(what, t.dim())?;
    check_entries(what, t)?;
    Invalid::check_length("right-hand side", n, b.nrows())?;
    check_entries("right-hand side", b)?;
    if let Some(pivot) = t.diag().iter().position(|&d| d == 0.0) {
        return Err(Invalid::Singular { what, pivot });
    }
    let mut x = to_faer(b, 1.0);
    solve_triangle(to_faer(t, 1.0).as_ref(), triangle, &mut x);
    Ok(from_faer(x.as_ref()))
}

pub(super) fn solve_triangle(t: MatRef<'_, f64>, triangle: Triangle, x: &mut Mat<f64>) {
    match triangle {
        Triangle::Lower => solve_lower_triangular_in_place(t, x.as_mut(), SEQUENTIAL),
        Triangle::Upper => solve_upper_triangular_in_place(t, x.as_mut(), SEQUENTIAL),
    }
}
