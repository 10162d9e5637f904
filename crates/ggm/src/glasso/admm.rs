//! [ADMM](crate::admm) for one block: the second step is soft-thresholding, `Y = S(X + U, Lambda / rho)`.

use super::bcd::Bcd;
use super::block::Block;
use super::solver::{Solution, Solver, inverted};
use crate::admm::{Admm, Splitting};
use crate::penalty::soft;

/// ADMM as a solver of blocks. The certificate is computed after every iteration: its two Cholesky factors cost little beside the
/// eigendecomposition.
pub(super) struct BlockAdmm {
    admm: Admm,
    pub(super) factorisations: u64,
    /// The iterations before block coordinate descent takes over; `None` if it never does.
    pub(super) left: Option<u32>,
}

impl BlockAdmm {
    /// A start from a point and its inverse, which determines the dual variable.
    pub(super) fn new(block: &Block, y: Vec<f64>, inverse: &[f64]) -> BlockAdmm {
        let (k, rho) = (block.k, 0.5);
        let mut u = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..k {
                let bound = block.lambda.at(i, j);
                u[i * k + j] = (inverse[i * k + j] - block.c[i * k + j]).clamp(-bound, bound) / rho;
            }
        }
        let admm = Admm::new(vec![y], vec![u], rho);
        BlockAdmm { admm, factorisations: 0, left: None }
    }
}

impl Solver for BlockAdmm {
    fn step(&mut self, block: &Block, _tolerance: f64) -> bool {
        self.admm.step(&mut Thresholding(block));
        self.factorisations += 1;
        self.left = self.left.map(|left| left.saturating_sub(1));
        true
    }

    fn bounds(&mut self, block: &Block) -> (f64, f64) {
        self.factorisations += 2;
        block.bounds(&self.admm.y[0], &self.admm.dual_point(&Thresholding(block), 0))
    }

    fn point(&self) -> &[f64] {
        &self.admm.y[0]
    }

    /// Where another method may follow, that goes on.
    fn stalled(&self) -> bool {
        self.left.is_none() && self.failed()
    }

    fn factorisations(&self) -> u64 {
        self.factorisations
    }

    fn successor(&mut self, block: &Block) -> Option<Box<dyn Solver>> {
        if self.left != Some(0) && (self.left.is_none() || !self.failed()) {
            return None;
        }
        let (x, w, _) = inverted(self.admm.y.swap_remove(0), block.k);
        let mut bcd = Bcd::new(block, x, &w);
        bcd.factorisations = self.factorisations;
        Some(Box::new(bcd))
    }

    fn finish(mut self: Box<Self>, k: usize) -> Solution {
        inverted(self.admm.y.swap_remove(0), k)
    }
}

/// The penalty of a block.
struct Thresholding<'a>(&'a Block);

impl BlockAdmm {
    fn failed(&self) -> bool {
        self.admm.residual.is_nan() || self.admm.residual == 0.0
    }
}

impl Splitting for Thresholding<'_> {
    fn order(&self) -> usize {
        self.0.k
    }

    fn covariance(&self, _: usize) -> &[f64] {
        &self.0.c
    }

    fn second(&mut self, z: &[Vec<f64>], rho: f64, _: f64, y: &mut [Vec<f64>]) {
        let k = self.0.k;
        for i in 0..k {
            for j in 0..k {
                y[0][i * k + j] = soft(z[0][i * k + j], self.0.lambda.at(i, j) / rho);
            }
        }
    }
}
