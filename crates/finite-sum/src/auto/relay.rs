//! Two runners: the second takes over where the first does not keep its promise.

use std::ops::ControlFlow;

use fenchel_optim::{Journal, Observer, Progress, Report, Solution, Status, Stop};
use serde::{Deserialize, Serialize};

use super::choice::{Choice, Method};
use super::state::{AutoStart, AutoState, Leg, OneOf};
use crate::Error;

/// A method that needs this many times its predicted passes is given up.
const PATIENCE: f64 = 3.0;
/// Before so many passes no method is, by their number.
const LEAST: f64 = 50.0;
/// The pace is judged after so many passes for the first time, and whenever they have doubled.
const FIRST_LOOK: f64 = 10.0;

/// Runs the method of the choice under guard, and the second one from where it stood if it was given up, stalled or diverged. `by`
/// runs one method from its own state, or one made of a point; the report adds up both. A state of the same choice goes on with
/// the method that was at work.
pub(crate) fn relay<P: Default, S: OneOf<P>, O: Observer<Method>>(
    mut choice: Choice,
    stop: Stop,
    start: Option<AutoStart<P, S>>,
    observer: &mut O,
    mut by: impl FnMut(Method, Option<S>, Stop, &mut Show<'_, O>) -> Result<(S, Report), Error>,
) -> Result<Solution<AutoState<P, S>>, Error> {
    let (mut start, leg) = match start {
        None => (None, Leg::default()),
        Some(AutoStart::Point(point)) => (Some(S::from(point)), Leg::default()),
        Some(AutoStart::State(state)) => {
            let (state, leg) = state.resume(&mut choice);
            (Some(state), leg)
        }
    };
    let mut show = Show::new(choice.method, observer, leg);
    let mut rest = stop;
    if choice.switched.is_none() {
        let second = choice.second();
        if second.is_some() {
            let limit = (PATIENCE * choice.promised).max(LEAST);
            let left = (limit - leg.journal.passes()).max(0.0);
            rest.max_passes = stop.max_passes.min(left);
            show.guard = choice.method.keeps_pace().then_some((limit, stop));
        }
        let (mut state, report) = by(choice.method, start, rest, &mut show)?;
        let out_of_passes = report.status == Status::PassLimit && rest.max_passes < stop.max_passes;
        let broken = matches!(report.status, Status::Stalled | Status::Diverged);
        let failed = show.gave_up || out_of_passes || broken;
        if second.is_none() || !failed {
            return Ok(Solution { state: AutoState::new(choice, state, show.leg), report });
        }
        choice.switched = second;
        start = Some(std::mem::take(state.point()).into());
        rest = Stop {
            max_passes: (stop.max_passes - report.passes).max(0.0),
            max_seconds: stop.max_seconds.map(|limit| (limit - report.seconds).max(0.0)),
            ..stop
        };
        show = Show {
            before: Some(report),
            ..Show::new(choice.method, show.observer, Leg::default())
        };
    }
    show.method = choice.switched.unwrap_or(choice.method);
    let (state, mut report) = by(show.method, start, rest, &mut show)?;
    if let Some(before) = show.before {
        report.passes += before.passes;
        report.oracle_calls += before.oracle_calls;
        report.seconds += before.seconds;
    }
    Ok(Solution { state: AutoState::new(choice, state, show.leg), report })
}

/// Shows an observer of `auto` the progress of a method, and ends it where the guard gives it up.
pub(crate) struct Show<'o, O> {
    observer: &'o mut O,
    method: Method,
    /// The account of the method that was given up.
    before: Option<Report>,
    /// Passes that the method may take in all, and when it would end.
    guard: Option<(f64, Stop)>,
    leg: Leg,
    gave_up: bool,
}

impl<'o, O> Show<'o, O> {
    /// Without guard.
    pub(crate) fn new(method: Method, observer: &'o mut O, leg: Leg) -> Self {
        Show { observer, method, before: None, guard: None, leg, gave_up: false }
    }
}

impl<M: ?Sized, O: Observer<Method>> Observer<M> for Show<'_, O> {
    const WATCHES: bool = O::WATCHES;

    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        let mut shown = *progress;
        if let Some(before) = &self.before {
            shown.passes += before.passes;
            shown.oracle_calls += before.oracle_calls;
            shown.seconds += before.seconds;
        }
        self.observer.observe(&shown, &self.method)?;
        let Leg { journal, outlook } = &mut self.leg;
        // A look at a limit says when the run ends, not how it goes.
        let Some((limit, stop)) = self.guard.filter(|_| journal.due()) else {
            return ControlFlow::Continue(());
        };
        let certificate = progress.certificate;
        let tolerance = stop.tolerance(certificate.objective());
        let place = (journal.passes(), journal.value(&certificate));
        self.gave_up = outlook.gives_up(place, tolerance, limit);
        if self.gave_up { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn journal(&mut self) -> Option<&mut Journal> {
        Some(&mut self.leg.journal)
    }
}

/// Whether the pace of a run predicts that it will miss its promise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outlook {
    /// The smallest certificate so far.
    #[serde(with = "fenchel_optim::limit")]
    best: f64,
    /// Passes and smallest certificate at the last look.
    mark: Option<Mark>,
    next: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Mark {
    passes: f64,
    #[serde(with = "fenchel_optim::limit")]
    best: f64,
}

impl Default for Outlook {
    fn default() -> Self {
        Outlook { best: f64::INFINITY, mark: None, next: 0.5 * FIRST_LOOK }
    }
}

impl Outlook {
    /// Linear convergence is a straight line of the logarithm over passes: between two looks, the later at twice the
    /// passes of the earlier, it is extended to the tolerance.
    fn gives_up(&mut self, (passes, value): (f64, f64), tolerance: f64, limit: f64) -> bool {
        self.best = self.best.min(value);
        if passes < self.next || value <= tolerance {
            return false;
        }
        self.next = 2.0 * passes;
        let here = Mark { passes, best: self.best };
        let Some(last) = self.mark.replace(here) else { return false };
        let rate = (last.best / self.best).ln() / (passes - last.passes);
        let needed = (self.best / tolerance).ln() / rate;
        last.best.is_finite() && !(passes + needed <= limit)
    }
}

#[cfg(test)]
mod tests;
