//! Cholesky factorisation of a symmetric positive definite matrix, `A = L L'`, without dependencies.
//!
//! This implementation serves Newton's method and Gaussian models without a factorisation library, whose compile time does not pay.
//! It works in blocks of columns, with eight by eight sums in registers. With the feature `factor`,
//! `factor::cholesky` checks the symmetry of the matrix first.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `A` | symmetric positive definite matrix | `n x n` |
//! | `L` | lower triangular factor, positive diagonal | `n x n` |
//!
//! The factorisation takes `n^3 / 3` operations, and each right-hand side `2 n^2` more. The computed factor is the exact factor
//! of a matrix within about `n eps ||A||` of `A` (Higham, *Accuracy and Stability of Numerical Algorithms*, theorem 10.3), so
//! that no pivoting is needed.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ShapeBuilder};

use self::factor::Factor;
use crate::{Invalid, lanes};

mod factor;

/// The factor of a symmetric positive definite matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Cholesky {
    n: usize,
    /// `L` by columns, zeros above the diagonal.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a copy of a matrix. Only the lower triangle is read. `n^3 / 3` operations.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless the matrix is square; [`Invalid::Empty`]; [`Invalid::NonFinite`];
    /// [`Invalid::NotPositiveDefinite`] with the first pivot that is not positive. A singular
    /// matrix may have a tiny positive pivot by rounding and pass.
    pub fn new(matrix: ArrayView2<f64>) -> Result<Self, Invalid> {
        let n = Invalid::check_square("matrix", matrix.dim())?;
        Cholesky::in_place(matrix.t().iter().copied().collect(), n)
    }

    /// Factors an `n x n` matrix in its own memory; see [`Cholesky::new`]. Only its lower triangle by columns is read, which is the
    /// upper one by rows.
    ///
    /// A loop that factors many matrices can reuse the memory: [`into_entries`](Cholesky::into_entries) returns it.
    ///
    /// # Errors
    /// As [`Cholesky::new`], and [`Invalid::Length`] unless there are `n^2` entries.
    pub fn in_place(mut entries: Vec<f64>, n: usize) -> Result<Self, Invalid> {
        Cholesky::check_lower(&entries, n)?;
        lanes::run(Factor { entries: &mut entries, n })?;
        Ok(Cholesky { n, lower: entries })
    }

    /// That there are `n^2` entries, at least one, and that those of the lower triangle are finite.
    pub(crate) fn check_lower(entries: &[f64], n: usize) -> Result<(), Invalid> {
        let what = "matrix";
        // An `n` whose square overflows has no vector of that length.
        Invalid::check_length(what, n.saturating_mul(n), entries.len())?;
        if n == 0 {
            return Err(Invalid::Empty { what });
        }
        for (column, lower) in entries.chunks_exact(n).enumerate() {
            let bad = lower.iter().skip(column).position(|v| !v.is_finite());
            if let Some(row) = bad.map(|below| column + below) {
                return Err(Invalid::NonFinite { what, row, column, value: lower[row] });
            }
        }
        Ok(())
    }

    /// Of the factor by columns.
    #[cfg(feature = "factor")]
    pub(crate) fn from_lower(lower: Vec<f64>, n: usize) -> Self {
        Cholesky { n, lower }
    }

    /// Factors a matrix that is positive semidefinite up to rounding, such as the Hessian of collinear features. It is read as by
    /// [`in_place`](Cholesky::in_place).
    ///
    /// The matrix is first factored as it is. If that fails, a ridge is added to the diagonal: the smallest of `1e-15, 1e-14,
    /// ..., 1e3` times the largest diagonal entry (times 1 if no diagonal entry is positive) that makes the matrix positive
    /// definite in floating point. Every attempt costs a copy and a factorisation.
    ///
    /// ```
    /// use fenchel_linalg::Cholesky;
    ///
    /// // Singular: the ridge is too small to be seen where the right-hand side is in the range.
    /// let mut x = [3.0, 3.0];
    /// Cholesky::with_ridge(&[1.0, 1.0, 1.0, 1.0], 2)?.solve_in_place(&mut x)?;
    /// assert!((x[0] + x[1] - 3.0).abs() < 1e-12);
    /// # Ok::<(), fenchel_linalg::Invalid>(())
    /// ```
    ///
    /// # Errors
    /// As [`in_place`](Cholesky::in_place); [`Invalid::NotPositiveDefinite`] if no ridge is enough.
    pub fn with_ridge(entries: &[f64], n: usize) -> Result<Self, Invalid> {
        let first = Cholesky::in_place(entries.to_vec(), n);
        if !matches!(first, Err(Invalid::NotPositiveDefinite { .. })) {
            return first;
        }
        let largest = (0..n).map(|k| entries[k * n + k]).fold(0.0, f64::max);
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let shifted = |ridge: f64| {
            let mut shifted = entries.to_vec();
            (0..n).for_each(|k| shifted[k * n + k] += ridge);
            Cholesky::in_place(shifted, n)
        };
        (1..20).find_map(|k| shifted(scale * 1e-16 * 10f64.powi(k)).ok()).map_or(first, Ok)
    }

    /// The order of the matrix.
    pub fn order(&self) -> usize {
        self.n
    }

    /// `L`, with zeros above the diagonal; a view by columns.
    pub fn lower(&self) -> ArrayView2<'_, f64> {
        ArrayView2::from_shape((self.n, self.n).f(), &self.lower).expect("n^2 entries")
    }

    /// `L` by columns.
    #[cfg(feature = "factor")]
    pub(crate) fn entries(&self) -> &[f64] {
        &self.lower
    }

    /// Returns the memory, for the next matrix.
    pub fn into_entries(self) -> Vec<f64> {
        self.lower
    }

    /// `log det A`.
    pub fn log_det(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.lower[i * self.n + i].ln()).sum::<f64>()
    }

    /// Solves `A x = b` for `x = A^-1 b`. `2 n^2` operations.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn solve(&self, b: ArrayView1<f64>) -> Result<Array1<f64>, Invalid> {
        let mut x = b.to_vec();
        self.solve_in_place(&mut x)?;
        Ok(x.into())
    }

    /// Replaces `b` by `A^-1 b`.
    ///
    /// # Errors
    /// As [`Cholesky::solve`].
    pub fn solve_in_place(&self, b: &mut [f64]) -> Result<(), Invalid> {
        Invalid::check_length("right-hand side", self.n, b.len())?;
        Invalid::check_finite("right-hand side", b)?;
        // Once b_j is known, its share is taken out of all equations below.
        for (j, column) in self.lower.chunks_exact(self.n).enumerate() {
            let (known, rest) = b.split_at_mut(j + 1);
            known[j] /= column[j];
            axpy(-known[j], &column[j + 1..], rest);
        }
        self.solve_transposed(b);
        Ok(())
    }

    /// Replaces `b` by `L'^-1 b`. If `b` is standard normal, the result is a draw with covariance `A^-1`. `n^2` operations.
    ///
    /// # Panics
    /// Unless `b` has `n` entries.
    pub fn solve_transposed(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.n, "a right-hand side of n entries");
        for (j, column) in self.lower.chunks_exact(self.n).enumerate().rev() {
            let (rest, known) = b.split_at_mut(j + 1);
            rest[j] = (rest[j] - dot(&column[j + 1..], known)) / column[j];
        }
    }

    /// `A^-1 B` for the `n x m` matrix `B`. `2 n^2 m` operations.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn solve_matrix(&self, b: ArrayView2<f64>) -> Result<Array2<f64>, Invalid> {
        let what = "right-hand side";
        let (n, m) = (self.n, b.ncols());
        Invalid::check_length(what, n, b.nrows())?;
        if let Some(((row, column), &value)) = b.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Invalid::NonFinite { what, row, column, value });
        }
        let mut x: Vec<f64> = b.iter().copied().collect();
        if m > 0 {
            for (j, column) in self.lower.chunks_exact(n).enumerate() {
                let (known, below) = x.split_at_mut((j + 1) * m);
                let x_j = &mut known[j * m..];
                x_j.iter_mut().for_each(|x| *x /= column[j]);
                for (below, &l) in below.chunks_exact_mut(m).zip(&column[j + 1..]) {
                    axpy(-l, x_j, below);
                }
            }
            for (j, column) in self.lower.chunks_exact(n).enumerate().rev() {
                let (rest, below) = x.split_at_mut((j + 1) * m);
                let x_j = &mut rest[j * m..];
                for (below, &l) in below.chunks_exact(m).zip(&column[j + 1..]) {
                    axpy(-l, below, x_j);
                }
                x_j.iter_mut().for_each(|x| *x /= column[j]);
            }
        }
        Ok(Array2::from_shape_vec((n, m), x).expect("n m entries"))
    }
}

/// Inner product of two slices of equal length, in eight partial sums.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for l in 0..8 {
            lanes[l] += a[l] * b[l];
        }
    }
    lanes.iter().sum::<f64>() + tail
}

/// `out += scale * x`.
fn axpy(scale: f64, x: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o += scale * x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Integers below the diagonal, positive on it: `L L'` is exact, and the factor is known.
    fn integer_factor(n: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, n), |(i, j)| match i.cmp(&j) {
            std::cmp::Ordering::Greater => ((i * 7 + j * 3) % 5) as f64 - 2.0,
            std::cmp::Ordering::Equal => 8.0 + (i % 3) as f64,
            std::cmp::Ordering::Less => 0.0,
        })
    }

    #[test]
    fn factor_of_a_product_of_integers_is_found_again() {
        for n in [1, 2, 3, 4, 5, 8, 9, 30, 61, 64, 65, 120, 256, 330] {
            let l = integer_factor(n);
            let product = l.dot(&l.t());
            let cholesky = Cholesky::new(product.view()).unwrap();
            // Of a matrix in its own memory the upper triangle by rows is read, and nothing else.
            let half = Array2::from_shape_fn((n, n), |(i, j)| match i <= j {
                true => product[[i, j]],
                false => f64::NAN,
            });
            let entries = half.iter().copied().collect::<Vec<_>>();
            assert_eq!(Cholesky::with_ridge(&entries, n).unwrap(), cholesky, "n = {n}");
            assert_eq!(Cholesky::in_place(entries, n).unwrap(), cholesky, "n = {n}");
            // All intermediate numbers are small integers: products, sums, quotients and roots
            // are exact in every order.
            assert_eq!(cholesky.lower(), l.view(), "n = {n}");
            let log_det: f64 = 2.0 * l.diag().iter().map(|d| d.ln()).sum::<f64>();
            assert!((cholesky.log_det() - log_det).abs() <= 1e-13 * log_det);
        }
    }

    #[test]
    fn solutions_of_systems_with_a_known_one() {
        for n in [1, 2, 7, 40] {
            // Diagonally dominant, condition number below 3.
            let a = Array2::from_shape_fn((n, n), |(i, j)| {
                if i == j { 2.0 * n as f64 } else { ((i + j) % 3) as f64 - 1.0 }
            });
            let x = Array2::from_shape_fn((n, 3), |(i, j)| (i as f64 - 3.0) * (j as f64 + 1.0));
            let cholesky = Cholesky::new(a.view()).unwrap();
            let found = cholesky.solve_matrix(a.dot(&x).view()).unwrap();
            for (f, e) in found.iter().zip(&x) {
                assert!((f - e).abs() <= 1e-12 * n as f64, "n = {n}: {f} {e}");
            }
            let one = cholesky.solve(a.dot(&x.column(1)).view()).unwrap();
            for (f, e) in one.iter().zip(x.column(1)) {
                assert!((f - e).abs() <= 1e-12 * n as f64, "n = {n}: {f} {e}");
            }
            let mut half = cholesky.lower().t().dot(&x.column(1)).to_vec();
            cholesky.solve_transposed(&mut half);
            for (f, e) in half.iter().zip(x.column(1)) {
                assert!((f - e).abs() <= 1e-12 * n as f64, "n = {n}: {f} {e}");
            }
            assert_eq!(cholesky.solve_matrix(Array2::zeros((n, 0)).view()).unwrap().dim(), (n, 0));
        }
    }

    #[test]
    fn first_bad_pivot_is_named_with_its_value() {
        let check = |a: Array2<f64>, pivot: usize, value: f64| {
            let expected = Invalid::NotPositiveDefinite { what: "matrix", pivot, value };
            assert_eq!(Cholesky::new(a.view()), Err(expected));
        };
        check(array![[-1.0]], 0, -1.0);
        check(array![[0.0, 0.0], [0.0, 1.0]], 0, 0.0);
        check(array![[1.0, 2.0], [2.0, 1.0]], 1, -3.0);
        check(array![[1.0, 1.0], [1.0, 1.0]], 1, 0.0);
        // L L' with one pivot moved from 81 to -19.
        for (n, bad) in [(5, 4), (20, 1), (20, 13), (61, 40), (330, 300)] {
            let l = integer_factor(n);
            let mut a = l.dot(&l.t());
            let pivot = l[[bad, bad]] * l[[bad, bad]];
            a[[bad, bad]] -= pivot + 19.0;
            check(a, bad, -19.0);
        }
    }

    /// The matrices have two equal columns, a column of zeros, or a tiny negative eigenvalue. Systems that have a solution are
    /// solved.
    #[test]
    fn a_ridge_makes_semidefinite_matrices_definite() {
        let solves = |a: [f64; 9], b: [f64; 3]| {
            let mut x = b;
            Cholesky::with_ridge(&a, 3).unwrap().solve_in_place(&mut x).unwrap();
            for (row, b) in a.chunks(3).zip(b) {
                let found: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
                assert!((found - b).abs() <= 1e-9, "{a:?}: {found} {b}");
            }
        };
        solves([4.0, 4.0, 2.0, 4.0, 4.0, 2.0, 2.0, 2.0, 3.0], [10.0, 10.0, 7.0]);
        solves([4.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0], [5.0, 0.0, 4.0]);
        solves([1.0, 1.0, 0.0, 1.0, 1.0 - 1e-14, 0.0, 0.0, 0.0, 1.0], [2.0, 2.0, 1.0]);
        // A definite matrix is left as it is.
        let l = integer_factor(20);
        let a = l.dot(&l.t());
        let entries: Vec<f64> = a.iter().copied().collect();
        assert_eq!(Cholesky::with_ridge(&entries, 20).unwrap().lower(), l.view());
    }

    #[test]
    fn bad_arguments_are_refused() {
        let message = |result: Result<Cholesky, Invalid>| result.unwrap_err().to_string();
        assert!(message(Cholesky::new(Array2::zeros((2, 3)).view())).contains("2 x 3"));
        assert!(message(Cholesky::new(Array2::zeros((0, 0)).view())).contains("empty"));
        assert!(
            message(Cholesky::in_place(vec![1.0; 5], 2)).contains("expected length 4, found 5")
        );
        assert!(message(Cholesky::in_place(vec![], usize::MAX)).contains("found 0"));
        assert!(message(Cholesky::with_ridge(&[], usize::MAX)).contains("found 0"));
        assert!(message(Cholesky::with_ridge(&[f64::NAN], 1)).contains("NaN"));
        assert!(matches!(
            Cholesky::with_ridge(&[0.0, 1e9, 1e9, 0.0], 2),
            Err(Invalid::NotPositiveDefinite { .. })
        ));
        let nan = array![[1.0, 0.0], [f64::NAN, 1.0]];
        assert!(message(Cholesky::new(nan.view())).contains("row 1, column 0"));
        let cholesky = Cholesky::new(array![[4.0]].view()).unwrap();
        assert!(cholesky.solve(array![1.0, 2.0].view()).is_err());
        assert!(cholesky.solve(array![f64::INFINITY].view()).is_err());
        assert!(cholesky.solve_matrix(array![[1.0, f64::NAN]].view()).is_err());
    }

    #[test]
    fn memory_can_be_used_again() {
        let cholesky = Cholesky::in_place(vec![4.0, 2.0, f64::NAN, 5.0], 2).unwrap();
        // The NaN lies above the diagonal, which is not read.
        let entries = cholesky.into_entries();
        assert_eq!(entries, [2.0, 1.0, 0.0, 2.0]);
    }
}
