//! The proximal operator of `Omega` on symmetric matrices, by dual decomposition.
//!
//! ```text
//! min_X  scale Omega(X) + ||X - Z||^2 / 2    over symmetric X
//! ```
//!
//! The rows are solved separately for `Z_i - V_i` in place of `Z_i`. The antisymmetric multiplier `V` enforces symmetry
//! by the update `V += eta (X - X')`. The dual gradient has Lipschitz constant 1 with respect to the step `eta / 2`, so
//! the plain method converges for `eta < 1`. FISTA with restarts needs about half the iterations. An iteration sorts
//! `p` rows, which are already nearly sorted.
//!
//! Source: A. Defazio, PhD thesis 2014, algorithm 7.1.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, Stop, run, settings};
use ndarray::{Array2, ArrayView2};

use super::row::{RowNorm, RowOrder};
use crate::error::Error;

settings! {
    /// Settings of [`prox_omega`].
    pub struct ProxSettings {
        /// FISTA with restarts, `eta = 1/2`.
        accelerated: bool = true,
        /// Step of the plain method, in `(0, 1)`.
        step: f64 = 0.9,
        /// When the method stops.
        /// By default gap 1e-10, 1000 iterations.
        stop: Stop = Stop { absolute: 1e-10, relative: 0.0, ..Stop::default() },
    }
}

/// The final state of [`prox_omega`].
#[derive(Debug, Clone, PartialEq)]
pub struct ProxState {
    /// The proximal point.
    pub point: Array2<f64>,
    /// The antisymmetric multipliers `V`, a start for a similar problem.
    pub multipliers: Array2<f64>,
}

/// The state of the dual decomposition, which an observer receives.
#[derive(Debug, Clone)]
pub struct DualDecomposition {
    pub(super) p: usize,
    pub(super) z: Vec<f64>,
    pub(super) scale: f64,
    pub(super) norm: RowNorm,
    accelerated: bool,
    step: f64,
    /// Multipliers, antisymmetric.
    pub(super) v: Vec<f64>,
    /// The point of the last gradient, and the extrapolation parameter.
    ahead: Vec<f64>,
    momentum: f64,
    /// Solutions of the rows at `ahead`.
    pub(super) rows: Vec<f64>,
    orders: Vec<RowOrder>,
    /// `||X - X'||`.
    pub residual: f64,
    workspace: (Vec<f64>, Vec<f64>),
}

impl DualDecomposition {
    pub(super) fn new(
        z: Vec<f64>,
        p: usize,
        norm: RowNorm,
        scale: f64,
        settings: &ProxSettings,
    ) -> Self {
        let width = if norm.has_diagonal() { p } else { p.saturating_sub(1) };
        let mut method = DualDecomposition {
            p,
            scale,
            norm,
            accelerated: settings.accelerated,
            step: settings.step,
            v: vec![0.0; p * p],
            ahead: vec![0.0; p * p],
            momentum: 1.0,
            rows: vec![0.0; p * p],
            orders: vec![RowOrder::default(); p],
            residual: f64::INFINITY,
            workspace: (vec![0.0; width], vec![0.0; width]),
            z,
        };
        method.solve_rows();
        method
    }

    /// Switches to another problem, with the same multipliers.
    pub(super) fn restart(&mut self, scale: f64) {
        self.scale = scale;
        self.momentum = 1.0;
        self.ahead.copy_from_slice(&self.v);
        self.solve_rows();
    }

    fn solve_rows(&mut self) {
        let p = self.p;
        let (w, x) = &mut self.workspace;
        for i in 0..p {
            let (z, v) = (&self.z[i * p..][..p], &self.ahead[i * p..][..p]);
            let whole = self.norm.has_diagonal();
            let off = |k: usize| if whole || k < i { k } else { k + 1 };
            for k in 0..w.len() {
                w[k] = z[off(k)] - v[off(k)];
            }
            self.norm.prox(w, self.scale, x, &mut self.orders[i]);
            let out = &mut self.rows[i * p..][..p];
            out[i] = z[i];
            for k in 0..x.len() {
                out[off(k)] = x[k];
            }
        }
        let mut sum = 0.0;
        for i in 0..p {
            for j in 0..i {
                let r = self.rows[i * p + j] - self.rows[j * p + i];
                sum += 2.0 * r * r;
            }
        }
        self.residual = sum.sqrt();
    }

    /// One dual step, and the rows at the new multipliers.
    pub(super) fn iterate(&mut self) {
        let p = self.p;
        let eta = if self.accelerated { 0.5 } else { self.step };
        let next = 0.5 * (1.0 + (1.0 + 4.0 * self.momentum * self.momentum).sqrt());
        let mut push = if self.accelerated { (self.momentum - 1.0) / next } else { 0.0 };
        self.momentum = next;
        // Restart where the extrapolation points against the gradient.
        let mut along = 0.0;
        for i in 0..p {
            for j in 0..i {
                let r = self.rows[i * p + j] - self.rows[j * p + i];
                along += r * (self.ahead[i * p + j] + eta * r - self.v[i * p + j]);
            }
        }
        if along < 0.0 {
            push = 0.0;
            self.momentum = 1.0;
        }
        for i in 0..p {
            for j in 0..i {
                let (at, mirror) = (i * p + j, j * p + i);
                let moved = self.ahead[at] + eta * (self.rows[at] - self.rows[mirror]);
                let old = self.v[at];
                self.v[at] = moved;
                self.v[mirror] = -moved;
                self.ahead[at] = moved + push * (moved - old);
                self.ahead[mirror] = -self.ahead[at];
            }
        }
        self.solve_rows();
    }

    /// The symmetric point: the mean of the two row solutions for an entry, or 0 if either of them is 0.
    pub(super) fn symmetric(&self, out: &mut [f64]) {
        let p = self.p;
        for i in 0..p {
            out[i * p + i] = self.rows[i * p + i];
            for j in 0..i {
                let (a, b) = (self.rows[i * p + j], self.rows[j * p + i]);
                let x = if a == 0.0 || b == 0.0 { 0.0 } else { 0.5 * (a + b) };
                out[i * p + j] = x;
                out[j * p + i] = x;
            }
        }
    }

    pub(super) fn omega(&self, x: &[f64]) -> f64 {
        self.norm.total(x, self.p)
    }

    /// Multipliers that the rows were solved with.
    pub(super) fn multipliers(&self) -> &[f64] {
        &self.ahead
    }
}

impl Iterative for DualDecomposition {
    fn advance(&mut self, _passes: f64) -> f64 {
        self.iterate();
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let mut x = vec![0.0; self.p * self.p];
        self.symmetric(&mut x);
        let distance =
            |x: &[f64]| 0.5 * x.iter().zip(&self.z).map(|(x, z)| (x - z) * (x - z)).sum::<f64>();
        let objective = self.scale * self.omega(&x) + distance(&x);
        let coupling: f64 = self.ahead.iter().zip(&self.rows).map(|(v, x)| v * x).sum();
        let lower = self.scale * self.omega(&self.rows) + distance(&self.rows) + coupling;
        Certificate::gap(objective, lower)
    }
}

/// `argmin_X scale Omega(X) + ||X - Z||^2 / 2` over symmetric `X`. It starts from the multipliers of an earlier run, or
/// from 0. The returned state contains the point and the multipliers.
///
/// # Errors
/// [`Invalid`] for a matrix that is not square, symmetric and finite; increments of another number than `p - 1`; settings out of range.
pub fn prox_omega<O: Observer<DualDecomposition>>(
    z: ArrayView2<f64>,
    increments: &[f64],
    scale: f64,
    settings: &ProxSettings,
    start: Option<Array2<f64>>,
    observer: &mut O,
) -> Result<Solution<ProxState>, Error> {
    let p = Invalid::check_square("matrix", z.dim())?;
    Invalid::check_length("increments", p - 1, increments.len())?;
    super::DegreePrior::Custom(increments.to_vec()).increments(p)?;
    Invalid::check_nonnegative("scale", scale)?;
    if !(settings.step > 0.0 && settings.step < 1.0) {
        let (name, value) = ("step", settings.step);
        return Err(Invalid::Parameter { name, value, expected: "in (0, 1)" }.into());
    }
    for ((row, column), &value) in z.indexed_iter() {
        if !value.is_finite() {
            return Err(Invalid::NonFinite { what: "matrix", row, column, value }.into());
        }
        if value != z[[column, row]] {
            let reason = format!("entry ({row}, {column}) and its mirror differ");
            return Err(Invalid::Layout { what: "matrix", reason }.into());
        }
    }
    let entries = z.iter().copied().collect();
    let mut method =
        DualDecomposition::new(entries, p, RowNorm::Sorted(increments.to_vec()), scale, settings);
    if let Some(v) = start {
        Invalid::check_length("start", p, v.nrows())?;
        Invalid::check_length("start", p, v.ncols())?;
        for i in 0..p {
            for j in 0..i {
                let value = 0.5 * (v[[i, j]] - v[[j, i]]);
                method.v[i * p + j] = value;
                method.v[j * p + i] = -value;
            }
        }
        method.restart(scale);
    }
    let report = run(&mut method, &settings.stop, observer)?;
    let mut x = vec![0.0; p * p];
    method.symmetric(&mut x);
    let shaped = |m: Vec<f64>| Array2::from_shape_vec((p, p), m).expect("p x p");
    Ok(Solution { state: ProxState { point: shaped(x), multipliers: shaped(method.v) }, report })
}
