use super::*;
use crate::loss::Logistic;
use crate::prox::Zero;
use fenchel_linalg::Dense;
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::RngExt;

/// What the rows of a subset see is gone, and the rest is what exact orthogonalisation leaves.
#[test]
fn what_is_left_is_unseen() {
    let mut rng = stream(3, 0);
    let x = Array2::from_shape_fn((12, 6), |_| rng.random_range(-1.0..1.0));
    let y = [1.0; 12];
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, 0.0);
    let problem = problem.unwrap().with_intercept();
    let rows: Vec<bool> = (0..12).map(|i| i < 4).collect();
    let weights: Vec<f64> = (0..6).map(|_| rng.random_range(-1.0..1.0)).collect();
    let left = problem.unseen_by(&rows, &Point { weights, intercept: 0.4 });
    let margins = problem.signed_margins(&left);
    assert!(margins[..4].iter().all(|t| t.abs() < 1e-12), "{margins:?}");
    assert!(margins[4..].iter().any(|t| t.abs() > 1e-2), "{margins:?}");
}

#[test]
fn directions_are_checked_on_every_row() {
    let x = ndarray::array![[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
    let y = [1.0, 1.0, -1.0];
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, Zero, 0.0).unwrap();
    let along = |a, b| Point { weights: vec![a, b], intercept: 0.0 };
    assert!(problem.is_recession(&along(1.0, 0.0)));
    assert!(!problem.is_recession(&along(-1.0, 0.0)));
    assert!(!problem.is_recession(&along(1.0, 0.1)));
    assert!(!problem.is_recession(&along(0.0, 0.0)));
    // Quasi-separated: the second and third row lie on the hyperplane.
    assert!(problem.recedes(&along(6.0, 0.1)));
    assert!(!problem.recedes(&along(1.0, 0.1)), "no sign of separation");
    let weights = [0.0, 1.0, 1.0];
    assert!(!problem.with_weights(&weights).unwrap().recedes(&along(6.0, 0.1)));
}
