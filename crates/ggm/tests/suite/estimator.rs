//! The estimator, the model, and the statistics they start from.

use std::ops::ControlFlow;

use fenchel_ggm::synthetic::{chain, diagonally_dominant};
use fenchel_ggm::{Error, Fit, GaussianModel, GraphicalLasso, PenaltyWeights, Scale, Statistics};
use fenchel_linalg::Invalid;
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use fenchel_optim::{Refusal, Status};
use ndarray::{Array2, Axis, array};

use crate::common::{data, inverse};

fn sample() -> Array2<f64> {
    data(diagonally_dominant(6, &chain(6), -0.4).view(), 200, 5)
}

#[test]
fn statistics_are_those_of_the_definition() {
    let x = sample();
    let found = Statistics::from_data(&x).unwrap();
    let mean = x.mean_axis(Axis(0)).unwrap();
    let centred = &x - &mean;
    let expected = centred.t().dot(&centred) / 200.0;
    assert!((&found.covariance - &expected).iter().all(|d| d.abs() < 1e-12));
    assert!((&found.mean - &mean).iter().all(|d| d.abs() < 1e-12));
    assert_eq!(found.covariance, found.covariance.t());
    let twice = Statistics::from_weighted(&x, &vec![2.5; 200]).unwrap();
    assert!((&twice.covariance - &expected).iter().all(|d| d.abs() < 1e-12));
    // A weight of 2 is the row twice.
    let mut weights = vec![1.0; 200];
    weights[0] = 2.0;
    let rows: Vec<usize> = std::iter::once(0).chain(0..200).collect();
    let repeated = Statistics::from_data(&x.select(Axis(0), &rows)).unwrap();
    let weighted = Statistics::from_weighted(&x, &weights).unwrap();
    assert!((&repeated.covariance - &weighted.covariance).iter().all(|d| d.abs() < 1e-12));
    let (correlation, scale) = found.correlation();
    assert!(correlation.diag().iter().all(|&d| d == 1.0));
    assert!((scale[0] * scale[0] - found.covariance[[0, 0]]).abs() < 1e-12);
}

#[test]
fn bad_data_are_refused() {
    let text = |x: &Array2<f64>| Statistics::from_data(x).unwrap_err().to_string();
    assert!(text(&Array2::zeros((0, 3))).contains("empty"));
    assert!(text(&Array2::zeros((1, 3))).contains("samples = 1"));
    assert!(text(&array![[1.0], [f64::NAN]]).contains("row 1"));
    let text = |c: Array2<f64>| Statistics::from_covariance(c.view(), 10).unwrap_err().to_string();
    assert!(text(array![[1.0, 2.0], [2.0, 1.0]]).contains("eigenvalue -1"));
    assert!(text(array![[1.0, 2.0], [0.0, 1.0]]).contains("(1, 0)"));
    assert!(text(array![[-1.0]]).contains("variance 0"));
    assert!(Statistics::from_covariance(array![[1.0, 1.0], [1.0, 1.0]].view(), 10).is_ok());
    let x = array![[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]];
    for scale in [Scale::Covariance, Scale::Correlation] {
        let error = GraphicalLasso { scale, ..GraphicalLasso::default() }.fit(&x).unwrap_err();
        assert_eq!(error, Error::ZeroVariance { columns: vec![1] });
    }
    // A penalty on the diagonal makes it a problem with a solution.
    let penalised = GraphicalLasso {
        scale: Scale::Covariance,
        l1: PenaltyWeights::WithDiagonal(0.1),
        ..GraphicalLasso::default()
    };
    assert!((penalised.fit(&x).unwrap().precision[[1, 1]] - 10.0).abs() < 1e-9);
    let tight = GraphicalLasso { max_memory: Some(8), ..GraphicalLasso::default() };
    assert!(matches!(tight.fit(&x), Err(Error::Refused(Refusal::MemoryLimit { .. }))));
}

#[test]
fn on_the_correlation_scale_units_do_not_matter() {
    let x = sample();
    let mut other = x.clone();
    other.column_mut(2).mapv_inplace(|v| 1000.0 * v + 3.0);
    let lasso = GraphicalLasso { l1: 0.1.into(), ..GraphicalLasso::default() };
    let (a, b) = (lasso.fit(&x).unwrap(), lasso.fit(&other).unwrap());
    let (pa, pb) = (a.partial_correlations(), b.partial_correlations());
    assert!((&pa - &pb).iter().all(|d| d.abs() < 1e-6));
    assert_eq!(a.graph(), b.graph());
    let product = b.precision.dot(&b.covariance);
    assert!((&product - &Array2::<f64>::eye(6)).iter().all(|d| d.abs() < 1e-6));
}

#[test]
fn a_model_scores_samples_conditions_and_comes_back() {
    let x = sample();
    let lasso = GraphicalLasso { l1: 0.02.into(), ..GraphicalLasso::default() };
    let model = lasso.fit(&x).unwrap();
    let densities = model.log_density(&x).unwrap();
    let (_, log_det) = inverse(&model.precision).unwrap();
    let d = &x.row(3) - &model.mean;
    let expected =
        0.5 * (log_det - 6.0 * std::f64::consts::TAU.ln() - d.dot(&model.precision.dot(&d)));
    assert!((densities[3] - expected).abs() < 1e-10);
    assert!((model.score(&x).unwrap() - densities.mean().unwrap()).abs() < 1e-12);

    // Conditioning through the covariance: mu_U + S_UK S_KK^-1 (x_K - mu_K).
    let found = model.condition(&[(1, 0.7), (4, -0.2)]).unwrap();
    assert_eq!(found.variables, [0, 2, 3, 5]);
    let s = &model.covariance;
    let (kk, _) = inverse(&array![[s[[1, 1]], s[[1, 4]]], [s[[4, 1]], s[[4, 4]]]]).unwrap();
    let pull = kk.dot(&array![0.7 - model.mean[1], -0.2 - model.mean[4]]);
    for (at, &i) in found.variables.iter().enumerate() {
        let mean = model.mean[i] + s[[i, 1]] * pull[0] + s[[i, 4]] * pull[1];
        assert!((found.mean[at] - mean).abs() < 1e-10);
    }
    assert!(
        model.condition(&[(9, 0.0)]).is_err() && model.condition(&[(1, 0.0), (1, 0.0)]).is_err()
    );
    assert!(model.condition(&[(0, f64::NAN)]).is_err());
    let all: Vec<(usize, f64)> = (0..6).map(|i| (i, 0.0)).collect();
    assert!(model.condition(&all).unwrap().variables.is_empty());

    let drawn = model.sample(20_000, &mut stream(1, 0)).unwrap();
    let again = Statistics::from_data(&drawn).unwrap();
    assert!((&again.covariance - &model.covariance).iter().all(|d| d.abs() < 0.15));

    let mut file = Vec::new();
    model.save(&mut file).unwrap();
    assert_eq!(GaussianModel::load(&file[..]).unwrap(), model);
    let mut broken = model.clone();
    broken.precision[[0, 0]] = -1.0;
    assert!(broken.save(&mut file).is_err());
    assert!(matches!(
        model.score(&Array2::<f64>::zeros((3, 2))),
        Err(Error::Invalid(Invalid::Length { .. }))
    ));
    let edges = model.edges();
    assert!(edges.is_sorted_by(|a, b| a.2.abs() >= b.2.abs()) && edges[0].2 > 0.2);
}

#[test]
fn fits_can_be_watched_stopped_and_started_again() {
    let x = sample();
    let lasso = GraphicalLasso { l1: 0.05.into(), ..GraphicalLasso::default() };
    let mut looks = 0;
    let stopped = lasso
        .fit_with(
            &x,
            Fit::new().watch(&mut |_| {
                looks += 1;
                if looks == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }),
        )
        .unwrap();
    assert_eq!((stopped.report.status, looks), (Status::Stopped, 2));
    let model = lasso.fit(&x).unwrap();
    let statistics = Statistics::from_data(&x).unwrap();
    let again = lasso.fit_with(&statistics, Fit::new().start(&model)).unwrap();
    assert_eq!(again.report.passes, 0.0);
    let weighted = lasso.fit_with(&x, Fit::new().weights(&vec![1.0; 200])).unwrap();
    assert!((&weighted.precision - &model.precision).iter().all(|d| d.abs() < 1e-3));
}
