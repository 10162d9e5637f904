//! Regularisation paths: every point is the optimum of its penalty, and a start at the point before saves passes of n oracle calls.

use crate::estimator::{corpus, instances};
use fenchel_crf::path::{PathSettings, path};
use fenchel_crf::{Crf, Error, Method, Problem, Status, Stop};
use fenchel_linalg::Invalid;

fn accurate(method: Method) -> Crf {
    Crf { method, stop: Stop::at_relative(1e-6), ..Crf::default() }
}

#[test]
fn every_point_is_the_optimum_of_a_cold_fit_for_fewer_passes() {
    let corpus = corpus(120);
    for (method, l1_ratio) in [(Method::Auto, 0.0), (Method::Auto, 0.3), (Method::Lbfgs, 0.3)] {
        let crf = accurate(method);
        let penalties = (0..10).map(|k| 0.3 * 1.6_f64.powi(-k)).collect();
        let settings = PathSettings { penalties, l1_ratio, crf: crf.clone() };
        let found = path(&corpus, &[], &settings).unwrap();
        assert!(found.best().is_none());
        let (mut warm_passes, mut cold_passes, mut last) = (0.0, 0.0, 0);
        for (k, point) in found.points.iter().enumerate() {
            let (l1, l2) = (l1_ratio * point.penalty, (1.0 - l1_ratio) * point.penalty);
            let cold = Crf { l1, l2: Some(l2), ..crf.clone() }.fit(&corpus).unwrap();
            let problem = Problem::new(&corpus.data, l2, crf.features).unwrap();
            let value = |model: &fenchel_crf::CrfModel| {
                problem.objective(model.weights()).unwrap() + l1 * model.weights().l1_norm()
            };
            let (warm_report, cold_report) = (point.model.report.unwrap(), cold.report.unwrap());
            assert_eq!(warm_report.status, Status::Converged, "{k}: {warm_report}");
            let gaps = warm_report.certificate.value().max(cold_report.certificate.value());
            let apart = value(&point.model) - value(&cold);
            assert!(apart.abs() <= gaps, "{k}: {apart:e} {gaps:e}");
            let objective = warm_report.certificate.objective().unwrap();
            assert!((objective - value(&point.model)).abs() <= 1e-10 * objective, "{k}");
            // A start from weights looks at every sequence once for its marginals and once for its objective.
            warm_passes += warm_report.passes + if k == 0 { 0.0 } else { 2.0 };
            cold_passes += cold_report.passes;
            let nonzero = point.model.nonzero_weights();
            assert!(l1_ratio == 0.0 || nonzero >= last, "{k}: {nonzero} {last}");
            last = nonzero;
        }
        assert!(warm_passes < cold_passes, "{method:?} {l1_ratio}: {warm_passes} {cold_passes}");
    }
}

#[test]
fn held_out_sequences_choose_the_penalty() {
    let corpus = corpus(60);
    let settings = PathSettings { crf: accurate(Method::Auto), ..PathSettings::default() };
    let held_out = instances(40, 12);
    let found = path(&corpus, &held_out, &settings).unwrap();
    let penalties: Vec<f64> = found.points.iter().map(|point| 60.0 * point.penalty).collect();
    assert_eq!(penalties.len(), 9);
    assert!((penalties[0] - 100.0).abs() < 1e-9 && (penalties[8] - 0.01).abs() < 1e-9);
    assert!(penalties.is_sorted_by(|a, b| a > b));
    for point in &found.points {
        assert_eq!(point.score, Some(point.model.score(&held_out).unwrap()));
    }
    let best = found.best().unwrap();
    let equal = |point: &&fenchel_crf::path::PathPoint| point.score >= best.score;
    assert_eq!(found.points.iter().find(equal).unwrap().penalty, best.penalty);
    // The smallest penalty fits the noise.
    assert!(best.score > found.points[8].score, "{found}");
    let table = found.to_string();
    assert_eq!(table.lines().count(), 10);
    assert!(table.contains(&format!("{:.4}", best.score.unwrap())), "{table}");
}

#[test]
fn bad_settings_are_refused_by_name() {
    let corpus = corpus(5);
    let refused =
        |settings: PathSettings, expected: &str| match path(&corpus, &[], &settings).unwrap_err() {
            Error::Invalid(Invalid::Parameter { name, .. }) => assert_eq!(name, expected),
            other => panic!("{other}"),
        };
    for l1_ratio in [1.0, -0.1, f64::NAN] {
        refused(PathSettings { l1_ratio, ..PathSettings::default() }, "l1_ratio");
    }
    for penalty in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let penalties = vec![1.0, penalty];
        refused(PathSettings { penalties, ..PathSettings::default() }, "penalties");
    }
}
