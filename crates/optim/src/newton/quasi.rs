//! L-BFGS whose first matrix is the inverse of a matrix near the Hessian.

use fenchel_linalg::vectors::dot;
use fenchel_linalg::{Cholesky, Invalid};

use super::{Descent, Point, Preconditioned};
use crate::lbfgs::{Memory, check_pairs};
use crate::{Certificate, CertificateCost, Iterative, Observer, Solution, Status, Stop, run};

/// A line search ends where the slope has fallen to this fraction.
const SLOPE: f64 = 0.5;
/// Largest factor by which a step grows.
const GROWTH: f64 = 4.0;
/// Largest number of slopes in one line search.
const SEARCH: usize = 60;

crate::settings! {
    /// Settings of [`quasi_newton`].
    pub struct QuasiNewtonSettings {
        /// Number of pairs of steps and gradient differences that are kept, at least 1.
        memory: usize = 10,
        /// Number of steps, at least 1, after which the first matrix is computed anew and the pairs are dropped.
        renewal: usize = 8,
        /// When to end.
        stop: Stop = Stop::default(),
    }
}

/// The method behind [`quasi_newton`].
#[derive(Debug, Clone)]
pub struct QuasiNewton<F> {
    at: Descent<F>,
    memory: Memory,
    renewal: usize,
    /// Cholesky factor of the first matrix.
    factor: Option<Cholesky>,
    /// Number of steps that have used this matrix.
    age: usize,
    /// Whether the start has been evaluated.
    seen: bool,
    /// The point of the last certificate, if it is not the current point, and the certificate.
    certified: Option<(Vec<f64>, Certificate)>,
    step: Vec<f64>,
    step_margins: Vec<f64>,
}

/// Minimises a function by L-BFGS whose first matrix is the inverse of a
/// [`preconditioner`](Preconditioned::preconditioner), from `start`.
///
/// A step costs a pass and two triangular solves. The line search ends where the slope is at most half the initial slope; it
/// works on the margins alone and costs no pass. If the eigenvalues of the Hessian relative to the matrix lie in an interval of
/// ratio `k`, the gradient is multiplied by about `(sqrt k - 1) / (sqrt k + 1)` per step near the solution, as for preconditioned
/// conjugate gradients. The run ends as `Stalled` when the decrease that the model predicts is below the rounding of the
/// objective and the gradient no longer halves.
///
/// Reference: Nocedal and Wright, "Numerical Optimization" (2006), algorithm 7.4 with another initial matrix `H_k^0`.
///
/// # Errors
/// [`Invalid`] for a start of the wrong length or with non-finite entries, or settings out of range.
pub fn quasi_newton<F: Preconditioned, O: Observer<QuasiNewton<F>>>(
    function: F,
    settings: &QuasiNewtonSettings,
    start: Vec<f64>,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Invalid> {
    let mut method = QuasiNewton::new(function, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.into_point(), report })
}

impl<F: Preconditioned> QuasiNewton<F> {
    /// Constructs the method at a point, for [`run`] or as a part of another method.
    ///
    /// # Errors
    /// As [`quasi_newton`].
    pub fn new(
        function: F,
        settings: &QuasiNewtonSettings,
        start: Vec<f64>,
    ) -> Result<Self, Invalid> {
        let QuasiNewtonSettings { memory, renewal, ref stop } = *settings;
        stop.check()?;
        check_pairs(memory)?;
        Invalid::check_count("renewal", renewal)?;
        let at = Descent::new(function, start)?;
        Ok(QuasiNewton {
            memory: Memory::new(memory),
            renewal,
            factor: None,
            certified: None,
            age: 0,
            step: vec![0.0; at.x.len()],
            step_margins: vec![0.0; at.z.len()],
            seen: false,
            at,
        })
    }

    /// The current point.
    pub fn point(&self) -> &[f64] {
        self.certified.as_ref().map_or(&self.at.x, |(point, _)| point)
    }

    /// The function in its current state.
    pub fn function(&self) -> &F {
        &self.at.function
    }

    /// The point to return.
    fn into_point(self) -> Vec<f64> {
        self.certified.map_or(self.at.x, |(point, _)| point)
    }

    /// Takes one step. Returns its cost in passes.
    fn step(&mut self) -> f64 {
        let mut passes = self.begin();
        if self.at.stalled {
            return passes;
        }
        self.certified = None;
        if self.factor.is_none() || self.age >= self.renewal {
            passes += self.renew();
        }
        let Some(factor) = &self.factor else {
            self.at.stalled = true;
            return passes;
        };
        let at = &mut self.at;
        self.step.iter_mut().zip(&at.gradient).for_each(|(w, g)| *w = -g);
        // The length fits; a matrix that is not finite gives no slope.
        self.memory.apply_to(&mut self.step, |r| drop(factor.solve_in_place(r)));
        let slope = dot(&at.gradient, &self.step);
        if at.hopeless(slope, -0.5 * slope, (-slope).max(0.0).sqrt()) {
            at.stalled = true;
            return passes;
        }
        let from = at.point();
        let before = at.gradient.clone();
        at.x.iter_mut().zip(&self.step).for_each(|(x, w)| *x += w);
        let value = at.function.value_and_gradient(&at.x, &mut at.z, &mut at.gradient);
        passes += 1.0;
        let here = dot(&at.gradient, &self.step);
        let accepted = if good(here, slope, value, at.objective + at.slack()) {
            at.objective = value;
            true
        } else if -slope <= at.slack() {
            // The margins of so short a step are rounding: a longer one would part the point from its margins.
            false
        } else {
            let ends = at.z.iter().zip(&from.z);
            self.step_margins.iter_mut().zip(ends).for_each(|(a, (to, from))| *a = to - from);
            let found = self.search(&from, slope, here);
            let at = &mut self.at;
            at.function.gradient(&at.x, &mut at.gradient);
            passes += 0.5;
            found
        };
        if accepted {
            self.age += 1;
            self.memory.push(&from.x, &self.at.x, &before, &self.at.gradient);
        } else {
            self.at.gradient = before;
            self.at.stalled = true;
        }
        self.at.settle(accepted, from);
        self.prove();
        passes
    }

    /// Computes value, margins, gradient and certificate at the start. Returns the cost in passes.
    fn begin(&mut self) -> f64 {
        if std::mem::replace(&mut self.seen, true) {
            return 0.0;
        }
        let at = &mut self.at;
        at.objective = at.function.value_and_gradient(&at.x, &mut at.z, &mut at.gradient);
        self.prove();
        1.0
    }

    /// Computes the certificate, if it costs no pass.
    fn prove(&mut self) {
        let Descent { function, x, gradient, objective, certificate, .. } = &mut self.at;
        *certificate = function.certificate(x, *objective, gradient);
    }

    /// Computes the first matrix at the current point, and drops all pairs. Returns the cost in passes.
    fn renew(&mut self) -> f64 {
        let (matrix, passes) = self.at.function.preconditioner(&self.at.z);
        self.factor = Cholesky::with_ridge(&matrix, self.at.x.len()).ok();
        self.age = 0;
        self.memory.clear();
        passes
    }

    /// Line search until the point is [`good`], on the margins alone, by secants of the slope. The slope increases along the
    /// step and is `full` at the full step. Returns false if there is no such point.
    fn search(&mut self, from: &Point, slope: f64, full: f64) -> bool {
        let at = &mut self.at;
        let highest = at.objective + at.slack();
        let (mut low, mut high) = ((0.0, slope), None);
        let (mut scale, mut here) = (1.0, full);
        for _ in 0..SEARCH {
            if here <= 0.0 {
                low = (scale, here);
            } else {
                high = Some((scale, here));
            }
            scale = match high {
                None => scale * beyond(slope, here),
                Some(high) => between(low, high),
            };
            at.shift(from, &self.step, &self.step_margins, scale);
            let value = at.function.evaluate(&at.x, &at.z);
            here = at.function.slope(&at.x, &self.step, &self.step_margins);
            if good(here, slope, value, highest) {
                at.objective = value;
                return true;
            }
        }
        false
    }
}

/// Whether a step may end at a point with slope `here`: the slope has fallen to half the first one, and the objective has not
/// increased. While the slope is negative the objective decreases for sure, whatever its rounding. Beyond the minimum it may
/// have increased again.
fn good(here: f64, slope: f64, value: f64, highest: f64) -> bool {
    here.abs() <= SLOPE * slope.abs() && (here <= 0.0 || value <= highest)
}

/// The factor to the zero of the secant through the slopes at the start and here, both negative. It is at most four, and four
/// if the slope does not increase.
fn beyond(slope: f64, here: f64) -> f64 {
    let ratio = slope / (slope - here);
    if ratio >= 1.0 { ratio.min(GROWTH) } else { GROWTH }
}

/// The zero of the secant through two slopes of different sign, at least a tenth of the interval away from both ends.
fn between((low, falls): (f64, f64), (high, rises): (f64, f64)) -> f64 {
    let share = falls / (falls - rises);
    let share = if share.is_finite() { share.clamp(0.1, 0.9) } else { 0.5 };
    low + share * (high - low)
}

impl<F: Preconditioned> Iterative for QuasiNewton<F> {
    /// Takes one step, whatever its cost.
    fn advance(&mut self, _: f64) -> f64 {
        self.step()
    }

    /// If the certificate costs passes, it is computed at a copy of the point, so that the run is the same with and without it.
    fn certify(&mut self) -> Certificate {
        self.begin();
        let Descent { function, x, z, certificate, .. } = &mut self.at;
        if let Some(certificate) = *certificate {
            return certificate;
        }
        if let Some((_, certificate)) = self.certified {
            return certificate;
        }
        let mut point = x.clone();
        self.step_margins.clone_from(z);
        let found = function.measure(&mut point, &mut self.step_margins, &mut self.step);
        self.certified = Some((point, found));
        found
    }

    fn certificate_cost(&self) -> CertificateCost {
        match self.seen && self.at.certificate.is_none() {
            true => CertificateCost::Estimated(self.at.function.estimate(&self.at.gradient)),
            false => CertificateCost::Free,
        }
    }

    /// Accepted steps.
    fn oracle_calls(&self) -> u64 {
        self.at.steps
    }

    fn verdict(&self) -> Option<Status> {
        self.at.stalled.then_some(Status::Stalled)
    }
}
