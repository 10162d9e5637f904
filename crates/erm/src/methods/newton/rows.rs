//! Newton's step through the rows, for dense data with fewer rows than columns: one `n x n` system in place of a `d x d` one.
//!
//! With `s_i = phi'(t_i) / n` and `H = diag phi''(t_i) / n` the minimiser of the model is `x = -A'u / l2` with `u = s + H delta`, where
//! `delta` is how far the margins move and `sum_i u_i = 0` if there is an intercept. Put into `delta = A x + b 1 - t`, with the
//! step `b` of the intercept and `t` without the old one,
//!
//! ```text
//! (I + H^(1/2) K H^(1/2) / l2) z = H^(1/2) (b 1 - t - K s / l2),     z = H^(1/2) delta,     K = A A'.
//! ```
//!
//! `K` is made once for all steps, `n^2 d / 2` operations; a step factors a matrix of order `n`.

use fenchel_linalg::{Cholesky, Design, Gram, lanes};

use super::model::Step;
use crate::methods::hessian::REGULAR;

/// What the route through the rows costs in entries of a pass: `K`, and one step.
pub(crate) fn row_costs<D: Design>(design: &D) -> (f64, f64) {
    let (n, d) = (design.rows() as f64, design.columns() as f64);
    (d * n * (n / 60.0 + 0.25), REGULAR * n * n * n / 6.0)
}

/// Columns that are copied at a time: a strip of 1,000 rows takes 0.5 MiB, which fit into a cache.
const STRIP: usize = 64;

/// Bytes of `K`, the matrix to factor, and three strips of columns; `None` where the Hessian is the smaller matrix, or the data sparse.
pub(crate) fn row_bytes<D: Design>(design: &D, l2: f64) -> Option<u64> {
    let n = design.rows() as u64;
    let by_rows = D::DENSE && l2 > 0.0 && design.rows() < design.columns();
    by_rows.then(|| n.saturating_mul(n.saturating_add(3 * STRIP as u64 / 2)).saturating_mul(16))
}

/// `K = A A'`, row-major.
pub(super) fn kernel<D: Design>(design: &D) -> Vec<f64> {
    let (n, d) = (design.rows(), design.columns());
    let mut gram = Gram::new(n);
    let mut strip = vec![0.0; n * STRIP];
    for from in (0..d).step_by(STRIP) {
        let columns: Vec<usize> = (from..d.min(from + STRIP)).collect();
        for (i, part) in strip.chunks_exact_mut(STRIP).enumerate() {
            design.row_part(i, &columns, 1.0, part);
        }
        for k in 0..columns.len() {
            let row = gram.next_row();
            row.iter_mut().zip(strip.chunks_exact(STRIP)).for_each(|(out, part)| *out = part[k]);
        }
    }
    gram.finish()
}

/// A model over all coordinates, by rows.
pub(super) struct RowModel<'m> {
    pub(super) kernel: &'m [f64],
    /// `phi''(t_i) / n`
    pub(super) h: &'m [f64],
    /// `phi'(t_i) / n`
    pub(super) slopes: Vec<f64>,
    /// `t_i`, without the intercept.
    pub(super) margins: Vec<f64>,
    pub(super) l2: f64,
    pub(super) intercept: bool,
}

impl RowModel<'_> {
    /// The step from `x`, and that of the intercept; `None` where a number is not finite.
    pub(super) fn solve<D: Design>(self, design: &D, x: &[f64]) -> Option<Step> {
        let RowModel { kernel, h, slopes, margins, l2, intercept } = self;
        let n = h.len();
        let roots: Vec<f64> = h.iter().map(|h| h.sqrt()).collect();
        let mut matrix = kernel.to_vec();
        let mut z = vec![0.0; n];
        for (i, row) in matrix.chunks_exact_mut(n).enumerate() {
            z[i] = -roots[i] * (margins[i] + lanes::dot(row, &slopes) / l2);
            let scale = roots[i] / l2;
            row.iter_mut().zip(&roots).for_each(|(k, root)| *k *= scale * root);
            row[i] += 1.0;
        }
        let factor = Cholesky::in_place(matrix, n).ok()?;
        factor.solve_in_place(&mut z).ok()?;
        let mut b = 0.0;
        if intercept {
            let mut ones = roots.clone();
            factor.solve_in_place(&mut ones).ok()?;
            b = -(slopes.iter().sum::<f64>() + lanes::dot(&roots, &z)) / lanes::dot(&roots, &ones);
            z.iter_mut().zip(&ones).for_each(|(z, one)| *z += b * one);
        }
        let u: Vec<f64> = (0..n).map(|i| slopes[i] + roots[i] * z[i]).collect();
        let mut d: Vec<f64> = vec![0.0; x.len()];
        fenchel_linalg::multiply_transposed(design, &u, &mut d);
        d.iter_mut().zip(x).for_each(|(d, x)| *d = -*d / l2 - x);
        let entries = row_costs(design).1 + design.stored() as f64;
        let finite = b.is_finite() && d.iter().all(|d| d.is_finite());
        finite.then_some(Step::new(d, b, entries))
    }
}
