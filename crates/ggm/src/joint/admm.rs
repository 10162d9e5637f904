//! ADMM for all groups of one component.

use fenchel_linalg::factor::InPlaceCholesky;
use fenchel_optim::{Certificate, Iterative};
use ndarray::Array2;
#[cfg(feature = "parallel")]
use rayon::prelude::*;

use super::penalty::Penalty;
use crate::glasso::{Balance, Residuals, positive_part, relaxed, repaired};
use crate::problem::rounding;

/// All components.
pub(super) struct Joint {
    pub(super) parts: Vec<Part>,
    /// Added to objective and bound, for the units.
    pub(super) shift: f64,
}

/// The matrices of all groups on one component.
pub(super) struct Part {
    pub(super) nodes: Vec<u32>,
    penalty: Penalty,
    shares: Vec<f64>,
    c: Vec<Vec<f64>>,
    pub(super) y: Vec<Vec<f64>>,
    u: Vec<Vec<f64>>,
    rho: f64,
    balance: Balance,
    /// Objective, lower bound, and the allowance for their rounding.
    bounds: (f64, f64, f64),
}

impl Part {
    pub(super) fn new(
        nodes: Vec<u32>,
        matrices: &[&Array2<f64>],
        shares: &[f64],
        penalty: Penalty,
        rho: f64,
        start: Option<&[Array2<f64>]>,
    ) -> Part {
        let k = nodes.len();
        let within = |m: &Array2<f64>| -> Vec<f64> {
            let row = |i: u32| nodes.iter().map(move |&j| m[[i as usize, j as usize]]);
            nodes.iter().flat_map(|&i| row(i)).collect()
        };
        let c: Vec<Vec<f64>> = matrices.iter().map(|c| within(c)).collect();
        let diagonal = |c: &Vec<f64>| {
            let mut y = vec![0.0; k * k];
            (0..k).for_each(|i| y[i * k + i] = 1.0 / c[i * k + i]);
            y
        };
        // A variable by itself is solved from the start.
        let start: Option<Vec<Vec<f64>>> =
            start.filter(|_| k > 1).map(|start| start.iter().map(within).collect());
        let y = c.iter().map(diagonal).collect();
        let u = vec![vec![0.0; k * k]; c.len()];
        let bounds = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        let balance = Balance::default();
        let shares = shares.to_vec();
        let mut part = Part { nodes, penalty, shares, c, y, u, rho, balance, bounds };
        if let Some(start) = start {
            let mut x = Vec::with_capacity(start.len());
            for (g, point) in start.into_iter().enumerate() {
                let (point, factor) = repaired(point, k);
                // At the optimum `rho U_k / w_k` is what the covariance of the model has more than `C_k`.
                factor.inverse(&mut part.u[g]);
                let by = part.shares[g] / rho;
                part.u[g].iter_mut().zip(&part.c[g]).for_each(|(u, c)| *u = by * (*u - c));
                part.y[g].clone_from(&point);
                x.push(point);
            }
            part.shrink(&x);
        }
        part
    }

    fn advance(&mut self) {
        let k = self.nodes.len();
        // A variable by itself is solved from the start.
        if k == 1 {
            return;
        }
        let mut x = Vec::with_capacity(self.c.len());
        for g in 0..self.c.len() {
            let rho = self.rho / self.shares[g];
            let (y, u, c) = (&self.y[g], &self.u[g], &self.c[g]);
            let a: Vec<f64> = (0..k * k).map(|at| rho * (y[at] - u[at]) - c[at]).collect();
            let Some(found) = positive_part(&a, k, rho) else { return };
            x.push(found);
        }
        let residuals = self.shrink(&x);
        let change = self.balance.factor(&residuals);
        if change != 1.0 {
            self.rho *= change;
            self.u.iter_mut().flatten().for_each(|u| *u /= change);
        }
    }

    /// The proximal step of the penalty and the update of the multipliers.
    fn shrink(&mut self, x: &[Vec<f64>]) -> Residuals {
        let (k, groups) = (self.nodes.len(), x.len());
        let mut residuals = Residuals::default();
        let mut t = vec![0.0; groups];
        for i in 0..k {
            for j in 0..=i {
                let (at, mirror) = (i * k + j, j * k + i);
                for g in 0..groups {
                    t[g] = relaxed(x[g][at], self.y[g][at]) + self.u[g][at];
                }
                if i != j {
                    self.penalty.prox(&mut t, 1.0 / self.rho);
                }
                let twice = if i == j { 1.0 } else { 2.0 };
                for g in 0..groups {
                    let (last, by) = (self.y[g][at], self.rho / self.shares[g]);
                    let z = relaxed(x[g][at], last) + self.u[g][at];
                    let inverse = self.c[g][at] + by * (z - t[g]);
                    residuals.add(twice, x[g][at], t[g], last, inverse, by);
                    for place in [at, mirror] {
                        self.y[g][place] = t[g];
                        self.u[g][place] = z - t[g];
                    }
                }
            }
        }
        residuals
    }

    fn look(&mut self) {
        let k = self.nodes.len();
        let (mut objective, mut lower, mut allowance) = (0.0, 0.0, 0.0);
        let mut points = Vec::with_capacity(self.c.len());
        for g in 0..self.c.len() {
            let (x, factor) = repaired(self.y[g].clone(), k);
            let trace: f64 = x.iter().zip(&self.c[g]).map(|(x, c)| x * c).sum();
            objective += self.shares[g] * (trace - factor.log_det());
            let by = self.rho / self.shares[g];
            let s = self.c[g].iter().zip(&self.u[g]).map(|(c, u)| c + by * u).collect();
            lower += match InPlaceCholesky::new(s, k) {
                Ok(factor) => self.shares[g] * (factor.log_det() + k as f64),
                Err(_) => f64::NEG_INFINITY,
            };
            allowance += rounding((0..k).map(|i| x[i * k + i] * self.c[g][i * k + i]));
            points.push(x);
        }
        for i in 0..k {
            for j in 0..i {
                let t: Vec<f64> = points.iter().map(|x| x[i * k + j]).collect();
                objective += 2.0 * self.penalty.value(&t);
            }
        }
        self.bounds = (objective, lower, allowance);
    }
}

impl Joint {
    fn each(&mut self, work: impl Fn(&mut Part) + Sync + Send) {
        #[cfg(feature = "parallel")]
        self.parts.par_iter_mut().for_each(work);
        #[cfg(not(feature = "parallel"))]
        self.parts.iter_mut().for_each(work);
    }
}

impl Iterative for Joint {
    fn advance(&mut self, _passes: f64) -> f64 {
        self.each(Part::advance);
        1.0
    }

    fn certify(&mut self) -> Certificate {
        self.each(Part::look);
        let bounds = self.parts.iter().map(|part| part.bounds);
        let (objective, lower, allowance) =
            bounds.fold((self.shift, self.shift, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        Certificate::gap_within(objective, lower, allowance)
    }
}
