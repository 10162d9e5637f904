//! ADMM for the graphical lasso. It alternates between an eigendecomposition for the log-determinant and
//! soft-thresholding for the penalty:
//!
//! ```text
//! X = argmin <C, X> - log det X + rho/2 ||X - Y + U||^2      Q diag(l') Q',  l' = (l + sqrt(l^2 + 4 rho)) / (2 rho)
//! Y = S(X + U, Lambda / rho)
//! U = U + X - Y
//! ```
//!
//! Here `Q diag(l) Q' = rho (Y - U) - C` is an eigendecomposition, and `S(., t)` is soft-thresholding at `t`. The
//! penalty parameter `rho` is adapted at times ([`Balance`]), and `X` is replaced by `1.6 X - 0.6 Y` in the last two lines
//! (over-relaxation). `rho U` is a subgradient of the penalty, so `C + rho U` is a dual point. An iteration costs about `9 p^3`
//! operations.
//!
//! Source: Boyd et al., Foundations and Trends in Machine Learning 3, 2011, section 6.5; A. Defazio, PhD thesis
//! 2014, sections 6.3.1 and 7.3.1.

use fenchel_linalg::factor;
use ndarray::ArrayView2;

use super::block::{Block, soft};
use super::part::repaired;

/// The state of ADMM on one block.
pub(super) struct Admm {
    /// The sparse iterate.
    pub(super) y: Vec<f64>,
    u: Vec<f64>,
    rho: f64,
    balance: Balance,
    pub(super) residual: f64,
    pub(super) factorisations: u64,
    room: Vec<f64>,
}

impl Admm {
    /// A start from a point and its inverse, which determines the dual variable.
    pub(super) fn new(block: &Block, y: Vec<f64>, inverse: &[f64], rho: f64) -> Admm {
        let k = block.k;
        let mut u = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..k {
                let bound = block.lambda.at(i, j);
                u[i * k + j] = (inverse[i * k + j] - block.c[i * k + j]).clamp(-bound, bound) / rho;
            }
        }
        let balance = Balance::default();
        Admm { y, u, rho, balance, residual: f64::INFINITY, factorisations: 0, room: Vec::new() }
    }

    /// One iteration.
    pub(super) fn step(&mut self, block: &Block) {
        let (k, rho) = (block.k, self.rho);
        self.room.clear();
        self.room.extend((0..k * k).map(|at| rho * (self.y[at] - self.u[at]) - block.c[at]));
        self.factorisations += 1;
        let Some(x) = positive_part(&self.room, k, rho) else {
            self.residual = f64::NAN;
            return;
        };
        let mut residuals = Residuals::default();
        for i in 0..k {
            for j in 0..k {
                let at = i * k + j;
                let z = relaxed(x[at], self.y[at]) + self.u[at];
                let y = soft(z, block.lambda.at(i, j) / rho);
                residuals.add(1.0, x[at], y, self.y[at], block.c[at] + rho * (z - y), rho);
                self.y[at] = y;
                self.u[at] = z - y;
            }
        }
        self.residual = residuals.largest();
        let change = self.balance.factor(&residuals);
        if change != 1.0 {
            self.rho *= change;
            self.u.iter_mut().for_each(|u| *u /= change);
        }
    }

    /// Objective and lower bound, both scaled.
    pub(super) fn bounds(&mut self, block: &Block) -> (f64, f64) {
        self.factorisations += 2;
        let inverse: Vec<f64> =
            self.u.iter().zip(&block.c).map(|(u, c)| c + self.rho * u).collect();
        let lower = block.dual(&self.y, &inverse, &mut self.room);
        let (point, factor) = repaired(self.y.clone(), block.k);
        let objective = block.linear(&point) - factor.log_det();
        (objective, lower)
    }
}

/// Over-relaxation: what stands for the result `x` of the first step in the second, whose last result is `y`.
#[inline(always)]
pub(crate) fn relaxed(x: f64, y: f64) -> f64 {
    y + 1.6 * (x - y)
}

/// Squared norms of an iteration: of the residuals, the point and its inverse.
#[derive(Debug, Clone, Default)]
pub(crate) struct Residuals {
    primal: f64,
    dual: f64,
    point: f64,
    inverse: f64,
}

impl Residuals {
    /// Adds an entry with a weight: both results `x` and `y`, the `last` value of `y`, and the entry of the dual point.
    #[inline(always)]
    pub(crate) fn add(&mut self, weight: f64, x: f64, y: f64, last: f64, inverse: f64, rho: f64) {
        self.primal += weight * (x - y) * (x - y);
        self.dual += weight * rho * rho * (y - last) * (y - last);
        self.point += weight * y * y;
        self.inverse += weight * inverse * inverse;
    }

    /// The norm of the larger residual.
    pub(crate) fn largest(&self) -> f64 {
        self.primal.max(self.dual).sqrt()
    }
}

/// The adaptation of `rho`: both residuals are to be equal, relative to the point and to its inverse. The changes become rarer with time,
/// because ADMM converges only while `rho` stays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Balance {
    iterations: u32,
    next: u32,
}

impl Balance {
    /// The factor for `rho` after an iteration.
    pub(crate) fn factor(&mut self, residuals: &Residuals) -> f64 {
        self.iterations += 1;
        if self.iterations < self.next.max(5) {
            return 1.0;
        }
        self.next = self.iterations + (self.iterations / 3).max(5);
        let Residuals { primal, dual, point, inverse } = residuals;
        let ratio = (primal * inverse / (dual * point)).sqrt();
        // A residual of 0 says nothing about the other.
        if !(ratio > 0.0 && ratio.is_finite()) || (0.5..2.0).contains(&ratio) {
            return 1.0;
        }
        ratio.sqrt().clamp(0.1, 10.0)
    }
}

/// `argmin_X -log det X + rho/2 ||X - A/rho||^2` for a symmetric `A`, row-major and symmetric to the last bit. `None` if
/// `A` is not finite.
pub(crate) fn positive_part(a: &[f64], k: usize, rho: f64) -> Option<Vec<f64>> {
    let view = ArrayView2::from_shape((k, k), a).ok()?;
    let eigen = factor::symmetric_eigen(view).ok()?;
    // Without cancellation for negative eigenvalues.
    let x = eigen.map(|l| {
        let root = (l * l + 4.0 * rho).sqrt();
        if l < 0.0 { 2.0 / (root - l) } else { (l + root) / (2.0 * rho) }
    });
    let mut out = vec![0.0; k * k];
    for i in 0..k {
        for j in 0..=i {
            let value = 0.5 * (x[[i, j]] + x[[j, i]]);
            out[i * k + j] = value;
            out[j * k + i] = value;
        }
    }
    Some(out)
}
