//! Half-vectorisation of symmetric matrices: the lower triangle, with `sqrt(2)` off the diagonal. The dot product of
//! two such vectors is the trace product of the matrices.

use fenchel_linalg::Invalid;
use ndarray::Array2;

/// Checks that there are matrices of order `d`, and that the numbers of one take no more than 4 GiB.
pub(crate) fn check_order(d: usize) -> Result<(), Invalid> {
    let bytes = d.checked_add(1).and_then(|width| d.checked_mul(width)?.checked_mul(4));
    if d > 0
        && bytes
            .is_some_and(|bytes| fenchel_optim::MAX_MEMORY.is_none_or(|most| bytes as u64 <= most))
    {
        return Ok(());
    }
    let expected = "an order from 1 up whose matrices take at most 4 GiB";
    Err(Invalid::Parameter { name: "d", value: d as f64, expected })
}

/// Length for order `d`.
pub(crate) fn length(d: usize) -> usize {
    d * (d + 1) / 2
}

/// Writes `factor * matrix`, lower triangle row by row.
pub(crate) fn pack(matrix: &Array2<f64>, factor: f64, out: &mut [f64]) {
    let mut k = 0;
    for i in 0..matrix.nrows() {
        for j in 0..=i {
            let weight = if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
            out[k] = factor * weight * matrix[[i, j]];
            k += 1;
        }
    }
}

/// `factor *` the matrix behind a vector.
pub(crate) fn unpack(vector: &[f64], d: usize, factor: f64) -> Array2<f64> {
    let mut matrix = Array2::zeros((d, d));
    let mut k = 0;
    for i in 0..d {
        for j in 0..=i {
            let weight = if i == j { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
            matrix[[i, j]] = factor * weight * vector[k];
            matrix[[j, i]] = matrix[[i, j]];
            k += 1;
        }
    }
    matrix
}

/// Writes `outer * x x'` as a vector.
pub(crate) fn pack_outer(x: &[f64], outer: f64, out: &mut [f64]) {
    out.fill(0.0);
    add_outer(x, outer, out);
}

/// Adds `outer * x x'` to a vector.
pub(crate) fn add_outer(x: &[f64], outer: f64, out: &mut [f64]) {
    let mut k = 0;
    for (i, a) in x.iter().enumerate() {
        for b in &x[..i] {
            out[k] += outer * a * b * std::f64::consts::SQRT_2;
            k += 1;
        }
        out[k] += outer * a * a;
        k += 1;
    }
}

/// The matrix of `Cov(svec, svec)` from `cov(i, j, k, l)`, into a block of `out` of row length `width` at `(at, at)`.
pub(crate) fn block(
    d: usize,
    (out, width, at): (&mut [f64], usize, usize),
    cov: impl Fn(usize, usize, usize, usize) -> f64,
) {
    let weight = |i: usize, j: usize| if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
    let mut row = at;
    for i in 0..d {
        for j in 0..=i {
            let mut column = at;
            for k in 0..d {
                for l in 0..=k {
                    out[row * width + column] = weight(i, j) * weight(k, l) * cov(i, j, k, l);
                    column += 1;
                }
            }
            row += 1;
        }
    }
}
