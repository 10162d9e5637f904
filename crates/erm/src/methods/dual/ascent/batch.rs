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

use std::ops::Range;

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::random::Order;
use fenchel_optim::scalar::increasing_root;
use fenchel_optim::{Loss, Refusal, Regulariser, Separable};

use super::{Ascent, Move};
use crate::{Error, Problem};

/// A fixed partition of the rows, and the working memory of a step.
#[derive(Debug, Clone)]
pub(super) struct Batches {
    size: usize,
    rows: usize,
    /// `delta_i` of the rows of a batch.
    deltas: Vec<f64>,
    /// `sum_i delta_i a_i`, and 0 between two steps.
    sum: Vec<f64>,
}

impl Batches {
    /// The minibatches of this size, or `None` for single rows.
    pub(super) fn new<D: Design, L: Loss, R: Regulariser>(
        method: &'static str,
        problem: &Problem<'_, D, L, R>,
        size: usize,
        order: &Order,
    ) -> Result<Option<Self>, Error> {
        if size == 0 {
            let (name, expected) = ("batch", "a number of rows >= 1");
            return Err(Invalid::Parameter { name, value: 0.0, expected }.into());
        }
        if size == 1 {
            return Ok(None);
        }
        let loss = problem.loss();
        if !loss.curvature().is_finite() && loss.twice_differentiable() {
            let reason = "whose derivative has no Lipschitz constant; use batch = 1";
            let what = format!("batches with the {} loss, {reason}", L::NAME);
            return Err(Refusal::unsupported(method, what).into());
        }
        order.check(method, order.is_given(), "with batches, a plain order or Weighted")?;
        let size = size.min(problem.n());
        let (deltas, sum) = (vec![0.0; size], vec![0.0; problem.d()]);
        Ok(Some(Batches { size, rows: problem.n(), deltas, sum }))
    }

    pub(super) fn count(&self) -> usize {
        self.rows.div_ceil(self.size)
    }

    fn rows(&self, batch: usize) -> Range<usize> {
        batch * self.size..((batch + 1) * self.size).min(self.rows)
    }
}

/// What is wrong with an order, whose terms are minibatches.
pub(super) fn of_minibatches(error: Error) -> Error {
    match error {
        Error::Invalid(Invalid::Length { what: "order weights", expected, found }) => {
            Invalid::Length { what: "order weights, one a minibatch", expected, found }.into()
        }
        Error::Invalid(Invalid::Parameter { name: "scripted term", value, .. }) => {
            let expected = "an index below the number of minibatches";
            Invalid::Parameter { name: "scripted minibatch", value, expected }.into()
        }
        error => error,
    }
}

impl<D: Design, L: Loss, R: Separable> Ascent<'_, '_, D, L, R> {
    /// A step on a minibatch.
    pub(super) fn climb_on_batch(&mut self, batch: usize) {
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
