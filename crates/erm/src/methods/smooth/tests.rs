use super::*;
use crate::loss::Logistic;
use fenchel_linalg::Dense;
use fenchel_optim::prox::L1;
use ndarray::Array2;

/// With weights, an intercept, and a feature that is always 0: `1 / sqrt(h_c)`, up to a multiple.
#[test]
fn the_first_matrix_of_lbfgs_is_the_inverse_root_of_the_curvatures() {
    let a = ndarray::array![[1.0, 0.0, 2.0], [3.0, 0.0, -1.0]];
    let design = Dense::new(a.view()).unwrap();
    let problem = Problem::new(design, &[1.0, -1.0], Logistic, Zero, 0.0).unwrap();
    let problem = problem.with_weights(&[3.0, 1.0]).unwrap().with_intercept();
    let (mut function, _) = SmoothPart::new(&problem, None).unwrap();
    let found = function.inverse_diagonal().unwrap();
    // The weights are 1.5 and 0.5.
    let h = [1.5 + 0.5 * 9.0, 1.5 * 4.0 + 0.5, 1.5 + 0.5].map(|sum: f64| sum / 8.0);
    let multiples = [(found[0], h[0]), (found[2], h[1]), (found[3], h[2])];
    for (found_c, h) in multiples {
        let expected = found[0] * (0.75 / h).sqrt();
        assert!((found_c - expected).abs() < 1e-14 * expected, "{found:?}");
    }
    assert!(found[1].is_finite() && found[1] > found[0]);
}

/// Whatever was evaluated in between, a certificate is that of the point it is asked for.
#[test]
fn a_value_elsewhere_does_not_change_a_certificate() {
    let a = Array2::from_shape_fn((9, 3), |(i, c)| ((3 * i + 5 * c) as f64).sin());
    let y: Vec<f64> = (0..9).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let design = Dense::new(a.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, L1 { strength: 0.05 }, 0.0).unwrap();
    let x = [0.3, -0.2, 0.0];
    let expected = problem.certify(&Point { weights: x.to_vec(), intercept: 0.0 }).unwrap();
    let (mut function, _) = SmoothPart::new(&problem, None).unwrap();
    let mut gradient = [0.0; 3];
    let value = function.value_gradient(&x, &mut gradient) + 0.05 * 0.5;
    for elsewhere in [None, Some([2.0, 1.0, -1.0])] {
        elsewhere.map(|x| function.value_only(&x));
        let found = function.certify(&x, value, &gradient);
        assert!((found.value() - expected.value()).abs() <= 1e-14, "{found} {expected}");
    }
}
