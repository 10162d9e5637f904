//! Two runners: the second takes over where the first does not keep its promise.

use std::ops::ControlFlow;

use fenchel_optim::{Observer, Progress, Report, Solution, Status, Stop};

use super::choice::{Choice, Method};
use super::run::AutoState;
use crate::Error;

/// A method that needs this many times its predicted passes is given up.
const PATIENCE: f64 = 3.0;
/// Before so many passes no method is, by their number.
const LEAST: f64 = 50.0;
/// The pace is judged after so many passes for the first time, and whenever they have doubled.
const FIRST_LOOK: f64 = 10.0;

/// Runs the method of the choice under guard, and the second one from where it stood if it was given up or stalled. `by`
/// runs one method from a start; the report adds up both.
pub(crate) fn relay<P, O: Observer<Method>>(
    mut choice: Choice,
    stop: Stop,
    start: Option<P>,
    observer: &mut O,
    mut by: impl FnMut(Method, Option<P>, Stop, &mut Show<'_, O>) -> Result<(P, Report), Error>,
) -> Result<Solution<AutoState<P>>, Error> {
    let (first, second) = (choice.method, choice.second());
    let limit = (PATIENCE * choice.promised).max(LEAST);
    let mut show = Show { observer, method: first, before: None, guard: None, gave_up: false };
    let mut first_stop = stop;
    if second.is_some() {
        first_stop.max_passes = stop.max_passes.min(limit);
        show.guard = first.keeps_pace().then(|| Guard::new(limit, stop));
    }
    let (point, report) = by(first, start, first_stop, &mut show)?;
    let out_of_passes =
        report.status == Status::PassLimit && first_stop.max_passes < stop.max_passes;
    let failed = show.gave_up || out_of_passes || report.status == Status::Stalled;
    let Some(second) = second.filter(|_| failed) else {
        return Ok(Solution { state: AutoState { point, choice }, report });
    };
    choice.switched = Some(second);
    let rest = Stop {
        max_passes: (stop.max_passes - report.passes).max(0.0),
        max_seconds: stop.max_seconds.map(|limit| (limit - report.seconds).max(0.0)),
        ..stop
    };
    let observer = show.observer;
    let mut show =
        Show { observer, method: second, before: Some(report), guard: None, gave_up: false };
    let (point, after) = by(second, Some(point), rest, &mut show)?;
    let report = Report {
        passes: report.passes + after.passes,
        oracle_calls: report.oracle_calls + after.oracle_calls,
        seconds: report.seconds + after.seconds,
        ..after
    };
    Ok(Solution { state: AutoState { point, choice }, report })
}

/// Shows an observer of `auto` the progress of a method, and ends it where the guard gives it up.
pub(crate) struct Show<'o, O> {
    observer: &'o mut O,
    method: Method,
    /// The account of the method that was given up.
    before: Option<Report>,
    guard: Option<Guard>,
    gave_up: bool,
}

#[cfg(test)]
impl<'o, O> Show<'o, O> {
    /// Without guard.
    pub(crate) fn alone(method: Method, observer: &'o mut O) -> Self {
        Show { observer, method, before: None, guard: None, gave_up: false }
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
        if self.guard.as_mut().is_some_and(|guard| guard.gives_up(progress)) {
            self.gave_up = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Whether the pace of a run predicts that it will miss its promise.
#[derive(Debug, Clone)]
struct Guard {
    /// Passes that the run may take.
    limit: f64,
    stop: Stop,
    /// The smallest certificate so far.
    best: f64,
    /// Passes and smallest certificate at the last look.
    mark: Option<(f64, f64)>,
    next: f64,
}

impl Guard {
    fn new(limit: f64, stop: Stop) -> Self {
        Guard { limit, stop, best: f64::INFINITY, mark: None, next: 0.5 * FIRST_LOOK }
    }

    /// Linear convergence is a straight line of the logarithm over passes: between two looks, the later at twice the
    /// passes of the earlier, it is extended to the tolerance.
    fn gives_up(&mut self, progress: &Progress) -> bool {
        let (passes, certificate) = (progress.passes, progress.certificate);
        self.best = self.best.min(certificate.value());
        let tolerance = self.stop.tolerance(certificate.objective());
        if passes < self.next || certificate.value() <= tolerance {
            return false;
        }
        self.next = 2.0 * passes;
        let Some((from, high)) = self.mark.replace((passes, self.best)) else { return false };
        let rate = (high / self.best).ln() / (passes - from);
        let needed = (self.best / tolerance).ln() / rate;
        high.is_finite() && !(passes + needed <= self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::Reason;
    use fenchel_optim::Certificate;

    fn judged(limit: f64, gap: impl Fn(f64) -> f64) -> Option<f64> {
        let stop = Stop { absolute: 1e-6, relative: 0.0, ..Stop::default() };
        let mut guard = Guard::new(limit, stop);
        (0..200).map(f64::from).find(|&passes| {
            let certificate = Certificate::gap(gap(passes), 0.0);
            let progress = Progress { passes, oracle_calls: 0, seconds: 0.0, certificate };
            guard.gives_up(&progress)
        })
    }

    /// A digit every ten passes reaches 1e-6 after 60.
    #[test]
    fn a_straight_line_is_judged_at_the_first_look() {
        let line = |passes: f64| 10f64.powf(-passes / 10.0);
        assert_eq!(judged(61.0, line), None);
        assert_eq!(judged(59.0, line), Some(10.0));
    }

    #[test]
    fn a_run_that_slows_down_is_judged_when_it_does() {
        // A digit a pass up to 5 passes, then one every hundred.
        let kink = |passes: f64| 10f64.powf(-passes.min(4.0) - (passes - 4.0).max(0.0) / 100.0);
        assert_eq!(judged(100.0, kink), Some(10.0));
        // The same at 15 passes is seen between 20 and 40.
        let late =
            |passes: f64| 10f64.powf(-passes.min(15.0) / 3.0 - (passes - 15.0).max(0.0) / 300.0);
        assert_eq!(judged(100.0, late), Some(40.0));
        // No progress at all.
        assert_eq!(judged(1e9, |_| 1.0), Some(10.0));
        // Nothing is known of an infinite gap.
        assert_eq!(judged(1e9, |_| f64::INFINITY), None);
    }

    /// A method of a digit every hundred passes is given up at the first look; what it left goes to the second method,
    /// whose account is added to its own. An observer sees the passes go on.
    #[test]
    fn the_second_method_goes_on_where_the_first_was_given_up() {
        let slow = Choice {
            promised: 20.0,
            newton_step: 3.0,
            ..Choice::only(Method::Catalyst, Reason::Dual)
        };
        let stop = Stop { absolute: 1e-6, relative: 0.0, max_passes: 500.0, ..Stop::default() };
        let mut seen = vec![];
        let mut observer = |progress: &Progress, method: &Method| {
            seen.push((*method, progress.passes));
            ControlFlow::Continue(())
        };
        let mut starts = vec![];
        let by = |method, start: Option<&'static str>, stop: Stop, show: &mut Show<'_, _>| {
            starts.push((method, start, stop.max_passes));
            let mut report = Report {
                status: Status::PassLimit,
                certificate: Certificate::gap(1.0, 0.0),
                passes: 0.0,
                oracle_calls: 7,
                seconds: 0.5,
            };
            while report.passes < 40.0 {
                let gap = 10f64.powf(-report.passes / 100.0);
                let certificate = Certificate::gap(gap, 0.0);
                let progress =
                    Progress { passes: report.passes, oracle_calls: 7, seconds: 0.5, certificate };
                if show.observe(&progress, &()).is_break() {
                    report.status = Status::Stopped;
                    break;
                }
                report.passes += 1.0;
            }
            Ok(("there", report))
        };
        let Solution { state, report } = relay(slow, stop, None, &mut observer, by).unwrap();
        assert_eq!((state.point, state.choice.switched), ("there", Some(Method::Newton)));
        // Three times the promise; then what is left, without guard.
        let first = (Method::Catalyst, None, 60.0);
        assert_eq!(starts, [first, (Method::Newton, Some("there"), 490.0)]);
        assert_eq!((report.passes, report.oracle_calls, report.seconds), (50.0, 14, 1.0));
        assert_eq!(seen.len(), 11 + 40);
        assert_eq!(seen[10], (Method::Catalyst, 10.0));
        assert_eq!(seen[11], (Method::Newton, 10.0));
    }

    /// What the observer ends is ended, and is no failure of the method.
    #[test]
    fn an_observer_that_ends_the_run_ends_it() {
        let choice = Choice {
            promised: 20.0,
            newton_step: 3.0,
            ..Choice::only(Method::Catalyst, Reason::Dual)
        };
        let mut ends = |_: &Progress, _: &Method| ControlFlow::Break(());
        let mut runs = 0;
        let by = |_, _: Option<()>, _, show: &mut Show<'_, _>| {
            runs += 1;
            let certificate = Certificate::gap(1.0, 0.0);
            let progress = Progress { passes: 0.0, oracle_calls: 0, seconds: 0.0, certificate };
            assert!(show.observe(&progress, &()).is_break());
            let status = Status::Stopped;
            Ok(((), Report { status, certificate, passes: 0.0, oracle_calls: 0, seconds: 0.0 }))
        };
        let Solution { state, report } =
            relay(choice, Stop::default(), None, &mut ends, by).unwrap();
        assert_eq!((report.status, state.choice.switched, runs), (Status::Stopped, None, 1));
    }
}
