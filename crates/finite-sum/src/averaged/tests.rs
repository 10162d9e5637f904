//! Identities that hold on any data, the simulated limits of the two averages, and bad input.

use fenchel_linalg::special::sigmoid;
use fenchel_optim::Status;
use fenchel_optim::random::{Generator, stream};
use ndarray::{Array2, array};
use rand::RngExt;

use super::*;

/// Standard normal numbers by Box and Muller.
fn normal(rng: &mut Generator) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// `x ~ N(0, I_2)`, `P(y = 1) = sigma(f(x))`.
pub(super) fn synthetic(
    n: usize,
    seed: u64,
    f: impl Fn(f64, f64) -> f64,
) -> (Array2<f64>, Vec<f64>) {
    let mut rng = stream(seed, 0);
    let x = Array2::from_shape_simple_fn((n, 2), || normal(&mut rng));
    let y = x
        .outer_iter()
        .map(|r| if rng.random::<f64>() < sigmoid(f(r[0], r[1])) { 1.0 } else { 0.0 })
        .collect();
    (x, y)
}

#[test]
fn errors_telescope() {
    let (x, y) = synthetic(500, 1, |a, b| a - 0.5 * b);
    let step = 0.7;
    let settings = AveragedSettings { step: Some(step), ..AveragedSettings::default() };
    let (mut sum, mut before) = ([0.0; 2], vec![0.0; 2]);
    let mut method = AveragedSgd::new(Bernoulli, settings);
    for i in 0..500 {
        let row = x.row(i);
        let error = sigmoid(row[0] * before[0] + row[1] * before[1]) - y[i];
        sum[0] += error * row[0];
        sum[1] += error * row[1];
        method.partial_fit(&array![[row[0], row[1]]], &y[i..=i]).unwrap();
        before = method.last().to_vec();
    }
    for j in 0..2 {
        assert!((sum[j] + before[j] / step).abs() < 1e-11, "{} {}", sum[j], before[j]);
    }
    assert_eq!(method.steps(), 500);
}

#[test]
fn both_averages_coincide_for_least_squares() {
    let (x, _) = synthetic(200, 2, |a, _| a);
    let y: Vec<f64> = x.outer_iter().map(|r| 2.0 * r[0] - r[1] + 0.3).collect();
    let settings = AveragedSettings { snapshots: 1000, ..AveragedSettings::default() };
    let method = averaged_sgd(Gaussian, &x, &y, &settings).unwrap();
    let parameters = method.predict(&x, Predictor::Parameters).unwrap().means;
    for predictor in [Predictor::Exact, Predictor::Gaussian, Predictor::Taylor] {
        let other = method.predict(&x, predictor).unwrap().means;
        assert!((&other - &parameters).iter().all(|d| d.abs() < 1e-11), "{predictor:?}");
    }
}

#[test]
fn kernels_and_features_take_the_same_steps() {
    let (x, y) = synthetic(60, 3, |a, b| a * b);
    let linear = |s: &[f64], t: &[f64]| s[0] * t[0] + s[1] * t[1];
    let queries: Vec<Vec<f64>> = x.outer_iter().map(|r| r.to_vec()).collect();
    for l2 in [0.0, 0.05] {
        let mut kernel = KernelSgd::new(Bernoulli, linear, 0.9, l2, queries.clone()).unwrap();
        queries.iter().zip(&y).for_each(|(q, &y)| kernel.observe(q, y).unwrap());
        let settings = AveragedSettings { step: Some(0.9), l2, ..AveragedSettings::default() };
        let method = averaged_sgd(Bernoulli, &x, &y, &settings).unwrap();
        let parameters = method.predict(&x, Predictor::Parameters).unwrap().means;
        let exact = method.predict(&x, Predictor::Exact).unwrap().means;
        for i in 0..60 {
            assert!((parameters[i] - kernel.from_parameters()[i]).abs() < 1e-12);
            assert!((exact[i] - kernel.from_predictions()[i]).abs() < 1e-12);
        }
    }
}

/// Excess of `E log-loss` over the best linear model, by the midpoint rule over `N(0, I_2)`.
fn excess(
    method: &AveragedSgd<Bernoulli>,
    predictor: Predictor,
    truth: impl Fn(f64, f64) -> f64,
    best: f64,
) -> f64 {
    let (h, m) = (0.2, 30);
    let grid: Vec<[f64; 2]> = (-m..=m)
        .flat_map(|i| (-m..=m).map(move |j| [f64::from(i) * h, f64::from(j) * h]))
        .collect();
    let x = Array2::from_shape_fn((grid.len(), 2), |(i, j)| grid[i][j]);
    let p = method.predict(&x, predictor).unwrap().means;
    let mut loss = 0.0;
    for (g, p) in grid.iter().zip(&p) {
        let weight = h * h * (-0.5 * (g[0] * g[0] + g[1] * g[1])).exp() / std::f64::consts::TAU;
        let q = sigmoid(truth(g[0], g[1]));
        loss -= weight * (q * p.ln() + (1.0 - q) * (-p).ln_1p());
    }
    loss - best
}

/// Model 1 of the thesis, log-odds `sin x_1 + sin x_2`, wrong for a linear model of value .61909994: averaged predictions end below it,
/// averaged parameters above. Limits at a step of 1/2: `Bbar g^2 = .0023` and about `-.005`.
#[test]
fn averaged_predictions_beat_the_best_linear_model_where_it_is_wrong() {
    let truth = |a: f64, b: f64| a.sin() + b.sin();
    let (x, y) = synthetic(60_000, 5, truth);
    let settings = AveragedSettings { step: Some(0.5), ..AveragedSettings::default() };
    let method = averaged_sgd(Bernoulli, &x, &y, &settings).unwrap();
    let at = |p| excess(&method, p, truth, 0.619_099_940_6);
    let (parameters, exact, gaussian) =
        (at(Predictor::Parameters), at(Predictor::Exact), at(Predictor::Gaussian));
    assert!((0.001..0.005).contains(&parameters), "{parameters}");
    assert!((-0.008..-0.003).contains(&exact), "{exact}");
    assert!((gaussian - exact).abs() < 0.002, "{gaussian} {exact}");
    assert!(at(Predictor::Last) > 0.01);
}

/// Constants of three models in the order of the fields, by the trapezoid rule with nodes 0.02 apart. The rule here has nodes 0.05 apart.
/// For the cubes 60 Gauss-Hermite nodes a side are wrong by 4.5e-5: the truth jumps where `x_1 = -x_2` is large.
#[test]
fn stationary_expansions_have_the_known_constants() {
    let (h, side) = (0.05, 321);
    let at = |k: usize| h * (k as f64 - 160.0);
    let n = side * side;
    let x = Array2::from_shape_fn((n, 2), |(i, j)| at(if j == 0 { i / side } else { i % side }));
    let density = |r: ndarray::ArrayView1<f64>| h * h * (-0.5 * r.dot(&r)).exp();
    let weights: Vec<f64> = x.outer_iter().map(|r| density(r) / std::f64::consts::TAU).collect();
    type LogOdds = fn(f64, f64) -> f64;
    let models: [(LogOdds, [f64; 2], [f64; 5]); 3] = [
        (
            |a, b| a.sin() + b.sin(),
            [0.609_314_61, 0.609_314_61],
            [0.619_099_940_6, 0.106_996_432, 0.009_205_165, -0.014_464_938, 0.003_814_581],
        ),
        (
            |a, b| a * a * a + b * b * b,
            [1.291_201_86, 1.291_201_86],
            [0.483_682_055, 0.042_033_433, 0.003_225_558, 0.010_799_511, 0.001_333_908],
        ),
        (
            |a, b| a - 0.5 * b,
            [1.0, -0.5],
            [0.582_309_438_4, 0.082_392_611, 0.007_346_170, 0.0, 0.003_018_831],
        ),
    ];
    for (f, best, constants) in models {
        let means: Vec<f64> = x.outer_iter().map(|r| sigmoid(f(r[0], r[1]))).collect();
        let variances: Vec<f64> = means.iter().map(|p| p * (1.0 - p)).collect();
        let found =
            stationary_expansion(&Bernoulli, x.view(), &weights, &means, &variances).unwrap();
        for (a, b) in found.best.iter().zip(best) {
            assert!((a - b).abs() < 1e-7, "{a} {b}");
        }
        let values = [
            found.best_loss,
            found.last,
            found.parameters,
            found.predictions_wrong,
            found.predictions_right,
        ];
        for (a, b) in values.iter().zip(constants) {
            assert!((a - b).abs() < 1e-8, "{found:?} {b}");
        }
    }
    assert!(stationary_expansion(&Bernoulli, x.view(), &weights[1..], &[], &[]).is_err());
    let twice = Array2::<f64>::ones((2, 2));
    let half = [0.5; 2];
    assert!(stationary_expansion(&Bernoulli, twice.view(), &half, &half, &half).is_err());
}

#[test]
fn bad_input_and_divergence() {
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    let fit = |settings: AveragedSettings| averaged_sgd(Bernoulli, &x, &[0.0, 1.0], &settings);
    let base = AveragedSettings::default();
    assert!(fit(AveragedSettings { step: Some(0.0), ..base.clone() }).is_err());
    assert!(fit(AveragedSettings { step: Some(f64::NAN), ..base.clone() }).is_err());
    assert!(fit(AveragedSettings { l2: -1.0, ..base.clone() }).is_err());
    assert!(fit(AveragedSettings { step: Some(2.0), l2: 0.5, ..base.clone() }).is_err());
    assert!(fit(AveragedSettings { snapshots: 1, ..base.clone() }).is_err());
    assert!(averaged_sgd(Bernoulli, &x, &[0.0, 1.5], &base).is_err());
    let refused = averaged_sgd(Poisson, &x, &[0.0, 1.0], &base).unwrap_err().to_string();
    assert!(refused.contains("set AveragedSettings::step"), "{refused}");
    let mut method = fit(base.clone()).unwrap();
    assert!(method.partial_fit(&array![[1.0]], &[0.0]).is_err());
    assert!(method.predict(&array![[1.0]], Predictor::Exact).is_err());
    assert!(AveragedSgd::new(Bernoulli, base.clone()).predict(&x, Predictor::Exact).is_err());
    let without = fit(AveragedSettings { covariance_every: 0, ..base.clone() }).unwrap();
    assert!(without.predict(&x, Predictor::Gaussian).is_err());
    let far = array![[30.0], [30.0], [30.0]];
    let wild = AveragedSettings { step: Some(5.0), ..base };
    let method = averaged_sgd(Poisson, &far, &[5.0, 0.0, 5.0], &wild).unwrap();
    assert_eq!(method.status(), Status::Diverged);
    assert!(method.averaged().iter().all(|m| m.is_finite()));
}

#[test]
fn overflow_and_states_that_do_not_fit_are_refused() {
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    let base = AveragedSettings::default();
    let message =
        |found: Result<AveragedSgd<Bernoulli>, crate::Error>| found.unwrap_err().to_string();
    let huge = averaged_sgd(Bernoulli, &(&x * 1e300), &[0.0, 1.0], &base);
    assert!(message(huge).contains("mean square of the first rows"));
    let none = averaged_sgd(Bernoulli, &Array2::<f64>::zeros((2, 0)), &[0.0, 1.0], &base);
    assert!(message(none).contains("columns"));
    let wild = AveragedSettings { step: Some(10.0), covariance_every: 1, ..base.clone() };
    let method = averaged_sgd(Poisson, &(&x * 30.0), &[5.0, 0.0], &wild).unwrap();
    assert_eq!(method.status(), Status::Diverged);
    assert!(method.predict(&x, Predictor::Last).is_err());
    // A state is read back as it was, and not with another length.
    let method = averaged_sgd(Bernoulli, &x, &[0.0, 1.0], &base).unwrap();
    let text = serde_json::to_value(&method).unwrap();
    assert_eq!(serde_json::from_value::<AveragedSgd<Bernoulli>>(text.clone()).unwrap(), method);
    for field in ["mean", "scatter", "centre", "snapshots"] {
        let mut bad = text.clone();
        bad[field] = serde_json::json!([]);
        assert!(serde_json::from_value::<AveragedSgd<Bernoulli>>(bad).is_err(), "{field}");
    }
}

#[test]
fn kernels_and_features_that_are_no_numbers_are_refused() {
    assert!(laplacian_kernel(0.0).is_err() && laplacian_kernel(-1.0).is_err());
    let kernel = || laplacian_kernel(1.0).unwrap();
    assert!(
        KernelSgd::new(Bernoulli, kernel(), 0.5, 0.0, vec![vec![1.0], vec![1.0, 2.0]]).is_err()
    );
    assert!(KernelSgd::new(Bernoulli, kernel(), 0.5, 0.0, vec![vec![f64::NAN]]).is_err());
    let mut method = KernelSgd::new(Bernoulli, kernel(), 0.5, 0.0, vec![vec![1.0]]).unwrap();
    assert!(method.observe(&[1.0, 2.0], 1.0).is_err() && method.observe(&[], 1.0).is_err());
    method.observe(&[1.0], 1.0).unwrap();
    // One step of size 1/2 from eta = 0: 0.5 (1 - sigma(0)) k(1, 1).
    assert_eq!(method.natural(), [0.25]);
    assert!(RandomFeatures::gaussian(1, 4, 1e-310, 0).is_err());
    assert!(RandomFeatures::laplacian(1, 4, 1e-310, 0).is_err());
    assert!(RandomFeatures::gaussian(3, usize::MAX - 1, 1.0, 0).is_err());
    let narrow = RandomFeatures::gaussian(2, 4, 1e-10, 0).unwrap();
    assert!(narrow.features(&array![[1e300, 1e300]]).is_err());
}

/// Inner products of 20,000 features are the kernel within five standard errors of `1 / sqrt(m)`; a row has length 1.
#[test]
fn random_features_have_the_kernel_as_their_mean() {
    let x: Array2<f64> = array![[0.3, -1.0], [1.0, 0.5], [-2.0, 0.1], [0.3, -0.9]];
    let m = 20_000;
    let laplacian = RandomFeatures::laplacian(2, m, 1.5, 1).unwrap();
    let gaussian = RandomFeatures::gaussian(2, m, 1.5, 2).unwrap();
    assert_eq!(laplacian.count(), m);
    let (phi, psi) = (laplacian.features(&x).unwrap(), gaussian.features(&x).unwrap());
    for i in 0..4 {
        assert!((phi.row(i).dot(&phi.row(i)) - 1.0).abs() < 1e-12);
        for j in 0..i {
            let d = &x.row(i) - &x.row(j);
            let sum = d.iter().map(|d| d.abs()).sum::<f64>();
            let first = phi.row(i).dot(&phi.row(j)) - (-sum / 1.5).exp();
            let second = psi.row(i).dot(&psi.row(j)) - (-0.5 * d.dot(&d) / 2.25).exp();
            let allowed = 5.0 / (m as f64).sqrt();
            assert!(first.abs() < allowed && second.abs() < allowed, "{first} {second}");
        }
    }
    assert!(RandomFeatures::gaussian(2, 3, 1.0, 0).is_err());
    assert!(RandomFeatures::gaussian(0, 2, 1.0, 0).is_err());
    assert!(RandomFeatures::laplacian(2, 2, 0.0, 0).is_err());
    assert!(gaussian.features(&array![[1.0]]).is_err());
    assert!(gaussian.features(&array![[1.0, f64::NAN]]).is_err());
}
