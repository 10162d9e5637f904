//! Estimators of linear models, and the methods behind them, begun from states with faults.

use arbitrary::Unstructured;
use fenchel::linear::estimators::{Choose, HuberRegressor, Scoring};
use fenchel::linear::loss::{Hinge, Huber, Logistic, Squared, SquaredHinge};
use fenchel::linear::methods;
use fenchel::linear::path::{Grid, PathSettings, elastic_net_path, logistic_path};
use fenchel::linear::prox::{L1, Zero};
use fenchel::linear::{
    ClassWeights, ElasticNet, ElasticNetCv, GroupLasso, Lasso, LassoCv, LinearSvc, LinearSvcCv,
    LogisticRegression, LogisticRegressionCv, OneVsRest, PoissonRegressor, Problem, Ridge, RidgeCv,
    SoftmaxRegression, SoftmaxRegressionCv, Standardiser, SvcLoss,
};
use fenchel::optim::random::Order;
use fenchel::optim::{Loss, Solution};
use fenchel::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::data::{Range, Rows};
use crate::{oracle, tree};

/// Fits to the dense or the sparse design, then again from the model, and compares what is proved.
macro_rules! fit {
    ($u:ident, $rows:ident, $seeds:expr, $y:expr, $($report:ident).+, |$model:ident, $x:ident| $predict:expr) => {{
        let Some(estimator) = tree::like($u, &$seeds) else { return };
        let y = $y;
        let fitted = match &$rows.sparse {
            Some(x) => estimator.fit_with(x, y, $rows.fit(None)),
            None => estimator.fit_with(&$rows.x, y, $rows.fit(None)),
        };
        let Ok($model) = fitted else { return };
        oracle::saved(&$model);
        let _ = format!("{:?}", $model);
        oracle::report(&$model.$($report).+);
        let ($x, converged) = (&$rows.x, $model.$($report).+.status == Status::Converged);
        let predicted: Vec<f64> = $predict;
        if converged && $rows.range == Range::Small {
            oracle::finite("prediction", &predicted);
        }
        let start = tree::altered($u, &$model).unwrap_or_else(|| $model.clone());
        if let Ok(again) = estimator.fit_with(&$rows.x, y, $rows.fit(Some(&start))) {
            oracle::report(&again.$($report).+);
            if $rows.range == Range::Small {
                oracle::bounds(&[&$model.$($report).+, &again.$($report).+]);
            }
        }
    }};
}

/// The estimators.
pub(crate) fn estimators(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let kind = u.int_in_range(0..=14).unwrap_or(0);
    let rows = Rows::new(u);
    let classes = || {
        let labels = rows.labels.iter().take(1).map(|label| (*label, 2.0));
        [ClassWeights::Equal, ClassWeights::Balanced, ClassWeights::of(labels)]
    };
    match kind {
        0 => fit!(
            u,
            rows,
            [Ridge::default(), Ridge { l2: Some(0.1), ..Ridge::default() }],
            &rows.y,
            report,
            |model, x| {
                let _ = model.score(x, &rows.y);
                model.predict(x).expect("fitted to these features").to_vec()
            }
        ),
        1 => fit!(
            u,
            rows,
            [Lasso::default(), Lasso { l1: 0.1, ..Lasso::default() }],
            &rows.y,
            report,
            |model, x| { model.predict(x).expect("fitted to these features").to_vec() }
        ),
        2 => fit!(
            u,
            rows,
            [ElasticNet::default(), ElasticNet { l1: 0.1, l2: 0.01, ..ElasticNet::default() }],
            &rows.y,
            report,
            |model, x| { model.predict(x).expect("fitted to these features").to_vec() }
        ),
        3 => {
            let groups =
                [vec![vec![0, 1], vec![2]], vec![vec![0]], vec![vec![1, 0], vec![3, 2, 4]]];
            let seeds =
                groups.map(|groups| GroupLasso { groups, group: 0.1, ..GroupLasso::default() });
            fit!(u, rows, seeds, &rows.y, report, |model, x| model
                .predict(x)
                .expect("fitted to these features")
                .to_vec())
        }
        4 => fit!(u, rows, [HuberRegressor::default()], &rows.y, linear.report, |model, x| {
            model.linear.predict(x).expect("fitted to these features").to_vec()
        }),
        5 => fit!(u, rows, [PoissonRegressor::default()], &rows.counts, report, |model, x| {
            let _ = model.predict(x);
            vec![]
        }),
        6 => {
            let seeds = classes().map(|class_weights| LogisticRegression {
                class_weights,
                ..LogisticRegression::default()
            });
            fit!(u, rows, seeds, &rows.labels, report, |model, x| {
                let _ = (model.predict(x), model.score(x, &rows.labels));
                model.predict_proba(x).expect("fitted to these features").to_vec()
            })
        }
        7 => {
            let [equal, balanced, labels] = classes();
            let seeds = [
                LinearSvc { class_weights: equal, loss: SvcLoss::Hinge, ..LinearSvc::default() },
                LinearSvc { class_weights: balanced, ..LinearSvc::default() },
                LinearSvc { class_weights: labels, ..LinearSvc::default() },
            ];
            fit!(u, rows, seeds, &rows.labels, report, |model, x| {
                model.decision_function(x).expect("fitted to these features").to_vec()
            })
        }
        8 => {
            let [equal, balanced, labels] = classes();
            let seeds = [
                SoftmaxRegression { class_weights: equal, ..SoftmaxRegression::default() },
                SoftmaxRegression {
                    class_weights: balanced,
                    l1: 0.05,
                    ..SoftmaxRegression::default()
                },
                SoftmaxRegression {
                    class_weights: labels,
                    group: 0.05,
                    ..SoftmaxRegression::default()
                },
            ];
            fit!(u, rows, seeds, &rows.labels, report, |model, x| {
                let _ = model.predict(x);
                model.predict_proba(x).expect("fitted to these features").iter().copied().collect()
            })
        }
        9 => {
            let Some(estimator) = tree::like(u, &[OneVsRest::default()]) else { return };
            let Ok(model) = estimator.fit_with(&rows.x, &rows.labels, rows.fit(None)) else {
                return;
            };
            oracle::model(&model);
            let _ = (model.predict(&rows.x), model.predict_proba(&rows.x));
        }
        10..14 => cross_validation(u, &rows, kind),
        _ => {
            let seeds = [
                PathSettings::default(),
                PathSettings { grid: Grid::Given(vec![1.0, 0.1, 0.01]), ..PathSettings::default() },
                PathSettings { l1_ratio: 0.5, ..PathSettings::default() },
            ];
            let Some(settings) = tree::like(u, &seeds) else { return };
            let path = match u.arbitrary().unwrap_or(false) {
                true => elastic_net_path(&rows.x, &rows.y, &settings),
                false => logistic_path(&rows.x, &rows.labels, &settings),
            };
            let Ok(path) = path else { return };
            path.points.iter().for_each(|point| oracle::report(&point.report));
            let _ = (path.coefficients(), path.to_string());
        }
    }
}

fn cross_validation(u: &mut Unstructured<'_>, rows: &Rows, kind: usize) {
    let grid =
        || [None, Some(Grid::Given(vec![0.5, 0.1])), Some(Grid::Log { count: 4, smallest: 1e-2 })];
    macro_rules! seeds {
        ($name:ident) => {
            [
                $name { grid: grid()[0].clone(), folds: 2, ..$name::default() },
                $name {
                    grid: grid()[1].clone(),
                    choose: Choose::OneStandardError,
                    folds: 3,
                    ..$name::default()
                },
                $name { grid: grid()[2].clone(), splits: Some(vec![]), ..$name::default() },
            ]
        };
    }
    macro_rules! choose {
        ($seeds:expr, $y:expr) => {{
            let Some(estimator) = tree::like(u, &$seeds) else { return };
            let Ok(fitted) = estimator.fit_with(&rows.x, $y, rows.fit(None)) else { return };
            assert!(fitted.best < fitted.scores.len());
            oracle::report(&fitted.model.report);
            let _ = fitted.to_string();
            oracle::model(&fitted.model);
        }};
    }
    match kind {
        10 => choose!(seeds!(ElasticNetCv), &rows.y),
        11 if rows.range == Range::Small => choose!(seeds!(RidgeCv), &rows.y),
        11 => choose!(seeds!(LassoCv), &rows.y),
        12 if rows.range == Range::Small => choose!(seeds!(LinearSvcCv), &rows.labels),
        12 => choose!(seeds!(LogisticRegressionCv), &rows.labels),
        _ => {
            let seeds = [
                SoftmaxRegressionCv { folds: 2, ..SoftmaxRegressionCv::default() },
                SoftmaxRegressionCv {
                    folds: 2,
                    scoring: Scoring::Errors,
                    grid: grid()[1].clone(),
                    ..SoftmaxRegressionCv::default()
                },
            ];
            choose!(seeds, &rows.labels)
        }
    }
}

pub(crate) fn standardiser(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let rows = Rows::new(u);
    let Ok(scale) = Standardiser::fit(&rows.x) else { return };
    oracle::saved(&scale);
    let Some(altered) = tree::altered(u, &scale) else { return };
    if altered.check().is_ok() {
        let _ = altered.transform(&rows.x);
    }
}

/// Runs a method, alters the state that it ends in, and begins from there.
fn resume<S, E>(
    u: &mut Unstructured<'_>,
    reports: &mut Vec<Report>,
    run: impl Fn(Option<S>) -> Result<Solution<S>, E>,
) where
    S: Serialize + DeserializeOwned,
{
    let Ok(Solution { state, report }) = run(None) else { return };
    oracle::report(&report);
    reports.push(report);
    let Some(state) = tree::altered(u, &state) else { return };
    if let Ok(solution) = run(Some(state)) {
        oracle::report(&solution.report);
        reports.push(solution.report);
    }
}

/// Each method on one problem, and from states with faults.
pub(crate) fn solvers(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let rows = Rows::of(u, 0..=12, 0..=4);
    let signs: Vec<f64> =
        rows.labels.iter().map(|label| if *label == 0 { -1.0 } else { 1.0 }).collect();
    let l2 = crate::data::number(u).abs();
    let intercept = u.arbitrary().unwrap_or(true);
    let l1 = u.choose(&[0.0, 0.0, 0.1, 1e-9, 10.0]).copied().unwrap_or(0.0);
    match u.int_in_range(0..=4).unwrap_or(0) {
        0 => on_loss(u, &rows, &rows.y.to_vec(), Squared, l1, l2, intercept),
        1 => on_loss(u, &rows, &rows.y.to_vec(), Huber { delta: 0.5 }, l1, l2, intercept),
        2 => on_loss(u, &rows, &signs, SquaredHinge, l1, l2, intercept),
        3 => on_loss(u, &rows, &signs, Hinge, l1, l2, intercept),
        _ => on_loss(u, &rows, &signs, Logistic, l1, l2, intercept),
    }
}

fn on_loss<L: Loss + Copy>(
    u: &mut Unstructured<'_>,
    rows: &Rows,
    y: &[f64],
    loss: L,
    l1: f64,
    l2: f64,
    intercept: bool,
) {
    let Ok(design) = rows.x.as_design() else { return };
    let Ok(problem) = Problem::new(design, y, loss, L1 { strength: l1 }, l2) else { return };
    let problem = if intercept { problem.with_intercept() } else { problem };
    let smooth = || {
        let plain = Problem::new(design, y, loss, Zero, l2).ok()?;
        Some(if intercept { plain.with_intercept() } else { plain })
    };
    let mut reports = Vec::new();
    macro_rules! go {
        ($settings:ident, $run:path, $problem:expr) => {
            if let Some(settings) = tree::like(u, &[methods::$settings::default()]) {
                resume(u, &mut reports, |start| $run($problem, &settings, start, &mut ()));
            }
        };
    }
    for _ in 0..2 {
        match u.int_in_range(0..=16).unwrap_or(0) {
            0 => {
                let seeds = [Order::Cyclic, Order::Lipschitz, Order::Uniform, Order::Permuted].map(
                    |order| methods::SdcaSettings { order, ..methods::SdcaSettings::default() },
                );
                if let Some(settings) = tree::like(u, &seeds) {
                    resume(u, &mut reports, |start| {
                        methods::sdca(&problem, &settings, start, &mut ())
                    });
                }
            }
            1 => go!(MisoMuSettings, methods::miso_mu, &problem),
            2 => go!(ProxFinitoSettings, methods::prox_finito, &problem),
            3 => go!(CatalystSettings, methods::catalyst, &problem),
            4 => go!(QningSettings, methods::qning, &problem),
            5 => go!(CocoaSettings, methods::cocoa, &problem),
            6 => go!(SagSettings, methods::sag, &problem),
            7 => go!(SagaSettings, methods::saga, &problem),
            8 => go!(SvrgSettings, methods::svrg, &problem),
            9 => go!(SgdSettings, methods::sgd, &problem),
            10 => go!(CoordinateSettings, methods::coordinate_descent, &problem),
            11 => go!(NewtonSettings, methods::newton, &problem),
            12 => go!(FistaSettings, methods::fista, &problem),
            13 => go!(LbfgsSettings, methods::lbfgs, &problem),
            14 if l1 == 0.0 => {
                let Some(plain) = smooth() else { return };
                go!(NewtonCgSettings, methods::newton_cg, &plain);
            }
            15 if l1 == 0.0 => {
                let Some(plain) = smooth() else { return };
                go!(FinitoSettings, methods::finito, &plain);
            }
            16 if l1 == 0.0 => {
                let Some(plain) = smooth() else { return };
                go!(MisoSettings, methods::miso, &plain);
            }
            _ => go!(SubsampledNewtonSettings, methods::subsampled_newton, &problem),
        }
    }
    if rows.range == Range::Small && (1e-6..1e6).contains(&l2) {
        oracle::bounds(&reports.iter().collect::<Vec<_>>());
    }
}
