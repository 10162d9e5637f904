//! Stochastic dual coordinate ascent (SDCA).

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Loss, Observer, Separable, Solution, Stop, run,
};

use super::ascent::{Ascent, Pace, SdcaStep, copied};
use super::state::DualState;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

settings! {
    /// Settings of [`sdca`](fn@sdca).
    pub struct SdcaSettings {
        /// The length of a step along a coordinate.
        step: SdcaStep = SdcaStep::Exact,
        /// Number of rows that a step changes together, at least 1: rows `0..batch`, `batch..2 batch`, and so on are
        /// the minibatches. With more than 1, `Exact` and `Interval` are the same, and the orders are the plain ones
        /// and `Weighted`. Their numbers are those of the `ceil(n / batch)` minibatches, from 0. See [`sdca`](fn@sdca).
        batch: usize = 1,
        /// Visiting order of the terms. The method converges for every order.
        order: Order = Order::Permuted,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// The running method SDCA, as an observer of [`sdca`](fn@sdca) receives it.
#[derive(Debug, Clone)]
pub struct Sdca<'p, 'a, D, L, R> {
    ascent: Ascent<'p, 'a, D, L, R>,
    cold: bool,
    /// The average of the last steps at the last certificate, for a loss that is not differentiable.
    average: Option<DualState>,
    /// Whether the average has the smaller gap.
    averaged: bool,
}

/// Stochastic dual coordinate ascent (A. Defazio, PhD thesis 2014, algorithm 2.1). It has no step size to tune. The
/// loss may be smooth or not. With a separable regulariser the steps are proximal.
///
/// For a loss that is not differentiable there is no linear rate, and certificates are computed for two points. One
/// is the last point. The other belongs to the average of the dual variables over the last half of the steps (between
/// a half and three quarters). The run returns the point with the smaller gap, and always continues from the last.
/// (In permuted order the last point is nearly always better. In sixteen comparisons on four data sets with the hinge
/// loss and `l2 = 1/n`, the average won once, after 5 passes.)
///
/// Two methods of the thesis make the same iterates from the same start, in other variables: primal SDCA (algorithm
/// 3.2, a proximal step on one term) and, for linear models, [`prox_finito`](super::prox_finito()). Terms may be
/// drawn by their Lipschitz constants, dual residuals or gaps; see [`order`](crate::methods::order).
///
/// With a `batch` of `b > 1` rows, a term of the sum is the mean loss `f_B` of a minibatch `B`, as in section 2.3.1 of
/// the thesis. Its dual variable has one number per row. All of them move by the same fraction `c` of the way to the
/// current derivatives, because the maximum over the whole block has no closed form:
///
/// ```text
/// s_i <- s_i + c (phi_i'(a_i.x) - s_i)   for the rows i of B
/// ```
///
/// `Exact` and `Interval` take the `c` in [0, 1] that is best for the dual objective (for the squared loss in closed
/// form, otherwise by a search with a few conjugates per row). `Constant` takes `c = mu m / (mu m + L_B)`, with `m = n/b`
/// minibatches and `L_B` the mean of the `L_i` of the batch. In both cases no step lowers the dual objective. A pass
/// costs as much as with single rows, and a run needs more passes. So a minibatch is for problems whose terms are
/// batches by nature, and for comparisons.
///
/// The method needs `l2 > 0` or a strongly convex regulariser. A step costs O(nnz of the row), and the memory is
/// O(n + d). The dual suboptimality falls in expectation by the factor `1 - mu/(L + mu n)` per step. It is the
/// method of choice for `n mu >= L`. For smaller `mu`, [`catalyst`](super::catalyst()) accelerates it.
///
/// Original paper: Shalev-Shwartz and Zhang, "Stochastic dual coordinate ascent methods for regularized
/// loss minimization", JMLR 14 (2013).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] without strong convexity, for a constant step on a loss that is not smooth, or for an order
/// that needs a smooth loss, or for batches with a loss that has neither a Lipschitz constant nor a kink (Poisson);
/// [`Error::Invalid`] if the start has another shape or is outside the domain, or for
/// settings out of range.
pub fn sdca<'p, 'a, D: Design, L: Loss, R: Separable, O: Observer<Sdca<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SdcaSettings,
    start: Option<DualState>,
    observer: &mut O,
) -> Result<Solution<DualState>, Error> {
    let SdcaSettings { step, batch, order, seed, stop } = settings;
    let stop = &problem.stop(stop)?;
    let cold = start.is_none();
    let ascent = Ascent::new(
        "sdca",
        problem,
        0.0,
        Pace { step: (*step).into(), batch: *batch },
        order,
        *seed,
        start,
    )?;
    ascend(ascent, cold, stop, observer)
}

/// Runs dual coordinate ascent without an outer loop.
pub(super) fn ascend<'p, 'a, D, L, R, O>(
    mut ascent: Ascent<'p, 'a, D, L, R>,
    cold: bool,
    stop: &Stop,
    observer: &mut O,
) -> Result<Solution<DualState>, Error>
where
    D: Design,
    L: Loss,
    R: Separable,
    O: Observer<Sdca<'p, 'a, D, L, R>>,
{
    let kinked = !ascent.problem.loss().twice_differentiable();
    if kinked {
        ascent.keep_averages();
    }
    let average = kinked.then(|| ascent.state.clone());
    let mut method = Sdca { ascent, cold, average, averaged: false };
    let report = run(&mut method, stop, observer)?;
    let Sdca { mut ascent, average, averaged, .. } = method;
    if let Some(average) = average.filter(|_| averaged) {
        (ascent.state.point, ascent.state.dual) = (average.point, average.dual);
    }
    Ok(ascent.end(report, stop))
}

impl<D: Design, L: Loss, R: Separable> Sdca<'_, '_, D, L, R> {
    /// The point of the last certificate.
    pub fn point(&self) -> &Point {
        &self.certified().point
    }

    /// The dual variables of the last certificate.
    pub fn dual(&self) -> &[f64] {
        &self.certified().dual
    }

    /// The dual variables after the last step, never their average. With exact steps, the dual objective never
    /// decreases.
    pub fn last_dual(&self) -> &[f64] {
        &self.ascent.state.dual
    }

    fn certified(&self) -> &DualState {
        self.average.as_ref().filter(|_| self.averaged).unwrap_or(&self.ascent.state)
    }
}

impl<D: Design, L: Loss, R: Separable> Iterative for Sdca<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.cold = false;
        self.averaged = false;
        let steps_a_pass = self.ascent.steps_a_pass();
        let steps = (passes * steps_a_pass).round().max(1.0);
        self.ascent.make_steps(steps as usize);
        self.ascent.read_point();
        steps / steps_a_pass
    }

    fn certify(&mut self) -> Certificate {
        let last = self.ascent.certify();
        if self.ascent.restored {
            return last;
        }
        let (Some(average), Some(tail)) = (&mut self.average, self.ascent.tail()) else {
            return last;
        };
        if !tail.average(&self.ascent.state.dual, &mut average.dual) {
            return last;
        }
        let mean = self.ascent.certify_dual(&average.dual, &mut average.point);
        self.averaged = mean.value() < last.value();
        if self.averaged { mean } else { last }
    }

    fn keep(&mut self) {
        let best = self.ascent.best.take();
        self.ascent.best = Some(copied(best, self.certified()));
    }

    fn restore(&mut self) {
        self.averaged = false;
        self.ascent.restore();
    }

    /// No certificate is computed for a cold start, unless an observer needs one.
    fn certificate_cost(&self) -> CertificateCost {
        if self.cold { CertificateCost::Uninformative } else { CertificateCost::Passes }
    }
}
