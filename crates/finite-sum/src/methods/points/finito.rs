//! Finito.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::Refusal;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use super::table::{Plan, PointTable, PointTableState};
use crate::settings::settings;
use crate::{Error, Problem};

/// How the table of Finito is filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinitoStart {
    /// All terms at the starting point: costs one pass, and is what the theorems assume.
    #[default]
    Full,
    /// Terms are introduced when they are first visited, and averages run over the terms seen so far
    /// (thesis, section 3.3): looks at no term in advance, and avoids the overshoot of the first pass where the
    /// derivatives of the loss are bounded (logistic). For the squared loss the first steps are far too long.
    /// A warm start is always `Full`.
    FirstPass,
}

settings! {
    /// Settings of [`finito`](fn@finito).
    pub struct FinitoSettings {
        /// Inverse step, at least 1: the step is `1/(alpha mu n)`; `None` is `max(2, 2/beta)` with `beta = n mu / L`.
        alpha: Option<f64> = None,
        /// Visiting order: up to twice as fast as `Uniform`; `Cyclic` can diverge.
        order: Order = Order::Permuted,
        /// How the table is filled.
        start: FinitoStart = FinitoStart::Full,
        /// Largest size of the table of `n d` numbers, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// When to end, see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// Finito (Defazio's thesis, algorithm 3.1), for smooth losses with `l2 > 0`.
///
/// ```text
/// w = (1/n) sum_i phi_i - (1/(alpha mu n)) sum_i f_i'(phi_i),     phi_j <- w
/// ```
///
/// A step costs O(d) and the table holds `n d` numbers: for dense data of moderate size. Proved to
/// converge by the factor `1 - 1/(2n)` a step with `alpha = 2` when `n mu >= 2 L` (theorem 3.1); below, `alpha` must
/// grow as `mu` shrinks, and its default does. With `alpha = 1` the points cancel: that is
/// [`miso_mu`](crate::methods::miso_mu()), which keeps `n` numbers. Original paper: Defazio, Caetano and Domke, "Finito",
/// ICML 2014.
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::methods::{FinitoSettings, finito};
/// use fenchel_finite_sum::prelude::{AsDesign, Status};
/// use fenchel_finite_sum::Problem;
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 1.0)?;
/// let solution = finito(&problem, &FinitoSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// [`Error::Refused`] without strong convexity, without the memory before anything is allocated,
/// for a loss that is not smooth, an intercept or weighted draws;
/// [`Error::Invalid`] for settings out of range or a start of another shape.
pub fn finito<'p, 'a, D: Design, L: Loss, O: Observer<PointTable<'p, 'a, D, L>>>(
    problem: &'p Problem<'a, D, L, Zero>,
    settings: &FinitoSettings,
    start: Option<PointTableState>,
    observer: &mut O,
) -> Result<Solution<PointTableState>, Error> {
    let method = "finito";
    settings.stop.check()?;
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
    };
    let mut table = PointTable::new(problem, &plan, start)?;
    let report = run(&mut table, &settings.stop, observer)?;
    Ok(Solution { state: table.into_state(), report })
}
