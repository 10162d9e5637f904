//! Prox-Finito, and draws by Lipschitz constants.

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Regulariser, Separable, Solution, Stop};
use serde::{Deserialize, Serialize};

use super::ascent::{Ascent, Move};
use super::sdca::{Sdca, ascend};
use super::state::DualState;
use crate::{Error, Problem};

/// How [`prox_finito`](fn@prox_finito) draws terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Sampling {
    /// In a given order.
    Order(Order),
    /// With probabilities proportional to `mu n + L_j`, see [`importance_order`]: where rows are of very different
    /// length. Smooth losses only.
    Lipschitz,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling::Order(Order::Permuted)
    }
}

/// Settings of [`prox_finito`](fn@prox_finito).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `sampling` | permuted | how terms are drawn |
/// | `seed` | 0 | of the draws |
/// | `stop` | see [`Stop`] | when to end |
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProxFinitoSettings {
    /// How terms are drawn.
    pub sampling: Sampling,
    /// Seed of the draws.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

/// Prox-Finito (Defazio's thesis, algorithm 3.3 and section 3.6.2), with uniform or Lipschitz sampling.
///
/// The thesis keeps a point `phi_i` and a gradient a term, `f_i = phi_i(a_i.x) + (mu/2) ||x||^2`, and takes a proximal
/// step on one term:
///
/// ```text
/// z = (1/(n-1)) sum_{i != j} phi_i - (1/eta) sum_{i != j} f_i'(phi_i),   eta = mu (n-1)
/// phi_j <- argmin f_j(x) + (eta/2) ||x - z||^2,   f_j'(phi_j) <- eta (z - phi_j)
/// ```
///
/// For a linear model `f_i'(phi_i) - mu phi_i = s_i a_i`: the points cancel, the scalars `s_i` are enough, and the
/// proximal step is the exact coordinate step of [`sdca`](super::sdca()). So this is that method, with the thesis's
/// sampling; and its lower model of the objective, the `B` of theorem 3.17, is the dual value of the certificate.
/// The suboptimality of `B` falls by the factor `1 - mu/(mu n + L)` a step, with the largest `L_i` for uniform draws
/// and their mean for Lipschitz sampling (theorem 3.4; `L_i` of the loss alone).
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::{AsDesign, Problem, Status, ProxFinitoSettings, Sampling, prox_finito};
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
/// // Long rows more often.
/// let settings = ProxFinitoSettings { sampling: Sampling::Lipschitz, ..Default::default() };
/// let solution = prox_finito(&problem, &settings, None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// As [`sdca`](super::sdca()); [`Error::Unsupported`] for Lipschitz sampling of a loss that is not smooth.
pub fn prox_finito<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &ProxFinitoSettings,
    start: Option<DualState>,
    observer: &mut O,
) -> Result<Solution<DualState>, Error>
where
    D: Design,
    L: Loss,
    R: Separable,
    O: Observer<Sdca<'p, 'a, D, L, R>>,
{
    let ProxFinitoSettings { sampling, seed, stop } = settings;
    stop.check()?;
    let order = match sampling {
        Sampling::Order(order) => order,
        Sampling::Lipschitz => &importance_order(problem)?,
    };
    let cold = start.is_none();
    let (ascent, _) = Ascent::new("prox_finito", problem, 0.0, Move::Exact, order, *seed, start)?;
    ascend(ascent, cold, stop, observer)
}

/// Draws with probabilities proportional to `mu n + L_j`, `L_j` the smoothness of the loss of term `j`: the best for
/// dual coordinate ascent, whose factor a step becomes `1 - mu/(mu n + mean L_j)` (thesis, theorem 3.4; Zhao and
/// Zhang, ICML 2015). For rows of equal length it is worse than the permuted order, which draws no term twice.
///
/// # Errors
/// [`Error::Unsupported`] for a loss that is not smooth.
pub fn importance_order<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
) -> Result<Order, Error> {
    problem.check_smooth("importance sampling")?;
    let floor = problem.strong_convexity() * problem.n() as f64;
    Ok(Order::Weighted((0..problem.n()).map(|j| floor + problem.term_smoothness(j)).collect()))
}
