//! The functions that coordinate descent works on: columns of the design, and one derivative a row.

use fenchel_linalg::{Columns, Design, lanes};
use fenchel_optim::{Loss, Regulariser};

use super::sweeps::Coordinates;
use crate::Problem;
use crate::methods::hessian::RIDGE;

/// The columns of a working set, and the intercept behind them.
#[derive(Clone, Copy)]
pub(crate) struct Selected<'m> {
    pub(crate) columns: &'m Columns,
    pub(crate) set: &'m [usize],
    pub(crate) l2: f64,
}

impl Selected<'_> {
    /// `A_k . u`, and `l2 x` of a weight.
    #[inline(always)]
    fn slope(self, k: usize, x: f64, u: &[f64]) -> f64 {
        let Some(&c) = self.set.get(k) else { return lanes::dispatch(|| lanes::sum(u)) };
        self.columns.dot(c, u) + self.l2 * x
    }

    /// Calls `f(row, value)` for the entries of coordinate `k`.
    #[inline(always)]
    fn entries(self, k: usize, rows: usize, mut f: impl FnMut(usize, f64)) {
        match self.set.get(k) {
            Some(&c) => self.columns.entries(c, f),
            None => (0..rows).for_each(|i| f(i, 1.0)),
        }
    }

    fn stored(self, k: usize, rows: usize) -> f64 {
        self.set.get(k).map_or(rows, |&c| self.columns.stored(c)) as f64
    }

    /// `sum_i h_i a_ik^2 + l2` of each coordinate. Where the loss is nearly flat along it, it is a fraction of what it would be if all
    /// rows had the largest second derivative.
    pub(crate) fn curvatures(
        self,
        intercept: bool,
        rows: usize,
        h: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let largest = (0..rows).map(&h).fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 / rows as f64 };
        let of = |k: usize| {
            let (mut sum, mut squares) = (0.0, 0.0);
            self.entries(k, rows, |i, a| {
                sum += h(i) * a * a;
                squares += a * a;
            });
            let least = RIDGE * largest * squares;
            let curvature = f64::max(sum + if k < self.set.len() { self.l2 } else { 0.0 }, least);
            // A column of zeros divides by something.
            if curvature > 0.0 { curvature } else { 1.0 }
        };
        (0..self.set.len() + usize::from(intercept)).map(of).collect()
    }

    /// `sum_k moves_k A_k`, and the change of the l2 term.
    fn combine(self, x: &[f64], moves: &[f64], rows: usize) -> (Vec<f64>, f64) {
        let (mut sum, mut change) = (vec![0.0; rows], 0.0);
        for (k, (x, &by)) in x.iter().zip(moves).enumerate().filter(|(_, (_, by))| **by != 0.0) {
            self.entries(k, rows, |i, a| sum[i] += by * a);
            change += if k < self.set.len() { self.l2 * by * (x + 0.5 * by) } else { 0.0 };
        }
        (sum, change)
    }
}

/// Second derivatives of a quadratic, one a row.
#[derive(Clone, Copy)]
pub(crate) enum Curvature<'m> {
    Alike(f64),
    Each(&'m [f64]),
}

impl Curvature<'_> {
    #[inline(always)]
    fn at(self, i: usize) -> f64 {
        match self {
            Curvature::Alike(h) => h,
            Curvature::Each(h) => h[i],
        }
    }
}

/// `sum_i q_i(a_i.x) + (l2/2) ||x||^2` for quadratic `q_i`: a problem with the squared loss, or the model of proximal Newton.
pub(crate) struct Quadratic<'m> {
    pub(crate) selected: Selected<'m>,
    pub(crate) h: Curvature<'m>,
    /// `q_i'` at the margins.
    pub(crate) slopes: &'m mut [f64],
    pub(crate) curvatures: &'m [f64],
}

impl Coordinates for Quadratic<'_> {
    #[inline(always)]
    fn slope(&self, k: usize, x: f64) -> f64 {
        self.selected.slope(k, x, self.slopes)
    }

    #[inline(always)]
    fn curvature(&self, k: usize) -> f64 {
        self.curvatures[k]
    }

    #[inline(always)]
    fn shift(&mut self, k: usize, by: f64) {
        let slopes = &mut *self.slopes;
        match self.h {
            Curvature::Alike(h) => {
                let by = h * by;
                self.selected.entries(k, slopes.len(), |i, a| slopes[i] += by * a);
            }
            Curvature::Each(h) => {
                self.selected.entries(k, h.len(), |i, a| slopes[i] += by * h[i] * a);
            }
        }
    }

    fn entries(&self, k: usize) -> f64 {
        self.selected.stored(k, self.slopes.len())
    }

    fn jump(&mut self, x: &[f64], moves: &[f64]) -> f64 {
        let (margins, mut change) = self.selected.combine(x, moves, self.slopes.len());
        for (i, (u, a)) in self.slopes.iter_mut().zip(margins).enumerate() {
            let before = *u;
            *u += self.h.at(i) * a;
            change += 0.5 * a * (before + *u);
        }
        change
    }
}

/// `(1/n) sum_i phi_i(a_i.x) + (l2/2) ||x||^2`, whose derivatives are computed anew in the rows that a step changes.
pub(crate) struct Terms<'m, 'a, D, L, R> {
    pub(crate) problem: &'m Problem<'a, D, L, R>,
    pub(crate) selected: Selected<'m>,
    pub(crate) margins: &'m mut [f64],
    /// `phi_i' / n`
    pub(crate) slopes: &'m mut [f64],
    pub(crate) curvatures: &'m [f64],
}

impl<D: Design, L: Loss, R: Regulariser> Coordinates for Terms<'_, '_, D, L, R> {
    fn slope(&self, k: usize, x: f64) -> f64 {
        self.selected.slope(k, x, self.slopes)
    }

    fn curvature(&self, k: usize) -> f64 {
        self.curvatures[k]
    }

    fn shift(&mut self, k: usize, by: f64) {
        let (problem, share) = (self.problem, 1.0 / self.problem.n() as f64);
        let (margins, slopes) = (&mut *self.margins, &mut *self.slopes);
        self.selected.entries(k, problem.n(), |i, a| {
            margins[i] += by * a;
            slopes[i] = share * problem.derivative(i, margins[i]);
        });
    }

    fn entries(&self, k: usize) -> f64 {
        self.selected.stored(k, self.slopes.len())
    }

    fn jump(&mut self, x: &[f64], moves: &[f64]) -> f64 {
        let (problem, n) = (self.problem, self.problem.n());
        let (moved, quadratic) = self.selected.combine(x, moves, n);
        let before = problem.sum_values(self.margins);
        self.margins.iter_mut().zip(moved).for_each(|(t, a)| *t += a);
        self.slopes.copy_from_slice(self.margins);
        problem.differentiate(self.slopes, 1.0 / n as f64);
        (problem.sum_values(self.margins) - before) / n as f64 + quadratic
    }
}
