//! The incremental gradient method SAGA.

use fenchel_linalg::Design;
use fenchel_optim::Refusal;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, StepSize, Stop};
use serde::{Deserialize, Serialize};

use super::kernel::Plan;
use super::table_method::{TableMethod, TablePlan, TableStart, TableState, solve};
use crate::methods::lag::Composite;
use crate::{Error, Problem};
use fenchel_optim::settings;

/// The step sizes for which SAGA is known to converge. `L` is the largest smoothness of a term, and `mu` the strong
/// convexity. With [`Order::Mixed`], the mean smoothness `Lbar` takes the place of `L`.
///
/// The step `1/(3 Lbar)` is twice what the proof for uniform draws gives after rescaling. It is stable in mean
/// square, and larger steps are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SagaTheory {
    /// `1/(3L)`. It does not depend on `mu`, but converges faster if the problem is strongly convex (theorems 4.6 and
    /// 4.8 of Defazio's PhD thesis 2014).
    #[default]
    Adaptive,
    /// `1/(2(mu n + L))`, with the best proved rate. It requires that every term is strongly convex (theorem 4.6).
    StronglyConvex,
    /// `1/(3(mu n + L))`. It requires only that the mean of the terms is strongly convex (section 4.3 of the thesis).
    StronglyConvexOnAverage,
}

settings! {
    /// Settings of [`saga`](fn@saga).
    pub struct SagaSettings {
        /// Step size. `Theory` is the step that `theory` names. `Backtracking` is `1/(3 Lhat)`, with the line search
        /// of SAG.
        step: StepSize = StepSize::Theory,
        /// The step size of the theory.
        theory: SagaTheory = SagaTheory::Adaptive,
        /// Visiting order of the terms. `Permuted` can be faster or slower than `Uniform`, as the access-order
        /// experiment shows. `Mixed` is for data with a few rows that are much longer than the others.
        order: Order = Order::Uniform,
        /// The initial contents of the table of derivatives.
        table: TableStart = TableStart::Full,
        /// Whether to certify also the mean of all points so far (A. Defazio, PhD thesis 2014, remark 4.9), and to
        /// return it if its certificate is better. It costs O(d) per step.
        average: bool = false,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// The running method, as an observer of [`saga`](fn@saga) receives it.
pub type Saga<'p, 'a, D, L, R> = TableMethod<'p, 'a, D, L, R>;

/// SAGA (A. Defazio, PhD thesis 2014, algorithm 4.1). It is a proximal method for any smooth loss, strongly convex or
/// not, and needs no tuning.
///
/// A step costs O(nnz of the row), or O(d) with a regulariser that is not separable. The memory is O(n + d). If every
/// term is strongly convex (with the l2 term a part of each), a Lyapunov function that bounds `||x - x*||^2` falls in
/// expectation by the factor `1 - min(1/(4n), mu/(3L))` per step (theorem 4.6 of the thesis). Without strong
/// convexity the rate is O(1/k) after `k` steps (theorem 4.8). Original paper: Defazio, Bach and Lacoste-Julien,
/// "SAGA", NIPS 2014.
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth or weighted draws; [`Error::Invalid`] for a
/// start of another shape or settings out of range.
pub fn saga<'p, 'a, D: Design, L: Loss, R: Composite, O: Observer<Saga<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SagaSettings,
    start: Option<TableState>,
    observer: &mut O,
) -> Result<Solution<TableState>, Error> {
    let method = "saga";
    let SagaSettings { step, order, seed, .. } = settings;
    let stop = problem.stop(&settings.stop)?;
    problem.check_smooth(method)?;
    if *order == Order::Lipschitz {
        let what = "the Lipschitz order, under which its table goes stale; use Order::Mixed";
        return Err(Refusal::unsupported(method, what).into());
    }
    if *order == Order::Mixed && *step == StepSize::Backtracking {
        let what = "a line search in mixed order; use a plain one";
        return Err(Refusal::unsupported(method, what).into());
    }
    let largest = match order {
        Order::Mixed => problem.mean_smoothness(),
        _ => problem.smoothness(),
    };
    let (mu, n) = (problem.strong_convexity(), problem.n() as f64);
    let theory = saga_step(method, settings.theory, largest, mu * n)?;
    let plan = Plan::new(method, *step, theory, Some(3.0), order.clone(), *seed)?;
    let plan = TablePlan {
        plan,
        weight: 1.0,
        table: settings.table,
        average: settings.average,
        stop: &stop,
    };
    solve(problem, plan, start, observer)
}

/// The step size of the theory, computed from the largest smoothness and `mu n`.
///
/// # Errors
/// [`Error::Refused`] where the theory needs strong convexity and there is none.
pub fn saga_step(
    method: &'static str,
    theory: SagaTheory,
    largest: f64,
    strong: f64,
) -> Result<f64, Error> {
    match theory {
        SagaTheory::Adaptive => Ok(1.0 / (3.0 * largest)),
        _ if !(strong > 0.0) => Err(Refusal::NeedsStrongConvexity { method }.into()),
        SagaTheory::StronglyConvex => Ok(1.0 / (2.0 * (strong + largest))),
        SagaTheory::StronglyConvexOnAverage => Ok(1.0 / (3.0 * (strong + largest))),
    }
}
