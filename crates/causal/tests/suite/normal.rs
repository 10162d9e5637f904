//! Two normal vectors: parametrisations, directions, divergences, closed forms.

use fenchel_causal::normal::{CholeskyPair, MeanPair};
use fenchel_causal::prior::{NormalPrior, Target};
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;

use crate::common::rng;

fn gap<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    a.into_iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn product(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    a.dot(b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn parametrisations_and_directions_agree(k in 1_usize..6, seed in any::<u64>()) {
        let prior = NormalPrior::new(k);
        let mut rng = rng(seed);
        let (p, q) = (prior.sample(&mut rng).unwrap(), prior.sample(&mut rng).unwrap());
        let kl = p.kl(&q).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-10 * a.abs().max(1.0);
        for (a, b) in [
            (p.reverse(), q.reverse()),
            (p.clone(), q.reverse()),
            (p.reverse(), q.clone()),
            (p.to_natural().to_cholesky().unwrap(), q.clone()),
            (p.to_mean().unwrap().to_cholesky().unwrap(), q.clone()),
        ] {
            let other = a.kl(&b).unwrap();
            prop_assert!(near(kl, other), "{kl} {other}");
        }
        prop_assert!(p.kl(&p.reverse()).unwrap() < 1e-12);
        let back = p.reverse().reverse();
        prop_assert!(p.distance_sq(&back).unwrap() < 1e-22 * (1.0 + p.distance_sq(&q).unwrap()));

        // The natural formulas (4.62) to (4.66).
        let (n, r) = (p.to_natural(), p.reverse().to_natural());
        let inverse = |m: &Array2<f64>| {
            fenchel_linalg::Cholesky::new(m.view()).unwrap().solve_matrix(Array2::eye(k).view()).unwrap()
        };
        let c = n.slope.t().to_owned();
        let given = &n.precision + &product(&product(&c, &inverse(&n.precision_given)), &n.slope);
        let shift = &n.eta - &c.dot(&inverse(&n.precision_given)).dot(&n.intercept);
        let precision = &n.precision_given - &product(&product(&n.slope, &inverse(&given)), &c);
        let eta = &n.intercept + &n.slope.dot(&inverse(&given)).dot(&shift);
        let scale = 1e-10 * (1.0 + given.iter().fold(0.0_f64, |a, b| a.max(b.abs())));
        prop_assert!(gap(&r.slope, &c) <= scale && gap(&r.precision_given, &given) <= scale);
        prop_assert!(gap(&r.intercept, &shift) <= scale && gap(&r.precision, &precision) <= scale);
        prop_assert!(gap(&r.eta, &eta) <= scale);
    }

    #[test]
    fn closed_forms_of_distances(k in 1_usize..6, seed in any::<u64>()) {
        let prior = NormalPrior::new(k);
        let mut rng = rng(seed);
        let p = prior.sample(&mut rng).unwrap();
        let square = |m: Array2<f64>| m.mapv(|e| e * e).sum();
        let vector = |m: Array1<f64>| m.mapv(|e| e * e).sum();
        let q = p.intervene(&prior.sample_intervention(Target::Cause, &mut rng).unwrap()).unwrap();
        let (n, m) = (p.to_natural(), q.to_natural());
        let (nr, mr) = (p.reverse().to_natural(), q.reverse().to_natural());
        let causal = n.distance_sq(&m).unwrap();
        let anti = nr.distance_sq(&mr).unwrap();
        // (4.23), exactly.
        let claim = causal + vector(&nr.eta - &mr.eta) + square(&nr.precision - &mr.precision);
        prop_assert!((anti - claim).abs() <= 1e-9 * anti, "{anti} {claim}");
        prop_assert!(anti >= causal * (1.0 - 1e-9));

        let q = p.intervene(&prior.sample_intervention(Target::Effect, &mut rng).unwrap()).unwrap();
        let (m, mr) = (q.to_natural(), q.reverse().to_natural());
        let causal = n.distance_sq(&m).unwrap();
        let claim = square(n.slope.clone()) + vector(&n.intercept - &m.intercept) + square(&n.precision_given - &m.precision_given);
        prop_assert!((causal - claim).abs() <= 1e-9 * causal);
        let anti = nr.distance_sq(&mr).unwrap();
        let claim = square(n.slope.clone())
            + vector(&nr.intercept - &n.eta)
            + square(&nr.precision_given - &n.precision)
            + vector(&nr.eta - &m.intercept)
            + square(&nr.precision - &m.precision_given);
        prop_assert!((anti - claim).abs() <= 1e-9 * anti, "{anti} {claim}");
    }
}

/// By hand in one dimension, with a conditional precision of up to 1e12: the formula by subtraction would lose these digits.
#[test]
fn reversing_a_nearly_deterministic_pair() {
    for scale in [1.0, 1e4, 1e8, 1e12_f64] {
        let pair = CholeskyPair::new(
            array![0.0],
            array![[1.0]],
            array![[2.0 * scale.sqrt()]],
            array![0.0],
            array![[scale.sqrt()]],
        )
        .unwrap();
        // X ~ N(0, 1), Y = 2 X + noise of variance 1/scale: Y ~ N(0, 4 + 1/scale).
        let reversed = pair.reverse();
        let expected = 1.0 / (4.0 + 1.0 / scale).sqrt();
        let error = (reversed.factor()[(0, 0)] / expected - 1.0).abs();
        assert!(error < 1e-14, "{scale:e}: {error:e}");
    }
}

/// Maximum likelihood from many samples of a pair in other dimensions than square.
#[test]
fn fitting_and_sampling() {
    let pair = MeanPair {
        mean: array![1.0, -1.0],
        covariance: array![[2.0, 0.5], [0.5, 1.0]],
        slope: array![[1.0, 0.5]],
        intercept: array![0.3],
        covariance_given: array![[0.25]],
    }
    .to_cholesky()
    .unwrap();
    for law in [pair.clone(), pair.reverse()] {
        let data = law.sample(40_000, &mut rng(1));
        let (x, y) = data.view().split_at(ndarray::Axis(1), 2);
        let fitted = MeanPair::fit(x, y, 0.0).unwrap().to_cholesky().unwrap();
        // KL of a fit is about (number of parameters) / (2 n) = 9 / 80000.
        let kl = pair.kl(&fitted).unwrap();
        assert!(kl < 5e-4, "{kl}");
    }
    let flat = Array2::<f64>::ones((5, 2));
    let error = MeanPair::fit(flat.view(), flat.view(), 0.0).unwrap_err();
    assert!(error.to_string().contains("not positive definite"));
    assert!(MeanPair::fit(flat.view(), flat.view(), 1.0).is_ok());
}

/// Per sample the largest eigenvalue of the Hessian is 1 + |x|^2 + |y|^2 in both directions: power iteration on differences of
/// gradients.
#[test]
fn smoothness_is_the_same_in_both_directions() {
    let prior = NormalPrior::new(2);
    let mut rng = rng(6);
    let p = prior.sample(&mut rng).unwrap();
    let sample = p.sample(1, &mut rng).row(0).to_owned();
    let bound = 1.0 + sample.dot(&sample);
    for model in [p.clone(), p.reverse()] {
        let (a, b) = model.shape();
        let (first, second): (Array1<f64>, Array1<f64>) = {
            let (x, y) = sample.view().split_at(ndarray::Axis(0), 2);
            if model.direction() == p.direction() {
                (x.to_owned(), y.to_owned())
            } else {
                (y.to_owned(), x.to_owned())
            }
        };
        // The residuals are linear in the parameters (zeta, L; M, m, L): J J' has the eigenvalues of the Hessian.
        let mut largest: f64 = 0.0;
        for j in 0..a {
            largest = largest.max(1.0 + (j..a).map(|i| first[i] * first[i]).sum::<f64>());
        }
        for j in 0..b {
            let own: f64 = (j..b).map(|i| second[i] * second[i]).sum();
            largest = largest.max(1.0 + first.dot(&first) + own);
        }
        assert!((largest - bound).abs() < 1e-12 * bound);
    }
}
