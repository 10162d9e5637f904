//! SDCA with one distribution per term, and Catalyst, which accelerates it.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::random::Order;
use fenchel_optim::{Observer, Separable, Solution, Stop, run};

use super::ascent::MulticlassAscent;
use super::problem::{CURVATURE, MulticlassProblem};
use super::state::MulticlassState;
use super::step::SoftmaxStep;
use crate::Error;
use crate::methods::dual::default_centre;
use fenchel_optim::settings;

settings! {
    /// Settings of [`sdca`] and [`catalyst`].
    pub struct MulticlassSettings {
        /// Weight of Catalyst's proximal centre. With 0 there is no centre. The default `None` is `mean L_i / n -
        /// mu`. `sdca` does not use it.
        kappa: Option<f64> = None,
        /// The length of a distribution's step.
        step: SoftmaxStep = SoftmaxStep::Exact,
        /// Visiting order of the terms. In the documentation of [`order`](crate::methods::order), `d_i` is here the
        /// Euclidean distance from `softmax(z_i)`, and `g_i` the Kullback-Leibler divergence.
        order: Order = Order::Permuted,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// SDCA for multinomial logistic regression (A. Defazio, PhD thesis 2014, section 2.3.2), proximal for a separable
/// regulariser. It needs `l2 > 0` or a strongly convex regulariser. The memory is `n (r - 1) + d r` numbers.
///
/// # Errors
/// [`Error::Refused`] without strong convexity; [`Error::Invalid`] if the start has another shape or is outside the
/// simplex, or for settings out of range.
pub fn sdca<'p, 'a, D: Design, R: Separable, O: Observer<MulticlassAscent<'p, 'a, D, R>>>(
    problem: &'p MulticlassProblem<'a, D, R>,
    settings: &MulticlassSettings,
    start: Option<MulticlassState>,
    observer: &mut O,
) -> Result<Solution<MulticlassState>, Error> {
    solve("multiclass sdca", problem, 0.0, settings, start, observer)
}

/// Accelerated SDCA for multinomial logistic regression. It is the scheme of [`catalyst`](crate::methods::catalyst())
/// with `mean L_i = mean ||a_i||^2 / 2`. If the proximal weight `kappa` would not be positive, it is the same as
/// [`sdca`].
///
/// # Errors
/// The errors of [`sdca`].
pub fn catalyst<'p, 'a, D: Design, R: Separable, O: Observer<MulticlassAscent<'p, 'a, D, R>>>(
    problem: &'p MulticlassProblem<'a, D, R>,
    settings: &MulticlassSettings,
    start: Option<MulticlassState>,
    observer: &mut O,
) -> Result<Solution<MulticlassState>, Error> {
    let mean = CURVATURE * problem.mean_norm_squared();
    let by_default = default_centre(mean, problem.n(), problem.strong_convexity());
    let kappa = settings.kappa.unwrap_or(by_default);
    Invalid::check_nonnegative("kappa", kappa)?;
    solve("multiclass catalyst", problem, kappa, settings, start, observer)
}

/// The probabilities, up to a factor, with which a run of [`sdca`] from this state draws its first term. It is `None`
/// for the plain orders and for `Order::Weighted`. Cost: one pass.
///
/// # Errors
/// The errors of [`sdca`].
pub fn draw_weights<D: Design, R: Separable>(
    problem: &MulticlassProblem<'_, D, R>,
    order: &Order,
    state: MulticlassState,
) -> Result<Option<Vec<f64>>, Error> {
    let settings = MulticlassSettings { order: order.clone(), ..Default::default() };
    let mut ascent =
        MulticlassAscent::new("multiclass sdca", problem, 0.0, &settings, Some(state))?;
    Ok(match order {
        Order::Lipschitz => Some(ascent.conditions()),
        order => (!order.is_given()).then(|| ascent.scores()),
    })
}

fn solve<'p, 'a, D: Design, R: Separable, O: Observer<MulticlassAscent<'p, 'a, D, R>>>(
    method: &'static str,
    problem: &'p MulticlassProblem<'a, D, R>,
    kappa: f64,
    settings: &MulticlassSettings,
    start: Option<MulticlassState>,
    observer: &mut O,
) -> Result<Solution<MulticlassState>, Error> {
    settings.stop.check()?;
    let mut method = MulticlassAscent::new(method, problem, kappa, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(method.end(report, &settings.stop))
}
