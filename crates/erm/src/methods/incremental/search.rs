//! A line search that costs O(1) per step.

use fenchel_linalg::Design;
use fenchel_optim::{Loss, Regulariser};

use crate::Problem;

/// A gradient whose squared norm is below this is ignored, because rounding errors would decide the test (Schmidt, Le Roux and Bach,
/// 2017, section 4.6).
const NOISE: f64 = 1e-8;

/// An estimate `Lhat` of the smoothness. It increases when a term shows that it is too small, and otherwise decreases
/// slowly.
///
/// In every step, let `g = phi_j'(t)` and `q = ||a_j||^2`. If `g^2 q > 1e-8`, the inequality
///
/// ```text
/// phi_j(t - g q / Lhat) <= phi_j(t) - g^2 q / (2 Lhat)
/// ```
///
/// is tested. It holds if the smoothness of the term is at most `Lhat`, for a step along the gradient of this term
/// alone. If it fails, `Lhat` is doubled until it holds, or until `Lhat = L_j`, for which it always holds. After
/// every such step, `Lhat` is multiplied by `2^(-1/n)`. The test needs only the margin and the norm of the row.
/// Source: Schmidt, Le Roux and Bach (2017), section 4.6. Their version doubles only once, and decreases the estimate
/// also after steps with tiny gradients. If a few rows are much longer than the others, or if the loss is flat at
/// most margins, their steps become far too long.
#[derive(Debug, Clone)]
pub(super) struct Search {
    smoothness: f64,
    decay: f64,
    multiple: f64,
}

impl Search {
    /// Starts from the mean smoothness of the terms. The run hardly depends on this value.
    pub(super) fn new<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        multiple: f64,
    ) -> Self {
        let mean = problem.mean_smoothness() - problem.l2();
        Search {
            smoothness: if mean > 0.0 { mean } else { 1.0 },
            decay: (-1.0 / problem.n() as f64).exp2(),
            multiple,
        }
    }

    /// The step size at a margin of term `j`: `1 / (multiple (Lhat + l2))`.
    #[inline]
    pub(super) fn step<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        j: usize,
        margin: f64,
        g: f64,
    ) -> f64 {
        let ones = if problem.intercept() { 1.0 } else { 0.0 };
        let q = problem.norm_squared(j) + ones;
        if g * g * q > NOISE {
            let here = problem.value(j, margin);
            // Not `after > ...`: what is not a number is no promise kept.
            let holds = |smoothness: f64| {
                let after = problem.value(j, margin - g * q / smoothness);
                after <= here - g * g * q / (2.0 * smoothness)
            };
            let largest = problem.term_smoothness(j);
            while self.smoothness < largest && !holds(self.smoothness) {
                self.smoothness *= 2.0;
            }
            let step = 1.0 / (self.multiple * (self.smoothness + problem.l2()));
            self.smoothness *= self.decay;
            return step;
        }
        1.0 / (self.multiple * (self.smoothness + problem.l2()))
    }
}
