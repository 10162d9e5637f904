//! Priors from beliefs, laws of maximum entropy, mixtures.

use fenchel_expfam::families::*;
use fenchel_expfam::maximum_entropy::maximum_entropy;
use fenchel_expfam::quantiles::maximum_entropy_within;
use fenchel_expfam::*;
use fenchel_optim::random::stream;
use fenchel_optim::{Fit, Progress, Status, Stop};
use ndarray::{Array2, array};
use rand::RngExt;
use statrs::distribution::{Beta as OtherBeta, ContinuousCDF, Gamma as OtherGamma};

#[test]
fn members_have_the_quantiles_that_were_asked_for() {
    for (low, high, mass) in [(2.0, 8.0, 0.9), (0.01, 4.0, 0.5), (99.0, 101.0, 0.99)] {
        let p = Gamma.between(low, high, mass).unwrap();
        let other = OtherGamma::new(p.shape(), p.rate()).unwrap();
        assert!((other.cdf(low) - 0.5 * (1.0 - mass)).abs() < 1e-8, "{low} {high}");
        assert!((other.cdf(high) - 0.5 * (1.0 + mass)).abs() < 1e-8, "{low} {high}");
        let q = InverseGamma.between(low, high, mass).unwrap();
        assert!((q.cdf(high) - q.cdf(low) - mass).abs() < 1e-10);
        let q = LogNormal.between(low, high, mass).unwrap();
        assert!((q.cdf(high) - q.cdf(low) - mass).abs() < 1e-12);
        let q = Normal.between(low, high, mass).unwrap();
        assert!((q.location() - 0.5 * (low + high)).abs() < 1e-10 * high);
    }
    // 90 % within 1.644853626951472714864 deviations.
    let q = Normal.between(-1.0, 1.0, 0.9).unwrap();
    assert!((q.standard_deviation() * 1.644_853_626_951_472_7 - 1.0).abs() < 1e-12);
    for (low, high, mass) in [(0.1, 0.4, 0.9), (0.001, 0.9, 0.8), (0.98, 0.99, 0.5)] {
        let p = Beta.between(low, high, mass).unwrap();
        let (a, b) = p.shapes();
        let other = OtherBeta::new(a, b).unwrap();
        assert!((other.cdf(low) - 0.5 * (1.0 - mass)).abs() < 1e-8, "{low} {high}");
        assert!((other.cdf(high) - 0.5 * (1.0 + mass)).abs() < 1e-8, "{low} {high}");
    }
    for bad in [(8.0, 2.0, 0.9), (-1.0, 2.0, 0.9), (1.0, 2.0, 1.0), (f64::NAN, 2.0, 0.5)] {
        assert!(Gamma.between(bad.0, bad.1, bad.2).is_err());
        assert!(Beta.between(bad.0, bad.1, bad.2).is_err());
    }
}

#[test]
fn priors_from_intervals_and_modes_are_the_textbook_laws() {
    let prior = Prior::<NormalKnownVariance>::between(
        NormalKnownVariance::new(4.0).unwrap(),
        -1.0,
        3.0,
        0.9,
    )
    .unwrap();
    // m ~ N(1, v / n0) with v / n0 = (2 / 1.6448536)^2.
    assert!((prior.mean()[0] - 1.0).abs() < 1e-12);
    assert!((prior.weight() * (2.0f64 / 1.644_853_626_951_472_7).powi(2) - 4.0).abs() < 1e-10);
    // -eta ~ Gamma(n0 + 1, n0 mu0).
    let prior = Prior::<Exponential>::between(2.0, 8.0, 0.9).unwrap();
    let rate = OtherGamma::new(prior.weight() + 1.0, prior.weight() * prior.mean()[0]).unwrap();
    assert!((rate.cdf(8.0) - 0.95).abs() < 1e-8 && (rate.cdf(2.0) - 0.05).abs() < 1e-8);
    let prior = Prior::<NormalKnownMean>::between(2.0, 8.0, 0.9).unwrap();
    let (n0, v) = (prior.weight(), prior.mean()[0]);
    let precision = OtherGamma::new(0.5 * n0 + 1.0, 0.5 * n0 * v).unwrap();
    assert!((precision.cdf(8.0) - 0.95).abs() < 1e-8 && (precision.cdf(2.0) - 0.05).abs() < 1e-8);
    // An interval over many decades is no conjugate prior.
    assert!(Prior::<Exponential>::between(1e-6, 1.0, 0.9).is_err());
    let (a, b) = Prior::<Bernoulli>::with_mode(0.2, 12.0).unwrap().as_beta();
    assert!(((a - 1.0) / (a + b - 2.0) - 0.2).abs() < 1e-14 && (a + b - 12.0).abs() < 1e-12);
    let (shape, rate) = Prior::<Poisson>::with_mode(3.0, 2.0).unwrap().as_gamma();
    assert!(((shape - 1.0) / rate - 3.0).abs() < 1e-14);
    assert!(Prior::<Bernoulli>::with_mode(0.2, 2.0).is_err());
}

#[test]
fn no_member_within_an_interval_has_more_entropy() {
    let best = maximum_entropy_within(Gamma, 1.0, 4.0, 0.9).unwrap();
    assert!((best.cdf(4.0) - best.cdf(1.0) - 0.9).abs() < 1e-9);
    let most = best.entropy().unwrap();
    for below in [0.01, 0.03, 0.05, 0.07, 0.09] {
        let other = Gamma.with_quantiles((1.0, below), (4.0, below + 0.9)).unwrap();
        assert!(other.entropy().unwrap() <= most + 1e-9, "{below}");
    }
}

#[test]
fn maximum_entropy_has_the_means_and_no_feasible_law_has_more() {
    let t = Array2::from_shape_fn((8, 2), |(i, j)| ((i + 1) as f64).powi(j as i32 + 1));
    let means = [4.0, 19.0];
    let found = maximum_entropy(&[1.0; 8], t.view(), &means).unwrap();
    assert_eq!(found.report.status, Status::Converged);
    let p = &found.probabilities;
    let entropy = |p: &[f64]| -p.iter().map(|p| p * p.ln()).sum::<f64>();
    assert!((8f64.ln() - found.divergence - entropy(p)).abs() < 1e-12);
    // Directions that change neither mass nor means: third differences.
    for i in 0..5 {
        for size in [1e-3, -1e-3] {
            let mut q = p.clone();
            for (j, c) in [1.0, -3.0, 3.0, -1.0].iter().enumerate() {
                q[i + j] += size * c;
            }
            assert!(entropy(&q) < entropy(p));
        }
    }
    // No law on these values has a mean above 8.
    let none = maximum_entropy(&[1.0; 8], t.select(ndarray::Axis(1), &[0]).view(), &[8.5]).unwrap();
    assert_ne!(none.report.status, Status::Converged);
    assert!(maximum_entropy(&[1.0, 0.0], array![[1.0], [2.0]].view(), &[1.5]).is_err());
    assert!(maximum_entropy(&[1.0], array![[1.0], [2.0]].view(), &[1.5]).is_err());
}

/// Draws of two normal laws.
fn two_normals(n: usize) -> Vec<f64> {
    let mut rng = stream(5, 0);
    let (a, b) = (
        Normal.with_mean_variance(0.0, 1.0).unwrap(),
        Normal.with_mean_variance(6.0, 4.0).unwrap(),
    );
    (0..n)
        .map(|_| if rng.random::<f64>() < 0.3 { a.sample(&mut rng) } else { b.sample(&mut rng) })
        .collect()
}

#[test]
fn mixtures_take_weights_and_a_start() {
    let x = two_normals(300);
    let (weights, copies): (Vec<f64>, Vec<f64>) = (
        (0..300).map(|i| f64::from(i % 3)).collect(),
        (0..300).flat_map(|i| vec![x[i]; i % 3]).collect(),
    );
    let former = Em::default().fit(Normal, &x).unwrap();
    let fit = Fit::new().weights(&weights).start(&former);
    let weighted = Em::default().fit_with(Normal, &x, fit).unwrap();
    let copied = Em::default().fit_with(Normal, &copies, Fit::new().start(&former)).unwrap();
    assert!((weighted.objective / copied.objective - 1.0).abs() < 1e-12);
    for (a, b) in weighted.components.iter().zip(&copied.components) {
        assert!((a.location() - b.location()).abs() < 1e-9);
    }
    let three = Em { components: 3, ..Em::default() };
    assert!(three.fit_with(Normal, &x, Fit::new().start(&former)).is_err());
}

#[test]
fn mixtures_rise_monotonically_to_a_certified_end() {
    let x = two_normals(3000);
    let mut objectives = vec![];
    let em = Em { starts: 1, ..Em::default() };
    let check = fenchel_optim::Cadence::Every(1.0);
    let em = Em { stop: Stop { check, ..em.stop }, ..em };
    let mut watch = |progress: &Progress| {
        objectives.extend(progress.certificate.objective());
        std::ops::ControlFlow::Continue(())
    };
    let fit = em.fit_with(Normal, &x, Fit::new().watch(&mut watch)).unwrap();
    assert!(objectives.len() > 5);
    for pair in objectives.windows(2) {
        assert!(pair[1] <= pair[0] + 1e-12 * pair[0].abs(), "{pair:?}");
    }
    assert_eq!(fit.report.status, Status::Converged);
    assert!(fit.report.certificate.value() <= 1e-9);
    let k = usize::from(fit.components[0].location() > 3.0);
    let (low, high) = (&fit.components[k], &fit.components[1 - k]);
    // Five standard errors at n = 3000.
    assert!(low.location().abs() < 0.25 && (high.location() - 6.0).abs() < 0.25);
    assert!((fit.weights[k] - 0.3).abs() < 0.06);
    // At the end each component is the posterior mean of its shares: stationary for the penalised likelihood.
    let mut rest = Summary::of(Normal, &x).unwrap();
    rest.discount(1.0 / x.len() as f64).unwrap();
    for &x in &x {
        rest.observe_weighted(&x, fit.shares(&x).unwrap()[k]).unwrap();
    }
    assert!((rest.mle().unwrap().location() - low.location()).abs() < 1e-3);
    assert_eq!(fit.predict(&-2.0).unwrap(), k);
}

#[test]
fn mixtures_of_other_families_and_bad_samples() {
    let mut rng = stream(6, 0);
    let family = NormalVectorKnownCovariance::new(array![[1.0, 0.3], [0.3, 1.0]].view()).unwrap();
    let centre = |m: [f64; 2]| family.clone().with_mean(&m).unwrap();
    let x: Vec<Vec<f64>> = (0..400)
        .map(|i| centre(if i % 2 == 0 { [0.0, 0.0] } else { [5.0, -5.0] }).sample(&mut rng))
        .collect();
    let fit = Em::default().fit(family.clone(), &x).unwrap();
    let apart = fit.components[0].location()[0] - fit.components[1].location()[0];
    assert!((apart.abs() - 5.0).abs() < 0.6, "{apart}");
    let text = serde_json::to_string(&fit).unwrap();
    assert_eq!(serde_json::from_str::<Mixture<NormalVectorKnownCovariance>>(&text).unwrap(), fit);
    assert!(Em::default().fit(Poisson, &[]).is_err());
    assert!(Em::default().fit(Poisson, &[1.0, -1.0, 2.0]).is_err());
    assert!(Em { pseudo_count: f64::NAN, ..Em::default() }.fit(Poisson, &[1.0, 2.0, 3.0]).is_err());
    assert!(Em { components: 0, ..Em::default() }.fit(Poisson, &[1.0, 2.0, 3.0]).is_err());
}
