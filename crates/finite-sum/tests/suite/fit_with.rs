//! What a fit is given besides the data, all at once.

use std::ops::ControlFlow;

use crate::common::data;
use fenchel_finite_sum::path::{PathSettings, elastic_net_path};
use fenchel_finite_sum::prelude::{Progress, Status, Stop};
use fenchel_finite_sum::{
    Fit, LassoCv, LogisticRegression, LogisticRegressionCv, OneVsRest, Ridge, SoftmaxRegressionCv,
};
use ndarray::{Axis, concatenate};

fn tight() -> Stop {
    Stop { absolute: 0.0, relative: 1e-10, ..Stop::default() }
}

#[test]
fn weights_start_and_watch_combine() {
    let data = data(60, 8, 1.0, 5);
    // Weights of 1 and 2: the second half of the rows twice.
    let weights: Vec<f64> = (0..60).map(|i| if i < 30 { 1.0 } else { 2.0 }).collect();
    let half: Vec<usize> = (30..60).collect();
    let twice = concatenate![Axis(0), data.dense, data.dense.select(Axis(0), &half)];
    let labels: Vec<f64> = (data.signs.iter().chain(&data.signs[30..])).copied().collect();
    let logistic = LogisticRegression { l2: Some(0.05), stop: tight(), ..Default::default() };
    let right = logistic.fit(&twice, &labels).unwrap();
    let mut seen = vec![];
    let mut watch = |progress: &Progress| {
        seen.push(progress.passes);
        ControlFlow::Continue(())
    };
    let fit = Fit::new().weights(&weights).start(&right).watch(&mut watch);
    let model = logistic.fit_with(&data.dense, &data.signs, fit).unwrap();
    for (found, right) in model.weights.iter().zip(&right.weights) {
        // Both gaps are below 1e-10 and the strong convexity is 0.05: at most 2 sqrt(2e-10 / 0.05) apart.
        assert!((found - right).abs() < 1.3e-4, "{found} {right}");
    }
    assert_eq!(seen[0], 0.0);
    assert!(model.report.passes <= logistic.fit(&twice, &labels).unwrap().report.passes);
}

#[test]
fn a_closure_that_breaks_ends_any_estimator() {
    let data = data(80, 6, 1.0, 3);
    let mut end = |_: &Progress| ControlFlow::Break(());
    let ridge = Ridge { stop: tight(), ..Ridge::default() };
    let model = ridge.fit_with(&data.dense, &data.reals, Fit::new().watch(&mut end)).unwrap();
    assert_eq!((model.report.status, model.report.passes), (Status::Stopped, 0.0));
    let several = OneVsRest::default();
    let fit = Fit::new().watch(&mut end);
    let model = several.fit_with(&data.dense, &data.signs, fit).unwrap();
    assert!(model.models.iter().all(|model| model.report.status == Status::Stopped));
}

#[test]
fn a_cross_validation_is_watched_and_ended_as_a_whole() {
    let data = data(80, 6, 1.0, 3);
    let mut calls = 0;
    let mut watch = |_: &Progress| {
        calls += 1;
        if calls == 40 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let cv = LogisticRegressionCv { l1_ratios: vec![1.0, 0.5], ..Default::default() };
    let fitted = cv.fit_with(&data.dense, &data.signs, Fit::new().watch(&mut watch)).unwrap();
    assert_eq!(calls, 40);
    assert_eq!(fitted.model.report.status, Status::Stopped);
    // All penalties are in the table; those that were not reached have no score.
    assert_eq!(fitted.scores.len(), 200);
    assert!(fitted.scores.iter().any(|score| score.mean.is_nan()));
    // A closure that goes on changes nothing.
    let mut on = |_: &Progress| ControlFlow::Continue(());
    let watched = cv.fit_with(&data.dense, &data.signs, Fit::new().watch(&mut on)).unwrap();
    assert_eq!(watched.scores, cv.fit(&data.dense, &data.signs).unwrap().scores);
}

#[test]
fn no_time_ends_a_cross_validation_and_a_path_at_once() {
    let data = data(80, 6, 1.0, 3);
    let stop = Stop { max_seconds: Some(0.0), ..tight() };
    let lasso = LassoCv { stop, ..LassoCv::default() }.fit(&data.dense, &data.reals).unwrap();
    // The first penalty of the grid is the least that leaves the origin optimal, which takes no time to see.
    assert!(lasso.model.weights.iter().all(|w| *w == 0.0));
    assert!(lasso.scores[1..].iter().all(|score| score.mean.is_nan()));
    // Not "converged": nothing was chosen.
    assert_eq!(lasso.model.report.status, Status::TimeLimit);
    let whole = LassoCv { stop: tight(), ..LassoCv::default() };
    let whole = whole.fit(&data.dense, &data.reals).unwrap();
    assert_eq!(whole.model.report.status, Status::Converged);
    let softmax = SoftmaxRegressionCv { stop, ..Default::default() };
    let softmax = softmax.fit(&data.dense, &data.signs).unwrap();
    assert_eq!(softmax.model.report.status, Status::TimeLimit);
    assert!(softmax.scores.iter().all(|score| score.mean.is_nan()));
    let settings = PathSettings { stop, ..PathSettings::default() };
    let path = elastic_net_path(&data.dense, &data.reals, &settings).unwrap();
    assert!(path.points.len() <= 1);
}
