//! One component of the screened problem, scaled to a unit diagonal.
//!
//! With `d_i = (C_ii + Lambda_ii)^(-1/2)`, the problem is rewritten in `X_ij = Theta_ij / (d_i d_j)`. It then has the
//! covariances `C_ij d_i d_j` and the weights `Lambda_ij d_i d_j`. The solution is the same, but all numbers are of
//! order one, whatever the units of the columns.

use fenchel_linalg::factor;

use crate::penalty::PenaltyWeights;
use crate::problem::{Problem, repaired};

/// The scaled problem of some variables.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) nodes: Vec<u32>,
    pub(super) k: usize,
    /// `d_i`.
    pub(super) scale: Vec<f64>,
    /// Scaled covariances, `k x k`.
    pub(super) c: Vec<f64>,
    pub(super) lambda: Lambda,
}

/// Scaled weights.
#[derive(Clone)]
pub(super) enum Lambda {
    /// `r_i r_j` off the diagonal.
    Product { rate: Vec<f64>, diagonal: Vec<f64> },
    /// One weight per entry.
    Dense { k: usize, entries: Vec<f64> },
}

impl Lambda {
    #[inline(always)]
    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        match self {
            Lambda::Product { rate, diagonal } => {
                if i == j {
                    diagonal[i]
                } else {
                    rate[i] * rate[j]
                }
            }
            Lambda::Dense { k, entries } => entries[i * k + j],
        }
    }

    /// The weights of row `i` from the diagonal on.
    #[inline(always)]
    pub(super) fn row(&self, i: usize, out: &mut [f64]) {
        match self {
            Lambda::Product { rate, diagonal } => {
                out.iter_mut().zip(&rate[i..]).for_each(|(out, r)| *out = rate[i] * r);
                out[0] = diagonal[i];
            }
            Lambda::Dense { k, entries } => {
                out.copy_from_slice(&entries[i * k + i..(i + 1) * k]);
            }
        }
    }
}

impl Block {
    pub(super) fn new(problem: &Problem<'_>, nodes: Vec<u32>) -> Block {
        let k = nodes.len();
        let at = |i: usize| nodes[i] as usize;
        let (covariance, weights) = (&problem.covariance, problem.weights);
        let scale: Vec<f64> = (0..k)
            .map(|i| (covariance[[at(i), at(i)]] + weights.at(at(i), at(i))).sqrt().recip())
            .collect();
        let mut c = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                let value = covariance[[at(i), at(j)]] * scale[i] * scale[j];
                c[i * k + j] = value;
                c[j * k + i] = value;
            }
        }
        let diagonal = |i: usize| weights.at(at(i), at(i)) * scale[i] * scale[i];
        let lambda = match weights {
            PenaltyWeights::Uniform(l1) | PenaltyWeights::WithDiagonal(l1) => Lambda::Product {
                rate: scale.iter().map(|d| l1.sqrt() * d).collect(),
                diagonal: (0..k).map(diagonal).collect(),
            },
            PenaltyWeights::Each(matrix) => {
                let mut entries = vec![0.0; k * k];
                for i in 0..k {
                    for j in 0..k {
                        let w = matrix[[at(i), at(j)]];
                        entries[i * k + j] = if w == 0.0 { 0.0 } else { w * scale[i] * scale[j] };
                    }
                }
                Lambda::Dense { k, entries }
            }
        };
        Block { nodes, k, scale, c, lambda }
    }

    /// The difference between the objective of the problem and the scaled objective: `-2 sum log d_i`.
    pub(super) fn shift(&self) -> f64 {
        -2.0 * self.scale.iter().map(|d| d.ln()).sum::<f64>()
    }

    /// `<C, X> + penalty(X)`.
    pub(super) fn linear(&self, x: &[f64]) -> f64 {
        let mut total = 0.0;
        for i in 0..self.k {
            let (row, c) = (&x[i * self.k..][..self.k], &self.c[i * self.k..][..self.k]);
            let mut sum = 0.0;
            for j in 0..i {
                if row[j] != 0.0 {
                    sum += c[j] * row[j] + self.lambda.at(i, j) * row[j].abs();
                }
            }
            total += 2.0 * sum + (c[i] + self.lambda.at(i, i)) * row[i];
        }
        total
    }

    /// Objective and lower bound of a point, which is repaired first, with an approximate inverse.
    pub(super) fn bounds(&self, x: &[f64], inverse: &[f64]) -> (f64, f64) {
        let lower = self.dual(x, inverse, &mut Vec::new());
        let (point, factor) = repaired(x.to_vec(), self.k);
        (self.linear(&point) - factor.log_det(), lower)
    }

    /// The best known dual value for a point `x` with inverse `w`. `workspace` is overwritten.
    ///
    /// For entries where `x` is not 0, the inverse of the solution lies on the boundary of the box. If these entries
    /// are moved to the boundary, the gap is of second order in the error of `x`. If `w` were only clipped to the box,
    /// it would be of first order.
    pub(super) fn dual(&self, x: &[f64], w: &[f64], workspace: &mut Vec<f64>) -> f64 {
        let k = self.k;
        let mut best = f64::NEG_INFINITY;
        for on_boundary in [true, false] {
            workspace.resize(k * k, 0.0);
            for i in 0..k {
                for j in i..k {
                    let at = i * k + j;
                    let (c, bound) = (self.c[at], self.lambda.at(i, j));
                    workspace[at] = if x[at] != 0.0 && on_boundary {
                        c + bound * x[at].signum()
                    } else {
                        w[at].clamp(c - bound, c + bound)
                    };
                }
            }
            best = self.log_det_of(workspace);
            if best > f64::NEG_INFINITY {
                break;
            }
        }
        if best == f64::NEG_INFINITY {
            workspace.resize(k * k, 0.0);
            self.shrunk(workspace);
            best = self.log_det_of(workspace);
        }
        best + k as f64
    }

    /// `(1 - t) C + t diag(C) + diag(Lambda)` with the largest `t` in the box; the upper triangle.
    pub(super) fn shrunk(&self, workspace: &mut [f64]) {
        let k = self.k;
        let mut t = 1.0_f64;
        for i in 0..k {
            for j in i + 1..k {
                let (c, bound) = (self.c[i * k + j].abs(), self.lambda.at(i, j));
                if c > bound {
                    t = t.min(bound / c);
                }
            }
        }
        for i in 0..k {
            for j in i..k {
                let keep = if i == j { 1.0 } else { 1.0 - t };
                workspace[i * k + j] =
                    keep * self.c[i * k + j] + if i == j { self.lambda.at(i, i) } else { 0.0 };
            }
        }
    }

    fn log_det_of(&self, workspace: &mut Vec<f64>) -> f64 {
        let factor = factor::cholesky_in_place(std::mem::take(workspace), self.k);
        factor.map_or(f64::NEG_INFINITY, |factor| {
            let value = factor.log_det();
            *workspace = factor.into_entries();
            value
        })
    }
}
