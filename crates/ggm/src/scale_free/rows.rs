//! [ADMM](crate::admm) for penalties on the rows, with a certificate.

use fenchel_optim::{Certificate, Iterative};
use ndarray::ArrayView2;

use super::prox::{DualDecomposition, ProxSettings};
use super::row::RowNorm;
use crate::admm::{Admm, Splitting};
use crate::glasso::GlassoState;
use crate::problem::{dual_value, repaired, rounding};

/// The state of the iteration, which an observer of [`run`](fenchel_optim::run()) receives.
#[derive(Debug, Clone)]
pub struct ScaleFreeAdmm {
    admm: Admm,
    rows: Rows,
    /// Added to objective and bound, for the units.
    pub(super) shift: f64,
}

/// The problem, and the method of its second step.
#[derive(Debug, Clone)]
struct Rows {
    p: usize,
    c: Vec<f64>,
    strength: f64,
    inner: DualDecomposition,
    inner_iterations: u64,
}

impl Splitting for Rows {
    fn order(&self) -> usize {
        self.p
    }

    fn covariance(&self, _: usize) -> &[f64] {
        &self.c
    }

    fn second(&mut self, z: &[Vec<f64>], rho: f64, residual: f64, y: &mut [Vec<f64>]) {
        self.inner.z.copy_from_slice(&z[0]);
        self.inner.restart(self.strength / rho);
        let tolerance = (0.1 * residual / rho.max(1.0)).clamp(1e-13, 1e-3);
        let mut count = 0;
        while self.inner.residual > tolerance && count < 200 {
            self.inner.iterate();
            count += 1;
        }
        self.inner_iterations += count + 1;
        self.inner.symmetric(&mut y[0]);
    }

    fn rho_changed(&mut self, factor: f64) {
        self.inner.v.iter_mut().for_each(|v| *v /= factor);
    }
}

impl ScaleFreeAdmm {
    /// Starts from the identity, as in A. Defazio, PhD thesis 2014.
    ///
    /// The arguments are trusted: [`ScaleFree`](super::ScaleFree) checks them.
    ///
    /// # Panics
    /// Unless the matrix is square, with one increment fewer than it has rows.
    pub fn new(
        covariance: ArrayView2<f64>,
        increments: &[f64],
        strength: f64,
        rho: f64,
    ) -> ScaleFreeAdmm {
        Self::with_norm(covariance, RowNorm::Sorted(increments.to_vec()), strength, rho, None)
    }

    pub(super) fn with_norm(
        covariance: ArrayView2<f64>,
        norm: RowNorm,
        strength: f64,
        rho: f64,
        start: Option<&GlassoState>,
    ) -> ScaleFreeAdmm {
        let p = covariance.nrows();
        let c: Vec<f64> = covariance.iter().copied().collect();
        let (mut y, mut u) = (vec![0.0; p * p], vec![0.0; p * p]);
        (0..p).for_each(|i| y[i * p + i] = 1.0 / c[i * p + i]);
        if let Some(start) = start {
            // At the optimum `rho U` is what the covariance of the model has more than `C`.
            y = start.precision().into_iter().collect();
            let more = &start.covariance() - &covariance;
            u = more.into_iter().map(|m| m / rho).collect();
        }
        let settings = ProxSettings::default();
        let z = y.iter().zip(&u).map(|(y, u)| y + u).collect();
        let inner = DualDecomposition::new(z, p, norm, strength / rho, &settings);
        let rows = Rows { p, c, strength, inner, inner_iterations: 0 };
        ScaleFreeAdmm { admm: Admm::new(vec![y], vec![u], rho), rows, shift: 0.0 }
    }

    /// The sparse iterate.
    pub fn point(&self) -> &[f64] {
        &self.admm.y[0]
    }

    /// The proximal problem of the last iteration: `Z` and the scale.
    pub fn last_prox(&self) -> (&[f64], f64) {
        (&self.rows.inner.z, self.rows.inner.scale)
    }

    /// Iterations of the inner method so far.
    pub fn inner_iterations(&self) -> u64 {
        self.rows.inner_iterations
    }
}

impl Iterative for ScaleFreeAdmm {
    fn advance(&mut self, _passes: f64) -> f64 {
        self.admm.step(&mut self.rows);
        1.0
    }

    /// The gap between the symmetric iterate and a dual point. The dual point is built from the subgradients that the
    /// row solutions of the last proximal step give.
    fn certify(&mut self) -> Certificate {
        let Rows { p, c, strength, inner, .. } = &self.rows;
        let (p, strength) = (*p, *strength);
        let (point, factor) = repaired(self.admm.y[0].clone(), p);
        let trace: f64 = point.iter().zip(c).map(|(x, c)| x * c).sum();
        let objective = trace - factor.log_det() + strength * inner.omega(&point) + self.shift;
        // Subgradients of the rows, scaled into the dual ball where rounding put them outside.
        let scale = inner.scale;
        let mut g = vec![0.0; p * p];
        let mut worst = 1.0_f64;
        if scale > 0.0 {
            let v = inner.multipliers();
            let norm = &inner.norm;
            let mut row = Vec::with_capacity(p);
            for i in 0..p {
                row.clear();
                for j in (0..p).filter(|&j| j != i || norm.has_diagonal()) {
                    let at = i * p + j;
                    g[at] = (inner.z[at] - v[at] - inner.rows[at]) / scale;
                    row.push(g[at]);
                }
                worst = worst.max(norm.dual(&mut row));
            }
        }
        let mut s = c.clone();
        if worst.is_finite() {
            for i in 0..p {
                for j in 0..p {
                    let half = 0.5 * (g[i * p + j] + g[j * p + i]);
                    s[i * p + j] += strength * half / worst;
                }
            }
        }
        let lower = dual_value(s, p) + self.shift;
        let allowance = rounding((0..p).map(|i| c[i * p + i] * point[i * p + i]));
        Certificate::gap_within(objective, lower, allowance)
    }
}
