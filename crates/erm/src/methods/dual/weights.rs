//! The probabilities with which dual methods draw terms.

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Separable};

use super::ascent::{Ascent, Move, importance_weights};
use super::state::DualState;
use crate::shared::check_whole;
use crate::{Error, Problem};

/// The probabilities, up to a factor, with which a run of [`sdca`](fn@super::sdca) from this state draws its first
/// term. It is `None` for the plain orders and for `Order::Weighted`. Cost: one pass.
///
/// # Errors
/// The errors of [`sdca`](fn@super::sdca).
pub fn draw_weights<D: Design, L: Loss, R: Separable>(
    problem: &Problem<'_, D, L, R>,
    order: &Order,
    state: DualState,
) -> Result<Option<Vec<f64>>, Error> {
    check_whole(problem.design())?;
    let mut ascent = Ascent::new("sdca", problem, 0.0, Move::Exact, order, 0, Some(state))?;
    Ok(match order {
        Order::Lipschitz => Some(importance_weights(problem)),
        order => (!order.is_given()).then(|| ascent.scores()),
    })
}
