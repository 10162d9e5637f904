//! Regularisation paths: against cold fits, an independent solver and closed forms.

use crate::common::{data, distance, objective, reference};
use fenchel_datasets::embedded;
use fenchel_finite_sum::loss::{Logistic, Squared, SquaredHinge};
use fenchel_finite_sum::methods::{NewtonSettings, newton};
use fenchel_finite_sum::path::path;
use fenchel_finite_sum::path::{
    Grid, Path, PathSettings, Screening, elastic_net_path, logistic_path,
};
use fenchel_finite_sum::prelude::Refusal;
use fenchel_finite_sum::prelude::{AsDesign, Named, Names, Status, Stop};
use fenchel_finite_sum::{Error, Problem};
use fenchel_linalg::Design;
use fenchel_optim::Loss;
use fenchel_optim::prox::{L1, Zero};
use ndarray::{Array2, array};
use proptest::prelude::*;

fn tight(count: usize, l1_ratio: f64, screening: Screening) -> PathSettings {
    // More features than rows and a small penalty: descent on nearly dependent columns is slow.
    let stop = Stop { absolute: 0.0, relative: 1e-11, max_passes: 1e5, ..Stop::default() };
    let grid = Grid::Log { count, smallest: 0.02 };
    PathSettings { l1_ratio, grid, screening, stop, ..PathSettings::default() }
}

/// Every point certified over all features, and as good as the independent solver's.
fn check<L: Loss + Copy>(x: &Array2<f64>, y: &[f64], loss: L, path: &Path) {
    for (k, at) in path.points.iter().enumerate() {
        assert_eq!(at.report.status, Status::Converged, "point {k}: {}", at.report);
        let (l1, l2) = (path.l1_ratio * at.penalty, (1.0 - path.l1_ratio) * at.penalty);
        let regulariser = L1 { strength: l1 };
        let point = path.point(k).unwrap();
        let (best, b) = reference(x, y, &loss, &regulariser, l2, true);
        let value = |w: &[f64], b: f64| objective(x, y, &loss, &regulariser, l2, (w, b));
        let (found, expected) = (value(&point.weights, point.intercept), value(&best, b));
        assert!((found - expected).abs() <= 1e-9 * expected, "point {k}: {found} {expected}");
        // What is active is never screened.
        for (c, w) in best.iter().enumerate().filter(|(_, w)| w.abs() > 1e-4) {
            assert!(at.support.contains(&c), "point {k}, feature {c}: {w}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn paths_meet_an_independent_solver(
        n in 10usize..40, d in 2usize..25, density in 0.3f64..1.0, seed in 0u64..1000,
        ratio in prop_oneof![Just(1.0), Just(0.5)],
        rule in prop_oneof![Just(Screening::Off), Just(Screening::Sphere), Just(Screening::Strong)],
    ) {
        let data = data(n, d, density, seed);
        prop_assume!(data.signs.iter().any(|y| *y != data.signs[0]));
        let settings = tight(4, ratio, rule);
        let lasso = elastic_net_path(&data.dense, &data.reals, &settings).unwrap();
        check(&data.dense, &data.reals, Squared, &lasso);
        let logistic = logistic_path(&data.sparse, &data.signs, &settings).unwrap();
        check(&data.dense, &data.signs, Logistic, &logistic);
    }
}

#[test]
fn every_rule_finds_the_same_path_and_drops_something() {
    let data = embedded::breast_cancer();
    let scale = fenchel_finite_sum::Standardiser::fit(&data.x).unwrap();
    let x = scale.transform(&data.x).unwrap();
    let of = |rule| logistic_path(&x, &data.y, &tight(20, 0.9, rule)).unwrap();
    let paths = [of(Screening::Off), of(Screening::Sphere), of(Screening::Strong)];
    assert!(paths[0].points.iter().all(|p| p.screened == 0.0));
    for path in &paths[1..] {
        assert!(path.points.iter().any(|p| p.screened > 0.4));
        for k in 0..20 {
            let (a, b) = (paths[0].point(k).unwrap(), path.point(k).unwrap());
            assert_eq!(path.points[k].report.status, Status::Converged);
            let size = a.weights.iter().fold(1.0, |m: f64, w| m.max(w.abs()));
            assert!(distance(&a.weights, &b.weights) < 1e-3 * size, "point {k}");
        }
    }
}

/// A warm start changes the way, not the end.
#[test]
fn points_of_a_path_equal_cold_fits() {
    let data = data(60, 30, 0.5, 7);
    let path = elastic_net_path(&data.sparse, &data.reals, &tight(10, 0.8, Screening::Sphere));
    for at in &path.unwrap().points {
        let (design, l1) = (data.sparse.as_design().unwrap(), L1 { strength: 0.8 * at.penalty });
        let problem = Problem::new(design, &data.reals, Squared, l1, 0.2 * at.penalty)
            .unwrap()
            .with_intercept();
        let stop = Stop { absolute: 0.0, relative: 1e-13, ..Stop::default() };
        let settings = NewtonSettings { stop, ..NewtonSettings::default() };
        let cold = newton(&problem, &settings, None, &mut ()).unwrap();
        assert!(distance(&cold.state.weights, &at.dense(30).weights) < 1e-4);
    }
}

/// Orthogonal columns of squared norm `n`: each weight is its correlation, soft-thresholded.
#[test]
fn the_path_of_orthogonal_columns_is_soft_thresholding() {
    let x = array![[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    let y = [3.5, 2.5, -2.5, -3.5];
    let grid = Grid::Given(vec![0.1, 3.5, 2.0, 3.0, 0.4]);
    let settings = PathSettings { grid, ..tight(1, 1.0, Screening::Sphere) };
    let path = elastic_net_path(&x, &y, &settings).unwrap();
    let expected =
        [(3.5, 0.0, 0.0), (3.0, 0.0, 0.0), (2.0, 1.0, 0.0), (0.4, 2.6, 0.1), (0.1, 2.9, 0.4)];
    for (k, (penalty, first, second)) in expected.into_iter().enumerate() {
        let point = path.point(k).unwrap();
        assert_eq!(path.points[k].penalty, penalty);
        assert!((point.weights[0] - first).abs() < 1e-5, "{penalty}: {:?}", point.weights);
        assert!((point.weights[1] - second).abs() < 1e-5, "{penalty}: {:?}", point.weights);
    }
    let matrix = path.coefficients().unwrap();
    assert_eq!((matrix.shape(), matrix.nnz()), ((5, 2), 5));
    assert_eq!(matrix.get(4, 1), Some(&path.points[4].weights[1]));
    assert!(path.point(5).is_none());
}

/// Just above the first penalty nothing enters, just below something does.
#[test]
fn the_path_starts_where_the_first_feature_enters() {
    let data = data(50, 12, 0.7, 3);
    for ratio in [1.0, 0.3] {
        let first = logistic_path(&data.sparse, &data.signs, &tight(2, ratio, Screening::Sphere));
        let first = first.unwrap().points[0].penalty;
        let grid = Grid::Given(vec![1.0001 * first, 0.99 * first]);
        let settings = PathSettings { grid, ..tight(2, ratio, Screening::Sphere) };
        let path = logistic_path(&data.sparse, &data.signs, &settings).unwrap();
        assert!(path.points[0].support.is_empty() && path.points[1].support.len() == 1);
    }
}

#[test]
fn sample_weights_and_other_losses_walk_too() {
    let data = data(40, 10, 0.8, 11);
    let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
    let copies: Vec<usize> = (0..40).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    let design = data.sparse.as_design().unwrap();
    let rows = design.subset(&copies);
    let signs: Vec<f64> = copies.iter().map(|&i| data.signs[i]).collect();
    let settings = tight(5, 1.0, Screening::Sphere);
    let weighted =
        Problem::new(data.sparse.as_design().unwrap(), &data.signs, SquaredHinge, Zero, 0.01)
            .and_then(|problem| problem.with_intercept().with_weights(&weights))
            .unwrap();
    let copied = Problem::new(design.part(&rows), &signs, SquaredHinge, Zero, 0.01)
        .unwrap()
        .with_intercept();
    let (a, b) = (path(&weighted, &settings).unwrap(), path(&copied, &settings).unwrap());
    for k in 0..5 {
        let (a, b) = (a.point(k).unwrap(), b.point(k).unwrap());
        assert!(distance(&a.weights, &b.weights) < 1e-4, "point {k}");
    }
}

#[test]
fn constant_targets_leave_the_origin() {
    let x = array![[1.0, 2.0], [0.5, 1.0], [3.0, 1.0]];
    let path = elastic_net_path(&x, &[2.0; 3], &PathSettings::default()).unwrap();
    assert!(path.points.iter().all(|p| p.support.is_empty() && (p.intercept - 2.0).abs() < 1e-12));
}

#[test]
fn settings_out_of_range_are_named() {
    let (x, y) = (array![[1.0, 2.0], [0.5, 1.0], [3.0, 1.0]], [2.0, 1.0, 0.0]);
    let refused = |settings: PathSettings| elastic_net_path(&x, &y, &settings).unwrap_err();
    let base = PathSettings::default();
    let text = |settings| refused(settings).to_string();
    assert!(text(PathSettings { l1_ratio: 0.0, ..base.clone() }).contains("l1_ratio = 0"));
    assert!(text(PathSettings { l1_ratio: f64::NAN, ..base.clone() }).contains("l1_ratio = NaN"));
    let grid = Grid::Given(vec![1.0, 0.0]);
    assert!(text(PathSettings { grid, ..base.clone() }).contains("penalty of the grid = 0"));
    let grid = Grid::Given(vec![]);
    assert!(text(PathSettings { grid, ..base.clone() }).contains("grid of penalties is empty"));
    let grid = Grid::Log { count: 3, smallest: 2.0 };
    assert!(text(PathSettings { grid, ..base.clone() }).contains("smallest of the grid = 2"));
    let grid = Grid::Log { count: usize::MAX, smallest: 0.5 };
    assert!(text(PathSettings { grid, ..base.clone() }).contains("at most 1,000,000"));
    let limited = PathSettings { max_memory: Some(10), ..base };
    assert!(matches!(refused(limited), Error::Refused(Refusal::MemoryLimit { .. })));
}

/// A path of a design with names says which of them come and go.
#[test]
fn a_path_prints_the_names_that_come() {
    // Orthogonal columns, whose correlations with the targets are 2 and 0.5.
    let x = array![[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    let y = [2.5, 1.5, -1.5, -2.5];
    let x = Named { x, names: Names::new(["age", "plan=basic"]) };
    let grid = Grid::Given(vec![3.0, 1.0, 0.1]);
    let path = elastic_net_path(&x, &y, &PathSettings { grid, ..PathSettings::default() }).unwrap();
    let text = path.to_string();
    let words: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1], ["3.000", "0"]);
    assert_eq!(words[2], ["1.000", "1", "+age"]);
    assert_eq!(words[3], ["0.1000", "2", "+plan=basic"]);
    let labels = ["yes", "yes", "no", "no"];
    let path = logistic_path(&x, &labels, &PathSettings::default()).unwrap();
    assert_eq!(path.names, x.names);
}
