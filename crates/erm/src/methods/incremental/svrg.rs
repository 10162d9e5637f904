//! The stochastic variance reduced gradient method (SVRG).

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::Refusal;
use fenchel_optim::random::{Generator, Order, stream};
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, StepSize, Stop, run};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::kernel::{Kernel, Plan};
use super::mean::PointMean;
use super::state::IncrementalState;
use crate::gap::Gap;
use crate::methods::lag::Composite;
use crate::methods::order::smoothness;
use crate::origin::origin;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

/// The point at which the next full gradient is computed, `m` steps after the last. The run continues from this
/// point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Snapshot {
    /// The last point. This is used in practice, and analysed in section 4.7 of A. Defazio, PhD thesis 2014.
    #[default]
    Last,
    /// The average of the `m` points (Xiao and Zhang). It costs O(d) per step.
    Average,
    /// One of the `m` points, drawn at random (S2GD). The steps after it are not made.
    Random,
    /// The current point, with probability `1/m` after every step, so that there is no inner loop (Kovalev, Horvath
    /// and Richtarik, "Don't jump through hoops", ALT 2020).
    Loopless,
}

settings! {
    /// Settings of [`svrg`](fn@svrg).
    pub struct SvrgSettings {
        /// Step size. `Theory` is `1/(4L)`, or `1/(6L)` for `Snapshot::Loopless`.
        step: StepSize = StepSize::Theory,
        /// The number `m` of steps between two snapshots, as a multiple of the number of terms. With `None` it is the
        /// recommendation of section 4.7 of the thesis: `(1 - step mu)^m = 1/2`, which is `(1 - mu/(4L))^m = 1/2` for
        /// the step of the theory.
        inner: Option<f64> = Some(2.0),
        /// The point at which the next full gradient is computed.
        snapshot: Snapshot = Snapshot::Last,
        /// Visiting order of the terms. In the step size, `Lipschitz` replaces `L` by the mean smoothness, and
        /// `Mixed` by twice the mean.
        order: Order = Order::Uniform,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// When to end; a snapshot counts as one pass.
        stop: Stop = Stop::default(),
    }
}

/// The position of a run between two snapshots.
#[derive(Debug, Clone)]
struct Round {
    /// Number of steps since the snapshot.
    since: usize,
    /// Number of steps from this snapshot to the next.
    length: usize,
    mean: Option<PointMean>,
    generator: Generator,
}

/// The running method SVRG, as an observer of [`svrg`](fn@svrg) receives it.
#[derive(Debug, Clone)]
pub struct Svrg<'p, 'a, D, L, R> {
    kernel: Kernel<'p, 'a, D, L, R>,
    /// The point that was certified last. Its intercept is optimal, which distinguishes it from the point of the
    /// inner loop.
    certified: Point,
    gap: Gap,
    inner: usize,
    snapshot: Snapshot,
    round: Round,
    best: Option<Point>,
}

/// SVRG (A. Defazio, PhD thesis 2014, algorithm 2.3), with proximal steps (section 2.5).
///
/// The derivatives at the snapshot are stored, one number per term. So a step costs one term gradient, as in SAGA,
/// and a round of `m` steps costs `1 + m/n` passes. A rate is proved for smooth, strongly convex problems, steps
/// `1/eta` with `eta > 4L`, and snapshots at the average or at a random point. The suboptimality of snapshots then
/// falls in expectation by the factor `eta/(mu (1 - 4L/eta) m) + 4L (m + 1)/(eta (1 - 4L/eta) m)` per round. Without
/// strong convexity nothing is proved. Original papers: Johnson and Zhang, NIPS 2013; Xiao and Zhang, SIAM Journal on
/// Optimization 24 (2014); Konecny and Richtarik (S2GD), Frontiers in Applied Mathematics and Statistics 3 (2017).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth, weighted orders, or `inner: None` without strong convexity;
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn svrg<'p, 'a, D: Design, L: Loss, R: Composite, O: Observer<Svrg<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SvrgSettings,
    start: Option<IncrementalState>,
    observer: &mut O,
) -> Result<Solution<IncrementalState>, Error> {
    let name = "svrg";
    let SvrgSettings { step, inner, snapshot, order, seed, stop } = settings;
    let stop = &problem.stop(stop)?;
    problem.check_smooth(name)?;
    let multiple = if *snapshot == Snapshot::Loopless { 6.0 } else { 4.0 };
    let theory = 1.0 / (multiple * smoothness(problem, order));
    let plan = Plan::new(name, *step, theory, None, order.clone(), *seed)?;
    let inner = round_length(
        "svrg without a given `inner`",
        *inner,
        problem.n(),
        plan.step * problem.strong_convexity(),
    )?;
    let start = start.unwrap_or_else(|| origin(problem).into());
    let IncrementalState { point, place, .. } = start;
    let mut kernel = Kernel::new(problem, point, vec![0.0; problem.n()], &plan)?;
    let _ = place.is_some_and(|place| kernel.visits().go_to(&place));
    let round = Round {
        since: 0,
        length: 0,
        mean: (*snapshot == Snapshot::Average).then(PointMean::default),
        generator: stream(*seed, 1),
    };
    let certified = kernel.point.clone();
    let gap = Gap::new(problem);
    let mut method = Svrg { certified, kernel, gap, inner, snapshot: *snapshot, round, best: None };
    let report = run(&mut method, stop, observer)?;
    let Svrg { mut kernel, certified, .. } = method;
    let report = problem.judged(report, &certified);
    Ok(Solution { state: IncrementalState::after(certified, 0, kernel.visits()), report })
}

impl<D: Design, L: Loss, R: Composite> Svrg<'_, '_, D, L, R> {
    /// The point of the last certificate.
    pub fn point(&self) -> &Point {
        &self.certified
    }

    /// Steps from the last snapshot to the next.
    pub fn round_length(&self) -> usize {
        self.round.length
    }

    /// Computes the full gradient at the current point. One pass.
    fn take_snapshot(&mut self) {
        self.kernel.fill_table();
        let Round { since, length, generator, .. } = &mut self.round;
        *since = 0;
        *length = match self.snapshot {
            Snapshot::Last | Snapshot::Average => self.inner,
            Snapshot::Random => generator.random_range(1..=self.inner),
            Snapshot::Loopless => first_success(1.0 / self.inner as f64, generator),
        };
    }

    /// Makes steps of one round.
    fn walk(&mut self, steps: usize) {
        self.round.since += steps;
        let Some(mean) = &mut self.round.mean else {
            (0..steps).for_each(|_| self.kernel.step::<false>(1.0));
            return;
        };
        for _ in 0..steps {
            self.kernel.step::<false>(1.0);
            self.kernel.flush();
            mean.add(&self.kernel.point);
        }
        if self.round.since == self.round.length
            && let Some(point) = mean.point()
        {
            self.kernel.move_to(&point);
            mean.clear();
        }
    }
}

/// The number of steps of a round. It is `inner n`, or the solution `m` of `(1 - decay)^m = 1/2` with `decay = step
/// mu`. A round of `2^53` steps or more never ends, so that it counts as missing strong convexity.
///
/// # Errors
/// [`Error::Invalid`] for `inner` out of range, [`Error::Refused`] without strong convexity.
pub fn round_length(
    method: &'static str,
    inner: Option<f64>,
    n: usize,
    decay: f64,
) -> Result<usize, Error> {
    let steps = match inner {
        Some(inner) => {
            Invalid::check_positive("inner", inner)?;
            inner * n as f64
        }
        None if decay > f64::EPSILON => 0.5f64.ln() / (-decay.min(1.0)).ln_1p(),
        None => return Err(Refusal::NeedsStrongConvexity { method }.into()),
    };
    Ok((steps.round() as usize).max(1))
}

/// The number of throws of a coin until it first shows heads, if heads has probability `p`.
fn first_success(p: f64, generator: &mut Generator) -> usize {
    // In (0, 1].
    let toss = 1.0 - generator.random::<f64>();
    let tails = (toss.ln() / (-p).ln_1p()).floor();
    1 + tails.min(1e15) as usize
}

impl<D: Design, L: Loss, R: Composite> Iterative for Svrg<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.kernel.problem.n();
        // Work in units of term gradients, so that passes add up exactly.
        let budget = ((passes * n as f64).round() as usize).max(1);
        let mut spent = 0;
        while spent < budget {
            if self.round.since == self.round.length {
                self.take_snapshot();
                spent += n;
            }
            let left = self.round.length - self.round.since;
            let steps = left.min(budget.saturating_sub(spent));
            self.walk(steps);
            spent += steps;
        }
        spent as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        self.kernel.write_point(&mut self.certified);
        self.gap.at_best_intercept(self.kernel.problem, &mut self.certified)
    }

    fn keep(&mut self) {
        self.best.get_or_insert_with(Point::default).clone_from(&self.certified);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.kernel.move_to(&best);
        }
    }
}
