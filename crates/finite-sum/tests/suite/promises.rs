//! What a user relies on: exact zeros, refusals that say why, a status that is true, warm starts of estimators.

use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::methods::{
    CatalystSettings, FistaSettings, LbfgsSettings, MisoSettings, NewtonCgSettings, NewtonSettings,
    QningSettings, SagSettings, SagaSettings, SgdSettings, SubsampledNewtonSettings, SvrgSettings,
    catalyst, fista, lbfgs, miso, newton, newton_cg, qning, sag, saga, sgd, subsampled_newton,
    svrg,
};
use fenchel_finite_sum::multiclass::{MulticlassProblem, MulticlassSettings};
use fenchel_finite_sum::prelude::{Status, Stop};
use fenchel_finite_sum::prox::{L1, Zero};
use fenchel_finite_sum::{
    ElasticNet, Fit, Lasso, LinearSvc, LogisticRegression, OneVsRest, Problem, Ridge,
    SoftmaxRegression, SvcLoss, auto, multiclass,
};
use fenchel_linalg::{AsDesign, Csr, Dense, Invalid};
use fenchel_optim::random::stream;
use ndarray::{Array2, Axis, array};
use rand::RngExt;

use crate::common::data;

#[test]
fn offsets_beyond_the_entries_are_refused() {
    let error = Csr::from_parts(&[0, 3, 2], &[0, 1], &[1.0, 1.0], 3).unwrap_err();
    assert!(matches!(error, Invalid::Layout { what: "design matrix", .. }), "{error}");
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
        LogisticRegression::default().fit_with(&x, &y, Fit::new().weights(&weights)).unwrap_err(),
        svc(SvcLoss::Hinge).fit_with(&x, &y, Fit::new().weights(&weights)).unwrap_err(),
        svc(SvcLoss::SquaredHinge).fit_with(&x, &y, Fit::new().weights(&weights)).unwrap_err(),
        OneVsRest::default().fit_with(&x, &y, Fit::new().weights(&weights)).unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("all rows of class \"yes\" have weight 0"), "{text}");
    }
    assert!(
        LogisticRegression::default()
            .fit_with(&x, &y, Fit::new().weights(&[1.0, 0.0, 1.0, 1e-3]))
            .is_ok()
    );
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
    let report = free.fit_with(&x, &y, Fit::new().weights(&[1.0, 0.0, 1.0, 1.0])).unwrap().report;
    assert_eq!(report.status, Status::NoMinimiser, "{report}");
    // The squared loss attains its infimum.
    let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
    let solution = auto(&problem, &auto_settings(1e-6), None, &mut ()).unwrap();
    assert_ne!(solution.report.status, Status::NoMinimiser);
}

/// The status of every direct call on unpenalised logistic data.
fn statuses(x: &Array2<f64>, y: &[f64], intercept: bool) -> Vec<(&'static str, Status)> {
    let problem = Problem::new(x.as_design().unwrap(), y, Logistic, Zero, 0.0).unwrap();
    let problem = if intercept { problem.with_intercept() } else { problem };
    let stop = Stop::at_relative(1e-6);
    let o = &mut ();
    let newtons = NewtonSettings { stop, ..Default::default() };
    let cg = NewtonCgSettings { stop, ..Default::default() };
    let sampled = SubsampledNewtonSettings { stop, ..Default::default() };
    let memory = LbfgsSettings { stop, ..Default::default() };
    vec![
        ("newton", newton(&problem, &newtons, None, o).unwrap().report.status),
        ("newton_cg", newton_cg(&problem, &cg, None, o).unwrap().report.status),
        ("subsampled", subsampled_newton(&problem, &sampled, None, o).unwrap().report.status),
        ("lbfgs", lbfgs(&problem, &memory, None, o).unwrap().report.status),
        ("auto", auto(&problem, &auto_settings(1e-6), None, o).unwrap().report.status),
    ]
}

/// A rotated feature separates half of the rows; the others lie on its hyperplane, with labels by chance. One separated row on
/// the wrong side, and there is a minimiser.
#[test]
fn hyperplanes_through_some_rows_leave_no_minimiser() {
    for (seed, intercept) in [(0, false), (1, true), (2, false), (3, true)] {
        let mut rng = stream(seed, 0);
        let (n, d) = (60, 4);
        let mut y: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let mut plain = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0));
        for i in 0..n {
            plain[[i, 0]] = if i < n / 2 { 0.0 } else { y[i] * rng.random_range(0.2..1.0) };
        }
        let turn = Array2::from_shape_fn((d, d), |_| rng.random_range(-1.0..1.0));
        let mut x = plain.dot(&turn);
        x.column_mut(1).mapv_inplace(|v| v * [1.0, 1e6][seed as usize % 2]);
        for (method, status) in statuses(&x, &y, intercept) {
            assert_eq!(status, Status::NoMinimiser, "{method}, seed {seed}");
        }
        y[n - 1] = -y[n - 1];
        for (method, status) in statuses(&x, &y, intercept) {
            assert_eq!(status, Status::Converged, "{method}, seed {seed}");
        }
    }
}

/// A category whose rows all have one label: its column grows for ever, and rows of other categories see only rounding of it.
#[test]
fn a_category_of_one_label_leaves_no_minimiser() {
    for (seed, unit) in [(0, 1.0), (1, 1e6), (2, 1e-6), (3, 1.0)] {
        let mut rng = stream(seed, 1);
        let (n, continuous) = (60, if seed == 3 { 0 } else { 2 });
        let x = Array2::from_shape_fn((n, 5 + continuous), |(i, c)| match c {
            0..5 => f64::from(u8::from(i % 5 == c)),
            _ => unit * rng.random_range(-1.0..1.0),
        });
        let y: Vec<f64> =
            (0..n).map(|i| if i % 5 == 0 || rng.random() { 1.0 } else { -1.0 }).collect();
        for (method, status) in statuses(&x, &y, false) {
            assert_eq!(status, Status::NoMinimiser, "{method}, seed {seed}");
        }
        // The last category is the reference of the others.
        let kept: Vec<usize> = (0..x.ncols()).filter(|&c| c != 4).collect();
        let dummies = x.select(Axis(1), &kept).as_standard_layout().into_owned();
        for (method, status) in statuses(&dummies, &y, true) {
            assert_eq!(status, Status::NoMinimiser, "{method}, seed {seed}, with an intercept");
        }
    }
}

#[test]
fn separated_data_are_recognised_by_direct_calls() {
    let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0], [3.5, -1.0]];
    let y = [-1.0, -1.0, 1.0, 1.0, 1.0];
    for unit in [1e-8, 1.0, 1e8] {
        let mut x = x.clone();
        x.column_mut(1).mapv_inplace(|v| v * unit);
        for (method, status) in statuses(&x, &y, true) {
            assert_eq!(status, Status::NoMinimiser, "{method}, unit {unit}");
        }
    }
    let problem = Problem::new(x.as_design().unwrap(), &y, Logistic, Zero, 0.0).unwrap();
    let stop = Stop { absolute: 0.02, relative: 0.0, max_passes: 1e5, ..Stop::default() };
    let o = &mut ();
    let statuses = [
        saga(&problem, &SagaSettings { stop, ..Default::default() }, None, o)
            .unwrap()
            .report
            .status,
        svrg(&problem, &SvrgSettings { stop, ..Default::default() }, None, o)
            .unwrap()
            .report
            .status,
        fista(&problem, &FistaSettings { stop, ..Default::default() }, None, o)
            .unwrap()
            .report
            .status,
        miso(&problem, &MisoSettings { stop, ..Default::default() }, None, o)
            .unwrap()
            .report
            .status,
        sag(&problem, &SagSettings { stop, ..Default::default() }, None, o).unwrap().report.status,
        sgd(&problem, &SgdSettings { stop, ..Default::default() }, None, o).unwrap().report.status,
        catalyst(&problem, &CatalystSettings { stop, ..Default::default() }, None, o)
            .unwrap()
            .report
            .status,
        qning(&problem, &QningSettings { stop, ..Default::default() }, None, o)
            .unwrap()
            .report
            .status,
    ];
    assert_eq!(statuses, [Status::NoMinimiser; 8]);
    let labels = [0, 0, 1, 1, 1];
    let problem = MulticlassProblem::new(x.as_design().unwrap(), &labels, 2, Zero, 0.0).unwrap();
    let solution = multiclass::newton_cg(&problem, &Default::default(), None, o).unwrap();
    assert_eq!(solution.report.status, Status::NoMinimiser);
    let settings = MulticlassSettings { stop, ..Default::default() };
    let solution = multiclass::catalyst(&problem, &settings, None, o).unwrap();
    assert_eq!(solution.report.status, Status::NoMinimiser);
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
            let warm = fit.fit_with(x, $y, Fit::new().start(&cold)).unwrap();
            let (before, after) = ($report(&cold), $report(&warm));
            assert_eq!(after.passes, 0.0, "{after}");
            let (before, after) = (before.certificate.objective(), after.certificate.objective());
            assert!(after.unwrap() <= before.unwrap() * (1.0 + 1e-12));
            let text = fit.fit_with(&wide, $y, Fit::new().start(&cold)).unwrap_err().to_string();
            assert!(text.contains("weights"), "{text}");
            if let Some(other) = $other {
                let text = fit.fit_with(x, other, Fit::new().start(&cold)).unwrap_err().to_string();
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
        |m: &fenchel_finite_sum::estimators::OneVsRestModel<&str>| *m.worst_report()
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
