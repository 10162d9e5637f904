//! Every fit can be weighted, started and watched at once.

use std::ops::ControlFlow;

use fenchel_mrf_learn::selection::Learner;
use fenchel_mrf_learn::{
    BinaryData, DiscreteData, DiscreteMle, DiscreteSpg, ExactMle, Fit, InteractionScreening,
    MissingPolicy, NodewiseLogistic, PseudoLikelihood, Spg,
};
use fenchel_optim::{Progress, Status};
use ndarray::Array2;
use rand::RngExt;

fn table() -> Array2<u8> {
    let mut random = fenchel_optim::random::stream(7, 0);
    Array2::from_shape_fn((90, 4), |_| u8::from(random.random_bool(0.4)))
}

fn check(name: &str, learner: &impl Learner) {
    let x = table();
    let data = BinaryData::new(x.view(), MissingPolicy::Error).unwrap();
    let weights: Vec<f64> = (0..90).map(|row| f64::from(row % 3)).collect();
    let weighted = data.clone().with_weights(&weights).unwrap();
    let plain = learner.learn(&weighted, 0.02, Fit::new()).unwrap();
    let mut seen = 0;
    let mut count = |_: &Progress| {
        seen += 1;
        ControlFlow::Continue(())
    };
    let fit = Fit::new().weights(&weights).watch(&mut count);
    let other = learner.learn(&data, 0.02, fit).unwrap();
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near(&plain.parameters(), &other.parameters()), "{name}");
    assert!(seen as f64 > plain.report.passes.min(3.0), "{name}: {seen} calls");
    let mut end = |_: &Progress| ControlFlow::Break(());
    let fit = Fit::new().weights(&weights).start(&plain).watch(&mut end);
    let stopped = learner.learn(&data, 0.02, fit).unwrap();
    assert_eq!((stopped.report.status, stopped.report.passes), (Status::Stopped, 0.0), "{name}");
    // A model with combined estimates is not a solution of the problems of single variables.
    if !["nodewise", "screening"].contains(&name) {
        assert!(near(&plain.parameters(), &stopped.parameters()), "{name}");
    }
    assert!(learner.learn(&data, 0.02, Fit::new().weights(&[1.0])).is_err(), "{name}");
    let few =
        BinaryData::new(x.select(ndarray::Axis(1), &[0, 1]).view(), MissingPolicy::Error).unwrap();
    assert!(learner.learn(&few, 0.02, Fit::new().start(&plain)).is_err(), "{name}");
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
fn methods_of_discrete_networks_keep_the_contract() {
    let data = DiscreteData::new(table().view()).unwrap();
    let weights: Vec<f64> = (0..90).map(|row| f64::from(row % 3)).collect();
    let weighted = data.clone().with_weights(&weights).unwrap();
    let mle = DiscreteMle::default();
    let plain = mle.fit(&weighted).unwrap();
    let mut end = |_: &Progress| ControlFlow::Break(());
    let fit = Fit::new().weights(&weights).start(&plain).watch(&mut end);
    let stopped = mle.fit_with(&data, fit).unwrap();
    assert_eq!((stopped.report.status, &stopped.theta), (Status::Stopped, &plain.theta));
    let spg = DiscreteSpg::default();
    let stopped = spg.fit_with(&data, Fit::new().weights(&weights).start(&plain).watch(&mut end));
    let stopped = stopped.unwrap();
    assert_eq!((stopped.report.status, &stopped.theta), (Status::Stopped, &plain.theta));
}
