//! From hyper-parameters to a solution.

use std::ops::ControlFlow;

use fenchel_linalg::{Design, Invalid, Subset};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::random::stream;
use fenchel_optim::{Loss, Observer, Progress, Report, Separable, Solution, Stop};

use super::choice::{Choice, choose, many_rows};
use rand::seq::SliceRandom;

use crate::dual::{CatalystSettings, SdcaStep, catalyst};
use crate::newton::{ElasticNetForm, NewtonSettings, newton};
use crate::{Error, Point, Problem, lbfgs};

/// An observer of any method, which sees its progress alone. An estimator does not show its method.
pub(super) struct Watch<F, const WATCHES: bool>(F);

impl<F: FnMut(&Progress) -> ControlFlow<()>> Watch<F, true> {
    pub(super) fn new(watch: F) -> Self {
        Watch(watch)
    }
}

/// Watches nothing and costs nothing.
pub(super) fn unwatched() -> Watch<fn(&Progress) -> ControlFlow<()>, false> {
    Watch(|_| ControlFlow::Continue(()))
}

impl<M: ?Sized, F: FnMut(&Progress) -> ControlFlow<()>, const W: bool> Observer<M> for Watch<F, W> {
    const WATCHES: bool = W;

    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        (self.0)(progress)
    }
}

/// A problem of an estimator, before it is known which regulariser it needs.
pub(super) struct Task<'a, D, L> {
    pub(super) design: D,
    pub(super) targets: &'a [f64],
    /// One a row, where the rows have weights.
    pub(super) weights: Option<&'a [f64]>,
    pub(super) loss: L,
    pub(super) l1: f64,
    pub(super) l2: f64,
    pub(super) intercept: bool,
    pub(super) stop: Stop,
    pub(super) seed: u64,
    /// Whether the loss is quadratic: its own Newton model, with a closed form for the dual step.
    pub(super) quadratic: bool,
}

impl<D: Design + Copy, L: Loss + Copy> Task<'_, D, L> {
    pub(super) fn solve<F: FnMut(&Progress) -> ControlFlow<()>, const W: bool>(
        self,
        watch: &mut Watch<F, W>,
    ) -> Result<(Point, Report), Error> {
        let Task { design, targets, loss, l1, l2, .. } = self;
        Invalid::check_nonnegative("l1", l1)?;
        if l1 > 0.0 {
            let problem =
                self.posed(Problem::new(design, targets, loss, L1 { strength: l1 }, l2)?)?;
            return self.run(&problem, watch);
        }
        let problem = self.posed(Problem::new(design, targets, loss, Zero, l2)?)?;
        if self.chosen(&problem) == Choice::Lbfgs {
            let settings = LbfgsSettings { stop: self.stop, ..LbfgsSettings::default() };
            let Solution { state, report } = lbfgs(&problem, &settings, None, watch)?;
            return Ok((state, report));
        }
        self.run(&problem, watch)
    }

    fn posed<'a, R: Separable>(
        &self,
        problem: Problem<'a, D, L, R>,
    ) -> Result<Problem<'a, D, L, R>, Error> {
        let problem = if self.intercept { problem.with_intercept() } else { problem };
        match self.weights {
            None => Ok(problem),
            Some(weights) => problem.with_weights(weights),
        }
    }

    fn chosen<R: Separable>(&self, problem: &Problem<'_, D, L, R>) -> Choice {
        choose(problem, self.l1, self.quadratic, &self.stop)
    }

    fn run<R: ElasticNetForm, F: FnMut(&Progress) -> ControlFlow<()>, const W: bool>(
        &self,
        problem: &Problem<'_, D, L, R>,
        watch: &mut Watch<F, W>,
    ) -> Result<(Point, Report), Error> {
        let (seed, stop) = (self.seed, self.stop);
        if self.chosen(problem) == Choice::Newton {
            let head = self.head_start::<R, W>(problem)?;
            let settings = NewtonSettings { seed, stop, ..NewtonSettings::default() };
            let start = head.as_ref().map(|head| head.state.clone());
            let Solution { state, mut report } = newton(problem, &settings, start, watch)?;
            if let Some(head) = head {
                report.passes += 0.1 * head.report.passes;
                report.seconds += head.report.seconds;
            }
            Ok((state, report))
        } else {
            let step = self.step(problem);
            let settings = CatalystSettings { step, seed, stop, ..CatalystSettings::default() };
            let Solution { state, report } = catalyst(problem, &settings, None, watch)?;
            Ok((state.point, report))
        }
    }

    /// A rough solution on a tenth of the rows, where the rows are many: its cost is a tenth, and it saves
    /// about half of the steps on all of them. It counts in the report.
    fn head_start<R: ElasticNetForm, const W: bool>(
        &self,
        problem: &Problem<'_, D, L, R>,
    ) -> Result<Option<Solution<Point>>, Error> {
        // Without a regulariser a sample may be separable, and its solution at infinity. A few heavy rows need not
        // be in it.
        if !many_rows(problem) || self.l1 + self.l2 == 0.0 || self.weights.is_some() {
            return Ok(None);
        }
        let mut index: Vec<usize> = (0..problem.n()).collect();
        let (tenth, _) = index.partial_shuffle(&mut stream(self.seed, 1), problem.n() / 10);
        let targets: Vec<f64> = tenth.iter().map(|&i| self.targets[i]).collect();
        // One class has its optimum at infinity.
        if targets.iter().all(|y| *y == targets[0]) {
            return Ok(None);
        }
        let rows = Subset::new(self.design, tenth);
        let regulariser = problem.regulariser().weights();
        let sample = Problem::new(rows, &targets, self.loss, regulariser, self.l2)?;
        let sample = if self.intercept { sample.with_intercept() } else { sample };
        let max_seconds = self.stop.max_seconds;
        let stop = Stop { max_passes: 100.0, max_seconds, ..Stop::at_relative(1e-2) };
        let settings = NewtonSettings { seed: self.seed, stop, ..NewtonSettings::default() };
        let mut silent = Watch::<_, W>(|_: &Progress| ControlFlow::Continue(()));
        Ok(Some(newton(&sample, &settings, None, &mut silent)?))
    }

    /// The constant step saves exponentials and costs passes where a few rows are long.
    fn step<R: Separable>(&self, problem: &Problem<'_, D, L, R>) -> SdcaStep {
        let even = problem.largest_norm_squared() <= 4.0 * problem.mean_norm_squared();
        if self.quadratic || !even { SdcaStep::Exact } else { SdcaStep::Constant }
    }
}
