//! Cholesky factors and inverses of large matrices without copies.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{MatMut, MatRef};

use super::SEQUENTIAL;

/// The Cholesky factor of a positive definite matrix, stored in the memory of the matrix itself, for loops that factor often.
///
/// ```
/// use fenchel_linalg::factor::InPlaceCholesky;
///
/// let factor = InPlaceCholesky::new(vec![4.0, 2.0, 2.0, 3.0], 2).unwrap();
/// assert!((factor.log_det() - 8.0_f64.ln()).abs() < 1e-15);
/// let mut inverse = vec![0.0; 4];
/// factor.inverse(&mut inverse);
/// assert!((inverse[0] - 3.0 / 8.0).abs() < 1e-15 && inverse[1] == inverse[2]);
/// ```
#[derive(Debug, Clone)]
pub struct InPlaceCholesky {
    n: usize,
    /// Column-major `L` in the lower triangle, which is row-major `L'` in the upper triangle. The other triangle has no
    /// meaning.
    entries: Vec<f64>,
}

impl InPlaceCholesky {
    /// Factors a symmetric `n x n` matrix in row-major order. Only the upper triangle is read. `n^3 / 3` operations.
    ///
    /// # Errors
    /// Returns the memory, with undefined entries, if the matrix is not positive definite, not finite, or not `n x n`.
    pub fn new(mut entries: Vec<f64>, n: usize) -> Result<Self, Vec<f64>> {
        if n == 0 || entries.len() != n * n {
            return Err(entries);
        }
        let matrix = MatMut::from_column_major_slice_mut(&mut entries, n, n);
        let need = llt::factor::cholesky_in_place_scratch::<f64>(n, SEQUENTIAL, Default::default());
        let factored = llt::factor::cholesky_in_place(
            matrix,
            Default::default(),
            SEQUENTIAL,
            MemStack::new(&mut MemBuffer::new(need)),
            Default::default(),
        );
        let fine = factored.is_ok()
            && (0..n).all(|i| entries[i * n + i] > 0.0 && entries[i * n + i].is_finite());
        if fine { Ok(InPlaceCholesky { n, entries }) } else { Err(entries) }
    }

    /// `n`.
    pub fn order(&self) -> usize {
        self.n
    }

    /// `log det A`.
    pub fn log_det(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.entries[i * self.n + i].ln()).sum::<f64>()
    }

    /// Writes `A^-1`. Both triangles have the same bits. `2 n^3 / 3` operations.
    ///
    /// # Panics
    /// Unless `out` has `n^2` entries.
    pub fn inverse(&self, out: &mut [f64]) {
        let n = self.n;
        assert_eq!(out.len(), n * n, "room for an n x n matrix");
        let lower = MatRef::from_column_major_slice(&self.entries, n, n);
        let need = llt::inverse::inverse_scratch::<f64>(n, SEQUENTIAL);
        llt::inverse::inverse(
            MatMut::from_column_major_slice_mut(out, n, n),
            lower,
            SEQUENTIAL,
            MemStack::new(&mut MemBuffer::new(need)),
        );
        // The lower triangle by columns is the upper one by rows. A tile at a time, so that both sides stay in cache.
        const TILE: usize = 32;
        for top in (0..n).step_by(TILE) {
            for left in (0..=top).step_by(TILE) {
                for i in top..(top + TILE).min(n) {
                    for j in left..(left + TILE).min(i) {
                        out[i * n + j] = out[j * n + i];
                    }
                }
            }
        }
    }

    /// `A^-1 b`, in place.
    ///
    /// # Panics
    /// Unless `b` has `n` entries.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.n;
        assert_eq!(b.len(), n, "a right-hand side of n entries");
        let lower = MatRef::from_column_major_slice(&self.entries, n, n);
        let mut x = MatMut::from_column_major_slice_mut(b, n, 1);
        solve_lower_triangular_in_place(lower, x.as_mut(), SEQUENTIAL);
        solve_upper_triangular_in_place(lower.transpose(), x, SEQUENTIAL);
    }

    /// Replaces `b` by `L'^-1 b`. If `b` is standard normal, the result is a draw with covariance `A^-1`.
    ///
    /// # Panics
    /// Unless `b` has `n` entries.
    pub fn solve_upper(&self, b: &mut [f64]) {
        let n = self.n;
        assert_eq!(b.len(), n, "a right-hand side of n entries");
        let lower = MatRef::from_column_major_slice(&self.entries, n, n);
        let x = MatMut::from_column_major_slice_mut(b, n, 1);
        solve_upper_triangular_in_place(lower.transpose(), x, SEQUENTIAL);
    }

    /// Returns the memory, for the next matrix.
    pub fn into_entries(self) -> Vec<f64> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn factors_inverses_and_solutions_agree_with_the_checked_functions() {
        for n in [1, 2, 7, 31, 33, 70] {
            let b = Array2::from_shape_fn((n, n), |(i, j)| ((i * 7 + j * 13) % 11) as f64 - 5.0);
            let a = b.dot(&b.t()) + Array2::<f64>::eye(n) * 3.0;
            let factor = InPlaceCholesky::new(a.iter().copied().collect(), n).unwrap();
            let checked = super::super::cholesky(a.view()).unwrap();
            assert!((factor.log_det() - checked.log_det()).abs() < 1e-9);
            let mut inverse = vec![0.0; n * n];
            factor.inverse(&mut inverse);
            let inverse = Array2::from_shape_vec((n, n), inverse).unwrap();
            assert_eq!(inverse, inverse.t());
            let rest = inverse.dot(&a) - Array2::<f64>::eye(n);
            assert!(rest.iter().all(|v| v.abs() < 1e-9), "{n}");
            let mut x: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let expected = inverse.dot(&ndarray::Array1::from(x.clone()));
            factor.solve(&mut x);
            assert!(x.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-8));
            assert_eq!(factor.order(), n);
            assert_eq!(factor.into_entries().len(), n * n);
        }
    }

    #[test]
    fn what_is_not_positive_definite_comes_back() {
        assert!(InPlaceCholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_err());
        assert!(InPlaceCholesky::new(vec![f64::NAN], 1).is_err());
        assert!(InPlaceCholesky::new(vec![0.0], 1).is_err());
        assert!(InPlaceCholesky::new(vec![1.0; 3], 2).is_err());
        assert!(InPlaceCholesky::new(vec![], 0).is_err());
    }
}
