//! Factors of symmetric positive definite matrices whose entries have exponents of their own, so that nothing overflows on the way, and
//! eigenvalues relative to them.

use std::f64::consts::LN_2;

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::{Array2, ArrayView2};

use super::half::length;
use crate::divergence::{accurate_dot, dot};

/// A number with an exponent of its own, `x 2^e`.
pub(crate) type Wide = (f64, i32);

/// Mantissa and exponent, as `libm::frexp`.
#[inline]
pub(crate) fn split(x: f64) -> Wide {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 & 0x7ff;
    if exponent == 0 || exponent == 0x7ff {
        return libm::frexp(x);
    }
    (f64::from_bits(bits & !(0x7ff << 52) | 0x3fe << 52), exponent - 0x3fe)
}

/// `x 2^e`.
#[inline]
pub(crate) fn scaled(x: f64, e: i32) -> f64 {
    if e.abs() < 1022 { x * power(e) } else { libm::scalbn(x, e) }
}

/// Numbers with one exponent in common, at which the largest is between 1/2 and 1.
fn together(numbers: impl Iterator<Item = Wide> + Clone) -> (Vec<f64>, i32) {
    let nonzero = numbers.clone().filter(|&(x, _)| x != 0.0);
    let top = nonzero.map(|(x, e)| split(x).1 + e).max().unwrap_or(0);
    (numbers.map(|(x, e)| scaled(x, e - top)).collect(), top)
}

/// The sum of a few numbers, where no partial sum overflows or underflows.
pub(crate) fn wide_sum<const N: usize>(numbers: [Wide; N]) -> f64 {
    let size = |&(x, e): &Wide| if x == 0.0 { i32::MIN } else { split(x).1 + e };
    let top = numbers.iter().map(size).max().unwrap_or(0);
    let top = if top == i32::MIN { 0 } else { top };
    scaled(numbers.iter().map(|&(x, e)| scaled(x, e - top)).sum(), top)
}

/// `sum_i a_i b_i` with twice the digits, where no product overflows.
pub(crate) fn wide_dot(pairs: impl Iterator<Item = (Wide, f64)> + Clone) -> Wide {
    let parts = pairs.filter(|&((a, _), b)| a != 0.0 && b != 0.0).map(|((a, e), b)| {
        let ((a, of_a), (b, of_b)) = (split(a), split(b));
        (a, b, e + of_a + of_b)
    });
    let top = parts.clone().map(|(_, _, e)| e).max().unwrap_or(0);
    (accurate_dot(parts.map(|(a, b, e)| (scaled(a, e - top), b))), top)
}

/// `2^k` for `|k| < 1023`.
fn power(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// A symmetric positive definite matrix `A_ij = 2^(k_i + k_j) B_ij`, where the diagonal of `B` is between 1/2 and 2, and the factor of
/// `B`. Powers of two do not round: results are those of a factor of `A` itself, and nothing on the way overflows.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    units: Vec<i32>,
    scaled: Cholesky,
}

/// The solution of `A x = b`: `x_i = 2^(exponent - k_i) solution_i` and `b_i = 2^(exponent + k_i) side_i`.
pub(crate) struct Solved {
    pub(crate) exponent: i32,
    pub(crate) solution: Vec<f64>,
    pub(crate) side: Vec<f64>,
}

impl Solved {
    /// `b'A^-1 b`.
    pub(crate) fn square(&self) -> Wide {
        (dot(&self.solution, &self.side), 2 * self.exponent)
    }
}

impl Factor {
    /// Of a matrix, whose lower triangle is read.
    ///
    /// # Errors
    /// As `Cholesky::new`.
    pub(crate) fn new(what: &'static str, matrix: ArrayView2<f64>) -> Result<Self, Invalid> {
        let d = Invalid::check_square(what, matrix.dim())?;
        Factor::of(what, d, |i, j| matrix[[i, j]])
    }

    /// Of `factor *` the matrix behind a vector.
    ///
    /// # Errors
    /// As `Cholesky::new`.
    pub(crate) fn unpacked(
        what: &'static str,
        vector: &[f64],
        d: usize,
        factor: f64,
    ) -> Result<Self, Invalid> {
        let off = factor * std::f64::consts::FRAC_1_SQRT_2;
        Factor::of(what, d, |i, j| vector[length(i) + j] * if i == j { factor } else { off })
    }

    fn of(
        what: &'static str,
        d: usize,
        entry: impl Fn(usize, usize) -> f64,
    ) -> Result<Self, Invalid> {
        let units: Vec<i32> = (0..d).map(|i| split(entry(i, i)).1 >> 1).collect();
        let mut entries = vec![0.0; d * d];
        for (j, column) in entries.chunks_exact_mut(d.max(1)).enumerate() {
            for (i, (out, unit)) in column.iter_mut().zip(&units).enumerate().skip(j) {
                *out = entry(i, j) * power(-unit) * power(-units[j]);
            }
        }
        let scaled = Cholesky::in_place(entries, d).map_err(|error| match error {
            Invalid::NotPositiveDefinite { pivot, value, .. } => {
                let value = scaled(value, 2 * units[pivot]);
                Invalid::NotPositiveDefinite { what, pivot, value }
            }
            // Too large beside the diagonal.
            Invalid::NonFinite { row, column, .. } if entry(row, column).is_finite() => {
                Invalid::NotPositiveDefinite { what, pivot: row, value: f64::NEG_INFINITY }
            }
            Invalid::NonFinite { row, column, value, .. } => {
                Invalid::NonFinite { what, row, column, value }
            }
            other => other,
        })?;
        Ok(Factor { units, scaled })
    }

    pub(crate) fn order(&self) -> usize {
        self.units.len()
    }

    /// `k_i`.
    pub(crate) fn units(&self) -> &[i32] {
        &self.units
    }

    /// `L` with `A = L L'`.
    pub(crate) fn lower(&self) -> Array2<f64> {
        let mut lower = self.scaled.lower().to_owned();
        for (mut row, &k) in lower.rows_mut().into_iter().zip(&self.units) {
            row *= power(k);
        }
        lower
    }

    /// `log det A`.
    pub(crate) fn log_det(&self) -> f64 {
        let lower = self.scaled.lower();
        2.0 * (0..self.order()).map(|i| (lower[[i, i]] * power(self.units[i])).ln()).sum::<f64>()
    }

    /// `A^-1 b`, in parts that do not overflow. None if `b` is not finite.
    pub(crate) fn solve(&self, b: impl Iterator<Item = Wide> + Clone) -> Option<Solved> {
        let (side, exponent) = together(b.zip(&self.units).map(|((b, e), k)| (b, e - k)));
        let mut solution = side.clone();
        self.scaled.solve_in_place(&mut solution).ok()?;
        Some(Solved { exponent, solution, side })
    }

    /// The numbers `x_i` of a solution.
    pub(crate) fn plain<'a>(&'a self, solved: &'a Solved) -> impl Iterator<Item = f64> + 'a {
        let numbers = solved.solution.iter().zip(&self.units);
        numbers.map(|(x, k)| scaled(*x, solved.exponent - k))
    }

    /// `b'A^-1 b` as a sum of squares.
    pub(crate) fn inverse_square(&self, b: impl Iterator<Item = Wide> + Clone) -> Wide {
        let (mut z, e) = together(b.zip(&self.units).map(|((b, e), k)| (b, e - k)));
        let mut square = 0.0;
        for (j, column) in self.scaled.lower().columns().into_iter().enumerate() {
            let known = z[j] / column[j];
            square += known * known;
            z.iter_mut().zip(column).skip(j + 1).for_each(|(z, l)| *z -= known * l);
        }
        (square, 2 * e)
    }

    /// `x'A x` as a sum of squares.
    pub(crate) fn square(&self, x: impl Iterator<Item = Wide> + Clone) -> Wide {
        let (x, e) = together(x.zip(&self.units).map(|((x, e), k)| (x, e + k)));
        let lower = self.scaled.lower();
        let z = |j: usize| (j..x.len()).map(|i| lower[[i, j]] * x[i]).sum::<f64>();
        ((0..x.len()).map(|j| z(j).powi(2)).sum(), 2 * e)
    }

    /// `B^-1`, symmetric to the last bit.
    pub(crate) fn scaled_inverse(&self) -> Array2<f64> {
        let d = self.order();
        let eye = Array2::eye(d);
        let mut full = self.scaled.solve_matrix(eye.view()).expect("an identity of the same order");
        let values = full.as_slice_mut().expect("a matrix by rows");
        for i in 0..d {
            for j in 0..i {
                let mean = 0.5 * (values[i * d + j] + values[j * d + i]);
                values[i * d + j] = mean;
                values[j * d + i] = mean;
            }
        }
        full
    }

    /// `A^-1`, symmetric to the last bit.
    pub(crate) fn inverse(&self) -> Array2<f64> {
        let mut inverse = self.scaled_inverse();
        let values = inverse.as_slice_mut().expect("a matrix by rows");
        for (row, k) in values.chunks_exact_mut(self.order()).zip(&self.units) {
            let of_row = power(-k);
            row.iter_mut().zip(&self.units).for_each(|(v, k)| *v = *v * of_row * power(-k));
        }
        inverse
    }

    /// Checks that the inverse has finite numbers.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`].
    pub(crate) fn check_inverse(&self, what: &'static str) -> Result<Array2<f64>, Invalid> {
        let inverse = self.inverse();
        match inverse.indexed_iter().find(|(_, v)| !v.is_finite()) {
            None => Ok(inverse),
            Some(((row, column), &value)) => Err(Invalid::NonFinite { what, row, column, value }),
        }
    }
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
pub(crate) fn factor(what: &'static str, matrix: &Array2<f64>) -> Result<Factor, Invalid> {
    check_symmetric(what, matrix.view())?;
    Factor::new(what, matrix.view())
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

/// `n` times a positive definite matrix of known factor, or `n` times the inverse of one.
pub(crate) struct Base<'a> {
    factor: &'a Factor,
    units: Vec<i32>,
    inverse: bool,
    /// `n` over a power of 4.
    times: f64,
    log_det: f64,
}

impl<'a> Base<'a> {
    pub(crate) fn of(factor: &'a Factor) -> Self {
        Base::times(factor, 1.0)
    }

    pub(crate) fn times(factor: &'a Factor, n: f64) -> Self {
        Base::new(factor, n, false)
    }

    pub(crate) fn inverse(factor: &'a Factor, n: f64) -> Self {
        Base::new(factor, n, true)
    }

    fn new(factor: &'a Factor, n: f64, inverse: bool) -> Self {
        let (shift, sign) = (split(n).1 >> 1, if inverse { -1 } else { 1 });
        let units = factor.units.iter().map(|k| shift + sign * k).collect();
        let log_det = factor.order() as f64 * n.ln() + f64::from(sign) * factor.log_det();
        Base { factor, units, inverse, times: scaled(n, -2 * shift), log_det }
    }

    /// A matrix with the eigenvalues of a symmetric one relative to `P`, both in the units of `P`.
    fn relative(&self, matrix: Array2<f64>) -> Array2<f64> {
        let lower = self.factor.scaled.lower();
        if !self.inverse {
            return congruent(lower, matrix) / self.times;
        }
        let product = lower.t().dot(&matrix).dot(&lower);
        (&product + &product.t()) * (0.5 / self.times)
    }
}

/// `sum_i phi(lambda_i) / 2` with the eigenvalues of `Q` relative to `P`, `phi(z) = z - 1 - log z`; see [`relative_eigenvalues`].
pub(crate) fn half_phi(p: &Base, q: (&Base, Array2<f64>), half_change: Array2<f64>) -> f64 {
    let phi = |(e, log): (f64, f64)| {
        if e.abs() < 0.5 { -fenchel_linalg::special::log1pmx(e) } else { e - log }
    };
    0.5 * relative_eigenvalues(p, q, half_change).into_iter().map(phi).sum::<f64>()
}

/// `(e, log(1 + e))` for the eigenvalues `1 + e` of `Q` relative to `P`, given `(Q - P) / 2` with all digits: the difference itself
/// may overflow. Near `e = -1` both have their digits from `Q`. `e` may be infinite, the logarithm is not.
pub(crate) fn relative_eigenvalues(
    p: &Base,
    (of_q, q): (&Base, Array2<f64>),
    half_change: Array2<f64>,
) -> Vec<(f64, f64)> {
    // In the units of P, over 2^top if Q is larger there.
    let diagonal = of_q.units.iter().zip(&p.units).map(|(q, p)| 2 * (q - p));
    let top = diagonal.max().unwrap_or(0).max(0);
    let sorted = |mut matrix: Array2<f64>, exponent: i32| {
        let (units, scale) = (&p.units, exponent - top);
        matrix
            .indexed_iter_mut()
            .for_each(|((i, j), x)| *x = scaled(*x, scale - units[i] - units[j]));
        let mut values = eigenvalues(p.relative(matrix));
        values.sort_by(f64::total_cmp);
        values
    };
    let plain = |value: f64| scaled(value, top);
    let change = sorted(half_change, 1);
    let log_1p = |value: f64| {
        let e = plain(value);
        if e.is_finite() { e.ln_1p() } else { value.ln() + f64::from(top) * LN_2 }
    };
    if change.iter().all(|&e| plain(e) > -0.5) {
        return change.into_iter().map(|e| (plain(e), log_1p(e))).collect();
    }
    let rest = of_q.log_det - p.log_det;
    let values = sorted(q, 0);
    // Beside the largest eigenvalue the smallest have no digits: together they are what the determinants leave.
    let largest = values[values.len() - 1];
    let below = |border: f64| values.iter().filter(|&&v| !(v > border * largest)).count();
    let small = below(1e-10);
    let log =
        |(&e, &value): (&f64, &f64)| if plain(e) > -0.5 { log_1p(e) } else { plain(value).ln() };
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
    // Both from the logarithm there: they agree where determinants have few digits.
    let pair = |(e, log): (f64, f64)| (if plain(e) > -0.5 { plain(e) } else { log.exp_m1() }, log);
    change.into_iter().zip(logs).map(pair).collect()
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
