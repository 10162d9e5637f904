//! SAGA.

use fenchel_linalg::Design;
use fenchel_optim::Refusal;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, StepSize, Stop};
use serde::{Deserialize, Serialize};

use super::kernel::Plan;
use super::table_method::{TableMethod, TablePlan, TableStart, TableState, solve};
use crate::methods::lag::Composite;
use crate::settings::settings;
use crate::{Error, Problem};

/// The steps for which SAGA is known to converge. With [`Order::Mixed`] the mean `Lbar` stands for `L`.
///
/// `1/(3 Lbar)` is twice what follows from uniform draws by rescaling; it is stable in mean square, and nothing
/// beyond it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SagaTheory {
    /// `1/(3L)`: whatever the strong convexity, it is made use of (theorems 4.6 and 4.8).
    #[default]
    Adaptive,
    /// `1/(2(mu n + L))`: the fastest rate proved, where every term is strongly convex (theorem 4.6).
    StronglyConvex,
    /// `1/(3(mu n + L))`: where only the mean of the terms is strongly convex (thesis, section 4.3).
    StronglyConvexOnAverage,
}

settings! {
    /// Settings of [`saga`](fn@saga).
    pub struct SagaSettings {
        /// Step size. `Theory` is what `theory` says; `Backtracking` is `1/(3 Lhat)` by the line search of SAG.
        step: StepSize = StepSize::Theory,
        /// Which of the three steps of the theory.
        theory: SagaTheory = SagaTheory::Adaptive,
        /// Which term is next. `Permuted` can be faster or slower, see the access-order experiment; `Mixed` is for a few
        /// rows much longer than the others.
        order: Order = Order::Uniform,
        /// How the table is filled before the first step.
        table: TableStart = TableStart::Full,
        /// Whether the mean of all points so far is certified too, and returned where it is better (thesis, remark 4.9);
        /// O(d) a step.
        average: bool = false,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// When to end, see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// What an observer of [`saga`](fn@saga) sees.
pub type Saga<'p, 'a, D, L, R> = TableMethod<'p, 'a, D, L, R>;

/// SAGA (Defazio's thesis, algorithm 4.1): composite, without tuning, for any smooth loss, strongly
/// convex or not.
///
/// A step costs O(nnz of the row), O(d) under a regulariser that ties coordinates together; memory is O(n + d). For terms that are strongly convex themselves (the l2
/// term folded into each) a Lyapunov function that bounds `||x - x*||^2` falls in expectation by the factor `1 - min(1/(4n), mu/(3L))` a step (theorem 4.6), and as O(1/k) without strong convexity
/// (theorem 4.8). Original paper: Defazio, Bach and Lacoste-Julien, "SAGA", NIPS 2014.
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::L1;
/// use fenchel_finite_sum::methods::{SagaSettings, saga};
/// use fenchel_finite_sum::prelude::{AsDesign, Status};
/// use fenchel_finite_sum::Problem;
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, L1 { strength: 0.01 }, 0.1)?;
/// let solution = saga(&problem, &SagaSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
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
    settings.stop.check()?;
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
        stop: &settings.stop,
    };
    solve(problem, plan, start, observer)
}

/// The step of the theory, from the largest smoothness and `mu n`.
pub(crate) fn saga_step(
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
