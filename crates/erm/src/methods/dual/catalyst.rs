//! Catalyst, which accelerates SDCA for `n < L / mu` and for problems that are not strongly convex.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::random::Order;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Loss, Observer, Separable, Solution, Stop, run,
};

use super::ascent::{Ascent, SdcaStep};
use super::momentum::Momentum;
use super::state::DualState;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

settings! {
    /// Settings of [`catalyst`](fn@catalyst).
    pub struct CatalystSettings {
        /// Weight of the proximal centre. With 0 there is no centre. The default `None` is `mean L_i / n - mu`.
        kappa: Option<f64> = None,
        /// Step of the inner SDCA.
        step: SdcaStep = SdcaStep::Exact,
        /// Visiting order of the inner SDCA.
        order: Order = Order::Permuted,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// The running method Catalyst, as an observer of [`catalyst`](fn@catalyst) receives it.
#[derive(Debug, Clone)]
pub struct Catalyst<'p, 'a, D, L, R> {
    ascent: Ascent<'p, 'a, D, L, R>,
    accelerates: bool,
    cold: bool,
    momentum: Momentum,
    /// Scratch: the next centre.
    centre: Vec<f64>,
}

/// Accelerated SDCA. It is the method ASDCA of A. Defazio, PhD thesis 2014, section 2.3.3, in the form of Catalyst.
///
/// An outer step is one pass of SDCA on `F + (kappa/2) ||x - y||^2`, which continues from the current dual variables.
/// Then the centre is extrapolated, `y = x + b (x - x_old)`. The extrapolation restarts when it points uphill. With
/// `kappa = mean L_i / n - mu`, the cost grows with `sqrt(L / mu)` instead of `L / mu`. The mean over the rows is
/// used so that a few long rows do not make `kappa` too large. If `kappa` would not be positive, acceleration cannot
/// help, and the method is SDCA. Without any strong convexity (l1 alone), it is an accelerated proximal point method.
/// On dense data with more columns than rows [`sdca`](super::sdca()) is often many times faster, whatever `l2` is: where rows are nearly
/// orthogonal its steps hardly disturb each other, and the centre only slows them.
///
/// Original papers: Shalev-Shwartz and Zhang, "Accelerated proximal SDCA", Mathematical Programming 155
/// (2016); Lin, Mairal and Harchaoui, "Catalyst", JMLR 18 (2018).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// The errors of [`sdca`](super::sdca()).
pub fn catalyst<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &CatalystSettings,
    start: Option<DualState>,
    observer: &mut O,
) -> Result<Solution<DualState>, Error>
where
    D: Design,
    L: Loss,
    R: Separable,
    O: Observer<Catalyst<'p, 'a, D, L, R>>,
{
    let mu = problem.strong_convexity();
    let CatalystSettings { kappa, step, order, seed, stop } = settings;
    let stop = &problem.stop(stop)?;
    order.check_given("catalyst")?;
    let kappa = centre_weight("catalyst", problem, *kappa)?;
    let cold = start.is_none();
    let ascent = Ascent::new("catalyst", problem, kappa, *step, order, *seed, start)?;
    let d = problem.d();
    let momentum = Momentum::new(mu / (mu + kappa), ascent.state.point.weights.clone());
    let accelerates = kappa > 0.0;
    let mut method = Catalyst { ascent, accelerates, cold, momentum, centre: vec![0.0; d] };
    let report = run(&mut method, stop, observer)?;
    Ok(method.ascent.end(report, stop))
}

/// The weight of the proximal centre: the given one, or `mean L_i / n - mu`, or 0 if that is negative.
pub(super) fn centre_weight<D: Design, L: Loss, R: Separable>(
    method: &'static str,
    problem: &Problem<'_, D, L, R>,
    given: Option<f64>,
) -> Result<f64, Error> {
    if let Some(kappa) = given {
        Invalid::check_nonnegative("kappa", kappa)?;
        return Ok(kappa);
    }
    problem.check_smooth(method)?;
    let mean = problem.loss().curvature() * problem.mean_norm_squared();
    Ok(default_centre(mean, problem.n(), problem.strong_convexity()))
}

/// `mean L_i / n - mu`, or 0 if that is negative.
pub(crate) fn default_centre(mean: f64, n: usize, mu: f64) -> f64 {
    // All rows 0: any centre will do.
    if mean == 0.0 && mu == 0.0 { 1.0 } else { (mean / n as f64 - mu).max(0.0) }
}

impl<D: Design, L: Loss, R: Separable> Catalyst<'_, '_, D, L, R> {
    /// The current point.
    pub fn point(&self) -> &Point {
        &self.ascent.state.point
    }

    /// The dual variables.
    pub fn dual(&self) -> &[f64] {
        &self.ascent.state.dual
    }

    /// Makes a pass of steps, then extrapolates the centre.
    fn outer_step(&mut self) {
        self.ascent.make_steps(self.ascent.problem.n());
        self.ascent.read_point();
        if !self.accelerates {
            return;
        }
        self.centre.copy_from_slice(self.ascent.centre());
        self.momentum.extrapolate(&self.ascent.state.point.weights, &mut self.centre);
        self.ascent.move_centre(&self.centre);
    }
}

impl<D: Design, L: Loss, R: Separable> Iterative for Catalyst<'_, '_, D, L, R> {
    /// One outer step.
    fn advance(&mut self, _: f64) -> f64 {
        self.cold = false;
        self.outer_step();
        1.0
    }

    fn certify(&mut self) -> Certificate {
        self.ascent.certify()
    }

    fn keep(&mut self) {
        self.ascent.keep();
    }

    fn restore(&mut self) {
        self.ascent.restore();
    }

    /// No certificate is computed for a cold start, unless an observer needs one.
    fn certificate_cost(&self) -> CertificateCost {
        if self.cold { CertificateCost::Uninformative } else { CertificateCost::Passes }
    }
}
