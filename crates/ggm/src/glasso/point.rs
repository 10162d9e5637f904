//! The point of [QUIC](super::quic).

use fenchel_linalg::{Cholesky, factor};

use super::block::Block;

/// A positive definite point, with what is known of it.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) x: Vec<f64>,
    /// `X^-1`.
    pub(super) w: Vec<f64>,
    pub(super) log_det: f64,
    /// `<C, X> + penalty(X)`.
    pub(super) linear: f64,
    /// An estimate of the gap.
    pub(super) estimate: f64,
    /// The number of factorisations so far.
    pub(super) factorisations: u64,
    /// Memory for trial points and their factors.
    pub(super) workspace: Vec<f64>,
}

impl Point {
    /// From a positive definite `x` with its inverse and log-determinant.
    pub(super) fn new(block: &Block, x: Vec<f64>, w: Vec<f64>, log_det: f64) -> Point {
        let (linear, estimate, workspace) = (block.linear(&x), f64::INFINITY, Vec::new());
        Point { x, w, log_det, linear, estimate, factorisations: 0, workspace }
    }

    pub(super) fn objective(&self) -> f64 {
        self.linear - self.log_det
    }

    /// Whether an entry off the diagonal is free: not 0, or with a gradient that exceeds its weight.
    #[inline(always)]
    pub(super) fn is_free(&self, block: &Block, i: usize, j: usize) -> bool {
        let at = i * block.k + j;
        self.x[at] != 0.0 || (block.c[at] - self.w[at]).abs() > block.lambda.at(i, j)
    }

    /// The factor of the matrix in the upper triangle of `workspace`, which takes its memory. `None` if it is not positive definite.
    pub(super) fn factor(&mut self, k: usize) -> Option<Cholesky> {
        self.factorisations += 1;
        factor::cholesky_in_place(std::mem::take(&mut self.workspace), k).ok()
    }
}
