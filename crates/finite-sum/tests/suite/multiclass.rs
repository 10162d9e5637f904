//! Multinomial logistic regression against an independent solver, its dual step against its equation, and the
//! estimators on top.

use crate::common::multiclass::{codes, objective, reference};
use crate::common::{data, distance};
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{CatalystSettings, FistaSettings, catalyst as binary_catalyst};
use fenchel_finite_sum::multiclass::{MulticlassPoint, MulticlassProblem, MulticlassSettings};
use fenchel_finite_sum::multiclass::{
    MulticlassState, SoftmaxStep, catalyst, exact_step, feature_groups, fista, interval_step,
    lbfgs, sdca,
};
use fenchel_finite_sum::prelude::Refusal;
use fenchel_finite_sum::prelude::{Certificate, Order, Report, Saved, Status, Stop};
use fenchel_finite_sum::prox::{GroupNorm, L1, L1L2, Zero};
use fenchel_finite_sum::{
    Error, Fit, LogisticRegression, OneVsRest, Problem, SoftmaxModel, SoftmaxRegression,
    estimators::OneVsRestModel,
};
use fenchel_linalg::special::softmax;
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::random::stream;
use fenchel_optim::{Regulariser, Separable};
use ndarray::Array2;
use proptest::prelude::*;
use rand::RngExt;

const D: usize = 5;

fn tight() -> Stop {
    Stop { relative: 1e-11, absolute: 1e-14, max_passes: 20_000.0, ..Stop::default() }
}

#[track_caller]
fn check(name: &str, report: &Report, point: &MulticlassPoint, w: &[f64], best: f64) {
    assert!(report.certificate.value() <= 1e-10, "{name}: {report}");
    let found = report.certificate.objective().unwrap();
    assert!((found - best).abs() <= 1e-10 * (1.0 + best), "{name}: {found} {best}");
    let off = distance(&point.weights, w);
    assert!(off <= 2e-5, "{name}: {off:e}");
}

fn dual_methods<D2: Design + Copy, R: Separable + Copy>(
    name: &str,
    design: D2,
    y: &[usize],
    (h, l2): (R, f64),
    intercepts: bool,
    (w, best): (&[f64], f64),
) {
    let problem = MulticlassProblem::new(design, y, 3, h, l2).unwrap();
    let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
    for step in [SoftmaxStep::Exact, SoftmaxStep::Interval, SoftmaxStep::Constant] {
        let settings = MulticlassSettings { step, seed: 3, stop: tight(), ..Default::default() };
        let name = format!("{name} {step:?}");
        let s = catalyst(&problem, &settings, None, &mut ()).unwrap();
        check(&format!("{name} catalyst"), &s.report, &s.state.point, w, best);
        // One number less than classes a row.
        assert_eq!(s.state.dual.len(), y.len() * 2);
        if l2 > 0.0 {
            for order in [Order::Lipschitz, Order::Residual, Order::Gap] {
                let name = format!("{name} {order:?}");
                let settings = MulticlassSettings { order, ..settings.clone() };
                let s = sdca(&problem, &settings, None, &mut ()).unwrap();
                check(&name, &s.report, &s.state.point, w, best);
            }
            let s = sdca(&problem, &settings, None, &mut ()).unwrap();
            check(&format!("{name} sdca"), &s.report, &s.state.point, w, best);
            let again = sdca(&problem, &settings, Some(s.state), &mut ()).unwrap();
            assert!(again.report.passes <= 20.0, "{name}: {}", again.report);
        }
    }
}

#[test]
fn every_method_ends_at_the_same_optimum() {
    for (l2, intercepts, seed) in [(0.05, false, 1), (0.01, true, 2)] {
        let data = data(45, D, 0.6, seed);
        let y = codes(&data.reals, seed);
        let sparse = Csr::new(data.sparse.view()).unwrap();
        let dense = Dense::new(data.dense.view()).unwrap();
        let (w, b) = reference(&data.dense, &y, 3, &Zero, l2, intercepts);
        let best = objective(&data.dense, &y, 3, &Zero, l2, &w, &b);
        let name = format!("l2 {l2} intercepts {intercepts}");
        dual_methods(&format!("{name} dense"), dense, &y, (Zero, l2), intercepts, (&w, best));
        dual_methods(&format!("{name} sparse"), sparse, &y, (Zero, l2), intercepts, (&w, best));
        let problem = MulticlassProblem::new(sparse, &y, 3, Zero, l2).unwrap();
        let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
        let stop = Stop { relative: 1e-11, ..tight() };
        let settings = LbfgsSettings { stop, ..Default::default() };
        let s = lbfgs(&problem, &settings, None, &mut ()).unwrap();
        check(&format!("{name} lbfgs"), &s.report, &s.state.point, &w, best);

        let h = L1 { strength: 0.02 };
        let (w, b) = reference(&data.dense, &y, 3, &h, 0.0, intercepts);
        let best = objective(&data.dense, &y, 3, &h, 0.0, &w, &b);
        dual_methods(&format!("{name} l1"), sparse, &y, (h, 0.0), intercepts, (&w, best));
        let h = L1L2 { l1: 0.01, l2: 0.02 };
        let (w, b) = reference(&data.dense, &y, 3, &h, l2, intercepts);
        let best = objective(&data.dense, &y, 3, &h, l2, &w, &b);
        dual_methods(&format!("{name} net"), dense, &y, (h, l2), intercepts, (&w, best));

        let h = GroupNorm { groups: feature_groups(D, 3).unwrap(), strength: 0.05 };
        let (w, b) = reference(&data.dense, &y, 3, &h, 0.0, intercepts);
        let best = objective(&data.dense, &y, 3, &h, 0.0, &w, &b);
        let problem = MulticlassProblem::new(sparse, &y, 3, &h, 0.0).unwrap();
        let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
        let stop = Stop { relative: 1e-11, ..tight() };
        let settings = FistaSettings { stop, ..Default::default() };
        let s = fista(&problem, &settings, None, &mut ()).unwrap();
        check(&format!("{name} group"), &s.report, &s.state.point, &w, best);
        for feature in w.chunks(3).zip(s.state.point.weights.chunks(3)) {
            let zero = |w: &[f64]| w.iter().all(|w| *w == 0.0);
            assert_eq!(zero(feature.0), zero(feature.1));
        }
    }
}

/// With two classes the problem is binary logistic regression in `W_1 - W_0`, with half the l2.
#[test]
fn two_classes_are_the_binary_problem() {
    let data = data(50, D, 0.7, 4);
    let y: Vec<usize> = data.signs.iter().map(|&s| usize::from(s > 0.0)).collect();
    let design = || Csr::new(data.sparse.view()).unwrap();
    let binary =
        Problem::new(design(), &data.signs, Logistic, Zero, 0.01).unwrap().with_intercept();
    let settings = CatalystSettings { stop: tight(), ..Default::default() };
    let expected = binary_catalyst(&binary, &settings, None, &mut ()).unwrap();
    let problem = MulticlassProblem::new(design(), &y, 2, Zero, 0.02).unwrap();
    let problem = problem.with_intercepts().unwrap();
    let settings = MulticlassSettings { stop: tight(), ..Default::default() };
    let found = catalyst(&problem, &settings, None, &mut ()).unwrap();
    let objectives = [&expected.report, &found.report].map(|r| r.certificate.objective().unwrap());
    assert!((objectives[0] - objectives[1]).abs() <= 1e-10, "{objectives:?}");
    let w: Vec<f64> = found.state.point.weights.chunks(2).map(|w| w[1] - w[0]).collect();
    assert!(distance(&w, &expected.state.point.weights) <= 1e-5);
    let [b0, b1] = found.state.point.intercepts[..] else { panic!() };
    assert!((b1 - b0 - expected.state.point.intercept).abs() <= 1e-5);
}

#[test]
fn certificates_bound_the_suboptimality_anywhere() {
    for (seed, intercepts) in [(5, false), (6, true)] {
        let data = data(30, D, 0.7, seed);
        let y = codes(&data.reals, seed);
        fn at<R: Regulariser>(
            data: &crate::common::Data,
            y: &[usize],
            h: &R,
            l2: f64,
            intercepts: bool,
            seed: u64,
        ) {
            let (w, b) = reference(&data.dense, y, 3, h, l2, intercepts);
            let best = objective(&data.dense, y, 3, h, l2, &w, &b);
            let design = Csr::new(data.sparse.view()).unwrap();
            let problem = MulticlassProblem::new(design, y, 3, h, l2).unwrap();
            let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
            let mut rng = stream(seed, 3);
            for scale in [0.0, 1e-3, 0.3, 3.0, 100.0] {
                let mut near = |w: &f64| w + scale * rng.random_range(-1.0..1.0);
                let weights: Vec<f64> = w.iter().map(&mut near).collect();
                let intercepts: Vec<f64> =
                    b.iter().map(|b| if intercepts { near(b) } else { 0.0 }).collect();
                let point = MulticlassPoint { weights, intercepts };
                let certificate = problem.certify(&point).unwrap();
                let Certificate::Gap { objective, .. } = certificate else {
                    panic!("{certificate}");
                };
                let gap = certificate.value();
                assert!(gap >= objective - best - 1e-12, "{}: {certificate} {best}", R::NAME);
                assert!(scale > 0.0 || gap <= 1e-6, "{}: {certificate}", R::NAME);
            }
        }
        at(&data, &y, &Zero, 0.05, intercepts, seed);
        at(&data, &y, &L1 { strength: 0.03 }, 0.0, intercepts, seed);
        let groups = feature_groups(D, 3).unwrap();
        at(&data, &y, &GroupNorm { groups, strength: 0.03 }, 0.0, intercepts, seed);
    }
}

/// Without a penalty the certificate is the norm of the gradient.
#[test]
fn without_a_penalty_the_gradient_is_the_certificate() {
    let data = data(60, 3, 1.0, 7);
    let y = codes(&data.reals, 7);
    let problem =
        MulticlassProblem::new(Dense::new(data.dense.view()).unwrap(), &y, 3, Zero, 0.0).unwrap();
    let problem = problem.with_intercepts().unwrap();
    let stop = Stop { absolute: 1e-8, relative: 0.0, ..Stop::default() };
    let s = lbfgs(&problem, &LbfgsSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    assert_eq!(s.report.status, Status::Converged, "{}", s.report);
    assert!(matches!(s.report.certificate, Certificate::Residual { .. }));
}

/// Exact and interval steps never decrease the dual, computed here from its definition.
#[test]
fn the_dual_never_falls() {
    let data = data(20, D, 0.6, 8);
    let y = codes(&data.reals, 8);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = MulticlassProblem::new(design, &y, 3, Zero, 0.02).unwrap();
    let dual = |state: &MulticlassState| {
        let (mut v, mut entropy) = (vec![0.0; D * 3], 0.0);
        for (i, stored) in state.dual.chunks(2).enumerate() {
            let mut p = stored.to_vec();
            p.insert(y[i], 1.0 - stored.iter().sum::<f64>());
            entropy -= p.iter().map(|p| if *p > 0.0 { p * p.ln() } else { 0.0 }).sum::<f64>();
            p[y[i]] -= 1.0;
            for c in 0..D {
                for k in 0..3 {
                    v[c * 3 + k] -= data.dense[[i, c]] * p[k] / 20.0;
                }
            }
        }
        entropy / 20.0 - v.iter().map(|v| v * v).sum::<f64>() / (2.0 * 0.02)
    };
    for step in [SoftmaxStep::Exact, SoftmaxStep::Interval] {
        let (mut state, mut last) = (None, f64::NEG_INFINITY);
        for j in 0..150 {
            let settings = MulticlassSettings {
                step,
                order: Order::Scripted(vec![(j * 7) % 20]),
                stop: Stop::after_passes(0.05),
                ..Default::default()
            };
            let s = sdca(&problem, &settings, state.take(), &mut ()).unwrap();
            let value = dual(&s.state);
            assert!(value >= last - 1e-15, "{step:?} {j}: {last} {value}");
            last = value;
            state = Some(s.state);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// `p = softmax(m - q (p - e_y))`, from any guess.
    #[test]
    fn the_exact_step_solves_its_equation(
        m in proptest::collection::vec(-30.0..30.0f64, 2..8),
        log_q in -12.0..8.0f64, place in 0.0..1.0f64, guess in -1e3..1e3f64,
    ) {
        let (q, y) = (10f64.powf(log_q), (place * m.len() as f64) as usize);
        let mut p = vec![0.0; m.len()];
        exact_step(&m, q, y, guess, &mut p);
        let sum: f64 = p.iter().sum();
        prop_assert!((sum - 1.0).abs() <= 1e-14 && p.iter().all(|&p| p >= 0.0));
        // Where q is large a rounding of p is q times as large in the scores: measure it there.
        let z: Vec<f64> =
            (0..m.len()).map(|k| m[k] - q * (p[k] - if k == y { 1.0 } else { 0.0 })).collect();
        let mut back = vec![0.0; m.len()];
        softmax(&z, &mut back);
        for (p, back) in p.iter().zip(&back) {
            let rounding = 1e-12 + 8.0 * f64::EPSILON * q * p;
            prop_assert!((p - back).abs() <= rounding, "{p} {back} q {q} {m:?}");
        }
    }

    /// No point of the interval has a larger dual.
    #[test]
    fn the_interval_step_is_the_best_of_its_interval(
        z in proptest::collection::vec(-5.0..5.0f64, 4), scores in proptest::collection::vec(-5.0..5.0f64, 4),
        q in 0.0..50.0f64, corner: bool,
    ) {
        let (mut old, mut target) = (vec![0.0; 4], vec![0.0; 4]);
        softmax(&scores, &mut old);
        if corner {
            old = vec![0.0, 1.0, 0.0, 0.0];
        }
        softmax(&z, &mut target);
        let loss = |p: &[f64]| {
            let entropy: f64 = p.iter().map(|p| if *p > 0.0 { p * p.ln() } else { 0.0 }).sum();
            let linear: f64 = (0..4).map(|k| (p[k] - old[k]) * z[k]).sum();
            let square: f64 = (0..4).map(|k| (p[k] - old[k]).powi(2)).sum();
            entropy - linear + 0.5 * q * square
        };
        let mut p = target.clone();
        interval_step(&old, &z, q, &mut p);
        for k in 0..=200 {
            let c = f64::from(k) / 200.0;
            let there: Vec<f64> = (0..4).map(|k| old[k] + c * (target[k] - old[k])).collect();
            prop_assert!(loss(&p) <= loss(&there) + 1e-12 * (1.0 + q));
        }
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let data = data(10, D, 1.0, 9);
    let y = vec![0, 1, 2, 0, 1, 2, 0, 1, 2, 0];
    let design = || Dense::new(data.dense.view()).unwrap();
    let error = |labels: &[usize], classes, l2| {
        MulticlassProblem::new(design(), labels, classes, Zero, l2).unwrap_err().to_string()
    };
    assert!(error(&y[..9], 3, 0.1).contains("labels: expected length 10, found 9"));
    assert!(error(&y, 2, 0.1).contains("label of row 2 is 2; expected a class code below"));
    assert!(error(&y, 1, 0.1).contains("number of classes = 1; expected at least 2"));
    assert!(error(&y, usize::MAX, 0.1).contains("number of classes"));
    assert!(error(&y, 3, -0.1).contains("l2 = -0.1"));
    let problem = MulticlassProblem::new(design(), &y, 4, Zero, 0.0).unwrap();
    let error = problem.clone().with_intercepts().unwrap_err().to_string();
    let expected = "labels: no row has class 3, so that its intercept would be minus infinity";
    assert!(error.starts_with(expected), "{error}");
    let settings = MulticlassSettings::default();
    let error = sdca(&problem, &settings, None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::NeedsStrongConvexity { .. })));
    let problem = MulticlassProblem::new(design(), &y, 3, Zero, 0.1).unwrap();
    let start = |dual: Vec<f64>| Some(MulticlassState::new(MulticlassPoint::zero(D, 3), dual));
    for dual in [vec![0.0; 3], vec![0.6; 20], vec![-0.1; 20], vec![f64::NAN; 20]] {
        assert!(sdca(&problem, &settings, start(dual), &mut ()).is_err());
    }
    let negative = MulticlassSettings { kappa: Some(-1.0), ..Default::default() };
    assert!(catalyst(&problem, &negative, None, &mut ()).is_err());
    let point = MulticlassPoint { weights: vec![f64::NAN; D * 3], intercepts: vec![0.0; 3] };
    assert!(problem.certify(&point).is_err() && problem.objective(&point).is_err());
    let one = SoftmaxRegression::default().fit(&data.dense, &vec![1; 10]).unwrap_err();
    assert!(one.to_string().contains("at least 2"), "{one}");
    let negative = SoftmaxRegression { group: -1.0, ..Default::default() };
    assert!(negative.fit(&data.dense, &y).unwrap_err().to_string().contains("group = -1"));
    assert!(OneVsRest::default().fit(&data.dense, &vec!["a"; 10]).is_err());
}

#[test]
fn estimators_fit_predict_and_come_back_from_a_file() {
    let data = data(80, D, 0.8, 10);
    let y: Vec<String> =
        codes(&data.reals, 10).iter().map(|&k| ["low", "mid", "top"][k].to_string()).collect();
    for (l2, l1, group) in
        [(None, 0.0, 0.0), (Some(0.0), 0.0, 0.0), (None, 0.02, 0.0), (None, 0.01, 0.02)]
    {
        let fit = SoftmaxRegression { l2, l1, group, ..Default::default() };
        let model = fit.fit(&data.sparse, &y).unwrap();
        assert_eq!(model.report.status, Status::Converged, "{}", model.report);
        let hits =
            model.predict(&data.dense).unwrap().iter().zip(&y).filter(|(a, b)| a == b).count();
        assert!(hits >= 48, "{hits}");
        let p = model.predict_proba(&data.sparse).unwrap();
        assert!(p.rows().into_iter().all(|p| (p.sum() - 1.0).abs() <= 1e-14));
        // The probabilities of an optimum with intercepts add up to the class counts.
        let sums = p.sum_axis(ndarray::Axis(0));
        let count = |k: usize| y.iter().filter(|y| **y == model.classes.labels()[k]).count() as f64;
        for k in 0..3 {
            assert!((sums[k] - count(k)).abs() <= 0.5, "{sums}");
        }
        let mut file = vec![];
        model.save(&mut file).unwrap();
        assert_eq!(SoftmaxModel::<String>::load(&file[..]).unwrap(), model);
        assert!(OneVsRestModel::<String>::load(&file[..]).is_err());
        let mut watched = 0;
        let mut seen = |_: &fenchel_optim::Progress| {
            watched += 1;
            std::ops::ControlFlow::Continue(())
        };
        assert_eq!(
            fit.fit_with(&data.sparse, &y, Fit::new().watch(&mut seen)).unwrap().weights,
            model.weights
        );
        assert!(watched > 0);
    }
    let model = OneVsRest::default().fit(&data.sparse, &y).unwrap();
    assert!(model.worst_report().certificate.relative() <= 1e-4);
    let top: Vec<bool> = y.iter().map(|y| y == "top").collect();
    let alone = LogisticRegression::default().fit(&data.sparse, &top).unwrap();
    assert_eq!(model.models[2].weights, alone.weights);
    let p = model.predict_proba(&data.dense).unwrap();
    assert!(p.rows().into_iter().all(|p| (p.sum() - 1.0).abs() <= 1e-14));
    let hits = model.predict(&data.dense).unwrap().iter().zip(&y).filter(|(a, b)| a == b).count();
    assert!(hits >= 48, "{hits}");
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(OneVsRestModel::<String>::load(&file[..]).unwrap(), model);
}

#[cfg(feature = "parallel")]
#[test]
fn threads_do_not_change_a_bit() {
    let mut rng = stream(3, 3);
    let x = Array2::from_shape_fn((4000, 12), |_| rng.random_range(-1.0..1.0f64));
    let y: Vec<usize> =
        x.rows().into_iter().map(|a| (3.0 * f64::abs(a[0] + a[1])).min(3.0) as usize).collect();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let stop = Stop { max_passes: 4.0, ..Stop::default() };
        pool.install(|| {
            let softmax = SoftmaxRegression { stop, ..Default::default() }.fit(&x, &y).unwrap();
            let batch = SoftmaxRegression { l2: Some(0.0), stop, ..Default::default() };
            let mut rest = OneVsRest::default().fit(&x, &y).unwrap();
            rest.models.iter_mut().for_each(|m| m.report = m.report.without_seconds());
            (softmax.weights, batch.fit(&x, &y).unwrap().weights, rest.models)
        })
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(3));
}
