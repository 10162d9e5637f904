//! FISTA with every regulariser, and incremental methods with those that tie weights together, against an independent
//! solver; losses given by closures.

use crate::common::{data, distance, objective, reference};
use fenchel_erm::loss::{Custom, Hinge, Huber, Logistic, Squared};
use fenchel_erm::methods::lag::Composite;
use fenchel_erm::methods::{
    FinitoSettings, FistaSettings, NewtonSettings, SagSettings, SagaSettings, SdcaSettings,
    SgdSettings, SvrgSettings, TableStart, finito, fista, newton, sag, saga, sdca, sgd, svrg,
};
use fenchel_erm::multiclass::MulticlassProblem;
use fenchel_erm::prelude::Refusal;
use fenchel_erm::prelude::{Certificate, Status, StepSize, Stop};
use fenchel_erm::prox::{
    FusedLasso, GroupMax, GroupNorm, Groups, Interval, L1, L1Ball, L1L2, L2Ball, L2Norm,
    NonnegativeL1, Simplex, SparseGroupLasso, TotalVariation, WeightedL1, Zero,
};
use fenchel_erm::{Error, Point, Problem};
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::fista::FistaStep;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Regulariser};

const D: usize = 6;

fn settings(residual: bool) -> FistaSettings {
    // A gap of 1e-13 and a residual of 1e-9 are both about 1e-6 in the weights at worst, 1e-8 in practice.
    let absolute = if residual { 1e-10 } else { 1e-13 };
    let stop = Stop { absolute, relative: 0.0, max_passes: 3e5, ..Stop::default() };
    FistaSettings { stop, ..FistaSettings::default() }
}

fn check<L: Loss + Copy, R: Regulariser>(loss: L, h: &R, l2: f64, intercept: bool, seed: u64) {
    let data = data(40, D, 0.7, seed);
    let y = if L::NAME == "logistic" { &data.signs } else { &data.reals };
    let (w, b) = reference(&data.dense, y, &loss, h, l2, intercept);
    let best = objective(&data.dense, y, &loss, h, l2, (&w, b));
    let name = format!("{} {} l2 {l2} intercept {intercept}", L::NAME, R::NAME);
    let problem = Problem::new(Csr::new(data.sparse.view()).unwrap(), y, loss, h, l2).unwrap();
    let problem = if intercept { problem.with_intercept() } else { problem };
    let residual = l2 == 0.0 && !h.coercive();
    let s = fista(&problem, &settings(residual), None, &mut ()).unwrap();
    let converged = matches!(s.report.status, Status::Converged | Status::Stalled);
    assert!(converged, "{name}: {}", s.report);
    assert!(s.report.certificate.value() <= 1e-9, "{name}: {}", s.report);
    match s.report.certificate {
        Certificate::Gap { .. } => assert!(!residual, "{name}"),
        Certificate::Residual { .. } => assert!(residual, "{name}"),
        Certificate::Uncertified { .. } => panic!("{name}: {}", s.report),
    }
    let found = problem.objective(&s.state.point).unwrap();
    assert!((found - best).abs() <= 1e-10 * (1.0 + best.abs()), "{name}: {found} {best}");
    let point = &s.state.point;
    let off = distance(&point.weights, &w).max((point.intercept - b).abs());
    assert!(off <= 1e-5, "{name}: {off:e}");
    // Certificates bound the suboptimality elsewhere too.
    for shift in [1e-3, 0.3] {
        let mut weights: Vec<f64> = w.iter().map(|w| w + shift).collect();
        if h.value(&weights).is_infinite() {
            h.prox(&mut weights, 1.0);
        }
        let point = Point { weights, intercept: if intercept { b - shift } else { 0.0 } };
        let above = problem.objective(&point).unwrap() - best;
        if let Certificate::Gap { .. } = problem.certify(&point).unwrap() {
            let gap = problem.certify(&point).unwrap().value();
            assert!(gap >= above - 1e-12 * (1.0 + best), "{name}: {gap:e} {above:e}");
        }
    }
}

fn every<L: Loss + Copy>(loss: L, l2: f64, intercept: bool, seed: u64) {
    let groups = || Groups::new(D, &[vec![0, 3], vec![1, 2, 5], vec![4]]).unwrap();
    let weights = |free| vec![0.02, free, 0.05, 0.01, 0.3, 0.02];
    check(loss, &L1 { strength: 0.04 }, l2, intercept, seed);
    check(loss, &L1L2 { l1: 0.02, l2: 0.03 }, l2, intercept, seed);
    check(loss, &WeightedL1 { weights: weights(0.03) }, l2, intercept, seed);
    check(loss, &WeightedL1 { weights: weights(0.0) }, l2, intercept, seed);
    check(loss, &NonnegativeL1 { strength: 0.02 }, l2, intercept, seed);
    check(loss, &Interval { lower: -0.2, upper: 0.3 }, l2, intercept, seed);
    check(loss, &Interval::NONNEGATIVE, l2, intercept, seed);
    check(loss, &GroupNorm { groups: groups(), strength: 0.04 }, l2, intercept, seed);
    check(loss, &GroupMax { groups: groups(), strength: 0.03 }, l2, intercept, seed);
    let sparse = SparseGroupLasso { groups: groups(), l1: 0.02, group: 0.02 };
    check(loss, &sparse, l2, intercept, seed);
    check(loss, &L2Norm { strength: 0.1 }, l2, intercept, seed);
    check(loss, &L1Ball { radius: 1.0 }, l2, intercept, seed);
    check(loss, &L2Ball { radius: 0.7 }, l2, intercept, seed);
    check(loss, &Simplex { radius: 1.0 }, l2, intercept, seed);
    check(loss, &TotalVariation { strength: 0.05 }, l2, intercept, seed);
    check(loss, &FusedLasso { l1: 0.02, tv: 0.03 }, l2, intercept, seed);
}

#[test]
fn fista_solves_every_regulariser() {
    every(Squared, 0.0, false, 1);
    // Not the logistic loss: without a coercive regulariser its infimum may lie at infinity.
    every(Huber { delta: 1.0 }, 0.0, true, 2);
    check(Logistic, &FusedLasso { l1: 0.02, tv: 0.03 }, 0.0, true, 2);
    check(Logistic, &L1Ball { radius: 1.0 }, 0.0, true, 2);
    every(Logistic, 0.01, false, 3);
    every(Huber { delta: 0.3 }, 0.02, true, 4);
    check(Logistic, &Zero, 0.02, true, 5);
    check(Squared, &Zero, 0.0, true, 6);
}

/// SAGA, SVRG and, on request, SAG step on whole vectors where a regulariser ties them together: the same on dense and on
/// sparse rows, and for general terms, up to the optimum of an independent solver.
#[test]
fn incremental_methods_take_regularisers_that_tie_weights_together() {
    fn one<R: Composite>(h: &R, intercept: bool, seed: u64) {
        let data = data(40, D, 0.7, seed);
        let (y, l2) = (&data.signs, 0.02);
        let (w, b) = reference(&data.dense, y, &Logistic, h, l2, intercept);
        let stop = Stop { absolute: 1e-12, relative: 0.0, max_passes: 1e4, ..Stop::default() };
        let check = |name: &str, point: &Point| {
            let off = distance(&point.weights, &w).max((point.intercept - b).abs());
            assert!(off <= 1e-5, "{name}, {}, intercept {intercept}: {off:e}", R::NAME);
        };
        let dense = Dense::new(data.dense.view()).unwrap();
        let sparse = Csr::new(data.sparse.view()).unwrap();
        let posed = |h: R| {
            let p = Problem::new(dense, y, Logistic, h.clone(), l2).unwrap();
            let q = Problem::new(sparse, y, Logistic, h, l2).unwrap();
            if intercept { (p.with_intercept(), q.with_intercept()) } else { (p, q) }
        };
        let (p, q) = posed(h.clone());
        let settings = SagaSettings { stop, ..Default::default() };
        let on_dense = saga(&p, &settings, None, &mut ()).unwrap().state.point;
        let on_sparse = saga(&q, &settings, None, &mut ()).unwrap().state.point;
        check("saga", &on_dense);
        assert!(distance(&on_dense.weights, &on_sparse.weights) <= 1e-9, "{}", R::NAME);
        for step in [StepSize::Theory, StepSize::Backtracking] {
            let table = TableStart::FirstPass;
            let settings = SagaSettings { step, table, stop, ..Default::default() };
            check("saga, first pass", &saga(&q, &settings, None, &mut ()).unwrap().state.point);
        }
        let settings = SvrgSettings { stop, ..Default::default() };
        check("svrg", &svrg(&q, &settings, None, &mut ()).unwrap().state.point);
        let settings = SagSettings { stop, unproven_prox: true, ..Default::default() };
        check("sag", &sag(&q, &settings, None, &mut ()).unwrap().state.point);
    }
    let groups = || Groups::new(D, &[vec![0, 3], vec![1, 2, 5], vec![4]]).unwrap();
    one(&GroupNorm { groups: groups(), strength: 0.04 }, false, 1);
    one(&GroupMax { groups: groups(), strength: 0.03 }, true, 2);
    one(&SparseGroupLasso { groups: groups(), l1: 0.02, group: 0.02 }, true, 3);
    one(&L2Norm { strength: 0.1 }, false, 4);
    one(&L1Ball { radius: 1.0 }, true, 5);
    one(&L2Ball { radius: 0.7 }, false, 6);
    one(&Simplex { radius: 1.0 }, true, 7);
    one(&TotalVariation { strength: 0.05 }, false, 8);
    one(&FusedLasso { l1: 0.02, tv: 0.03 }, true, 9);
}

/// SGD with a regulariser that ties the weights together, step by step as printed, on dense and on sparse rows; and the mean
/// of many points near the optimum of an independent solver.
#[test]
fn sgd_takes_regularisers_that_tie_weights_together() {
    fn one<R: Composite>(h: &R, seed: u64) {
        let data = data(40, D, 0.7, seed);
        let (y, l2) = (&data.signs, 0.05);
        let script: Vec<usize> = (0..120).map(|k| (k * 7 + k / 9) % 40).collect();
        let (first, power) = (0.8, 0.5);
        let mut x = vec![0.0; D];
        if h.value(&x).is_infinite() {
            // A start outside the domain is moved into it.
            h.prox(&mut x, 1.0);
        }
        for (k, &j) in script.iter().enumerate() {
            let step = first / ((k + 1) as f64).powf(power);
            let a = data.dense.row(j);
            let t: f64 = a.iter().zip(&x).map(|(a, x)| a * x).sum();
            let s = -y[j] / (1.0 + (y[j] * t).exp());
            for (x, a) in x.iter_mut().zip(&a) {
                *x = (1.0 - step * l2) * *x - step * s * a;
            }
            h.prox(&mut x, step);
        }
        let settings = SgdSettings {
            step: StepSize::Decaying { first, power },
            order: Order::Scripted(script),
            stop: Stop::after_passes(3.0),
            ..Default::default()
        };
        let p = Problem::new(Dense::new(data.dense.view()).unwrap(), y, Logistic, h.clone(), l2);
        let q = Problem::new(Csr::new(data.sparse.view()).unwrap(), y, Logistic, h.clone(), l2);
        let (p, q) = (p.unwrap(), q.unwrap());
        let on_dense = sgd(&p, &settings, None, &mut ()).unwrap().state.point.weights;
        let on_sparse = sgd(&q, &settings, None, &mut ()).unwrap().state.point.weights;
        assert!(distance(&on_dense, &x) <= 1e-13, "{}: {on_dense:?} {x:?}", R::NAME);
        assert!(distance(&on_sparse, &x) <= 1e-13, "{}: {on_sparse:?} {x:?}", R::NAME);
        let (w, b) = reference(&data.dense, y, &Logistic, h, l2, false);
        let best = objective(&data.dense, y, &Logistic, h, l2, (&w, b));
        let settings =
            SgdSettings { average: true, stop: Stop::after_passes(400.0), ..Default::default() };
        let mean = sgd(&q, &settings, None, &mut ()).unwrap().state.point;
        let excess = objective(&data.dense, y, &Logistic, h, l2, (&mean.weights, 0.0)) - best;
        // E F(mean) - F* = O(log k / k) with steps 1/(L + mu k), some 1e-3 after 16,000 of them.
        assert!((-1e-12..2e-3).contains(&excess), "{}: {excess:e}", R::NAME);
    }
    let groups = || Groups::new(D, &[vec![0, 3], vec![1, 2, 5], vec![4]]).unwrap();
    one(&GroupNorm { groups: groups(), strength: 0.04 }, 1);
    one(&GroupMax { groups: groups(), strength: 0.03 }, 2);
    one(&SparseGroupLasso { groups: groups(), l1: 0.02, group: 0.02 }, 3);
    one(&L2Norm { strength: 0.1 }, 4);
    one(&L1Ball { radius: 1.0 }, 5);
    one(&Simplex { radius: 1.0 }, 7);
    one(&TotalVariation { strength: 0.05 }, 8);
    one(&FusedLasso { l1: 0.02, tv: 0.03 }, 9);
}

/// A constant step of `1/L` ends at the same point, and a start from the solution has nothing to do.
#[test]
fn steps_and_starts_lead_to_the_same_point() {
    let data = data(40, D, 0.7, 7);
    let h = FusedLasso { l1: 0.02, tv: 0.03 };
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, h, 0.01).unwrap();
    let searched = fista(&problem, &settings(false), None, &mut ()).unwrap();
    let step = FistaStep::Constant(1.0 / problem.smoothness());
    let constant = FistaSettings { step, ..settings(false) };
    let constant = fista(&problem, &constant, None, &mut ()).unwrap();
    assert!(distance(&searched.state.point.weights, &constant.state.point.weights) <= 1e-6);
    let again = fista(&problem, &settings(false), Some(searched.state), &mut ()).unwrap();
    assert_eq!((again.report.status, again.report.passes), (Status::Converged, 0.0));
}

#[test]
fn fista_refuses_what_it_cannot_do() {
    let data = data(10, D, 0.7, 7);
    let design = || Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design(), &data.signs, Hinge, Zero, 0.1).unwrap();
    let error = fista(&problem, &FistaSettings::default(), None, &mut ()).unwrap_err();
    assert!(
        matches!(error, Error::Refused(Refusal::Unsupported { method: "fista", .. })),
        "{error}"
    );
    let problem = Problem::new(design(), &data.signs, Logistic, Zero, 0.1).unwrap();
    let short = Some(Point::zero(2).into());
    assert!(fista(&problem, &FistaSettings::default(), short, &mut ()).is_err());
    let error = Problem::new(design(), &data.signs, Logistic, L2Ball { radius: -1.0 }, 0.1);
    assert!(error.unwrap_err().to_string().contains("radius = -1"));
}

/// A norm of weight 0 is no regulariser: the methods of smooth functions give the bits of `Zero`, and refuse any other weight.
#[test]
fn smooth_methods_take_a_norm_of_weight_zero() {
    let data = data(60, D, 0.7, 9);
    let design = Dense::new(data.dense.view()).unwrap();
    let zero = Problem::new(design, &data.signs, Logistic, Zero, 0.1).unwrap().with_intercept();
    let none = zero.clone().penalised(L1 { strength: 0.0 }, 0.1).unwrap();
    let some = zero.clone().penalised(L1 { strength: 0.1 }, 0.1).unwrap();
    let refused = |error: Error, name: &str| {
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("the l1 regulariser"), "{text}");
    };
    macro_rules! check {
        ($zero:ident $none:ident $some:ident: $($method:ident)*) => { $(
            let found = $method(&$zero, &Default::default(), None, &mut ()).unwrap();
            let same = $method(&$none, &Default::default(), None, &mut ()).unwrap();
            assert_eq!(found.state, same.state);
            assert_eq!(found.report.certificate, same.report.certificate);
            let error = $method(&$some, &Default::default(), None, &mut ()).unwrap_err();
            refused(error, stringify!($method));
        )* };
    }
    {
        use fenchel_erm::methods::{lbfgs, newton_cg, subsampled_newton};
        check!(zero none some: lbfgs newton_cg subsampled_newton);
    }
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
    let zero = MulticlassProblem::new(design, &labels, 3, Zero, 0.1).unwrap();
    let none = zero.clone().penalised(L1 { strength: 0.0 }, 0.1).unwrap();
    let some = zero.clone().penalised(L1 { strength: 0.1 }, 0.1).unwrap();
    use fenchel_erm::multiclass::{lbfgs, newton, newton_cg};
    check!(zero none some: lbfgs newton newton_cg);
}

/// The logistic loss as a closure: the solutions of the primal methods are those of the loss that is shipped.
#[test]
fn a_loss_as_a_closure_has_the_same_optimum() {
    let data = data(40, D, 0.7, 8);
    let y = &data.signs;
    let closure = Custom::new(0.25, |t: f64, y: f64| {
        let z = -y * t;
        (z.max(0.0) + (-z.abs()).exp().ln_1p(), -y / (1.0 + (-z).exp()))
    });
    let (w, b) = reference(&data.dense, y, &Logistic, &Zero, 0.02, true);
    let design = || Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design(), y, closure, Zero, 0.02).unwrap().with_intercept();
    let stop = Stop { absolute: 1e-10, relative: 0.0, max_passes: 1e5, ..Stop::default() };
    let close = |name: &str, point: &Point| {
        let off = distance(&point.weights, &w).max((point.intercept - b).abs());
        assert!(off <= 1e-7, "{name}: {off:e}");
    };
    let s = saga(&problem, &SagaSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    assert!(matches!(s.report.certificate, Certificate::Residual { .. }), "{}", s.report);
    close("saga", &s.state.point);
    let s = svrg(&problem, &SvrgSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    close("svrg", &s.state.point);
    let s = fista(&problem, &FistaSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    close("fista", &s.state.point);

    // Without intercept strong convexity gives a gap.
    let (w, _) = reference(&data.dense, y, &Logistic, &Zero, 0.02, false);
    let problem = Problem::new(design(), y, closure, Zero, 0.02).unwrap();
    let stop = Stop { absolute: 1e-14, relative: 0.0, max_passes: 1e5, ..Stop::default() };
    let alpha = (2.0 / problem.big_data_beta()).max(2.0);
    let settings = FinitoSettings { alpha: Some(alpha), stop, ..Default::default() };
    let s = finito(&problem, &settings, None, &mut ()).unwrap();
    assert!(matches!(s.report.certificate, Certificate::Gap { .. }), "{}", s.report);
    assert!(distance(&s.state.point.weights, &w) <= 1e-6);
    let exact = Problem::new(design(), y, Logistic, Zero, 0.02).unwrap();
    let best = exact.objective(&Point { weights: w, intercept: 0.0 }).unwrap();
    for shift in [0.0, 0.1, 1.0] {
        let point = Point { weights: vec![shift; D], intercept: 0.0 };
        let above = problem.objective(&point).unwrap() - best;
        assert!(problem.certify(&point).unwrap().value() >= above - 1e-14);
    }
    let unsupported = |error: Error| assert!(error.to_string().contains("custom loss"), "{error}");
    unsupported(sdca(&problem, &SdcaSettings::default(), None, &mut ()).unwrap_err());
    unsupported(newton(&problem, &NewtonSettings::default(), None, &mut ()).unwrap_err());
    assert!(Problem::new(design(), y, Custom::new(-1.0, |_, _| (0.0, 0.0)), Zero, 0.1).is_err());
}

/// Although no method calls it: the fallback of the dual step solves its equation.
#[test]
fn the_dual_step_of_a_closure_solves_its_equation() {
    let closure =
        Custom::new(0.25, |t: f64, y: f64| (Logistic.value(t, y), Logistic.derivative(t, y)));
    for m in [-30.0, -1.0, 0.0, 0.4, 12.0] {
        for q in [0.0, 1e-3, 1.0, 1e3] {
            let (u, exact) =
                (closure.dual_step(m, q, 1.0, 0.3), Logistic.dual_step(m, q, 1.0, 0.3));
            assert!((u - exact).abs() <= 1e-10 * (1.0 + exact.abs()), "{m} {q}: {u} {exact}");
        }
    }
}
