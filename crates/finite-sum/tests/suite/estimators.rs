//! Estimators on real data, and their files.

use fenchel_datasets::embedded;
use fenchel_finite_sum::prelude::Rows;
use fenchel_finite_sum::{
    ClassWeights, ElasticNet, Fit, Lasso, LinearModel, LinearSvc, LogisticModel,
    LogisticRegression, OneVsRest, Ridge, SoftmaxRegression, Standardiser, SvcLoss, SvcModel,
    estimators::penalty_of_c,
};
use fenchel_linalg::CsrMatrix;
use fenchel_metrics::accuracy;
use fenchel_optim::model::{ModelError, Saved};
use fenchel_optim::{Certificate, Status, Stop};
use ndarray::{Array1, Array2, Axis, array};

/// z-scores: mean 0, standard deviation 1.
fn standardise(x: &Array2<f64>) -> Array2<f64> {
    let mean = x.mean_axis(Axis(0)).unwrap();
    let deviation = x.std_axis(Axis(0), 0.0);
    (x - &mean) / &deviation
}

#[test]
fn defaults_give_a_certified_accurate_model() {
    let data = embedded::breast_cancer();
    let x = standardise(&data.x);
    let model = LogisticRegression::default().fit(&x, data.y.view()).unwrap();
    assert_eq!(model.report.status, Status::Converged, "{}", model.report);
    assert!(model.report.certificate.relative() <= 1e-4);
    let predicted = model.predict(&x).unwrap();
    let accuracy = accuracy(data.y.as_slice().unwrap(), predicted.as_slice().unwrap()).unwrap();
    // scikit-learn's LogisticRegression() classifies 98.8% of these rows correctly.
    assert!(accuracy > 0.98, "{accuracy}");
    let p = model.predict_proba(&x).unwrap();
    assert!(p.iter().zip(&predicted).all(|(&p, &y)| (p > 0.5) == (y == model.classes[1])));
}

/// Labels of any two values: renaming them renames the predictions and nothing else.
#[test]
fn labels_are_names() {
    let data = embedded::breast_cancer();
    let x = standardise(&data.x);
    let renamed = data.y.mapv(|y| if y > 0.0 { 7.0 } else { 3.0 });
    let words: Vec<String> =
        data.y.iter().map(|&y| if y > 0.0 { "benign" } else { "Malignant" }.into()).collect();
    let fit = LogisticRegression::default();
    let (a, b) = (fit.fit(&x, data.y.view()).unwrap(), fit.fit(&x, &renamed).unwrap());
    let c = fit.fit(&x, &words).unwrap();
    assert_eq!((&a.weights, &a.weights), (&b.weights, &c.weights));
    assert_eq!((b.classes, &c.classes), ([3.0, 7.0], &["Malignant".into(), "benign".into()]));
    let (numbers, names) = (a.predict(&x).unwrap(), c.predict(&x).unwrap());
    assert!(numbers.iter().zip(&names).all(|(y, name)| (*y > 0.0) == (name == "benign")));
    let mut file = vec![];
    c.save(&mut file).unwrap();
    assert_eq!(LogisticModel::<String>::load(&file[..]).unwrap(), c);
}

#[test]
fn labels_that_cannot_be_used_are_named() {
    let x = array![[0.0], [1.0], [2.0]];
    let fit = LogisticRegression::default();
    let text = fit.fit(&x, &["a", "b", "c"]).unwrap_err().to_string();
    assert!(text.contains("label of row 2 is \"c\"; expected two distinct labels"), "{text}");
    let text = LinearSvc::default().fit(&x, &[4, 4, 4]).unwrap_err().to_string();
    assert!(text.contains("label of row 0 is 4; expected two distinct labels"), "{text}");
    let text = fit.fit(&x, &[0.0, f64::NAN, 1.0]).unwrap_err().to_string();
    assert!(text.contains("label of row 1 is NaN"), "{text}");
    let text = fit.fit(&x, &[true, false]).unwrap_err().to_string();
    assert!(text.contains("labels: expected length 3, found 2"), "{text}");
    let model = fit.fit(&x, &[true, false, true]).unwrap();
    let text = model.predict(&array![[1.0, 2.0]]).unwrap_err().to_string();
    assert!(text.contains("columns of the design matrix: expected length 1, found 2"), "{text}");
}

/// One row and its mirror image, without intercept: `min_w max(0, 1 - w) + l2 w^2 / 2` is at `min(1, 1/l2)`, and
/// with the squared hinge at `1 / (1 + l2)`.
#[test]
fn support_vector_machines_have_their_closed_forms() {
    let x = array![[1.0], [-1.0]];
    for l2 in [0.5, 2.0, 8.0] {
        let stop = Stop { absolute: 0.0, relative: 1e-12, ..Stop::default() };
        let svc = LinearSvc { l2: Some(l2), intercept: false, stop, ..LinearSvc::default() };
        let hinge = LinearSvc { loss: SvcLoss::Hinge, ..svc.clone() }.fit(&x, &[1, 0]).unwrap();
        let squared = svc.fit(&x, &[1, 0]).unwrap();
        assert!((hinge.weights[0] - 1f64.min(1.0 / l2)).abs() < 1e-6, "{}", hinge.report);
        assert!((squared.weights[0] - 1.0 / (1.0 + l2)).abs() < 1e-6, "{}", squared.report);
    }
}

#[test]
fn support_vector_machines_meet_their_certificates_on_real_data() {
    let data = embedded::breast_cancer();
    let scale = Standardiser::fit(&data.x).unwrap();
    let x = scale.transform(&data.x).unwrap();
    for loss in [SvcLoss::Hinge, SvcLoss::SquaredHinge] {
        let svc = LinearSvc { loss, l2: Some(penalty_of_c(0.1, 569)), ..LinearSvc::default() };
        let model = svc.fit(&x, &data.y).unwrap();
        assert_eq!(model.report.status, Status::Converged, "{loss:?}: {}", model.report);
        let predicted = model.predict(&x).unwrap();
        let share = accuracy(data.y.as_slice().unwrap(), predicted.as_slice().unwrap()).unwrap();
        // scikit-learn's LinearSVC(C=0.1) classifies 98.8% of these rows correctly.
        assert!(share > 0.975, "{loss:?}: {share}");
        let mut file = vec![];
        model.save(&mut file).unwrap();
        assert_eq!(SvcModel::load(&file[..]).unwrap(), model);
        // The same predictions from the raw features.
        let raw = model.clone().for_raw_features(&scale).unwrap();
        let (a, b) =
            (model.decision_function(&x).unwrap(), raw.decision_function(&data.x).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())));
    }
}

/// Several classes: scores of the standardised features, and of the raw ones once the scale is folded in.
#[test]
fn classifiers_of_several_classes_take_raw_features() {
    let data = embedded::wine();
    let scale = Standardiser::fit(&data.x).unwrap();
    let x = scale.transform(&data.x).unwrap();
    let y: Vec<String> = data.y.iter().map(ToString::to_string).collect();
    let same = |scaled: Array2<f64>, raw: Array2<f64>| {
        assert!(scaled.iter().zip(&raw).all(|(a, b)| (a - b).abs() <= 1e-10 * (1.0 + a.abs())));
    };
    let model = SoftmaxRegression::default().fit(&x, &y).unwrap();
    let raw = model.clone().for_raw_features(&scale).unwrap();
    same(model.decision_function(&x).unwrap(), raw.decision_function(&data.x).unwrap());
    let narrow = Standardiser::fit(&Array2::<f64>::eye(12)).unwrap();
    assert!(model.for_raw_features(&narrow).unwrap_err().to_string().contains("12"));
    let model = OneVsRest::default().fit(&x, &y).unwrap();
    let raw = model.clone().for_raw_features(&scale).unwrap();
    same(model.decision_function(&x).unwrap(), raw.decision_function(&data.x).unwrap());
    assert!(model.for_raw_features(&narrow).is_err());
}

/// The normal equations of centred data: `(X'X / n + l2 I) w = X'y / n`.
#[test]
fn ridge_solves_its_normal_equations() {
    let data = embedded::wine_alcohol();
    let x = standardise(&data.x);
    let stop = Stop { absolute: 0.0, relative: 1e-13, ..Stop::default() };
    for l2 in [None, Some(0.3), Some(20.0)] {
        let model = Ridge { l2, stop, ..Ridge::default() }.fit(&x, &data.y).unwrap();
        let residual = &data.y - &model.predict(&x).unwrap();
        let n = x.nrows() as f64;
        let gradient = x.t().dot(&residual) / n - l2.unwrap_or(1.0 / n) * &model.weights;
        assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient}");
        assert!((residual.sum() / n).abs() < 1e-6);
    }
}

/// A feature that never varies is centred only, and sparse zeros count.
#[test]
fn standardised_features_have_mean_0_and_deviation_1() {
    let x = array![[1.0, 0.0, 1e8 + 1.0], [1.0, 2.0, 1e8], [1.0, 0.0, 1e8 + 2.0]];
    let sparse = CsrMatrix::<f64>::try_new(
        (3, 3),
        vec![0, 2, 5, 7],
        vec![0, 2, 0, 1, 2, 0, 2],
        vec![1.0, 1e8 + 1.0, 1.0, 2.0, 1e8, 1.0, 1e8 + 2.0],
    )
    .unwrap();
    for scale in [Standardiser::fit(&x).unwrap(), Standardiser::fit(&sparse).unwrap()] {
        let y = scale.transform(&sparse).unwrap();
        assert_eq!(y.column(0), array![0.0, 0.0, 0.0]);
        for c in 1..3 {
            assert!(y.column(c).sum().abs() < 1e-7, "{y}");
            assert!((y.column(c).mapv(|a| a * a).sum() - 3.0).abs() < 1e-7, "{y}");
        }
        let text = scale.transform(&array![[1.0]]).unwrap_err().to_string();
        assert!(text.contains("features: expected length 3, found 1"), "{text}");
    }
}

/// Minimum of `(1/2n) ||y - Xw - b||^2 + l1 ||w||_1` for orthogonal columns: soft-thresholding.
#[test]
fn lasso_on_orthogonal_columns_is_soft_thresholding() {
    let x = array![[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    let y = array![3.0 + 0.5 + 10.0, 3.0 - 0.5 + 10.0, -3.0 + 0.5 + 10.0, -3.0 - 0.5 + 10.0];
    let stop = Stop::at_relative(1e-12);
    let model = Lasso { l1: 0.7, stop, ..Lasso::default() }.fit(&x, y.view()).unwrap();
    assert!((model.weights[0] - 2.3).abs() < 1e-5, "{:?}", model.weights);
    assert_eq!(model.weights[1], 0.0);
    assert!((model.intercept - 10.0).abs() < 1e-5, "{}", model.intercept);
    let net = ElasticNet { l1: 0.7, l2: 0.5, stop, intercept: true, seed: 0 };
    let model = net.fit(&x, y.view()).unwrap();
    assert!((model.weights[0] - 2.3 / 1.5).abs() < 1e-5, "{:?}", model.weights);
}

#[test]
fn lasso_on_real_data_meets_its_certificate() {
    let data = embedded::wine_alcohol();
    let x = standardise(&data.x);
    for l1 in [0.3, 0.05, 0.005] {
        let model = Lasso { l1, ..Lasso::default() }.fit(&x, data.y.view()).unwrap();
        assert_eq!(model.report.status, Status::Converged, "l1 {l1}: {}", model.report);
        // Stationarity, independent of the certificate: |a_c.(y - Xw - b)| / n <= l1.
        let residual = &data.y - &model.predict(&x).unwrap();
        let correlations = x.t().dot(&residual) / x.nrows() as f64;
        for (c, g) in correlations.iter().enumerate() {
            assert!(g.abs() <= l1 * 1.1 + 1e-3, "feature {c}: {g}");
        }
    }
}

#[test]
fn unregularised_fits_end_with_a_residual() {
    let x = array![[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 3.0]];
    let y = array![1.0, 3.0, 4.5, 8.0];
    let stop = Stop { absolute: 1e-10, relative: 0.0, ..Stop::default() };
    let net = ElasticNet { l1: 0.0, l2: 0.0, stop, ..ElasticNet::default() };
    let model = net.fit(&x, y.view()).unwrap();
    assert_eq!(model.report.status, Status::Converged, "{}", model.report);
    assert!(matches!(model.report.certificate, Certificate::Residual { .. }), "{}", model.report);
    let residual: Array1<f64> = &y - &model.predict(&x).unwrap();
    // Normal equations.
    assert!(x.t().dot(&residual).iter().all(|g| g.abs() < 1e-8));
    assert!(residual.sum().abs() < 1e-8);
}

#[test]
fn sparse_and_dense_data_give_the_same_model() {
    let data = embedded::breast_cancer();
    let x = standardise(&data.x);
    let sparse = CsrMatrix::<f64>::try_new(
        x.dim(),
        (0..=x.nrows()).map(|i| i * x.ncols()).collect(),
        (0..x.len()).map(|k| (k % x.ncols()) as u32).collect(),
        x.iter().copied().collect(),
    )
    .unwrap();
    let fit = LogisticRegression { stop: Stop::at_relative(1e-8), ..Default::default() };
    let (a, b) = (fit.fit(&x, data.y.view()).unwrap(), fit.fit(&sparse, data.y.view()).unwrap());
    for (a, b) in a.weights.iter().zip(&b.weights) {
        assert!((a - b).abs() < 1e-3 * (1.0 + a.abs()));
    }
}

#[test]
fn models_come_back_from_their_files() {
    let data = embedded::breast_cancer();
    let x = standardise(&data.x);
    let model = LogisticRegression::default().fit(&x, data.y.view()).unwrap();
    let mut file = vec![];
    model.save(&mut file).unwrap();
    let loaded = LogisticModel::load(&file[..]).unwrap();
    assert_eq!(loaded, model);
    assert!(matches!(LinearModel::load(&file[..]), Err(ModelError::Kind { .. })));
    let text = String::from_utf8(file).unwrap();
    let broken = text.replace("\"classes\":[-1.0,1.0]", "\"classes\":[1.0,1.0]");
    assert_ne!(text, broken);
    assert!(matches!(
        LogisticModel::<f64>::load(broken.as_bytes()),
        Err(ModelError::Checksum { .. })
    ));
    let json: serde_json::Value = serde_json::from_str(&broken).unwrap();
    let (kind, version) = (LogisticModel::<f64>::KIND, LogisticModel::<f64>::VERSION);
    let signed = fenchel_optim::model::envelope(kind, version, &json["model"].to_string());
    assert!(matches!(
        LogisticModel::<f64>::load(signed.as_bytes()),
        Err(ModelError::Content { .. })
    ));
}

/// Asking for l1 gives the l1 penalty alone, as in scikit-learn.
#[test]
fn l1_alone_means_no_l2() {
    let data = embedded::breast_cancer();
    let x = standardise(&data.x);
    let plain = LogisticRegression { l1: 0.05, ..Default::default() };
    let explicit = LogisticRegression { l1: 0.05, l2: Some(0.0), ..Default::default() };
    let (a, b) = (plain.fit(&x, data.y.view()).unwrap(), explicit.fit(&x, data.y.view()).unwrap());
    assert_eq!(a.weights, b.weights);
}

/// A weight of 2 is the row twice, a weight of 0 is no row.
#[test]
fn weights_are_copies() {
    let data = embedded::breast_cancer();
    let x = standardise(&data.x);
    let weights: Vec<f64> = (0..569).map(|i| f64::from(i % 3)).collect();
    let copies: Vec<usize> = (0..569usize).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    let (many, signs) = (x.select(Axis(0), &copies), data.y.select(Axis(0), &copies));
    let stop = Stop { absolute: 0.0, relative: 1e-10, ..Stop::default() };
    let close = |a: &Array1<f64>, b: &Array1<f64>| {
        let size = a.iter().fold(1.0, |m: f64, a| m.max(a.abs()));
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3 * size), "{a} {b}");
    };
    for l1 in [0.0, 0.02] {
        let fit = LogisticRegression { l2: Some(0.01), l1, stop, ..Default::default() };
        let weighted = fit.fit_with(&x, &data.y, Fit::new().weights(&weights)).unwrap();
        close(&weighted.weights, &fit.fit(&many, &signs).unwrap().weights);
        let net = ElasticNet { l1, l2: 0.1, stop, ..ElasticNet::default() };
        let weighted = net.fit_with(&x, &data.y, Fit::new().weights(&weights)).unwrap();
        close(&weighted.weights, &net.fit(&many, &signs).unwrap().weights);
    }
    for loss in [SvcLoss::Hinge, SvcLoss::SquaredHinge] {
        let stop = Stop { absolute: 0.0, relative: 1e-7, max_passes: 1e4, ..Stop::default() };
        let svc = LinearSvc { loss, l2: Some(0.05), stop, ..LinearSvc::default() };
        let weighted = svc.fit_with(&x, &data.y, Fit::new().weights(&weights)).unwrap();
        close(&weighted.weights, &svc.fit(&many, &signs).unwrap().weights);
    }
    let refused =
        Ridge::default().fit_with(&x, &data.y, Fit::new().weights(&weights[1..])).unwrap_err();
    assert!(refused.to_string().contains("sample weights: expected length 569, found 568"));
}

/// Fitted on some rows of a matrix, sparse or dense, without a copy of them; scored on the others.
#[test]
fn rows_of_a_matrix_are_a_matrix_and_scores_are_accuracy_and_r2() {
    let data = embedded::digits();
    let sparse = CsrMatrix::csr_from_dense(data.x.view(), 0.0);
    let (train, test) = fenchel_metrics::train_test_split(data.y.len(), 0.25, 3).unwrap();
    let pick = |rows: &[usize]| rows.iter().map(|&i| data.y[i]).collect::<Vec<_>>();
    let (y, truth) = (pick(&train), pick(&test));
    let fit = SoftmaxRegression { l2: Some(0.1), ..SoftmaxRegression::default() };
    let model = fit.fit(&Rows::new(&sparse, &train), &y).unwrap();
    let copied = fit.fit(&data.x.select(Axis(0), &train), &y).unwrap();
    assert!((&model.weights - &copied.weights).iter().all(|e| e.abs() < 1e-2));
    let new = data.x.select(Axis(0), &test);
    let right = accuracy(&truth, &model.predict(&new).unwrap().to_vec()).unwrap();
    assert_eq!(model.score(&Rows::new(&data.x, &test), &truth).unwrap(), right);
    // scikit-learn's LogisticRegression() is right on 96 to 97% of such a quarter.
    assert!(right > 0.93, "{right}");
    let short = model.score(&new, &truth[1..]).unwrap_err().to_string();
    assert!(short.contains("labels: expected length 449, found 448"), "{short}");
    let model = OneVsRest::default().fit(&Rows::new(&data.x, &train), &y).unwrap();
    assert!(model.score(&new, &truth).unwrap() > 0.93);
    let beyond = fit.fit(&Rows::new(&data.x, &[0, 9999]), &[1, 2]).unwrap_err().to_string();
    assert_eq!(beyond, "rows: there is no row 9999 of 1797");

    // 1 - (1 + 0) / 2 for targets 0 and 2 predicted as 1 and 2.
    let x = array![[1.0], [2.0]];
    let model = Ridge { l2: Some(0.0), intercept: false, ..Ridge::default() }.fit(&x, &[1.0, 2.0]);
    let model = model.unwrap();
    assert!((model.score(&x, &[0.0, 2.0]).unwrap() - 0.5).abs() < 1e-3);
    assert!(model.score(&x, &[2.0, 2.0]).unwrap_err().to_string().contains("targets"));
    assert!(model.score(&x, &[2.0]).is_err());
}

#[test]
fn balanced_weights_sum_to_the_same_for_every_class() {
    let labels = [3, 1, 1, 1, 2, 2];
    let weights = ClassWeights::Balanced.weights(&labels).unwrap();
    for class in 1..=3 {
        let total: f64 =
            labels.iter().zip(&weights).filter(|(l, _)| **l == class).map(|(_, w)| w).sum();
        assert!((total - 2.0).abs() < 1e-12);
    }
}

/// A file that another type wrote is named, with the type that loads it.
#[test]
fn the_type_that_loads_a_file_is_named() {
    let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0]];
    let text = |y: &[&str]| y.iter().map(|y| (*y).to_owned()).collect::<Vec<String>>();
    let mut file = vec![];
    let labels = text(&["no", "no", "yes", "yes"]);
    LogisticRegression::default().fit(&x, &labels).unwrap().save(&mut file).unwrap();
    assert!(LogisticModel::<String>::load(&file[..]).is_ok());
    let error = LogisticModel::<f64>::load(&file[..]).unwrap_err().to_string();
    let expected = "the logistic regression in the file, which LogisticModel<String> loads, does not have the form of \
                    LogisticModel: invalid type: string \"no\", expected f64";
    assert!(error.starts_with(expected), "{error}");
    let mut file = vec![];
    let labels = text(&["a", "b", "c", "c"]);
    SoftmaxRegression::default().fit(&x, &labels).unwrap().save(&mut file).unwrap();
    let error = LogisticModel::<String>::load(&file[..]).unwrap_err().to_string();
    let expected = "the file holds a softmax regression, which SoftmaxModel<String> loads; expected a logistic regression";
    assert_eq!(error, expected);
    let error = LogisticRegression::default().fit(&x, &labels).unwrap_err().to_string();
    assert!(error.contains("this is a third") && error.contains("SoftmaxRegression"), "{error}");
}
