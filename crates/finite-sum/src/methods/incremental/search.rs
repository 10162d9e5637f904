//! A line search that costs O(1) a step.

use fenchel_linalg::Design;
use fenchel_optim::{Loss, Regulariser};

use crate::Problem;

/// Derivatives whose gradient is shorter than this say nothing about the smoothness.
const NOISE: f64 = 1e-8;

/// An estimate `Lhat` of the smoothness that rises where a term proves it too small, and slowly falls.
///
/// In every step, with `g = phi_j'(t)` and `q = ||a_j||^2`, wherever `g^2 q > 1e-8`,
///
/// ```text
/// phi_j(t - g q / Lhat) <= phi_j(t) - g^2 q / (2 Lhat)
/// ```
///
/// is what a smoothness of `Lhat` promises for a step along the gradient of this term alone. Where it fails `Lhat`
/// doubles until it holds, or `Lhat` is `L_j`, with which it does; after every such step it shrinks by the factor `2^(-1/n)`.
/// It needs the margin and the norm of the row, and no other look at the data. Source: Schmidt, Le Roux and Bach (2017),
/// section 4.6, where it doubles once, and shrinks after steps that say nothing too: a few long rows among many, or a loss
/// that is flat at most margins, then lead to steps far too long.
#[derive(Debug, Clone)]
pub(super) struct Search {
    smoothness: f64,
    decay: f64,
    multiple: f64,
}

impl Search {
    /// Starts from the mean smoothness of the terms; what follows hardly depends on it.
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

    /// The step to take from a margin of term `j`: `1 / (multiple (Lhat + l2))`.
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
