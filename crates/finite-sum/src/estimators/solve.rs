//! Which method for which problem.

use std::ops::ControlFlow;

use fenchel_linalg::Design;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Loss, Observer, Progress, Report, Separable, Solution, Stop};

use crate::dual::{CatalystSettings, SdcaStep, catalyst};
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
    /// Whether the loss has a closed form for the exact dual step.
    pub(super) cheap_exact_step: bool,
}

impl<D: Design + Copy, L: Loss + Copy> Task<'_, D, L> {
    /// Catalyst, which is plain SDCA where there is nothing to accelerate; L-BFGS without any
    /// regulariser, where there is no dual to ascend.
    pub(super) fn solve<F: FnMut(&Progress) -> ControlFlow<()>, const W: bool>(
        self,
        watch: &mut Watch<F, W>,
    ) -> Result<(Point, Report), Error> {
        let Task { design, targets, loss, l1, l2, .. } = self;
        if l1 == 0.0 && l2 == 0.0 {
            let problem = self.posed(Problem::new(design, targets, loss, Zero, 0.0)?);
            let settings = LbfgsSettings { stop: self.stop, ..LbfgsSettings::default() };
            let Solution { state, report } = lbfgs(&problem, &settings, None, watch)?;
            Ok((state, report))
        } else if l1 == 0.0 {
            self.climb(Problem::new(design, targets, loss, Zero, l2)?, watch)
        } else {
            self.climb(Problem::new(design, targets, loss, L1 { strength: l1 }, l2)?, watch)
        }
    }

    fn posed<'a, R: Separable>(&self, problem: Problem<'a, D, L, R>) -> Problem<'a, D, L, R> {
        if self.intercept { problem.with_intercept() } else { problem }
    }

    fn climb<R: Separable, F: FnMut(&Progress) -> ControlFlow<()>, const W: bool>(
        &self,
        problem: Problem<'_, D, L, R>,
        watch: &mut Watch<F, W>,
    ) -> Result<(Point, Report), Error> {
        let problem = self.posed(problem);
        let settings = CatalystSettings {
            step: self.step(&problem),
            seed: self.seed,
            stop: self.stop,
            ..CatalystSettings::default()
        };
        let Solution { state, report } = catalyst(&problem, &settings, None, watch)?;
        Ok((state.point, report))
    }

    /// The constant step saves exponentials and costs passes where a few rows are long.
    fn step<R: Separable>(&self, problem: &Problem<'_, D, L, R>) -> SdcaStep {
        let even = problem.largest_norm_squared() <= 4.0 * problem.mean_norm_squared();
        if self.cheap_exact_step || !even { SdcaStep::Exact } else { SdcaStep::Constant }
    }
}
