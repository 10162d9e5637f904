//! The unit of a feature: methods by name in tiny units, and numbers whose squares are none.

use fenchel_erm::loss::{Logistic, SmoothedHinge, Squared};
use fenchel_erm::methods::*;
use fenchel_erm::multiclass::MulticlassProblem;
use fenchel_erm::prelude::{AsDesign, Status, Stop};
use fenchel_erm::prox::{L1, Zero};
use fenchel_erm::{AutoSettings, Error, Point, Problem, auto};
use fenchel_linalg::CsrMatrix;
use fenchel_optim::{Refusal, Report};
use ndarray::{Array2, array};

use super::answers::Pointed;
use super::common::data;

/// `l1 c` on columns in the unit `c` is the same problem as `l1` on the columns themselves.
#[test]
fn newton_and_coordinate_descent_do_not_see_the_unit() {
    for (n, d) in [(7, 40), (60, 90), (200, 20)] {
        let data = data(n, d, 1.0, 5);
        let stop = Stop { max_passes: 3000.0, absolute: 0.0, ..Stop::at_relative(1e-6) };
        for unit in [1e-9, 1e-6, 1.0, 1e6] {
            let x = &data.dense * unit;
            let design = x.as_design().unwrap();
            for (l1, l2) in [(1e-3, 0.0), (1e-3, 1e-4), (0.0, 1e-4)] {
                let case = format!("{n} x {d} in {unit:e}, l1 {l1}, l2 {l2}");
                let h = L1 { strength: l1 * unit };
                let l2 = l2 * unit * unit;
                let ridge = Problem::new(design, &data.reals, Squared, h, l2).unwrap();
                let ridge = ridge.with_intercept();
                let signs = Problem::new(design, &data.signs, Logistic, h, l2).unwrap();
                let settings = NewtonSettings { stop, ..NewtonSettings::default() };
                let a = newton(&ridge, &settings, None, &mut ()).unwrap().report;
                let b = newton(&signs, &settings, None, &mut ()).unwrap().report;
                assert_eq!(a.status, Status::Converged, "newton, {case}: {a}");
                assert_eq!(b.status, Status::Converged, "newton, logistic, {case}: {b}");
                if l1 > 0.0 {
                    let settings = CoordinateSettings { stop, ..CoordinateSettings::default() };
                    let c = coordinate_descent(&ridge, &settings, None, &mut ()).unwrap().report;
                    assert_eq!(c.status, Status::Converged, "coordinate descent, {case}: {c}");
                }
            }
        }
    }
}

/// At the origin no row is in the bend of the hinge, and a system by rows says nothing of the intercept.
#[test]
fn newton_goes_on_where_the_hinge_is_flat() {
    let x = array![[1.0, -0.5, 0.3, 0.8], [-0.7, 0.2, 0.9, -0.1], [0.4, 1.0, -0.6, 0.2]];
    let y = [1.0, -1.0, -1.0];
    let design = x.as_design().unwrap();
    for l2 in [0.1, 1.0] {
        let loss = SmoothedHinge { width: 0.5 };
        let problem = Problem::new(design, &y, loss, Zero, l2).unwrap().with_intercept();
        let stop = Stop { max_passes: 3000.0, ..Stop::at_relative(1e-6) };
        let settings = NewtonSettings { stop, ..NewtonSettings::default() };
        let s = newton(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "l2 {l2}: {}", s.report);
        let other = lbfgs(
            &problem,
            &fenchel_optim::lbfgs::LbfgsSettings { stop, ..Default::default() },
            None,
            &mut (),
        );
        let (a, b) = (
            s.report.certificate.objective().unwrap(),
            other.unwrap().report.certificate.objective().unwrap(),
        );
        assert!((a - b).abs() < 2e-6 * b, "{a} for {b}");
    }
}

/// The largest column of a readable file is 2^32 - 2: its weights alone are 32 GiB.
#[test]
fn more_columns_than_memory_are_refused_before_anything_is_allocated() {
    let x =
        CsrMatrix::new((2, 4294967294), vec![0, 2, 3], vec![0, 4294967293, 1], vec![1.0, 1.0, 2.0]);
    let design = x.as_design().unwrap();
    let refused = |error: Error| {
        assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { .. })), "{error}");
        assert!(error.to_string().contains("needs "), "{error}");
    };
    refused(Problem::new(design, &[1.0, -1.0], Logistic, Zero, 0.1).unwrap_err());
    refused(MulticlassProblem::new(design, &[0, 1], 2, Zero, 0.1).unwrap_err());
}

/// The same column in units whose squares are no numbers: an answer, or an error that says what to do.
#[test]
fn squares_out_of_range_are_told() {
    let column = array![[1.0, 0.5], [2.0, -0.5], [3.0, 0.5], [4.5, 1.5]];
    let y = [1.0, 3.0, 2.0, 5.0];
    for unit in [1e-300, 1e-200, 1e-165, 1e160, 1e200, 1e300] {
        let x: Array2<f64> = &column * unit;
        let error = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap_err();
        assert!(error.to_string().contains("scale the features"), "{unit:e}: {error}");
    }
    // One of the columns alone: its weight is not found, and nobody says that it is.
    let x = array![[1e-200, 0.5], [2e-200, -0.5], [3e-200, 0.5], [4.5e-200, 1.5]];
    let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
    let settings = AutoSettings::default();
    let report = auto(&problem.with_intercept(), &settings, None, &mut ()).unwrap().report;
    assert_ne!(report.status, Status::Converged, "{report}");
    for unit in [1e-140, 1e-100, 1e100, 1e140] {
        let x: Array2<f64> = &column * unit;
        let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
        let s = auto(&problem.with_intercept(), &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{unit:e}: {}", s.report);
        let near = Problem::new(column.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
        let t = auto(&near.with_intercept(), &settings, None, &mut ()).unwrap();
        for (a, b) in s.state.point.weights.iter().zip(&t.state.point.weights) {
            assert!((a * unit - b).abs() < 1e-3, "{unit:e}: {a} for {b}");
        }
    }
}

/// The answers of methods by name with default settings, as closures of a problem would have it.
macro_rules! answers {
    ($problem:ident: $($method:ident $settings:ty),*) => {{
        let mut answers: Vec<(&str, Point, Report)> = Vec::new();
        $(if let Ok(s) = $method($problem, &<$settings>::default(), None, &mut ()) {
            answers.push((stringify!($method), s.state.pointed(), s.report));
        })*
        answers
    }};
}

/// The slope through the origin is 2 in every unit. A gradient in the unit of the features was below 1e-12 at the start.
#[test]
fn without_a_penalty_a_tiny_feature_is_not_taken_for_a_small_gradient() {
    let y = [2.0, 4.0, 6.0, 8.0];
    for unit in [1e-140, 1e-100, 1e-30, 1e-9, 1e9, 1e100] {
        let x = array![[1.0], [2.0], [3.0], [4.0]] * unit;
        let problem = &Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
        let found = answers!(problem: auto AutoSettings, newton NewtonSettings, newton_cg NewtonCgSettings,
            lbfgs LbfgsSettings, subsampled_newton SubsampledNewtonSettings, fista FistaSettings,
            coordinate_descent CoordinateSettings, saga SagaSettings, sag SagSettings, svrg SvrgSettings,
            sgd SgdSettings, miso MisoSettings);
        assert!(found.len() >= 10);
        for (name, point, report) in found {
            let off = (point.weights[0] * unit / 2.0 - 1.0).abs();
            let converged = report.status == Status::Converged;
            assert!(!converged || off < 1e-3, "{name}, {unit:e}: {report}, {:?}", point.weights);
            assert!(
                converged || !["auto", "newton", "coordinate_descent"].contains(&name),
                "{name}, {unit:e}: {report}"
            );
        }
    }
}

/// Targets of 1e-9 have an objective of 1e-18, which is no small gap.
#[test]
fn tiny_targets_are_not_taken_for_a_small_gap() {
    let data = data(40, 3, 1.0, 7);
    for unit in [1e-100, 1e-30, 1e-9, 1e-6, 1.0, 1e9] {
        let y: Vec<f64> = data.reals.iter().map(|y| unit * (3.0 + y)).collect();
        let design = data.dense.as_design().unwrap();
        let problem = &Problem::new(design, &y, Squared, Zero, 0.1).unwrap().with_intercept();
        let found = answers!(problem: auto AutoSettings, newton NewtonSettings, newton_cg NewtonCgSettings,
            lbfgs LbfgsSettings, subsampled_newton SubsampledNewtonSettings, fista FistaSettings,
            coordinate_descent CoordinateSettings, saga SagaSettings, svrg SvrgSettings, sdca SdcaSettings,
            catalyst CatalystSettings, qning QningSettings, miso_mu MisoMuSettings, prox_finito ProxFinitoSettings);
        assert!(found.len() >= 12);
        let best =
            found.iter().filter_map(|f| f.2.certificate.objective()).fold(f64::INFINITY, f64::min);
        for (name, _, report) in found {
            // The tolerance is 1e-4 of the objective.
            let above = report.certificate.objective().unwrap() / best - 1.0;
            let converged = report.status == Status::Converged;
            // Squares of 1e-100 have few digits left to fall by: a line search may say so.
            assert!(converged || unit == 1e-100, "{name}, {unit:e}: {report}");
            assert!(!converged || above <= 1e-4, "{name}, {unit:e}: {report}, {best:e}");
        }
    }
}

/// Where all targets are alike the intercept leaves rounding errors, and nothing to find.
#[test]
fn targets_that_are_all_alike_have_converged() {
    let x = data(20, 3, 1.0, 8).dense;
    for target in [0.0, 0.1, 1e-9, -7.7e11] {
        let y = [target; 20];
        for l2 in [0.0, 0.1] {
            let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, l2);
            let problem = problem.unwrap().with_intercept();
            let s = auto(&problem, &AutoSettings::default(), None, &mut ()).unwrap();
            assert_eq!(s.report.status, Status::Converged, "{target} {l2}: {}", s.report);
        }
    }
}

/// With an intercept, columns far from 0 pose the problem of the same columns around 0. A method called by name works on them as they
/// are: it need not get far, and must not say that it did. The condition number of the three columns is below 3.
#[test]
fn without_a_penalty_an_offset_is_not_taken_for_a_small_gradient() {
    let data = data(60, 3, 1.0, 9);
    let near = data.dense.as_design().unwrap();
    let stop = Stop::at_relative(1e-10);
    let settings = NewtonSettings { stop, ..NewtonSettings::default() };
    macro_rules! same {
        ($loss:expr, $y:expr) => {{
            let problem = &Problem::new(near, $y, $loss, Zero, 0.0).unwrap().with_intercept();
            let best = newton(problem, &settings, None, &mut ()).unwrap();
            assert_eq!(best.report.status, Status::Converged);
            let best = best.state.weights;
            for (offset, unit) in [(1e2, 1.0), (1e4, 1e-9), (1e6, 1.0), (1e6, 1e6), (1e9, 1.0)] {
                let x = data.dense.mapv(|a| unit * (a + offset));
                let problem = &Problem::new(x.as_design().unwrap(), $y, $loss, Zero, 0.0);
                let problem = &problem.as_ref().unwrap().clone().with_intercept();
                let found = answers!(problem: auto AutoSettings, newton NewtonSettings,
                    newton_cg NewtonCgSettings, lbfgs LbfgsSettings,
                    subsampled_newton SubsampledNewtonSettings, fista FistaSettings,
                    coordinate_descent CoordinateSettings, saga SagaSettings, sag SagSettings,
                    svrg SvrgSettings, sgd SgdSettings);
                assert!(found.len() >= 10);
                for (name, point, report) in found {
                    let off = point.weights.iter().zip(&best).map(|(a, b)| (a * unit - b).abs());
                    let off = off.fold(0.0, f64::max);
                    let case = || format!("{name}, {offset:e}, {unit:e}: {off:e}, {report}");
                    assert!(report.status != Status::Converged || off < 1e-2, "{}", case());
                    let exact = name == "auto";
                    assert!(!exact || report.status == Status::Converged, "{}", case());
                }
            }
        }};
    }
    same!(Squared, &data.reals);
    // Some labels against the others: no hyperplane separates the classes.
    let mixed: Vec<f64> =
        data.signs.iter().enumerate().map(|(i, s)| if i % 5 == 0 { -s } else { *s }).collect();
    same!(Logistic, &mixed);
}

/// Squared targets that are all 0 by underflow would make any point optimal.
#[test]
fn targets_whose_squares_underflow_are_refused() {
    let x = array![[1.0, 2.0], [-1.0, 0.5], [0.0, 3.0]];
    let posed = |y: [f64; 3]| {
        let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.1);
        problem.map(|_| ()).map_err(|error| error.to_string())
    };
    let error = posed([1e-300, -2e-300, 0.0]).unwrap_err();
    assert!(error.starts_with("largest target = 2e-300; expected a larger number"), "{error}");
    for y in [[0.0; 3], [1e-300, 1e-9, 0.0], [1e-150, 0.0, 0.0]] {
        assert_eq!(posed(y), Ok(()), "{y:?}");
    }
}
