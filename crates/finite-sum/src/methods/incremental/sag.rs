//! SAG.

use fenchel_linalg::Design;
use fenchel_optim::Refusal;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, StepSize, Stop};
use serde::{Deserialize, Serialize};

use super::kernel::Plan;
use super::table_method::{TableMethod, TablePlan, TableStart, TableState, solve};
use crate::methods::lag::Composite;
use crate::{Error, Problem};

/// Settings of [`sag`](fn@sag).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `step` | `Theory` = `1/L` | the practical step; what is proved needs `Scaled(1.0 / 16.0)`; `Backtracking` searches for `1/Lhat` on the way, for O(1) a step |
/// | `order` | `Uniform` | anything else is slow at best: with these steps SAG diverges in cyclic order |
/// | `table` | `Full` | how the table is filled |
/// | `average` | false | also certifies the mean of all points so far, and returns the better; O(d) a step |
/// | `unproven_prox` | false | allows a regulariser, for which no convergence proof is known |
/// | `seed` | 0 | of the visiting order |
/// | `stop` | see [`Stop`] | when to end |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SagSettings {
    /// Step size.
    pub step: StepSize,
    /// Visiting order.
    pub order: Order,
    /// How the table is filled before the first step.
    pub table: TableStart,
    /// Whether the average of the points competes with the last.
    pub average: bool,
    /// Whether a regulariser with a proximal step is allowed.
    pub unproven_prox: bool,
    /// Seed of the visiting order.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for SagSettings {
    fn default() -> Self {
        SagSettings {
            step: StepSize::Theory,
            order: Order::Uniform,
            table: TableStart::Full,
            average: false,
            unproven_prox: false,
            seed: 0,
            stop: Stop::default(),
        }
    }
}

/// What an observer of [`sag`](fn@sag) sees.
pub type Sag<'p, 'a, D, L, R> = TableMethod<'p, 'a, D, L, R>;

/// SAG, the stochastic average gradient (Defazio's thesis, algorithm 2.2).
///
/// SAGA with a biased, less noisy gradient and steps three times as long. A step costs O(nnz of the
/// row), memory is O(n + d). In cyclic order, with a small step such as `Scaled(1.0 / n)`, it is the incremental
/// aggregated gradient method IAG (thesis, section 2.4; Blatt, Hero and Gauchman, 2007). Original paper: Schmidt, Le Roux and Bach, "Minimizing finite sums with
/// the stochastic average gradient", Mathematical Programming 162 (2017).
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::methods::{SagSettings, sag};
/// use fenchel_finite_sum::prelude::{AsDesign, Status};
/// use fenchel_finite_sum::Problem;
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
/// let solution = sag(&problem, &SagSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
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
    settings.stop.check()?;
    problem.check_smooth(method)?;
    if !R::IDENTITY && !settings.unproven_prox {
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
        stop: &settings.stop,
    };
    solve(problem, plan, start, observer)
}
