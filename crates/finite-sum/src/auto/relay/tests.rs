use super::*;
use crate::Point;
use crate::auto::{MethodState, Reason};
use fenchel_optim::{Cadence, Certificate, Iterative, run};

fn judged(limit: f64, gap: impl Fn(f64) -> f64) -> Option<f64> {
    let mut outlook = Outlook::default();
    let gives_up = |passes: &f64| outlook.gives_up((*passes, gap(*passes)), 1e-6, limit);
    (0..200).map(f64::from).find(gives_up)
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
    let late = |passes: f64| 10f64.powf(-passes.min(15.0) / 3.0 - (passes - 15.0).max(0.0) / 300.0);
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

/// What a method of `relay` was given: its name, the weight that it starts at, and its passes.
type Given = (Method, Option<f64>, f64);

fn fall<O: Observer<Method>>(
    given: &mut Vec<Given>,
    (method, start, stop): (Method, Option<MethodState>, Stop),
    show: &mut Show<'_, O>,
) -> Result<(MethodState, Report), Error> {
    let passes = start.map(|mut start| start.point().weights[0]);
    given.push((method, passes, stop.max_passes));
    let digit = if method == Method::Catalyst { 100.0 } else { 10.0 };
    let mut falling = Falling { passes: passes.unwrap_or(0.0), digit };
    let report = run(&mut falling, &stop, show)?;
    Ok((Point { weights: vec![falling.passes], intercept: 0.0 }.into(), report))
}

/// What `relay` does with such methods, and what they were given.
fn relayed<O: Observer<Method>>(
    choice: Choice,
    stop: Stop,
    start: Option<AutoStart>,
    observer: &mut O,
) -> (Solution<AutoState>, Vec<Given>) {
    let mut given = vec![];
    let by =
        |method, start, stop, show: &mut Show<'_, O>| fall(&mut given, (method, start, stop), show);
    let solution = relay(choice, stop, start, observer, by).unwrap();
    (solution, given)
}

fn slow() -> Choice {
    let only = Choice::only(Method::Catalyst, Reason::Dual);
    Choice { promised: 20.0, newton_step: 3.0, ..only }
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
    let (Solution { state, report }, given) = relayed(slow(), stop, None, &mut observer);
    assert_eq!((state.point.weights, state.choice.switched), (vec![60.0], Some(Method::Newton)));
    // Three times the promise; then what is left, without guard.
    let first = (Method::Catalyst, None, 60.0);
    assert_eq!(given, [first, (Method::Newton, Some(10.0), 490.0)]);
    assert_eq!((report.passes, report.oracle_calls), (60.0, 14));
    assert_eq!(seen.len(), 11 + 51);
    assert_eq!(seen[10], (Method::Catalyst, 10.0));
    assert_eq!(seen[11], (Method::Newton, 10.0));
}

/// Interrupted anywhere the run goes on with the method that was at work, which is given up at the same look, by its pace or
/// by its passes.
#[test]
fn an_interrupted_relay_goes_on() {
    // The pace is too slow; or it would do, and the passes do not.
    for promised in [20.0, 210.0] {
        let choice = Choice { promised, ..slow() };
        let whole = |start, max_passes| relayed(choice, until(max_passes), start, &mut ()).0;
        let once = whole(None, 1000.0);
        assert_eq!(once.report.status, Status::Converged);
        let switched = if promised == 20.0 { Some(Method::Newton) } else { None };
        assert_eq!(once.state.choice.switched, switched);
        for (first, second) in (0..50).flat_map(|cut| [(cut, 0), (cut, 1), (cut, 3), (cut, 11)]) {
            let (mut state, mut passes) = (None, 0.0);
            for part in [f64::from(first), f64::from(second), 1000.0] {
                let part = whole(state, part);
                passes += part.report.passes;
                let text = serde_json::to_string(&part.state).unwrap();
                let read: AutoState = serde_json::from_str(&text).unwrap();
                assert_eq!(read, part.state);
                state = Some(AutoStart::State(Box::new(read)));
            }
            let Some(AutoStart::State(state)) = state else { unreachable!() };
            assert_eq!((*state, passes), (once.state.clone(), once.report.passes), "{first}");
        }
    }
}

/// The state of another choice is a warm start.
#[test]
fn a_state_of_another_choice_is_a_point() {
    let begun = relayed(slow(), until(45.0), None, &mut ()).0.state;
    assert_eq!(begun.choice.switched, Some(Method::Newton));
    let other = Choice { promised: 21.0, ..slow() };
    let begin = AutoStart::State(Box::new(begun));
    let (_, given) = relayed(other, until(3.0), Some(begin), &mut ());
    assert_eq!(given, [(Method::Catalyst, Some(45.0), 3.0)]);
}

/// What the observer ends is ended, and is no failure of the method.
#[test]
fn an_observer_that_ends_the_run_ends_it() {
    let mut ends = |_: &Progress, _: &Method| ControlFlow::Break(());
    let solution = relayed(slow(), Stop::default(), None, &mut ends);
    let (Solution { state, report }, given) = solution;
    assert_eq!((report.status, state.choice.switched, given.len()), (Status::Stopped, None, 1));
}
