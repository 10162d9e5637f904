//! No run ends above the point where it began, at whatever limit it ends; and where nothing can be reached, the status says so.

use crate::common::data;
use fenchel_finite_sum::loss::{Hinge, Logistic, Poisson, Squared, SquaredHinge};
use fenchel_finite_sum::methods::{
    CatalystSettings, CoordinateSettings, DualState, LbfgsSettings, MisoMuSettings,
    NewtonCgSettings, NewtonSettings, ProxFinitoSettings, QningSettings, SdcaSettings, catalyst,
    coordinate_descent, lbfgs, miso_mu, newton, newton_cg, prox_finito, qning, sdca,
};
use fenchel_finite_sum::multiclass::{
    self, MulticlassPoint, MulticlassProblem, MulticlassSettings, MulticlassState,
};
use fenchel_finite_sum::prelude::{AsDesign, Status, Stop};
use fenchel_finite_sum::prox::{L1, L1L2, Zero};
use fenchel_finite_sum::{AutoSettings, LogisticRegression, Point, Problem, auto};
use fenchel_linalg::Dense;
use fenchel_optim::{Loss, Report, Separable, Solution};
use ndarray::array;

fn limit(max_passes: f64) -> Stop {
    Stop { max_passes, ..Stop::at_relative(1e-9) }
}

/// The dual methods that take any problem with `l2 > 0`, all at one limit of passes.
fn duals<L: Loss + Copy, R: Separable + Clone>(
    problem: &Problem<'_, Dense<'_, f64>, L, R>,
    passes: f64,
    start: Option<&DualState>,
) -> Vec<(&'static str, Solution<DualState>)> {
    let (stop, at) = (limit(passes), || start.cloned());
    let mut found = vec![
        ("sdca", sdca(problem, &SdcaSettings { stop, ..Default::default() }, at(), &mut ())),
        (
            "prox",
            prox_finito(problem, &ProxFinitoSettings { stop, ..Default::default() }, at(), &mut ()),
        ),
    ];
    if problem.loss().curvature().is_finite() {
        found.extend([
            (
                "miso",
                miso_mu(problem, &MisoMuSettings { stop, ..Default::default() }, at(), &mut ()),
            ),
            (
                "catalyst",
                catalyst(problem, &CatalystSettings { stop, ..Default::default() }, at(), &mut ()),
            ),
            ("qning", qning(problem, &QningSettings { stop, ..Default::default() }, at(), &mut ())),
        ]);
    }
    found.into_iter().map(|(name, solved)| (name, solved.unwrap())).collect()
}

/// The objective of the report is that of the point, and not above `most`.
fn check(found: f64, report: &Report, most: f64, case: &str) {
    let reported = report.certificate.objective().unwrap();
    assert!((found - reported).abs() <= 1e-12 * found.abs(), "{case}: {found:e} {report}");
    assert!(found <= most * (1.0 + 1e-14), "{case}: {report}, began at {most:e}");
}

/// Two equal rows with opposite targets: the dual steps swing the weight by `1 / (n l2)`, to objectives of 1e4 and more.
#[test]
fn dual_methods_end_no_higher_than_zero() {
    let x = array![[1.0], [1.0]];
    let design = x.as_design().unwrap();
    for l2 in [1e-6, 1e-3] {
        for passes in [1.0, 2.0, 3.0, 5.0, 8.0] {
            let problem = Problem::new(design, &[1.0, -1.0], Squared, Zero, l2).unwrap();
            for (name, s) in duals(&problem, passes, None) {
                let found = problem.objective(&s.state.point).unwrap();
                check(found, &s.report, 0.5, &format!("{name}, l2 {l2:e}, {passes} passes"));
            }
        }
    }
    let x = array![[1.0], [-0.5], [0.7], [1.8]];
    let y = [4.0, 0.0, 2.0, 1.0];
    let problem = Problem::new(x.as_design().unwrap(), &y, Poisson, Zero, 1e-12).unwrap();
    for passes in [1.0, 3.0, 20.0] {
        for (name, s) in duals(&problem, passes, None) {
            let found = problem.objective(&s.state.point).unwrap();
            check(found, &s.report, 1.0, &format!("{name} of counts, {passes} passes"));
            assert!(s.report.status != Status::Diverged, "{}", s.report);
        }
    }
    // Two classes of equal rows: the loss at 0 is ln 2.
    let problem = MulticlassProblem::new(x.as_design().unwrap(), &[0, 1, 1, 0], 2, Zero, 1e-7);
    let problem = problem.unwrap();
    for passes in [1.0, 2.0, 3.0] {
        let settings = MulticlassSettings { stop: limit(passes), ..Default::default() };
        for s in [
            multiclass::sdca(&problem, &settings, None, &mut ()).unwrap(),
            multiclass::catalyst(&problem, &settings, None, &mut ()).unwrap(),
        ] {
            let found = problem.objective(&s.state.point).unwrap();
            check(found, &s.report, 2f64.ln(), &format!("two classes, {passes} passes"));
        }
    }
}

/// The dual variables of a state need not know what its point knows.
#[test]
fn a_good_point_is_kept_whatever_its_dual_variables_are() {
    let data = data(40, 6, 1.0, 8);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, L1 { strength: 0.01 }, 1e-4).unwrap();
    let problem = problem.with_intercept();
    let settings = NewtonSettings { stop: Stop::at_relative(1e-6), ..Default::default() };
    let best = newton(&problem, &settings, None, &mut ()).unwrap().state;
    let most = problem.objective(&best).unwrap();
    let start = DualState::new(best, vec![0.0; 40]);
    for passes in [0.0, 1.0, 4.0] {
        for (name, s) in duals(&problem, passes, Some(&start)) {
            let found = problem.objective(&s.state.point).unwrap();
            check(found, &s.report, most, &format!("{name}, {passes} passes"));
        }
    }
    let labels: Vec<usize> = data.signs.iter().map(|y| usize::from(*y > 0.0)).collect();
    let problem =
        MulticlassProblem::new(design, &labels, 2, Zero, 1e-4).unwrap().with_intercepts().unwrap();
    let stop = Stop::at_relative(1e-6);
    let s = multiclass::auto(&problem, &AutoSettings { stop, ..Default::default() }, None, &mut ());
    let best: MulticlassPoint = s.unwrap().state.point;
    let most = problem.objective(&best).unwrap();
    for passes in [0.0, 1.0] {
        let settings = MulticlassSettings { stop: limit(passes), ..Default::default() };
        let start = MulticlassState::new(best.clone(), vec![0.0; 40]);
        let s = multiclass::sdca(&problem, &settings, Some(start), &mut ()).unwrap();
        let found = problem.objective(&s.state.point).unwrap();
        check(found, &s.report, most, &format!("two classes, {passes} passes"));
    }
}

/// Where `auto` chooses a dual method, a start is worth what its own objective is, not that of the point of its dual variables.
#[test]
fn auto_ends_no_higher_than_its_start() {
    let data = data(60, 10, 1.0, 9);
    let design = Dense::new(data.dense.view()).unwrap();
    let starts = |best: &Point| {
        [0.0, 1e-3, 1.0].map(|shift| {
            let weights = best.weights.iter().map(|w| w + shift).collect();
            Point { weights, intercept: best.intercept }
        })
    };
    macro_rules! case {
        ($loss:expr, $regulariser:expr, $l2:expr) => {
            for intercept in [false, true] {
                let problem = Problem::new(design, &data.signs, $loss, $regulariser, $l2).unwrap();
                let problem = if intercept { problem.with_intercept() } else { problem };
                let run = |stop, start| {
                    let settings = AutoSettings { stop, ..Default::default() };
                    auto(&problem, &settings, start, &mut ()).unwrap()
                };
                let best = run(Stop::at_relative(1e-9), None).state.point;
                for start in starts(&best) {
                    let most = problem.objective(&start).unwrap();
                    for passes in [0.0, 1.0, 3.0] {
                        let s = run(limit(passes), Some(start.clone()));
                        let found = problem.objective(&s.state.point).unwrap();
                        let case = format!("{}, {passes} passes", s.state.choice);
                        check(found, &s.report, most, &case);
                    }
                }
            }
        };
    }
    case!(Hinge, Zero, 0.1);
    case!(Hinge, Zero, 1e-4);
    case!(Logistic, L1 { strength: 0.02 }, 1.0);
    case!(Squared, Zero, 10.0);
}

/// An unpenalised intercept has no optimum where all labels are the same, whatever holds the weights.
#[test]
fn one_class_with_an_intercept_has_no_minimiser() {
    let data = data(20, 3, 1.0, 10);
    let design = Dense::new(data.dense.view()).unwrap();
    let mut y = vec![1.0; 20];
    let net = L1L2 { l1: 0.1, l2: 0.1 };
    let check = |y: &[f64], weights: &[f64], expected: Status| {
        let problem = Problem::new(design, y, Logistic, Zero, 0.1).unwrap().with_intercept();
        let problem = problem.with_weights(weights).unwrap();
        let stop = Stop { max_passes: 3000.0, ..Stop::default() };
        let reports = [
            auto(&problem, &AutoSettings { stop, ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            lbfgs(&problem, &LbfgsSettings { stop, ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            newton_cg(&problem, &NewtonCgSettings { stop, ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            newton(&problem, &NewtonSettings { stop, ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            sdca(&problem, &SdcaSettings { stop, ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            catalyst(&problem, &CatalystSettings { stop, ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
        ];
        for (k, report) in reports.iter().enumerate() {
            assert_eq!(report.status, expected, "method {k}: {report}");
        }
        let problem = Problem::new(design, y, Logistic, net, 0.0).unwrap().with_intercept();
        let problem = problem.with_weights(weights).unwrap();
        let settings = CoordinateSettings { stop, ..Default::default() };
        let report = coordinate_descent(&problem, &settings, None, &mut ()).unwrap().report;
        assert_eq!(report.status, expected, "{report}");
    };
    check(&y, &[1.0; 20], Status::NoMinimiser);
    y[3] = -1.0;
    check(&y, &[1.0; 20], Status::Converged);
    let mut weights = [1.0; 20];
    weights[3] = 0.0;
    check(&y, &weights, Status::NoMinimiser);
    // Without an intercept, and for a loss that attains its infimum, there is a minimum.
    let y = [1.0; 20];
    let settings = AutoSettings::default();
    let plain = Problem::new(design, &y, Logistic, Zero, 0.1).unwrap();
    assert_eq!(auto(&plain, &settings, None, &mut ()).unwrap().report.status, Status::Converged);
    let hinge = Problem::new(design, &y, SquaredHinge, Zero, 0.1).unwrap();
    let report = auto(&hinge.with_intercept(), &settings, None, &mut ()).unwrap().report;
    assert_eq!(report.status, Status::Converged);
    // The estimator refuses one label before.
    let error = LogisticRegression::default().fit(&data.dense, &[1; 20]).unwrap_err();
    assert!(error.to_string().contains("two"), "{error}");
}

/// Where the margins of a far start are rounded, the objective is still that of the point which is returned.
#[test]
fn the_objective_of_a_far_start_is_that_of_the_point() {
    let data = data(30, 4, 1.0, 11);
    let design = Dense::new(data.dense.view()).unwrap();
    macro_rules! case {
        ($loss:expr, $y:expr, $regulariser:expr) => {
            for far in [1e6, 1e8, 1e10, 1e12] {
                let problem = Problem::new(design, $y, $loss, $regulariser, 0.1).unwrap();
                let start = Some(Point { weights: vec![far; 4], intercept: 0.0 });
                let s = newton(&problem, &NewtonSettings::default(), start, &mut ()).unwrap();
                let found = problem.objective(&s.state).unwrap();
                let reported = s.report.certificate.objective().unwrap();
                let case = format!("{far:e}: {found:e} {}", s.report);
                assert!((found - reported).abs() <= 1e-13 * found, "{case}");
            }
        };
    }
    case!(Squared, &data.reals, L1 { strength: 0.01 });
    case!(Squared, &data.reals, Zero);
    case!(Logistic, &data.signs, L1 { strength: 0.01 });
    case!(Logistic, &data.signs, Zero);
}

/// Targets so large that a step of length 1 changes no digit of the objective.
#[test]
fn lbfgs_moves_whatever_the_targets_are() {
    let x = array![[1.0], [2.0], [3.0], [4.0]];
    for scale in [1e10, 1e30, 1e100, 1e149] {
        let y = [1.0, 2.0, 3.0, 4.2].map(|y| y * scale);
        let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.1).unwrap();
        let s = lbfgs(&problem, &LbfgsSettings::default(), None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{scale:e}: {}", s.report);
        // (a.y / n) / (a.a / n + l2), up to the root of twice the relative gap of 1e-4 in the norm of the Hessian.
        let best = 30.8 / 4.0 / (30.0 / 4.0 + 0.1);
        assert!(
            (s.state.point.weights[0] / scale - best).abs() <= 0.02,
            "{scale:e}: {:?}",
            s.state.point
        );
    }
    let y = [1.0, 2.0, 1e155, 4.0];
    let error =
        Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.1).unwrap_err().to_string();
    assert!(
        error.contains("row 2") && error.contains("1e155") && error.contains("1e150"),
        "{error}"
    );
}
