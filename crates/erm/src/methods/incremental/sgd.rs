//! Stochastic gradient descent.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::random::Order;
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, StepSize, Stop, run};

use super::kernel::{Kernel, Plan};
use super::mean::{PointMean, certify};
use super::state::IncrementalState;
use crate::gap::Gap;
use crate::methods::lag::Composite;
use crate::origin::origin;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

settings! {
    /// Settings of [`sgd`](fn@sgd).
    pub struct SgdSettings {
        /// Step size. `Theory` is `1/(L + mu k)` in step `k`. The others are `Scaled`, `Constant` and `Decaying`,
        /// where `power = 1` gives `theta / k`.
        step: StepSize = StepSize::Theory,
        /// Whether to certify also the mean of all points so far, and to return it if its certificate is better. It
        /// costs O(d) per step.
        average: bool = false,
        /// Visiting order.
        order: Order = Order::Uniform,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// The step size `scale / (offset + slope k)^power` of step `k = 1, 2, ...`.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    scale: f64,
    offset: f64,
    slope: f64,
    power: f64,
}

impl Schedule {
    fn new(step: StepSize, smoothness: f64, mu: f64) -> Result<Self, Error> {
        let plain = Schedule { scale: 1.0, offset: 1.0, slope: 0.0, power: 1.0 };
        Ok(match step {
            StepSize::Decaying { first, power } => {
                Invalid::check_positive("step (first)", first)?;
                Invalid::check_nonnegative("step (power)", power)?;
                Schedule { scale: first, offset: 0.0, slope: 1.0, power }
            }
            StepSize::Constant(_) => Schedule { scale: step.resolve(1.0)?, ..plain },
            _ => Schedule { scale: step.resolve(1.0)?, offset: smoothness, slope: mu, power: 1.0 },
        })
    }

    fn step(&self, k: u64) -> f64 {
        let base = self.offset + self.slope * k as f64;
        self.scale / if self.power == 1.0 { base } else { base.powf(self.power) }
    }
}

/// The running method SGD, as an observer of [`sgd`](fn@sgd) receives it.
#[derive(Debug, Clone)]
pub struct Sgd<'p, 'a, D, L, R> {
    kernel: Kernel<'p, 'a, D, L, R>,
    schedule: Schedule,
    done: u64,
    mean: Option<PointMean>,
    certified: Point,
    gap: Gap,
    best: Option<Point>,
}

/// Stochastic gradient descent, `x <- prox((1 - step_k l2) x - step_k phi_j'(a_j.x) a_j, step_k)` (A. Defazio, PhD
/// thesis 2014, section 2.2).
///
/// The classical method stores no gradients. It makes good progress in the first pass or two, and then stalls because
/// of the variance of its gradients. It is included as a baseline. A step costs O(nnz of the row). Original paper:
/// Robbins and Monro (1951). For averages: Polyak and Juditsky, SIAM Journal on Control and Optimization 30 (1992).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth or weighted draws; [`Error::Invalid`] for a start of
/// another shape or settings out of range.
pub fn sgd<'p, 'a, D: Design, L: Loss, R: Composite, O: Observer<Sgd<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SgdSettings,
    start: Option<IncrementalState>,
    observer: &mut O,
) -> Result<Solution<IncrementalState>, Error> {
    let name = "sgd";
    let SgdSettings { step, average, order, seed, stop } = settings;
    let stop = &problem.stop(stop)?;
    problem.check_smooth(name)?;
    let schedule = Schedule::new(*step, problem.smoothness(), problem.strong_convexity())?;
    let first = schedule.step(1);
    order.check_plain(name)?;
    let order = order.clone();
    let plan = Plan { method: name, step: first, search: None, varies: true, order, seed: *seed };
    let start = start.unwrap_or_else(|| origin(problem).into());
    let IncrementalState { point, steps: done, place } = start;
    let mut kernel = Kernel::new(problem, point, vec![0.0; problem.n()], &plan)?;
    let certified = kernel.point.clone();
    let _ = place.is_some_and(|place| kernel.visits().go_to(&place));
    let mean = average.then(PointMean::default);
    let gap = Gap::new(problem);
    let mut method = Sgd { kernel, schedule, done, mean, certified, gap, best: None };
    let report = run(&mut method, stop, observer)?;
    let Sgd { mut kernel, certified, done, .. } = method;
    let report = problem.judged(report, &certified);
    Ok(Solution { state: IncrementalState::after(certified, done, kernel.visits()), report })
}

impl<D: Design, L: Loss, R: Composite> Sgd<'_, '_, D, L, R> {
    /// The point of the last certificate.
    pub fn point(&self) -> &Point {
        &self.certified
    }

    fn step(&mut self) {
        self.done += 1;
        self.kernel.step = self.schedule.step(self.done);
        if self.kernel.step * self.kernel.problem.l2() < 0.5 {
            self.kernel.step::<false>(1.0);
        } else {
            // Lagged steps need 1 - step l2 > 0.
            self.kernel.flush();
            let j = self.kernel.draw();
            self.kernel.visit_dense::<false>(j, 1.0, 1.0);
        }
        if let Some(mean) = &mut self.mean {
            self.kernel.flush();
            mean.add(&self.kernel.point);
        }
    }
}

impl<D: Design, L: Loss, R: Composite> Iterative for Sgd<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.kernel.problem.n() as f64;
        let steps = (passes * n).round().max(1.0);
        (0..steps as u64).for_each(|_| self.step());
        steps / n
    }

    fn certify(&mut self) -> Certificate {
        certify(&self.kernel, self.mean.as_ref(), &mut self.gap, &mut self.certified)
    }

    fn keep(&mut self) {
        self.best.get_or_insert_with(Point::default).clone_from(&self.certified);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.kernel.move_to(&best);
            self.mean = None;
        }
    }
}
