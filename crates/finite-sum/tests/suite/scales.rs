//! Where the certificate is the norm of a gradient: neither the units of the data nor the start decide when a run has converged.

use crate::common::{data, reference};
use fenchel_finite_sum::loss::{Huber, Logistic, Squared};
use fenchel_finite_sum::methods::{
    CoordinateSettings, LbfgsSettings, NewtonCgSettings, NewtonSettings, coordinate_descent, lbfgs,
    newton, newton_cg,
};
use fenchel_finite_sum::multiclass::MulticlassProblem;
use fenchel_finite_sum::prelude::{AsDesign, Report, Status, Stop};
use fenchel_finite_sum::prox::Zero;
use fenchel_finite_sum::{AutoSettings, Point, Problem, Ridge, auto, multiclass};
use fenchel_linalg::Dense;
use fenchel_optim::Loss;
use ndarray::{Array1, Array2, array};

type Found = (String, Point, Report);

/// The methods of problems without a penalty, with default settings.
fn all<L: Loss + Copy>(
    problem: &Problem<'_, Dense<'_, f64>, L, Zero>,
    at: Option<&Point>,
) -> Vec<Found> {
    let at = || at.cloned();
    let name = str::to_owned;
    let a = auto(problem, &AutoSettings::default(), at(), &mut ()).unwrap();
    let l = lbfgs(problem, &LbfgsSettings::default(), at().map(Point::into), &mut ()).unwrap();
    let c = newton_cg(problem, &NewtonCgSettings::default(), at(), &mut ()).unwrap();
    let n = newton(problem, &NewtonSettings::default(), at(), &mut ()).unwrap();
    let d = coordinate_descent(problem, &CoordinateSettings::default(), at(), &mut ()).unwrap();
    vec![
        (name("auto"), a.state.point, a.report),
        (name("lbfgs"), l.state.point, l.report),
        (name("newton_cg"), c.state, c.report),
        (name("newton"), n.state, n.report),
        (name("coordinate_descent"), d.state, d.report),
    ]
}

/// Least squares has its solution in closed form. A gradient that is 1e-4 of the first one in the units of the features leaves at most
/// `1e-4 cond` of the first error, and the two standardised columns have a condition number below 10.
#[test]
fn least_squares_converges_at_its_solution_in_every_unit() {
    let x = data(40, 2, 1.0, 3).dense;
    let y = x.dot(&array![2.0, -1.0]) + &data(40, 2, 1.0, 4).dense.column(0) * 0.3;
    let gram = x.t().dot(&x);
    let det = gram[[0, 0]] * gram[[1, 1]] - gram[[0, 1]] * gram[[1, 0]];
    let b = x.t().dot(&y);
    let best = [
        (gram[[1, 1]] * b[0] - gram[[0, 1]] * b[1]) / det,
        (gram[[0, 0]] * b[1] - gram[[1, 0]] * b[0]) / det,
    ];
    for target in [1.0, 3e4, 1e8, 1e30] {
        for columns in [[1.0, 1.0], [1e-6, 1e-6], [1e5, 1e5], [1e4, 1.0]] {
            let scaled = &x * &Array1::from(columns.to_vec());
            let y = (&y * target).to_vec();
            let problem =
                Problem::new(scaled.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
            for (name, point, report) in all(&problem, None) {
                let case = format!("{name}, targets {target:e}, features {columns:?}: {report}");
                assert_eq!(report.status, Status::Converged, "{case}");
                for c in 0..2 {
                    let found = point.weights[c] * columns[c] / target;
                    assert!((found - best[c]).abs() <= 1e-3 * 2.3, "{case}: {found} {}", best[c]);
                }
            }
        }
    }
}

/// Weights of 0 were "converged after 0 passes": the gradient was compared with the objective.
#[test]
fn ordinary_least_squares_of_large_targets_is_solved() {
    let x = array![[1.0], [2.0], [3.0], [4.0]];
    for scale in [1.0, 3e4, 1e10] {
        let y = [1.0, 2.1, 2.9, 4.2].map(|y| y * scale);
        let model = Ridge { l2: Some(0.0), ..Ridge::default() }.fit(&x, &y).unwrap();
        // Slope and intercept of the line, by hand: Sxy / Sxx = 5.2 / 5.
        assert!((model.weights[0] / scale - 1.04).abs() <= 1e-3, "{scale:e}: {:?}", model.weights);
        assert!((model.intercept / scale + 0.05).abs() <= 1e-2, "{scale:e}: {}", model.intercept);
    }
}

#[test]
fn small_features_do_not_hide_a_gradient() {
    let data = data(30, 3, 1.0, 5);
    let x = data.dense.mapv(|a| 5e-5 * a);
    let design = Dense::new(x.view()).unwrap();
    let loss = Huber { delta: 0.5 };
    let (weights, _) = reference(&data.dense, &data.reals, &loss, &Zero, 0.0, false);
    let plain = Dense::new(data.dense.view()).unwrap();
    let point = Point { weights, intercept: 0.0 };
    let best =
        Problem::new(plain, &data.reals, loss, Zero, 0.0).unwrap().objective(&point).unwrap();
    let problem = Problem::new(design, &data.reals, loss, Zero, 0.0).unwrap();
    for (name, _, report) in all(&problem, None) {
        let found = report.certificate.objective().unwrap();
        assert!(found <= best * (1.0 + 1e-6), "{name}: {report}, best {best:e}");
        assert_eq!(report.status, Status::Converged, "{name}: {report}");
    }
    // The same for several classes.
    let labels: Vec<usize> = data.reals.iter().map(|y| usize::from(*y > 0.0)).collect();
    let (small, large) = [5e-5, 1.0].map(|s| data.dense.mapv(|a| s * a)).into();
    let objective = |x: &Array2<f64>| {
        let problem =
            MulticlassProblem::new(x.as_design().unwrap(), &labels, 2, Zero, 0.0).unwrap();
        let s = multiclass::auto(&problem, &AutoSettings::default(), None, &mut ()).unwrap();
        s.report.certificate.objective().unwrap()
    };
    let (small, large) = (objective(&small), objective(&large));
    assert!((small - large).abs() <= 1e-5 * large, "{small} {large}");
}

/// The scale is not the start's: at the solution nothing is left to do, for any data.
#[test]
fn a_start_at_the_solution_ends_at_once() {
    let data = data(40, 4, 1.0, 6);
    let design = Dense::new(data.dense.view()).unwrap();
    let y: Vec<f64> = data.reals.iter().map(|y| 1e5 * y).collect();
    let least = Problem::new(design, &y, Squared, Zero, 0.0).unwrap().with_intercept();
    let classes = Problem::new(design, &data.signs, Logistic, Zero, 0.0).unwrap();
    let stop = Stop::at_relative(1e-6);
    let settings = NewtonSettings { stop, ..Default::default() };
    let one = newton(&least, &settings, None, &mut ()).unwrap().state;
    let two = newton(&classes, &settings, None, &mut ()).unwrap().state;
    for (name, _, report) in all(&least, Some(&one)).into_iter().chain(all(&classes, Some(&two))) {
        assert_eq!((report.status, report.passes), (Status::Converged, 0.0), "{name}: {report}");
    }
}
