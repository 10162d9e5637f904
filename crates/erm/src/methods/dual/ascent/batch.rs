//! Steps on minibatches: several dual variables move together.
//!
//! ```text
//! min over c in [0, 1]:  sum_{i in B} phi_i*(s_i + c delta_i) + (mu n / 2) || x - (c / (mu n)) sum_{i in B} delta_i a_i ||^2
//! ```
//!
//! Here `delta_i = phi_i'(a_i.x) - s_i`. This is the interval line search of A. Defazio, PhD thesis 2014, section 2.3.1, for a
//! term `f_B` that is the mean loss of a minibatch, multiplied by the number of its rows. The sign of its quadratic is
//! corrected. The derivative by `c` is not positive at 0, where it is minus the duality gap of the batch, and not negative at
//! 1. So the best `c` on the whole line lies in the interval.

use fenchel_linalg::Design;
use fenchel_optim::scalar::increasing_root;
use fenchel_optim::{Loss, Separable};

use super::{Ascent, Move};
use crate::methods::dual::batches::Batches;

impl<D: Design, L: Loss, R: Separable> Ascent<'_, '_, D, L, R> {
    /// A step on a minibatch.
    pub(super) fn step_on_batch(&mut self, batch: usize) {
        let Some(mut batches) = self.batches.take() else { return };
        let (problem, rows) = (self.problem, batches.rows(batch));
        let Batches { deltas, sum, .. } = &mut batches;
        // sum_i delta_i t_i, sum_i delta_i, sum_i delta_i^2 / gamma_i
        let (mut linear, mut total, mut model) = (0.0, 0.0, 0.0);
        for (delta, j) in deltas.iter_mut().zip(rows.clone()) {
            let t = self.margin(j);
            *delta = problem.derivative(j, t) - self.state.dual[j];
            if *delta != 0.0 {
                problem.design().row_axpy(j, *delta, sum);
                linear += *delta * t;
                total += *delta;
                model += *delta * *delta / problem.term_curvature(j);
            }
        }
        let mut square = 0.0;
        for j in rows.clone() {
            problem.design().row_entries(j, |c, _| {
                let of_column = std::mem::take(&mut sum[c]);
                square += of_column * of_column;
            });
        }
        let mut bend = square * self.per_n / self.strength;
        if let Some(bias) = &self.bias {
            bend += total * total * self.per_n / bias.weight;
        }
        let moves = deltas.iter().zip(rows.clone()).filter(|(delta, _)| **delta != 0.0);
        let fraction = match self.step {
            // The stored number of a row is 1 / (1 + gamma_j q_j).
            Move::PerTerm => {
                let sum: f64 = rows.clone().map(|j| 1.0 / self.curvatures[j] - 1.0).sum();
                1.0 / (1.0 + sum)
            }
            Move::Fraction(fraction) => fraction,
            Move::Exact | Move::Interval => {
                let slope = |c: f64| {
                    let (mut value, mut curvature) = (c * bend - linear, bend);
                    for (delta, j) in moves.clone() {
                        let t = problem.conjugate_derivative(j, self.state.dual[j] + c * delta);
                        value += delta * t;
                        // Where the loss bends nowhere, its conjugate is linear but for its kinks.
                        let second = problem.second(j, t);
                        curvature += if second > 0.0 { delta * delta / second } else { 0.0 };
                    }
                    (value, curvature)
                };
                let guess = if model > 0.0 { model / (model + bend) } else { 0.5 };
                if problem.loss().quadratic() {
                    guess
                } else {
                    increasing_root(slope, 0.0, 1.0, guess, 1e-13)
                }
            }
        };
        for (delta, j) in moves {
            self.set(j, self.state.dual[j] + fraction * delta);
        }
        self.batches = Some(batches);
    }
}
