//! The incremental method MISO.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Solution, Stop, run};

use super::table::{Plan, PointTable, PointTableState};
use crate::{Error, Problem};
use fenchel_optim::settings;

settings! {
    /// Settings of [`miso`](fn@miso).
    pub struct MisoSettings {
        /// Curvature of the upper bounds. The default `None` is `L`, the smallest value for which they are bounds.
        smoothness: Option<f64> = None,
        /// Visiting order. The method converges about equally fast in all orders.
        order: Order = Order::Permuted,
        /// Largest size of the table of `n d` numbers, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// MISO with quadratic upper bounds (A. Defazio, PhD thesis 2014, section 3.4), for smooth losses and `l2 >= 0`.
///
/// Every term is bounded above by a parabola of curvature `L`, which touches the term at its stored point `phi_i`.
/// The point `w` minimises the mean of the bounds:
///
/// ```text
/// w = (1/n) sum_i phi_i - (1/(L n)) sum_i f_i'(phi_i),     phi_j <- w
/// ```
///
/// This is Finito with `alpha = L / mu`. It is as safe as gradient descent, in any order and without strong
/// convexity, and about as slow. The length of the remaining path to the minimum falls by the factor `1 - mu/((mu +
/// L) n)` per step (theorem 5.5). It is included as a baseline, and for visiting orders that cannot be chosen. With
/// `l2 > 0`, [`miso_mu`](crate::methods::miso_mu()) is faster. Original paper: Mairal, "Incremental
/// majorization-minimization optimization", SIAM Journal on Optimization 25 (2015).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth, an intercept, or too little memory, before anything is allocated;
/// [`Error::Invalid`] for settings out of range or a start of another shape.
pub fn miso<'p, 'a, D: Design, L: Loss, O: Observer<PointTable<'p, 'a, D, L>>>(
    problem: &'p Problem<'a, D, L, Zero>,
    settings: &MisoSettings,
    start: Option<PointTableState>,
    observer: &mut O,
) -> Result<Solution<PointTableState>, Error> {
    let method = "miso";
    let stop = problem.stop(&settings.stop)?;
    problem.check_smooth(method)?;
    // All rows 0 and no l2: every bound is flat, and any curvature will do.
    let own = Some(problem.smoothness()).filter(|l| *l > 0.0).unwrap_or(1.0);
    let inverse_step = settings.smoothness.unwrap_or(own);
    Invalid::check_positive("smoothness", inverse_step)?;
    let plan = Plan {
        method,
        inverse_step,
        order: &settings.order,
        seed: settings.seed,
        max_memory: settings.max_memory,
        fill: true,
        gradients: false,
    };
    let mut table = PointTable::new(problem, &plan, start)?;
    let report = run(&mut table, &stop, observer)?;
    let report = problem.judged(report, table.point());
    Ok(Solution { state: table.into_state(), report })
}
