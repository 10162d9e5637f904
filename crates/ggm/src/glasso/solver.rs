//! What a solver of one block is.

use fenchel_linalg::factor;

use super::block::Block;
use crate::problem::repaired;

/// A positive definite matrix, its inverse and its log-determinant.
pub(super) type Solution = (Vec<f64>, Vec<f64>, f64);

/// A method for one block.
pub(super) trait Solver: Send + Sync {
    /// One iteration. Whether the gap may be at most `tolerance` now, so that bounds are worth computing.
    fn step(&mut self, block: &Block, tolerance: f64) -> bool;

    /// Objective and lower bound of the current point, both scaled.
    fn bounds(&mut self, block: &Block) -> (f64, f64);

    /// Called with a gap that was computed.
    fn learn(&mut self, _gap: f64) {}

    /// The current point.
    fn point(&self) -> &[f64];

    /// Whether rounding, or a failure, prevents progress.
    fn stalled(&self) -> bool;

    /// The number of factorisations so far.
    fn factorisations(&self) -> u64;

    /// A method that continues where this one makes too little progress.
    fn successor(&mut self, _block: &Block) -> Option<Box<dyn Solver>> {
        None
    }

    /// The final point.
    fn finish(self: Box<Self>, k: usize) -> Solution;
}

/// A point with its inverse and log-determinant. If it is not positive definite, it is first repaired.
pub(super) fn inverted(x: Vec<f64>, k: usize) -> Solution {
    let (x, factor) = repaired(x, k);
    let w = factor::inverse(&factor).into_raw_vec_and_offset().0;
    let log_det = factor.log_det();
    (x, w, log_det)
}
