//! The face that coordinate descent has come to: with the signs given, the model is a linear system.
//!
//! Among correlated columns coordinate descent finds most of the support soon, and the values on it late. When the sweeps since
//! the last trial have cost as much as the factor of its matrix, the system of the support is solved; coordinates that would
//! change their sign by that step end at 0.

use fenchel_linalg::Cholesky;

use super::model::Model;
use crate::methods::hessian::REGULAR;

/// A step to the face is shortened by halves, to this at most: then it is left to coordinate descent.
const SHORTEST: f64 = 0.1;

/// When the next trial is due.
#[derive(Debug, Clone, Default)]
pub(super) struct Face {
    /// Entries that sweeps have cost since the last trial.
    spent: f64,
    /// Whether a factorisation has failed.
    singular: bool,
}

impl Face {
    /// After a sweep that cost `entries`: moves `d`, and the gradient `q` with it, towards the minimiser over the support if it is
    /// time for that. Returns the cost in entries.
    pub(super) fn jump(
        &mut self,
        model: &Model<'_>,
        gram: &[f64],
        entries: f64,
        d: &mut [f64],
        q: &mut [f64],
    ) -> f64 {
        let (m, w) = (d.len(), model.set.len());
        let at = |k: usize, d: &[f64]| if k < w { model.x[model.set[k]] + d[k] } else { d[k] };
        let support: Vec<usize> = (0..m).filter(|&k| k >= w || at(k, d) != 0.0).collect();
        self.spent += entries;
        let size = support.len() as f64;
        let cost = 0.5 * REGULAR * size * size * (size / 3.0 + 1.0) + 0.5 * size * m as f64;
        if self.spent < cost || self.singular || support.is_empty() {
            return 0.0;
        }
        self.spent = 0.0;
        let size = support.len();
        let mut matrix = vec![0.0; size * size];
        for (row, &k) in matrix.chunks_exact_mut(size).zip(&support) {
            row.iter_mut().zip(&support).for_each(|(to, &l)| *to = gram[k * m + l]);
        }
        let slope = |k: usize| if k < w { model.l1.copysign(at(k, d)) } else { 0.0 };
        let mut step: Vec<f64> = support.iter().map(|&k| -q[k] - slope(k)).collect();
        let factor = Cholesky::in_place(matrix, size);
        if !factor.is_ok_and(|factor| factor.solve_in_place(&mut step).is_ok())
            || step.iter().any(|step| !step.is_finite())
        {
            self.singular = true;
            return cost;
        }
        // Coordinates that would change their sign end at 0; shorter where the model is worse there.
        let mut length = 1.0;
        while length > SHORTEST {
            let to = |(&k, step): (&usize, &f64)| {
                let x = at(k, d);
                let crosses = k < w && x * (x + length * step) < 0.0;
                if crosses { -x } else { length * step }
            };
            let moves: Vec<f64> = support.iter().zip(&step).map(to).collect();
            let mut there = q.to_vec();
            let mut change = 0.0;
            for (&k, &by) in support.iter().zip(&moves) {
                add(by, &gram[k * m..(k + 1) * m], &mut there);
                let x = at(k, d);
                change += if k < w { model.l1 * ((x + by).abs() - x.abs()) } else { 0.0 };
            }
            for (&k, &by) in support.iter().zip(&moves) {
                change += 0.5 * (q[k] + there[k]) * by;
            }
            if change < 0.0 {
                q.copy_from_slice(&there);
                for (&k, &by) in support.iter().zip(&moves) {
                    let ends_at_0 = k < w && by == -at(k, d);
                    d[k] = if ends_at_0 { -model.x[model.set[k]] } else { d[k] + by };
                }
                break;
            }
            length *= 0.5;
        }
        cost
    }
}

/// `q += by row`
#[inline]
pub(super) fn add(by: f64, row: &[f64], q: &mut [f64]) {
    q.iter_mut().zip(row).for_each(|(q, m)| *q += m * by);
}
