//! Which method for which problem.

use fenchel_linalg::Design;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Loss, Report, Solution, Stop};

use crate::dual::{CatalystSettings, DualState, SdcaStep, catalyst};
use crate::{Error, Point, Problem, lbfgs};

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
}

impl<D: Design, L: Loss> Task<'_, D, L> {
    /// Catalyst, which is plain SDCA where there is nothing to accelerate; L-BFGS without any
    /// regulariser, where there is no dual to ascend.
    pub(super) fn solve(self) -> Result<(Point, Report), Error> {
        let Task { design, targets, loss, l1, l2, intercept, stop, seed } = self;
        let settings = |constant: bool| CatalystSettings {
            step: if constant { SdcaStep::Constant } else { SdcaStep::Exact },
            seed,
            stop,
            ..CatalystSettings::default()
        };
        let solution: Solution<DualState> = if l1 > 0.0 {
            let problem = Problem::new(design, targets, loss, L1 { strength: l1 }, l2)?;
            let problem = if intercept { problem.with_intercept() } else { problem };
            catalyst(&problem, &settings(false), None, &mut ())?
        } else {
            let problem = Problem::new(design, targets, loss, Zero, l2)?;
            let problem = if intercept { problem.with_intercept() } else { problem };
            if l2 == 0.0 {
                let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
                let Solution { state, report } = lbfgs(&problem, &settings, None, &mut ())?;
                return Ok((state, report));
            }
            catalyst(&problem, &settings(false), None, &mut ())?
        };
        Ok((solution.state.point, solution.report))
    }
}
