//! From hyper-parameters to a solution.

use std::ops::ControlFlow;

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Loss, Observer, Progress, Report, Solution, Stop};

use crate::auto::{AutoSettings, auto};
use crate::newton::ElasticNetForm;
use crate::{Error, Point, Problem};

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
}

impl<D: Design + Copy, L: Loss + Copy> Task<'_, D, L> {
    pub(super) fn solve<F: FnMut(&Progress) -> ControlFlow<()>, const W: bool>(
        self,
        watch: &mut Watch<F, W>,
    ) -> Result<(Point, Report), Error> {
        let Task { design, targets, loss, l1, l2, .. } = self;
        Invalid::check_nonnegative("l1", l1)?;
        if l1 > 0.0 {
            return self.run(Problem::new(design, targets, loss, L1 { strength: l1 }, l2)?, watch);
        }
        self.run(Problem::new(design, targets, loss, Zero, l2)?, watch)
    }

    fn run<R: ElasticNetForm + Clone, F, const W: bool>(
        &self,
        problem: Problem<'_, D, L, R>,
        watch: &mut Watch<F, W>,
    ) -> Result<(Point, Report), Error>
    where
        F: FnMut(&Progress) -> ControlFlow<()>,
    {
        let problem = if self.intercept { problem.with_intercept() } else { problem };
        let problem = match self.weights {
            None => problem,
            Some(weights) => problem.with_weights(weights)?,
        };
        let settings = AutoSettings { seed: self.seed, stop: self.stop, ..AutoSettings::default() };
        let Solution { state, report } = auto(&problem, &settings, None, watch)?;
        Ok((state.point, report))
    }
}
