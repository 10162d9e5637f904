//! The table of methods: which problems each can solve, how many passes it will need, and what a pass costs.
//!
//! The constants were measured on web pages, census, text, engine and generated data. They count passes to a relative gap of 1e-6,
//! certificates included. A batch pass is a product with the data and one with its transpose.

use fenchel_linalg::Design;
use fenchel_optim::prox::L1;
use fenchel_optim::{Loss, Refusal};

use super::case::{BADLY_CONDITIONED, Case};
use super::choice::{Arm, Choice, Method};
use super::guarded::offers_trial;
use crate::methods::hessian::{REGULAR, gram_cost};
use crate::methods::newton::GRAM_PASSES;
use crate::{Error, Problem};

/// Passes where there is no l2, and the most that are predicted: 31 to 405 of L-BFGS were measured.
const MOST_PASSES: f64 = 400.0;
/// Newton-CG takes 5 passes and so many over the fourth root of `beta`: 20 to 212 were measured for `beta` from 4 to 3e-4, on ten sparse
/// sets with labels.
const CG: f64 = 36.0;
/// The share of them that one linear system takes on sparse data: 8 to 20 passes for `beta` from 0.5 to 6e-4 on five sets with squares.
const ONE_SYSTEM: f64 = 0.25;
/// Passes of Newton-CG on counts where rows outnumber features, whatever `beta` is: 17 to 97 on four sets.
const COUNTS_CG: f64 = 50.0;
/// Otherwise so many times as many as on labels: 59 to 103 for `beta = 1` on three sets.
const COUNTS_CG_WIDE: f64 = 2.0;
/// Vectors of `d` numbers that a step of conjugate gradients reads or writes.
const CG_VECTORS: f64 = 10.0;
/// The cost of a Newton step for each row, in entries of a batch pass: it evaluates the loss twice, two derivatives and the conjugate,
/// at about 4 ns each, and an entry takes 2 ns.
const EVALUATIONS: f64 = 10.0;
/// Passes of subsampled Newton: 7 to 15 in a prototype on three data sets.
const SUBSAMPLED_PASSES: f64 = 12.0;
/// Hessians of the drawn rows that it computes: 2 to 4 in the same runs.
const SUBSAMPLED_HESSIANS: f64 = 3.0;
/// The cost of a pass of it for each row, in entries of a batch pass: it evaluates value and derivative of the loss together.
const SUBSAMPLED_EVALUATIONS: f64 = 4.0;
/// Outer steps of proximal Newton with l1: 5 to 15 were measured.
const SPARSE_NEWTON_STEPS: f64 = 20.0;
/// Passes of coordinate descent over the columns of indicators: 3 to 25 in 31 of 32 problems on eight sets, and 69 in one.
const INDICATOR_SWEEPS: f64 = 15.0;
/// L-BFGS is tried before Newton's method where that is predicted to cost at least so many batch passes. On seven sets of dense data on
/// which this was not chosen (180 to 300 columns; pixels, their principal components, generated), it saved 62 % of the time in the
/// median of the eleven problems that it took part in, and cost 33 % at worst.
const TRIAL: f64 = 30.0;
/// Steps of Newton's method without l1: 6 to 8 were measured.
const NEWTON_STEPS: f64 = 7.0;
/// Accelerated dual ascent takes 5 passes and so many over the root of `beta`: 6 to 121 were measured for `beta` from 4 to 0.003, on
/// seven sets.
const DUAL_PASSES: f64 = 5.5;
/// The cost of a dual step, in entries of a batch pass: exponentials, and rows in random order. A pass cost 10 batch passes with 3 entries
/// in a row, 4 with 8, and 1.3 to 1.9 with 66 or more.
const DUAL_STEP: f64 = 26.0;
/// The same for an exact step of a loss without a curvature bound: a logarithm and Wright's omega function. A pass cost 2.7 batch passes
/// with 43 entries in a row, and 20 with 6.
const EXACT_STEP: f64 = 60.0;
/// Passes of SDCA on counts, over `beta`, where rows outnumber features: 32 to 140 on four sets.
const COUNTS_DUAL: f64 = 45.0;
/// The same where features outnumber rows, for `beta = 1`, growing like `beta^(-1/3)`: 6 to 17 on three sets.
const COUNTS_DUAL_WIDE: f64 = 17.0;
/// Passes of SDCA on dense data with fewer rows than columns and orthogonal rows, whatever l2 is. Each unit of overlap between the rows
/// adds as many. 6 to 16, 28 to 37, 64 to 80 and above 470 were measured at overlaps of 0.1 to 7, 1, 4 and 31.
const WIDE_DUAL: f64 = 6.0;

/// The methods that are considered.
const METHODS: [Method; 9] = {
    use Method::*;
    [Newton, CoordinateDescent, SubsampledNewton, Sdca, Catalyst, Qning, Lbfgs, NewtonCg, Saga]
};

/// The number of passes of a method, as it counts them itself, and the cost of one in batch passes; `None` where it cannot solve the
/// problem. Passes are infinite where nothing is known.
fn predicted(c: &Case, method: Method) -> Option<(f64, f64)> {
    let (strong, plain, smooth) = (c.mu > 0.0, c.l1 == 0.0, !c.unbounded);
    let accelerates = smooth && c.has_dual && !c.wide();
    let (open, passes, pass) = match method {
        Method::Newton => {
            let open = (c.affordable || c.by_working_sets()) && !c.by_columns();
            let (passes, pass) = newton(c);
            (open, passes, pass)
        }
        Method::CoordinateDescent => (c.by_columns(), INDICATOR_SWEEPS * c.digits, 1.0),
        Method::SubsampledNewton => {
            (plain && c.affordable && strong && c.drawn.is_some(), subsampled_passes(c), 1.0)
        }
        Method::Sdca => (c.has_dual && strong && (c.unbounded || c.wide()), dual_passes(c), 1.0),
        Method::Catalyst => {
            let open = accelerates && strong && (c.beta >= BADLY_CONDITIONED || !plain);
            (open, dual_passes(c), 1.0)
        }
        Method::Qning => (accelerates && !plain && !strong, dual_passes(c), 1.0),
        Method::Lbfgs => (plain && smooth && !strong, MOST_PASSES, 1.0),
        Method::NewtonCg => {
            // Two operations of a pass for each number of a vector.
            let vectors = 0.5 * CG_VECTORS * REGULAR * c.d / c.stored;
            (plain && (strong || c.unbounded), newton_cg_passes(c), 1.0 + vectors)
        }
        _ => (smooth && !c.has_dual, f64::INFINITY, 1.0),
    };
    open.then_some((passes, pass))
}

/// Whether a method may run first. Otherwise it can only take over.
fn leads(c: &Case, method: Method) -> bool {
    match method {
        Method::Newton => c.l1 == 0.0 || c.by_working_sets(),
        Method::Sdca | Method::Catalyst | Method::Qning => !c.by_working_sets(),
        _ => true,
    }
}

impl Choice {
    /// For l1, l2, both or neither, and a loss with second derivatives: the cheapest of the methods that may be the first, and the next
    /// of those that are open to take over.
    ///
    /// # Errors
    /// [`Error::Refused`] where none is open.
    pub(super) fn of<D: Design, L: Loss>(
        problem: &Problem<'_, D, L, L1>,
        relative: f64,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let case = &Case::of(problem, relative, max_memory);
        let arm = |method| {
            let (passes, pass) = predicted(case, method)?;
            Some(Arm { method, cost: passes * pass, passes })
        };
        let arms: Vec<Arm> = METHODS.into_iter().filter_map(arm).collect();
        let first = arms.iter().filter(|arm| leads(case, arm.method));
        let Some(first) = first.min_by(|a, b| a.cost.total_cmp(&b.cost)) else {
            return Err(Refusal::NeedsStrongConvexity { method: "auto" }.into());
        };
        let choice = Choice::of_arms(first.method, &arms, case.reason(first.method));
        // Where Gram matrices are dear, a few gradients tell whether they are needed.
        let tried = first.method == Method::Newton && case.l1 == 0.0 && !case.unbounded;
        let tried = tried && !case.quadratic && offers_trial(problem.design());
        let trial = Some(first.cost).filter(|cost| tried && *cost >= TRIAL);
        Ok(Choice { beta: case.beta, trial, ..choice })
    }
}

/// Products with the data and the Hessian in a step of Newton's method, the factor of a matrix, and what is made once for all steps.
fn newton_parts(c: &Case) -> (f64, f64, f64) {
    if let Some((once, step)) = c.by_rows {
        return (2.0, step / c.stored, once / c.stored);
    }
    let hessian = gram_cost(c.n as usize, c.d as usize, c.stored) / c.stored;
    (1.0 + hessian, REGULAR * c.d * c.d * c.d / (6.0 * c.stored), 0.0)
}

/// Passes of Newton's method and the cost of one. With l1 a step is its two products with the data, and the largest model that it writes
/// down, of as many columns as there are rows at most: its Gram matrix, and as much again for its minimiser.
fn newton(c: &Case) -> (f64, f64) {
    if c.l1 > 0.0 {
        let order = c.n.min(c.d);
        let gram = gram_cost(c.n as usize, order as usize, c.stored * order / c.d) / c.stored;
        return (2.0 * SPARSE_NEWTON_STEPS * (1.0 + gram.min(GRAM_PASSES)), 1.0);
    }
    let (products, factor, once) = newton_parts(c);
    // A quadratic loss is its own model.
    let steps = if c.quadratic { 1.0 } else { NEWTON_STEPS };
    let passes = (products + factor / REGULAR) * steps + once;
    // The margins of a step are half a pass.
    let cost = (products + 0.5 + EVALUATIONS * c.n / c.stored + factor) * steps + once;
    (passes, cost / passes)
}

/// Passes, and Hessians of the rows that are drawn.
fn subsampled_passes(c: &Case) -> f64 {
    let share = c.drawn.unwrap_or(1.0);
    let gram = gram_cost((share * c.n) as usize + 1, c.d as usize, share * c.stored) / c.stored;
    let evaluations = SUBSAMPLED_EVALUATIONS * c.n / c.stored;
    SUBSAMPLED_PASSES * c.digits * (1.0 + evaluations)
        + SUBSAMPLED_HESSIANS * (gram + newton_parts(c).1)
}

/// On dense data with squares by the bound `sqrt(1 + 1 / beta) ln(2 / eps) / 2` of the steps of conjugate gradients. Sparse rows, and
/// losses that are flat where the margins are large, have a spectrum that is better than that.
fn newton_cg_passes(c: &Case) -> f64 {
    let passes = match () {
        () if c.dense && c.quadratic => 7.0 * (1.0 + 1.0 / c.beta).sqrt(),
        () if c.quadratic => ONE_SYSTEM * (5.0 + CG / c.beta.powf(0.25)),
        () if c.unbounded && c.n >= c.d => COUNTS_CG,
        () if c.unbounded => COUNTS_CG_WIDE * (5.0 + CG / c.beta.powf(0.25)),
        () => 5.0 + CG / c.beta.powf(0.25),
    };
    // Exact arithmetic ends after as many steps as there are rows or columns.
    passes.min(MOST_PASSES.max(c.n.min(c.d))) * c.digits
}

/// Dual ascent, in batch passes.
fn dual_passes(c: &Case) -> f64 {
    let (beta, entries) = (c.beta, c.stored / c.n);
    let step = if c.unbounded { EXACT_STEP } else { DUAL_STEP };
    let passes = match () {
        () if c.unbounded && c.n >= c.d => 5.0 + COUNTS_DUAL / beta,
        () if c.unbounded => 5.0 + (COUNTS_DUAL / beta).min(COUNTS_DUAL_WIDE / beta.cbrt()),
        () if c.wide() && beta < 2.0 => WIDE_DUAL * (1.0 + c.overlap),
        () => (5.0 + DUAL_PASSES / beta.sqrt()).min(MOST_PASSES),
    };
    (1.2 + step / entries) * passes * c.digits
}

#[cfg(test)]
mod tests;
