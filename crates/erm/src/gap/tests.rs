use super::*;
use fenchel_linalg::Dense;
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
