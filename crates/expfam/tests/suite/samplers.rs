//! Draws against the moments of their laws, within five standard errors.

use fenchel_expfam::Distribution;
use fenchel_expfam::families::VonMises;
use fenchel_expfam::samplers::*;
use fenchel_expfam::special::{digamma, trigamma};
use fenchel_linalg::{Cholesky, Invalid};
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, array};

/// Checks that the mean of draws is within five standard errors of what is expected.
fn check_mean(name: &str, n: usize, expected: f64, mut draw: impl FnMut() -> f64) {
    let (mut mean, mut square) = (0.0, 0.0);
    for i in 0..n {
        let x = draw();
        let step = (x - mean) / (i + 1) as f64;
        square += step * (x - mean) * i as f64;
        mean += step;
    }
    let error = (square / (n as f64 * (n as f64 - 1.0))).sqrt();
    assert!(
        (mean - expected).abs() <= 5.0 * error,
        "{name}: {mean}, expected {expected} +- {error}"
    );
}

#[test]
fn log_gamma_variables_have_digamma_means() {
    let mut rng = stream(1, 0);
    for shape in [1e-6, 1e-3, 0.3, 1.0, 7.0, 1e6] {
        check_mean("log gamma", 20_000, digamma(shape), || log_gamma_variable(shape, &mut rng));
        let mean = digamma(shape);
        check_mean("its square", 20_000, trigamma(shape), || {
            (log_gamma_variable(shape, &mut rng) - mean).powi(2)
        });
    }
    assert!(log_gamma_variable(0.0, &mut rng).is_nan());
}

#[test]
fn dirichlet_logs_are_right_for_tiny_concentrations() {
    for (concentration, k) in [(1e-8, 4), (0.05, 20), (1.0, 5), (50.0, 3)] {
        let law = Dirichlet::symmetric(concentration, k).unwrap();
        let mut rng = stream(2, k as u64);
        let mean = digamma(concentration) - digamma(k as f64 * concentration);
        let mut p = vec![0.0; k];
        check_mean("E log p", 10_000, mean, || {
            law.sample_log_into(&mut p, &mut rng);
            assert!(p.iter().all(|l| l.is_finite() && *l <= 0.0));
            assert!((p.iter().map(|l| l.exp()).sum::<f64>() - 1.0).abs() < 1e-13);
            p[0]
        });
        // Centred log-probabilities are centred log gamma variables.
        let expected = (k as f64 - 1.0) * trigamma(concentration);
        check_mean("centred squares", 10_000, expected, || {
            law.sample_log_into(&mut p, &mut rng);
            let mean = p.iter().map(|l| l / k as f64).sum::<f64>();
            p.iter().map(|l| (l - mean).powi(2)).sum()
        });
    }
    assert_eq!(
        Dirichlet::new(&[1.0, 0.0]).unwrap_err().to_string(),
        "concentration = 0; expected a finite number > 0"
    );
    assert!(matches!(Dirichlet::new(&[]), Err(Invalid::Empty { .. })));
    assert_eq!(
        Dirichlet::symmetric(1.0, 3).unwrap().sample_log_rows(4, &mut stream(0, 0)).dim(),
        (4, 3)
    );
}

#[test]
fn categories_come_in_proportion() {
    let mut rng = stream(3, 0);
    let weights = [0.0, 2.0, 5.0, 3.0];
    for k in 0..4 {
        let p = weights[k] / 10.0;
        let indicator = |i: usize| if i == k { 1.0 } else { 0.0 };
        check_mean("category", 20_000, p, || indicator(categorical(&weights, &mut rng).unwrap()));
        let logs: Vec<f64> = weights.iter().map(|w: &f64| w.ln() + 900.0).collect();
        check_mean("from logs", 20_000, p, || {
            indicator(categorical_from_logs(&logs, &mut rng).unwrap())
        });
    }
    assert!(categorical(&[0.0], &mut rng).is_err() && categorical(&[f64::NAN], &mut rng).is_err());
    assert!(categorical_from_logs(&[f64::NEG_INFINITY], &mut rng).is_err());
    assert!(categorical_from_logs(&[f64::NAN], &mut rng).is_err());
}

#[test]
fn normal_vectors_agree_in_all_parametrisations() {
    let mean = array![1.0, -2.0, 0.5];
    let covariance = array![[2.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 0.7]];
    let precision =
        Cholesky::new(covariance.view()).unwrap().solve_matrix(Array2::eye(3).view()).unwrap();
    let precision = (&precision + &precision.t()) * 0.5;
    let lower = Cholesky::new(precision.view()).unwrap().lower().to_owned();
    let laws = [
        NormalVector::new(mean.view(), covariance.view()).unwrap(),
        NormalVector::from_natural(precision.dot(&mean).view(), precision.view()).unwrap(),
        NormalVector::from_precision_factor(mean.view(), lower.clone()).unwrap(),
        NormalVector::from_cholesky(lower.t().dot(&mean).view(), lower).unwrap(),
    ];
    for (i, law) in laws.iter().enumerate() {
        assert!(law.mean().iter().zip(&mean).all(|(a, b)| (a - b).abs() < 1e-13));
        let mut rng = stream(4, i as u64);
        for a in 0..3 {
            check_mean("mean", 10_000, mean[a], || law.sample(&mut rng)[a]);
            for b in 0..=a {
                check_mean("covariance", 10_000, covariance[[a, b]], || {
                    let x = law.sample(&mut rng) - &mean;
                    x[a] * x[b]
                });
            }
        }
    }
    let singular = array![[1.0, 1.0], [1.0, 1.0]];
    let refused = NormalVector::new(array![0.0, 0.0].view(), singular.view());
    assert!(matches!(refused, Err(Invalid::NotPositiveDefinite { pivot: 1, .. })));
    assert!(NormalVector::new(array![0.0].view(), covariance.view()).is_err());
}

#[test]
fn wishart_and_inverse_wishart_have_their_means() {
    let scale = array![[2.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 0.7]];
    for degrees in [2.5, 8.0, 40.5] {
        let law = Wishart::new(scale.view(), degrees).unwrap();
        let mut rng = stream(5, degrees as u64);
        for (a, b) in [(0, 0), (1, 0), (2, 1), (2, 2)] {
            check_mean("Wishart", 10_000, degrees * scale[[a, b]], || law.sample(&mut rng)[[a, b]]);
        }
        // E log det W = psi_d(n / 2) + d log 2 + log det V.
        let expected: f64 = (0..3).map(|i| digamma(0.5 * (degrees - f64::from(i)))).sum::<f64>()
            + 3.0 * 2f64.ln()
            + Cholesky::new(scale.view()).unwrap().log_det();
        let log_det = |l: Array2<f64>| 2.0 * l.diag().iter().map(|d| d.ln()).sum::<f64>();
        check_mean("log det", 10_000, expected, || log_det(law.sample_factor(&mut rng)));
    }
    let degrees = 14.0;
    let law = InverseWishart::new(scale.view(), degrees).unwrap();
    let mut rng = stream(6, 0);
    for (a, b) in [(0, 0), (1, 0), (2, 1), (2, 2)] {
        let expected = scale[[a, b]] / (degrees - 4.0);
        check_mean("inverse Wishart", 20_000, expected, || law.sample(&mut rng)[[a, b]]);
    }
    let factor = law.sample_factor(&mut rng);
    assert!(factor.diag().iter().all(|&d| d > 0.0) && factor[[0, 1]] == 0.0);
    // The inverse of an inverse Wishart matrix has the Wishart mean n scale^-1.
    let inverse_scale =
        Cholesky::new(scale.view()).unwrap().solve_matrix(Array2::eye(3).view()).unwrap();
    check_mean("inverse of the inverse", 10_000, degrees * inverse_scale[[1, 0]], || {
        let v = law.sample(&mut rng);
        Cholesky::new(v.view()).unwrap().solve(array![1.0, 0.0, 0.0].view()).unwrap()[1]
    });
    let refused = Wishart::new(scale.view(), 2.0).unwrap_err().to_string();
    assert_eq!(refused, "degrees of freedom = 2; expected a finite number > d - 1");
}

#[test]
fn normal_wishart_laws_scale_the_mean() {
    let scale = array![[2.0, 0.6], [0.6, 1.0]];
    let mean = array![1.0, -1.0];
    let (weight, degrees) = (4.0, 9.0);
    let inverse = NormalInverseWishart::new(mean.view(), weight, scale.view(), degrees).unwrap();
    let direct = NormalWishart::new(mean.view(), weight, scale.view(), degrees).unwrap();
    let mut rng = stream(7, 0);
    // E V = scale / (n - d - 1), and E (m - m0)(m - m0)' = E V / weight.
    check_mean("covariance of the mean", 20_000, 0.6 / 6.0 / weight, || {
        let m = inverse.sample(&mut rng).0 - &mean;
        m[0] * m[1]
    });
    // Given P, (m - m0)' P (m - m0) weight is chi-squared with d degrees.
    check_mean("distance", 10_000, 2.0 / weight, || {
        let (m, lower): (Array1<f64>, Array2<f64>) = direct.sample(&mut rng);
        let z = lower.t().dot(&(m - &mean));
        z.dot(&z)
    });
}

/// The first moment of a nearly uniform law is `k / 2`; a sampler that rejects all draws does not end.
#[test]
fn nearly_uniform_angles_are_drawn() {
    for k in [1e-150, 1e-20, 1e-9, 1.1e-8, 2e-8, 1e-7, 1e-5, 0.5] {
        let p = Distribution::from_natural(VonMises, &[k, 0.0]).unwrap();
        let mut rng = stream(31, 0);
        let cosines: Vec<f64> = (0..2000).map(|_| p.sample(&mut rng).cos()).collect();
        // The cosine has a variance of 1/2.
        let mean = cosines.iter().sum::<f64>() / 2000.0;
        assert!((mean - 0.5 * k).abs() < 4.0 * (0.5_f64 / 2000.0).sqrt(), "{k}: {mean}");
    }
}
