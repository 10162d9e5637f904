//! Gradients of Gaussian bumps as a basis: the system of score matching.
//!
//! The basis functions are `psi_j(x) = grad k_j(x) = -(x - z_j) k_j(x) / h^2`, with the Gaussian kernel `k_j` of width
//! `h` around the centre `z_j` (a "bump"). Their divergence is `div psi_j = k_j (||x - z_j||^2 / h^4 - d / h^2)`.
//!
//! With the kernel matrix `K = (k_ij)`, `G = X Z'`, `r_i = ||x_i||^2`, and `o` for the entrywise product, the matrix of
//! the system is
//!
//! ```text
//! C = (B + B' + (K'K) o (Z Z')) / (n h^4),     B = (K o (r 1' / 2 - G))' K
//! ```
//!
//! This takes two products of an `m x n` with an `n x m` matrix, instead of one product per feature. Stripes of `C` are
//! computed on all cores from one block of rows after the other, so `K` is never in memory as a whole.

use fenchel_linalg::lanes;
use fenchel_linalg::parallel;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Slice};

use crate::error::Error;

/// Rows that are taken together.
const ROWS: usize = 512;
/// Rows of a stripe of `C`.
const STRIPE: usize = 128;

/// `C`, `b` (sums, not yet divided by the number of rows) and the sum of the kernels between different points.
pub(crate) struct System {
    pub(crate) c: Array2<f64>,
    pub(crate) b: Array1<f64>,
    pub(crate) kernels: f64,
    pub(crate) rows: usize,
}

/// `k_ij` of a block of rows.
pub(crate) fn kernel(
    x: ArrayView2<f64>,
    centres: ArrayView2<f64>,
    squares: ArrayView1<f64>,
    bandwidth: f64,
) -> Array2<f64> {
    let mut k = Array2::zeros((x.nrows(), centres.nrows()));
    general_mat_mul(1.0, &x, &centres.t(), 0.0, &mut k);
    let scale = -0.5 / (bandwidth * bandwidth);
    for (x, mut row) in x.rows().into_iter().zip(k.rows_mut()) {
        let own = x.dot(&x);
        if let (Some(row), Some(squares)) = (row.as_slice_mut(), squares.as_slice()) {
            lanes::run(Bump { row, squares, own, scale });
        }
    }
    k
}

/// `exp(scale * max(own + squares_j - 2 row_j, 0))`.
struct Bump<'a> {
    row: &'a mut [f64],
    squares: &'a [f64],
    own: f64,
    scale: f64,
}

impl lanes::Kernel for Bump<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Bump { row, squares, own, scale } = self;
        let squares = &squares[..row.len()];
        for j in 0..row.len() {
            let distance = own + squares[j] - 2.0 * row[j];
            // Far away the argument falls below what exp takes.
            row[j] = lanes::exp((scale * distance.max(0.0)).max(-700.0));
        }
    }
}

pub(crate) fn squares(a: ArrayView2<f64>) -> Array1<f64> {
    a.rows().into_iter().map(|r| r.dot(&r)).collect()
}

impl System {
    /// Of rows `x`; with `offset` the model is `x + Psi(x)' theta`.
    pub(crate) fn new(
        x: ArrayView2<f64>,
        centres: ArrayView2<f64>,
        bandwidth: f64,
        offset: bool,
    ) -> Result<Self, Error> {
        struct StripeOf {
            from: usize,
            to: usize,
            b: Array2<f64>,
            k: Array2<f64>,
        }
        let ((n, d), m) = (x.dim(), centres.nrows());
        let h2 = bandwidth * bandwidth;
        let zz = squares(centres);
        let mut stripes: Vec<StripeOf> = (0..m)
            .step_by(STRIPE)
            .map(|from| {
                let to = (from + STRIPE).min(m);
                let b = Array2::zeros((to - from, m));
                // Of the symmetric K'K the part on and left of the diagonal is enough.
                StripeOf { from, to, b, k: Array2::zeros((to - from, to)) }
            })
            .collect();
        let mut b = Array1::<f64>::zeros(m);
        let mut kernels = 0.0;
        for from in (0..n).step_by(ROWS) {
            let rows = x.slice_axis(Axis(0), Slice::from(from..(from + ROWS).min(n)));
            let own = squares(rows);
            let g = rows.dot(&centres.t());
            let k = kernel(rows, centres, zz.view(), bandwidth);
            // K o (r/2 - G)
            let mut a = g;
            for (i, mut row) in a.rows_mut().into_iter().enumerate() {
                let k_row = k.row(i);
                for j in 0..m {
                    let inner = row[j];
                    let kernel = k_row[j];
                    let distance = own[i] + zz[j] - 2.0 * inner;
                    b[j] += kernel * (distance / h2 - d as f64) / h2;
                    if offset {
                        b[j] += kernel * (own[i] - inner) / h2;
                    }
                    // A centre at the sample itself says nothing about the width.
                    kernels += if distance > 1e-12 * (own[i] + zz[j]) { kernel } else { 0.0 };
                    row[j] = kernel * (0.5 * own[i] - inner);
                }
            }
            parallel::map(&mut stripes, |stripe| {
                let columns = Slice::from(stripe.from..stripe.to);
                let a = a.slice_axis(Axis(1), columns);
                general_mat_mul(1.0, &a.t(), &k, 1.0, &mut stripe.b);
                let left = k.slice_axis(Axis(1), columns);
                let right = k.slice_axis(Axis(1), Slice::from(..stripe.to));
                general_mat_mul(1.0, &left.t(), &right, 1.0, &mut stripe.k);
            });
        }
        let mut whole = Array2::zeros((m, m));
        for stripe in &stripes {
            whole.slice_axis_mut(Axis(0), Slice::from(stripe.from..stripe.to)).assign(&stripe.b);
        }
        let scale = 1.0 / (h2 * h2);
        // In place: entry (i, j) and (j, i) are replaced together.
        for stripe in &stripes {
            for i in stripe.from..stripe.to {
                for j in 0..=i {
                    let inner = stripe.k[[i - stripe.from, j]];
                    let zz = centres.row(i).dot(&centres.row(j));
                    let value = scale * (whole[[i, j]] + whole[[j, i]] + inner * zz);
                    whole[[i, j]] = value;
                    whole[[j, i]] = value;
                }
            }
        }
        Ok(System { c: whole, b, kernels, rows: n })
    }

    /// The system of the rows of `self` that are not in `part`.
    pub(crate) fn without(&self, part: &System) -> System {
        System {
            c: &self.c - &part.c,
            b: &self.b - &part.b,
            kernels: self.kernels - part.kernels,
            rows: self.rows - part.rows,
        }
    }

    /// Means instead of sums.
    pub(crate) fn mean(mut self) -> System {
        let n = self.rows as f64;
        self.c /= n;
        self.b /= n;
        self.kernels /= n;
        self.rows = 1;
        self
    }
}
