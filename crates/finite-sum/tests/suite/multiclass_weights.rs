//! Several classes: a row of weight 2 is two rows, and a row of weight 0 is none.

use crate::common::multiclass::{codes, objective, reference};
use crate::common::{Data, data};
use fenchel_finite_sum::methods::{FistaSettings, NewtonCgSettings, NewtonSettings};
use fenchel_finite_sum::multiclass::{MulticlassPoint, MulticlassProblem, MulticlassSettings};
use fenchel_finite_sum::multiclass::{
    SoftmaxStep, catalyst, feature_groups, fista, lbfgs, newton, newton_cg, sdca,
};
use fenchel_finite_sum::prelude::{Certificate, Report, Status, Stop};
use fenchel_finite_sum::prox::{GroupNorm, L1, L1L2, Zero};
use fenchel_finite_sum::{Fit, LogisticRegression, OneVsRest, SoftmaxRegression};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::random::stream;
use fenchel_optim::{Regulariser, Separable};
use ndarray::{Array2, Axis};
use rand::RngExt;

const N: usize = 30;
const D: usize = 4;
const GAP: f64 = 1e-10;

fn tight() -> Stop {
    Stop { absolute: GAP, relative: 0.0, max_passes: 20_000.0, ..Stop::default() }
}

/// Small whole weights, some of them 0, and the copies they stand for.
fn case(seed: u64) -> (Data, Vec<usize>, Vec<f64>, Array2<f64>, Vec<usize>) {
    let data = data(N, D, 0.7, seed);
    let y = codes(&data.reals, seed);
    let mut rng = stream(seed, 8);
    let mut weights: Vec<f64> = (0..N).map(|_| f64::from(rng.random_range(0..4u8))).collect();
    (weights[0], weights[1]) = (0.0, 3.0);
    let rows: Vec<usize> =
        (0..N).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let (x, copied) = (data.dense.select(Axis(0), &rows), rows.iter().map(|&i| y[i]).collect());
    (data, y, weights, x, copied)
}

fn dual_methods<D: Design, R: Separable>(
    problem: &MulticlassProblem<'_, D, R>,
) -> Vec<(String, MulticlassPoint, Report)> {
    let mut all = vec![];
    for step in [SoftmaxStep::Exact, SoftmaxStep::Interval, SoftmaxStep::Constant] {
        let settings = MulticlassSettings { step, stop: tight(), ..Default::default() };
        let s = catalyst(problem, &settings, None, &mut ()).unwrap();
        all.push((format!("catalyst {step:?}"), s.state.point, s.report));
        if problem.strong_convexity() > 0.0 {
            let s = sdca(problem, &settings, None, &mut ()).unwrap();
            all.push((format!("sdca {step:?}"), s.state.point, s.report));
        }
    }
    all
}

fn smooth_methods<D: Design>(
    problem: &MulticlassProblem<'_, D, Zero>,
) -> Vec<(String, MulticlassPoint, Report)> {
    let stop = tight();
    let s = lbfgs(problem, &LbfgsSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    let mut all = vec![("lbfgs".to_string(), s.state.point, s.report)];
    let s = newton(problem, &NewtonSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    all.push(("newton".into(), s.state, s.report));
    let settings = NewtonCgSettings { stop, ..Default::default() };
    let s = newton_cg(problem, &settings, None, &mut ()).unwrap();
    all.push(("newton_cg".into(), s.state, s.report));
    all
}

#[track_caller]
fn judge<R: Regulariser>(
    all: Vec<(String, MulticlassPoint, Report)>,
    (x, y): (&Array2<f64>, &[usize]),
    (h, l2, intercepts): (&R, f64, bool),
) {
    let (w, b) = reference(x, y, 3, h, l2, intercepts);
    let best = objective(x, y, 3, h, l2, &w, &b);
    for (name, point, report) in all {
        assert_eq!(report.status, Status::Converged, "{name}, {}: {report}", R::NAME);
        let found = objective(x, y, 3, h, l2, &point.weights, &point.intercepts);
        assert!((found - best).abs() <= 2.0 * GAP, "{name}, {}: {found} {best}", R::NAME);
        let claimed = report.certificate.objective().unwrap();
        assert!((found - claimed).abs() <= 1e-13, "{name}: {found} {claimed}");
    }
}

#[test]
fn every_method_finds_the_optimum_of_the_copies() {
    for (seed, intercepts) in [(5, false), (6, true)] {
        let (data, y, weights, x, copied) = case(seed);
        let copies = (&x, &copied[..]);
        let dense = || Dense::new(data.dense.view()).unwrap();
        let sparse = || Csr::new(data.sparse.view()).unwrap();
        // Weights before the intercepts and after: the same.
        let problem = MulticlassProblem::new(sparse(), &y, 3, Zero, 0.02).unwrap();
        let problem = problem.with_weights(&weights).unwrap();
        let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
        judge(dual_methods(&problem), copies, (&Zero, 0.02, intercepts));
        judge(smooth_methods(&problem), copies, (&Zero, 0.02, intercepts));
        let net = L1L2 { l1: 0.01, l2: 0.02 };
        let problem = MulticlassProblem::new(dense(), &y, 3, net, 0.01).unwrap();
        let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
        let problem = problem.with_weights(&weights).unwrap();
        judge(dual_methods(&problem), copies, (&net, 0.01, intercepts));
        let h = L1 { strength: 0.02 };
        let problem = MulticlassProblem::new(sparse(), &y, 3, h, 0.0).unwrap();
        let problem = problem.with_weights(&weights).unwrap();
        let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
        judge(dual_methods(&problem), copies, (&h, 0.0, intercepts));
        let h = GroupNorm { groups: feature_groups(D, 3).unwrap(), strength: 0.03 };
        let problem = MulticlassProblem::new(dense(), &y, 3, &h, 0.0).unwrap();
        let problem = problem.with_weights(&weights).unwrap();
        let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
        let settings = FistaSettings { stop: tight(), ..Default::default() };
        let s = fista(&problem, &settings, None, &mut ()).unwrap();
        judge(vec![("fista".into(), s.state.point, s.report)], copies, (&h, 0.0, intercepts));
    }
}

/// Objective and lower bound at any point, whatever the repair of the dual point.
#[test]
fn certificates_are_those_of_the_copies() {
    fn both<R: Regulariser + Clone>(seed: u64, h: &R, l2: f64, intercepts: bool) {
        let (data, y, weights, x, copied) = case(seed);
        let plain = MulticlassProblem::new(Dense::new(x.view()).unwrap(), &copied, 3, h, l2);
        let design = Csr::new(data.sparse.view()).unwrap();
        let weighted = MulticlassProblem::new(design, &y, 3, h, l2).unwrap();
        let (mut plain, mut weighted) = (plain.unwrap(), weighted.with_weights(&weights).unwrap());
        if intercepts {
            plain = plain.with_intercepts().unwrap();
            weighted = weighted.with_intercepts().unwrap();
        }
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
        assert!(close(plain.mean_norm_squared(), weighted.mean_norm_squared()));
        let mut rng = stream(seed, 1);
        for _ in 0..20 {
            let mut draw =
                |size: usize| (0..size).map(|_| rng.random_range(-2.0..2.0)).collect::<Vec<f64>>();
            let b = if intercepts { draw(3) } else { vec![0.0; 3] };
            let at = MulticlassPoint { weights: draw(3 * D), intercepts: b };
            match (plain.certify(&at).unwrap(), weighted.certify(&at).unwrap()) {
                (
                    Certificate::Gap { objective: a, lower_bound: c, .. },
                    Certificate::Gap { objective: b, lower_bound: d, .. },
                ) => assert!(close(a, b) && close(c, d), "{a} {b} {c} {d}"),
                (
                    Certificate::Residual { objective: Some(a), norm: c, .. },
                    Certificate::Residual { objective: Some(b), norm: d, .. },
                ) => {
                    // The step of the gradient mapping is that of the heaviest term: of another problem.
                    assert!(close(a, b), "{a} {b}");
                    assert!(!plain.regulariser().is_zero() || close(c, d), "{c} {d}");
                }
                pair => panic!("{pair:?}"),
            }
        }
    }
    for intercepts in [false, true] {
        both(7, &Zero, 0.1, intercepts);
        both(7, &Zero, 0.0, intercepts);
        both(8, &L1 { strength: 0.05 }, 0.0, intercepts);
        both(8, &L1L2 { l1: 0.05, l2: 0.3 }, 0.1, intercepts);
        let groups = feature_groups(D, 3).unwrap();
        both(9, &GroupNorm { groups, strength: 0.05 }, 0.0, intercepts);
    }
}

/// Equal weights are no weights, to the last bit; and only proportions matter.
#[test]
fn equal_weights_change_no_bit() {
    let (data, y, ..) = case(10);
    let design = Csr::new(data.sparse.view()).unwrap();
    let plain = MulticlassProblem::new(design, &y, 3, L1 { strength: 0.01 }, 0.05).unwrap();
    let plain = plain.with_intercepts().unwrap();
    let settings = MulticlassSettings { stop: Stop::after_passes(7.0), ..Default::default() };
    let expected = catalyst(&plain, &settings, None, &mut ()).unwrap();
    for weight in [1.0, 0.25, 1e300, 1e-300] {
        let weighted = plain.clone().with_weights(&[weight; N]).unwrap();
        assert_eq!(catalyst(&weighted, &settings, None, &mut ()).unwrap().state, expected.state);
    }
}

#[test]
fn estimators_take_weights_as_copies() {
    let (data, y, weights, x, copied) = case(11);
    let names = |codes: &[usize]| -> Vec<&str> {
        codes.iter().map(|&k| ["low", "mid", "top"][k]).collect()
    };
    let (y, copied) = (names(&y), names(&copied));
    let stop = Stop { relative: 1e-11, ..Stop::default() };
    let close = |a: &Array2<f64>, b: &Array2<f64>| {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-4), "{a} {b}");
    };
    for (l1, group) in [(0.0, 0.0), (0.01, 0.0), (0.005, 0.01)] {
        let l2 = Some(0.02);
        let fit = SoftmaxRegression { l1, group, l2, stop, ..Default::default() };
        let expected = fit.fit(&x, &copied).unwrap();
        let found = fit.fit_with(&data.sparse, &y, Fit::new().weights(&weights)).unwrap();
        assert_eq!(found.report.status, Status::Converged, "{}", found.report);
        close(&expected.weights, &found.weights);
        let pair = [&expected, &found].map(|m| m.report.certificate.objective().unwrap());
        assert!((pair[0] - pair[1]).abs() <= 1e-10, "{pair:?}");
    }
    let binary = LogisticRegression { l2: Some(0.02), stop, ..Default::default() };
    let rest = OneVsRest { binary };
    let expected = rest.fit(&x, &copied).unwrap().decision_function(&data.dense).unwrap();
    let found = rest.fit_with(&data.sparse, &y, Fit::new().weights(&weights)).unwrap();
    close(&expected, &found.decision_function(&data.dense).unwrap());
}

#[test]
fn bad_weights_are_named() {
    let (data, y, ..) = case(12);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = MulticlassProblem::new(design, &y, 3, Zero, 0.05).unwrap();
    let refused =
        |problem: &MulticlassProblem<'_, Csr<'_, f64>, Zero>, weights: &[f64], expected| {
            let message = problem.clone().with_weights(weights).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
    refused(&problem, &[1.0], "sample weights: expected length 30, found 1");
    refused(&problem, &[0.0; N], "largest sample weight = 0");
    let mut weights = [1.0; N];
    weights[3] = -2.0;
    refused(&problem, &weights, "sample weights: entry 3 is -2; expected a finite number >= 0");
    weights[3] = f64::NAN;
    refused(&problem, &weights, "sample weights: entry 3 is NaN");
    // A class that has rows, but none that counts, has no intercept.
    let weights: Vec<f64> = y.iter().map(|&k| if k == 1 { 0.0 } else { 1.0 }).collect();
    let problem = problem.with_intercepts().unwrap();
    refused(&problem, &weights, "sample weights: all rows of class 1 have weight 0");
    let fit = SoftmaxRegression::default();
    let refused = |weights: &[f64], expected| {
        let message =
            fit.fit_with(&data.dense, &y, Fit::new().weights(weights)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    let names: Vec<&str> = y.iter().map(|&k| ["low", "mid", "top"][k]).collect();
    let fit_names = |weights: &[f64]| {
        let rest = OneVsRest::default().fit_with(&data.dense, &names, Fit::new().weights(weights));
        let all = fit.fit_with(&data.dense, &names, Fit::new().weights(weights));
        [rest.unwrap_err().to_string(), all.unwrap_err().to_string()]
    };
    let expected = "sample weights: all rows of class \"mid\" have weight 0; give one of them a positive weight, or leave the rows out";
    assert_eq!(fit_names(&weights), [expected; 2]);
    let message = fit_names(&[0.0; N]);
    assert!(message.iter().all(|text| text.contains("largest sample weight = 0")), "{message:?}");
    // Without intercepts the class is legal.
    let free = SoftmaxRegression { intercept: false, ..fit.clone() };
    assert!(free.fit_with(&data.dense, &names, Fit::new().weights(&weights)).is_ok());
    refused(&weights[..5], "sample weights: expected length 30, found 5");
}
