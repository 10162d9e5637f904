//! Dual coordinate ascent whose terms rest while they hardly move.

use std::ops::ControlFlow;

use crate::common::{Data, data, objective, reference};
use fenchel_finite_sum::loss::{Hinge, Logistic, SmoothedHinge, Squared};
use fenchel_finite_sum::{
    CatalystSettings, Problem, Sampling, Sdca, SdcaSettings, SdcaStep, catalyst, sdca,
};
use fenchel_linalg::{Csr, Design};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::random::Order;
use fenchel_optim::{Cadence, Loss, Progress, Report, Separable, Status, Stop};

const TIGHT: f64 = 1e-11;

fn tight() -> Stop {
    Stop { relative: TIGHT, absolute: 1e-13, max_passes: 60_000.0, ..Stop::default() }
}

/// One label is rare: most terms are soon fitted well.
fn rare(n: usize) -> Data {
    let mut data = data(n, 8, 0.5, 3);
    for (i, sign) in data.signs.iter_mut().enumerate() {
        *sign = if i % 15 == 0 { 1.0 } else { -1.0 };
    }
    data
}

#[track_caller]
fn check(name: &str, report: &Report, best: f64) {
    assert_eq!(report.status, Status::Converged, "{name}: {report}");
    let found = report.certificate.objective().unwrap();
    assert!((found - best).abs() <= 3.0 * TIGHT * best.abs().max(1e-2), "{name}: {found} {best}");
}

/// The optimum is that of an independent solver, whatever the order, the step and the longest rest.
fn reaches_the_optimum<L: Loss + Copy>(loss: L, data: &Data, y: &[f64], l2: f64) {
    for intercept in [false, true] {
        let design = Csr::new(data.sparse.view()).unwrap();
        let problem = Problem::new(design, y, loss, Zero, l2).unwrap();
        let problem = if intercept { problem.with_intercept() } else { problem };
        let (w, b) = reference(&data.dense, y, &loss, &Zero, l2, intercept);
        let best = objective(&data.dense, y, &loss, &Zero, l2, (&w, b));
        for rest in [1, 3, u8::MAX] {
            for step in [SdcaStep::Exact, SdcaStep::Constant] {
                for order in [Order::Permuted, Order::Uniform, Order::Cyclic, Order::Runs(4)] {
                    let name = format!("{} {intercept} {rest} {step:?} {order:?}", L::NAME);
                    let sampling = Sampling::Order(order.clone());
                    let settings = SdcaSettings { step, sampling, rest, seed: 1, stop: tight() };
                    let solution = sdca(&problem, &settings, None, &mut ()).unwrap();
                    check(&name, &solution.report, best);
                    let stop = tight();
                    let settings =
                        CatalystSettings { step, order, rest, stop, ..CatalystSettings::default() };
                    let solution = catalyst(&problem, &settings, None, &mut ()).unwrap();
                    check(&format!("catalyst {name}"), &solution.report, best);
                }
            }
        }
    }
}

#[test]
fn terms_that_rest_end_at_the_optimum() {
    let data = rare(90);
    reaches_the_optimum(Logistic, &data, &data.signs, 2e-3);
    reaches_the_optimum(SmoothedHinge { width: 0.5 }, &data, &data.signs, 0.01);
    reaches_the_optimum(Squared, &data, &data.reals, 0.01);
}

/// With exact steps the value of the dual never falls, whoever rests: after every look, for a smooth loss and one with a kink.
fn never_falls<L: Loss + Copy, R: Separable>(loss: L, regulariser: R, l2: f64) {
    let data = rare(120);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, loss, regulariser, l2).unwrap();
    let stop = Stop { check: Cadence::Every(0.5), ..Stop::after_passes(30.0) };
    let settings = SdcaSettings { rest: 3, stop, ..SdcaSettings::default() };
    let (mut last, mut looks) = (f64::NEG_INFINITY, 0);
    let mut observer = |_: &Progress, method: &Sdca<'_, '_, _, L, R>| {
        let u = method.last_dual();
        let mut v = vec![0.0; 8];
        for (i, u) in u.iter().enumerate() {
            problem.design().row_axpy(i, -u / 120.0, &mut v);
        }
        let conjugates: f64 = u.iter().zip(&data.signs).map(|(u, y)| loss.conjugate(*u, *y)).sum();
        let value = -conjugates / 120.0 - problem.regulariser().conjugate(&v, l2);
        assert!(value >= last - 1e-13 * value.abs(), "{value} after {last}");
        (last, looks) = (value, looks + 1);
        ControlFlow::Continue(())
    };
    sdca(&problem, &settings, None, &mut observer).unwrap();
    assert!(looks >= 30, "{looks}");
}

#[test]
fn the_dual_never_falls() {
    never_falls(Logistic, Zero, 1e-3);
    never_falls(Hinge, Zero, 1e-2);
    never_falls(Logistic, L1 { strength: 0.01 }, 1e-3);
}

/// What rest is for: where most terms are fitted well, fewer steps to the same certificate. Seeds decide, not clocks.
#[test]
fn resting_saves_steps_where_most_terms_are_fitted_well() {
    let data = rare(600);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.1 / 600.0).unwrap();
    let passes = |rest| {
        let mut total = 0.0;
        for seed in 0..5 {
            let check = Cadence::Every(0.1);
            let stop = Stop { relative: 1e-6, check, ..Stop::default() };
            let settings = SdcaSettings { rest, seed, stop, ..SdcaSettings::default() };
            total += sdca(&problem, &settings, None, &mut ()).unwrap().report.passes;
        }
        total / 5.0
    };
    let (all, resting) = (passes(0), passes(3));
    assert!(resting < 0.8 * all, "{resting} of {all}");
}
