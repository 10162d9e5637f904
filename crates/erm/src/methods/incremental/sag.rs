//! The stochastic average gradient method (SAG).

use fenchel_linalg::Design;
use fenchel_optim::Refusal;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, StepSize, Stop};

use super::kernel::Plan;
use super::table_method::{TableMethod, TablePlan, TableStart, TableState, solve};
use crate::methods::lag::Composite;
use crate::{Error, Problem};
use fenchel_optim::settings;

settings! {
    /// Settings of [`sag`](fn@sag).
    pub struct SagSettings {
        /// Step size. `Theory` is `1/L`, which works in practice. The convergence proof needs `Scaled(1.0 / 16.0)`.
        /// `Backtracking` estimates `L` during the run and uses `1/Lhat`, at an additional cost of O(1) per step.
        step: StepSize = StepSize::Theory,
        /// Visiting order. Orders other than `Uniform` are slow at best. In cyclic order, SAG diverges with these
        /// steps.
        order: Order = Order::Uniform,
        /// The initial contents of the table of derivatives.
        table: TableStart = TableStart::Full,
        /// Whether to certify also the mean of all points so far, and to return it if its certificate is better. It
        /// costs O(d) per step.
        average: bool = false,
        /// Whether to allow a regulariser. No convergence proof is known for SAG with one.
        unproven_prox: bool = false,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// The running method, as an observer of [`sag`](fn@sag) receives it.
pub type Sag<'p, 'a, D, L, R> = TableMethod<'p, 'a, D, L, R>;

/// SAG, the stochastic average gradient method (A. Defazio, PhD thesis 2014, algorithm 2.2).
///
/// Compared with SAGA, its gradient is biased but has less variance, and its steps are three times as long. A step
/// costs O(nnz of the row), and the memory is O(n + d). In cyclic order with a small step such as `Scaled(1.0 / n)`,
/// it is the incremental aggregated gradient method IAG (section 2.4 of the thesis; Blatt, Hero and Gauchman, 2007).
/// Original paper: Schmidt, Le Roux and Bach, "Minimizing finite sums with the stochastic average gradient",
/// Mathematical Programming 162 (2017).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth, weighted draws, or a regulariser without
/// `unproven_prox`; [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn sag<'p, 'a, D: Design, L: Loss, R: Composite, O: Observer<Sag<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SagSettings,
    start: Option<TableState>,
    observer: &mut O,
) -> Result<Solution<TableState>, Error> {
    let method = "sag";
    let stop = problem.stop(&settings.stop)?;
    problem.check_smooth(method)?;
    if !problem.regulariser().is_zero() && !settings.unproven_prox {
        let what = format!(
            "the {} regulariser with a proof; use saga, or set unproven_prox to try",
            R::NAME
        );
        return Err(Refusal::unsupported(method, what).into());
    }
    let theory = 1.0 / problem.smoothness();
    settings.order.check_plain(method)?;
    let order = settings.order.clone();
    let plan = TablePlan {
        plan: Plan::new(method, settings.step, theory, Some(1.0), order, settings.seed)?,
        weight: 1.0 / problem.n() as f64,
        table: settings.table,
        average: settings.average,
        stop: &stop,
    };
    solve(problem, plan, start, observer)
}
