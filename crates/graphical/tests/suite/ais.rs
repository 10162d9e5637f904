//! Annealed importance sampling, against enumeration.

use crate::common::{Enumeration, configurations};
use crate::gibbs::small;
use fenchel_graphical::ais::{AisSettings, Ladder, ais, ais_binary};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::{BinaryPairwise, Error, FactorGraph, VarId};
use fenchel_optim::random::stream;
use rand::RngExt;

pub(crate) fn random_binary(p: usize, density: f64, size: f64, seed: u64) -> BinaryPairwise {
    let mut rng = stream(seed, 0);
    let bias: Vec<f64> = (0..p).map(|_| rng.random_range(-size..size)).collect();
    let mut edges = Vec::new();
    for i in 0..p as u32 {
        for j in i + 1..p as u32 {
            if rng.random_bool(density) {
                edges.push((i, j, rng.random_range(-size..size)));
            }
        }
    }
    BinaryPairwise::new(&bias, &edges).unwrap()
}

#[test]
fn binary_models_are_factor_graphs() {
    let model = random_binary(5, 0.7, 2.0, 3);
    let factors = model.factor_graph().unwrap();
    for x in configurations(&[2; 5]) {
        let bits: Vec<bool> = x.iter().map(|&state| state == 1).collect();
        let (a, b) = (model.log_score(&bits).unwrap(), factors.log_score(&x).unwrap());
        assert!((a - b).abs() < 1e-12);
    }
}

fn exact_log_partition(model: &BinaryPairwise) -> f64 {
    let p = model.variables();
    crate::common::log_sum((0..1_usize << p).map(|code| {
        let x: Vec<bool> = (0..p).map(|i| code >> i & 1 == 1).collect();
        model.log_score(&x).unwrap()
    }))
}

#[test]
fn scores_of_all_chains_are_scores() {
    for (p, density) in [(1, 0.0), (6, 0.7), (12, 1.0)] {
        let model = random_binary(p, density, 2.0, 5);
        for chains in [1, 64, 100, 700] {
            let mut gibbs =
                BinaryGibbs::new(&model, chains, BinaryStart::Random, Order::Cyclic, 2).unwrap();
            gibbs.sweep(1);
            let mut scores = vec![0.0; chains];
            gibbs.log_scores(&model, &mut scores).unwrap();
            for (c, score) in scores.iter().enumerate() {
                assert!((score - model.log_score(&gibbs.state(c)).unwrap()).abs() < 1e-12);
            }
            assert!(gibbs.log_scores(&model, &mut scores[1..]).is_err());
        }
    }
}

#[test]
fn estimates_are_within_their_error() {
    let (mut good, mut good_factors, mut good_adaptive) = (0, 0, 0);
    for seed in 0..50 {
        let model = random_binary(3 + seed as usize % 7, 0.6, 1.0 + 0.02 * seed as f64, seed);
        let exact = exact_log_partition(&model);
        let settings = AisSettings { ladder: Ladder::Uniform(60), chains: 256, sweeps: 1, seed };
        let near = |estimate: &fenchel_graphical::ais::AisEstimate, exact: f64| {
            i32::from((estimate.log_partition - exact).abs() <= 4.0 * estimate.standard_error)
        };
        let estimate = ais_binary(&model, &settings).unwrap();
        good += near(&estimate, exact);
        assert_eq!((estimate.log_weights.len(), estimate.ladder.len()), (256, 61));
        assert!(estimate.effective_samples <= 256.0 + 1e-9);
        let adaptive = AisSettings { ladder: Ladder::Adaptive(0.99), ..settings };
        good_adaptive += near(&ais_binary(&model, &adaptive).unwrap(), exact);
        let factors = small(seed);
        let settings = AisSettings { ladder: Ladder::Uniform(30), ..settings };
        let estimate = ais(&factors, &settings).unwrap();
        good_factors += near(&estimate, Enumeration::of(&factors).log_partition);
    }
    assert!(good >= 48, "{good} of 50");
    assert!(good_factors >= 48, "{good_factors} of 50");
    assert!(good_adaptive >= 48, "{good_adaptive} of 50");
}

/// Errors over their standard errors: mean square and the number beyond 4, by ladder.
fn calibration(ladder: Ladder, seeds: std::ops::Range<u64>) -> (f64, usize) {
    let mut scores = Vec::new();
    for seed in seeds {
        let size = [0.5, 1.0, 1.5][seed as usize % 3];
        let model = random_binary(8, 0.6, size, seed % 30);
        let settings = AisSettings { ladder, chains: 256, sweeps: 1, seed: 1000 + seed };
        let found = ais_binary(&model, &settings).unwrap();
        scores.push((found.log_partition - exact_log_partition(&model)) / found.standard_error);
    }
    let mean = scores.iter().map(|z| z * z).sum::<f64>() / scores.len() as f64;
    (mean.sqrt(), scores.iter().filter(|z| z.abs() > 4.0).count())
}

#[test]
fn standard_errors_are_right_over_many_seeds() {
    // 600 scores: their mean square has a standard deviation of 0.058 if they are normal. Chains that choose their own steps
    // had a root mean square of 1.04 to 1.35.
    for ladder in [Ladder::Adaptive(0.9), Ladder::Adaptive(0.99), Ladder::Uniform(40)] {
        let (root, beyond) = calibration(ladder, 0..600);
        assert!((0.9..1.1).contains(&root), "{ladder:?}: {root}");
        assert!(beyond <= 1, "{ladder:?}: {beyond}");
    }
}

/// The mean weight is unbiased for Z even where chains do not mix, and its logarithm a lower bound in expectation.
#[test]
fn weights_are_unbiased_with_the_crudest_ladder() {
    let model = random_binary(6, 0.8, 1.0, 77);
    let exact = exact_log_partition(&model);
    let settings = AisSettings { ladder: Ladder::Uniform(2), chains: 60_000, sweeps: 1, seed: 3 };
    let estimate = ais_binary(&model, &settings).unwrap();
    assert!(estimate.standard_error < 0.05);
    assert!((estimate.log_partition - exact).abs() < 5.0 * estimate.standard_error);
    let mean: f64 = estimate.log_weights.iter().sum::<f64>() / 60_000.0;
    assert!(mean < exact);
}

#[test]
fn independent_models_are_exact_and_impossible_ones_are_seen() {
    let free = BinaryPairwise::new(&[0.3, -2.0], &[]).unwrap();
    let estimate = ais_binary(&free, &AisSettings::default()).unwrap();
    assert!((estimate.log_partition - exact_log_partition(&free)).abs() < 1e-12);
    assert!(estimate.standard_error < 1e-7);
    let minus = f64::NEG_INFINITY;
    let mut zeros = FactorGraph::new(&[2, 2]).unwrap();
    zeros.add(&[VarId(0), VarId(1)], &[0.5, minus, 0.0, 1.0]).unwrap();
    let settings =
        AisSettings { ladder: Ladder::Uniform(20), chains: 5000, ..AisSettings::default() };
    let estimate = ais(&zeros, &settings).unwrap();
    let exact = Enumeration::of(&zeros).log_partition;
    assert!((estimate.log_partition - exact).abs() < 5.0 * estimate.standard_error);
    let mut impossible = FactorGraph::new(&[2, 2]).unwrap();
    impossible.add(&[VarId(0), VarId(1)], &[minus, 0.0, minus, 0.0]).unwrap();
    impossible.add(&[VarId(1)], &[0.0, minus]).unwrap();
    assert_eq!(ais(&impossible, &settings).unwrap_err(), Error::ImpossibleEvidence);
    for ladder in [Ladder::Uniform(0), Ladder::Adaptive(1.0), Ladder::Adaptive(f64::NAN)] {
        let refused = ais_binary(&free, &AisSettings { ladder, ..settings }).unwrap_err();
        assert!(refused.to_string().contains("ladder"));
    }
    let refused = ais_binary(&free, &AisSettings { chains: 0, ..settings }).unwrap_err();
    assert!(refused.to_string().contains("chains"));
}
