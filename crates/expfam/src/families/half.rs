//! Half-vectorisation of symmetric matrices: the lower triangle, with `sqrt(2)` off the diagonal. The dot product of
//! two such vectors is the trace product of the matrices.

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::{Array2, ArrayView2};

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
    let mut k = 0;
    for (i, a) in x.iter().enumerate() {
        for b in &x[..i] {
            out[k] = std::f64::consts::SQRT_2 * outer * a * b;
            k += 1;
        }
        out[k] = outer * a * a;
        k += 1;
    }
}

/// The inverse of a matrix from its factor, symmetric to the last bit.
pub(crate) fn inverse(factor: &Cholesky) -> Array2<f64> {
    let d = factor.order();
    let full = factor.solve_matrix(Array2::eye(d).view()).expect("an identity of the same order");
    (&full + &full.t()) * 0.5
}

/// Checks that a matrix is square and symmetric, up to rounding of its largest entry.
pub(crate) fn check_symmetric(what: &'static str, matrix: ArrayView2<f64>) -> Result<(), Invalid> {
    let d = Invalid::check_square(what, matrix.dim())?;
    let allowed = 1e-8 * matrix.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for i in 0..d {
        for j in 0..i {
            let (lower, upper) = (matrix[[i, j]], matrix[[j, i]]);
            if (lower - upper).abs() > allowed {
                let reason = format!(
                    "entry ({i}, {j}) is {lower} but ({j}, {i}) is {upper}; expected a symmetric matrix"
                );
                return Err(Invalid::Layout { what, reason });
            }
        }
    }
    Ok(())
}

/// The factor of a symmetric positive definite matrix under its name.
pub(crate) fn factor(what: &'static str, matrix: &Array2<f64>) -> Result<Cholesky, Invalid> {
    check_symmetric(what, matrix.view())?;
    Cholesky::new(matrix.view()).map_err(|error| match error {
        Invalid::NotPositiveDefinite { pivot, value, .. } => {
            Invalid::NotPositiveDefinite { what, pivot, value }
        }
        Invalid::NonFinite { row, column, value, .. } => {
            Invalid::NonFinite { what, row, column, value }
        }
        other => other,
    })
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

/// Eigenvalues of a symmetric matrix by Jacobi's rotations: small ones keep their digits beside large ones.
pub(crate) fn eigenvalues(mut a: Array2<f64>) -> Vec<f64> {
    let n = a.nrows();
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|p| a[p] * a[p]).sum();
        let diagonal: f64 = a.diag().iter().map(|d| d * d).sum();
        if !(off > 1e-34 * diagonal) {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let x = a[[p, q]];
                if x == 0.0 {
                    continue;
                }
                let theta = 0.5 * (a[[q, q]] - a[[p, p]]) / x;
                let t = if theta == 0.0 {
                    1.0
                } else {
                    theta.signum() / (theta.abs() + theta.hypot(1.0))
                };
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for k in 0..n {
                    let (u, v) = (a[[k, p]], a[[k, q]]);
                    a[[k, p]] = c * u - s * v;
                    a[[k, q]] = s * u + c * v;
                }
                for k in 0..n {
                    let (u, v) = (a[[p, k]], a[[q, k]]);
                    a[[p, k]] = c * u - s * v;
                    a[[q, k]] = s * u + c * v;
                }
            }
        }
    }
    a.diag().to_vec()
}

/// `sum_i phi(lambda_i) / 2` with the eigenvalues of `Q` relative to `P`, `phi(z) = z - 1 - log z`; `difference` is
/// `Q - P` with all digits.
pub(crate) fn half_phi(p: &Array2<f64>, q: Array2<f64>, difference: Array2<f64>) -> f64 {
    let Some(relative) = relative_eigenvalues(p, q, difference) else { return f64::NAN };
    let phi = |(e, log): (f64, f64)| {
        if e.abs() < 0.5 { -fenchel_linalg::special::log1pmx(e) } else { e - log }
    };
    0.5 * relative.into_iter().map(phi).sum::<f64>()
}

/// `(e, log(1 + e))` for the eigenvalues `1 + e` of `Q` relative to a positive definite `P`, given `Q - P`. Near `e = -1`
/// the logarithm has its digits from `Q`.
pub(crate) fn relative_eigenvalues(
    p: &Array2<f64>,
    q: Array2<f64>,
    difference: Array2<f64>,
) -> Option<Vec<(f64, f64)>> {
    let lower = Cholesky::new(p.view()).ok()?;
    let sorted = |matrix: Array2<f64>| {
        let mut values = eigenvalues(congruent(lower.lower(), matrix));
        values.sort_by(f64::total_cmp);
        values
    };
    let change = sorted(difference);
    if change.iter().all(|&e| e > -0.5) {
        return Some(change.into_iter().map(|e| (e, e.ln_1p())).collect());
    }
    let log_det = |matrix: ArrayView2<f64>| Cholesky::new(matrix).ok().map(|f| f.log_det());
    let rest = log_det(q.view())? - lower.log_det();
    let values = sorted(q);
    // Beside the largest eigenvalue the smallest have no digits: together they are what the determinants leave.
    let largest = *values.last()?;
    let below = |border: f64| values.iter().filter(|&&v| !(v > border * largest)).count();
    let small = below(1e-10);
    let log = |(&e, &value): (&f64, &f64)| if e > -0.5 { e.ln_1p() } else { value.ln() };
    let mut logs: Vec<f64> = change.iter().zip(&values).map(log).collect();
    if small > 0 {
        let share = (rest - logs[small..].iter().sum::<f64>()) / small as f64;
        logs[..small].fill(share);
    } else {
        // Those that have some digits share what is missing.
        let small = below(1e-2);
        let share = (rest - logs.iter().sum::<f64>()) / small as f64;
        logs[..small].iter_mut().for_each(|log| *log += share);
    }
    Some(change.into_iter().zip(logs).collect())
}

/// `L^-1 M L^-T`.
fn congruent(lower: ArrayView2<f64>, mut matrix: Array2<f64>) -> Array2<f64> {
    let d = lower.nrows();
    // In two passes of forward substitution.
    for _ in 0..2 {
        for column in 0..d {
            for i in 0..d {
                let known: f64 = (0..i).map(|k| lower[[i, k]] * matrix[[k, column]]).sum();
                matrix[[i, column]] = (matrix[[i, column]] - known) / lower[[i, i]];
            }
        }
        matrix = matrix.t().to_owned();
    }
    (&matrix + &matrix.t()) * 0.5
}
