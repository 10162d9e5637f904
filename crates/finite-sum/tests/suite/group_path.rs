//! Paths of the group lasso: against an independent solver and closed forms.

use crate::common::{data, distance, objective, reference};
use fenchel_finite_sum::loss::{Hinge, Huber, Logistic, Poisson, Squared};
use fenchel_finite_sum::path::{Grid, GroupPathSettings, Path, group_path};
use fenchel_finite_sum::prelude::Refusal;
use fenchel_finite_sum::prelude::{AsDesign, Status, Stop};
use fenchel_finite_sum::prox::{Groups, SparseGroupLasso, Zero};
use fenchel_finite_sum::{Error, Problem};
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::Loss;
use ndarray::{Array2, array};

const D: usize = 24;

/// Eight groups of three neighbours, of uneven weights.
fn groups() -> Groups {
    let weights: Vec<f64> = (0..8).map(|g| 1.0 + 0.2 * f64::from(g % 3)).collect();
    Groups::consecutive(&[3; 8]).unwrap().with_weights(&weights).unwrap()
}

fn settings(l1_ratio: f64, screening: bool) -> GroupPathSettings {
    let stop = Stop { absolute: 0.0, relative: 1e-10, max_passes: 1e5, ..Stop::default() };
    let grid = Grid::Log { count: 5, smallest: 0.05 };
    GroupPathSettings { l1_ratio, grid, screening, stop, ..Default::default() }
}

fn check<L: Loss + Copy>(
    x: &Array2<f64>,
    y: &[f64],
    (loss, l2, intercept): (L, f64, bool),
    path: &Path,
) {
    assert!(path.points[0].support.is_empty(), "the path starts with nothing");
    for (k, at) in path.points.iter().enumerate() {
        assert_eq!(at.report.status, Status::Converged, "point {k}: {}", at.report);
        let (l1, group) = (path.l1_ratio * at.penalty, (1.0 - path.l1_ratio) * at.penalty);
        let h = SparseGroupLasso { groups: groups(), l1, group };
        let (w, b) = reference(x, y, &loss, &h, l2, intercept);
        let best = objective(x, y, &loss, &h, l2, (&w, b));
        let point = path.point(k).unwrap();
        let found = objective(x, y, &loss, &h, l2, (&point.weights, point.intercept));
        assert!((found - best).abs() <= 1e-9 * best, "point {k}: {found} {best}");
        let claimed = at.report.certificate.objective().unwrap();
        assert!((claimed - found).abs() <= 1e-12 * found, "point {k}: {claimed} {found}");
        assert!(distance(&point.weights, &w) <= 1e-3, "point {k}: {point:?} {w:?}");
    }
}

#[test]
fn paths_meet_an_independent_solver() {
    for (ratio, l2, intercept, seed) in
        [(0.0, 0.0, true, 1), (0.3, 0.0, false, 2), (0.0, 0.02, false, 3), (0.5, 0.01, true, 4)]
    {
        let data = data(60, D, 0.6, seed);
        for screening in [true, false] {
            let settings = settings(ratio, screening);
            let dense = Dense::new(data.dense.view()).unwrap();
            let problem = Problem::new(dense, &data.reals, Squared, Zero, l2).unwrap();
            let problem = if intercept { problem.with_intercept() } else { problem };
            let path = group_path(&problem, &groups(), &settings).unwrap();
            check(&data.dense, &data.reals, (Squared, l2, intercept), &path);
            let sparse = Csr::new(data.sparse.view()).unwrap();
            let problem = Problem::new(sparse, &data.signs, Logistic, Zero, l2).unwrap();
            let problem = if intercept { problem.with_intercept() } else { problem };
            let path = group_path(&problem, &groups(), &settings).unwrap();
            check(&data.dense, &data.signs, (Logistic, l2, intercept), &path);
            let dropped = path.points.iter().any(|p| p.screened > 0.3);
            assert_eq!(dropped, screening);
        }
    }
}

/// No room for a copy: nothing is left out, and nothing changes but the passes.
#[test]
fn a_copy_that_is_not_allowed_is_not_made() {
    let data = data(60, D, 0.6, 1);
    let problem = |x| Problem::new(x, &data.reals, Squared, Zero, 0.0).unwrap();
    let problem = problem(Dense::new(data.dense.view()).unwrap());
    let path = group_path(&problem, &groups(), &settings(0.0, true)).unwrap();
    let starved = GroupPathSettings { max_memory: Some(10), ..settings(0.0, true) };
    let starved = group_path(&problem, &groups(), &starved).unwrap();
    for (a, b) in path.points.iter().zip(&starved.points) {
        assert_eq!(b.report.status, Status::Converged, "{}", b.report);
        let objectives = [a, b].map(|p| p.report.certificate.objective().unwrap());
        assert!((objectives[0] - objectives[1]).abs() <= 1e-9 * objectives[0]);
    }
}

/// Weighted rows are copies along the path as well.
#[test]
fn weighted_rows_are_copies() {
    let data = data(40, D, 0.6, 5);
    let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
    let rows: Vec<usize> =
        (0..40).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let x = data.dense.select(ndarray::Axis(0), &rows);
    let y: Vec<f64> = rows.iter().map(|&i| data.signs[i]).collect();
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.0).unwrap();
    let problem = problem.with_weights(&weights).unwrap().with_intercept();
    let path = group_path(&problem, &groups(), &settings(0.2, true)).unwrap();
    check(&x, &y, (Logistic, 0.0, true), &path);
}

/// Orthogonal columns of squared norm `n`: a group is its correlation, shrunk by the penalty.
#[test]
fn the_path_of_orthogonal_columns_is_group_thresholding() {
    let x = array![[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
    // Correlations 3, 4 and 1: the first group has norm 5.
    let y = [8.0, -2.0, 0.0, -6.0];
    let groups = Groups::new(3, &[vec![0, 1], vec![2]]).unwrap().with_weights(&[1.0, 1.0]).unwrap();
    let problem = Problem::new(x.as_design().unwrap(), &y, Squared, Zero, 0.0).unwrap();
    let grid = Grid::Given(vec![0.5, 5.5, 2.5]);
    let path = group_path(&problem, &groups, &GroupPathSettings { grid, ..settings(0.0, true) });
    let path = path.unwrap();
    for (k, expected) in [[0.0, 0.0, 0.0], [1.5, 2.0, 0.0], [2.7, 3.6, 0.5]].iter().enumerate() {
        let point = path.point(k).unwrap();
        assert!(distance(&point.weights, expected) < 1e-4, "{k}: {:?}", point.weights);
    }
    let first = group_path(&problem, &groups, &settings(0.0, true)).unwrap().points[0].penalty;
    assert!((first - 5.0).abs() < 1e-9, "{first}");
}

#[test]
fn what_does_not_fit_is_named() {
    let data = data(20, D, 0.6, 6);
    let dense = || Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(dense(), &data.reals, Squared, Zero, 0.0).unwrap();
    let refused = |groups: &Groups, settings: GroupPathSettings| {
        group_path(&problem, groups, &settings).unwrap_err().to_string()
    };
    let with = |l1_ratio| GroupPathSettings { l1_ratio, ..Default::default() };
    assert!(refused(&groups(), with(1.0)).contains("l1_ratio = 1"));
    assert!(refused(&groups(), with(-0.1)).contains("l1_ratio = -0.1"));
    let short = Groups::consecutive(&[3; 7]).unwrap();
    assert!(refused(&short, with(0.0)).contains("21"), "{}", refused(&short, with(0.0)));
    let partly = Groups::new(D, &[vec![0, 1]]).unwrap();
    assert!(refused(&partly, with(0.0)).contains("into a group"));
    assert!(group_path(&problem, &partly, &settings(0.1, true)).is_ok());
    let kinked = Problem::new(dense(), &data.signs, Hinge, Zero, 0.1).unwrap();
    let error = group_path(&kinked, &groups(), &with(0.0)).unwrap_err();
    assert!(
        matches!(error, Error::Refused(Refusal::Unsupported { method: "group_path", .. })),
        "{error}"
    );
    let far: Vec<f64> = data.signs.iter().map(|y| 1e308 * y).collect();
    let far = Problem::new(dense(), &far, Huber { delta: 1e308 }, Zero, 0.0).unwrap();
    let error = group_path(&far, &groups(), &with(0.0)).unwrap_err().to_string();
    assert!(error.contains("scale the targets down"), "{error}");
    let counts: Vec<f64> = (0..20).map(|i| f64::from(i % 4)).collect();
    let counts = Problem::new(dense(), &counts, Poisson, Zero, 0.1).unwrap();
    assert!(group_path(&counts, &groups(), &with(0.0)).is_err());
}

/// The first penalty has nothing to do, the next ones have no time.
#[test]
fn a_time_limit_is_that_of_the_whole_path() {
    let data = data(60, D, 0.6, 1);
    let dense = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(dense, &data.reals, Squared, Zero, 0.0).unwrap();
    let mut settings = settings(0.0, true);
    settings.stop.max_seconds = Some(0.0);
    let path = group_path(&problem, &groups(), &settings).unwrap();
    assert_eq!(path.points.len(), 1);
}
