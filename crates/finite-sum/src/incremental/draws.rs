//! Draws that know how steep a term is.

use fenchel_linalg::Design;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Loss, Regulariser};
use serde::{Deserialize, Serialize};

use crate::{Error, Problem};

/// With which probabilities terms are drawn. `L_j` is the smoothness of term `j`
/// ([`term_smoothness`](Problem::term_smoothness)), `Lbar` the mean.
///
/// Where a few rows are much longer than the others, uniform draws force steps of `1 / max L_j` on all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draws {
    /// As the order says.
    #[default]
    InOrder,
    /// `p_j = 1/(2n) + L_j / (2 n Lbar)`: half uniform, half by smoothness. Needs an order of independent draws.
    Mixed,
    /// `p_j = L_j / (n Lbar)`. For SVRG only: the table of SAGA would go stale where `L_j` is small.
    Lipschitz,
}

impl Draws {
    /// The visits, and `1 / (n p_j)` where draws are weighted. A scripted order keeps its script, and its
    /// steps are weighted as if it had been drawn.
    pub(super) fn visits<D: Design, L: Loss, R: Regulariser>(
        self,
        method: &'static str,
        problem: &Problem<'_, D, L, R>,
        order: &Order,
        seed: u64,
    ) -> Result<(Visits, Option<Vec<f64>>), Error> {
        let n = problem.n();
        if self == Draws::InOrder {
            return Ok((Visits::new(order, n, seed)?, None));
        }
        if !matches!(order, Order::Uniform | Order::Scripted(_)) {
            let what = format!("{self:?} draws in {} order; use Order::Uniform", order.name());
            return Err(Error::Unsupported { method, what });
        }
        let probabilities = self.probabilities(problem);
        let weights = probabilities.iter().map(|p| 1.0 / (n as f64 * p)).collect();
        let visits = match order {
            Order::Scripted(_) => Visits::new(order, n, seed)?,
            _ => Visits::new(&Order::Weighted(probabilities), n, seed)?,
        };
        Ok((visits, Some(weights)))
    }

    /// `p_j`, one a term. Uniform where no term has any curvature. O(n).
    pub fn probabilities<D: Design, L: Loss, R: Regulariser>(
        self,
        problem: &Problem<'_, D, L, R>,
    ) -> Vec<f64> {
        let n = problem.n() as f64;
        let smoothness: Vec<f64> = (0..problem.n()).map(|j| problem.term_smoothness(j)).collect();
        let total: f64 = smoothness.iter().sum();
        let share = match self {
            Draws::InOrder => 0.0,
            Draws::Mixed => 0.5,
            Draws::Lipschitz => 1.0,
        };
        let share = if total > 0.0 && total.is_finite() { share } else { 0.0 };
        let mean = if share > 0.0 { total } else { 1.0 };
        smoothness.iter().map(|l| (1.0 - share) / n + share * (l / mean)).collect()
    }

    /// What stands for `L` in a step: the largest `L_j / (n p_j)`, or a bound on it, with `l2`.
    pub(super) fn smoothness<D: Design, L: Loss, R: Regulariser>(
        self,
        problem: &Problem<'_, D, L, R>,
    ) -> f64 {
        match self {
            Draws::InOrder => problem.smoothness(),
            Draws::Mixed => 2.0 * problem.mean_smoothness() - problem.l2(),
            Draws::Lipschitz => problem.mean_smoothness(),
        }
    }
}
