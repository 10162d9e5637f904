//! The outer loop: how runs end, and what they prove.

use std::ops::ControlFlow;

use crate::common::{Toy, Watch};
use fenchel_linalg::Invalid;
use fenchel_optim::{
    Cadence, Certificate, CertificateCost, Progress, Status, StepSize, Stop, Trace, run, run_by,
};

/// `1 + 2^-k` above a lower bound of 1: both exact, the gap is `2^-k`.
pub(crate) fn halving(k: u64) -> Certificate {
    Certificate::gap(1.0 + 0.5f64.powi(k as i32), 1.0)
}

pub(crate) fn unknown(_: u64) -> Certificate {
    Certificate::Uncertified { objective: None }
}

pub(crate) fn objective(value: f64) -> Certificate {
    Certificate::Uncertified { objective: Some(value) }
}

/// Every pass, up to so many, until the certificate is at most `absolute`.
pub(crate) fn stop(absolute: f64, passes: f64) -> Stop {
    Stop { absolute, ..Stop::after_passes(passes) }
}

/// The passes at which a run was certified.
pub(crate) fn certified_at(trace: &Trace) -> Vec<f64> {
    trace.rows.iter().map(|row| row.passes).collect()
}

// ---- every status

#[test]
fn converged_as_soon_as_the_certificate_meets_the_tolerance() {
    let mut toy = Toy::new(halving);
    let report = run(&mut toy, &stop(0.5f64.powi(5), 100.0), &mut ()).unwrap();
    assert_eq!(report.status, Status::Converged);
    assert_eq!((report.passes, toy.steps, report.oracle_calls), (5.0, 5, 15));
    assert_eq!(report.certificate, halving(5));
    // The relative tolerance is a fraction of the objective: 2^-k <= 0.1 (1 + 2^-k) from k = 4 on.
    let relative = Stop { absolute: 0.0, relative: 0.1, ..stop(0.0, 100.0) };
    assert_eq!(run(&mut Toy::new(halving), &relative, &mut ()).unwrap().passes, 4.0);
    // Either tolerance will do.
    let both = Stop { absolute: 0.25, ..relative };
    assert_eq!(run(&mut Toy::new(halving), &both, &mut ()).unwrap().passes, 2.0);
}

#[test]
fn a_pass_limit_is_no_error() {
    let mut toy = Toy::new(halving);
    let report = run(&mut toy, &stop(0.0, 7.0), &mut ()).unwrap();
    assert_eq!((report.status, report.passes, toy.steps), (Status::PassLimit, 7.0, 7));
    assert_eq!(report.certificate, halving(7));
}

#[test]
fn a_time_limit_is_no_error_and_cuts_long_rounds() {
    let mut toy = Toy::new(halving);
    let none = Stop { max_seconds: Some(0.0), ..stop(0.0, 7.0) };
    let report = run(&mut toy, &none, &mut ()).unwrap();
    assert_eq!((report.status, report.passes, toy.steps), (Status::TimeLimit, 0.0, 0));
    assert_eq!(report.certificate, halving(0));

    // Steps of 2 seconds each, and certificates of 1: in 10 seconds there is time for the first certificate and five steps, the last of
    // which outlasts the limit.
    let watch = Watch::default();
    watch.pass(1e9);
    let mut toy = Toy::new(unknown);
    toy.pause = Some((&watch, 2.0, 1.0));
    let short = Stop {
        max_seconds: Some(10.0),
        max_passes: f64::INFINITY,
        check: Cadence::Every(1e6),
        ..Stop::default()
    };
    let report = run_by(&mut toy, &short, &mut (), &watch).unwrap();
    assert_eq!((report.status, report.seconds), (Status::TimeLimit, 10.0));
    // The round was asked for in passes, so that it could be cut.
    assert_eq!((report.passes, toy.steps, toy.largest_request), (5.0, 5, 1.0));
    assert_eq!(watch.0.get(), 1e9 + 12.0);
}

/// A limit is on the wall: certificates and observers use it up, although they are not the method's own time.
#[test]
fn certificates_count_against_a_time_limit() {
    let watch = Watch::default();
    let mut toy = Toy::new(halving);
    toy.pause = Some((&watch, 1.0, 3.0));
    let mut slow = |_: &Progress, _: &Toy<_>| {
        watch.pass(6.0);
        ControlFlow::Continue(())
    };
    let limited = Stop { max_seconds: Some(25.0), ..stop(0.0, 100.0) };
    let report = run_by(&mut toy, &limited, &mut slow, &watch).unwrap();
    // Looks at 0, 1 and 2 passes end at 9, 19 and 29 seconds.
    assert_eq!((report.status, report.passes, report.seconds), (Status::TimeLimit, 2.0, 2.0));
}

#[test]
fn a_verdict_ends_the_round_it_is_given_in() {
    for status in [Status::Stalled, Status::NoiseFloor] {
        let mut toy = Toy::new(halving);
        (toy.single, toy.verdict) = (true, Some((3, status)));
        let rare = Stop { check: Cadence::Every(10.0), ..stop(0.0, 100.0) };
        let report = run(&mut toy, &rare, &mut ()).unwrap();
        assert_eq!((report.status, report.passes), (status, 3.0));
        assert_eq!(report.certificate, halving(3));
    }
    // A point that meets the tolerance has converged, whatever the method thinks.
    let mut toy = Toy::new(halving);
    toy.verdict = Some((3, Status::Stalled));
    let report = run(&mut toy, &stop(0.125, 100.0), &mut ()).unwrap();
    assert_eq!((report.status, report.passes), (Status::Converged, 3.0));
}

#[test]
fn divergence_restores_the_best_point() {
    // 10 times above the first value for the first time at the third rise in a row.
    let values = [1.0, 0.5, 2.0, 6.0, 12.0, 24.0, 48.0];
    let mut toy = Toy::new(|k| objective(values[k as usize]));
    let mut trace = Trace::new();
    let report = run(&mut toy, &stop(0.0, 6.0), &mut trace).unwrap();
    assert_eq!((report.status, report.passes), (Status::Diverged, 4.0));
    assert_eq!((toy.steps, toy.restored, trace.rows.len()), (1, 1, 5));
    assert_eq!(report.certificate, objective(0.5));
}

#[test]
fn ups_and_downs_are_no_divergence() {
    let high = [1.0, 20.0, 30.0, 15.0, 20.0, 30.0, 5.0];
    let slow = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    for values in [high, slow] {
        let mut toy = Toy::new(|k| objective(values[k as usize]));
        let report = run(&mut toy, &stop(0.0, 6.0), &mut ()).unwrap();
        assert_eq!((report.status, toy.restored), (Status::PassLimit, 0));
    }
}

#[test]
fn an_objective_that_is_no_longer_a_number_diverges_at_once() {
    let gone = [
        unknown(0),
        objective(f64::NAN),
        objective(f64::INFINITY),
        objective(f64::NEG_INFINITY),
        Certificate::Gap { objective: f64::NAN, lower_bound: 0.0, rounding: 0.0 },
        Certificate::Gap { objective: f64::INFINITY, lower_bound: 0.0, rounding: 0.0 },
        Certificate::Residual {
            objective: Some(f64::NAN),
            norm: f64::NAN,
            error: 0.0,
            scale: None,
        },
        Certificate::Residual {
            objective: Some(f64::INFINITY),
            norm: 1.0,
            error: 0.0,
            scale: None,
        },
    ];
    for bad in gone {
        let mut toy = Toy::new(|k| if k < 3 { halving(k) } else { bad });
        let report = run(&mut toy, &Stop { relative: 1e-4, ..stop(1e-9, 9.0) }, &mut ()).unwrap();
        assert_eq!((report.status, report.passes), (Status::Diverged, 3.0), "{bad:?}");
        assert_eq!((toy.steps, report.certificate), (2, halving(2)));
    }
    // A method that never knows its objective does not diverge by not knowing it.
    let report = run(&mut Toy::new(unknown), &stop(0.0, 5.0), &mut ()).unwrap();
    assert_eq!(report.status, Status::PassLimit);
    // Nor does one that starts outside the domain, and finds in.
    let curve = |k| if k < 2 { objective(f64::INFINITY) } else { halving(k) };
    let report = run(&mut Toy::new(curve), &stop(0.125, 9.0), &mut ()).unwrap();
    assert_eq!((report.status, report.passes), (Status::Converged, 3.0));
}

/// A certificate of NaN or infinity proves nothing, under any tolerance.
#[test]
fn what_is_not_finite_never_converges() {
    let loose = Stop { relative: 1.0, ..stop(1e300, 2.0) };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for certificate in [
            objective(bad),
            Certificate::Gap { objective: bad, lower_bound: 0.0, rounding: 0.0 },
            Certificate::Gap { objective: bad, lower_bound: f64::NEG_INFINITY, rounding: 0.0 },
            Certificate::Residual { objective: None, norm: f64::NAN, error: 0.0, scale: None },
            Certificate::Residual { objective: Some(bad), norm: 1e301, error: 0.0, scale: None },
        ] {
            let report = run(&mut Toy::new(|_| certificate), &loose, &mut ()).unwrap();
            assert_eq!(report.status, Status::PassLimit, "{certificate:?}");
        }
        assert_eq!(
            Certificate::Gap { objective: f64::NAN, lower_bound: bad, rounding: 0.0 }.value(),
            f64::INFINITY
        );
        assert_eq!(objective(bad).relative(), f64::INFINITY);
    }
}

#[test]
fn an_observer_stops_a_run_even_before_it_moves() {
    let mut toy = Toy::new(halving);
    let mut seen = vec![];
    let mut watch = |progress: &Progress, _: &Toy<_>| {
        seen.push(*progress);
        if progress.passes >= 2.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = run(&mut toy, &stop(0.0, 100.0), &mut watch).unwrap();
    assert_eq!((report.status, report.passes, toy.steps), (Status::Stopped, 2.0, 2));
    assert_eq!(report.certificate, halving(2));
    assert_eq!(seen.iter().map(|row| row.oracle_calls).collect::<Vec<_>>(), [0, 3, 6]);

    let mut toy = Toy::new(halving);
    let mut never = |_: &Progress, _: &Toy<_>| ControlFlow::Break(());
    let report = run(&mut toy, &stop(0.0, 100.0), &mut never).unwrap();
    assert_eq!((report.status, report.passes, toy.steps), (Status::Stopped, 0.0, 0));
}

// ---- what is proved

#[test]
fn the_best_lower_bound_is_kept() {
    let rows = [
        Certificate::gap(2.0, 0.5),
        Certificate::gap(1.5, 0.75),
        Certificate::gap(1.25, -3.0),
        objective(1.0),
        Certificate::Residual { objective: Some(1.0), norm: 3.0, error: 0.0, scale: None },
    ];
    let mut trace = Trace::new();
    let report = run(&mut Toy::new(|k| rows[k as usize]), &stop(0.3, 4.0), &mut trace).unwrap();
    // 1 - 0.75 meets the tolerance, although no single row proves it.
    assert_eq!((report.status, report.passes), (Status::Converged, 3.0));
    let values: Vec<f64> = trace.rows.iter().map(|row| row.certificate.value()).collect();
    // The kept bound is 0.75 less the rounding that an objective of 1.5 may hide. A row's own gap is left as it is.
    let kept = 0.75 - 256.0 * f64::EPSILON * 1.5;
    assert_eq!(values, [1.5, 0.75, 1.25 - kept, 1.0 - kept]);
    // A bound on the suboptimality says nothing about a norm.
    let report = run(&mut Toy::new(|k| rows[k as usize]), &stop(0.1, 4.0), &mut ()).unwrap();
    assert_eq!(report.certificate, rows[4]);
}

/// From step 2 on, the lower bound is above the objective by a millionth: the pair is no proof, and no tolerance accepts it.
#[test]
fn a_lower_bound_above_the_objective_ends_in_a_stall() {
    let rows = |k: u64| match k {
        0 | 1 => halving(k),
        _ => Certificate::gap(1.0, 1.0 + 1e-6),
    };
    let mut trace = Trace::new();
    let report = run(&mut Toy::new(rows), &stop(0.25, 100.0), &mut trace).unwrap();
    assert_eq!((report.status, report.passes), (Status::Stalled, 4.0));
    assert_eq!(report.certificate, objective(1.0));
    assert!(trace.rows[2..].iter().all(|row| row.certificate == objective(1.0)));
    // A bound that one point cannot have is not kept for the others.
    let rows = |k: u64| match k {
        1 => Certificate::gap(1.0, 3.0),
        _ => Certificate::gap(2.0, 1.0),
    };
    let report = run(&mut Toy::new(rows), &stop(0.25, 5.0), &mut ()).unwrap();
    assert_eq!(
        (report.status, report.certificate),
        (Status::PassLimit, Certificate::gap(2.0, 1.0))
    );
    // Objectives alone may lie outside the domain, below every bound.
    let rows = |k: u64| if k == 0 { Certificate::gap(2.0, 1.0) } else { objective(0.5) };
    let report = run(&mut Toy::new(rows), &stop(0.25, 9.0), &mut ()).unwrap();
    assert_eq!((report.status, report.certificate), (Status::PassLimit, objective(0.5)));
}

#[test]
fn no_passes_certify_the_start() {
    for (tolerance, status) in [(0.5, Status::PassLimit), (1.0, Status::Converged)] {
        for cost in [
            |_| CertificateCost::Passes,
            |_| CertificateCost::Uninformative,
            |_| CertificateCost::Estimated(f64::INFINITY),
        ] as [fn(u64) -> CertificateCost; 3]
        {
            let mut toy = Toy::new(halving);
            toy.cost = cost;
            let report = run(&mut toy, &stop(tolerance, 0.0), &mut ()).unwrap();
            assert_eq!((report.status, report.passes, toy.steps), (status, 0.0, 0));
            assert_eq!((report.certificate, toy.certified), (halving(0), 1));
        }
    }
}

// ---- what is refused

#[test]
fn bad_limits_are_named_and_nothing_is_done() {
    let good = Stop::default();
    let cases = [
        ("stop.absolute", Stop { absolute: -1e-9, ..good }),
        ("stop.absolute", Stop { absolute: f64::NAN, ..good }),
        ("stop.absolute", Stop { absolute: f64::INFINITY, ..good }),
        ("stop.relative", Stop { relative: -1.0, ..good }),
        ("stop.relative", Stop { relative: f64::NAN, ..good }),
        ("stop.max_passes", Stop { max_passes: -1.0, ..good }),
        ("stop.max_passes", Stop { max_passes: f64::NAN, ..good }),
        ("stop.max_seconds", Stop { max_seconds: Some(-0.5), ..good }),
        ("stop.max_seconds", Stop { max_seconds: Some(f64::NAN), ..good }),
        ("stop.check", Stop { check: Cadence::Every(0.0), ..good }),
        ("stop.check", Stop { check: Cadence::Every(f64::NAN), ..good }),
        ("stop.check", Stop { check: Cadence::Doubling(-1.0), ..good }),
        ("stop.check", Stop { check: Cadence::Doubling(f64::INFINITY), ..good }),
    ];
    for (field, stop) in cases {
        let mut toy = Toy::new(halving);
        let error = run(&mut toy, &stop, &mut ()).unwrap_err();
        assert!(matches!(error, Invalid::Parameter { name, .. } if name == field), "{error}");
        assert!(error.to_string().starts_with(field), "{error}");
        assert_eq!((toy.steps, toy.certified), (0, 0));
    }
    // No limit is a limit too.
    assert!(Stop { max_passes: f64::INFINITY, ..good }.check().is_ok());
    assert!(Stop { absolute: 0.0, relative: 0.0, ..good }.check().is_ok());
}

#[test]
fn bad_steps_are_refused() {
    assert_eq!(StepSize::default().resolve(0.25).unwrap(), 0.25);
    assert_eq!(StepSize::Scaled(3.0).resolve(0.25).unwrap(), 0.75);
    assert_eq!(StepSize::Constant(3.0).resolve(0.25).unwrap(), 3.0);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for step in [StepSize::Scaled(bad), StepSize::Constant(bad)] {
            let error = step.resolve(0.25).unwrap_err();
            assert!(error.to_string().starts_with("step"), "{error}");
        }
    }
}
