//! Singular value decomposition, and the maps that act on singular values.

use faer::Mat;
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{self as faer_svd, ComputeSvdVectors};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use super::{SEQUENTIAL, binary_scale, check_entries, from_faer, to_faer};
use crate::Invalid;

/// `A = U diag(s) V'` of an `m x n` matrix, thin: `k = min(m, n)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd {
    /// Left vectors, orthonormal columns, `m x k`.
    pub u: Array2<f64>,
    /// Singular values, descending, `k`.
    pub values: Array1<f64>,
    /// Right vectors, orthonormal columns, `n x k`.
    pub v: Array2<f64>,
}

/// The thin singular value decomposition.
///
/// Singular values are accurate to about `max(m, n) eps ||A||`.
///
/// # Errors
/// Those of the [module](super), and [`Invalid::NotConverged`], which no finite matrix is known to cause.
pub fn svd(a: ArrayView2<f64>) -> Result<Svd, Invalid> {
    check_entries("matrix", a)?;
    let (m, n) = a.dim();
    let k = m.min(n);
    let scale = binary_scale(a);
    let (mut u, mut v, mut values) = (Mat::zeros(m, k), Mat::zeros(n, k), Diag::zeros(k));
    let thin = ComputeSvdVectors::Thin;
    let need = faer_svd::svd_scratch::<f64>(m, n, thin, thin, SEQUENTIAL, Default::default());
    faer_svd::svd(
        to_faer(a, scale).as_ref(),
        values.as_mut(),
        Some(u.as_mut()),
        Some(v.as_mut()),
        SEQUENTIAL,
        MemStack::new(&mut MemBuffer::new(need)),
        Default::default(),
    )
    .map_err(|_| Invalid::NotConverged { what: "matrix" })?;
    let values = values.column_vector();
    Ok(Svd {
        u: from_faer(u.as_ref()),
        values: (0..k).map(|j| values[j] * scale).collect(),
        v: from_faer(v.as_ref()),
    })
}

impl Svd {
    /// The number of singular values above `relative` times the largest. The usual choice of `relative` is `max(m, n) eps`,
    /// below which singular values are rounding errors.
    pub fn rank(&self, relative: f64) -> usize {
        let negligible = relative * self.values[0];
        self.values.iter().take_while(|&&s| s > negligible).count()
    }

    /// `U diag(f(s)) V'`. `2 m n k` operations.
    pub fn map(&self, mut f: impl FnMut(f64) -> f64) -> Array2<f64> {
        let image = self.values.mapv(&mut f);
        (&self.u * &image).dot(&self.v.t())
    }

    /// Returns the shortest `x` of all that minimise `||A x - b||`. Singular values up to `relative` times the largest are
    /// taken for 0.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless `relative >= 0`.
    pub fn solve(&self, b: ArrayView1<f64>, relative: f64) -> Result<Array1<f64>, Invalid> {
        let what = "right-hand side";
        Invalid::check_nonnegative("relative", relative)?;
        Invalid::check_length(what, self.u.nrows(), b.len())?;
        if let Some(row) = b.iter().position(|v| !v.is_finite()) {
            return Err(Invalid::NonFinite { what, row, column: 0, value: b[row] });
        }
        let rank = self.rank(relative);
        let mut y = self.u.t().dot(&b);
        for (j, y) in y.iter_mut().enumerate() {
            *y = if j < rank { *y / self.values[j] } else { 0.0 };
        }
        Ok(self.v.dot(&y))
    }
}

/// `U diag(max(s - threshold, 0)) V'`: the proximal map of `threshold ||.||_*`, the nuclear norm.
///
/// # Errors
/// Those of [`svd`]; [`Invalid::Parameter`] unless `threshold` is finite and `>= 0`.
pub fn shrink_singular_values(a: ArrayView2<f64>, threshold: f64) -> Result<Array2<f64>, Invalid> {
    Invalid::check_nonnegative("threshold", threshold)?;
    Ok(svd(a)?.map(|s| (s - threshold).max(0.0)))
}

/// `U diag(min(s, limit)) V'`: the projection on the matrices of spectral norm at most `limit`.
///
/// # Errors
/// Those of [`svd`]; [`Invalid::Parameter`] unless `limit` is finite and `>= 0`.
pub fn clip_singular_values(a: ArrayView2<f64>, limit: f64) -> Result<Array2<f64>, Invalid> {
    Invalid::check_nonnegative("limit", limit)?;
    Ok(svd(a)?.map(|s| s.min(limit)))
}
