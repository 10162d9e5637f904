//! Potentials whose beliefs are given marginals.

use crate::bp::add_random;
use crate::common::{Enumeration, distance};
use fenchel_graphical::bp::{
    BeliefPropagationSettings, PairMarginal, belief_propagation, moment_matching,
};
use fenchel_graphical::{FactorGraph, VarId};
use fenchel_optim::Status;
use fenchel_optim::random::stream;

#[test]
fn matched_moments_are_beliefs() {
    let edges = (0..9u32).flat_map(|v| {
        let right = (v % 3 < 2).then_some((v, v + 1));
        let below = (v < 6).then_some((v, v + 3));
        right.into_iter().chain(below)
    });
    let edges: Vec<(u32, u32)> = edges.collect();
    assert_eq!(edges.len(), 12);
    let mut rng = stream(4, 4);
    let mut truth = FactorGraph::new(&[2, 3, 2, 2, 2, 3, 2, 2, 2]).unwrap();
    for &(i, j) in &edges {
        add_random(&mut truth, &[i, j], 0.5, 0.0, &mut rng);
    }
    let exact = Enumeration::of(&truth);
    let variables: Vec<Vec<f64>> = truth.variables().map(|v| exact.marginal(&[v])).collect();
    let pair = |&(i, j): &(u32, u32)| {
        // Orientation is free.
        let (first, second) =
            if (i + j) % 2 == 0 { (VarId(i), VarId(j)) } else { (VarId(j), VarId(i)) };
        PairMarginal { first, second, probabilities: exact.marginal(&[first, second]) }
    };
    let pairs: Vec<PairMarginal> = edges.iter().map(pair).collect();
    let model = moment_matching(&variables, &pairs, 0.0).unwrap();
    let run =
        belief_propagation(&model, &BeliefPropagationSettings::default(), None, &mut ()).unwrap();
    // Uniform messages are where it starts.
    assert_eq!(run.report.status, Status::Converged);
    assert!(run.state.log_partition().abs() < 1e-12);
    for (found, expected) in run.state.marginals().iter().zip(&variables) {
        assert!(distance(found, expected) < 1e-12);
    }
    for (k, pair) in pairs.iter().enumerate() {
        let f = fenchel_graphical::FactorId((9 + k) as u32);
        let table = run.state.factor_marginal(f).unwrap();
        let sorted = exact.marginal(table.scope());
        assert!(distance(&table.values(), &sorted) < 1e-12, "{pair:?}");
    }
    // On a tree the match is the distribution itself.
    let tree: Vec<PairMarginal> = [0, 1, 2].iter().map(|&k| pairs[k].clone()).collect();
    let forest = moment_matching(&variables, &tree, 0.0).unwrap();
    assert!(Enumeration::of(&forest).log_partition.abs() < 1e-12);
}

#[test]
fn moments_that_cannot_be_matched_are_refused() {
    let pair = |probabilities: &[f64]| {
        [PairMarginal { first: VarId(0), second: VarId(1), probabilities: probabilities.to_vec() }]
    };
    let variables = [vec![0.5, 0.5], vec![0.5, 0.5]];
    let message = |variables: &[Vec<f64>], pairs: &[PairMarginal], smoothing: f64| {
        moment_matching(variables, pairs, smoothing).unwrap_err().to_string()
    };
    let diagonal = pair(&[0.5, 0.0, 0.0, 0.5]);
    assert!(message(&variables, &diagonal, 0.0).contains("or a smoothing"));
    assert!(moment_matching(&variables, &diagonal, 0.01).is_ok());
    assert!(message(&variables, &pair(&[0.4, 0.2, 0.2, 0.2]), 0.0).contains("gives state 0"));
    assert!(message(&variables, &pair(&[1.0]), 0.0).contains("expected"));
    assert!(message(&variables, &[], 2.0).contains("smoothing"));
    assert!(message(&[vec![0.5, 0.4]], &[], 0.0).contains("a sum of 1"));
    let mut same = pair(&[0.25; 4]);
    same[0].second = VarId(0);
    assert!(message(&variables, &same, 0.0).contains("twice"));
    same[0].second = VarId(7);
    assert!(message(&variables, &same, 0.0).contains("unknown"));
}
