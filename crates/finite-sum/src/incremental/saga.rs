//! SAGA.

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, StepSize, Stop};
use serde::{Deserialize, Serialize};

use super::table_method::{Plan, TableMethod, TableStart, TableState, solve};
use crate::lag::Lagged;
use crate::{Error, Problem};

/// Settings of [`saga`](fn@saga).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `step` | `Theory` = `1/(3L)` | adapts to strong convexity by itself; `1/(2(mu n + L))` if `mu` is known |
/// | `order` | `Uniform` | `Permuted` can be faster or slower; see the access-order experiment |
/// | `table` | `Full` | how the table is filled |
/// | `seed` | 0 | of the visiting order |
/// | `stop` | see [`Stop`] | when to end |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SagaSettings {
    /// Step size.
    pub step: StepSize,
    /// Visiting order.
    pub order: Order,
    /// How the table is filled before the first step.
    pub table: TableStart,
    /// Seed of the visiting order.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for SagaSettings {
    fn default() -> Self {
        SagaSettings {
            step: StepSize::Theory,
            order: Order::Uniform,
            table: TableStart::Full,
            seed: 0,
            stop: Stop::default(),
        }
    }
}

/// What an observer of [`saga`](fn@saga) sees.
pub type Saga<'p, 'a, D, L, R> = TableMethod<'p, 'a, D, L, R>;

/// SAGA (Defazio's thesis, algorithm 4.1): composite, without tuning, for any smooth loss, strongly
/// convex or not.
///
/// A step costs O(nnz of the row), memory is O(n + d). For terms that are strongly convex themselves (the l2
/// term folded into each) a Lyapunov function that bounds `||x - x*||^2` falls in expectation by the factor `1 - min(1/(4n), mu/(3L))` a step (theorem 4.6), and as O(1/k) without strong convexity
/// (theorem 4.8). Original paper: Defazio, Bach and Lacoste-Julien, "SAGA", NIPS 2014.
///
/// # Errors
/// [`Error::Unsupported`] for a loss that is not smooth or weighted draws; [`Error::Invalid`] for a
/// start of another shape or settings out of range.
pub fn saga<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SagaSettings,
    start: Option<TableState>,
    observer: &mut O,
) -> Result<Solution<TableState>, Error>
where
    D: Design,
    L: Loss,
    R: Lagged,
    O: Observer<Saga<'p, 'a, D, L, R>>,
{
    settings.stop.check()?;
    problem.check_smooth("saga")?;
    let plan = Plan {
        method: "saga",
        weight: 1.0,
        step: settings.step.resolve(1.0 / (3.0 * problem.smoothness()))?,
        order: &settings.order,
        table: settings.table,
        seed: settings.seed,
        stop: &settings.stop,
    };
    solve(problem, plan, start, observer)
}
