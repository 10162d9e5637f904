//! A certificate bounds the suboptimality, wherever it is computed.

use std::ops::ControlFlow;

use crate::common::{data, objective, reference};
use fenchel_erm::loss::{Hinge, Logistic, Squared, SquaredHinge};
use fenchel_erm::methods::{Sdca, SdcaSettings, sdca};
use fenchel_erm::{Point, Problem};
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::prox::{Interval, L1, L1L2, Zero};
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Cadence, Certificate, Loss, Progress, Regulariser, Status, Stop};
use proptest::prelude::*;
use rand::RngExt;

fn check<L: Loss + Copy, R: Regulariser + Copy>(
    loss: L,
    regulariser: R,
    l2: f64,
    classify: bool,
    intercept: bool,
    seed: u64,
) {
    let data = data(25, 4, 0.7, seed);
    let y = if classify { &data.signs } else { &data.reals };
    let (w, b) = reference(&data.dense, y, &loss, &regulariser, l2, intercept);
    let best = objective(&data.dense, y, &loss, &regulariser, l2, (&w, b));
    let problem =
        Problem::new(Csr::new(data.sparse.view()).unwrap(), y, loss, regulariser, l2).unwrap();
    let problem = if intercept { problem.with_intercept() } else { problem };
    let mut rng = stream(seed, 1);
    for scale in [0.0, 1e-4, 0.1, 1.0, 10.0] {
        // Points around the optimum, moved into the domain.
        let mut weights: Vec<f64> =
            w.iter().map(|w| w + scale * rng.random_range(-1.0..1.0)).collect();
        if regulariser.value(&weights).is_infinite() {
            regulariser.prox(&mut weights, 1.0);
        }
        let shift = if intercept { scale * rng.random_range(-1.0..1.0) } else { 0.0 };
        let point = Point { weights, intercept: b + shift };
        let certificate = problem.certify(&point).unwrap();
        let suboptimality = problem.objective(&point).unwrap() - best;
        let rounding = 1e-13 * (1.0 + best.abs());
        assert!(
            certificate.value() >= suboptimality - rounding,
            "{} {}: {certificate} but {suboptimality:e}",
            L::NAME,
            R::NAME
        );
        if scale == 0.0 && (l2 > 0.0 || R::NAME == "l1") {
            // At the optimum the bound is tight: the reference is good to 1e-8 or so in x.
            assert!(
                certificate.value() <= 1e-6 * (1.0 + best.abs()),
                "{} {}: {certificate}",
                L::NAME,
                R::NAME
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]
    #[test]
    fn gap_bounds_suboptimality(seed in 0u64..10_000, intercept: bool) {
        check(Logistic, Zero, 0.05, true, intercept, seed);
        check(Squared, Zero, 0.05, false, intercept, seed);
        check(SquaredHinge, Zero, 0.05, true, intercept, seed);
        check(Logistic, L1 { strength: 0.03 }, 0.0, true, intercept, seed);
        check(Squared, L1 { strength: 0.05 }, 0.01, false, intercept, seed);
        check(Logistic, L1L2 { l1: 0.02, l2: 0.03 }, 0.0, true, intercept, seed);
        check(Logistic, Interval { lower: -0.2, upper: 0.3 }, 0.01, true, intercept, seed);
        check(Logistic, Interval { lower: -0.2, upper: 0.3 }, 0.0, true, intercept, seed);
        check(Squared, Interval::NONNEGATIVE, 0.01, false, intercept, seed);
    }
}

/// Exact steps never decrease the dual; nor do the proximal steps, which maximise a lower bound of it.
#[test]
fn sdca_dual_never_falls() {
    fn rises<L: Loss + Copy, R: fenchel_optim::Separable + Copy>(loss: L, regulariser: R) {
        let data = data(20, 6, 0.5, 8);
        let design = Csr::new(data.sparse.view()).unwrap();
        let problem = Problem::new(design, &data.signs, loss, regulariser, 0.02).unwrap();
        let mut last = f64::NEG_INFINITY;
        let settings = SdcaSettings {
            order: Order::Scripted((0..200).map(|step| (step * 7) % 20).collect()),
            stop: Stop { check: Cadence::Every(0.05), ..Stop::after_passes(10.0) },
            ..SdcaSettings::default()
        };
        let mut steps = 0;
        let mut observer = |_: &Progress, method: &Sdca<'_, '_, _, L, R>| {
            // `-(1/n) sum phi* - R*(v)` from its definition: the report keeps the best bound seen.
            let mut v = vec![0.0; 6];
            for (row, s) in data.dense.rows().into_iter().zip(method.last_dual()) {
                v.iter_mut().zip(row).for_each(|(v, a)| *v -= s * a / 20.0);
            }
            let conjugates: f64 = method
                .last_dual()
                .iter()
                .zip(&data.signs)
                .map(|(&s, &y)| loss.conjugate(s, y))
                .sum();
            let dual = -conjugates / 20.0 - regulariser.conjugate(&v, 0.02);
            assert!(dual >= last - 1e-15, "{} step {steps}: {last} {dual}", L::NAME);
            last = dual;
            steps += 1;
            ControlFlow::Continue(())
        };
        sdca(&problem, &settings, None, &mut observer).unwrap();
        assert!(steps > 100, "{steps}");
    }
    rises(Logistic, Zero);
    rises(Hinge, Zero);
    rises(SquaredHinge, Zero);
    rises(Squared, Zero);
    rises(Logistic, L1 { strength: 0.02 });
    rises(Hinge, L1 { strength: 0.02 });
    rises(Logistic, Interval { lower: -0.2, upper: 0.2 });
}

/// From a start whose objective is 1e20 times the optimum, rounding lifts the first lower bounds above the optimum. They are not kept.
#[test]
fn a_start_far_off_proves_nothing_about_later_points() {
    use fenchel_erm::methods::{
        CoordinateSettings, NewtonCgSettings, NewtonSettings, coordinate_descent, newton, newton_cg,
    };
    let x = ndarray::array![[1.0, 0.5]];
    for (l2, w) in [(10.3, [1e10, -7e9]), (1000.0, [1e8, -7e7]), (10.3, [1e8, -7e7])] {
        let problem =
            Problem::new(Dense::new(x.view()).unwrap(), &[1.0], Logistic, Zero, l2).unwrap();
        let start = Point { weights: w.to_vec(), intercept: 0.0 };
        // At the optimum w = s (1, 0.5) and l2 s = 1 / (1 + exp(1.25 s)), by bisection.
        let (mut low, mut high) = (0.0f64, 1.0f64);
        for _ in 0..200 {
            let s = 0.5 * (low + high);
            let beyond = l2 * s * (1.0 + (1.25 * s).exp()) > 1.0;
            *(if beyond { &mut high } else { &mut low }) = s;
        }
        let optimum = (-1.25 * low).exp().ln_1p() + 0.5 * l2 * 1.25 * low * low;
        let start = || Some(start.clone());
        let reports = [
            coordinate_descent(&problem, &CoordinateSettings::default(), start(), &mut ()),
            newton(&problem, &NewtonSettings::default(), start(), &mut ()),
            newton_cg(&problem, &NewtonCgSettings::default(), start(), &mut ()),
        ]
        .map(|solution| solution.unwrap().report);
        for report in reports {
            let Certificate::Gap { objective, lower_bound, .. } = report.certificate else {
                panic!("{report:?}")
            };
            assert!(lower_bound <= optimum * (1.0 + 1e-12), "{lower_bound} {optimum}");
            let near = objective <= optimum * (1.0 + 1e-3);
            assert!(report.status != Status::Converged || near, "{objective} {optimum}");
        }
    }
}

/// `F(x) = log(1 + exp(-x)) + 1e-300 x^2 / 2` is far below `F(373.25)` at 600, where the square of the gradient underflows.
#[test]
fn a_tiny_gradient_is_no_proof() {
    let x = ndarray::array![[1.0]];
    let problem =
        Problem::new(Dense::new(x.view()).unwrap(), &[1.0], Logistic, Zero, 1e-300).unwrap();
    let at = |w: f64| problem.certify(&Point { weights: vec![w], intercept: 0.0 }).unwrap();
    let Certificate::Gap { lower_bound, .. } = at(373.25) else { panic!("no gap") };
    let there = problem.objective(&Point { weights: vec![600.0], intercept: 0.0 }).unwrap();
    assert!(there < 1e-250 && lower_bound <= there, "{lower_bound} {there}");
}

/// `p log p + (1 - p) log(1 - p)` for tiny `p` is `p log p - p + p^2 / 2`.
#[test]
fn the_conjugate_of_the_logistic_loss_keeps_its_digits() {
    for p in [1e-8f64, 3.2e-10, 1e-12, 1e-15] {
        let wanted = p * p.ln() - p + 0.5 * p * p;
        let found = fenchel_optim::Loss::conjugate(&Logistic, -p, 1.0);
        assert!((found - wanted).abs() <= 1e-15 * wanted.abs(), "{p}: {found} {wanted}");
    }
}
