//! Estimators on real data, and their files.

use fenchel_datasets::embedded;
use fenchel_finite_sum::{ElasticNet, Lasso, LinearModel, LogisticModel, LogisticRegression};
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
    let fit = LogisticRegression::default();
    let (a, b) = (fit.fit(&x, data.y.view()).unwrap(), fit.fit(&x, renamed.view()).unwrap());
    assert_eq!(a.weights, b.weights);
    assert_eq!(b.classes, [3.0, 7.0]);
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
    assert!(matches!(LogisticModel::load(broken.as_bytes()), Err(ModelError::Content { .. })));
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
