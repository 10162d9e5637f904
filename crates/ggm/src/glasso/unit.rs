//! The graphical lasso over matrices with a unit diagonal.

use fenchel_linalg::factor::InPlaceCholesky;
use ndarray::Array2;

use super::block::{Block, Lambda};
use super::quic::Quic;
use super::state::GlassoState;

/// Solves `min_R <C, R> - log det R + l1 sum_(i != j) |R_ij|` over positive definite `R` with ones on the diagonal. `C`
/// may change between the steps.
#[derive(Clone)]
pub(crate) struct UnitDiagonal {
    block: Block,
    quic: Quic,
}

impl UnitDiagonal {
    /// From `D^-1 Theta D^-1` for the precision `Theta` of `start`, with `D^2` its diagonal.
    pub(crate) fn new(covariance: &Array2<f64>, l1: f64, start: &GlassoState) -> UnitDiagonal {
        let k = covariance.nrows();
        let block = Block {
            nodes: (0..k as u32).collect(),
            k,
            scale: vec![1.0; k],
            c: covariance.iter().copied().collect(),
            lambda: Lambda::Product { rate: vec![l1.sqrt(); k], diagonal: vec![0.0; k] },
        };
        let (theta, inverse) = (start.precision(), start.covariance());
        let d = theta.diag().mapv(f64::sqrt);
        let one = |(i, j)| if i == j { 1.0 } else { theta[[i, j]] / (d[i] * d[j]) };
        let x = Array2::from_shape_fn((k, k), one).into_raw_vec_and_offset().0;
        let w = Array2::from_shape_fn((k, k), |(i, j)| inverse[[i, j]] * d[i] * d[j]);
        let log_det = start.log_det() - 2.0 * d.mapv(f64::ln).sum();
        let mut quic = Quic::new(&block, x, w.into_raw_vec_and_offset().0, log_det);
        quic.fixed_diagonal = true;
        UnitDiagonal { block, quic }
    }

    /// The same point with the covariances `d_i C_ij d_j`.
    pub(crate) fn rescaled(&mut self, covariance: &Array2<f64>, d: &[f64]) {
        let k = self.block.k;
        for ((i, j), c) in covariance.indexed_iter() {
            self.block.c[i * k + j] = d[i] * c * d[j];
        }
        self.quic.linear = self.block.linear(&self.quic.x);
    }

    /// One Newton step; false if rounding hides its gain, so that the point stays.
    pub(crate) fn step(&mut self) -> bool {
        self.quic.stalled = false;
        self.quic.newton_step(&self.block);
        !self.quic.stalled
    }

    /// One Newton step for `D R D` with a diagonal that is free. The new diagonal goes to `d`, so that `R` keeps ones; `covariance` is
    /// that of ones in `d`. False if no part of the step lowers the objective, so that the point stays.
    ///
    /// The penalty on `R_ij` falls with both diagonal entries. Its derivative by them joins `C`, and its curvature is left out. So the
    /// step goes downhill, but may be too long: it is halved until the objective falls by a part of what the model promises.
    pub(crate) fn step_all(&mut self, covariance: &Array2<f64>, d: &mut [f64]) -> bool {
        let k = self.block.k;
        let old = self.quic.x.clone();
        let before = self.objective() - 2.0 * d.iter().map(|d| d.ln()).sum::<f64>();
        for i in 0..k {
            let penalty = (0..k).filter(|&j| j != i);
            let penalty = penalty.map(|j| self.block.lambda.at(i, j) * old[i * k + j].abs());
            self.block.c[i * k + i] -= penalty.sum::<f64>();
        }
        let mut trial = self.clone();
        trial.quic.linear = trial.block.linear(&old);
        let model = trial.objective();
        (trial.quic.fixed_diagonal, trial.quic.stalled) = (false, false);
        trial.quic.newton_step(&trial.block);
        trial.quic.fixed_diagonal = true;
        let promised = model - trial.objective();
        let new = trial.quic.x.clone();
        let mut length = 1.0;
        for _ in 0..30 {
            let mut x: Vec<f64> = if length == 1.0 {
                new.clone()
            } else {
                old.iter().zip(&new).map(|(a, b)| a + length * (b - a)).collect()
            };
            let roots: Vec<f64> = (0..k).map(|i| x[i * k + i].sqrt()).collect();
            for i in 0..k {
                for j in 0..k {
                    x[i * k + j] = if i == j { 1.0 } else { x[i * k + j] / (roots[i] * roots[j]) };
                }
            }
            if let Ok(factor) = InPlaceCholesky::new(x.clone(), k) {
                let scale: Vec<f64> = d.iter().zip(&roots).map(|(d, r)| d * r).collect();
                trial.quic.x = x;
                trial.quic.log_det = factor.log_det();
                trial.rescaled(covariance, &scale);
                let now = trial.objective() - 2.0 * scale.iter().map(|d| d.ln()).sum::<f64>();
                if now < before - 1e-3 * length * promised {
                    factor.inverse(&mut trial.quic.w);
                    d.copy_from_slice(&scale);
                    *self = trial;
                    return true;
                }
            }
            length *= 0.5;
        }
        self.rescaled(covariance, d);
        false
    }

    /// The point.
    pub(crate) fn x(&self) -> &[f64] {
        &self.quic.x
    }

    /// Its inverse.
    pub(crate) fn inverse(&self) -> &[f64] {
        &self.quic.w
    }

    pub(crate) fn objective(&self) -> f64 {
        self.quic.linear - self.quic.log_det
    }

    /// The largest violation of the optimality conditions, and the largest size of what they compare. Off the diagonal these are the conditions of the graphical
    /// lasso. On the diagonal, where `C` can be rescaled, they say that the row sums of `C o R` are 1.
    pub(crate) fn violation(&self) -> (f64, f64) {
        let k = self.block.k;
        let (x, w, c) = (&self.quic.x, &self.quic.w, &self.block.c);
        let (mut worst, mut size) = (0.0_f64, 1.0_f64);
        for i in 0..k {
            let mut row = -1.0;
            for j in 0..k {
                let at = i * k + j;
                row += c[at] * x[at];
                size = size.max(c[at].abs());
                if i == j {
                    continue;
                }
                let (gradient, bound) = (c[at] - w[at], self.block.lambda.at(i, j));
                worst = worst.max(if x[at] == 0.0 {
                    gradient.abs() - bound
                } else {
                    (gradient + bound * x[at].signum()).abs()
                });
            }
            worst = worst.max(row.abs());
        }
        (worst, size)
    }
}
