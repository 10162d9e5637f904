//! The incremental method Finito.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::Refusal;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use super::table::{Plan, PointTable, PointTableState};
use crate::{Error, Problem};
use fenchel_optim::settings;

/// The initialisation of Finito's table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinitoStart {
    /// The stored point of every term is the starting point. This costs one pass, and is what the theorems assume.
    #[default]
    Full,
    /// A term enters the table at its first visit, and averages are over the terms visited so far (A. Defazio, PhD
    /// thesis 2014, section 3.3). No term is evaluated in advance. If the derivatives of the loss are bounded
    /// (logistic), this avoids the overshoot of the first pass. For the squared loss the first steps are far too
    /// long. A warm start always uses `Full`.
    FirstPass,
}

/// What Finito's table contains: one vector of `d` numbers per term in both cases, and the same
/// iterates in exact arithmetic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinitoStorage {
    /// `p_i = f_i'(phi_i) - alpha mu phi_i` (A. Defazio, PhD thesis 2014, section 3.1.3). The cheapest step. A start
    /// with another `alpha` has to fill the table again, which costs a pass.
    #[default]
    Combined,
    /// The gradients `f_i'(phi_i)`. The stored point of a visited term is computed from its gradient, by `phi_i =
    /// f_i*'(f_i'(phi_i))` (the same section), which costs one [`dual_step`](Loss::dual_step) and O(d). The table does
    /// not depend on `alpha`, so that a run with another `alpha` can go on from it. A stored point is a quotient by `l2`,
    /// and loses digits where rows are very large or `l2` is very small; use `Combined` there.
    Gradients,
}

settings! {
    /// Settings of [`finito`](fn@finito).
    pub struct FinitoSettings {
        /// The inverse step, at least 1: the step is `1/(alpha mu n)`. The default `None` is `max(2, 2/beta)` with
        /// `beta = n mu / L`.
        alpha: Option<f64> = None,
        /// Visiting order. `Permuted` is up to twice as fast as `Uniform`. `Cyclic` can diverge.
        order: Order = Order::Permuted,
        /// The initialisation of the table.
        start: FinitoStart = FinitoStart::Full,
        /// What the table contains.
        storage: FinitoStorage = FinitoStorage::Combined,
        /// Largest size of the table of `n d` numbers, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// Finito (A. Defazio, PhD thesis 2014, algorithm 3.1), for smooth losses with `l2 > 0`.
///
/// ```text
/// w = (1/n) sum_i phi_i - (1/(alpha mu n)) sum_i f_i'(phi_i),     phi_j <- w
/// ```
///
/// `phi_i` is the stored point of term `i`. A step costs O(d) and the table contains `n d` numbers, so that the
/// method is for dense data of moderate size. With `alpha = 2` and `n mu >= 2 L`, it converges by the factor `1 -
/// 1/(2n)` per step (theorem 3.1). For smaller `mu`, `alpha` must increase as `mu` decreases, and its default does.
/// With `alpha = 1` the points cancel, which is the method [`miso_mu`](crate::methods::miso_mu()) with `n` stored
/// numbers. Original paper: Defazio, Caetano and Domke, "Finito", ICML 2014.
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] without strong convexity, for a loss that is not smooth, an intercept or weighted draws, or if
/// the table needs too much memory, before it is allocated; [`Error::Invalid`] for settings out of range or a start
/// of another shape.
pub fn finito<'p, 'a, D: Design, L: Loss, O: Observer<PointTable<'p, 'a, D, L>>>(
    problem: &'p Problem<'a, D, L, Zero>,
    settings: &FinitoSettings,
    start: Option<PointTableState>,
    observer: &mut O,
) -> Result<Solution<PointTableState>, Error> {
    let method = "finito";
    let stop = problem.stop(&settings.stop)?;
    problem.check_smooth(method)?;
    let mu = problem.l2();
    if mu == 0.0 {
        return Err(Refusal::NeedsStrongConvexity { method }.into());
    }
    let alpha = settings.alpha.unwrap_or_else(|| f64::max(2.0, 2.0 / problem.big_data_beta()));
    if !(alpha >= 1.0 && alpha.is_finite()) {
        let (name, value) = ("alpha", alpha);
        return Err(Invalid::Parameter { name, value, expected: "a finite number >= 1" }.into());
    }
    settings.order.check_plain(method)?;
    let plan = Plan {
        method,
        inverse_step: alpha * mu,
        order: &settings.order,
        seed: settings.seed,
        max_memory: settings.max_memory,
        fill: settings.start == FinitoStart::Full,
        gradients: settings.storage == FinitoStorage::Gradients,
    };
    let mut table = PointTable::new(problem, &plan, start)?;
    let report = run(&mut table, &stop, observer)?;
    let report = problem.judged(report, table.point());
    Ok(Solution { state: table.into_state(), report })
}
