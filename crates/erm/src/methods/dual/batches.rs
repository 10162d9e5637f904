//! Minibatches for dual methods: a fixed partition of the rows.

use std::ops::Range;

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Refusal, Regulariser};

use crate::{Error, Problem};

/// A fixed partition of the rows, and the working memory of a step.
#[derive(Debug, Clone)]
pub(super) struct Batches {
    size: usize,
    rows: usize,
    /// `delta_i` of the rows of a batch.
    pub(super) deltas: Vec<f64>,
    /// `sum_i delta_i a_i`, and 0 between two steps.
    pub(super) sum: Vec<f64>,
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

    pub(super) fn rows(&self, batch: usize) -> Range<usize> {
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
