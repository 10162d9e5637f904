//! Data and settings at the edge: what once diverged, stalled, panicked or came back as no number.

use std::ops::ControlFlow;

use crate::common::{data, reference};
use crate::general_sdca::Terms;
use fenchel_finite_sum::general::{self, Sum, SumSettings, SumState};
use fenchel_finite_sum::loss::{Custom, Hinge, Huber, Logistic, Poisson, Squared, SquaredHinge};
use fenchel_finite_sum::methods::{
    LbfgsSettings, QningSettings, SagSettings, SagaSettings, SdcaSettings, SgdSettings,
    SvrgSettings, lbfgs, qning, sag, saga, sdca, sgd, svrg,
};
use fenchel_finite_sum::prelude::{Report, Status, StepSize, Stop};
use fenchel_finite_sum::{
    AutoSettings, LogisticRegression, OneVsRest, Penalised, Point, Problem, Ridge, Standardiser,
    auto,
};
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Fit, Loss, Progress};
use ndarray::{Array2, array};

fn stop(relative: f64, max_passes: f64) -> Stop {
    Stop { relative, max_passes, ..Stop::default() }
}

/// Targets far from 0 beside their spread: an objective that grew tenfold from the first look, which has the best intercept,
/// was taken for a divergence while the weights did the work of an intercept that began at 0.
#[test]
fn targets_far_from_zero_are_no_divergence() {
    let data = data(40, 5, 1.0, 1);
    let y: Vec<f64> = data.reals.iter().map(|y| 1000.0 + 0.1 * y).collect();
    let design = Dense::new(data.dense.view()).unwrap();
    let loss = Huber { delta: 0.5 };
    let problem = Problem::new(design, &y, loss, Zero, 0.01).unwrap().with_intercept();
    let near: Vec<f64> = data.reals.iter().map(|y| 0.1 * y).collect();
    let (weights, b) = reference(&data.dense, &near, &loss, &Zero, 0.01, true);
    let best = problem.objective(&Point { weights, intercept: 1000.0 + b }).unwrap();
    let check = |name: &str, report: Report, factor: f64| {
        let found = report.certificate.objective().unwrap();
        assert!(report.status != Status::Diverged, "{name}: {report}");
        assert!(found <= factor * best, "{name}: {report}, best {best:e}");
    };
    let stop = stop(1e-5, 300.0);
    for step in [StepSize::Theory, StepSize::Backtracking] {
        let settings = SagaSettings { step, stop, ..Default::default() };
        check("saga", saga(&problem, &settings, None, &mut ()).unwrap().report, 1.0001);
        let settings = SagSettings { step, stop, ..Default::default() };
        check("sag", sag(&problem, &settings, None, &mut ()).unwrap().report, 1.0001);
    }
    let settings = SvrgSettings { stop, ..Default::default() };
    check("svrg", svrg(&problem, &settings, None, &mut ()).unwrap().report, 1.0001);
    let settings = SdcaSettings { stop, ..Default::default() };
    check("sdca", sdca(&problem, &settings, None, &mut ()).unwrap().report, 1.0001);
    let settings = SgdSettings { stop, ..Default::default() };
    check("sgd", sgd(&problem, &settings, None, &mut ()).unwrap().report, 1.5);
}

/// A step that was found too long by doubling once a visit stayed too long for one heavy row; it grew without bound where the
/// loss is flat.
#[test]
fn the_line_search_follows_one_heavy_row_and_rests_where_nothing_slopes() {
    let data = data(60, 6, 1.0, 2);
    let design = Dense::new(data.dense.view()).unwrap();
    let stop = stop(1e-4, 2000.0);
    let settings = SagaSettings { step: StepSize::Backtracking, stop, ..Default::default() };
    let weights: Vec<f64> = (0..60).map(|i| if i == 7 { 1e6 } else { 1.0 }).collect();
    let problem = Problem::new(design, &data.reals, Squared, Zero, 0.1).unwrap();
    let report = saga(&problem.with_weights(&weights).unwrap(), &settings, None, &mut ());
    let report = report.unwrap().report;
    assert_eq!(report.status, Status::Converged, "{report}");
    for seed in 0..10 {
        let flat = crate::common::data(30, 15, 1.0, seed);
        let x = flat.dense.mapv(|a| 30.0 * a);
        let design = Dense::new(x.view()).unwrap();
        let y = vec![-1.0; 30];
        let problem = Problem::new(design, &y, SquaredHinge, Zero, 1e-4).unwrap();
        let report = saga(&problem, &settings, None, &mut ()).unwrap().report;
        assert!(report.status != Status::Diverged, "seed {seed}: {report}");
    }
}

/// Features of size 30: centres far off left dual variables behind that no later pass brought back.
#[test]
fn qning_forgets_centres_that_were_far_off() {
    for seed in 0..30 {
        let data = data(30, 15, 0.8, seed);
        let x = data.dense.mapv(|a| 60.0 * a);
        let design = Dense::new(x.view()).unwrap();
        let h = L1 { strength: 1e-3 };
        let problem = Problem::new(design, &data.signs, SquaredHinge, h, 1e-4).unwrap();
        let settings = QningSettings { stop: stop(1e-6, 300.0), ..Default::default() };
        for problem in [problem.clone(), problem.with_intercept()] {
            let report = qning(&problem, &settings, None, &mut ()).unwrap().report;
            assert!(report.status != Status::Diverged, "seed {seed}: {report}");
        }
    }
}

/// Where all margins are far from their targets the loss of Huber is linear, and Newton's method has no curvature to go by.
#[test]
fn auto_goes_on_where_newton_finds_no_curvature() {
    for seed in 0..8 {
        let data = data(12, 2, 1.0, seed);
        let y: Vec<f64> = data.reals.iter().map(|y| 100.0 * (30.0 + y)).collect();
        let x = data.dense.mapv(|a| 30.0 * a);
        let design = Dense::new(x.view()).unwrap();
        let problem = Problem::new(design, &y, Huber { delta: 0.5 }, Zero, 0.0).unwrap();
        let settings = AutoSettings { stop: stop(1e-8, 2000.0), ..Default::default() };
        let found = auto(&problem, &settings, None, &mut ()).unwrap();
        let settings = LbfgsSettings { stop: stop(1e-8, 2000.0), ..Default::default() };
        let exact = lbfgs(&problem, &settings, None, &mut ()).unwrap();
        let value = |report: &Report| report.certificate.objective().unwrap();
        let (found, best) = (found.report, exact.report);
        assert!(value(&found) <= (1.0 + 1e-6) * value(&best), "seed {seed}: {found} {best}");
    }
}

/// Rows of sizes from 1e-6 to 1e6: what is given up comes back as the best point that was looked at.
#[test]
fn a_divergence_ends_at_the_best_point_seen() {
    let (mut diverged, n) = (0, 30);
    for seed in 0..20 {
        let data = data(n, 4, 1.0, seed);
        let mut x = data.dense.clone();
        for (i, mut row) in x.rows_mut().into_iter().enumerate() {
            row *= 10f64.powi((i as i32 * 7 + seed as i32) % 13 - 6);
        }
        let y: Vec<f64> = data.reals.iter().map(|y| 30.0 + y).collect();
        let design = Dense::new(x.view()).unwrap();
        let problem = Problem::new(design, &y, Squared, L1 { strength: 0.1 }, 1e-4).unwrap();
        let mut least = f64::INFINITY;
        let mut watch = |progress: &Progress| {
            let objective = progress.certificate.objective().unwrap_or(f64::INFINITY);
            least = least.min(objective);
            ControlFlow::Continue(())
        };
        let settings = SdcaSettings { stop: stop(1e-6, 150.0), ..Default::default() };
        let found = sdca(&problem, &settings, None, &mut |p: &Progress, _: &_| watch(p)).unwrap();
        let value = problem.objective(&found.state.point).unwrap();
        if found.report.status == Status::Diverged {
            diverged += 1;
            assert!(value <= least * (1.0 + 1e-12), "seed {seed}: {value:e} {least:e}");
            let reported = found.report.certificate.objective().unwrap();
            assert!(
                (reported - value).abs() <= 1e-9 * value,
                "seed {seed}: {reported:e} {value:e}"
            );
        }
    }
    assert!(diverged > 0);
}

/// `e^800` is beyond the range of numbers, the solution is not.
#[test]
fn the_interval_step_of_poisson_does_not_overflow() {
    for (m, q, y) in [(800.0, 1.0, 3.0), (2000.0, 50.0, 0.0), (720.0, 1e-3, 1.0)] {
        let (exact, found) = (Poisson.dual_step(m, q, y, m), Poisson.interval_step(m, q, y, m));
        assert!((found - exact).abs() <= 1e-9 * exact.abs(), "{m} {q}: {found} {exact}");
    }
    assert!(Poisson.interval_step(f64::NAN, 1.0, 1.0, f64::NAN).is_nan());
}

#[test]
fn probabilities_too_small_for_numbers_sum_to_one() {
    let x = array![[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [0.5, 0.9], [0.9, 0.4], [0.3, -0.7]];
    let binary = LogisticRegression { l2: Some(1e-3), ..Default::default() };
    let model = OneVsRest { binary }.fit(&x, &[1, 2, 3, 1, 2, 3]).unwrap();
    // Far on the side where all three say no.
    let far = array![[-1e6, -2e5], [-1e6, 0.0], [1e6, 1e6]];
    let p = model.predict_proba(&far).unwrap();
    for row in p.rows() {
        assert!((row.sum() - 1.0).abs() < 1e-12, "{p}");
        assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "{p}");
    }
    let one = OneVsRest::default().fit(&x, &["a"; 6]).unwrap_err().to_string();
    assert!(one.contains("\"a\"") && one.contains("two distinct"), "{one}");
}

/// Squares of such features are no numbers.
#[test]
fn features_of_any_size_are_standardised() {
    let x = Array2::from_shape_fn((7, 4), |(i, c)| {
        let a = (i as f64 - 2.5) * [1e200, 1e-200, 1.0, 0.0][c];
        a + [0.0, 0.0, 1e6, 5.0][c]
    });
    let scaled = Standardiser::fit(&x).unwrap().transform(&x).unwrap();
    for c in 0..3 {
        let column = scaled.column(c);
        let square = column.mapv(|a| a * a).mean().unwrap();
        assert!((square - 1.0).abs() < 1e-9 && column.sum().abs() < 1e-6, "{scaled}");
    }
    assert!(scaled.column(3).iter().all(|a| *a == 0.0));
}

#[test]
fn strong_convexity_that_is_nothing_beside_the_rows_is_refused() {
    let x = array![[1e8, -2e8], [3e8, 1e8]];
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &[1.0, -1.0], Hinge, Zero, 1e-300).unwrap();
    let error = sdca(&problem, &SdcaSettings::default(), None, &mut ()).unwrap_err().to_string();
    assert!(error.contains("strong convexity = 1e-300"), "{error}");
    let error = auto(&problem, &AutoSettings::default(), None, &mut ()).unwrap_err().to_string();
    assert!(error.contains("raise l2"), "{error}");
}

/// The dual variables of a weight of 1e-310 have lost their digits.
#[test]
fn a_weight_that_vanishes_beside_the_others_is_none() {
    let data = data(40, 3, 1.0, 5);
    let weights: Vec<f64> = (0..40).map(|i| [1.0, 1e-310, 1e-305, 1e-290][i % 4]).collect();
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.reals, Huber { delta: 1e-3 }, Zero, 1e-3).unwrap();
    let problem = problem.with_intercept().with_weights(&weights).unwrap();
    assert_eq!([1, 2].map(|i| problem.term_weight(i)), [0.0; 2]);
    assert!(problem.term_weight(3) > 0.0);
    let settings = SdcaSettings { stop: Stop::after_passes(5.0), ..Default::default() };
    let state = sdca(&problem, &settings, None, &mut ()).unwrap().state;
    sdca(&problem, &settings, Some(state), &mut ()).unwrap();
}

/// A table that was changed by hand is a bad warm start, and nothing worse: bounds stay bounds, and the run converges.
#[test]
fn a_state_whose_table_was_changed_is_a_warm_start() {
    let data = data(30, 6, 1.0, 3);
    let terms = Terms::new(&data, false);
    let sum = Sum::new(&terms, Zero, 0.05).unwrap();
    let settings = SumSettings { stop: Stop::after_passes(3.0), ..Default::default() };
    let (w, _) = reference(&data.dense, &data.signs, &Logistic, &Zero, 0.05, false);
    let best = sum.certify(&w).unwrap().objective().unwrap();
    let edited = |mut state: SumState| {
        state.table.iter_mut().for_each(|g| *g *= -0.5);
        state
    };
    let run = |dual: bool, settings: &SumSettings, start: Option<SumState>| {
        let found = match dual {
            true => general::sdca(&sum, settings, start, &mut ()),
            false => general::saga(&sum, settings, start, &mut ()),
        };
        let found = found.unwrap();
        let value = found.report.certificate;
        assert!(value.objective().unwrap() - value.value() <= best + 1e-12, "{value} {best}");
        found
    };
    for dual in [true, false] {
        let state = run(dual, &settings, None).state;
        for passes in [0.5, 3.0] {
            let short = SumSettings { stop: Stop::after_passes(passes), ..settings.clone() };
            run(dual, &short, Some(edited(state.clone())));
        }
        let long = SumSettings { stop: Stop::at_relative(1e-6), ..settings.clone() };
        let status = run(dual, &long, Some(edited(state))).report.status;
        assert_eq!(status, Status::Converged, "dual: {dual}");
    }
}

/// A loss whose derivative has the wrong sign: the intercept of the start went to 1e100, where the objective is 1e200, and the
/// run could not come back.
#[test]
fn slopes_of_the_wrong_sign_end_no_worse_than_they_began() {
    let data = data(40, 3, 1.0, 1);
    let wrong: fn(f64, f64) -> (f64, f64) = |t, y| (0.5 * (t - y) * (t - y), y - t);
    let model = Penalised::new(Custom::new(1.0, wrong), L1 { strength: 0.01 });
    let model = model.fit(&data.dense, &data.reals).unwrap();
    let start = data.reals.iter().map(|y| 0.5 * y * y).sum::<f64>() / 40.0;
    let found = model.report.certificate.objective().unwrap();
    assert!(found <= start * (1.0 + 1e-12), "{found} {start} {}", model.report);
    assert!(model.report.status != Status::Converged, "{}", model.report);
}

/// A start of another width was called weights.
#[test]
fn a_start_that_does_not_fit_is_named() {
    let data = data(40, 3, 1.0, 1);
    let mut old = Ridge::default().fit(&data.dense, &data.reals).unwrap();
    let narrow = data.dense.slice_axis(ndarray::Axis(1), ndarray::Slice::from(..2)).to_owned();
    let fit = Fit::new().start(&old);
    let error = Ridge::default().fit_with(&narrow, &data.reals, fit).unwrap_err().to_string();
    assert_eq!(error, "start (weights): expected length 2, found 3");
    old.weights[1] = f64::NAN;
    let fit = Fit::new().start(&old);
    let error = Ridge::default().fit_with(&data.dense, &data.reals, fit).unwrap_err().to_string();
    assert!(error.starts_with("start (weights): NaN at row 1"), "{error}");
}
