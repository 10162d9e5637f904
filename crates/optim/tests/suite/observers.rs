//! Who looks at a run, and what is kept of it.

use std::ops::ControlFlow;

use crate::common::Toy;
use crate::protocol::{halving, looks, objective, stop, unknown};
use fenchel_optim::{Certificate, Observer, Progress, Report, Status, Trace, run};

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
    assert_eq!((report.status, looks(&pair.1).len()), (Status::Stopped, 4));
    assert_eq!(calls, 4);
    // The other way round, and three of them.
    let last = |progress: &Progress, _: &Toy<_>| {
        if progress.passes == 2.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut triple = (Trace::new(), (Trace::new(), last));
    let report = run(&mut Toy::new(halving), &stop(0.0, 9.0), &mut triple).unwrap();
    assert_eq!(report.status, Status::Stopped);
    assert_eq!(looks(&triple.0), [0.0, 1.0, 2.0]);
    assert_eq!(triple.0, triple.1.0);
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
        Certificate::Residual { objective: Some(1.25), norm: 1.0, error: 0.0 },
    ];
    let row =
        |passes: f64, certificate| Progress { passes, oracle_calls: 0, seconds: 0.0, certificate };
    let rows = rows.into_iter().enumerate().map(|(k, c)| row(2.0 * k as f64, c)).collect();
    let curve = Trace { rows }.suboptimality(1.0);
    assert_eq!(curve, [(0.0, 4.0), (4.0, 0.5), (6.0, 0.25)]);
    assert_eq!(Trace::new().suboptimality(1.0), []);
}
