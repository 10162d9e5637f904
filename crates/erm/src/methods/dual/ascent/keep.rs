//! Saved states of a run, to which it may return.

use fenchel_linalg::Design;
use fenchel_optim::{Certificate, Loss, Report, Separable, Solution, Status, Stop};

use super::{Ascent, Bias};
use crate::Point;
use crate::methods::dual::state::DualState;

impl<D: Design, L: Loss, R: Separable> Ascent<'_, '_, D, L, R> {
    /// A copy of the dual variables and of what is computed from them.
    pub(in crate::methods::dual) fn place(&self) -> DualPlace {
        (self.state.dual.clone(), self.direction.clone(), self.bias)
    }

    /// Restores a saved state, with the proximal centre that its direction belongs to.
    pub(in crate::methods::dual) fn go_back(
        &mut self,
        (dual, direction, bias): &DualPlace,
        centre: &[f64],
    ) {
        self.state.dual.clone_from(dual);
        self.direction.clone_from(direction);
        self.bias = *bias;
        self.centre.copy_from_slice(centre);
    }

    /// Stores the certified state as the best so far, unless the certificate belongs to an average.
    pub(in crate::methods::dual) fn keep(&mut self) {
        let best = self.best.take();
        self.best = Some(copied(best, &self.state));
    }

    /// Ends a run: the dual objective never falls, but its points may lie above the one where the run began. That one is returned
    /// then, beside the dual variables that were reached. Half a pass, but after a cold start that has converged, whose
    /// certificate was of its own point.
    pub(in crate::methods::dual) fn end(
        mut self,
        report: Report,
        stop: &Stop,
    ) -> Solution<DualState> {
        let mut report = report;
        let Ascent { problem, gap, begin, ceiling, state, visits, .. } = &mut self;
        let cold = begin.support() == 0 && *ceiling == f64::INFINITY;
        if !(cold && report.status == Status::Converged) {
            gap.primal(problem, begin);
            let objective = problem.objective_at(&gap.margins, &begin.weights);
            let rounding = |found: f64| 16.0 * f64::EPSILON * found.abs();
            let lower = |found: f64| objective < found - rounding(found) || found >= *ceiling;
            if objective.is_finite() && report.certificate.objective().is_none_or(lower) {
                report.certificate = match report.certificate {
                    Certificate::Gap { lower_bound, .. } => {
                        gap.bounded(problem, &begin.weights, (objective, lower_bound))
                    }
                    _ => gap.margins_certificate(problem, &begin.weights),
                };
                if stop.met_by(&report.certificate) {
                    report.status = Status::Converged;
                }
                state.point.clone_from(begin);
            }
        }
        let state = DualState { place: Some(visits.place()), ..self.state };
        Solution { report: self.problem.judged(report, &state.point), state }
    }

    /// Replaces the state by the best one, at the end of a run.
    pub(in crate::methods::dual) fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.state = best;
            self.restored = true;
        }
    }
}

/// Dual variables, their direction and intercept.
pub(in crate::methods::dual) type DualPlace = (Vec<f64>, Vec<f64>, Option<Bias>);

/// Copies point and dual variables, and reuses the memory of an older copy.
pub(in crate::methods::dual) fn copied(memory: Option<DualState>, of: &DualState) -> DualState {
    let mut copy = memory.unwrap_or_else(|| DualState::new(Point::default(), Vec::new()));
    copy.point.clone_from(&of.point);
    copy.dual.clone_from(&of.dual);
    copy
}
