//! A row of weight 2 is two rows, and a row of weight 0 is none.

use crate::common::{Data, data, objective, reference};
use fenchel_finite_sum::loss::{Hinge, Logistic, Poisson, Squared};
use fenchel_finite_sum::methods::lag::Lagged;
use fenchel_finite_sum::methods::{
    AsElasticNet, CatalystSettings, FinitoSettings, FistaSettings, MisoMuSettings, MisoSettings,
    NewtonCgSettings, NewtonSettings, ProxFinitoSettings, QningSettings, SagSettings, SagaSettings,
    SdcaSettings, SdcaStep, SgdSettings, SvrgSettings, catalyst, finito, fista, lbfgs, miso,
    miso_mu, newton, newton_cg, prox_finito, qning, sag, saga, sdca, sgd, svrg,
};
use fenchel_finite_sum::path::path;
use fenchel_finite_sum::path::{PathSettings, Screening};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{L1, L1L2, Zero};
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Certificate, Loss, Regulariser, Report, Status, Stop};
use ndarray::{Array2, Axis};
use rand::RngExt;

const N: usize = 24;
const D: usize = 4;
const GAP: f64 = 1e-11;

fn tight() -> Stop {
    Stop { absolute: GAP, relative: 0.0, max_passes: 20_000.0, ..Stop::default() }
}

/// Small whole weights, some of them 0.
fn weights(seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, 9);
    let mut weights: Vec<f64> = (0..N).map(|_| f64::from(rng.random_range(0..4u8))).collect();
    (weights[0], weights[1]) = (0.0, 3.0);
    weights
}

/// Copies instead of weights: the design and the targets.
fn copies(data: &Data, y: &[f64], weights: &[f64]) -> (Array2<f64>, Vec<f64>) {
    let rows: Vec<usize> =
        (0..N).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    (data.dense.select(Axis(0), &rows), rows.iter().map(|&i| y[i]).collect())
}

/// What every method that knows the regulariser makes of the problem.
fn solutions<D: Design, L: Loss, R: Lagged + AsElasticNet>(
    problem: &Problem<'_, D, L, R>,
) -> Vec<(&'static str, Point, Report)> {
    let stop = tight();
    let mut all = vec![];
    let step = SdcaStep::Constant;
    for (name, settings) in [
        ("sdca", SdcaSettings { stop, ..SdcaSettings::default() }),
        ("sdca constant", SdcaSettings { step, stop, ..SdcaSettings::default() }),
    ] {
        let s = sdca(problem, &settings, None, &mut ()).unwrap();
        all.push((name, s.state.point, s.report));
    }
    let s = catalyst(problem, &CatalystSettings { stop, ..Default::default() }, None, &mut ());
    let s = s.unwrap();
    all.push(("catalyst", s.state.point, s.report));
    let s = saga(problem, &SagaSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    all.push(("saga", s.state.point, s.report));
    let settings = SagSettings { unproven_prox: true, stop, ..Default::default() };
    let s = sag(problem, &settings, None, &mut ()).unwrap();
    all.push(("sag", s.state.point, s.report));
    let s = svrg(problem, &SvrgSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    all.push(("svrg", s.state.point, s.report));
    let s = newton(problem, &NewtonSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    all.push(("newton", s.state, s.report));
    let s = qning(problem, &QningSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    all.push(("qning", s.state.point, s.report));
    let s = miso_mu(problem, &MisoMuSettings { stop, ..Default::default() }, None, &mut ());
    let s = s.unwrap();
    all.push(("miso_mu", s.state.point, s.report));
    for order in [Order::default(), Order::Lipschitz] {
        let settings = ProxFinitoSettings { order, stop, ..Default::default() };
        let s = prox_finito(problem, &settings, None, &mut ()).unwrap();
        all.push(("prox_finito", s.state.point, s.report));
    }
    let order = Order::Mixed;
    let settings = SagaSettings { order, stop, ..Default::default() };
    let s = saga(problem, &settings, None, &mut ()).unwrap();
    all.push(("saga, mixed draws", s.state.point, s.report));
    let settings = SvrgSettings { order: Order::Lipschitz, stop, ..Default::default() };
    let s = svrg(problem, &settings, None, &mut ()).unwrap();
    all.push(("svrg, Lipschitz draws", s.state.point, s.report));
    let s = fista(problem, &FistaSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    all.push(("fista", s.state.point, s.report));
    all
}

/// Runs every method on the weighted problem, and compares with the independent solver on the copies.
fn check<L: Loss + Copy, R: Lagged + AsElasticNet + Copy>(
    loss: L,
    regulariser: R,
    l2: f64,
    intercept: bool,
    classify: bool,
) {
    let data = data(N, D, 0.6, 5);
    let y = if classify { &data.signs } else { &data.reals };
    let weights = weights(5);
    let (x, targets) = copies(&data, y, &weights);
    let (w, b) = reference(&x, &targets, &loss, &regulariser, l2, intercept);
    let value = |w: &[f64], b: f64| objective(&x, &targets, &loss, &regulariser, l2, (w, b));
    let best = value(&w, b);
    let judge = |storage: &str, all: Vec<(&'static str, Point, Report)>| {
        for (name, point, report) in all {
            let name = format!("{name}, {}, {}, {storage}", L::NAME, R::NAME);
            assert_eq!(report.status, Status::Converged, "{name}: {report}");
            let off = value(&point.weights, point.intercept) - best;
            assert!(off.abs() <= 2.0 * GAP, "{name}: {off:e}");
        }
    };
    let dense = Problem::new(Dense::new(data.dense.view()).unwrap(), y, loss, regulariser, l2);
    let dense = dense.unwrap().with_weights(&weights).unwrap();
    let dense = if intercept { dense.with_intercept() } else { dense };
    judge("dense", solutions(&dense));
    let sparse = Problem::new(Csr::new(data.sparse.view()).unwrap(), y, loss, regulariser, l2);
    let sparse = if intercept { sparse.unwrap().with_intercept() } else { sparse.unwrap() };
    judge("sparse", solutions(&sparse.with_weights(&weights).unwrap()));
}

#[test]
fn every_method_finds_the_optimum_of_the_copies() {
    check(Logistic, Zero, 0.02, false, true);
    check(Logistic, Zero, 0.02, true, true);
    check(Squared, Zero, 0.05, true, false);
    check(Logistic, L1L2 { l1: 0.01, l2: 0.02 }, 0.01, true, true);
    check(Squared, L1 { strength: 0.02 }, 0.02, false, false);
}

#[test]
fn methods_without_a_regulariser_find_it_too() {
    let data = data(N, D, 0.6, 6);
    let weights = weights(6);
    let (x, targets) = copies(&data, &data.signs, &weights);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.05).unwrap();
    let problem = problem.with_weights(&weights).unwrap();
    let (w, b) = reference(&x, &targets, &Logistic, &Zero, 0.05, false);
    let best = objective(&x, &targets, &Logistic, &Zero, 0.05, (&w, b));
    let stop = tight();
    let s = finito(&problem, &FinitoSettings { stop, ..Default::default() }, None, &mut ());
    let t = lbfgs(&problem, &LbfgsSettings { stop, ..Default::default() }, None, &mut ());
    let u = newton_cg(&problem, &NewtonCgSettings { stop, ..Default::default() }, None, &mut ());
    let v = miso(&problem, &MisoSettings { stop, ..Default::default() }, None, &mut ());
    let (s, t, u, v) = (s.unwrap(), t.unwrap(), u.unwrap(), v.unwrap());
    for (name, point, report) in [
        ("finito", s.state.point, s.report),
        ("lbfgs", t.state.point, t.report),
        ("newton_cg", u.state, u.report),
        ("miso", v.state.point, v.report),
    ] {
        assert_eq!(report.status, Status::Converged, "{name}: {report}");
        let off = objective(&x, &targets, &Logistic, &Zero, 0.05, (&point.weights, 0.0)) - best;
        assert!(off.abs() <= 2.0 * GAP, "{name}: {off:e}");
    }
}

/// SGD has no certificate to speak of: it comes close to the optimum of the copies, and not to that without weights.
#[test]
fn sgd_goes_to_the_optimum_of_the_copies() {
    let data = data(N, D, 0.6, 6);
    let weights = weights(6);
    let (x, targets) = copies(&data, &data.signs, &weights);
    let design = Dense::new(data.dense.view()).unwrap();
    let plain = Problem::new(design, &data.signs, Logistic, Zero, 0.05).unwrap();
    let (w, _) = reference(&x, &targets, &Logistic, &Zero, 0.05, false);
    let (other, _) = reference(&data.dense, &data.signs, &Logistic, &Zero, 0.05, false);
    let value = |w: &[f64]| objective(&x, &targets, &Logistic, &Zero, 0.05, (w, 0.0));
    let settings = SgdSettings { stop: Stop::after_passes(3000.0), ..Default::default() };
    let problem = plain.with_weights(&weights).unwrap();
    let s = sgd(&problem, &settings, None, &mut ()).unwrap();
    let (off, without) = (value(&s.state.point.weights) - value(&w), value(&other) - value(&w));
    assert!(off <= 0.02 * without, "{off:e} {without:e}");
}

/// A path of a weighted problem, screening included, is that of the copies.
#[test]
fn paths_take_weights() {
    let data = data(N, D, 0.6, 10);
    let weights = weights(10);
    let (x, targets) = copies(&data, &data.signs, &weights);
    let design = Csr::new(data.sparse.view()).unwrap();
    let weighted = Problem::new(design, &data.signs, Logistic, Zero, 0.0).unwrap();
    let weighted = weighted.with_intercept().with_weights(&weights).unwrap();
    let copied = Problem::new(Dense::new(x.view()).unwrap(), &targets, Logistic, Zero, 0.0);
    let copied = copied.unwrap().with_intercept();
    for screening in [Screening::Off, Screening::Sphere, Screening::Strong] {
        let stop = Stop { relative: 1e-10, ..Stop::default() };
        let settings = PathSettings { screening, stop, ..PathSettings::default() };
        let (a, b) = (path(&weighted, &settings).unwrap(), path(&copied, &settings).unwrap());
        assert_eq!(a.points.len(), b.points.len());
        for (a, b) in a.points.iter().zip(&b.points) {
            assert!((a.penalty - b.penalty).abs() <= 1e-12 * b.penalty);
            let pair = [a, b].map(|at| at.report.certificate.objective().unwrap());
            assert!((pair[0] - pair[1]).abs() <= 1e-9, "{pair:?}");
        }
    }
}

#[test]
fn losses_with_a_kink_or_without_a_curvature_take_weights() {
    let data = data(N, D, 0.6, 7);
    let counts: Vec<f64> = (0..N).map(|i| (i % 4) as f64).collect();
    let weights = weights(7);
    let settings = SdcaSettings { stop: tight(), ..SdcaSettings::default() };
    let (x, targets) = copies(&data, &data.signs, &weights);
    let copied = Problem::new(Dense::new(x.view()).unwrap(), &targets, Hinge, Zero, 0.1).unwrap();
    let design = Csr::new(data.sparse.view()).unwrap();
    let weighted = Problem::new(design, &data.signs, Hinge, Zero, 0.1).unwrap();
    let weighted = weighted.with_weights(&weights).unwrap();
    same_optimum(
        sdca(&copied, &settings, None, &mut ()).unwrap().report,
        sdca(&weighted, &settings, None, &mut ()).unwrap().report,
    );

    let (x, targets) = copies(&data, &counts, &weights);
    let copied = Problem::new(Dense::new(x.view()).unwrap(), &targets, Poisson, Zero, 0.1).unwrap();
    let weighted = Problem::new(design, &counts, Poisson, Zero, 0.1).unwrap();
    let weighted = weighted.with_weights(&weights).unwrap();
    let newtons = NewtonSettings { stop: tight(), ..NewtonSettings::default() };
    let copy = newton(&copied, &newtons, None, &mut ()).unwrap().report;
    same_optimum(copy, sdca(&weighted, &settings, None, &mut ()).unwrap().report);
    same_optimum(copy, newton(&weighted, &newtons, None, &mut ()).unwrap().report);
}

fn same_optimum(a: Report, b: Report) {
    assert_eq!((a.status, b.status), (Status::Converged, Status::Converged), "{a} {b}");
    let (a, b) = (a.certificate.objective().unwrap(), b.certificate.objective().unwrap());
    assert!((a - b).abs() <= 2.0 * GAP, "{a} {b}");
}

/// Objective and lower bound at any point, whatever the repair of the dual point: an intercept, a scaled l1.
#[test]
fn certificates_are_those_of_the_copies() {
    let data = data(N, D, 0.6, 8);
    let weights = weights(8);
    let (x, targets) = copies(&data, &data.signs, &weights);
    fn both<'a, R: Regulariser + Copy>(
        data: &'a Data,
        weights: &[f64],
        (x, targets): (&'a Array2<f64>, &'a [f64]),
        (regulariser, l2, intercept): (R, f64, bool),
    ) {
        let plain = Problem::new(Dense::new(x.view()).unwrap(), targets, Logistic, regulariser, l2);
        let design = Csr::new(data.sparse.view()).unwrap();
        let weighted = Problem::new(design, &data.signs, Logistic, regulariser, l2).unwrap();
        let (mut plain, mut weighted) = (plain.unwrap(), weighted.with_weights(weights).unwrap());
        if intercept {
            (plain, weighted) = (plain.with_intercept(), weighted.with_intercept());
        }
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
        assert!(close(plain.mean_norm_squared(), weighted.mean_norm_squared()));
        assert!(close(plain.mean_smoothness(), weighted.mean_smoothness()));
        let mut rng = stream(1, 1);
        for _ in 0..20 {
            let at = Point {
                weights: (0..D).map(|_| rng.random_range(-3.0..3.0)).collect(),
                intercept: if intercept { rng.random_range(-1.0..1.0) } else { 0.0 },
            };
            let pair = (plain.certify(&at).unwrap(), weighted.certify(&at).unwrap());
            let (a, b) = match pair {
                (
                    Certificate::Gap { objective: a, lower_bound: c, .. },
                    Certificate::Gap { objective: b, lower_bound: d, .. },
                ) => {
                    assert!(close(c, d), "{pair:?}");
                    (a, b)
                }
                (
                    Certificate::Residual { objective: Some(a), norm: c, .. },
                    Certificate::Residual { objective: Some(b), norm: d, .. },
                ) => {
                    assert!(close(c, d), "{pair:?}");
                    (a, b)
                }
                _ => panic!("{pair:?}"),
            };
            assert!(close(a, b), "{pair:?}");
        }
    }
    let copied = (&x, &targets[..]);
    for intercept in [false, true] {
        both(&data, &weights, copied, (Zero, 0.1, intercept));
        both(&data, &weights, copied, (Zero, 0.0, intercept));
        both(&data, &weights, copied, (L1 { strength: 0.05 }, 0.0, intercept));
        both(&data, &weights, copied, (L1L2 { l1: 0.05, l2: 0.3 }, 0.1, intercept));
    }
}

/// Equal weights are no weights, to the last bit; and only proportions matter.
#[test]
fn equal_weights_change_no_bit() {
    let data = data(N, D, 0.6, 9);
    let design = Csr::new(data.sparse.view()).unwrap();
    let plain = Problem::new(design, &data.signs, Logistic, L1 { strength: 0.01 }, 0.05).unwrap();
    let settings = SagaSettings { stop: Stop::after_passes(7.0), ..SagaSettings::default() };
    let expected = saga(&plain, &settings, None, &mut ()).unwrap();
    for weight in [1.0, 0.25, 1e300, 1e-300] {
        let weighted = plain.clone().with_weights(&[weight; N]).unwrap();
        assert_eq!(saga(&weighted, &settings, None, &mut ()).unwrap().state, expected.state);
    }
}

#[test]
fn bad_weights_are_named() {
    let data = data(N, D, 0.6, 9);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.05).unwrap();
    let refused = |weights: &[f64], expected: &str| {
        let message = problem.clone().with_weights(weights).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    refused(&[1.0], "sample weights: expected length 24, found 1");
    refused(&[0.0; N], "largest sample weight = 0");
    let mut weights = [1.0; N];
    weights[3] = -2.0;
    refused(&weights, "is -2; expected a finite number >= 0");
    weights[3] = f64::NAN;
    refused(&weights, "is NaN; expected");
}
