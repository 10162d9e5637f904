//! ADMM for the sum of log-determinant losses and a penalty with a simple proximal step:
//!
//! ```text
//! min  sum_g w_g (<C_g, X_g> - log det X_g) + penalty(Y)     with X = Y
//!
//! X_g = argmin <C_g, X> - log det X + rho_g/2 ||X - Y_g + U_g||^2      rho_g = rho / w_g
//! Y   = argmin penalty(Y) + rho/2 ||Y - Z||^2,   Z = X + U
//! U   = Z - Y
//! ```
//!
//! With the eigendecomposition `Q diag(l) Q' = rho (Y - U) - C`, the first step is `Q diag(l') Q'` with
//! `l' = (l + sqrt(l^2 + 4 rho)) / (2 rho)`. The penalty parameter `rho` is adapted at times ([`Balance`]), and `X` is replaced by
//! `1.6 X - 0.6 Y` in the last two lines (over-relaxation). So an iteration moves `Z` by `1.6 (X - Y)`, and this iteration is
//! [accelerated](Anderson) while `rho` stays. `rho U` is a subgradient of the penalty, so `C_g + rho_g U_g` is a dual point. An iteration
//! costs about `9 p^3` operations for each matrix.
//!
//! Source: Boyd et al., Foundations and Trends in Machine Learning 3, 2011, section 6.5; A. Defazio, PhD thesis
//! 2014, sections 6.3.1 and 7.3.1.

use fenchel_linalg::factor;
use ndarray::ArrayView2;

use crate::anderson::Anderson;

/// The two steps of a problem.
pub(crate) trait Splitting {
    /// The order `p` of the matrices.
    fn order(&self) -> usize;

    /// `C_g`, row-major.
    fn covariance(&self, g: usize) -> &[f64];

    /// The weight `w_g` of a loss.
    fn weight(&self, _g: usize) -> f64 {
        1.0
    }

    /// The first step for matrix `g`, from `V = Y_g - U_g`, which may be overwritten. `None` if `V` is not finite.
    fn first(&mut self, g: usize, v: &mut [f64], rho: f64) -> Option<Vec<f64>> {
        log_det_prox(v, self.covariance(g), self.order(), rho)
    }

    /// The second step: from `Z` to `Y`. `residual` is that of the last iteration, for steps that are not exact.
    fn second(&mut self, z: &[Vec<f64>], rho: f64, residual: f64, y: &mut [Vec<f64>]);

    /// Called when `rho` was multiplied by a factor, so that multipliers must be divided by it.
    fn rho_changed(&mut self, _factor: f64) {}
}

/// The iterates.
#[derive(Debug, Clone)]
pub(crate) struct Admm {
    /// The iterates of the second step, row-major.
    pub(crate) y: Vec<Vec<f64>>,
    /// The scaled multipliers.
    pub(crate) u: Vec<Vec<f64>>,
    pub(crate) rho: f64,
    /// The norm of the larger residual of the last iteration; NaN after a failure.
    pub(crate) residual: f64,
    balance: Balance,
    anderson: Anderson,
    /// The iterates of the first step, and `Y` of the last iteration.
    x: Vec<Vec<f64>>,
    last: Vec<Vec<f64>>,
    workspace: Vec<f64>,
}

impl Admm {
    pub(crate) fn new(y: Vec<Vec<f64>>, u: Vec<Vec<f64>>, rho: f64) -> Admm {
        let (x, last) = (y.clone(), y.clone());
        let (residual, balance) = (f64::INFINITY, Balance::default());
        let (anderson, workspace) = (Anderson::default(), Vec::new());
        Admm { y, u, rho, residual, balance, anderson, x, last, workspace }
    }

    /// One iteration.
    pub(crate) fn step(&mut self, problem: &mut impl Splitting) {
        for g in 0..self.y.len() {
            self.workspace.clear();
            self.workspace.extend(self.y[g].iter().zip(&self.u[g]).map(|(y, u)| y - u));
            let rho = self.rho / problem.weight(g);
            let Some(x) = problem.first(g, &mut self.workspace, rho) else {
                self.residual = f64::NAN;
                return;
            };
            self.x[g] = x;
        }
        let both = self.x.iter().flatten().zip(self.y.iter().flatten());
        let step = both.map(|(x, y)| 1.6 * (x - y)).collect();
        self.sum();
        let good = self.anderson.advance(&mut self.u, step);
        let residuals = self.second(problem);
        if !good {
            return;
        }
        self.residual = residuals.largest();
        let factor = self.balance.factor(&residuals);
        if factor != 1.0 {
            self.rho *= factor;
            self.u.iter_mut().flatten().for_each(|u| *u /= factor);
            self.anderson = Anderson::default();
            problem.rho_changed(factor);
        }
    }

    /// The second step alone, from `X = Y` as it is before the first iteration.
    pub(crate) fn settle(&mut self, problem: &mut impl Splitting) {
        self.sum();
        self.second(problem);
    }

    /// `Z = Y + U`, which takes the memory of `U`.
    fn sum(&mut self) {
        self.u.iter_mut().flatten().zip(self.y.iter().flatten()).for_each(|(u, y)| *u += y);
    }

    /// The second step, from `Z`.
    fn second(&mut self, problem: &mut impl Splitting) -> Residuals {
        std::mem::swap(&mut self.y, &mut self.last);
        problem.second(&self.u, self.rho, self.residual, &mut self.y);
        let mut residuals = Residuals::default();
        for g in 0..self.y.len() {
            let rho = self.rho / problem.weight(g);
            let (x, y, last, c) = (&self.x[g], &self.y[g], &self.last[g], problem.covariance(g));
            for (at, u) in self.u[g].iter_mut().enumerate() {
                *u -= y[at];
                residuals.add(x[at], y[at], last[at], c[at] + rho * *u, rho);
            }
        }
        residuals
    }

    /// The dual points `C_g + rho_g U_g`.
    pub(crate) fn dual_point(&self, problem: &impl Splitting, g: usize) -> Vec<f64> {
        let rho = self.rho / problem.weight(g);
        problem.covariance(g).iter().zip(&self.u[g]).map(|(c, u)| c + rho * u).collect()
    }
}

/// Squared norms of an iteration: of the residuals, the point and its inverse.
#[derive(Default)]
pub(crate) struct Residuals {
    primal: f64,
    dual: f64,
    point: f64,
    inverse: f64,
}

impl Residuals {
    /// Adds an entry: both iterates `x` and `y`, the `last` value of `y`, and the entry of the dual point.
    #[inline(always)]
    fn add(&mut self, x: f64, y: f64, last: f64, inverse: f64, rho: f64) {
        self.primal += (x - y) * (x - y);
        self.dual += rho * rho * (y - last) * (y - last);
        self.point += y * y;
        self.inverse += inverse * inverse;
    }

    fn largest(&self) -> f64 {
        self.primal.max(self.dual).sqrt()
    }
}

/// The adaptation of `rho`: both residuals are to be equal, relative to the point and to its inverse. The changes become rarer
/// with time, because ADMM converges only while `rho` stays.
#[derive(Debug, Clone, Default)]
struct Balance {
    iterations: u32,
    next: u32,
}

impl Balance {
    /// The factor for `rho` after an iteration.
    fn factor(&mut self, residuals: &Residuals) -> f64 {
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

/// `argmin_X <C, X> - log det X + rho/2 ||X - V||^2`. `V` and `C` are row-major and symmetric to the last bit; `V` is overwritten.
/// `None` if they are not finite.
pub(crate) fn log_det_prox(v: &mut [f64], c: &[f64], p: usize, rho: f64) -> Option<Vec<f64>> {
    v.iter_mut().zip(c).for_each(|(v, c)| *v = rho * *v - c);
    // Without cancellation for negative eigenvalues.
    of_eigenvalues(v, p, |l| {
        let root = (l * l + 4.0 * rho).sqrt();
        if l < 0.0 { 2.0 / (root - l) } else { (l + root) / (2.0 * rho) }
    })
}

/// `Q diag(f(l)) Q'` for `A = Q diag(l) Q'`, symmetric to the last bit. `None` if `A` is not finite.
pub(crate) fn of_eigenvalues(a: &[f64], k: usize, f: impl FnMut(f64) -> f64) -> Option<Vec<f64>> {
    let view = ArrayView2::from_shape((k, k), a).ok()?;
    let x = factor::symmetric_eigen(view).ok()?.map(f);
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
