//! Symmetric eigenproblems.

use faer::Mat;
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use nalgebra::DMatrix;
use ndarray::{Array1, Array2, ArrayView2};

use super::positive_definite::{Triangle, cholesky, solve_triangle};
use super::{SEQUENTIAL, binary_scale, check_symmetric, from_faer, to_faer};
use crate::Invalid;

/// Eigenvalues in ascending order, and eigenvectors as columns in the same order.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricEigen {
    /// Eigenvalues, ascending.
    pub values: Array1<f64>,
    /// Column `j` belongs to `values[j]`; its sign is arbitrary.
    pub vectors: Array2<f64>,
}

impl SymmetricEigen {
    /// Computes `V diag(f(l)) V'`. With the eigenvectors `V` and eigenvalues `l` of a symmetric `A` this is the matrix function
    /// `f(A)`. For `f(l) = l` it is `A` itself, and for `f(l) = max(l, 0)` the nearest positive semidefinite matrix. `2 n^3`
    /// operations.
    pub fn map(&self, mut f: impl FnMut(f64) -> f64) -> Array2<f64> {
        let image = self.values.mapv(&mut f);
        (&self.vectors * &image).dot(&self.vectors.t())
    }
}

/// Computes `A = V diag(l) V'` with orthogonal `V`.
///
/// Eigenvalues are accurate to about `n eps ||A||`.
///
/// # Errors
/// Those of the [module](super), and [`Invalid::NotConverged`], which no finite matrix is known to cause.
pub fn symmetric_eigen(a: ArrayView2<f64>) -> Result<SymmetricEigen, Invalid> {
    check_symmetric("matrix", a)?;
    let scale = binary_scale(a);
    // The library reads the lower triangle only.
    eigen_of(&to_faer(a, scale), scale)
}

/// Solves `A v = l B v` for a symmetric `A` and a symmetric positive definite `B`. The vectors satisfy `V' B V = I` and
/// `V' A V = diag(l)`.
///
/// The problem is reduced with the Cholesky factor of `B`. Eigenvalues are accurate to about `n eps ||A|| ||B^-1||`, so `B`
/// should be well conditioned.
///
/// # Errors
/// Those of [`symmetric_eigen`] and of [`cholesky`](super::cholesky) for `B`; [`Invalid::Length`]
/// unless `A` and `B` have the same order.
pub fn generalised_eigen(
    a: ArrayView2<f64>,
    b: ArrayView2<f64>,
) -> Result<SymmetricEigen, Invalid> {
    let n = check_symmetric("left matrix", a)?;
    let order = check_symmetric("right matrix", b)?;
    Invalid::check_length("right matrix", n, order)?;
    let factor = cholesky(b).map_err(|error| match error {
        Invalid::NotPositiveDefinite { pivot, value, .. } => {
            Invalid::NotPositiveDefinite { what: "right matrix", pivot, value }
        }
        other => other,
    })?;
    let lower = to_faer(factor.lower(), 1.0);
    // C = L^-1 A L^-T has the eigenvalues, and L^-T maps its vectors to those wanted. From the
    // lower triangle of A first, so that both halves are the same.
    let mut w = Mat::from_fn(n, n, |i, j| a[[i.max(j), i.min(j)]]);
    solve_triangle(lower.as_ref(), Triangle::Lower, &mut w);
    let mut c = w.transpose().to_owned();
    solve_triangle(lower.as_ref(), Triangle::Lower, &mut c);
    let inner = from_faer(c.as_ref());
    // Finite data can overflow here when B is nearly singular.
    super::check_entries("left matrix over right matrix", inner.view())?;
    let scale = binary_scale(inner.view());
    let SymmetricEigen { values, vectors } = eigen_of(&to_faer(inner.view(), scale), scale)?;
    let mut vectors = to_faer(vectors.view(), 1.0);
    solve_triangle(lower.as_ref().transpose(), Triangle::Upper, &mut vectors);
    Ok(SymmetricEigen { values, vectors: from_faer(vectors.as_ref()) })
}

/// The largest order that is left to nalgebra, which takes half of the time of faer at order 10.
const SMALL: usize = 30;

/// By nalgebra. `None` if it does not converge.
fn small_eigen(a: &Mat<f64>, scale: f64) -> Option<SymmetricEigen> {
    let n = a.nrows();
    let matrix = DMatrix::from_fn(n, n, |i, j| a[(i.max(j), i.min(j))]);
    // Two or three steps an eigenvalue are usual.
    let found = nalgebra::SymmetricEigen::try_new(matrix, f64::EPSILON, 100 * n)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| found.eigenvalues[i].total_cmp(&found.eigenvalues[j]));
    Some(SymmetricEigen {
        values: order.iter().map(|&j| scale * found.eigenvalues[j]).collect(),
        vectors: Array2::from_shape_fn((n, n), |(i, j)| found.eigenvectors[(i, order[j])]),
    })
}

/// From the lower triangle of `a`; the eigenvalues are multiplied by `scale`.
fn eigen_of(a: &Mat<f64>, scale: f64) -> Result<SymmetricEigen, Invalid> {
    let n = a.nrows();
    if let Some(found) = (n <= SMALL).then(|| small_eigen(a, scale)).flatten() {
        return Ok(found);
    }
    let (mut values, mut vectors) = (Diag::zeros(n), Mat::zeros(n, n));
    let need = self_adjoint_evd_scratch::<f64>(
        n,
        ComputeEigenvectors::Yes,
        SEQUENTIAL,
        Default::default(),
    );
    self_adjoint_evd(
        a.as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        SEQUENTIAL,
        MemStack::new(&mut MemBuffer::new(need)),
        Default::default(),
    )
    .map_err(|_| Invalid::NotConverged { what: "matrix" })?;
    let values = values.column_vector();
    Ok(SymmetricEigen {
        values: (0..n).map(|j| scale * values[j]).collect(),
        vectors: from_faer(vectors.as_ref()),
    })
}
