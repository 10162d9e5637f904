//! Distances of subspaces against closed forms, and the perturbation theorems of the thesis.

use fenchel_linalg::factor::{svd, symmetric_eigen};
use fenchel_moments::subspace::{orthonormal, principal_angles, trace_correlation};
use fenchel_moments::trace_error;
use ndarray::{Array2, array};
use proptest::prelude::*;

use crate::common::normal;

#[test]
fn angles_of_planes_are_those_they_are_built_from() {
    for (small, large) in [(1e-12, 0.3), (0.2, 1.2), (1e-7, 1.57), (0.0, 0.5)] {
        let a = array![[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]];
        let (s, l): (f64, f64) = (small, large);
        let b = array![[s.cos(), 0.0], [0.0, l.cos()], [s.sin(), 0.0], [0.0, l.sin()]];
        // Another basis of the same span.
        let b = b.dot(&array![[2.0, -1.0], [0.5, 3.0]]);
        let angles = principal_angles(a.view(), b.view()).unwrap();
        assert!((angles[0] - s).abs() <= 1e-4 * s + 4e-16, "{angles} {s}");
        assert!((angles[1] - l).abs() <= 1e-9, "{angles} {l}");
        let expected = (s.sin().powi(2) + l.sin().powi(2)) / 2.0;
        let error = trace_error(a.view(), b.view()).unwrap();
        assert!((error - expected).abs() <= 1e-13 * expected + 1e-31, "{error:e} {expected:e}");
        let correlation = trace_correlation(a.view(), b.view()).unwrap();
        assert!((correlation * correlation - (1.0 - expected)).abs() < 1e-14);
    }
}

#[test]
fn a_tiny_angle_keeps_its_digits() {
    // 1 - cos^2 would be 0 here.
    let a = array![[1.0], [0.0]];
    let b = array![[1.0], [1e-11]];
    let error = trace_error(a.view(), b.view()).unwrap();
    assert!((error - 1e-22).abs() < 1e-30, "{error:e}");
}

#[test]
fn a_basis_must_have_full_rank() {
    let flat = array![[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]];
    let error = trace_error(flat.view(), flat.view()).unwrap_err().to_string();
    assert!(error.contains("rank 1; expected 2"), "{error}");
    assert!(orthonormal(array![[1.0, 0.0]].view()).is_err());
}

fn frobenius(a: &Array2<f64>) -> f64 {
    a.iter().map(|v| v * v).sum::<f64>().sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Theorem 2.3 (MO-63): `R <= ||S' - S||_F / (gap sqrt k)` for the leading eigenvectors.
    #[test]
    fn davis_kahan_bounds_the_trace_error(d in 2usize..7, seed in 0u64..1000, size in 1e-4..2.0) {
        let a = normal(d, d, seed);
        let s = &a + &a.t();
        let e = normal(d, d, seed + 5000);
        let t = &s + &((&e + &e.t()) * size);
        let (one, two) = (symmetric_eigen(s.view()).unwrap(), symmetric_eigen(t.view()).unwrap());
        for k in 1..d {
            // The k largest of `s` against all of `t` but its k largest.
            let gap = one.values[d - k] - two.values[d - k - 1];
            if gap <= 0.0 {
                continue;
            }
            let top = |e: &fenchel_linalg::factor::SymmetricEigen| {
                Array2::from_shape_fn((d, k), |(i, j)| e.vectors[[i, d - k + j]])
            };
            let r = trace_error(top(&one).view(), top(&two).view()).unwrap().sqrt();
            let bound = frobenius(&(&t - &s)) / (gap * (k as f64).sqrt());
            prop_assert!(r <= bound * (1.0 + 1e-9), "{r} > {bound}");
        }
    }

    /// The deterministic core of theorem 2.4 (MO-64).
    #[test]
    fn the_error_of_the_span_is_that_of_the_matrix_over_its_eigenvalue(
        d in 2usize..7, rank in 1usize..4, seed in 0u64..1000, size in 1e-5..0.3,
    ) {
        let k = rank.min(d - 1);
        let b = normal(d, k, seed);
        let v = b.dot(&b.t());
        let e = normal(d, d, seed + 9000);
        let hat = &v + &((&e + &e.t()) * size);
        let truth = symmetric_eigen(v.view()).unwrap();
        let found = symmetric_eigen(hat.view()).unwrap();
        let difference = &hat - &v;
        let smallest = truth.values[d - k];
        let spectral = svd(difference.view()).unwrap().values[0];
        prop_assume!(spectral < 0.5 * smallest);
        let top = |e: &fenchel_linalg::factor::SymmetricEigen| {
            Array2::from_shape_fn((d, k), |(i, j)| e.vectors[[i, d - k + j]])
        };
        let r = trace_error(top(&truth).view(), top(&found).view()).unwrap().sqrt();
        let bound = 2.0 * frobenius(&difference) / (smallest * (k as f64).sqrt());
        prop_assert!(r <= bound * (1.0 + 1e-9), "{r} > {bound}");
    }
}
