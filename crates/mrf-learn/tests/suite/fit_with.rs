//! Every fit can be weighted, started and watched at once.

use std::ops::ControlFlow;

use fenchel_mrf_learn::layout::pairs;
use fenchel_mrf_learn::selection::Learner;
use fenchel_mrf_learn::{
    Coordinates, Data, ExactMle, Fit, InteractionScreening, MissingPolicy, NodewiseLogistic,
    Penalty, PseudoLikelihood, Spg,
};
use fenchel_optim::{Progress, Status};
use ndarray::Array2;
use rand::RngExt;

fn table() -> Array2<u8> {
    let mut random = fenchel_optim::random::stream(7, 0);
    Array2::from_shape_fn((90, 4), |_| u8::from(random.random_bool(0.4)))
}

fn check(name: &str, learner: &impl Learner) {
    let (x, stop) = (table(), learner.stop());
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let weights: Vec<f64> = (0..90).map(|row| f64::from(row % 3)).collect();
    let weighted = data.clone().with_weights(&weights).unwrap();
    let plain = learner.learn(&weighted, 0.02, stop, Fit::new()).unwrap();
    let mut seen = 0;
    let mut count = |_: &Progress| {
        seen += 1;
        ControlFlow::Continue(())
    };
    let fit = Fit::new().weights(&weights).watch(&mut count);
    let other = learner.learn(&data, 0.02, stop, fit).unwrap();
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near(&plain.theta, &other.theta), "{name}");
    assert!(seen as f64 > plain.report.passes.min(3.0), "{name}: {seen} calls");
    let mut end = |_: &Progress| ControlFlow::Break(());
    let fit = Fit::new().weights(&weights).start(&plain).watch(&mut end);
    let stopped = learner.learn(&data, 0.02, stop, fit).unwrap();
    assert_eq!((stopped.report.status, stopped.report.passes), (Status::Stopped, 0.0), "{name}");
    // Newton's method sets the intercept of a regression first: only couplings are those of the start.
    let couplings = |theta: &[f64]| -> Vec<f64> {
        let all = pairs(4).zip(theta).filter(|((i, j), _)| name != "nodewise" || i != j);
        all.map(|(_, theta)| *theta).collect()
    };
    assert!(near(&couplings(&plain.theta), &couplings(&stopped.theta)), "{name}");
    assert!(learner.learn(&data, 0.02, stop, Fit::new().weights(&[1.0])).is_err(), "{name}");
    let few =
        Data::binary(x.select(ndarray::Axis(1), &[0, 1]).view(), MissingPolicy::Error).unwrap();
    assert!(learner.learn(&few, 0.02, stop, Fit::new().start(&plain)).is_err(), "{name}");
}

#[test]
fn methods_of_binary_networks_keep_the_contract() {
    check("exact", &ExactMle::default());
    check("pseudo-likelihood", &PseudoLikelihood::default());
    check("nodewise", &NodewiseLogistic::default());
    check("screening", &InteractionScreening::default());
    check("spg", &Spg { chains: 50, ..Spg::default() }.with_iterations(5));
}

#[test]
fn methods_of_networks_of_states_keep_the_contract() {
    let mut random = fenchel_optim::random::stream(8, 0);
    let x = Array2::from_shape_fn((90, 4), |_| random.random_range(0..3));
    let data = Data::states(x.view()).unwrap();
    let weights: Vec<f64> = (0..90).map(|row| f64::from(row % 3)).collect();
    let weighted = data.clone().with_weights(&weights).unwrap();
    let (penalty, coordinates) = (Penalty::group(0.1), Coordinates::Indicators);
    let mle = ExactMle { penalty: penalty.clone(), coordinates, ..ExactMle::default() };
    let plain = mle.fit(&weighted).unwrap();
    let mut end = |_: &Progress| ControlFlow::Break(());
    let fit = Fit::new().weights(&weights).start(&plain).watch(&mut end);
    let stopped = mle.fit_with(&data, fit).unwrap();
    assert_eq!((stopped.report.status, &stopped.theta), (Status::Stopped, &plain.theta));
    let spg = Spg { penalty, coordinates, ..Spg::default() };
    let stopped = spg.fit_with(&data, Fit::new().weights(&weights).start(&plain).watch(&mut end));
    let stopped = stopped.unwrap();
    assert_eq!((stopped.report.status, &stopped.theta), (Status::Stopped, &plain.theta));
    // Methods of binary variables refuse, by name.
    for error in [
        ExactMle::default().fit(&data).unwrap_err(),
        PseudoLikelihood::default().fit(&data).unwrap_err(),
        NodewiseLogistic::default().fit(&data).unwrap_err(),
        InteractionScreening::default().fit(&data).unwrap_err(),
        Spg::default().fit(&data).unwrap_err(),
    ] {
        assert!(error.to_string().contains("states"), "{error}");
    }
}

/// A model of two states starts a fit in any coordinates.
#[test]
fn starts_change_their_coordinates() {
    let data = Data::binary(table().view(), MissingPolicy::Error).unwrap();
    let fit = |coordinates| {
        let penalty = Penalty::l1(0.02);
        ExactMle { penalty, coordinates, ..ExactMle::default() }
    };
    let spins = fit(Coordinates::Spins).fit(&data).unwrap();
    for coordinates in [Coordinates::Binary, Coordinates::Indicators] {
        let mut end = |_: &Progress| ControlFlow::Break(());
        let fit = fit(coordinates).fit_with(&data, Fit::new().start(&spins).watch(&mut end));
        let model = fit.unwrap();
        let (a, b) = (model.score(&data).unwrap(), spins.score(&data).unwrap());
        assert!((a - b).abs() < 1e-12, "{coordinates:?}: {a} {b}");
    }
}

/// A path and held-out scores are watched and limited as a whole: `Break` in the third fit leaves three.
#[test]
fn several_fits_are_one() {
    use fenchel_mrf_learn::selection::{held_out_scores_with, penalty_path, penalty_path_with};
    let data = Data::binary(table().view(), MissingPolicy::Error).unwrap();
    let (method, strengths) = (ExactMle::default(), [0.2, 0.1, 0.05, 0.02]);
    let weights: Vec<f64> = (0..90).map(|row| f64::from(row % 3)).collect();
    let whole = penalty_path(&data.clone().with_weights(&weights).unwrap(), &method, &strengths);
    let whole = whole.unwrap();
    let end_after = |fits: usize| {
        let mut begun = 0;
        move |progress: &Progress| {
            begun += usize::from(progress.passes == 0.0);
            if begun > fits { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    };
    let mut watch = end_after(2);
    let fit = Fit::new().weights(&weights).watch(&mut watch);
    let part = penalty_path_with(&data, &method, &strengths, fit).unwrap();
    assert_eq!(part.fits.len(), 3);
    for (a, b) in part.fits.iter().zip(&whole.fits).take(2) {
        assert_eq!(a.model.theta, b.model.theta);
    }
    assert_eq!(part.fits[2].model.report.status, Status::Stopped);
    let mut watch = end_after(5);
    let fit = Fit::new().watch(&mut watch);
    let scores = held_out_scores_with(&data, &method, &strengths, 2, 1, fit).unwrap();
    let known: Vec<bool> = scores.iter().map(|score| !score.1.is_nan()).collect();
    assert_eq!(known, [true, false, false, false]);
    // No time at all: the first fit of each fold ends at once.
    let mut method = method;
    method.stop.max_seconds = Some(0.0);
    let scores = held_out_scores_with(&data, &method, &strengths, 2, 1, Fit::new()).unwrap();
    assert!(scores.iter().all(|score| score.1.is_nan()), "{scores:?}");
}

/// A model whose parameters are public may hold too few of them.
#[test]
fn a_start_without_parameters_is_an_error() {
    let x = table();
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let learners: [(&str, &dyn Learner); 4] = [
        ("screening", &InteractionScreening::default()),
        ("pseudo", &PseudoLikelihood::default()),
        ("exact", &ExactMle::default()),
        ("spg", &Spg { chains: 8, ..Spg::default() }),
    ];
    for (name, learner) in learners {
        let mut start = learner.learn(&data, 0.02, learner.stop(), Fit::new()).unwrap();
        start.theta.truncate(2);
        let fit = Fit::new().start(&start);
        let error = learner.learn(&data, 0.02, learner.stop(), fit).unwrap_err().to_string();
        assert!(error.starts_with("parameters of start"), "{name}: {error}");
    }
}
