//! Block coordinate descent on the dual: the algorithm known as glasso.
//!
//! `W` is the estimate of the covariance matrix. The subscript 1 stands for all indices but `j`, and 2 for `j`. For
//! every column `j`, coordinate descent solves the lasso problem
//!
//! ```text
//! min_b  b' W_11 b / 2 - b' c_12 + sum_k Lambda_kj |b_k|
//! ```
//!
//! Then the method sets `w_12 = W_11 b`. A sweep treats every column once. After each sweep, the estimate `Theta` of the
//! precision matrix has the entries `Theta_jj = 1 / (w_jj - w_12' b)` and `Theta_12 = -Theta_jj b`, and it is averaged with
//! its transpose. One pass of coordinate descent over the entries of `b` costs at most O(p^2). A sweep makes several such
//! passes for each of the `p` columns, so it costs O(p^3) times the number of passes.
//!
//! Source: Banerjee, El Ghaoui and d'Aspremont, JMLR 9, 2008; Friedman, Hastie and Tibshirani, Biostatistics 9,
//! 2008; A. Defazio, PhD thesis 2014, section 6.3.1.

use fenchel_linalg::{factor, lanes};

use super::block::{Block, Lambda};
use super::solver::{Solution, Solver, inverted};
use crate::penalty::soft;

/// A change of the dual point that counts as none: ten times less than the accuracy of the inner problems shows.
const SETTLED: f64 = 1e-12;

/// The state of the descent on one block.
pub(super) struct Bcd {
    x: Vec<f64>,
    /// The dual point.
    w: Vec<f64>,
    /// Coefficients: row `j` belongs to column `j` of the matrix, and `b_j` itself is 0.
    b: Vec<f64>,
    change: f64,
    pub(super) factorisations: u64,
}

impl Bcd {
    /// A start from a positive definite `x` and its inverse. The dual point is the inverse clipped to the box, if that
    /// is positive definite. Otherwise it is the covariance, shrunk towards its diagonal as far as the box allows.
    pub(super) fn new(block: &Block, x: Vec<f64>, inverse: &[f64]) -> Bcd {
        let k = block.k;
        let mut w = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..k {
                let (c, bound) = (block.c[i * k + j], block.lambda.at(i, j));
                w[i * k + j] =
                    if i == j { c + bound } else { inverse[i * k + j].clamp(c - bound, c + bound) };
            }
        }
        if factor::cholesky_in_place(w.clone(), k).is_err() {
            block.shrunk(&mut w);
            for i in 0..k {
                for j in 0..i {
                    w[i * k + j] = w[j * k + i];
                }
            }
            // Without a penalty somewhere that may be singular; the identity (the diagonal) never is.
            if factor::cholesky_in_place(w.clone(), k).is_err() {
                for i in 0..k {
                    for j in 0..k {
                        if i != j {
                            w[i * k + j] = 0.0;
                        }
                    }
                }
            }
        }
        let mut b = vec![0.0; k * k];
        for j in 0..k {
            for i in 0..k {
                if i != j {
                    b[j * k + i] = -x[i * k + j] / x[j * k + j];
                }
            }
        }
        Bcd { x, w, b, change: f64::INFINITY, factorisations: 0 }
    }
}

impl Solver for Bcd {
    /// One sweep over all columns.
    fn step(&mut self, block: &Block, _tolerance: f64) -> bool {
        self.change = lanes::run(Columns {
            k: block.k,
            c: &block.c,
            lambda: &block.lambda,
            w: &mut self.w,
            b: &mut self.b,
        });
        let k = block.k;
        for j in 0..k {
            let row = &self.b[j * k..][..k];
            let explained = lanes::dot(row, &self.w[j * k..][..k]);
            self.x[j * k + j] = 1.0 / (self.w[j * k + j] - explained);
        }
        for i in 0..k {
            for j in 0..i {
                let value = -0.5
                    * (self.x[i * k + i] * self.b[i * k + j]
                        + self.x[j * k + j] * self.b[j * k + i]);
                self.x[i * k + j] = value;
                self.x[j * k + i] = value;
            }
        }
        true
    }

    fn bounds(&mut self, block: &Block) -> (f64, f64) {
        self.factorisations += 2;
        block.bounds(&self.x, &self.w)
    }

    fn point(&self) -> &[f64] {
        &self.x
    }

    fn stalled(&self) -> bool {
        !(self.change > SETTLED)
    }

    fn factorisations(&self) -> u64 {
        self.factorisations
    }

    fn finish(self: Box<Self>, k: usize) -> Solution {
        inverted(self.x, k)
    }
}

struct Columns<'a> {
    k: usize,
    c: &'a [f64],
    lambda: &'a Lambda,
    w: &'a mut [f64],
    b: &'a mut [f64],
}

impl lanes::Kernel for Columns<'_> {
    type Output = f64;

    /// Returns the largest change of `W`.
    #[inline(always)]
    fn compute(self) -> f64 {
        let Columns { k, c, lambda, w, b } = self;
        let mut largest = 0.0_f64;
        // `fit = W_11 b`, kept up to date.
        let mut fit = vec![0.0; k];
        for j in 0..k {
            let b = &mut b[j * k..][..k];
            fit.fill(0.0);
            for l in 0..k {
                if b[l] != 0.0 {
                    add(&mut fit, b[l], &w[l * k..][..k]);
                }
            }
            for sweep in 0..1000 {
                // All coordinates first and when the active ones have settled; else the active ones alone.
                let all = sweep % 10 == 0;
                let mut moved = 0.0_f64;
                for l in 0..k {
                    if l == j || (!all && b[l] == 0.0) {
                        continue;
                    }
                    let wll = w[l * k + l];
                    let rest = c[j * k + l] - (fit[l] - wll * b[l]);
                    let new = soft(rest, lambda.at(j, l)) / wll;
                    let delta = new - b[l];
                    if delta != 0.0 {
                        b[l] = new;
                        add(&mut fit, delta, &w[l * k..][..k]);
                        moved = moved.max(delta.abs() * wll);
                    }
                }
                if moved <= 1e-11 && all {
                    break;
                }
            }
            for l in 0..k {
                if l != j {
                    largest = largest.max((w[j * k + l] - fit[l]).abs());
                    w[j * k + l] = fit[l];
                    w[l * k + j] = fit[l];
                }
            }
        }
        largest
    }
}

#[inline(always)]
fn add(to: &mut [f64], by: f64, row: &[f64]) {
    for (t, r) in to.iter_mut().zip(row) {
        *t += by * r;
    }
}
