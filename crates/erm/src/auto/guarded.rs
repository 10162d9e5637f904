//! Two runners: the second takes over where the first does not keep its promise.

use std::ops::ControlFlow;

use fenchel_optim::{Budget, Clock, Observer, Progress, Report, Solution, Status, Stop};

use super::choice::{Choice, Method};
use super::state::AutoState;
use crate::Error;

/// A method is given up after this many times its predicted passes. By judgement.
const PATIENCE: f64 = 3.0;
/// No method is given up for its number of passes before it has done this many: short predictions are the least reliable. By
/// judgement.
const LEAST: f64 = 50.0;
/// The first passes after which the pace is judged; it is judged again whenever the number has doubled. By judgement.
const FIRST_CHECK: f64 = 10.0;

/// Runs the method of the choice under guard, and the second one from where it stood if it was given up, stalled or diverged. `by`
/// runs one method from a point; the report adds up both, and the limits hold for both together.
pub(crate) fn guarded<P, O: Observer<Method>, C: Clock>(
    mut choice: Choice,
    mut budget: Budget<C>,
    start: Option<P>,
    observer: &mut O,
    mut by: impl FnMut(Method, Option<P>, Stop, &mut Guarded<'_, O>) -> Result<(P, Report), Error>,
) -> Result<Solution<AutoState<P>>, Error> {
    let whole = budget.left();
    let mut first = whole;
    let mut watch = Guarded::new(choice.method, observer);
    let second = choice.second;
    if second.is_some() {
        let limit = (PATIENCE * choice.promised).max(LEAST);
        first.max_passes = whole.max_passes.min(limit);
        watch.guard = choice.method.keeps_pace().then_some((limit, whole));
    }
    let (point, report) = by(choice.method, start, first, &mut watch)?;
    let report = budget.spend(report);
    let out_of_passes = report.status == Status::PassLimit && first.max_passes < whole.max_passes;
    let broken = matches!(report.status, Status::Stalled | Status::Diverged);
    let failed = watch.gave_up || out_of_passes || broken;
    let Some(second) = second.filter(|_| failed) else {
        return Ok(Solution { state: AutoState { point, choice }, report });
    };
    choice.switched = Some(second);
    let mut watch = Guarded { before: Some(report), ..Guarded::new(second, watch.observer) };
    let (point, report) = by(second, Some(point), budget.left(), &mut watch)?;
    Ok(Solution { state: AutoState { point, choice }, report: budget.spend(report) })
}

/// Shows an observer of `auto` the progress of a method, and ends it where the guard gives it up.
pub struct Guarded<'o, O> {
    observer: &'o mut O,
    method: Method,
    /// The account of the method that was given up.
    before: Option<Report>,
    /// Passes that the method may take in all, and when the run ends.
    guard: Option<(f64, Stop)>,
    forecast: Forecast,
    gave_up: bool,
}

impl<'o, O> Guarded<'o, O> {
    /// Without guard.
    pub fn new(method: Method, observer: &'o mut O) -> Self {
        let forecast = Forecast::default();
        Guarded { observer, method, before: None, guard: None, forecast, gave_up: false }
    }

    /// The progress of the whole call.
    fn in_all(&self, progress: &Progress) -> Progress {
        let mut seen = *progress;
        if let Some(before) = &self.before {
            seen.passes += before.passes;
            seen.oracle_calls += before.oracle_calls;
            seen.seconds += before.seconds;
        }
        seen
    }
}

impl<M: ?Sized, O: Observer<Method>> Observer<M> for Guarded<'_, O> {
    fn watches(&self) -> bool {
        self.observer.watches()
    }

    fn polls(&self) -> bool {
        self.observer.polls()
    }

    fn poll(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        self.observer.poll(&self.in_all(progress), &self.method)
    }

    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        self.observer.observe(&self.in_all(progress), &self.method)?;
        let Progress { passes, certificate, .. } = *progress;
        // A check at the limit says when the run ends, not how it goes.
        let Some((limit, stop)) = self.guard.filter(|(_, stop)| passes < stop.max_passes) else {
            return ControlFlow::Continue(());
        };
        let tolerance = stop.tolerance_for(&certificate);
        self.gave_up = self.forecast.gives_up((passes, certificate.value()), tolerance, limit);
        if self.gave_up { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Whether the pace of a run predicts that it will miss its promise.
#[derive(Debug, Clone, Copy)]
struct Forecast {
    /// The smallest certificate so far.
    best: f64,
    /// Passes and smallest certificate at the last check.
    mark: Option<(f64, f64)>,
    next: f64,
}

impl Default for Forecast {
    fn default() -> Self {
        Forecast { best: f64::INFINITY, mark: None, next: 0.5 * FIRST_CHECK }
    }
}

impl Forecast {
    /// Linear convergence is a straight line of the logarithm over passes: between two checks, the later at twice the
    /// passes of the earlier, it is extended to the tolerance.
    fn gives_up(&mut self, (passes, value): (f64, f64), tolerance: f64, limit: f64) -> bool {
        self.best = self.best.min(value);
        if passes < self.next || value <= tolerance {
            return false;
        }
        self.next = 2.0 * passes;
        let Some((from, high)) = self.mark.replace((passes, self.best)) else { return false };
        let rate = (high / self.best).ln() / (passes - from);
        let needed = (self.best / tolerance).ln() / rate;
        high.is_finite() && !(passes + needed <= limit)
    }
}

#[cfg(test)]
mod tests;
