use super::*;
use crate::loss::Poisson;
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use ndarray::ArrayView2;

/// A column.
fn design(column: &[f64]) -> Dense<'_, f64> {
    Dense::new(ArrayView2::from_shape((column.len(), 1), column).unwrap()).unwrap()
}

#[test]
fn the_largest_value_is_found_inside_and_at_the_ends() {
    for at in [-1.0, 0.0, 0.123, 0.9, 1.0, 7.0] {
        let found = concave_maximiser(|s| -(s - at) * (s - at));
        assert!((found - f64::clamp(at, 0.0, 1.0)).abs() <= 1e-3, "{at} {found}");
    }
    assert_eq!(concave_maximiser(|s| s), 1.0);
}

#[test]
fn balance_shrinks_one_sign_only() {
    let mut dual = [0.5, -0.2, 0.5, -0.3, 0.0];
    balance(&design(&[0.0; 5]), &mut dual);
    assert_eq!(dual, [0.25, -0.2, 0.25, -0.3, 0.0]);
    let mut one_sided = [-0.5, -0.1];
    balance(&design(&[0.0; 2]), &mut one_sided);
    assert!(one_sided.iter().all(|u| *u == 0.0));
}

/// Counts of e and a margin of 1: the optimum is 0, and its terms are e and -e. Relative to the objective no rounding is small.
#[test]
fn terms_that_cancel_have_an_allowance() {
    let (mut lifted, e) = (0, std::f64::consts::E);
    for n in 1..300 {
        let column: Vec<f64> = (0..n).map(|i| f64::sin(i as f64)).collect();
        let counts: Vec<f64> = (0..n).map(|i| e * (1.0 + 1e-3 * f64::cos(i as f64))).collect();
        // The last row has a margin of infinity and no weight.
        let weights: Vec<f64> = (0..n).map(|i| f64::from(u8::from(n == 1 || i + 1 < n))).collect();
        let problem = Problem::new(design(&column), &counts, Poisson, Zero, 0.1).unwrap();
        let problem = problem.with_intercept().with_weights(&weights).unwrap();
        let mut gap = Gap::new(&problem);
        let mut point = Point { weights: vec![0.0], intercept: 1.0 };
        gap.at_best_intercept(&problem, &mut point);
        let objective = problem.objective_at(&gap.margins, &point.weights);
        // A lower bound that rounding has lifted above the objective by a few units in the last place of the terms.
        let bound = objective + 4.0 * f64::EPSILON;
        lifted += usize::from(Certificate::gap(objective, bound).value() > 1.0);
        let last = gap.margins.len() - 1;
        if n > 1 {
            gap.margins[last] = f64::INFINITY;
        }
        assert_eq!(gap.bounded(&problem, &point.weights, (objective, bound)).value(), 0.0, "{n}");
        let wrong = gap.bounded(&problem, &point.weights, (objective, objective + 1e-9));
        assert_eq!(wrong.value(), f64::INFINITY);
    }
    assert!(lifted > 0);
}
