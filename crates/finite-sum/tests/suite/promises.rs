//! What a user relies on: exact zeros, refusals that say why, a status that is true, warm starts of estimators.

use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::prox::{GroupLasso, Groups, L1, Zero};
use fenchel_finite_sum::{
    ElasticNet, KatyushaSettings, Lasso, LinearSvc, LogisticRegression, MulticlassProblem,
    OneVsRest, Problem, Ridge, SoftmaxRegression, Status, Stop, SvcLoss, auto, katyusha,
    multiclass,
};
use fenchel_linalg::{AsDesign, Csr, Dense, Invalid};
use ndarray::{Array2, array};

use crate::common::data;

#[test]
fn offsets_beyond_the_entries_are_refused() {
    let error = Csr::from_parts(&[0, 3, 2], &[0, 1], &[1.0, 1.0], 3).unwrap_err();
    assert!(matches!(error, Invalid::Layout { what: "design matrix", .. }), "{error}");
}

/// The zeros of the optimum are zeros of the point, and the certificate is that of the point.
#[test]
fn katyusha_returns_exact_zeros() {
    let data = data(200, 30, 1.0, 5);
    let design = Dense::new(data.dense.view()).unwrap();
    let stop = Stop::at_relative(1e-8);
    let settings = KatyushaSettings { stop, ..Default::default() };
    let l1 = L1 { strength: 0.02 };
    let problem = Problem::new(design, &data.signs, Logistic, l1, 1e-3).unwrap().with_intercept();
    let solution = katyusha(&problem, &settings, None, &mut ()).unwrap();
    let best = auto(&problem, &auto_settings(1e-12), None, &mut ()).unwrap().state.point;
    assert!(best.support() < 25);
    assert_eq!(solution.state.point.support(), best.support());
    let report = solution.report;
    assert_eq!(report.status, Status::Converged);
    let objective = problem.objective(&solution.state.point).unwrap();
    assert!((report.certificate.objective().unwrap() - objective).abs() <= 1e-15);
    assert!(report.certificate.relative() <= 1e-8);
    // A start at the optimum costs nothing, and stays.
    let again = katyusha(&problem, &settings, Some(solution.state.clone()), &mut ()).unwrap();
    assert_eq!(again.report.passes, 0.0);
    assert_eq!(again.state.point.weights, solution.state.point.weights);

    let groups: Vec<Vec<usize>> = (0..10).map(|g| (3 * g..3 * g + 3).collect()).collect();
    let groups = Groups::new(30, &groups).unwrap();
    let lasso = GroupLasso { groups, strength: 0.02 };
    let problem = Problem::new(design, &data.signs, Logistic, lasso, 1e-3).unwrap();
    let point = katyusha(&problem, &settings, None, &mut ()).unwrap().state.point;
    let empty = point.weights.chunks(3).filter(|group| group.iter().all(|w| *w == 0.0)).count();
    let best = auto(&problem, &auto_settings(1e-12), None, &mut ()).unwrap().state.point;
    let right = best.weights.chunks(3).filter(|group| group.iter().all(|w| *w == 0.0)).count();
    assert!(right > 2);
    assert_eq!(empty, right);
}

fn auto_settings(relative: f64) -> fenchel_finite_sum::AutoSettings {
    let stop = Stop { absolute: 0.0, ..Stop::at_relative(relative) };
    fenchel_finite_sum::AutoSettings { stop, ..Default::default() }
}

#[test]
fn weights_that_leave_one_class_are_refused() {
    let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0]];
    let (y, weights) = (["no", "yes", "no", "yes"], [1.0, 0.0, 1.0, 0.0]);
    let svc = |loss| LinearSvc { loss, ..LinearSvc::default() };
    let errors = [
        LogisticRegression::default().fit_weighted(&x, &y, &weights).unwrap_err(),
        svc(SvcLoss::Hinge).fit_weighted(&x, &y, &weights).unwrap_err(),
        svc(SvcLoss::SquaredHinge).fit_weighted(&x, &y, &weights).unwrap_err(),
        OneVsRest::default().fit_weighted(&x, &y, &weights).unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("rows of weight above 0 have this one"), "{text}");
    }
    assert!(LogisticRegression::default().fit_weighted(&x, &y, &[1.0, 0.0, 1.0, 1e-3]).is_ok());
}

#[test]
fn targets_of_regressions_are_called_targets() {
    let x = array![[1.0], [2.0]];
    let text = Ridge::default().fit(&x, &[1.0, f64::NAN]).unwrap_err().to_string();
    assert!(text.starts_with("target of row 1 is NaN"), "{text}");
    let text = Problem::new(x.as_design().unwrap(), &[1.0, 0.0], Logistic, Zero, 0.0);
    let text = text.unwrap_err().to_string();
    assert!(text.starts_with("label of row 1 is 0"), "{text}");
}

/// On one side of a hyperplane the infimum is 0 and no weights attain it; one row on the wrong side, or any penalty, and the
/// optimum exists.
#[test]
fn separable_data_without_a_penalty_have_no_minimiser() {
    let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0], [3.5, -1.0]];
    let y = [-1.0, -1.0, 1.0, 1.0, 1.0];
    let free = LogisticRegression { l2: Some(0.0), ..LogisticRegression::default() };
    let report = free.fit(&x, &y).unwrap().report;
    assert_eq!(report.status, Status::NoMinimiser, "{report}");
    assert!(report.to_string().starts_with("no minimiser exists"), "{report}");
    let model = OneVsRest { binary: free.clone() }.fit(&x, &y).unwrap();
    assert!(model.models.iter().all(|model| model.report.status == Status::NoMinimiser));
    let softmax = SoftmaxRegression { l2: Some(0.0), ..SoftmaxRegression::default() };
    let report = softmax.fit(&x, &[0, 0, 1, 2, 1]).unwrap().report;
    assert_eq!(report.status, Status::NoMinimiser, "{report}");
    let labels = [0, 0, 1, 2, 1];
    let problem = MulticlassProblem::new(x.as_design().unwrap(), &labels, 3, Zero, 0.1).unwrap();
    let solution = multiclass::auto(&problem, &auto_settings(1e-6), None, &mut ()).unwrap();
    assert_eq!(solution.report.status, Status::Converged);

    for penalised in [
        LogisticRegression { l2: Some(1e-3), ..free.clone() },
        LogisticRegression { l1: 1e-3, ..free.clone() },
    ] {
        let report = penalised.fit(&x, &y).unwrap().report;
        assert_eq!(report.status, Status::Converged, "{report}");
    }
    // A row of weight 0 separates nothing.
    let x = array![[0.0], [1.0], [2.0], [3.0]];
    let y = [-1.0, 1.0, -1.0, 1.0];
    let report = free.fit(&x, &y).unwrap().report;
    assert_eq!(report.status, Status::Converged, "{report}");
    let report = free.fit_weighted(&x, &y, &[1.0, 0.0, 1.0, 1.0]).unwrap().report;
    assert_eq!(report.status, Status::NoMinimiser, "{report}");
    // The squared loss attains its infimum.
    let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
    let solution = auto(&problem, &auto_settings(1e-6), None, &mut ()).unwrap();
    assert_ne!(solution.report.status, Status::NoMinimiser);
}

/// Every estimator goes on from its own model: no pass at the optimum, never worse, and not from other features or classes.
#[test]
fn every_estimator_fits_from_a_model() {
    let data = data(80, 6, 1.0, 3);
    let (x, y) = (&data.dense, &data.signs);
    let stop = Stop::at_relative(1e-6);
    let wide = Array2::from_shape_fn((80, 7), |(i, j)| ((i * 7 + j * 3) as f64).sin());
    let classes: Vec<&str> = (0..80).map(|i| ["a", "b", "c"][i * i % 3 % 3 * (i % 2)]).collect();
    let others: Vec<&str> = classes.iter().map(|c| if *c == "a" { "z" } else { c }).collect();
    macro_rules! check {
        ($fit:expr, $y:expr, $other:expr, $report:expr) => {
            let fit = $fit;
            let cold = fit.fit(x, $y).unwrap();
            let warm = fit.fit_from(x, $y, cold.clone()).unwrap();
            let (before, after) = ($report(&cold), $report(&warm));
            assert_eq!(after.passes, 0.0, "{after}");
            let (before, after) = (before.certificate.objective(), after.certificate.objective());
            assert!(after.unwrap() <= before.unwrap() * (1.0 + 1e-12));
            let text = fit.fit_from(&wide, $y, cold.clone()).unwrap_err().to_string();
            assert!(text.contains("weights"), "{text}");
            if let Some(other) = $other {
                let text = fit.fit_from(x, other, cold).unwrap_err().to_string();
                assert!(text.contains("start: its classes are"), "{text}");
            }
        };
    }
    let flipped: Vec<f64> = y.iter().map(|y| 2.0 * y).collect();
    check!(
        Ridge { l2: Some(0.1), stop, ..Default::default() },
        y,
        None::<&Vec<f64>>,
        |m: &fenchel_finite_sum::LinearModel| m.report
    );
    check!(
        Lasso { l1: 0.05, stop, ..Default::default() },
        y,
        None::<&Vec<f64>>,
        |m: &fenchel_finite_sum::LinearModel| m.report
    );
    check!(
        ElasticNet { l1: 0.05, l2: 0.1, stop, ..Default::default() },
        y,
        None::<&Vec<f64>>,
        |m: &fenchel_finite_sum::LinearModel| m.report
    );
    check!(
        LogisticRegression { l1: 0.01, stop, ..Default::default() },
        y,
        Some(&flipped),
        |m: &fenchel_finite_sum::LogisticModel| m.report
    );
    check!(
        LinearSvc { stop, ..Default::default() },
        y,
        Some(&flipped),
        |m: &fenchel_finite_sum::SvcModel| m.report
    );
    check!(
        SoftmaxRegression { stop, ..Default::default() },
        &classes,
        Some(&others),
        |m: &fenchel_finite_sum::SoftmaxModel<&str>| m.report
    );
    let binary = LogisticRegression { stop, ..Default::default() };
    check!(
        OneVsRest { binary },
        &classes,
        Some(&others),
        |m: &fenchel_finite_sum::OneVsRestModel<&str>| *m.worst_report()
    );
}

/// A borrowed regulariser is open to the methods of its own.
#[test]
fn a_borrowed_regulariser_has_the_methods_of_its_own() {
    let data = data(60, 5, 1.0, 4);
    let design = Dense::new(data.dense.view()).unwrap();
    let l1 = L1 { strength: 1e-3 };
    let own = Problem::new(design, &data.signs, Logistic, l1, 1e-3).unwrap();
    let borrowed = Problem::new(design, &data.signs, Logistic, &l1, 1e-3).unwrap();
    let own = auto(&own, &auto_settings(1e-6), None, &mut ()).unwrap();
    let borrowed = auto(&borrowed, &auto_settings(1e-6), None, &mut ()).unwrap();
    assert_eq!(own.state, borrowed.state);
    assert_ne!(own.state.choice.method, fenchel_finite_sum::Method::Fista);
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
    let own = MulticlassProblem::new(design, &labels, 3, l1, 1e-2).unwrap();
    let borrowed = MulticlassProblem::new(design, &labels, 3, &l1, 1e-2).unwrap();
    let own = multiclass::auto(&own, &auto_settings(1e-6), None, &mut ()).unwrap();
    let borrowed = multiclass::auto(&borrowed, &auto_settings(1e-6), None, &mut ()).unwrap();
    assert_eq!(own.state, borrowed.state);
}
