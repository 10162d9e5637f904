//! From hyper-parameters to a solution.

use std::ops::ControlFlow;

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Loss, Observer, Progress, Report, Separable, Solution, Stop};

use super::choice::{Choice, choose};
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
            let problem = self.posed(Problem::new(design, targets, loss, L1 { strength: l1 }, l2)?);
            return self.run(&problem, watch);
        }
        let problem = self.posed(Problem::new(design, targets, loss, Zero, l2)?);
        if self.chosen(&problem) == Choice::Lbfgs {
            let settings = LbfgsSettings { stop: self.stop, ..LbfgsSettings::default() };
            let Solution { state, report } = lbfgs(&problem, &settings, None, watch)?;
            return Ok((state, report));
        }
        self.run(&problem, watch)
    }

    fn posed<'a, R: Separable>(&self, problem: Problem<'a, D, L, R>) -> Problem<'a, D, L, R> {
        if self.intercept { problem.with_intercept() } else { problem }
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
            let settings = NewtonSettings { seed, stop, ..NewtonSettings::default() };
            let Solution { state, report } = newton(problem, &settings, None, watch)?;
            Ok((state, report))
        } else {
            let step = self.step(problem);
            let settings = CatalystSettings { step, seed, stop, ..CatalystSettings::default() };
            let Solution { state, report } = catalyst(problem, &settings, None, watch)?;
            Ok((state.point, report))
        }
    }

    /// The constant step saves exponentials and costs passes where a few rows are long.
    fn step<R: Separable>(&self, problem: &Problem<'_, D, L, R>) -> SdcaStep {
        let even = problem.largest_norm_squared() <= 4.0 * problem.mean_norm_squared();
        if self.quadratic || !even { SdcaStep::Exact } else { SdcaStep::Constant }
    }
}
