//! With an intercept, columns and the same columns plus a constant have the same model, and the same certificate.

use fenchel_finite_sum::loss::{Huber, Quantile, Squared};
use fenchel_finite_sum::methods::newton::{NewtonSettings, newton};
use fenchel_finite_sum::path::{
    GroupPathSettings, Path, PathPoint, PathSettings, elastic_net_path, group_path_from,
    logistic_path,
};
use fenchel_finite_sum::prelude::AsDesign;
use fenchel_finite_sum::prox::{Groups, Zero};
use fenchel_finite_sum::{
    AutoSettings, ElasticNet, Error, Fit, GroupLasso, Lasso, LassoCv, LinearModel, LinearSvc,
    LogisticRegression, PoissonRegressor, Problem, Ridge, RidgeCv, SoftmaxRegression, SvcLoss,
    auto,
};
use fenchel_linalg::CsrMatrix;
use fenchel_optim::{Report, Status, Stop};
use ndarray::{Array1, Array2, array};

pub(crate) fn csr(x: &Array2<f64>) -> CsrMatrix<f64> {
    let (n, d) = x.dim();
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in x.rows() {
        for (c, &a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            columns.push(c as u32);
            values.push(a);
        }
        offsets.push(values.len());
    }
    CsrMatrix::new((n, d), offsets, columns, values)
}

/// `(1..4, 1 3 2 5)` has the slope 5.5 / 5 = 1.1, wherever it lies.
#[test]
fn a_slope_does_not_depend_on_where_its_column_lies() {
    let y = [1.0, 3.0, 2.0, 5.0];
    for offset in [0.0, 30.0, 1e3, 1e6, 1e7, 1e8, 1e9] {
        let x = array![[1.0], [2.0], [3.0], [4.0]] + offset;
        let ridge = Ridge { l2: Some(0.0), ..Ridge::default() };
        let lasso = Lasso { l1: 1e-9, ..Lasso::default() };
        for (name, model) in [
            ("ridge", ridge.fit(&x, &y).unwrap()),
            ("sparse ridge", ridge.fit(&csr(&x), &y).unwrap()),
            ("weighted ridge", ridge.fit_with(&x, &y, Fit::new().weights(&[2.0; 4])).unwrap()),
            ("lasso", lasso.fit(&x, &y).unwrap()),
            ("sparse lasso", lasso.fit(&csr(&x), &y).unwrap()),
        ] {
            // The slope of the mean loss is 1e-4 of its scale at most: 1.25 (w - 1.1).
            assert!((model.weights[0] - 1.1).abs() < 1e-3, "{name}, {offset:e}: {model:?}");
            assert_eq!(model.report.status, Status::Converged, "{name}, {offset:e}: {model:?}");
            // The mean of the residuals is 0, up to the rounding of margins at the offset.
            let b = 2.75 - model.weights[0] * (2.5 + offset);
            assert!((model.intercept - b).abs() < 1e-9 + 1e-14 * offset, "{name}, {offset:e}");
        }
    }
}

/// A second of Unix time, over an hour: `y = 2 (t - t0)/3600 + a wave`.
#[test]
fn seconds_since_1970_are_a_column_like_others() {
    let t = Array1::from_shape_fn(3600, |i| i as f64);
    let y = t.mapv(|t| 2.0 * t / 3600.0 + 0.1 * (t * 0.7).sin());
    let mean = (t.mean().unwrap(), y.mean().unwrap());
    let covariance: f64 = t.iter().zip(&y).map(|(t, y)| (t - mean.0) * (y - mean.1)).sum();
    let slope = covariance / t.iter().map(|t| (t - mean.0) * (t - mean.0)).sum::<f64>();
    let x = t.mapv(|t| 1.764e9 + t).insert_axis(ndarray::Axis(1));
    let model = Ridge { l2: Some(0.0), ..Ridge::default() }.fit(&x, &y).unwrap();
    assert!((model.weights[0] / slope - 1.0).abs() < 1e-3, "{model:?}");
}

/// Normal equations of two columns with an intercept, solved by Cramer's rule on centred columns.
#[test]
fn two_columns_of_which_one_lies_far_off() {
    let column = |i: usize| ((5 * i) % 7) as f64;
    let y = Array1::from_shape_fn(34, |i| 0.02 * i as f64 + 0.1 * ((7 * i) % 5) as f64);
    for offset in [1e5, 1e6, 1e7] {
        let x = Array2::from_shape_fn(
            (34, 2),
            |(i, c)| {
                if c == 0 { offset + i as f64 } else { column(i) }
            },
        );
        // 40 digits: 0.02053...; the same by the formula on the columns without the offset.
        let exact = least_squares(&x.map(|v| if *v >= offset { v - offset } else { *v }), &y);
        let model = Ridge { l2: Some(0.0), ..Ridge::default() }.fit(&x, &y).unwrap();
        assert!((exact[0] - 0.02053).abs() < 5e-6, "{exact:?}");
        for c in 0..2 {
            assert!((model.weights[c] - exact[c]).abs() < 1e-4, "{offset:e}: {model:?} {exact:?}");
        }
        let lasso = Lasso { l1: 1e-3, ..Lasso::default() };
        let (far, near) = (lasso.fit(&x, &y).unwrap(), lasso.fit(&(&x - &array![offset, 0.0]), &y));
        same(&format!("lasso {offset:e}"), &far, &near.unwrap(), 1e-2);
    }
}

fn least_squares(x: &Array2<f64>, y: &Array1<f64>) -> [f64; 2] {
    let x = x - &x.mean_axis(ndarray::Axis(0)).unwrap();
    let (a, b, c) = (
        x.column(0).dot(&x.column(0)),
        x.column(0).dot(&x.column(1)),
        x.column(1).dot(&x.column(1)),
    );
    let (p, q) = (x.column(0).dot(y), x.column(1).dot(y));
    [(c * p - b * q) / (a * c - b * b), (a * q - b * p) / (a * c - b * b)]
}

/// `w = G^(-1) (q - n l1)` with `G = [[12, 4], [4, 3]]` for positive weights.
#[test]
fn the_lasso_on_offset_columns_is_the_lasso() {
    let x = array![[1.0, 0.5], [-1.0, 0.5], [1.0, -0.5], [-1.0, -0.5], [2.0, 1.0], [-2.0, -1.0]];
    let y = [1.2, -0.8, 0.8, -1.2, 2.5, -2.5];
    let q: Vec<f64> =
        (0..2).map(|c| x.column(c).dot(&array![1.2, -0.8, 0.8, -1.2, 2.5, -2.5]) - 0.06).collect();
    let exact = [(3.0 * q[0] - 4.0 * q[1]) / 20.0, (12.0 * q[1] - 4.0 * q[0]) / 20.0];
    for offset in [30.0, 100.0, 1e3, 1e4, 1e6] {
        let far = &x + offset;
        let lasso = Lasso { l1: 0.01, stop: Stop::at_relative(1e-7), ..Lasso::default() };
        let models = [
            lasso.fit(&far, &y).unwrap(),
            lasso.fit(&far.mapv(|a| a as f32), &y).unwrap(),
            lasso.fit(&csr(&far), &y).unwrap(),
        ];
        for model in models {
            assert_eq!(model.report.status, Status::Converged, "{offset}: {model:?}");
            for c in 0..2 {
                assert!(
                    (model.weights[c] - exact[c]).abs() < 1e-3,
                    "{offset}: {model:?} {exact:?}"
                );
            }
        }
    }
}

fn same(what: &str, far: &LinearModel, near: &LinearModel, tolerance: f64) {
    let (a, b) = (far.report, near.report);
    alike(what, far.weights.iter().zip(&near.weights), (a, b), tolerance);
}

/// The weights, the status and the objective agree.
fn alike<'w>(
    what: &str,
    weights: impl Iterator<Item = (&'w f64, &'w f64)>,
    (far, near): (Report, Report),
    tolerance: f64,
) {
    assert_eq!(far.status, Status::Converged, "{what}: {far}");
    assert_eq!(near.status, Status::Converged, "{what}: {near}");
    for (a, b) in weights {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} for {b}");
    }
    let (a, b) = (far.certificate.objective().unwrap(), near.certificate.objective().unwrap());
    assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{what}: {far} for {near}");
}

/// Every estimator, on 60 rows of small whole numbers: adding 1e6 to them is exact, in f32 too.
#[test]
fn every_estimator_finds_the_same_model_on_shifted_columns() {
    let entry = |i: usize, c: usize| ((i * (7 + 3 * c) + i * i * (c + 1)) % 11) as f64 - 5.0;
    let near = Array2::from_shape_fn((60, 3), |(i, c)| entry(i, c));
    let score = |i: usize| entry(i, 0) - 0.5 * entry(i, 1) + ((i * 5) % 7) as f64 - 3.0;
    let y = Array1::from_shape_fn(60, score);
    let labels: Vec<i32> = (0..60).map(|i| i32::from(score(i) > 0.5)).collect();
    let classes: Vec<i32> = (0..60).map(|i| labels[i] + i32::from(score(i) > 4.0)).collect();
    let counts = y.mapv(|y| (0.5 * y.abs()).floor());
    let rows = Array1::from_shape_fn(60, |i| (1 + i % 3) as f64);
    let stop = Stop::at_relative(1e-8);
    for shift in [array![1e6, 0.0, 0.0], array![1e6, 1e6, 1e6]] {
        let far = &near + &shift;
        let (single, sparse) = (far.mapv(|a| a as f32), csr(&far));
        // The first on the columns as they are, the others on shifted ones.
        macro_rules! on_all {
            ($fit:expr, $y:expr) => {{
                let fit = $fit;
                [fit.fit(&near, $y), fit.fit(&far, $y), fit.fit(&single, $y), fit.fit(&sparse, $y)]
            }};
        }
        let weighted = Ridge { stop, ..Ridge::default() };
        let groups = vec![vec![0, 1], vec![2]];
        for (what, models) in [
            ("ridge", on_all!(Ridge { stop, ..Ridge::default() }, &y)),
            ("lasso", on_all!(Lasso { l1: 0.1, stop, ..Lasso::default() }, &y)),
            (
                "elastic net",
                on_all!(ElasticNet { l1: 0.1, l2: 0.1, stop, ..Default::default() }, &y),
            ),
            ("groups", on_all!(GroupLasso { groups, group: 0.1, stop, ..Default::default() }, &y)),
            (
                "weighted ridge",
                [
                    weighted.fit_with(&near, &y, Fit::new().weights(&rows)),
                    weighted.fit_with(&far, &y, Fit::new().weights(&rows)),
                    weighted.fit_with(&single, &y, Fit::new().weights(&rows)),
                    weighted.fit_with(&sparse, &y, Fit::new().weights(&rows)),
                ],
            ),
        ] {
            let [near, shifted @ ..] = models.map(Result::unwrap);
            shifted.iter().for_each(|far| same(&format!("{what}, {shift}"), far, &near, 1e-3));
        }
        for l1 in [0.0, 0.05] {
            let fit = LogisticRegression { l1, stop, ..LogisticRegression::default() };
            let b = fit.fit(&near, &labels).unwrap();
            for a in [fit.fit(&far, &labels).unwrap(), fit.fit(&sparse, &labels).unwrap()] {
                let what = format!("logistic {l1}, {shift}");
                alike(&what, a.weights.iter().zip(&b.weights), (a.report, b.report), 1e-3);
            }
            let fit = PoissonRegressor { l1, stop, ..PoissonRegressor::default() };
            let (a, b) = (fit.fit(&far, &counts).unwrap(), fit.fit(&near, &counts).unwrap());
            let what = format!("Poisson {l1}, {shift}");
            alike(&what, a.weights.iter().zip(&b.weights), (a.report, b.report), 1e-3);
        }
        for loss in [SvcLoss::Hinge, SvcLoss::SquaredHinge] {
            let fit = LinearSvc { loss, l2: Some(0.1), stop, ..LinearSvc::default() };
            let (a, b) = (fit.fit(&far, &labels).unwrap(), fit.fit(&near, &labels).unwrap());
            let what = format!("{loss:?}, {shift}");
            alike(&what, a.weights.iter().zip(&b.weights), (a.report, b.report), 1e-3);
        }
        for (l1, group) in [(0.0, 0.0), (0.02, 0.0), (0.0, 0.02)] {
            let fit = SoftmaxRegression { l1, group, stop, ..SoftmaxRegression::default() };
            let b = fit.fit(&near, &classes).unwrap();
            for a in [fit.fit(&far, &classes).unwrap(), fit.fit(&sparse, &classes).unwrap()] {
                let what = format!("softmax {l1} {group}, {shift}");
                alike(&what, a.weights.iter().zip(&b.weights), (a.report, b.report), 1e-3);
            }
        }
        let settings = AutoSettings { stop, ..AutoSettings::default() };
        let targets = y.to_vec();
        let huber = |x: &Array2<f64>| {
            let loss = Huber { delta: 1.0 };
            let problem = Problem::new(x.as_design()?, &targets, loss, Zero, 0.1)?.with_intercept();
            auto(&problem, &settings, None, &mut ())
        };
        let quantile = |x: &Array2<f64>| {
            let loss = Quantile { tau: 0.3 };
            let problem = Problem::new(x.as_design()?, &targets, loss, Zero, 0.1)?.with_intercept();
            auto(&problem, &settings, None, &mut ())
        };
        for (what, a, b) in [
            ("Huber", huber(&far).unwrap(), huber(&near).unwrap()),
            ("quantile", quantile(&far).unwrap(), quantile(&near).unwrap()),
        ] {
            let weights = a.state.point.weights.iter().zip(&b.state.point.weights);
            alike(&format!("{what}, {shift}"), weights, (a.report, b.report), 1e-3);
        }
    }
}

/// Paths, their starts and the choice of a penalty.
#[test]
fn paths_and_cross_validation_find_the_same_models_on_shifted_columns() {
    let entry = |i: usize, c: usize| ((i * (7 + 3 * c) + i * i * (c + 1)) % 11) as f64 - 5.0;
    let near = Array2::from_shape_fn((60, 3), |(i, c)| entry(i, c));
    let far = &near + 1e6;
    let y = Array1::from_shape_fn(60, |i| entry(i, 0) - 0.5 * entry(i, 1) + ((i * 5) % 7) as f64);
    let labels = y.mapv(|y| i32::from(y > 3.0));
    let stop = Stop::at_relative(1e-8);
    let settings = PathSettings { stop, ..PathSettings::default() };
    let compare = |a: &Path, b: &Path| {
        assert_eq!(a.points.len(), b.points.len());
        for (k, (a, b)) in a.points.iter().zip(&b.points).enumerate() {
            assert!((a.penalty / b.penalty - 1.0).abs() < 1e-8);
            let (v, w) = (a.dense(3), b.dense(3));
            alike(
                &format!("point {k}"),
                v.weights.iter().zip(&w.weights),
                (a.report, b.report),
                1e-3,
            );
            let b = w.intercept - 1e6 * w.weights.iter().sum::<f64>();
            assert!((v.intercept / b - 1.0).abs() < 1e-2, "{} for {b}", v.intercept);
        }
    };
    let path = |x: &Array2<f64>| elastic_net_path(x, &y, &settings).unwrap();
    compare(&path(&far), &path(&near));
    let path = |x: &Array2<f64>| logistic_path(x, &labels, &settings).unwrap();
    compare(&path(&far), &path(&near));
    let groups = Groups::new(3, &[vec![0, 1], vec![2]]).unwrap();
    let targets = y.to_vec();
    let settings = GroupPathSettings { stop, ..GroupPathSettings::default() };
    let path = |x: &Array2<f64>, start: Option<Path>, left: &mut usize| {
        let problem = Problem::new(x.as_design().unwrap(), &targets, Squared, Zero, 0.0).unwrap();
        let mut ends = |_: &_, _: &PathPoint| {
            *left -= 1;
            if *left == 0 {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        };
        group_path_from(&problem.with_intercept(), &groups, &settings, start, &mut ends).unwrap()
    };
    let begun = path(&far, None, &mut 20);
    assert_eq!(begun.points.len(), 20);
    compare(&path(&far, Some(begun), &mut 1000), &path(&near, None, &mut 1000));
    let ridge = |x: &Array2<f64>| RidgeCv { stop, ..RidgeCv::default() }.fit(x, &y).unwrap();
    let (a, b) = (ridge(&far), ridge(&near));
    // The grid begins at the mean squared row: around the means for columns far off, around 0 for others.
    let (a, b) = (a.scores[a.chosen].penalty, b.scores[b.chosen].penalty);
    assert!((a / b - 1.0).abs() < 0.2, "{a} for {b}");
    let lasso = |x: &Array2<f64>| LassoCv { stop, ..LassoCv::default() }.fit(x, &y).unwrap();
    let (a, b) = (lasso(&far), lasso(&near));
    assert!((a.scores[a.chosen].penalty / b.scores[b.chosen].penalty - 1.0).abs() < 1e-6);
    same("lasso", &a.model, &b.model, 1e-3);
}

/// A method called by name works on the columns as they are: it need not get far, and must not say that it did.
#[test]
fn a_method_by_name_does_not_take_a_large_column_for_a_small_gradient() {
    let y = [1.0, 3.0, 2.0, 5.0];
    for offset in [1e3, 1e6, 1e8] {
        let x = array![[1.0], [2.0], [3.0], [4.0]] + offset;
        let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
        let settings = NewtonSettings::default();
        let s = newton(&problem.with_intercept(), &settings, None, &mut ()).unwrap();
        let right = (s.state.weights[0] - 1.1).abs() < 1e-3;
        assert!(right || s.report.status != Status::Converged, "{offset:e}: {s:?}");
    }
}

/// 39 bytes whose largest index is 2^32 - 2: one number for each feature is 32 GiB.
#[test]
fn a_file_with_a_huge_index_is_refused_by_every_fit() {
    let text = "1 1:1\n-1 2:1 4294967294:1\n1 2:1\n-1 1:2\n";
    let data = fenchel_datasets::libsvm(text.as_bytes(), &Default::default()).unwrap();
    let (x, y) = (&data.x, &data.y);
    macro_rules! refused {
        ($($fit:expr),*) => {$(
            let error = $fit.unwrap_err();
            let memory = matches!(
                error,
                Error::Refused(fenchel_optim::Refusal::MemoryLimit { .. })
            );
            assert!(memory, "{}: {error}", stringify!($fit));
        )*};
    }
    let groups = vec![vec![0, 1]];
    refused!(
        Ridge::default().fit(x, y),
        Lasso::default().fit(x, y),
        GroupLasso { groups, ..GroupLasso::default() }.fit(x, y),
        LogisticRegression::default().fit(x, y),
        LinearSvc::default().fit(x, y),
        PoissonRegressor::default().fit(x, &y.mapv(f64::abs)),
        SoftmaxRegression::default().fit(x, y),
        fenchel_finite_sum::OneVsRest::default().fit(x, y),
        LassoCv { folds: 2, ..LassoCv::default() }.fit(x, y),
        RidgeCv { folds: 2, ..RidgeCv::default() }.fit(x, y),
        elastic_net_path(x, y, &PathSettings::default())
    );
    let error = fenchel_finite_sum::Standardiser::fit(x).unwrap_err().to_string();
    assert!(error.contains("columns, whose means take more than 4 GiB"), "{error}");
}
