//! The outer loop: when it certifies, what that costs, and which point it returns.

use std::ops::ControlFlow;

use crate::common::{Toy, Watch};
use crate::protocol::{certified_at, halving, objective, stop, unknown};
use fenchel_optim::{
    Cadence, Certificate, CertificateCost, Progress, Status, Stop, Trace, run, run_by,
};
use proptest::prelude::*;

/// `10^-k`
fn decimals(k: u64) -> Certificate {
    Certificate::Residual {
        objective: None,
        norm: 10f64.powi(-(k as i32)),
        error: 0.0,
        scale: None,
    }
}

// ---- what a run costs

/// Whether anyone watches or not.
#[test]
fn seconds_are_always_measured() {
    let seconds = |watched: bool| {
        let watch = Watch::default();
        let mut toy = Toy::new(halving);
        toy.pause = Some((&watch, 0.5, 7.0));
        let stop = stop(0.0, 4.0);
        let report = match watched {
            true => run_by(&mut toy, &stop, &mut ((), Trace::new()), &watch),
            false => run_by(&mut toy, &stop, &mut ((), ((), ())), &watch),
        };
        (report.unwrap().seconds, toy.certified)
    };
    assert_eq!((seconds(true), seconds(false)), ((2.0, 5), (2.0, 5)));
    assert!(run(&mut Toy::new(halving), &stop(0.0, 4.0), &mut ()).unwrap().seconds > 0.0);
}

#[test]
fn a_guess_saves_certificates_while_nobody_watches() {
    // 2^-k, known for free.
    let guess: fn(u64) -> CertificateCost = |k| CertificateCost::Estimated(0.5f64.powi(k as i32));
    let certified = |cost: fn(u64) -> CertificateCost, absolute: f64, watched: bool| {
        let mut toy = Toy::new(halving);
        toy.cost = cost;
        let stop = stop(absolute, 20.0);
        let report = if watched {
            run(&mut toy, &stop, &mut Trace::new())
        } else {
            run(&mut toy, &stop, &mut ())
        };
        (report.unwrap().status, toy.steps, toy.certified)
    };
    let cold: fn(u64) -> CertificateCost = |k| {
        if k < 9 {
            CertificateCost::Uninformative
        } else {
            CertificateCost::Estimated(0.5f64.powi(k as i32))
        }
    };
    let tolerance = 0.5f64.powi(10);
    // Without an estimate, or watched, whenever it is due; with one, when it is good enough, and at the end.
    assert_eq!(
        certified(|_| CertificateCost::Passes, tolerance, false),
        (Status::Converged, 10, 11)
    );
    assert_eq!(certified(guess, tolerance, true), (Status::Converged, 10, 11));
    assert_eq!(certified(guess, tolerance, false), (Status::Converged, 10, 1));
    assert_eq!(certified(cold, tolerance, false), (Status::Converged, 10, 1));
    assert_eq!(certified(guess, 0.0, false), (Status::PassLimit, 20, 1));
    // A guess that promises too much costs a certificate and proves nothing.
    assert_eq!(
        certified(|_| CertificateCost::Estimated(0.0), tolerance, false),
        (Status::Converged, 10, 11)
    );
    // One that promises too little, or nothing, is put right at the end.
    assert_eq!(
        certified(|_| CertificateCost::Estimated(1.0), tolerance, false),
        (Status::Converged, 20, 1)
    );
    assert_eq!(
        certified(|_| CertificateCost::Estimated(f64::NAN), tolerance, false),
        (Status::Converged, 20, 1)
    );
}

#[test]
fn a_guess_relative_to_the_objective_is_compared_with_the_last_known_one() {
    let mut toy = Toy::new(halving);
    toy.cost = |k| CertificateCost::Estimated(0.5f64.powi(k as i32));
    let relative = Stop { absolute: 0.0, relative: 1.5e-3, ..stop(0.0, 20.0) };
    let report = run(&mut toy, &relative, &mut ()).unwrap();
    // The objective is unknown at first, so that the start is certified; it is 2 there, and the guess
    // of 2^-9 is the first below 3e-3. The objective turns out as 1 + 2^-9, and 2^-10 is needed.
    assert_eq!((report.status, report.passes, toy.certified), (Status::Converged, 10.0, 3));
}

#[test]
fn a_run_that_blows_up_unseen_is_still_restored() {
    let mut toy = Toy::new(|k| if k < 5 { halving(k) } else { objective(f64::NAN) });
    toy.cost = |k| CertificateCost::Estimated(if k == 0 { 0.0 } else { f64::INFINITY });
    let report = run(&mut toy, &stop(1e-3, 20.0), &mut ()).unwrap();
    assert_eq!((report.status, toy.steps), (Status::Diverged, 0));
    assert_eq!(report.certificate, halving(0));
}

#[test]
fn certificates_and_observers_are_not_on_the_clock() {
    let watch = Watch::default();
    let mut toy = Toy::new(halving);
    toy.pause = Some((&watch, 2.0, 30.0));
    let mut rows = vec![];
    let mut slow = |progress: &Progress, _: &Toy<_>| {
        rows.push(progress.seconds);
        watch.pass(30.0);
        ControlFlow::Continue(())
    };
    let report = run_by(&mut toy, &stop(0.0, 3.0), &mut slow, &watch).unwrap();
    assert_eq!((report.seconds, rows), (6.0, vec![0.0, 2.0, 4.0, 6.0]));
    assert_eq!(watch.0.get(), 6.0 + 8.0 * 30.0);
}

// ---- when it certifies, and what it returns

/// The certificates of a run without anyone watching.
fn unwatched(cost: fn(u64) -> CertificateCost, stop: &Stop) -> (Status, f64, Vec<u64>) {
    let certified = std::cell::RefCell::new(vec![]);
    let mut toy = Toy::new(|k| {
        certified.borrow_mut().push(k);
        halving(k)
    });
    (toy.cost, toy.per_pass) = (cost, 2.0);
    let report = run(&mut toy, stop, &mut ()).unwrap();
    (report.status, report.passes, certified.into_inner())
}

#[test]
fn a_certificate_is_computed_where_it_pays() {
    let adaptive = |absolute| Stop { check: Cadence::Adaptive, ..stop(absolute, 20.0) };
    let tolerance = 0.5f64.powi(9);
    // Free: after every step, of which there are two in a pass.
    let free = unwatched(|_| CertificateCost::Free, &adaptive(tolerance));
    assert_eq!(free, (Status::Converged, 4.5, (0..=9).collect()));
    // Costly: at the start, after 2 passes, and where these two predict the end.
    let costs = unwatched(|_| CertificateCost::Passes, &adaptive(tolerance));
    assert_eq!(costs, (Status::Converged, 5.0, vec![0, 4, 10]));
    // With a guess, asked for after every pass: once, at the end.
    let guess =
        unwatched(|k| CertificateCost::Estimated(0.5f64.powi(k as i32)), &adaptive(tolerance));
    assert_eq!(guess, (Status::Converged, 5.0, vec![10]));
    // A cold start is not certified; what follows is where it would be.
    let cold = |k| if k == 0 { CertificateCost::Uninformative } else { CertificateCost::Passes };
    assert_eq!(unwatched(cold, &adaptive(tolerance)).2[..2], [4, 8]);
    // Another cadence asks for no estimate in between, and computes a free certificate no more often.
    let every = Stop { check: Cadence::Every(3.0), ..stop(tolerance, 20.0) };
    let guess = unwatched(|k| CertificateCost::Estimated(0.5f64.powi(k as i32)), &every);
    assert_eq!(guess, (Status::Converged, 6.0, vec![12]));
    assert_eq!(
        unwatched(|_| CertificateCost::Free, &every),
        (Status::Converged, 6.0, vec![0, 6, 12])
    );
}

/// Who watches a method with estimates sees it at the usual certificates, not at every estimate.
#[test]
fn an_estimate_costs_an_observer_no_certificate() {
    let mut toy = Toy::new(halving);
    toy.cost = |k| CertificateCost::Estimated(0.5f64.powi(k as i32));
    let mut trace = Trace::new();
    let stop = Stop { check: Cadence::Adaptive, ..stop(0.5f64.powi(30), 100.0) };
    let report = run(&mut toy, &stop, &mut trace).unwrap();
    assert_eq!((report.status, toy.certified), (Status::Converged, trace.rows.len() as u64));
    assert_eq!(certified_at(&trace), [0.0, 2.0, 12.0, 22.0, 30.0]);
}

/// Two random walks with the same steps: by objectives, and by bounds with an error where objectives rank nothing.
#[test]
fn the_best_point_is_returned_where_a_method_asks_for_it() {
    let norms = [8.0, 3.0, 1.0, 2.0, 1.5, 2.5];
    let by_objective = |k: u64| objective(norms[k as usize] - 100.0);
    let by_bound = |k: u64| Certificate::Residual {
        objective: None,
        norm: norms[k as usize] - 0.5,
        error: 0.5,
        scale: None,
    };
    let last = |curve: &dyn Fn(u64) -> Certificate, returns_best| {
        let mut toy = Toy::new(curve);
        toy.returns_best = returns_best;
        let report = run(&mut toy, &stop(0.0, 5.0), &mut ()).unwrap();
        assert_eq!((report.status, report.certificate), (Status::PassLimit, curve(toy.steps)));
        toy.steps
    };
    assert_eq!([last(&by_objective, false), last(&by_objective, true)], [5, 2]);
    assert_eq!([last(&by_bound, false), last(&by_bound, true)], [5, 2]);
    // Also where the observer or a limit ends the run, but not where it has converged, at its best certificate.
    let mut toy = Toy::new(by_bound);
    toy.returns_best = true;
    let report = run(&mut toy, &stop(1.0, 5.0), &mut ()).unwrap();
    assert_eq!((report.status, toy.steps, toy.restored), (Status::Converged, 2, 0));
    let mut toy = Toy::new(by_bound);
    toy.returns_best = true;
    let mut ends = |progress: &Progress, _: &Toy<_>| match progress.passes >= 4.0 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let report = run(&mut toy, &stop(0.0, 5.0), &mut ends).unwrap();
    assert_eq!((report.status, toy.steps, report.certificate), (Status::Stopped, 2, by_bound(2)));
}

/// A residual that blows up is divergence where there is no objective; one that its error explains is not.
#[test]
fn residuals_diverge_too() {
    let ended = |error: f64| {
        let mut toy = Toy::new(|k: u64| Certificate::Residual {
            objective: None,
            norm: [1.0, 0.5, 4.0, 8.0, 16.0, 32.0][k as usize],
            error,
            scale: None,
        });
        let report = run(&mut toy, &stop(0.0, 5.0), &mut ()).unwrap();
        (report.status, report.passes, toy.steps)
    };
    assert_eq!(ended(0.0), (Status::Diverged, 4.0, 1));
    assert_eq!(ended(20.0), (Status::PassLimit, 5.0, 5));
}

// ---- cadences

#[test]
fn cadences_certify_when_they_say() {
    let passes_of = |check: Cadence, max_passes: f64, per_pass: f64| {
        let mut toy = Toy::new(unknown);
        toy.per_pass = per_pass;
        let mut trace = Trace::new();
        run(&mut toy, &Stop { check, ..stop(0.0, max_passes) }, &mut trace).unwrap();
        certified_at(&trace)
    };
    assert_eq!(passes_of(Cadence::Every(2.5), 10.0, 2.0), [0.0, 2.5, 5.0, 7.5, 10.0]);
    assert_eq!(passes_of(Cadence::Every(3.0), 10.0, 1.0), [0.0, 3.0, 6.0, 9.0, 10.0]);
    // A step of a whole pass cannot be cut.
    assert_eq!(passes_of(Cadence::Every(0.25), 2.0, 1.0), [0.0, 1.0, 2.0]);
    // The shortest cadence still moves by a step a certificate.
    assert_eq!(passes_of(Cadence::Every(1e-12), 1.0, 4.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(passes_of(Cadence::Doubling(1.0), 10.0, 1.0), [0.0, 1.0, 2.0, 4.0, 8.0, 10.0]);
    assert_eq!(passes_of(Cadence::Doubling(0.5), 3.0, 2.0), [0.0, 0.5, 1.0, 2.0, 3.0]);
    // Nothing to extrapolate from: 2 passes, then 5 at a time.
    assert_eq!(passes_of(Cadence::Adaptive, 14.0, 1.0), [0.0, 2.0, 7.0, 12.0, 14.0]);
}

#[test]
fn adaptive_certifies_where_the_decay_predicts_the_end() {
    let passes_at = |absolute: f64, curve: fn(u64) -> Certificate| {
        let mut trace = Trace::new();
        let stop = Stop { check: Cadence::Adaptive, ..stop(absolute, 1000.0) };
        let report = run(&mut Toy::new(curve), &stop, &mut trace).unwrap();
        assert_eq!(report.status, Status::Converged);
        certified_at(&trace)
    };
    // A decade a pass: after the certificates at 0 and 2, 1e-7 is 5 passes away.
    assert_eq!(passes_at(1.0001e-7, decimals), [0.0, 2.0, 7.0]);
    // At most 10 passes from one to the next.
    assert_eq!(passes_at(1.0001e-25, decimals), [0.0, 2.0, 12.0, 22.0, 25.0]);
    // At least 1, where the decay slows down.
    let slowing: fn(u64) -> Certificate = |k| Certificate::Residual {
        objective: None,
        norm: if k < 3 { 10f64.powi(-(k as i32)) } else { 2e-3 - 1e-4 * k as f64 },
        error: 0.0,
        scale: None,
    };
    let passes = passes_at(1.45e-3, slowing);
    assert_eq!(passes[..3], [0.0, 2.0, 3.0]);
    assert_eq!(*passes.last().unwrap(), 6.0);
}

proptest! {
    #[test]
    fn fractions_of_passes_add_up(n in 1u64..1000, steps in 0u64..400, single: bool) {
        // One step is 1/n of a pass, and 1/n is rounded: sums of it miss their target by a little.
        let passes = steps as f64 / n as f64;
        for check in [Cadence::Every(1.0), Cadence::Every(1.0 / n as f64), Cadence::Adaptive] {
            let mut toy = Toy::new(unknown);
            (toy.single, toy.per_pass) = (single, n as f64);
            let mut trace = Trace::new();
            let report = run(&mut toy, &Stop { check, ..stop(0.0, passes) }, &mut trace).unwrap();
            prop_assert_eq!(report.passes, passes);
            prop_assert_eq!(toy.steps, steps);
            prop_assert_eq!(trace.rows.last().unwrap().passes, passes);
            if check == Cadence::Every(1.0 / n as f64) {
                prop_assert_eq!(trace.rows.len() as u64, steps + 1);
            }
        }
    }

    /// However the limits are set, a run ends, within the limit by less than a step, and Ok.
    #[test]
    fn every_run_ends(
        per_pass in 0.3..20.0f64,
        max_passes in 0.0..30.0f64,
        absolute in 0.0..1.0f64,
        every in 0.01..8.0f64,
        kind in 0usize..3,
    ) {
        let check = [Cadence::Every(every), Cadence::Doubling(every), Cadence::Adaptive][kind];
        let mut toy = Toy::new(halving);
        (toy.single, toy.per_pass) = (true, per_pass);
        let report = run(&mut toy, &Stop { check, ..stop(absolute, max_passes) }, &mut ()).unwrap();
        prop_assert!(report.passes < max_passes + 1.0 / per_pass);
        prop_assert!((report.passes - toy.steps as f64 / per_pass).abs() < 1e-6);
        let met = 0.5f64.powi(toy.steps as i32) <= absolute;
        let expected = if met { Status::Converged } else { Status::PassLimit };
        prop_assert_eq!(report.status, expected);
    }
}
