//! QR with column pivoting, and least squares.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::col_pivoting::factor::{qr_in_place, qr_in_place_scratch};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Conj, Mat};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use super::{SEQUENTIAL, binary_scale, check_entries, from_faer, to_faer};
use crate::Invalid;

/// `A[:, order] = Q R` of an `m x n` matrix, with `k = min(m, n)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Qr {
    /// Orthonormal columns, `m x k`.
    pub q: Array2<f64>,
    /// The upper triangular (trapezoidal) factor, `k x n`; `|r_jj|` descends along the diagonal.
    pub r: Array2<f64>,
    /// Column `j` of `Q R` is column `order[j]` of `A`.
    pub order: Vec<usize>,
}

/// QR factorisation with column pivoting by Householder reflections (Golub and Van Loan, *Matrix
/// Computations*, section 5.4.2).
///
/// # Errors
/// Those of the [module](super).
pub fn qr(a: ArrayView2<f64>) -> Result<Qr, Invalid> {
    check_entries("matrix", a)?;
    let (m, n) = a.dim();
    let k = m.min(n);
    let scale = binary_scale(a);
    let mut packed = to_faer(a, scale);
    let block = recommended_block_size::<f64>(m, n);
    let mut coefficients = Mat::zeros(block, k);
    let (mut order, mut inverse) = (vec![0usize; n], vec![0usize; n]);
    let need = qr_in_place_scratch::<usize, f64>(m, n, block, SEQUENTIAL, Default::default());
    qr_in_place(
        packed.as_mut(),
        coefficients.as_mut(),
        &mut order,
        &mut inverse,
        SEQUENTIAL,
        MemStack::new(&mut MemBuffer::new(need)),
        Default::default(),
    );
    let mut q = Mat::identity(m, k);
    apply(
        packed.as_ref().get(.., ..k),
        coefficients.as_ref(),
        Conj::No,
        q.as_mut(),
        SEQUENTIAL,
        MemStack::new(&mut MemBuffer::new(apply_scratch::<f64>(m, block, k))),
    );
    let upper = |(i, j)| if i <= j { packed[(i, j)] * scale } else { 0.0 };
    Ok(Qr { q: from_faer(q.as_ref()), r: Array2::from_shape_fn((k, n), upper), order })
}

impl Qr {
    /// The numerical rank: the number of `|r_jj|` above `max(m, n) eps |r_11|`.
    pub fn rank(&self) -> usize {
        let (m, n) = (self.q.nrows(), self.r.ncols());
        let negligible = m.max(n) as f64 * f64::EPSILON * self.r[[0, 0]].abs();
        self.r.diag().iter().take_while(|r| r.abs() > negligible).count()
    }

    /// Finds the `x` that minimises `||A x - b||`.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::RankDeficient`] if the columns of `A` are linearly dependent. In
    /// that case the minimiser is not unique, and [`Svd::solve`](super::Svd::solve) returns the shortest one.
    pub fn solve(&self, b: ArrayView1<f64>) -> Result<Array1<f64>, Invalid> {
        let (rows, columns) = (self.q.nrows(), self.r.ncols());
        let what = "right-hand side";
        Invalid::check_length(what, rows, b.len())?;
        if let Some(row) = b.iter().position(|v| !v.is_finite()) {
            return Err(Invalid::NonFinite { what, row, column: 0, value: b[row] });
        }
        let rank = self.rank();
        if rank < columns {
            return Err(Invalid::RankDeficient { what: "matrix", rank, columns, column: None });
        }
        let mut y = self.q.t().dot(&b);
        let mut x = Array1::zeros(columns);
        for j in (0..columns).rev() {
            y[j] /= self.r[[j, j]];
            for i in 0..j {
                y[i] -= self.r[[i, j]] * y[j];
            }
            x[self.order[j]] = y[j];
        }
        Ok(x)
    }
}

/// Finds the `x` that minimises `||A x - b||`, by [`qr`].
///
/// # Errors
/// Those of [`qr`] and [`Qr::solve`].
pub fn least_squares(a: ArrayView2<f64>, b: ArrayView1<f64>) -> Result<Array1<f64>, Invalid> {
    qr(a)?.solve(b)
}
