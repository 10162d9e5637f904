//! Who looks at a run, and what is kept of it.

use std::ops::ControlFlow;

use crate::common::Toy;
use crate::protocol::{certified_at, halving, objective, stop, unknown};
use fenchel_optim::{
    Cadence, Certificate, Fit, Observer, Progress, Report, SharedWatch, Status, Stop, Trace, run,
};

#[test]
fn a_pair_shows_every_row_to_both() {
    let mut calls = 0;
    let first = |progress: &Progress, method: &Toy<_>| {
        assert_eq!(progress.passes, method.steps as f64);
        calls += 1;
        if progress.passes == 3.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut pair = (first, Trace::new());
    let report = run(&mut Toy::new(halving), &stop(0.0, 9.0), &mut pair).unwrap();
    assert_eq!((report.status, certified_at(&pair.1).len()), (Status::Stopped, 4));
    assert_eq!(calls, 4);
    // The other way round, and three of them.
    let last = |progress: &Progress, _: &Toy<_>| {
        if progress.passes == 2.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut triple = (Trace::new(), (Trace::new(), last));
    let report = run(&mut Toy::new(halving), &stop(0.0, 9.0), &mut triple).unwrap();
    assert_eq!(report.status, Status::Stopped);
    assert_eq!(certified_at(&triple.0), [0.0, 1.0, 2.0]);
    assert_eq!(triple.0, triple.1.0);
}

/// Asked after every pass, whatever the cadence of the checks.
#[test]
fn a_poll_ends_a_run_between_two_checks() {
    struct Impatient {
        polls: u64,
        checks: u64,
    }
    impl<M> Observer<M> for Impatient {
        fn polls(&self) -> bool {
            true
        }
        fn observe(&mut self, _: &Progress, _: &M) -> ControlFlow<()> {
            self.checks += 1;
            ControlFlow::Continue(())
        }
        fn poll(&mut self, _: &Progress, _: &M) -> ControlFlow<()> {
            self.polls += 1;
            if self.polls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let far = Stop { check: Cadence::Every(1000.0), ..stop(0.0, 5000.0) };
    let mut impatient = Impatient { polls: 0, checks: 0 };
    let report = run(&mut Toy::new(halving), &far, &mut impatient).unwrap();
    // The first check and the one that says what was reached.
    assert_eq!((report.status, report.passes, impatient.checks), (Status::Stopped, 3.0, 2));
    let mut pair = (Trace::new(), Impatient { polls: 0, checks: 0 });
    assert_eq!(run(&mut Toy::new(halving), &far, &mut pair).unwrap().passes, 3.0);
}

#[test]
fn the_closure_of_a_fit_is_called_at_every_pass() {
    let far = Stop { check: Cadence::Every(1000.0), ..stop(0.0, 7.0) };
    let mut passes = vec![];
    let mut note = |progress: &Progress| {
        passes.push(progress.passes);
        ControlFlow::Continue(())
    };
    let mut fit = Fit::<()>::new().watch(&mut note);
    run(&mut Toy::new(halving), &far, &mut fit.watch).unwrap();
    passes.dedup();
    assert_eq!(passes, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    // Without a closure the run is that of nobody.
    let mut fit = Fit::<()>::new();
    let watched = run(&mut Toy::new(halving), &far, &mut fit.watch).unwrap();
    assert_eq!(watched, run(&mut Toy::new(halving), &far, &mut ()).unwrap());
}

#[test]
fn a_break_ends_every_fit_that_shares_the_watch() {
    let mut calls = 0;
    let mut third = |_: &Progress| {
        calls += 1;
        if calls < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let shared = SharedWatch::from(Fit::<()>::new().watch(&mut third).watch);
    let status =
        || run(&mut Toy::new(halving), &stop(0.0, 9.0), &mut shared.each()).unwrap().status;
    assert!(!shared.stopped());
    assert_eq!((status(), shared.stopped(), status()), (Status::Stopped, true, Status::Stopped));
    assert_eq!(calls, 3);
}

#[test]
fn a_borrowed_closure_observes() {
    fn through<O: Observer<Toy<'static, fn(u64) -> Certificate>>>(mut observer: O) -> Report {
        run(&mut Toy::new(halving as fn(u64) -> Certificate), &stop(0.0, 2.0), &mut observer)
            .unwrap()
    }
    let mut steps = vec![];
    let mut watch = |_: &Progress, method: &Toy<'static, fn(u64) -> Certificate>| {
        steps.push(method.steps);
        ControlFlow::Continue(())
    };
    through(&mut watch);
    through(&mut watch);
    assert_eq!(steps, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn a_trace_gives_the_curve_of_the_rows_that_know_it() {
    let rows = [
        objective(5.0),
        unknown(0),
        halving(1),
        Certificate::Residual { objective: Some(1.25), norm: 1.0, error: 0.0, scale: None },
    ];
    let row =
        |passes: f64, certificate| Progress { passes, oracle_calls: 0, seconds: 0.0, certificate };
    let rows = rows.into_iter().enumerate().map(|(k, c)| row(2.0 * k as f64, c)).collect();
    let curve = Trace { rows }.suboptimality(1.0);
    assert_eq!(curve, [(0.0, 4.0), (4.0, 0.5), (6.0, 0.25)]);
    assert_eq!(Trace::new().suboptimality(1.0), []);
}
