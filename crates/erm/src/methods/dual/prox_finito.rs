//! Prox-Finito.

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Separable, Solution, Stop};

use super::ascent::{Ascent, Move};
use super::sdca::{Sdca, ascend};
use super::state::DualState;
use crate::{Error, Problem};
use fenchel_optim::settings;

settings! {
    /// Settings of [`prox_finito`](fn@prox_finito).
    pub struct ProxFinitoSettings {
        /// How terms are drawn.
        order: Order = Order::Permuted,
        /// Seed of the draws.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// Prox-Finito (A. Defazio, PhD thesis 2014, algorithm 3.3 and section 3.6.2), with uniform, Lipschitz or adaptive
/// sampling.
///
/// The thesis stores a point `phi_i` and a gradient per term, where the term is `f_i(x) = loss_i(a_i.x) +
/// (mu/2) ||x||^2`. It makes a proximal step on one term:
///
/// ```text
/// z = (1/(n-1)) sum_{i != j} phi_i - (1/eta) sum_{i != j} f_i'(phi_i),   eta = mu (n-1)
/// phi_j <- argmin f_j(x) + (eta/2) ||x - z||^2,   f_j'(phi_j) <- eta (z - phi_j)
/// ```
///
/// For a linear model, `f_i'(phi_i) - mu phi_i = s_i a_i`. So the points cancel, the numbers `s_i` are enough, and
/// the proximal step is the exact coordinate step of [`sdca`](super::sdca()). This method is therefore `sdca` with
/// the visiting order of the thesis. The thesis's lower bound of the objective, the `B` of theorem 3.17, is the dual
/// value of the certificate. Its suboptimality falls by the factor `1 - mu/(mu n + L)` per step. `L` is the largest
/// `L_i` for uniform draws, and their mean for the Lipschitz order (theorem 3.4, where `L_i` is the constant of the
/// loss without the l2 term).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// The errors of [`sdca`](super::sdca()).
pub fn prox_finito<'p, 'a, D: Design, L: Loss, R: Separable, O: Observer<Sdca<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &ProxFinitoSettings,
    start: Option<DualState>,
    observer: &mut O,
) -> Result<Solution<DualState>, Error> {
    let ProxFinitoSettings { order, seed, stop } = settings;
    let stop = &problem.stop(stop)?;
    let cold = start.is_none();
    let ascent = Ascent::new("prox_finito", problem, 0.0, Move::Exact, order, *seed, start)?;
    ascend(ascent, cold, stop, observer)
}
