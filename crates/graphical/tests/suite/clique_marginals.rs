//! Entropies, divergences, lines and draws of calibrated trees.

use crate::common::{Enumeration, configurations, models_with};
use fenchel_graphical::{Evidence, FactorGraph, JunctionTree, OrderingOptions, VarId};
use fenchel_linalg::special::chi_squared_tail;
use fenchel_optim::random::stream;
use proptest::prelude::*;
use rand::RngExt;

fn compile(model: &FactorGraph) -> JunctionTree {
    JunctionTree::compile(model, &OrderingOptions::default()).unwrap()
}

/// The same scopes, other scores; with zeros kept where they are.
fn moved(model: &FactorGraph, seed: u64) -> FactorGraph {
    let mut rng = stream(seed, 0);
    let mut other = FactorGraph::new(model.cards()).unwrap();
    for factor in model.factors() {
        let values: Vec<f64> =
            factor.log_values().iter().map(|v| v + rng.random_range(-1.0..1.0)).collect();
        other.add(factor.scope(), &values).unwrap();
    }
    other
}

proptest! {
    #[test]
    fn divergences_are_those_of_enumeration(model in models_with(7, 0.03), seed in any::<u64>()) {
        let other = moved(&model, seed);
        let (p, q) = (Enumeration::of(&model), Enumeration::of(&other));
        prop_assume!(p.log_partition > f64::NEG_INFINITY);
        let tree = compile(&model);
        let (mut left, mut right) = (tree.workspace(), tree.workspace());
        let none = Evidence::new();
        let ours = tree.calibrate(&model, &none, &mut left).unwrap();
        let theirs = tree.calibrate(&other, &none, &mut right).unwrap();
        let terms = (0..p.scores.len()).filter(|&k| p.probability(k) > 0.0).map(|k| {
            p.probability(k) * ((p.scores[k] - p.log_partition) - (q.scores[k] - q.log_partition))
        });
        let exact: f64 = terms.sum();
        prop_assert!((ours.kl_to(&theirs).unwrap() - exact).abs() < 1e-10);
        let marginals = ours.clique_marginals();
        prop_assert!((marginals.entropy() - p.entropy()).abs() < 1e-10);
        prop_assert!(marginals.kl(&marginals).unwrap().abs() < 1e-12);
    }

    /// Combinations stay consistent, have at least the entropy of the mixture, and derivatives agree with differences.
    #[test]
    fn lines_between_marginals(model in models_with(7, 0.0), seed in any::<u64>(), gamma in 0.05..0.95_f64) {
        let other = moved(&model, seed);
        let tree = compile(&model);
        let (mut left, mut right) = (tree.workspace(), tree.workspace());
        let none = Evidence::new();
        let from = tree.calibrate(&model, &none, &mut left).unwrap().clique_marginals();
        let to = tree.calibrate(&other, &none, &mut right).unwrap().clique_marginals();
        let mixed = from.convex_combination(gamma, &to).unwrap();
        prop_assert!(tree.is_consistent(&mixed, 1e-12).unwrap());

        let (p, q) = (Enumeration::of(&model), Enumeration::of(&other));
        let mixture = (0..p.scores.len()).map(|k| (1.0 - gamma) * p.probability(k) + gamma * q.probability(k));
        let of_mixture = -mixture.filter(|&m| m > 0.0).map(|m| m * m.ln()).sum::<f64>();
        prop_assert!(mixed.entropy() >= of_mixture - 1e-12);

        let at = |g: f64| from.line_derivatives(g, &to).unwrap();
        let here = at(gamma);
        prop_assert!((here.entropy - mixed.entropy()).abs() < 1e-12);
        let h = 1e-4;
        let first = (at(gamma + h).entropy - at(gamma - h).entropy) / (2.0 * h);
        let second = (at(gamma + h).first - at(gamma - h).first) / (2.0 * h);
        prop_assert!((here.first - first).abs() < 1e-6 * (1.0 + first.abs()));
        prop_assert!((here.second - second).abs() < 1e-5 * (1.0 + second.abs()));
    }

    #[test]
    fn interior_points_are_marginals_of_a_mixture(model in models_with(6, 0.0), epsilon in 0.0..1.0_f64, pick in any::<u64>()) {
        let states = configurations(model.cards());
        let centre = &states[(pick % states.len() as u64) as usize];
        let tree = compile(&model);
        let point = tree.interior_marginals(centre, epsilon).unwrap();
        prop_assert!(tree.is_consistent(&point, 1e-12).unwrap());
        let uniform = tree.interior_marginals(centre, 1.0).unwrap();
        let log_size: f64 = model.cards().iter().map(|&c| (c as f64).ln()).sum();
        prop_assert!((uniform.entropy() - log_size).abs() < 1e-12 * (1.0 + log_size));
        prop_assert!(tree.interior_marginals(centre, 0.0).unwrap().entropy().abs() < 1e-12);
    }
}

fn pairs(length: u32, score: f64) -> FactorGraph {
    let mut model = FactorGraph::new(&vec![2; length as usize]).unwrap();
    for v in 1..length {
        model.add(&[VarId(v - 1), VarId(v)], &[score, 0.0, 0.0, score]).unwrap();
    }
    model
}

/// Entries of `e^-700`: no `0 * inf`, and derivatives that are finite.
#[test]
fn derivatives_survive_tiny_probabilities() {
    let (model, other) = (pairs(4, 700.0), pairs(4, -700.0));
    let tree = compile(&model);
    let (mut left, mut right) = (tree.workspace(), tree.workspace());
    let log = fenchel_graphical::junction_tree::Domain::Log;
    let none = Evidence::new();
    let from = tree.calibrate_in(&model, &none, &mut left, log).unwrap().clique_marginals();
    let to = tree.calibrate_in(&other, &none, &mut right, log).unwrap().clique_marginals();
    for gamma in [0.0, 1e-3, 0.5, 1.0] {
        let line = from.line_derivatives(gamma, &to).unwrap();
        assert!(
            line.entropy.is_finite() && line.first.is_finite() && line.second < 0.0,
            "{line:?}"
        );
    }
    // Half equal and half different neighbours: independent fair coins, four bits.
    let middle = from.line_derivatives(0.5, &to).unwrap();
    assert!((middle.entropy - 4.0 * 2.0_f64.ln()).abs() < 1e-12 && middle.first.abs() < 1e-9);
    // D(from || to): three pairs that the other makes e^-700 times less likely each.
    assert!((from.kl(&to).unwrap() - 3.0 * 700.0).abs() < 1e-9);
}

#[test]
fn divergence_from_a_smaller_support_is_infinite() {
    let (model, mut other) = (pairs(3, 1.0), pairs(3, 1.0));
    other.set(fenchel_graphical::FactorId(0), &[0.0, f64::NEG_INFINITY, 0.0, 0.0]).unwrap();
    let tree = compile(&model);
    let (mut left, mut right) = (tree.workspace(), tree.workspace());
    let none = Evidence::new();
    let p = tree.calibrate(&model, &none, &mut left).unwrap();
    let q = tree.calibrate(&other, &none, &mut right).unwrap();
    assert_eq!(p.kl_to(&q).unwrap(), f64::INFINITY);
    assert!(q.kl_to(&p).unwrap().is_finite());
    let (p, q) = (p.clique_marginals(), q.clique_marginals());
    assert!(p.convex_combination(1.5, &q).is_err());
    assert!(p.convex_combination(f64::NAN, &q).is_err());
    let longer = compile(&pairs(5, 1.0));
    assert!(p.kl(&longer.interior_marginals(&[0; 5], 0.5).unwrap()).is_err());
    assert!(tree.interior_marginals(&[0, 2, 0], 0.5).is_err());
    assert!(tree.interior_marginals(&[0; 3], -0.1).is_err());
}

/// Pearson's statistic over all cells of six variables, false alarm 1e-6 each.
#[test]
fn draws_follow_the_joint() {
    let mut rng = stream(3, 0);
    let cards = [2, 3, 2, 2, 2, 2];
    let mut model = FactorGraph::new(&cards).unwrap();
    for scope in [&[0_u32, 1][..], &[1, 2], &[2, 3, 0], &[4]] {
        let scope: Vec<VarId> = scope.iter().copied().map(VarId).collect();
        let size: usize = scope.iter().map(|v| cards[v.index()]).product();
        let mut values: Vec<f64> = (0..size).map(|_| rng.random_range(-1.0..1.0)).collect();
        if size == 6 {
            values[1] = f64::NEG_INFINITY;
        }
        model.add(&scope, &values).unwrap();
    }
    let evidence = Evidence::new().observe(VarId(5), 1);
    let exact = Enumeration::of(&model.condition(&evidence).unwrap());
    let tree = compile(&model);
    for domain in [
        fenchel_graphical::junction_tree::Domain::Scaled,
        fenchel_graphical::junction_tree::Domain::Log,
    ] {
        let mut workspace = tree.workspace();
        let answers = tree.calibrate_in(&model, &evidence, &mut workspace, domain).unwrap();
        let sampler = answers.sampler();
        for cached in [false, true] {
            let n = 50_000;
            let mut counts = vec![0.0; exact.scores.len()];
            for _ in 0..n {
                let mut x =
                    if cached { sampler.sample(&mut rng) } else { answers.sample(&mut rng) };
                assert_eq!(std::mem::take(&mut x[5]), 1);
                counts[exact.configurations.iter().position(|y| *y == x).unwrap()] += 1.0;
            }
            let (mut statistic, mut degrees) = (0.0, -1.0);
            for (k, count) in counts.iter().enumerate() {
                let expected = exact.probability(k) * f64::from(n);
                if expected > 0.0 {
                    statistic += (count - expected).powi(2) / expected;
                    degrees += 1.0;
                } else {
                    assert_eq!(*count, 0.0);
                }
            }
            assert!(chi_squared_tail(statistic, degrees) > 1e-6, "{statistic} of {degrees}");
        }
    }
}
