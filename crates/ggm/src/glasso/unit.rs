//! The graphical lasso over matrices with a unit diagonal, whose scale may change between the steps.
//!
//! ```text
//! min  <D C D, R> - log det R - 2 sum_i log d_i + l1 sum_(i != j) |R_ij|,      R_ii = 1
//! ```

use fenchel_linalg::factor;
use ndarray::Array2;

use super::block::{Block, Lambda};
use super::quic::Quic;
use super::state::GlassoState;

/// A point `R` and its scale `d`.
#[derive(Clone)]
pub(crate) struct UnitDiagonal<'a> {
    covariance: &'a Array2<f64>,
    pub(crate) d: Vec<f64>,
    /// The problem in `R`, with the covariances `d_i C_ij d_j`.
    block: Block,
    quic: Quic,
}

impl<'a> UnitDiagonal<'a> {
    /// From `D^-1 Theta D^-1` for the precision `Theta` of `start`, with `D^2` its diagonal.
    pub(crate) fn new(covariance: &'a Array2<f64>, l1: f64, start: &GlassoState) -> Self {
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
        let mut point = UnitDiagonal { covariance, d: d.to_vec(), block, quic };
        point.scale_problem();
        point
    }

    /// Puts the problem in `R` on the scale `d`.
    fn scale_problem(&mut self) {
        for (((i, j), c), scaled) in self.covariance.indexed_iter().zip(&mut self.block.c) {
            *scaled = self.d[i] * c * self.d[j];
        }
        self.quic.point.linear = self.block.linear(&self.quic.point.x);
    }

    /// One Newton step for `R` and `d` together. The point stays if no part of the step lowers the objective.
    ///
    /// It is a step for `D R D` with a diagonal that is free. The penalty on `R_ij` falls with both diagonal entries. Its derivative by
    /// them joins `C`, and its curvature is left out. So the step goes downhill, but may be too long: it is halved until the objective
    /// falls by a part of what the model promises.
    pub(crate) fn step(&mut self) {
        let k = self.block.k;
        let before = self.objective();
        let mut trial = self.clone();
        let old = &self.quic.point.x;
        for i in 0..k {
            let penalty = (0..k).filter(|&j| j != i);
            let penalty = penalty.map(|j| self.block.lambda.at(i, j) * old[i * k + j].abs());
            trial.block.c[i * k + i] -= penalty.sum::<f64>();
        }
        trial.quic.point.linear = trial.block.linear(old);
        let model = trial.quic.point.objective();
        (trial.quic.fixed_diagonal, trial.quic.stalled) = (false, false);
        trial.quic.newton_step(&trial.block);
        trial.quic.fixed_diagonal = true;
        let promised = model - trial.quic.point.objective();
        let new = trial.quic.point.x.clone();
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
            if let Ok(factor) = factor::cholesky_in_place(x.clone(), k) {
                trial.d.iter_mut().zip(&self.d).zip(roots).for_each(|((new, d), r)| *new = d * r);
                trial.quic.point.x = x;
                trial.quic.point.log_det = factor.log_det();
                trial.scale_problem();
                let now = trial.objective();
                let rounding = 4.0 * f64::EPSILON * (now.abs() + k as f64);
                if now <= before - 1e-3 * length * promised + rounding {
                    factor::inverse_into(&factor, &mut trial.quic.point.w);
                    *self = trial;
                    return;
                }
            }
            length *= 0.5;
        }
    }

    /// The best `d` for the current `R`, by coordinate descent on a strictly convex function: `d_i (C o R d)_i = 1`. Each coordinate
    /// solves a quadratic equation.
    pub(crate) fn minimise_scale(&mut self) {
        let p = self.block.k;
        for _ in 0..200 {
            let mut moved = 0.0_f64;
            for i in 0..p {
                let row = self.quic.point.x[i * p..][..p].iter().zip(self.covariance.row(i));
                let all: f64 = row.zip(&self.d).map(|((x, c), d)| x * c * d).sum();
                // Both diagonals are 1.
                let rest = all - self.d[i];
                let root = (rest * rest + 4.0).sqrt();
                let new = if rest > 0.0 { 2.0 / (rest + root) } else { 0.5 * (root - rest) };
                moved = moved.max((new - self.d[i]).abs() / new);
                self.d[i] = new;
            }
            if moved <= 1e-14 {
                break;
            }
        }
        self.scale_problem();
    }

    /// `R`.
    pub(crate) fn matrix(&self) -> &[f64] {
        &self.quic.point.x
    }

    /// Its inverse.
    pub(crate) fn inverse(&self) -> &[f64] {
        &self.quic.point.w
    }

    pub(crate) fn objective(&self) -> f64 {
        self.quic.point.objective() - 2.0 * self.d.iter().map(|d| d.ln()).sum::<f64>()
    }

    /// The largest violation of the optimality conditions, and the largest size of what they compare. Off the diagonal these are the
    /// conditions of the graphical lasso. On the diagonal, where `C` can be rescaled, they say that the row sums of `C o R` are 1.
    pub(crate) fn violation(&self) -> (f64, f64) {
        let k = self.block.k;
        let (x, w, c) = (self.matrix(), self.inverse(), &self.block.c);
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
