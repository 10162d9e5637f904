//! Every method, loss, regulariser and storage ends at the same optimum as an independent solver.

mod common;

use common::{data, distance, objective, reference};
use fenchel_finite_sum::loss::{Hinge, Logistic, Squared, SquaredHinge};
use fenchel_finite_sum::{
    CatalystSettings, FinitoSettings, NewtonSettings, Point, Problem, SagSettings, SagaSettings,
    SdcaSettings, SdcaStep, SvrgSettings, catalyst, finito, lbfgs, newton, sag, saga, sdca, svrg,
};
use fenchel_linalg::{Csr, CsrMatrix, Dense, Design};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{ElasticNet, Interval, L1, Zero};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Report, Status, Stop};

const TIGHT: f64 = 1e-12;

fn tight() -> Stop {
    Stop { relative: TIGHT, absolute: 1e-14, max_passes: 60_000.0, ..Stop::default() }
}

/// The reported objective is within the certified gap of the reference, and that gap is closed.
#[track_caller]
fn check(name: &str, report: &Report, best: f64) {
    assert_eq!(report.status, Status::Converged, "{name}: {report}");
    let found = report.certificate.objective().unwrap();
    assert!((found - best).abs() <= 3.0 * TIGHT * best.abs().max(1e-2), "{name}: {found} {best}");
}

fn every_method<D: Design, L: Loss + Copy>(
    name: &str,
    design: D,
    y: &[f64],
    loss: L,
    intercept: bool,
    best: (&[f64], f64),
    l2: f64,
) {
    let problem = Problem::new(design, y, loss, Zero, l2).unwrap();
    let problem = if intercept { problem.with_intercept() } else { problem };
    let mut points: Vec<(String, Point)> = vec![];
    let mut done = |method: &str, point: Point, report: Report| {
        check(&format!("{name} {method}"), &report, best.1);
        points.push((method.into(), point));
    };
    let stop = tight();
    for step in [SdcaStep::Exact, SdcaStep::Constant] {
        for order in [Order::Uniform, Order::Permuted] {
            let settings = SdcaSettings { step, order, seed: 3, stop };
            let s = sdca(&problem, &settings, None, &mut ()).unwrap();
            done("sdca", s.state.point, s.report);
        }
        let settings = CatalystSettings { step, stop, ..CatalystSettings::default() };
        let s = catalyst(&problem, &settings, None, &mut ()).unwrap();
        done("catalyst", s.state.point, s.report);
    }
    let s =
        saga(&problem, &SagaSettings { stop, ..SagaSettings::default() }, None, &mut ()).unwrap();
    done("saga", s.state.point, s.report);
    let s = sag(&problem, &SagSettings { stop, ..SagSettings::default() }, None, &mut ()).unwrap();
    done("sag", s.state.point, s.report);
    let s =
        svrg(&problem, &SvrgSettings { stop, ..SvrgSettings::default() }, None, &mut ()).unwrap();
    done("svrg", s.state, s.report);
    let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
    let s = lbfgs(&problem, &settings, None, &mut ()).unwrap();
    done("lbfgs", s.state, s.report);
    let s =
        newton(&problem, &NewtonSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    done("newton", s.state, s.report);
    if !intercept {
        let alpha = (2.0 / problem.big_data_beta()).max(2.0);
        let settings = FinitoSettings { alpha, stop, ..FinitoSettings::default() };
        let s = finito(&problem, &settings, None, &mut ()).unwrap();
        done("finito", s.state, s.report);
    }
    for (method, point) in points {
        // Strong convexity turns a gap into a distance: ||x - x*||^2 <= 2 gap / l2.
        let bound = (2.0 * 2.0 * TIGHT * best.1.abs().max(1e-2) / l2).sqrt();
        let off = distance(&point.weights, best.0);
        assert!(off <= bound + 1e-9, "{name} {method}: {off:e} {bound:e}");
        let value = problem.objective(&point).unwrap();
        assert!((value - best.1).abs() <= 3.0 * TIGHT * best.1.abs().max(1e-2), "{name} {method}");
    }
}

fn smooth<L: Loss + Copy>(loss: L, classify: bool) {
    for (n, d, l2, intercept, seed) in
        [(60, 6, 0.05, false, 1), (60, 6, 0.002, true, 2), (40, 8, 0.02, true, 3)]
    {
        let data = data(n, d, 0.5, seed);
        let y = if classify { &data.signs } else { &data.reals };
        let (w, b) = reference(&data.dense, y, &loss, &Zero, l2, intercept);
        let best = objective(&data.dense, y, &loss, &Zero, l2, (&w, b));
        let name = format!("{} n {n} l2 {l2} intercept {intercept}", L::NAME);
        let dense = Dense::new(data.dense.view()).unwrap();
        every_method(&format!("{name} dense"), dense, y, loss, intercept, (&w, best), l2);
        let sparse = Csr::new(data.sparse.view()).unwrap();
        every_method(&format!("{name} sparse"), sparse, y, loss, intercept, (&w, best), l2);
    }
}

#[test]
fn logistic_optimum_is_the_same_for_all() {
    smooth(Logistic, true);
}

#[test]
fn squared_optimum_is_the_same_for_all() {
    smooth(Squared, false);
}

#[test]
fn squared_hinge_optimum_is_the_same_for_all() {
    smooth(SquaredHinge, true);
}

macro_rules! composite {
    ($name:literal, $regulariser:expr, $l2:expr) => {{
        let data = data(50, 7, 0.5, 11);
        for intercept in [false, true] {
            let (w, b) =
                reference(&data.dense, &data.signs, &Logistic, &$regulariser, $l2, intercept);
            let best = objective(&data.dense, &data.signs, &Logistic, &$regulariser, $l2, (&w, b));
            let design = Csr::new(data.sparse.view()).unwrap();
            let problem = Problem::new(design, &data.signs, Logistic, $regulariser, $l2).unwrap();
            let problem = if intercept { problem.with_intercept() } else { problem };
            let stop = Stop { relative: 1e-9, ..tight() };
            let near = |name: &str, report: Report, point: &Point| {
                assert_eq!(report.status, Status::Converged, "{} {name}: {report}", $name);
                let found = report.certificate.objective().unwrap();
                assert!((found - best).abs() <= 2e-9 * best, "{} {name}: {found} {best}", $name);
                for (found, best) in point.weights.iter().zip(&w) {
                    assert!((found - best).abs() < 1e-3, "{} {name}", $name);
                }
            };
            let s =
                saga(&problem, &SagaSettings { stop, ..SagaSettings::default() }, None, &mut ())
                    .unwrap();
            near("saga", s.report, &s.state.point);
            let s =
                svrg(&problem, &SvrgSettings { stop, ..SvrgSettings::default() }, None, &mut ())
                    .unwrap();
            near("svrg", s.report, &s.state);
            let settings = SagSettings { unproven_prox: true, stop, ..SagSettings::default() };
            let s = sag(&problem, &settings, None, &mut ()).unwrap();
            near("sag", s.report, &s.state.point);
            let settings = CatalystSettings { stop, ..CatalystSettings::default() };
            let s = catalyst(&problem, &settings, None, &mut ()).unwrap();
            near("catalyst", s.report, &s.state.point);
            if problem.strong_convexity() > 0.0 {
                let s = sdca(
                    &problem,
                    &SdcaSettings { stop, ..SdcaSettings::default() },
                    None,
                    &mut (),
                )
                .unwrap();
                near("sdca", s.report, &s.state.point);
            }
        }
    }};
}

#[test]
fn l1_optimum_is_the_same_for_all() {
    composite!("l1", L1 { strength: 0.02 }, 0.0);
    composite!("l1 + explicit l2", L1 { strength: 0.02 }, 0.01);
}

#[test]
fn elastic_net_and_explicit_l2_agree() {
    composite!("elastic net", ElasticNet { l1: 0.02, l2: 0.01 }, 0.0);
}

#[test]
fn bounded_optimum_is_the_same_for_all() {
    composite!("box", Interval { lower: -0.3, upper: 0.4 }, 0.01);
    composite!("non-negative", Interval::NONNEGATIVE, 0.01);
}

/// The support vector machine has no smooth reference: check the certificate against brute force in
/// one dimension, and that the gap closes.
#[test]
fn hinge_solution_is_certified() {
    let data = data(40, 1, 1.0, 5);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Hinge, Zero, 0.1).unwrap();
    let stop = Stop { relative: 1e-6, max_passes: 20_000.0, ..Stop::default() };
    let s =
        sdca(&problem, &SdcaSettings { stop, ..SdcaSettings::default() }, None, &mut ()).unwrap();
    assert_eq!(s.report.status, Status::Converged);
    let at = |w: f64| problem.objective(&Point { weights: vec![w], intercept: 0.0 }).unwrap();
    let found = at(s.state.point.weights[0]);
    for k in -4000..4000 {
        assert!(at(f64::from(k) * 1e-3) >= found * (1.0 - 1e-6));
    }
    let with_intercept = problem.clone().with_intercept();
    let settings =
        SdcaSettings { stop: Stop { relative: 1e-3, ..stop }, ..SdcaSettings::default() };
    let s = sdca(&with_intercept, &settings, None, &mut ()).unwrap();
    assert_eq!(s.report.status, Status::Converged, "{}", s.report);
}

/// Numbers that f32 holds exactly give the same weights in both storages.
#[test]
fn storage_in_f32_changes_nothing_where_it_is_exact() {
    let data = data(50, 6, 0.5, 9);
    let narrow = data.dense.mapv(|v| v as f32);
    let wide = narrow.mapv(f64::from);
    let problem =
        Problem::new(Dense::new(narrow.view()).unwrap(), &data.signs, Logistic, Zero, 0.02);
    let settings = SagaSettings { stop: Stop::after_passes(20.0), ..SagaSettings::default() };
    let a = saga(&problem.unwrap(), &settings, None, &mut ()).unwrap();
    let problem = Problem::new(Dense::new(wide.view()).unwrap(), &data.signs, Logistic, Zero, 0.02);
    let b = saga(&problem.unwrap(), &settings, None, &mut ()).unwrap();
    assert_eq!(a.state.point, b.state.point);
}

/// Rows that touch nothing, constant labels and a single row are legal.
#[test]
fn degenerate_data_is_solved() {
    let empty_row =
        CsrMatrix::try_new((3, 2), vec![0, 1, 1, 3], vec![0, 0, 1], vec![1.0, 2.0, 1.0]);
    let empty_row = empty_row.unwrap();
    for labels in [[1.0, -1.0, -1.0], [1.0, 1.0, 1.0]] {
        let problem =
            Problem::new(Csr::new(empty_row.view()).unwrap(), &labels, Logistic, Zero, 0.1)
                .unwrap();
        for report in [
            sdca(&problem, &SdcaSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            saga(&problem, &SagaSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            sag(&problem, &SagSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            svrg(&problem, &SvrgSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
        ] {
            assert_eq!(report.status, Status::Converged, "{report}");
        }
    }
    let one = ndarray::array![[2.0]];
    let problem =
        Problem::new(Dense::new(one.view()).unwrap(), &[3.0], Squared, Zero, 1.0).unwrap();
    let s = sdca(&problem, &SdcaSettings { stop: tight(), ..Default::default() }, None, &mut ())
        .unwrap();
    // min (2x - 3)^2 / 2 + x^2 / 2 is at 6/5.
    assert!((s.state.point.weights[0] - 1.2).abs() < 1e-9);
}
