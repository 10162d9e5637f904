//! FISTA, a batch method for every regulariser, separable or not.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::fista::{Fista, FistaSettings, FistaState};
use fenchel_optim::{Loss, Observer, Regulariser, Solution};

use crate::methods::smooth::{SmoothPart, point};
use crate::{Error, Point, Problem};

/// A regulariser that applies to the weights only. The intercept, which follows the weights in the vector, is not
/// penalised.
#[derive(Debug, Clone, Copy)]
pub struct OnWeights<'p, R> {
    pub(crate) regulariser: &'p R,
    pub(crate) weights: usize,
}

impl<R: Regulariser> Regulariser for OnWeights<'_, R> {
    const NAME: &'static str = R::NAME;

    fn is_zero(&self) -> bool {
        self.regulariser.is_zero()
    }

    fn check(&self, _: usize) -> Result<(), Invalid> {
        self.regulariser.check(self.weights)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.regulariser.value(&x[..self.weights])
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        self.regulariser.prox(&mut x[..self.weights], step);
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        let (weights, intercept) = v.split_at(self.weights);
        self.regulariser.conjugate(weights, l2) + crate::prox::Zero.conjugate(intercept, l2)
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        let (weights, intercept) = v.split_at(self.weights);
        let free = crate::prox::Zero.dual_scale(intercept, l2);
        self.regulariser.dual_scale(weights, l2).min(free)
    }

    fn coercive(&self) -> bool {
        false
    }
}

/// FISTA with backtracking and adaptive restart, for smooth losses and any regulariser.
///
/// It is the method for constraints and for penalties that are not separable ([`prox`](crate::prox): balls, simplex,
/// groups, total variation), and for few rows. An iteration costs one pass for the gradient, and half a pass for each
/// trial step. The method itself is [`fenchel_optim::fista`].
///
/// The certificate is a duality gap if the conjugate of the loss is known and if `l2 > 0` or the regulariser is
/// coercive. Otherwise it is the norm of the gradient mapping.
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth; [`Error::Invalid`] for a start of another shape
/// or settings out of range.
pub fn fista<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &FistaSettings,
    start: Option<FistaState<Point>>,
    observer: &mut O,
) -> Result<Solution<FistaState<Point>>, Error>
where
    D: Design,
    L: Loss,
    R: Regulariser,
    O: Observer<Fista<SmoothPart<'p, 'a, D, L, R>, OnWeights<'p, R>>>,
{
    let stop = problem.batch_stop(&settings.stop)?;
    let settings = &FistaSettings { stop, ..settings.clone() };
    problem.check_smooth("fista")?;
    let (at, step) = start.map(|start| (start.point, start.step)).unzip();
    let (part, x) = SmoothPart::new(problem, at)?;
    let start = FistaState { point: x, step: step.flatten() };
    let weights = OnWeights { regulariser: problem.regulariser(), weights: problem.d() };
    let Solution { state, report } =
        fenchel_optim::fista::fista(part, weights, settings, start, observer)?;
    let state = state.map(|x| point(problem.d(), &x));
    Ok(Solution { report: problem.judged(report, &state.point), state })
}
