//! Least-norm solutions of the linear equations that hold for the active parts of a pair of points. The polish of
//! PDHG uses them.

use fenchel_linalg::Cholesky;
use ndarray::{Array1, Array2, ArrayView1};

/// A matrix `B` with one factorisation, of `B B'` or `B' B`, whichever is smaller, plus a tiny ridge. It solves
/// equations with `B` and with `B'`.
pub(crate) struct Equations {
    matrix: Array2<f64>,
    /// `None` if there are no equations or no unknowns.
    factor: Option<Cholesky>,
}

impl Equations {
    /// Returns `None` if the matrix cannot be factorised. O(min(m, d) m d) for an `m x d` matrix.
    pub(crate) fn new(matrix: Array2<f64>) -> Option<Self> {
        let (m, d) = matrix.dim();
        if m == 0 || d == 0 {
            return Some(Equations { matrix, factor: None });
        }
        let mut gram = if m <= d { matrix.dot(&matrix.t()) } else { matrix.t().dot(&matrix) };
        let ridge = 1e-13 * gram.diag().iter().fold(f64::MIN_POSITIVE, |m: f64, v| m.max(*v));
        gram.diag_mut().iter_mut().for_each(|v| *v += ridge);
        let factor = Some(Cholesky::new(gram.view()).ok()?);
        Some(Equations { matrix, factor })
    }

    /// The least-norm `v` among the least squares solutions of `B v = r`.
    pub(crate) fn solve(&self, r: &[f64]) -> Option<Array1<f64>> {
        let (m, d) = self.matrix.dim();
        let Some(factor) = &self.factor else { return Some(Array1::zeros(d)) };
        let r = ArrayView1::from(r);
        finite(if m <= d {
            self.matrix.t().dot(&factor.solve(r).ok()?)
        } else {
            factor.solve(self.matrix.t().dot(&r).view()).ok()?
        })
    }

    /// The least-norm `w` among the least squares solutions of `B' w = r`.
    pub(crate) fn solve_transposed(&self, r: &[f64]) -> Option<Array1<f64>> {
        let (m, d) = self.matrix.dim();
        let Some(factor) = &self.factor else { return Some(Array1::zeros(m)) };
        let r = ArrayView1::from(r);
        finite(if m <= d {
            factor.solve(self.matrix.dot(&r).view()).ok()?
        } else {
            self.matrix.dot(&factor.solve(r).ok()?)
        })
    }
}

fn finite(v: Array1<f64>) -> Option<Array1<f64>> {
    v.iter().all(|v| v.is_finite()).then_some(v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Reference values by hand: the least-norm solution of one equation, the mean for two contradictory equations,
    /// and the case without equations.
    #[test]
    fn corrections_are_the_shortest_and_closest() {
        let close = |v: Array1<f64>, w: Array1<f64>| (v - w).iter().all(|e| e.abs() < 1e-9);
        let wide = Equations::new(array![[3.0, 4.0]]).unwrap();
        assert!(close(wide.solve(&[50.0]).unwrap(), array![6.0, 8.0]));
        assert!(close(wide.solve_transposed(&[6.0, 8.0]).unwrap(), array![2.0]));
        let tall = Equations::new(array![[1.0], [1.0]]).unwrap();
        assert!(close(tall.solve(&[1.0, 3.0]).unwrap(), array![2.0]));
        assert!(close(tall.solve_transposed(&[4.0]).unwrap(), array![2.0, 2.0]));
        let none = Equations::new(Array2::zeros((0, 2))).unwrap();
        assert_eq!(none.solve(&[]).unwrap(), array![0.0, 0.0]);
        assert_eq!(none.solve_transposed(&[1.0, 2.0]).unwrap().len(), 0);
    }
}
