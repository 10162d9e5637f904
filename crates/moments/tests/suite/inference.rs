//! Coverage of the intervals, sparse directions, and the other tools of an analysis.

use fenchel_moments::ellipticity::{Advice, Ellipticity};
use fenchel_moments::gmm::{
    Moments, gaussian_single_index, generalised_method_of_moments, method_of_moments,
    uniform_from_moments,
};
use fenchel_moments::inference::{BootstrapSettings, bootstrap, sir_intervals};
use fenchel_moments::regressor::{IndexModel, Smoother};
use fenchel_moments::sparse::Sparsity;
use fenchel_moments::{
    Components, Error, GaussianMixture, IndexRegressor, LassoSir, Mave, Opg, Sir, Slicing, Stop,
    synthetic, trace_error,
};
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, ArrayView1, array};

use crate::common::{first_columns, normal, timeless};

fn problem(n: usize, seed: u64) -> synthetic::Problem {
    let truth = array![[2.0], [1.0], [-1.0], [0.0], [0.0]];
    let features = synthetic::StandardFeatures(5);
    synthetic::multi_index(&features, truth, |z| (1.5 * z[0]).tanh() + 0.2 * z[0], n, 0.3, seed)
        .unwrap()
}

/// 95 % within four standard errors of 300 repetitions, in every loading, and jointly.
#[test]
fn the_intervals_of_sir_cover() {
    let repeats = 300;
    let sir = Sir { components: Components::Fixed(1), slicing: Slicing::EqualCount(10) };
    let (mut covered, mut joint) = ([0; 5], 0);
    for seed in 0..repeats {
        let problem = problem(500, seed);
        let found = sir_intervals(&sir, &problem.x, &problem.y).unwrap();
        let (lower, upper) = found.intervals(0.95).unwrap();
        for c in 0..5 {
            let truth = problem.directions[[c, 0]];
            covered[c] += usize::from(lower[[c, 0]] <= truth && truth <= upper[[c, 0]]);
        }
        joint += usize::from(found.contains(0, problem.directions.column(0), 0.95).unwrap());
    }
    let error = (0.95_f64 * 0.05 / repeats as f64).sqrt();
    for count in covered.into_iter().chain([joint]) {
        let share = count as f64 / repeats as f64;
        assert!((share - 0.95).abs() < 4.0 * error, "{covered:?} {joint} of {repeats}");
    }
}

/// Two directions of mixture features, for which SIR is not consistent: intervals are about the limit of SIR, so standard
/// errors are compared with the spread over repetitions.
#[test]
fn standard_errors_are_the_spread_over_repetitions() {
    let density = GaussianMixture::thesis(4).unwrap();
    let sir = Sir { components: Components::Fixed(2), slicing: Slicing::EqualCount(6) };
    let repeats = 200;
    let (mut loadings, mut errors) = (vec![], Array2::<f64>::zeros((4, 2)));
    for seed in 0..repeats {
        let problem = synthetic::rational(&density, 2000, 0.25, seed).unwrap();
        let found = sir_intervals(&sir, &problem.x, &problem.y).unwrap();
        errors += &(found.errors.mapv(|e| e * e) / repeats as f64);
        loadings.push(found.model.loadings);
    }
    let mean = loadings.iter().fold(Array2::<f64>::zeros((4, 2)), |s, l| s + l) / repeats as f64;
    let variance =
        loadings.iter().fold(Array2::<f64>::zeros((4, 2)), |s, l| s + (l - &mean).mapv(|v| v * v))
            / repeats as f64;
    // A standard deviation from 200 repetitions is good to 5 %; 25 % is five of these.
    for at in [(0, 1), (1, 0), (2, 0), (3, 0), (2, 1), (3, 1)] {
        let ratio = (errors[at] / variance[at]).sqrt();
        assert!((ratio - 1.0).abs() < 0.25, "{at:?}: {ratio}\n{errors}\n{variance}");
    }
}

#[test]
fn bootstrap_and_limit_agree() {
    let problem = problem(800, 1);
    let sir = Sir { components: Components::Fixed(1), slicing: Slicing::EqualCount(10) };
    let limit = sir_intervals(&sir, &problem.x, &problem.y).unwrap();
    let resampled =
        bootstrap(&sir, &problem.x, &problem.y, &BootstrapSettings { repeats: 300, seed: 1 })
            .unwrap();
    for c in 0..5 {
        let ratio = resampled.errors[[c, 0]] / limit.errors[[c, 0]];
        assert!((ratio - 1.0).abs() < 0.25, "{c}: {ratio}");
    }
    let radius = |level| resampled.radius(level).unwrap();
    assert!(radius(0.95) > radius(0.5) && radius(0.95) < 0.05);
    assert_eq!(resampled.left_out, 0);
    let again =
        bootstrap(&sir, &problem.x, &problem.y, &BootstrapSettings { repeats: 300, seed: 1 })
            .unwrap();
    assert_eq!((&resampled.errors, &resampled.distances), (&again.errors, &again.distances));
    assert_eq!(timeless(resampled.model), timeless(again.model));
}

#[test]
fn sparse_directions_are_found_among_more_features_than_samples() {
    let truth = Array2::from_shape_fn((300, 1), |(c, _)| if c < 4 { 1.0 } else { 0.0 });
    let features = synthetic::StandardFeatures(300);
    let problem =
        synthetic::multi_index(&features, truth, |z| z[0] + 0.3 * z[0].powi(3), 200, 0.3, 5)
            .unwrap();
    let model = LassoSir::default().fit(&problem.x, &problem.y).unwrap();
    let error = trace_error(model.directions.view(), problem.directions.view()).unwrap();
    assert!(error < 0.1, "{error}");
    assert!((0..4).all(|c| model.loadings[[c, 0]].abs() > 0.2));
    // The optimum of the lasso: |eta - Sigma beta| is l1 on the support and at most l1 elsewhere.
    let fixed = LassoSir { sparsity: Sparsity::Fraction(0.3), ..LassoSir::default() };
    assert!(fixed.fit(&problem.x, &problem.y).unwrap().report.certificate.value() <= 1e-6);
    // Without much penalty and many samples it is SIR.
    let easy = self::problem(4000, 3);
    let loose = LassoSir { sparsity: Sparsity::Fraction(1e-4), ..LassoSir::default() };
    let loose = loose.fit(&easy.x, &easy.y).unwrap();
    let sir =
        Sir { components: Components::Fixed(1), ..Sir::default() }.fit(&easy.x, &easy.y).unwrap();
    assert!(trace_error(loose.directions.view(), sir.directions.view()).unwrap() < 1e-5);
    let told = |sparsity| {
        let settings = LassoSir { sparsity, ..LassoSir::default() };
        settings.fit(&problem.x, &problem.y).unwrap_err().to_string()
    };
    assert!(told(Sparsity::Fraction(1.0)).contains("between 0 and 1"));
}

#[test]
fn planes_find_the_directions() {
    let density = GaussianMixture::thesis(4).unwrap();
    let problem = synthetic::rational(&density, 600, 0.1, 1).unwrap();
    let opg = Opg { components: Components::Fixed(2), base_points: 150 };
    let mave = Mave {
        directions: 2,
        base_points: 150,
        stop: Stop { max_passes: 12.0, ..Mave::default().stop },
    };
    let error = |model: fenchel_moments::Reduction| {
        trace_error(model.directions.view(), problem.directions.view()).unwrap()
    };
    let opg = error(opg.fit(&problem.x, &problem.y).unwrap());
    let mave = error(mave.fit(&problem.x, &problem.y).unwrap());
    assert!(opg < 0.15 && mave < 0.02 && mave < opg, "{opg} {mave}");
}

#[test]
fn skewed_features_are_told_from_normal_ones() {
    let normal_features = normal(1500, 4, 1);
    assert_eq!(Ellipticity::new(&normal_features).unwrap().advice(0.01).unwrap(), Advice::Normal);
    let mixture = GaussianMixture::thesis(4).unwrap().sample(1500, &mut stream(1, 0));
    assert_eq!(Ellipticity::new(&mixture).unwrap().advice(0.01).unwrap(), Advice::Skewed);
    // Uniform on a cube: symmetric, lighter tails than normal.
    let cube = normal_features.mapv(|v| 1.0 / (1.0 + (-1.702 * v).exp()));
    assert_eq!(Ellipticity::new(&cube).unwrap().advice(0.01).unwrap(), Advice::Symmetric);
}

#[test]
fn an_index_predicts_what_the_features_do() {
    let problem = problem(600, 2);
    let sir = Sir { components: Components::Fixed(1), ..Sir::default() };
    let model = IndexRegressor::new(sir).fit(&problem.x, &problem.y).unwrap();
    // The noise has variance 0.09 of about 0.85.
    assert!(model.cross_validated_r2 > 0.85, "{}", model.cross_validated_r2);
    let neighbours = IndexRegressor {
        smoother: Smoother::Neighbours,
        widths: vec![5.0, 15.0, 40.0],
        ..IndexRegressor::new(sir)
    };
    assert!(neighbours.fit(&problem.x, &problem.y).unwrap().cross_validated_r2 > 0.8);
    let mut file = vec![];
    model.save(&mut file).unwrap();
    let loaded = IndexModel::load(&file[..]).unwrap();
    assert_eq!(loaded.predict(&problem.x).unwrap(), model.predict(&problem.x).unwrap());
    // Far away it leans on the nearest.
    assert!(model.predict(&(&problem.x * 100.0)).unwrap().iter().all(|v| v.is_finite()));
    assert!(
        model
            .predict(&normal(3, 4, 1))
            .unwrap_err()
            .to_string()
            .contains("expected length 5, found 4")
    );
}

struct Gamma;

/// Mean, second and third moment of a gamma distribution with these shape and scale.
impl Moments for Gamma {
    fn parameters(&self) -> usize {
        2
    }
    fn moments(&self) -> usize {
        3
    }
    fn value(&self, t: ArrayView1<f64>) -> Array1<f64> {
        let (k, s) = (t[0], t[1]);
        array![k * s, k * (k + 1.0) * s * s, k * (k + 1.0) * (k + 2.0) * s * s * s]
    }
    fn jacobian(&self, t: ArrayView1<f64>) -> Array2<f64> {
        let (k, s) = (t[0], t[1]);
        array![
            [s, k],
            [(2.0 * k + 1.0) * s * s, 2.0 * k * (k + 1.0) * s],
            [(3.0 * k * k + 6.0 * k + 2.0) * s.powi(3), 3.0 * k * (k + 1.0) * (k + 2.0) * s * s]
        ]
    }
}

/// The first two alone.
struct Two;

impl Moments for Two {
    fn parameters(&self) -> usize {
        2
    }
    fn moments(&self) -> usize {
        2
    }
    fn value(&self, t: ArrayView1<f64>) -> Array1<f64> {
        Gamma.value(t).iter().take(2).copied().collect()
    }
    fn jacobian(&self, t: ArrayView1<f64>) -> Array2<f64> {
        first_columns(&Gamma.jacobian(t).t().to_owned(), 2).t().to_owned()
    }
}

#[test]
fn moments_give_parameters() {
    // Mean 6, variance 12: shape 3, scale 2.
    let theta = method_of_moments(&Two, array![6.0, 48.0].view(), array![4.0, 1.0].view()).unwrap();
    assert!((theta[0] - 3.0).abs() < 1e-8 && (theta[1] - 2.0).abs() < 1e-8, "{theta}");
    let impossible = method_of_moments(&Two, array![6.0, 30.0].view(), array![1.0, 1.0].view());
    assert!(matches!(impossible, Err(Error::NoSolution { .. } | Error::Invalid(_))));
    // A gamma of shape 3 is a sum of three exponentials.
    let z = normal(20_000, 6, 3);
    let samples: Vec<f64> =
        z.rows().into_iter().map(|r| r.iter().map(|v| v * v).sum::<f64>()).collect();
    let table = Array2::from_shape_fn((20_000, 3), |(i, j)| samples[i].powi(j as i32 + 1));
    let fit = generalised_method_of_moments(&Gamma, table.view(), array![4.0, 1.0].view()).unwrap();
    for (value, (truth, variance)) in
        fit.theta.iter().zip([(3.0, fit.covariance[[0, 0]]), (2.0, fit.covariance[[1, 1]])])
    {
        assert!((value - truth).abs() < 4.0 * variance.sqrt(), "{} +- {}", value, variance.sqrt());
    }
    assert!(fit.statistic < 15.0);
    assert!(uniform_from_moments(2.0, 4.0).is_err());
    // {0, 0, 0, 0, 10}: the interval leaves 10 out.
    assert!((uniform_from_moments(2.0, 20.0).unwrap().1 - (2.0 + 48_f64.sqrt())).abs() < 1e-14);
    let problem = problem(20_000, 4);
    let w = gaussian_single_index(&problem.x, &problem.y).unwrap();
    assert!(
        trace_error(w.view().insert_axis(ndarray::Axis(1)), problem.directions.view()).unwrap()
            < 1e-3
    );
}
