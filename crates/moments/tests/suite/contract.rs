//! What a fit may be given besides the data: weights, a start, a closure.

use std::ops::ControlFlow;

use fenchel_moments::direct::Lambda;
use fenchel_moments::{
    Components, DirectSade, Fit, IndexRegressor, LassoSir, LearnedSade, Mave, Opg, Phd, Progress,
    Response, Save, ScoreMatching, Sir, Slicing, Status, trace_error,
};
use fenchel_optim::Certificate;
use ndarray::{Array1, Array2, Axis};

use crate::common::{normal, regression};

/// One index, bent.
fn single(n: usize, seed: u64) -> (Array2<f64>, Array1<f64>) {
    let z = normal(n, 5, seed);
    let x = z.slice_axis(Axis(1), (0..4).into()).to_owned();
    let y = (0..n).map(|i| (z[[i, 0]] + z[[i, 1]]).tanh() + 0.1 * z[[i, 4]]).collect();
    (x, y)
}

#[test]
fn weights_of_classes_are_repeated_rows() {
    let (x, y) = regression(120, 3, 4);
    let labels: Vec<i32> = y.iter().map(|v| (*v > 1.0) as i32 + (*v > 3.0) as i32).collect();
    let weights: Array1<f64> = (0..120).map(|i| f64::from(i % 3)).collect();
    let index: Vec<usize> = (0..120).flat_map(|i| vec![i; i % 3]).collect();
    let repeated: Vec<i32> = index.iter().map(|&i| labels[i]).collect();
    let (many_x, many) = (x.select(Axis(0), &index), Response::classes(&repeated).unwrap());
    let classes = || Response::classes(&labels).unwrap();
    let components = Components::Fixed(2);
    let sir = Sir { components, ..Sir::default() };
    let save = Save { components, ..Save::default() };
    for (a, b) in [
        (sir.fit_with(&x, classes(), Fit::new().weights(&weights)), sir.fit(&many_x, many.clone())),
        (save.fit_with(&x, classes(), Fit::new().weights(&weights)), save.fit(&many_x, many)),
    ] {
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(a.slices.len(), 3);
        assert!(trace_error(a.directions.view(), b.directions.view()).unwrap() < 1e-18);
    }
}

#[test]
fn methods_that_need_rows_refuse_weights() {
    let (x, y) = regression(60, 3, 1);
    let ones = Array1::<f64>::ones(60);
    let fit = || Fit::new().weights(&ones);
    for refused in [
        Phd::default().fit_with(&x, &y, fit()),
        Opg::default().fit_with(&x, &y, fit()),
        Mave::default().fit_with(&x, &y, fit()),
        LearnedSade::default().fit_with(&x, &y, fit()),
        LassoSir::default().fit_with(&x, &y, fit()),
        DirectSade::default().fit_with(&x, &y, Fit::new().weights(&ones)).map(|fit| fit.model),
        IndexRegressor::new(Sir::default())
            .fit_with(&x, &y, Fit::new().weights(&ones))
            .map(|model| model.reduction),
        ScoreMatching::default()
            .fit_with(&x, Fit::new().weights(&ones))
            .and_then(|_| Sir::default().fit(&x, &y)),
    ] {
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("weights"), "{told}");
    }
}

#[test]
fn eigenvector_methods_show_their_report_once() {
    let (x, y) = regression(200, 3, 2);
    let mut seen = vec![];
    let mut watch = |progress: &Progress| {
        seen.push(*progress);
        ControlFlow::Break(())
    };
    let sir = Sir { slicing: Slicing::EqualCount(5), components: Components::Fixed(2) };
    let model = sir.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap();
    assert_eq!(model.report.status, Status::Converged);
    let [shown] = seen[..] else { panic!("{seen:?}") };
    assert_eq!(shown.certificate, model.report.certificate);
}

/// From its own solution MAVE, whose bandwidth shrinks anew, comes back to it; after `Break` it keeps what it has.
#[test]
fn mave_starts_at_a_model_and_can_be_stopped() {
    let (x, y) = single(300, 3);
    let mave = Mave { base_points: 100, ..Mave::default() };
    let first = mave.fit(&x, &y).unwrap();
    let again = mave.fit_with(&x, &y, Fit::new().start(&first)).unwrap();
    assert!(trace_error(first.directions.view(), again.directions.view()).unwrap() < 1e-6);
    let (mut rounds, mut last) = (0, 0.0);
    let mut watch = |progress: &Progress| {
        // The start is a pass, and each round is one; the planes of a round come with the passes before it.
        let at_plane = matches!(progress.certificate, Certificate::Uncertified { .. });
        rounds += usize::from(!at_plane);
        assert_eq!(progress.passes, 1.0 + rounds as f64);
        last = progress.passes;
        if rounds == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // Two rounds at a start are as good as the start, nearly.
    let fit = Fit::new().start(&first).watch(&mut watch);
    let stopped = mave.fit_with(&x, &y, fit).unwrap();
    assert_eq!((stopped.report.status, rounds, last), (Status::Stopped, 2, 3.0));
    assert!(trace_error(first.directions.view(), stopped.directions.view()).unwrap() < 0.01);
    let mut calls = 0;
    let mut watch = |_: &Progress| {
        calls += 1;
        if calls == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let fit = Fit::new().start(&first).watch(&mut watch);
    let stopped = mave.fit_with(&x, &y, fit).unwrap();
    assert_eq!(stopped.report.status, Status::Stopped);
    assert!(trace_error(first.directions.view(), stopped.directions.view()).unwrap() < 1e-12);
    assert!(calls < 100, "{calls} of 100 planes of a round");
    let two = Mave { directions: 2, ..mave };
    let told = two.fit_with(&x, &y, Fit::new().start(&first)).unwrap_err().to_string();
    assert!(told.contains("directions of the start"), "{told}");
}

#[test]
fn the_sparse_method_starts_at_a_model_and_stopped_at_once_has_a_direction() {
    let (x, y) = single(120, 5);
    let lasso = LassoSir::default();
    let first = lasso.fit(&x, &y).unwrap();
    let passes = |fit: Fit<'_, _>| {
        let sparsity = fenchel_moments::sparse::Sparsity::Fraction(0.1);
        let model = LassoSir { sparsity, ..LassoSir::default() }.fit_with(&x, &y, fit).unwrap();
        (model.report.passes, model)
    };
    let (cold, solution) = passes(Fit::new());
    let (warm, same) = passes(Fit::new().start(&solution));
    assert!(warm <= cold, "{warm} {cold}");
    assert!(trace_error(solution.directions.view(), same.directions.view()).unwrap() < 1e-8);
    let mut calls = 0;
    let mut watch = |_: &Progress| {
        calls += 1;
        ControlFlow::Break(())
    };
    let stopped = lasso.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap();
    assert_eq!((stopped.report.status, calls), (Status::Stopped, 1));
    assert_eq!(stopped.directions.iter().filter(|v| **v != 0.0).count(), 1);
    // The time of the cross-validation counts.
    let stop = fenchel_moments::Stop { max_seconds: Some(1e-9), ..lasso.stop };
    let late = LassoSir { stop, ..lasso.clone() }.fit(&x, &y).unwrap();
    assert_eq!(late.report.status, Status::TimeLimit);
    assert_eq!(first.report.status, Status::Converged);
}

#[test]
fn the_direct_method_starts_at_a_former_fit_and_shows_its_path() {
    let (x, y) = single(150, 6);
    let fixed = DirectSade {
        components: Components::Fixed(1),
        lambda: Lambda::Fixed(0.02),
        ..DirectSade::default()
    };
    let first = fixed.fit(&x, &y).unwrap();
    let again = fixed.fit_with(&x, &y, Fit::new().start(&first)).unwrap();
    assert!(again.model.report.passes <= first.model.report.passes);
    let apart = trace_error(first.model.directions.view(), again.model.directions.view()).unwrap();
    assert!(apart < 1e-8, "{apart}");
    let path = DirectSade { lambda: Lambda::CrossValidated { steps: 3, folds: 3 }, ..fixed };
    let mut calls = 0;
    let mut watch = |_: &Progress| {
        calls += 1;
        ControlFlow::Continue(())
    };
    path.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap();
    // Four solves, each shown before its first step.
    assert!(calls >= 4, "{calls}");
    let mut stop = |_: &Progress| ControlFlow::Break(());
    let stopped = path.fit_with(&x, &y, Fit::new().watch(&mut stop)).unwrap();
    assert_eq!(stopped.model.report.status, Status::Stopped);
}

/// After `Break` in the first of five folds the width is chosen by this fold.
#[test]
fn index_regression_shows_every_fold() {
    let (x, y) = single(200, 7);
    let method = IndexRegressor::new(Sir { components: Components::Fixed(1), ..Sir::default() });
    for (answer, expected, status) in [
        (ControlFlow::Continue(()), 6, Status::Converged),
        (ControlFlow::Break(()), 1, Status::Stopped),
    ] {
        let mut calls = 0;
        let mut watch = |_: &Progress| {
            calls += 1;
            answer
        };
        let model = method.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap();
        assert_eq!((calls, model.report.status), (expected, status));
        assert!(model.cross_validated_r2 > 0.8, "{}", model.cross_validated_r2);
    }
}

/// The number of directions is that of the resamples so far.
#[test]
fn resamples_and_planes_can_be_stopped() {
    let (x, y) = single(300, 4);
    let permutation = Components::Permutation { level: 0.05, repeats: 1_000_000, seed: 1 };
    let ladle = Components::Ladle { repeats: 1_000_000, seed: 1 };
    for components in [permutation, ladle] {
        let mut calls = 0;
        let mut watch = |progress: &Progress| {
            calls += 1;
            assert!(progress.passes >= 1.0, "{progress:?}");
            if calls < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let sir = Sir { components, ..Sir::default() };
        let model = sir.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap();
        assert_eq!((model.report.status, calls), (Status::Stopped, 20), "{components:?}");
        assert!(model.components() >= 1);
    }
    let mut calls = 0;
    let mut watch = |_: &Progress| {
        calls += 1;
        if calls < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let opg = Opg { base_points: 300, ..Opg::default() };
    let model = opg.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap();
    assert_eq!((model.report.status, calls), (Status::Stopped, 20));
    let whole = opg.fit(&x, &y).unwrap();
    assert!(trace_error(whole.directions.view(), model.directions.view()).unwrap() < 0.5);
}
