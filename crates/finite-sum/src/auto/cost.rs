//! Which method for which problem: predicted passes, evaluated once before the start.
//!
//! The thresholds were measured on web pages, census, text, engine and generated data (passes to 1e-6, certificates
//! included). Accelerated dual ascent took 6, 13, 30 passes for `beta >= 2, 0.1, 0.005`, growing like `1 / sqrt(beta)` from 60 below. A
//! pass of dual ascent on short rows costs up to nine batch passes (4 to 9 at 12 entries a row, 2.5 to 3.5 at 30, 1.6 at 44), for
//! its exponentials and for visiting rows in random order. L-BFGS took 12 to 19, 22 to 44 and 37 to 100 passes where
//! features are many.

use fenchel_linalg::{Columns, Design};
use fenchel_optim::Refusal;
use fenchel_optim::{Loss, Regulariser};

use super::choice::{Arm, Choice, Method, Reason};
use crate::methods::hessian::{REGULAR, full_hessian_cost, gram_cost};
use crate::methods::newton::{GRAM_PASSES, ROWS_PER_VARIABLE, row_bytes, row_costs, sample_rows};
use crate::{Error, Problem};

/// What L-BFGS is predicted to need without l2, or where rows outnumber features: 31 to 300 were measured there.
const LBFGS_PASSES: f64 = 400.0;

/// The same of Newton-CG: 45 to 283 on the four data sets at `beta = 0.004`.
const NEWTON_CG_PASSES: f64 = 150.0;

/// Passes of Newton-CG for one of L-BFGS, where `beta` is larger: 0.4 to 2.0, in the median 1.3, on thirteen problems. The one system
/// of a quadratic loss takes half of them: 7 for 37 and 7 for 46 on ratings, 13 for 15 and 41 for 55 on text.
const NEWTON_CG_SHARE: f64 = 1.3;
const ONE_SYSTEM: f64 = 0.5;

/// Vectors of weights that a pass reads or writes, beside those of the products with the data: two loops over ten pairs of L-BFGS, and
/// the recurrences of conjugate gradients.
const LBFGS_VECTORS: f64 = 52.0;
const CG_VECTORS: f64 = 10.0;

/// Below this `beta` Newton-CG replaces the accelerated dual method.
const BADLY_CONDITIONED: f64 = 0.005;

/// What a Newton step evaluates for each row, in entries of a batch pass: the loss twice, its two derivatives and its
/// conjugate, at about four nanoseconds each where a pass takes two an entry.
const EVALUATIONS: f64 = 10.0;

/// Passes that subsampled Newton is predicted to need, and Hessians of the drawn rows beside them: 7 to 15, and 2 to 4, in a
/// prototype on three data sets.
const SUBSAMPLED_PASSES: f64 = 12.0;
const SUBSAMPLED_HESSIANS: f64 = 3.0;

/// What a pass of it evaluates for each row, in entries of a batch pass: value and derivative together.
const SUBSAMPLED_EVALUATIONS: f64 = 4.0;

/// Outer steps that proximal Newton is predicted to need with l1, and Newton's method without: 5 to 15 and 6 to 8 were measured.
const SPARSE_NEWTON_STEPS: f64 = 20.0;
const NEWTON_STEPS: f64 = 7.0;

impl Choice {
    /// With l1, l2, both or neither: of the arms that a problem leaves open the one of the least cost; with l1 proximal Newton
    /// where the dual is badly conditioned.
    ///
    /// # Errors
    /// [`Error::Refused`] for a loss with a kink without l2.
    pub(super) fn of<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        l1: f64,
        relative: f64,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let (mu, beta, loss) = (problem.strong_convexity(), conditioning(problem), problem.loss());
        let smooth = loss.curvature().is_finite();
        let ascent = ascent_arm(problem, beta, relative, l1 > 0.0);
        let [newton, subsampled] = newton_arms(problem, l1, relative, max_memory);
        let choice = if !loss.twice_differentiable() {
            let (method, reason) = without_second_derivatives(problem, beta)?;
            Choice::of_arms(method, &[ascent], reason)
        } else if !smooth {
            // No step size and no acceleration without a curvature bound.
            let method =
                if newton.cost.is_finite() || !(mu > 0.0) { Method::Newton } else { Method::Sdca };
            Choice::of_arms(method, &[newton, ascent], Reason::UnboundedCurvature)
        } else if l1 > 0.0 {
            // With a quadratic loss one Gram matrix serves all steps.
            let steep = beta < 1.0 || loss.quadratic();
            let (method, reason) = match () {
                () if steep && newton.cost.is_finite() => (Method::Newton, Reason::SparseAndSteep),
                () if mu > 0.0 => (Method::Catalyst, Reason::Dual),
                () => (Method::Qning, Reason::NotStronglyConvex),
            };
            Choice::of_arms(method, &[newton, ascent], reason)
        } else if mu > 0.0 && beta < BADLY_CONDITIONED {
            let [lbfgs, products] = batch_arms(problem, beta, relative);
            Choice::least(&[newton, subsampled, products, lbfgs], Reason::BadlyConditioned)
        } else {
            let [lbfgs, products] = batch_arms(problem, beta, relative);
            let arms = [newton, subsampled, ascent, lbfgs, products];
            Choice::least(&arms, Reason::Cost)
        };
        Ok(Choice { beta, ..choice })
    }

    /// For a separable regulariser that is no elastic net: bounds, weights of their own.
    ///
    /// # Errors
    /// As [`of`](Choice::of).
    pub(super) fn separable<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        relative: f64,
    ) -> Result<Self, Error> {
        let (beta, loss) = (conditioning(problem), problem.loss());
        let smooth = loss.curvature().is_finite();
        let (method, reason) = if loss.twice_differentiable() && !smooth {
            if !(problem.strong_convexity() > 0.0) {
                return Err(Refusal::NeedsStrongConvexity { method: "auto" }.into());
            }
            (Method::Sdca, Reason::UnboundedCurvature)
        } else if smooth && 10 * problem.n() < problem.d() {
            (Method::Fista, Reason::FewRows)
        } else {
            without_second_derivatives(problem, beta)?
        };
        let arms = [ascent_arm(problem, beta, relative, smooth)];
        Ok(Choice { beta, second: None, ..Choice::of_arms(method, &arms, reason) })
    }

    /// For a regulariser that ties the weights together.
    pub(super) fn joint<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
    ) -> Self {
        let beta = conditioning(problem);
        Choice { beta, ..Choice::only(Method::Fista, Reason::JointRegulariser) }
    }
}

/// Dual ascent: accelerated for a smooth loss, with a centre that L-BFGS moves without strong convexity.
fn ascent_arm<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    beta: f64,
    relative: f64,
    coercive: bool,
) -> Arm {
    let smooth = problem.loss().curvature().is_finite();
    let strong = problem.strong_convexity() > 0.0;
    let method = match () {
        () if !smooth => Method::Sdca,
        () if strong => Method::Catalyst,
        () => Method::Qning,
    };
    let open = strong || (coercive && smooth);
    let cost = pass_cost(problem) * dual_passes(beta, relative);
    let cost = if open { cost } else { f64::INFINITY };
    Arm { method, cost, passes: cost }
}

/// L-BFGS and Newton-CG, for smooth problems without l1. What their vectors cost beside a pass is what tells them apart: with many
/// features and few entries a row, the memory of L-BFGS is read for longer than the data.
fn batch_arms<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    beta: f64,
    relative: f64,
) -> [Arm; 2] {
    let stored = problem.design().stored().max(1) as f64;
    // An entry is two operations of a pass.
    let vector = 0.5 * REGULAR * problem.d() as f64 / stored;
    let arm = |method, passes: f64, vectors: f64| Arm {
        method,
        cost: passes * (1.0 + vectors * vector),
        passes,
    };
    let lbfgs = lbfgs_passes(problem, beta, relative);
    let share = if problem.loss().quadratic() { ONE_SYSTEM } else { NEWTON_CG_SHARE };
    let products = match beta {
        b if b < BADLY_CONDITIONED => NEWTON_CG_PASSES,
        _ => share * lbfgs,
    };
    let open = problem.strong_convexity() > 0.0 && problem.loss().twice_differentiable();
    let products = if open { products } else { f64::INFINITY };
    [arm(Method::Lbfgs, lbfgs, LBFGS_VECTORS), arm(Method::NewtonCg, products, CG_VECTORS)]
}

/// Newton's method and the subsampled one; infinite costs where the loss has no second derivatives, or the memory is not allowed.
fn newton_arms<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    l1: f64,
    relative: f64,
    max_memory: Option<u64>,
) -> [Arm; 2] {
    let design = problem.design();
    let (n, d) = (problem.n() as f64, problem.d() as f64);
    let stored = design.stored().max(1) as f64;
    let order = problem.d() as u64 + 1;
    let by_rows = row_bytes(design, problem.strong_convexity()).filter(|_| l1 == 0.0);
    let bytes = match l1 {
        0.0 => by_rows.unwrap_or(order.saturating_mul(order).saturating_mul(16)),
        _ => Columns::bytes(design),
    };
    let affordable =
        problem.loss().twice_differentiable() && max_memory.is_none_or(|limit| bytes <= limit);
    // Products with the data and the Hessian, its factor, and what is made once for all steps.
    let (products, factor, once) = match by_rows {
        _ if l1 > 0.0 => (2.0, 0.0, 0.0),
        Some(_) => (2.0, row_costs(design).1 / stored, row_costs(design).0 / stored),
        None => (1.0 + full_hessian_cost(design), REGULAR * d * d * d / (6.0 * stored), 0.0),
    };
    // A quadratic loss is its own model.
    let steps = match () {
        () if problem.loss().quadratic() => 2.0,
        () if l1 > 0.0 => SPARSE_NEWTON_STEPS,
        () => NEWTON_STEPS,
    };
    // The margins of a step are half a pass.
    let beside = 0.5 + EVALUATIONS * n / stored;
    let open = |usable: bool, cost: f64| if usable { cost } else { f64::INFINITY };
    let newton = Arm {
        method: Method::Newton,
        cost: open(affordable, (products + beside + factor) * steps + once),
        passes: match l1 {
            0.0 => (products + factor / REGULAR) * steps + once,
            _ => 2.0 * SPARSE_NEWTON_STEPS * largest_model(problem),
        },
    };
    let drawn = sample_rows(problem.n(), problem.d() + 1, ROWS_PER_VARIABLE);
    let draws = affordable && l1 == 0.0 && problem.strong_convexity() > 0.0;
    let rows = drawn.filter(|_| draws);
    let share = rows.unwrap_or(n) / n;
    let gram = gram_cost((share * n) as usize + 1, problem.d(), share * stored) / stored;
    let passes = SUBSAMPLED_PASSES * decades(relative) / 6.0;
    let cost = passes * (1.0 + SUBSAMPLED_EVALUATIONS * n / stored)
        + SUBSAMPLED_HESSIANS * (gram + factor);
    let cost = open(rows.is_some(), cost);
    [newton, Arm { method: Method::SubsampledNewton, cost, passes: cost }]
}

/// How much more than its two products with the data a step of proximal Newton costs with the largest model that it writes down, of as
/// many columns as there are rows at most: its Gram matrix, and as much again for its minimiser.
fn largest_model<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> f64 {
    let (n, d) = (problem.n(), problem.d());
    let stored = problem.design().stored().max(1) as f64;
    let order = n.min(d);
    let gram = gram_cost(n, order, stored * order as f64 / d as f64) / stored;
    1.0 + gram.min(GRAM_PASSES)
}

/// Passes that L-BFGS is predicted to need without l1.
fn lbfgs_passes<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    beta: f64,
    relative: f64,
) -> f64 {
    if beta < BADLY_CONDITIONED || problem.n() as f64 >= 50.0 * problem.d() as f64 {
        return LBFGS_PASSES;
    }
    // Few rows a feature: a spectrum that falls slowly from a small largest value.
    let six_digits = match beta {
        b if b >= 2.0 => 16.0,
        b if b >= 0.1 => 40.0,
        _ => 80.0,
    };
    six_digits * decades(relative) / 6.0
}

/// `beta = n mu / mean L_i`
fn conditioning<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> f64 {
    let mean = problem.loss().curvature() * problem.mean_norm_squared();
    let mu = problem.strong_convexity();
    if mean > 0.0 { problem.n() as f64 * mu / mean } else { f64::INFINITY }
}

/// Passes that dual ascent is predicted to need.
fn dual_passes(beta: f64, relative: f64) -> f64 {
    decades(relative) / 6.0
        * match beta {
            b if b >= 2.0 => 6.0,
            b if b >= 0.1 => 13.0,
            b if b >= 0.005 => 30.0,
            b if b > 0.0 => 60.0 * (0.005 / b).sqrt(),
            // l1 alone: 20 to 59 on text and census data.
            _ => 60.0,
        }
}

fn decades(relative: f64) -> f64 {
    if relative > 0.0 { -relative.log10() } else { 12.0 }
}

/// What a pass of dual ascent costs, in batch passes.
fn pass_cost<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> f64 {
    match problem.design().stored().max(1) as f64 / problem.n() as f64 {
        entries if entries < 20.0 => 7.0,
        entries if entries < 36.0 => 3.5,
        _ => 1.5,
    }
}

/// Dual ascent for a kink, accelerated for a smooth loss, SAGA where the conjugate is not known.
fn without_second_derivatives<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    beta: f64,
) -> Result<(Method, Reason), Error> {
    let smooth = problem.loss().curvature().is_finite();
    let strong = problem.strong_convexity() > 0.0;
    Ok(match () {
        () if smooth && !L::HAS_DUAL => (Method::Saga, Reason::NoConjugate),
        () if !smooth && strong => (Method::Sdca, Reason::Kink),
        () if !smooth => return Err(Refusal::NeedsStrongConvexity { method: "auto" }.into()),
        () if !strong => (Method::Qning, Reason::NotStronglyConvex),
        () if beta < BADLY_CONDITIONED => (Method::Qning, Reason::BadlyConditioned),
        () => (Method::Catalyst, Reason::Dual),
    })
}

#[cfg(test)]
mod tests;
