//! The probabilities by which dual methods draw terms.

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Regulariser, Separable};

use super::ascent::{Ascent, Move, importance_weights};
use super::state::DualState;
use crate::sampling::Sampling;
use crate::{Error, Problem};

/// Draws with probabilities proportional to `mu n + L_j`, `L_j` the smoothness of the loss of term `j`: the best fixed ones for
/// dual coordinate ascent, whose factor a step becomes `1 - mu/(mu n + mean L_j)` (thesis, theorem 3.4; Zhao and
/// Zhang, ICML 2015). For rows of equal length it is worse than the permuted order, which draws no term twice.
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth.
pub fn importance_order<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
) -> Result<Order, Error> {
    Sampling::Lipschitz.check_dual("importance sampling", problem)?;
    Ok(Order::Weighted(importance_weights(problem)))
}

/// The probabilities, up to a factor, by which the first term of a run of [`sdca`](fn@super::sdca) from this state is drawn;
/// `None` for an order. A pass.
///
/// # Errors
/// As [`sdca`](fn@super::sdca).
pub fn sampling_weights<D: Design, L: Loss, R: Separable>(
    problem: &Problem<'_, D, L, R>,
    sampling: &Sampling,
    state: DualState,
) -> Result<Option<Vec<f64>>, Error> {
    let mut ascent = Ascent::new("sdca", problem, 0.0, Move::Exact, sampling, 0, Some(state))?;
    Ok(match sampling {
        Sampling::Order(_) | Sampling::Mixed => None,
        Sampling::Lipschitz => Some(importance_weights(problem)),
        _ => Some(ascent.scores()),
    })
}
