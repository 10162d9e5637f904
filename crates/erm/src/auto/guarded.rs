//! Runners in turn: the next takes over where one does not keep its promise.

use std::ops::ControlFlow;

use fenchel_linalg::Design;
use fenchel_optim::{Budget, Clock, Observer, Progress, Report, Solution, Status, Stop};

use super::choice::{AutoState, Choice, Method};
use crate::Error;

/// A method is given up after this many times its predicted passes. By judgement.
const PATIENCE: f64 = 3.0;
/// No method is given up for its number of passes before it has done this many: short predictions are the least reliable. By
/// judgement.
const LEAST: f64 = 50.0;
/// The first passes after which the pace is judged; it is judged again whenever the number has doubled. By judgement.
const FIRST_CHECK: f64 = 10.0;

/// Why L-BFGS, where it was on trial.
const WENT_WELL: &str = "it went well on trial";
/// A trial is for dense data with at least so many numbers: sparse data were not in its ablation, and less is fitted in milliseconds.
const TRIED: usize = 100_000;

/// Whether a trial of L-BFGS is offered on these data.
pub(crate) fn offers_trial<D: Design>(design: &D) -> bool {
    D::DENSE && design.stored() >= TRIED
}

/// Runs the method of the choice under guard, and the second one from where it stood if it was given up, stalled or diverged. Where
/// the choice asks for a trial, L-BFGS runs before both. `by` runs one method from a point; the report adds up all, and the limits hold
/// for all together.
pub(crate) fn guarded<P, C: Clock>(
    mut choice: Choice,
    mut budget: Budget<C>,
    start: Option<P>,
    observer: &mut dyn Observer<Method>,
    mut by: impl FnMut(Method, Option<P>, Stop, &mut Guarded<'_>) -> Result<(P, Report), Error>,
) -> Result<Solution<AutoState<P>>, Error> {
    let promised = choice.second.map(|_| (PATIENCE * choice.promised).max(LEAST));
    let trial = choice.trial.map(|most| (Method::Lbfgs, Some(most)));
    let turns = [trial, Some((choice.method, promised)), choice.second.map(|next| (next, None))];
    let mut turns = turns.into_iter().flatten().peekable();
    let (mut start, mut watch) = (start, Guarded::new(choice.method, observer));
    loop {
        let (method, limit) = turns.next().expect("the last one returns");
        let mut stop = budget.left();
        if let Some(limit) = limit {
            stop.max_passes = stop.max_passes.min(limit);
        }
        let guard = limit.filter(|_| method.keeps_pace()).map(|limit| (limit, budget.left()));
        let before = budget.spent().copied();
        watch = Guarded { guard, before, ..Guarded::new(method, watch.observer) };
        let (point, report) = by(method, start, stop, &mut watch)?;
        let out_of_passes =
            report.status == Status::PassLimit && stop.max_passes < budget.left().max_passes;
        let report = budget.spend(report);
        let broken = matches!(report.status, Status::Stalled | Status::Diverged);
        let failed = watch.gave_up || out_of_passes || broken;
        if failed && turns.peek().is_some() {
            start = Some(point);
            continue;
        }
        if method != choice.method && limit.is_some() {
            choice = Choice { method, reason: Some(WENT_WELL.to_owned()), ..choice };
        } else if method != choice.method {
            choice.switched = Some(method);
        }
        return Ok(Solution { state: AutoState { point, choice }, report });
    }
}

/// Shows an observer of `auto` the progress of a method, and ends it where the guard gives it up.
pub struct Guarded<'o> {
    observer: &'o mut dyn Observer<Method>,
    method: Method,
    /// The account of the method that was given up.
    before: Option<Report>,
    /// Passes that the method may take in all, and when the run ends.
    guard: Option<(f64, Stop)>,
    forecast: Forecast,
    gave_up: bool,
}

impl<'o> Guarded<'o> {
    /// Without guard.
    pub fn new(method: Method, observer: &'o mut dyn Observer<Method>) -> Self {
        let forecast = Forecast::default();
        Guarded { observer, method, before: None, guard: None, forecast, gave_up: false }
    }

    /// The progress of the whole call.
    fn in_all(&self, progress: &Progress) -> Progress {
        progress.with_spent(self.before.as_ref())
    }
}

impl<M: ?Sized> Observer<M> for Guarded<'_> {
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
mod tests {
    use super::*;
    use crate::Point;
    use fenchel_optim::{Cadence, Certificate, Iterative, run};
    use std::cell::Cell;

    fn judged(limit: f64, gap: impl Fn(f64) -> f64) -> Option<f64> {
        let mut forecast = Forecast::default();
        let gives_up = |passes: &f64| forecast.gives_up((*passes, gap(*passes)), 1e-6, limit);
        (0..200).map(f64::from).find(gives_up)
    }

    /// A digit every ten passes reaches 1e-6 after 60.
    #[test]
    fn a_straight_line_is_judged_at_the_first_check() {
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

    /// A method whose gap falls by a digit every so many passes; its point counts them.
    struct Falling {
        passes: f64,
        digit: f64,
    }

    impl Iterative for Falling {
        fn advance(&mut self, passes: f64) -> f64 {
            let steps = passes.round().max(1.0);
            self.passes += steps;
            steps
        }

        fn certify(&mut self) -> Certificate {
            Certificate::gap(10f64.powf(-self.passes / self.digit), 0.0)
        }

        fn oracle_calls(&self) -> u64 {
            7
        }
    }

    /// What a method of `guarded` was given: its name, the weight that it starts at, and its passes.
    type Given = (Method, Option<f64>, f64);

    fn fall(
        given: &mut Vec<Given>,
        (method, start, stop): (Method, Option<Point>, Stop),
        watch: &mut Guarded<'_>,
    ) -> Result<(Point, Report), Error> {
        let passes = start.map(|start| start.weights[0]);
        given.push((method, passes, stop.max_passes));
        let digit = if method == Method::Catalyst { 100.0 } else { 10.0 };
        let mut falling = Falling { passes: passes.unwrap_or(0.0), digit };
        let report = run(&mut falling, &stop, watch)?;
        Ok((Point { weights: vec![falling.passes], intercept: 0.0 }, report))
    }

    /// What `guarded` does with such methods, and what they were given.
    fn taken_over(
        choice: Choice,
        stop: Stop,
        start: Option<Point>,
        observer: &mut dyn Observer<Method>,
    ) -> (Solution<AutoState>, Vec<Given>) {
        let mut given = vec![];
        let by = |method, start, stop, watch: &mut Guarded<'_>| {
            fall(&mut given, (method, start, stop), watch)
        };
        let solution = guarded(choice, Budget::new(stop), start, observer, by).unwrap();
        (solution, given)
    }

    fn slow() -> Choice {
        let only = Choice::only(Method::Catalyst, "a test");
        Choice { promised: 20.0, second: Some(Method::Newton), ..only }
    }

    fn until(max_passes: f64) -> Stop {
        Stop { absolute: 1e-6, relative: 0.0, max_passes, ..Stop::default() }
    }

    /// A method of a digit every hundred passes is given up at the first look; what it left goes to the second method,
    /// whose account is added to its own. An observer sees the passes go on.
    #[test]
    fn the_second_method_goes_on_where_the_first_was_given_up() {
        let stop = Stop { check: Cadence::Every(1.0), ..until(500.0) };
        let mut seen = vec![];
        let mut observer = |progress: &Progress, method: &Method| {
            seen.push((*method, progress.passes));
            ControlFlow::Continue(())
        };
        let (Solution { state, report }, given) = taken_over(slow(), stop, None, &mut observer);
        assert_eq!(
            (state.point.weights, state.choice.switched),
            (vec![60.0], Some(Method::Newton))
        );
        // Three times the promise; then what is left, without guard.
        let first = (Method::Catalyst, None, 60.0);
        assert_eq!(given, [first, (Method::Newton, Some(10.0), 490.0)]);
        assert_eq!((report.passes, report.oracle_calls), (60.0, 14));
        assert_eq!(seen.len(), 11 + 51);
        assert_eq!(seen[10], (Method::Catalyst, 10.0));
        assert_eq!(seen[11], (Method::Newton, 10.0));
    }

    /// The limits hold for both methods together: passes, and seconds on the wall, of which more go by than those of the
    /// method itself.
    #[test]
    fn limits_hold_for_both_methods() {
        struct Watch(Cell<f64>);
        impl Clock for &Watch {
            fn seconds(&self) -> f64 {
                self.0.get()
            }
        }
        let watch = Watch(Cell::new(50.0));
        let mut given = vec![];
        let by = |_: Method, _: Option<Point>, stop: Stop, _: &mut Guarded<'_>| {
            given.push((stop.max_passes, stop.max_seconds));
            watch.0.set(watch.0.get() + 7.0);
            let (status, certificate) = (Status::Stalled, Certificate::gap(1.0, 0.0));
            let report = Report { status, certificate, passes: 4.0, oracle_calls: 1, seconds: 0.5 };
            Ok((Point::zero(1), report))
        };
        let stop = Stop { max_seconds: Some(10.0), ..until(9.0) };
        let solution = guarded(slow(), Budget::by(&watch, stop), None, &mut (), by).unwrap();
        assert_eq!(given, [(9.0, Some(10.0)), (5.0, Some(3.0))]);
        let Report { passes, oracle_calls, seconds, .. } = solution.report;
        assert_eq!((passes, oracle_calls, seconds), (8.0, 2, 1.0));
    }

    /// L-BFGS on trial, with a digit every ten passes here: it ends within 70 passes, and is given up at the first look where it may
    /// take 50. Then the chosen method goes on from there, under its own guard, and the second one from where that stands.
    #[test]
    fn a_trial_comes_before_the_choice() {
        let stop = Stop { check: Cadence::Every(1.0), ..until(500.0) };
        let tried = |most| Choice { trial: Some(most), ..slow() };
        let (Solution { state, report }, given) = taken_over(tried(70.0), stop, None, &mut ());
        assert_eq!(given, [(Method::Lbfgs, None, 70.0)]);
        assert_eq!(
            (state.choice.method, state.choice.reason.as_deref()),
            (Method::Lbfgs, Some(WENT_WELL))
        );
        assert_eq!((report.status, report.passes), (Status::Converged, 60.0));
        let (Solution { state, report }, given) = taken_over(tried(50.0), stop, None, &mut ());
        let chosen = (Method::Catalyst, Some(10.0), 60.0);
        assert_eq!(
            given,
            [(Method::Lbfgs, None, 50.0), chosen, (Method::Newton, Some(20.0), 480.0)]
        );
        let Choice { method, reason, switched, .. } = state.choice;
        assert_eq!(
            (method, reason.as_deref(), switched),
            (Method::Catalyst, Some("a test"), Some(Method::Newton))
        );
        assert_eq!((report.status, report.passes), (Status::Converged, 60.0));
        // The passes of the call are no promise of the trial.
        let (Solution { report, .. }, given) = taken_over(tried(50.0), until(20.0), None, &mut ());
        assert_eq!((report.status, report.passes, given.len()), (Status::PassLimit, 20.0, 1));
    }

    /// What the observer ends is ended, and is no failure of the method.
    #[test]
    fn an_observer_that_ends_the_run_ends_it() {
        let mut ends = |_: &Progress, _: &Method| ControlFlow::Break(());
        let solution = taken_over(slow(), Stop::default(), None, &mut ends);
        let (Solution { state, report }, given) = solution;
        assert_eq!((report.status, state.choice.switched, given.len()), (Status::Stopped, None, 1));
    }
}
