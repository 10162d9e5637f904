//! Counts, groups, the area under the ROC curve, and models that take their scale along.

use fenchel_datasets::embedded;
use fenchel_finite_sum::path::Grid;
use fenchel_finite_sum::prelude::{Named, Names, Rows, Saved, Status, Stop};
use fenchel_finite_sum::{
    Fit, GroupLasso, Lasso, LinearModel, LinearSvc, LinearSvcCv, LogisticModel, LogisticRegression,
    LogisticRegressionCv, OneVsRest, PoissonModel, PoissonRegressor, Ridge, SoftmaxRegression,
    SoftmaxRegressionCv, Standardiser, estimators::Scoring,
};
use fenchel_metrics::stratified_k_fold;
use ndarray::{Array1, Array2, array};

fn x() -> Array2<f64> {
    Array2::from_shape_fn((30, 4), |(i, c)| ((i * (7 + 4 * c) + c * i * i) % 13) as f64 / 6.0 - 1.0)
}

fn counts() -> Array1<f64> {
    (0..30).map(|i| ((5 * i * i + i) % 7) as f64).collect()
}

fn tight() -> Stop {
    Stop { max_passes: 20_000.0, ..Stop::at_relative(1e-13) }
}

/// The conditions of the optimum, written out.
#[test]
fn poisson_regression_is_at_its_optimum() {
    let (x, y) = (x(), counts());
    let weights: Vec<f64> = (0..30).map(|i| 1.0 + f64::from(i % 4)).collect();
    let fit = PoissonRegressor { l2: 0.02, l1: 0.05, stop: tight(), ..Default::default() };
    let model = fit.fit_with(&x, &y, Fit::new().weights(&weights)).unwrap();
    let total: f64 = weights.iter().sum();
    let excess: Array1<f64> = (0..30)
        .map(|i| {
            weights[i] / total * ((x.row(i).dot(&model.weights) + model.intercept).exp() - y[i])
        })
        .collect();
    assert!(excess.sum().abs() < 1e-6);
    for (slope, w) in x.t().dot(&excess).iter().zip(&model.weights) {
        if *w == 0.0 {
            assert!(slope.abs() <= 0.05 + 1e-6, "{slope}");
        } else {
            assert!((slope + 0.02 * w + 0.05 * w.signum()).abs() < 1e-6, "{slope} at {w}");
        }
    }
    assert!(!model.support().is_empty() && model.support().len() < 4, "{:?}", model.support());

    let again = fit.fit_with(&x, &y, Fit::new().start(&model)).unwrap();
    assert_eq!(again.report.status, Status::Converged);
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(PoissonModel::load(&file[..]).unwrap(), model);
    assert!(LinearModel::load(&file[..]).is_err());
}

/// `D^2` is 1 less the deviance over that of the mean, written out with logarithms of counts above 0.
#[test]
fn the_score_of_counts_is_the_share_of_the_deviance() {
    let (x, y) = (x(), counts());
    let model = PoissonRegressor { l2: 0.01, ..Default::default() }.fit(&x, &y).unwrap();
    let mean = model.predict(&x).unwrap();
    let deviance = |mu: &dyn Fn(usize) -> f64| -> f64 {
        let part = |(i, &y): (usize, &f64)| {
            let log = if y > 0.0 { y * (y / mu(i)).ln() } else { 0.0 };
            2.0 * (log - (y - mu(i)))
        };
        y.iter().enumerate().map(part).sum()
    };
    let all = y.mean().unwrap();
    let expected = 1.0 - deviance(&|i| mean[i]) / deviance(&|_| all);
    assert!((model.score(&x, &y).unwrap() - expected).abs() < 1e-12);
    let flat = PoissonModel { weights: Array1::zeros(4), intercept: all.ln(), ..model.clone() };
    assert!(flat.score(&x, &y).unwrap().abs() < 1e-12);
    for bad in [Array1::ones(30), Array1::from_elem(30, -1.0), Array1::ones(29)] {
        assert!(model.score(&x, &bad).unwrap_err().to_string().contains("target"), "{bad}");
    }
}

/// Without a single count the intercept falls for ever, whatever is penalised; without an intercept a penalty holds the rest.
#[test]
fn counts_of_zero_have_no_minimiser() {
    let (x, none) = (x(), Array1::zeros(30));
    for (l2, l1) in [(1.0, 0.0), (0.0, 0.1), (0.0, 0.0)] {
        let fit = PoissonRegressor { l2, l1, ..PoissonRegressor::default() };
        let model = fit.fit(&x, &none).unwrap();
        assert_eq!(model.report.status, Status::NoMinimiser, "{}", model.report);
        assert!(model.intercept < 0.0 && model.intercept.is_finite());
        assert!(model.report.to_string().starts_with("no minimiser exists"));
    }
    let fit = PoissonRegressor::default();
    let mut one = none.clone();
    one[3] = 2.0;
    assert_eq!(fit.fit(&x, &one).unwrap().report.status, Status::Converged);
    let mut weights = [1.0; 30];
    weights[3] = 0.0;
    let model = fit.fit_with(&x, &one, Fit::new().weights(&weights)).unwrap();
    assert_eq!(model.report.status, Status::NoMinimiser);
    let through_origin = PoissonRegressor { intercept: false, ..fit };
    assert_eq!(through_origin.fit(&x, &none).unwrap().report.status, Status::Converged);
    let text = fit.fit(&x, &-one).unwrap_err().to_string();
    assert!(text.contains("target of row 3 is -2"), "{text}");
}

/// The conditions of the optimum, written out: a group is 0, or its slope is that of its norm.
#[test]
fn the_group_lasso_is_at_its_optimum() {
    let (x, y) = (x(), counts());
    let groups = vec![vec![0, 2], vec![1], vec![3]];
    let fit =
        GroupLasso { groups: groups.clone(), group: 0.15, stop: tight(), ..Default::default() };
    let model = fit.fit(&x, &y).unwrap();
    let residual = x.dot(&model.weights) + model.intercept - &y;
    assert!(residual.sum().abs() < 1e-6);
    let slope = x.t().dot(&residual) / 30.0;
    let norm = |group: &[usize], of: &Array1<f64>| {
        group.iter().map(|&c| of[c] * of[c]).sum::<f64>().sqrt()
    };
    let mut empty = 0;
    for group in &groups {
        let (bound, size) = (0.15 * (group.len() as f64).sqrt(), norm(group, &model.weights));
        if size == 0.0 {
            empty += 1;
            assert!(norm(group, &slope) <= bound + 1e-6);
        } else {
            let left = |&c: &usize| (slope[c] + bound * model.weights[c] / size).abs();
            assert!(group.iter().all(|c| left(c) < 1e-6));
        }
    }
    assert!(empty > 0 && empty < 3, "{:?}", model.weights);

    // Groups of one feature are the lasso's.
    let alone = GroupLasso { groups: (0..4).map(|c| vec![c]).collect(), group: 0.1, ..fit.clone() };
    let lasso = Lasso { l1: 0.1, stop: tight(), ..Lasso::default() }.fit(&x, &y).unwrap();
    let alone = alone.fit(&x, &y).unwrap();
    assert!((&alone.weights - &lasso.weights).iter().all(|e| e.abs() < 1e-6));

    let text = |groups: Vec<Vec<usize>>| {
        GroupLasso { groups, ..fit.clone() }.fit(&x, &y).unwrap_err().to_string()
    };
    assert!(text(vec![]).contains("groups is empty"), "{}", text(vec![]));
    assert!(text(vec![vec![0, 4]]).contains("coordinate 4"));
    assert!(text(vec![vec![0], vec![0]]).contains("in a group already"));
    let negative = GroupLasso { group: -1.0, ..fit }.fit(&x, &y).unwrap_err().to_string();
    assert!(negative.contains("group = -1"), "{negative}");
}

/// 1 less the AUC of every fold is the share of wrong pairs, counted one by one.
#[test]
fn folds_are_scored_by_the_pairs_in_order() {
    let data = embedded::breast_cancer();
    let keep: Vec<usize> = (0..120).collect();
    // Three features alone leave pairs in the wrong order.
    let x = Array2::from_shape_fn((120, 3), |(i, c)| data.x[[i, [8, 9, 11][c]]]);
    let y: Vec<f64> = keep.iter().map(|&i| data.y[i]).collect();
    let weights: Vec<f64> = (0..120).map(|i| 0.5 + f64::from(i % 3)).collect();
    let cv = LogisticRegressionCv {
        folds: 3,
        grid: Some(Grid::Given(vec![0.5, 0.01])),
        scoring: Scoring::Auc,
        stop: Stop::at_relative(1e-10),
        ..LogisticRegressionCv::default()
    };
    let table = cv.fit_with(&x, &y, Fit::new().weights(&weights)).unwrap();
    let splits = stratified_k_fold(&y, 3, 0).unwrap();
    for score in &table.scores {
        for ((train, test), found) in splits.iter().zip(&score.folds) {
            let pick = |from: &[f64], rows: &[usize]| -> Vec<f64> {
                rows.iter().map(|&i| from[i]).collect()
            };
            let fit = LogisticRegression {
                l2: Some(score.l2()),
                stop: Stop::at_relative(1e-10),
                ..Default::default()
            };
            let (y_train, w_train) = (pick(&y, train), pick(&weights, train));
            let model = fit
                .fit_with(&Rows::new(&x, train), &y_train, Fit::new().weights(&w_train))
                .unwrap();
            let z = model.decision_function(&Rows::new(&x, test)).unwrap();
            let (mut wrong, mut all) = (0.0, 0.0);
            for (a, &i) in test.iter().enumerate().filter(|(_, i)| y[**i] > 0.0) {
                for (b, &j) in test.iter().enumerate().filter(|(_, j)| y[**j] <= 0.0) {
                    let pair = weights[i] * weights[j];
                    all += pair;
                    wrong += if z[a] < z[b] { pair } else { 0.0 };
                }
            }
            assert!(wrong > 0.0 && (wrong / all - found).abs() < 1e-9, "{} {found}", wrong / all);
        }
    }
    // A softmax of two classes is a logistic regression with half the penalty; of three classes it is refused.
    let softmax = SoftmaxRegressionCv {
        folds: 3,
        grid: Some(Grid::Given(vec![1.0, 0.02])),
        scoring: Scoring::Auc,
        stop: Stop::at_relative(1e-10),
        ..SoftmaxRegressionCv::default()
    };
    let two = softmax.fit_with(&x, &y, Fit::new().weights(&weights)).unwrap();
    for (a, b) in two.scores.iter().zip(&table.scores) {
        assert!(a.folds.iter().zip(&b.folds).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?} {b:?}");
    }
    let wine = embedded::wine();
    let text = softmax.fit(&wine.x, &wine.y).unwrap_err().to_string();
    assert!(text.contains("AUC of 3 classes"), "{text}");
    let svc = LinearSvcCv { folds: 3, scoring: Scoring::Auc, ..LinearSvcCv::default() };
    let one = wine.y.mapv(|y| y == wine.y[0]);
    let fitted =
        svc.fit(&Standardiser::fit(&wine.x).unwrap().transform(&wine.x).unwrap(), &one).unwrap();
    assert!((0.0..0.05).contains(&fitted.scores[fitted.best].mean));
    let svc = LinearSvcCv { scoring: Scoring::LogLoss, ..svc };
    assert!(svc.fit(&x, &y).unwrap_err().to_string().contains("log loss"));
}

/// With two folds and one row of a class, a fold of the test has no pair.
#[test]
fn a_fold_without_pairs_is_refused_by_name() {
    let x = array![[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]];
    let y = [0, 0, 0, 1, 1, 1];
    let weights = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    let cv = SoftmaxRegressionCv {
        folds: 2,
        intercept: false,
        scoring: Scoring::Auc,
        grid: Some(Grid::Given(vec![0.1])),
        ..SoftmaxRegressionCv::default()
    };
    let text = cv.fit_with(&x, &y, Fit::new().weights(&weights)).unwrap_err().to_string();
    assert!(text.contains("one class only"), "{text}");
}

/// A scale and a model in one file, which predict as the model whose weights were folded back.
#[test]
fn a_scale_is_saved_beside_its_model() {
    let data = embedded::breast_cancer();
    let labels: Vec<String> =
        data.y.iter().map(|&y| if y > 0.0 { "benign" } else { "malignant" }.into()).collect();
    let scale = Standardiser::fit(&data.x).unwrap();
    let x = scale.transform(&data.x).unwrap();
    let model = LogisticRegression::default().fit(&x, &labels).unwrap();
    let folded = model.clone().for_raw_features(&scale).unwrap();
    assert_eq!(model.predict(&x).unwrap(), folded.predict(&data.x).unwrap());
    let (a, b) = (model.predict_proba(&x).unwrap(), folded.predict_proba(&data.x).unwrap());
    assert!((a - b).iter().all(|e| e.abs() < 1e-9));

    let mut file = vec![];
    let both = (scale, model);
    both.save(&mut file).unwrap();
    assert_eq!(<(Standardiser, LogisticModel<String>)>::load(&file[..]).unwrap(), both);
    assert!(LogisticModel::<String>::load(&file[..]).is_err());
    let error = <(Standardiser, LinearModel)>::load(&file[..]).unwrap_err().to_string();
    let expected = "the file holds a logistic regression, which LogisticModel<String> loads; expected a linear regression";
    assert_eq!(error, expected);
}

/// Models take the names of the design, keep them in files, and refuse columns in another order.
#[test]
fn a_model_has_the_names_of_its_features() {
    let x = array![[0.0, 1.0, 0.0], [1.0, 0.5, 0.0], [3.0, 0.0, 0.0], [4.0, 1.0, 0.0]];
    let x = Named { x, names: Names::new(["age", "plan=basic", "zero"]) };
    let y = ["no", "no", "yes", "yes"].map(String::from);
    let model = LogisticRegression::default().fit(&x, &y).unwrap();
    assert_eq!(model.names, x.names);
    let text = model.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "logistic regression: 2 of 3 features have a weight other than 0");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    assert_eq!(words(lines[1]), ["for", "\"yes\""]);
    assert_eq!(words(lines[2]), ["(intercept)".to_owned(), format!("{:.6}", model.intercept)]);
    assert_eq!(words(lines[3]), ["age".to_owned(), format!("{:.6}", model.weights[0])]);
    assert_eq!(words(lines[4])[0], "plan=basic");
    assert_eq!(lines.len(), 5);
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(LogisticModel::<String>::load(&file[..]).unwrap(), model);

    let other = Named { names: Names::new(["plan=basic", "age", "zero"]), ..x.clone() };
    let error = model.predict(&other).unwrap_err().to_string();
    assert_eq!(error, "design matrix: column 0 is \"plan=basic\"; expected \"age\", as in the fit");
    assert_eq!(model.predict(&x.x).unwrap(), model.predict(&x).unwrap());
    let short = LogisticModel { names: Names::new(["age"]), ..model };
    assert!(
        short.check().unwrap_err().contains("names of the columns: expected length 3, found 1")
    );

    // The other models, and rows of a design with names.
    let counts = [0.0, 1.0, 3.0, 5.0];
    let rows = Rows::new(&x, &[3, 2, 1, 0]);
    assert_eq!(Ridge::default().fit(&rows, &counts).unwrap().names, x.names);
    assert_eq!(LinearSvc::default().fit(&x, &y).unwrap().names, x.names);
    let poisson = PoissonRegressor::default().fit(&x, &counts).unwrap();
    assert!(poisson.to_string().starts_with("Poisson regression: 2 of 3"), "{poisson}");
    let groups = vec![vec![0], vec![1, 2]];
    let group = GroupLasso { groups, group: 0.01, ..GroupLasso::default() };
    assert_eq!(group.fit(&x, &counts).unwrap().names, x.names);
    let softmax = SoftmaxRegression::default().fit(&x, &y).unwrap();
    let text = softmax.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(words(lines[1]), ["\"no\"", "\"yes\""]);
    assert_eq!((words(lines[3])[0].as_str(), words(lines[3]).len()), ("age", 3));
    assert!(softmax.predict(&other).is_err());
    let rest = OneVsRest::default().fit(&x, &y).unwrap();
    assert!(rest.to_string().lines().nth(3).unwrap().starts_with("age "), "{rest}");
    let cv =
        LogisticRegressionCv { folds: 2, l1_ratios: vec![1.0], ..LogisticRegressionCv::default() };
    assert_eq!(cv.fit(&x, &y).unwrap().model.names, x.names);

    // Without names, columns are x0, x1, ...
    let plain = Ridge::default().fit(&x.x, &counts).unwrap();
    assert!(plain.names.is_empty() && plain.to_string().contains("\nx1 "), "{plain}");
}

/// A label that is not a number is nobody's.
#[test]
fn a_nan_is_never_predicted_right() {
    let x = array![[0.0], [1.0], [3.0], [4.0]];
    let model = LogisticRegression::default().fit(&x, &[0.0, 0.0, 1.0, 1.0]).unwrap();
    assert_eq!(model.score(&x, &[0.0, 0.0, 1.0, 1.0]).unwrap(), 1.0);
    assert_eq!(model.score(&x, &[f64::NAN, 0.0, 1.0, f64::NAN]).unwrap(), 0.5);
}
