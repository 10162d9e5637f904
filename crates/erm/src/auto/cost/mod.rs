//! The table of methods: which problems each can solve, how many passes it will need, and what a pass costs.
//!
//! The constants were measured on web pages, census, text, engine and generated data. They count passes to a relative gap of 1e-6,
//! certificates included. A batch pass is a product with the data and one with its transpose.

use fenchel_linalg::Design;
use fenchel_optim::{Loss, Refusal, Regulariser};

use super::case::{BADLY_CONDITIONED, Case, Kind};
use super::choice::{Arm, Choice, Method};
use super::guarded::offers_trial;
use crate::methods::hessian::{REGULAR, gram_cost};
use crate::methods::newton::GRAM_PASSES;
use crate::{Error, Problem};

/// Passes of L-BFGS without l2, or for a badly conditioned dual: 31 to 405 were measured. See [`steepness`].
const LBFGS_PASSES: f64 = 400.0;
/// Passes of Newton-CG for a badly conditioned dual: 45 to 283 on four data sets at `beta = 0.004`. See [`steepness`].
const NEWTON_CG_PASSES: f64 = 150.0;
/// Passes of Newton-CG over passes of L-BFGS, where `beta` is larger: 0.4 to 2.0 on thirteen problems, 1.3 in the median.
const NEWTON_CG_SHARE: f64 = 1.3;
/// The same ratio for a quadratic loss, which takes one linear system: 7/37 and 7/46 on ratings, 13/15 and 41/55 on text.
const ONE_SYSTEM: f64 = 0.5;
/// Vectors of `d` numbers that a step of L-BFGS reads or writes: two loops over ten pairs.
const LBFGS_VECTORS: f64 = 52.0;
/// Vectors that a step of conjugate gradients reads or writes.
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
/// Passes of Newton-CG for a loss without a curvature bound, where rows outnumber features: 17 to 97 on four sets of counts.
const COUNTS_CG: f64 = 50.0;
/// The same where features outnumber rows, for `beta = 1`: 59 to 103 on three sets of counts. It grows like `beta^(-1/3)`.
const COUNTS_CG_WIDE: f64 = 80.0;
/// Passes of SDCA on such data, which grow alike: 6 to 17 on the three sets for `beta = 1`.
const COUNTS_DUAL_WIDE: f64 = 17.0;
/// SDCA needs 5 passes and this number over `beta` for a loss without a curvature bound: 32 to 140 on four sets of counts.
const COUNTS_DUAL: f64 = 45.0;
/// The cost of an exact dual step of such a loss, in entries of a batch pass: a logarithm and Wright's omega function. A pass cost 2.7
/// batch passes with 43 entries in a row, and 20 with 6.
const EXACT_STEP: f64 = 60.0;

/// Passes of SDCA on dense data with fewer rows than columns and orthogonal rows, whatever l2 is. Each unit of overlap between the rows
/// adds as many. 6 to 16, 28 to 37, 64 to 80 and above 470 were measured at overlaps of 0.1 to 7, 1, 4 and 31.
const WIDE_DUAL: f64 = 6.0;

/// A row of the table.
struct Entry {
    method: Method,
    /// Whether the method can solve the problem.
    open: fn(&Case) -> bool,
    /// Whether it may run first. Otherwise it can only take over.
    leads: fn(&Case) -> bool,
    /// The predicted number of its passes, as it counts them itself. It is infinite where nothing is known.
    passes: fn(&Case) -> f64,
    /// The cost of one of its passes, in batch passes.
    pass: fn(&Case) -> f64,
}

const TABLE: [Entry; 10] = [
    Entry {
        method: Method::Newton,
        open: |c| c.newton && (c.affordable || c.by_working_sets()) && !c.by_columns(),
        leads: |c| c.l1 == 0.0 || c.by_working_sets(),
        passes: newton_passes,
        pass: |c| newton_cost(c) / newton_passes(c),
    },
    Entry {
        method: Method::CoordinateDescent,
        open: Case::by_columns,
        leads: |_| true,
        passes: |c| INDICATOR_SWEEPS * c.digits,
        pass: |_| 1.0,
    },
    Entry {
        method: Method::SubsampledNewton,
        open: |c| c.plain() && c.smooth && c.affordable && c.mu > 0.0 && c.drawn.is_some(),
        leads: |_| true,
        passes: subsampled_passes,
        pass: |_| 1.0,
    },
    Entry {
        method: Method::Sdca,
        open: |c| c.has_dual && (!c.smooth || c.wide()) && c.mu > 0.0 && !c.joint(),
        leads: |c| !c.by_working_sets(),
        passes: dual_passes,
        pass: |_| 1.0,
    },
    Entry {
        method: Method::Catalyst,
        open: |c| {
            c.accelerates() && c.mu > 0.0 && (c.beta >= BADLY_CONDITIONED || c.newton && c.l1 > 0.0)
        },
        leads: |c| !c.by_working_sets(),
        passes: dual_passes,
        pass: |_| 1.0,
    },
    Entry {
        method: Method::Qning,
        open: |c| {
            c.accelerates() && !c.plain() && (c.mu == 0.0 || !c.newton && c.badly_conditioned())
        },
        leads: |c| !c.by_working_sets(),
        passes: dual_passes,
        pass: |_| 1.0,
    },
    Entry {
        method: Method::Lbfgs,
        open: |c| c.plain() && c.smooth,
        leads: |_| true,
        passes: lbfgs_passes,
        pass: |c| 1.0 + LBFGS_VECTORS * vector(c),
    },
    Entry {
        method: Method::NewtonCg,
        open: |c| c.plain() && (c.mu > 0.0 || c.unbounded),
        leads: |_| true,
        passes: newton_cg_passes,
        pass: |c| 1.0 + CG_VECTORS * vector(c),
    },
    Entry {
        method: Method::Saga,
        open: |c| c.smooth && !c.has_dual && !c.joint() && !c.few_rows(),
        leads: |_| true,
        passes: |_| f64::INFINITY,
        pass: |_| 1.0,
    },
    Entry {
        method: Method::Fista,
        open: |c| c.joint() || c.few_rows(),
        leads: |_| true,
        passes: |_| f64::INFINITY,
        pass: |_| 1.0,
    },
];

impl Choice {
    /// The cheapest of the methods that may be the first, and the next of those that are open to take over.
    ///
    /// # Errors
    /// [`Error::Refused`] without l2, for a loss with a kink, or without a curvature bound under bounds or weights of their own.
    pub(super) fn of<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        kind: Kind,
        relative: f64,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let case = &Case::of(problem, kind, relative, max_memory);
        let open: Vec<&Entry> = TABLE.iter().filter(|entry| (entry.open)(case)).collect();
        let arm = |entry: &&Entry| {
            let passes = (entry.passes)(case);
            Arm { method: entry.method, cost: passes * (entry.pass)(case), passes }
        };
        let leads = open.iter().filter(|entry| (entry.leads)(case)).map(arm);
        let Some(first) = leads.min_by(|a, b| a.cost.total_cmp(&b.cost)) else {
            return Err(Refusal::NeedsStrongConvexity { method: "auto" }.into());
        };
        let arms: Vec<Arm> = open.iter().map(arm).collect();
        let choice = Choice::of_arms(first.method, &arms, case.reason(first.method));
        let second = choice.second.filter(|_| matches!(kind, Kind::ElasticNet { .. }));
        // Where Gram matrices are dear, a few gradients tell whether they are needed.
        let tried =
            first.method == Method::Newton && case.plain() && case.smooth && !case.quadratic;
        let tried = tried && offers_trial(problem.design());
        let trial = Some(first.cost).filter(|cost| tried && *cost >= TRIAL);
        Ok(Choice { beta: case.beta, second, trial, ..choice })
    }
}

/// What a vector of weights costs, in batch passes: an entry is two operations of a pass.
fn vector(c: &Case) -> f64 {
    0.5 * REGULAR * c.d / c.stored
}

/// Products with the data and the Hessian in a step of Newton's method, the factor of a matrix, and what is made once for all steps.
fn newton_parts(c: &Case) -> (f64, f64, f64) {
    match c.by_rows {
        _ if c.l1 > 0.0 => (2.0, 0.0, 0.0),
        Some((once, step)) => (2.0, step / c.stored, once / c.stored),
        None => {
            let hessian = gram_cost(c.n as usize, c.d as usize, c.stored) / c.stored;
            (1.0 + hessian, REGULAR * c.d * c.d * c.d / (6.0 * c.stored), 0.0)
        }
    }
}

fn newton_steps(c: &Case) -> f64 {
    match () {
        () if c.l1 > 0.0 => SPARSE_NEWTON_STEPS,
        // A quadratic loss is its own model.
        () if c.quadratic => 1.0,
        () => NEWTON_STEPS,
    }
}

/// The margins of a step are half a pass.
fn newton_cost(c: &Case) -> f64 {
    let (products, factor, once) = newton_parts(c);
    (products + 0.5 + EVALUATIONS * c.n / c.stored + factor) * newton_steps(c) + once
}

/// With l1 a step is its two products with the data, and the largest model that it writes down, of as many columns as there are rows at
/// most: its Gram matrix, and as much again for its minimiser.
fn newton_passes(c: &Case) -> f64 {
    if c.l1 > 0.0 {
        let order = c.n.min(c.d);
        let gram = gram_cost(c.n as usize, order as usize, c.stored * order / c.d) / c.stored;
        return 2.0 * SPARSE_NEWTON_STEPS * (1.0 + gram.min(GRAM_PASSES));
    }
    let (products, factor, once) = newton_parts(c);
    (products + factor / REGULAR) * newton_steps(c) + once
}

/// Passes, and Hessians of the rows that are drawn.
fn subsampled_passes(c: &Case) -> f64 {
    let share = c.drawn.unwrap_or(1.0);
    let gram = gram_cost((share * c.n) as usize + 1, c.d as usize, share * c.stored) / c.stored;
    let evaluations = SUBSAMPLED_EVALUATIONS * c.n / c.stored;
    SUBSAMPLED_PASSES * c.digits * (1.0 + evaluations)
        + SUBSAMPLED_HESSIANS * (gram + newton_parts(c).1)
}

/// The largest growth by [`steepness`] that was measured: 1,969 passes of Newton-CG.
const STEEPEST: f64 = 13.0;

/// By how much the passes of batch methods grow on a quadratic loss with a badly conditioned dual: as `1 / sqrt(beta)`, like the bound
/// `k <= sqrt(1 + 1 / beta) ln(2 / eps) / 2` of the steps of conjugate gradients, which end after `min(n, d)` steps at most, up to rounding. On
/// dense data with about as many rows as columns, the choice that follows took 0.20 to 1.07 times as long as that of constants, 0.64 in the
/// median of twelve problems (without the limits). Other losses are flat where the margins are large: there the same rule took up to 2.6 times as
/// long, twice or so on four of nine problems.
fn steepness(c: &Case) -> f64 {
    if !c.quadratic {
        return 1.0;
    }
    let most = STEEPEST.min(c.n.min(c.d) / NEWTON_CG_PASSES).max(1.0);
    (BADLY_CONDITIONED / c.beta).sqrt().clamp(1.0, most)
}

/// Few rows a feature have a spectrum that falls slowly from a small largest value: 12 to 19, 22 to 44 and 37 to 100 passes were
/// measured.
fn lbfgs_passes(c: &Case) -> f64 {
    match c.beta {
        b if b < BADLY_CONDITIONED => LBFGS_PASSES * steepness(c),
        b if b >= 2.0 => (if c.tall() { 40.0 } else { 16.0 }) * c.digits,
        b if b >= 0.1 => (if c.tall() { 100.0 } else { 40.0 }) * c.digits,
        _ => (if c.tall() { 200.0 } else { 80.0 }) * c.digits,
    }
}

fn newton_cg_passes(c: &Case) -> f64 {
    match () {
        () if c.unbounded && c.n >= c.d => COUNTS_CG * c.digits,
        () if c.unbounded && c.mu > 0.0 => COUNTS_CG_WIDE / c.beta.cbrt() * c.digits,
        () if c.unbounded => LBFGS_PASSES,
        () if c.beta < BADLY_CONDITIONED => NEWTON_CG_PASSES * steepness(c),
        () if c.tall() && !c.quadratic => (if c.beta >= 2.0 { 40.0 } else { 60.0 }) * c.digits,
        () if c.quadratic => ONE_SYSTEM * lbfgs_passes(c),
        () => NEWTON_CG_SHARE * lbfgs_passes(c),
    }
}

/// Dual ascent, in batch passes: where rows are short, the passes and their price are both rough. Accelerated it took 6, 13, 30 passes for
/// `beta >= 2, 0.1, 0.005`, growing like `1 / sqrt(beta)` from 60 below, and 20 to 59 with l1 alone, on text and census data. One of
/// them cost 4 to 9 batch passes at 12 entries a row, 2.5 to 3.5 at 30, 1.6 at 44, for its exponentials and for visiting rows in
/// random order.
fn dual_passes(c: &Case) -> f64 {
    let entries = c.stored / c.n;
    let pass = match entries {
        _ if c.unbounded => 1.5 + EXACT_STEP / entries,
        _ if c.wide() => 1.5,
        e if e < 20.0 => 7.0,
        e if e < 36.0 => 3.5,
        _ => 1.5,
    };
    let passes = match c.beta {
        b if c.unbounded && c.n >= c.d => 5.0 + COUNTS_DUAL / b,
        b if c.unbounded => 5.0 + (COUNTS_DUAL / b).min(COUNTS_DUAL_WIDE / b.cbrt()),
        b if b >= 2.0 => 6.0,
        _ if c.wide() => WIDE_DUAL * (1.0 + c.overlap),
        b if b >= 0.1 => 13.0,
        b if b >= 0.005 => 30.0,
        b if b > 0.0 => 60.0 * (0.005 / b).sqrt(),
        _ => 60.0,
    };
    pass * passes * c.digits
}

#[cfg(test)]
mod tests;
