//! [ADMM](crate::admm) for all groups of one component.

use fenchel_linalg::{factor, parallel};
use fenchel_optim::{Certificate, Iterative};
use ndarray::Array2;

use super::penalty::Penalty;
use crate::admm::{Admm, Splitting};
use crate::problem::{dual_value, repaired, rounding};

/// All components.
pub(super) struct Joint {
    pub(super) parts: Vec<Part>,
    /// Added to objective and bound, for the units.
    pub(super) shift: f64,
}

/// The matrices of all groups on one component.
pub(super) struct Part {
    pub(super) nodes: Vec<u32>,
    groups: Groups,
    pub(super) admm: Admm,
    /// Objective, lower bound, and the allowance for their rounding.
    bounds: (f64, f64, f64),
}

/// The covariances of the groups and their penalty.
struct Groups {
    k: usize,
    penalty: Penalty,
    shares: Vec<f64>,
    c: Vec<Vec<f64>>,
    /// One entry of all groups.
    entry: Vec<f64>,
}

impl Splitting for Groups {
    fn order(&self) -> usize {
        self.k
    }

    fn covariance(&self, g: usize) -> &[f64] {
        &self.c[g]
    }

    fn weight(&self, g: usize) -> f64 {
        self.shares[g]
    }

    fn second(&mut self, z: &[Vec<f64>], rho: f64, _: f64, y: &mut [Vec<f64>]) {
        for i in 0..self.k {
            for j in 0..=i {
                let (at, mirror) = (i * self.k + j, j * self.k + i);
                self.entry.clear();
                self.entry.extend(z.iter().map(|z| z[at]));
                if i != j {
                    self.penalty.prox(&mut self.entry, 1.0 / rho);
                }
                for (y, value) in y.iter_mut().zip(&self.entry) {
                    (y[at], y[mirror]) = (*value, *value);
                }
            }
        }
    }
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
            let row =
                |i: u32| nodes.iter().map(move |&j| m[[i.max(j) as usize, i.min(j) as usize]]);
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
        let warm = start.is_some();
        let mut u = vec![vec![0.0; k * k]; c.len()];
        let y = match start {
            None => c.iter().map(diagonal).collect(),
            Some(start) => {
                let inverted = |(g, point): (usize, Vec<f64>)| {
                    let (point, factor) = repaired(point, k);
                    // At the optimum `rho U_k / w_k` is what the covariance of the model has more than `C_k`.
                    factor::inverse_into(&factor, &mut u[g]);
                    u[g].iter_mut().zip(&c[g]).for_each(|(u, c)| *u = shares[g] / rho * (*u - c));
                    point
                };
                start.into_iter().enumerate().map(inverted).collect()
            }
        };
        let mut groups = Groups { k, penalty, shares: shares.to_vec(), c, entry: Vec::new() };
        let mut admm = Admm::new(y, u, rho);
        if warm {
            admm.settle(&mut groups);
        }
        let bounds = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        Part { nodes, groups, admm, bounds }
    }

    fn advance(&mut self) {
        // A variable by itself is solved from the start.
        if self.groups.k > 1 {
            self.admm.step(&mut self.groups);
        }
    }

    fn certify(&mut self) {
        let Groups { k, penalty, shares, c, .. } = &self.groups;
        let (mut objective, mut lower, mut allowance) = (0.0, 0.0, 0.0);
        let mut points = Vec::with_capacity(c.len());
        for g in 0..c.len() {
            let (x, factor) = repaired(self.admm.y[g].clone(), *k);
            let trace: f64 = x.iter().zip(&c[g]).map(|(x, c)| x * c).sum();
            objective += shares[g] * (trace - factor.log_det());
            lower += shares[g] * dual_value(self.admm.dual_point(&self.groups, g), *k);
            allowance += rounding((0..*k).map(|i| x[i * k + i] * c[g][i * k + i]));
            points.push(x);
        }
        for i in 0..*k {
            for j in 0..i {
                let t: Vec<f64> = points.iter().map(|x| x[i * k + j]).collect();
                objective += 2.0 * penalty.value(&t);
            }
        }
        self.bounds = (objective, lower, allowance);
    }
}

impl Joint {
    fn each(&mut self, work: impl Fn(&mut Part) + Sync + Send) {
        parallel::map(&mut self.parts, work);
    }
}

impl Iterative for Joint {
    fn advance(&mut self, _passes: f64) -> f64 {
        self.each(Part::advance);
        1.0
    }

    fn certify(&mut self) -> Certificate {
        self.each(Part::certify);
        let bounds = self.parts.iter().map(|part| part.bounds);
        let (objective, lower, allowance) =
            bounds.fold((self.shift, self.shift, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        Certificate::gap_within(objective, lower, allowance)
    }
}
