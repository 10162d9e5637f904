//! Changing evidence on one model, and trees that are kept.

use std::sync::Arc;

use crate::common::{Enumeration, distance, models_with};
use fenchel_graphical::junction_tree::TreeCache;
use fenchel_graphical::{
    Error, Evidence, FactorGraph, Finding, JunctionTree, OrderingOptions, VarId, networks,
};
use proptest::prelude::*;

const INF: f64 = f64::INFINITY;

/// Sets, replaces or forgets a finding of a variable.
fn change(evidence: &mut Evidence, model: &FactorGraph, variable: u32, kind: usize) {
    let v = VarId(variable % model.len() as u32);
    let card = model.cards()[v.index()];
    let ramp = |from: f64| (0..card).map(|s| from + s as f64).collect();
    match kind {
        0 | 1 => drop(evidence.forget(v)),
        2 => evidence.set(v, Finding::Likelihood(ramp(0.5))),
        3 => evidence.set(v, Finding::Likelihood(ramp(0.0))),
        4 => evidence.set(v, Finding::Likelihood(vec![1e-200; card])),
        state => evidence.set(v, Finding::State(state % card)),
    }
}

proptest! {
    /// A walk over evidence, hard, soft, impossible and back: each answer is that of a calibration from nothing.
    #[test]
    fn a_walk_over_evidence_is_calibration(
        model in models_with(9, 0.1),
        steps in proptest::collection::vec((any::<u32>(), 0..9_usize, any::<bool>()), 1..25),
    ) {
        let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
        let mut workspace = tree.workspace();
        let mut posteriors = tree.posteriors(&model).unwrap();
        let mut evidence = Evidence::new();
        for (variable, kind, ask) in steps {
            if model.is_empty() {
                break;
            }
            change(&mut evidence, &model, variable, kind);
            if !ask {
                continue;
            }
            let expected = match tree.calibrate(&model, &evidence, &mut workspace) {
                Ok(answers) => answers,
                Err(error) => {
                    prop_assert_eq!(posteriors.given(&evidence).err(), Some(error));
                    continue;
                }
            };
            let found = posteriors.given(&evidence).unwrap();
            let tolerance = 1e-12 * (1.0 + expected.log_partition().abs());
            prop_assert!((found.log_partition() - expected.log_partition()).abs() < tolerance);
            for v in model.variables() {
                let (p, q) = (found.marginal(v).unwrap(), expected.marginal(v).unwrap());
                prop_assert!(distance(&p, &q) < 1e-12);
            }
            prop_assert!((found.entropy() - expected.entropy()).abs() < 1e-10);
            prop_assert!(tree.is_consistent(&found.clique_marginals(), 1e-10).unwrap());
        }
    }
}

proptest! {
    /// A walk over evidence with its retractions: each answer is what enumeration gives for the model with one factor more for
    /// each finding.
    #[test]
    fn a_walk_over_evidence_is_enumeration(
        model in models_with(7, 0.03),
        steps in proptest::collection::vec((any::<u32>(), 0..9_usize), 1..15),
    ) {
        let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
        let mut posteriors = tree.posteriors(&model).unwrap();
        let mut evidence = Evidence::new();
        for (variable, kind) in steps {
            change(&mut evidence, &model, variable, kind);
            let mut seen = model.clone();
            for (v, finding) in evidence.iter() {
                let values = match finding {
                    Finding::Likelihood(values) => values.clone(),
                    Finding::State(state) => {
                        (0..model.cards()[v.index()]).map(|s| if s == *state { 1.0 } else { 0.0 }).collect()
                    }
                };
                seen.add_values(&[v], &values).unwrap();
            }
            let all = Enumeration::of(&seen);
            if all.log_partition == -INF {
                prop_assert_eq!(posteriors.given(&evidence).err(), Some(Error::ImpossibleEvidence));
                continue;
            }
            let found = posteriors.given(&evidence).unwrap();
            let tolerance = 1e-10 * (1.0 + all.log_partition.abs());
            prop_assert!((found.log_partition() - all.log_partition).abs() < tolerance);
            for v in model.variables() {
                prop_assert!(distance(&found.marginal(v).unwrap(), &all.marginal(&[v])) < 1e-10);
            }
            prop_assert!((found.entropy() - all.entropy()).abs() < 1e-9);
        }
    }

    /// A long walk over a published network: nothing drifts from a calibration from nothing.
    #[test]
    fn a_walk_over_alarm_does_not_drift(
        steps in proptest::collection::vec((any::<u32>(), 0..9_usize), 60),
    ) {
        let model = networks::alarm().factor_graph().unwrap();
        let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
        let mut workspace = tree.workspace();
        let mut posteriors = tree.posteriors(&model).unwrap();
        let mut evidence = Evidence::new();
        for (variable, kind) in steps {
            change(&mut evidence, &model, variable, kind);
            let expected = tree.calibrate(&model, &evidence, &mut workspace);
            match (posteriors.given(&evidence), expected) {
                (Ok(found), Ok(expected)) => {
                    let (a, b) = (found.log_partition(), expected.log_partition());
                    prop_assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()));
                    for (p, q) in found.marginals().iter().zip(expected.marginals()) {
                        prop_assert!(distance(p, &q) < 1e-12);
                    }
                }
                (found, expected) => prop_assert_eq!(found.err(), expected.err()),
            }
        }
    }
}

/// Only with some evidence do scaled numbers not do; before and after it they do.
#[test]
fn logs_and_back() {
    let mut model = FactorGraph::new(&[2; 5]).unwrap();
    let copy = [0.0, -INF, -INF, 0.0];
    model.add(&[VarId(0), VarId(1)], &copy).unwrap();
    model.add(&[VarId(1), VarId(2)], &copy).unwrap();
    model.add(&[VarId(0)], &[0.0, -800.0]).unwrap();
    model.add(&[VarId(3), VarId(4)], &[0.3, 0.0, 0.0, 0.3]).unwrap();
    let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
    let mut workspace = tree.workspace();
    let mut posteriors = tree.posteriors(&model).unwrap();
    let none = Evidence::new();
    let contrary = none.clone().likelihood(VarId(2), [1e-300, 1.0]).observe(VarId(3), 1);
    let impossible = none.clone().observe(VarId(0), 0).observe(VarId(2), 1);
    let (mut in_logs, mut refused) = (0, 0);
    for evidence in [&none, &contrary, &none, &impossible, &contrary, &impossible, &none, &none] {
        let expected = tree.calibrate(&model, evidence, &mut workspace);
        let found = posteriors.given(evidence);
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                in_logs += usize::from(found.is_in_logs());
                assert_eq!(found.is_in_logs(), expected.is_in_logs());
                assert!((found.log_partition() - expected.log_partition()).abs() < 1e-12);
                for v in model.variables() {
                    let (p, q) = (found.marginal(v).unwrap(), expected.marginal(v).unwrap());
                    assert!(distance(&p, &q) < 1e-12);
                }
            }
            (found, expected) => {
                refused += 1;
                assert_eq!(found.err(), Some(Error::ImpossibleEvidence));
                assert_eq!(expected.err(), Some(Error::ImpossibleEvidence));
            }
        }
    }
    assert_eq!((in_logs, refused), (2, 2));
    assert!(posteriors.given(&none.clone().observe(VarId(9), 0)).is_err());
    assert!(posteriors.given(&none).is_ok());
    let other = FactorGraph::new(&[2; 5]).unwrap();
    assert!(tree.posteriors(&other).is_err());
}

fn chain(length: u32) -> FactorGraph {
    let mut model = FactorGraph::new(&vec![2; length as usize]).unwrap();
    for v in 1..length {
        model.add(&[VarId(v - 1), VarId(v)], &[0.5, 0.0, 0.0, 0.5]).unwrap();
    }
    model
}

#[test]
fn trees_are_kept_by_structure_and_the_oldest_leaves() {
    let cache = TreeCache::new(OrderingOptions::default(), 2);
    assert!(cache.is_empty());
    let [short, middle, long] = [3, 4, 5].map(chain);
    let first = cache.tree(&short).unwrap();
    cache.tree(&middle).unwrap();
    // Other numbers, same structure.
    let mut other = short.clone();
    other.set(fenchel_graphical::FactorId(0), &[0.1, 0.2, 0.3, 0.4]).unwrap();
    assert!(Arc::ptr_eq(&first, &cache.tree(&other).unwrap()));
    // The chain of 4 was used before that of 3.
    cache.tree(&long).unwrap();
    assert_eq!(cache.len(), 2);
    assert!(Arc::ptr_eq(&first, &cache.tree(&short).unwrap()));
    // The same scopes with other cardinalities are another structure.
    let mut wide = FactorGraph::new(&[3; 3]).unwrap();
    wide.add(&[VarId(0), VarId(1)], &[0.0; 9]).unwrap();
    wide.add(&[VarId(1), VarId(2)], &[0.0; 9]).unwrap();
    assert!(cache.tree(&wide).unwrap().fits(&wide));
    assert_eq!(cache.len(), 2);
    let tight = OrderingOptions { max_memory: Some(8), ..OrderingOptions::default() };
    let refusing = TreeCache::new(tight, 2);
    assert!(matches!(refusing.tree(&long), Err(Error::Refused(_))));
    assert!(refusing.is_empty());
}

#[test]
fn threads_share_a_cache() {
    let cache = TreeCache::new(OrderingOptions::default(), 3);
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let cache = &cache;
            scope.spawn(move || {
                for k in 0..50 {
                    let model = chain(2 + (k * (thread + 1)) % 5);
                    let tree = cache.tree(&model).unwrap();
                    let mut workspace = tree.workspace();
                    let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace).unwrap();
                    // Every edge of a chain multiplies Z by e^0.5 + 1.
                    let edges = (model.len() - 1) as f64;
                    let expected = 2.0_f64.ln() + edges * (0.5_f64.exp() + 1.0).ln();
                    assert!((answers.log_partition() - expected).abs() < 1e-12);
                }
            });
        }
    });
    assert_eq!(cache.len(), 3);
}
