//! Tables and factor graphs against enumeration, and what they refuse.

use crate::common::{Enumeration, configurations, distance, log_sum, models};
use fenchel_graphical::{Error, Evidence, FactorGraph, Finding, Table, VarId};
use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use proptest::prelude::*;

const INF: f64 = f64::INFINITY;

fn ids(scope: &[u32]) -> Vec<VarId> {
    scope.iter().copied().map(VarId).collect()
}

proptest! {
    #[test]
    fn a_product_of_all_factors_is_the_joint(model in models(6), keep in any::<u8>()) {
        let exact = Enumeration::of(&model);
        let mut joint = Table::ones(&model.variables().collect::<Vec<_>>(), model.cards()).unwrap();
        let mut spare = joint.clone();
        for factor in model.factors() {
            joint.product_into(factor, &mut spare).unwrap();
            std::mem::swap(&mut joint, &mut spare);
        }
        prop_assert!(distance(joint.log_values(), &exact.scores) < 1e-12);

        let keep: Vec<VarId> = model.variables().filter(|v| keep >> v.0 & 1 == 1).collect();
        let best = joint.marginalize_max(&keep).unwrap();
        prop_assert_eq!(best.marginalize_max(&[]).unwrap().log_values()[0], exact.best_score());
        prop_assert_eq!(joint.log_value(&joint.argmax()).unwrap(), exact.best_score());
        let mut sums = joint.marginalize_sum(&keep).unwrap();
        if exact.log_partition == -INF {
            prop_assert_eq!(sums.normalize(), Err(Error::ImpossibleEvidence));
        } else {
            prop_assert!((sums.normalize().unwrap() - exact.log_partition).abs() < 1e-12);
            prop_assert!(distance(&sums.values(), &exact.marginal(&keep)) < 1e-12);
            let rest = joint.divide(&sums).unwrap().product(&sums).unwrap();
            prop_assert!(distance(rest.log_values(), joint.log_values()) < 1e-12);
        }
        prop_assert!((joint.expect(|_| 1.0).ln() - exact.log_partition).abs() < 1e-12
            || exact.log_partition == -INF);
    }

    #[test]
    fn a_conditioned_model_scores_as_the_model_does(model in models(6), picks in proptest::collection::vec(0..5_usize, 6)) {
        let mut evidence = Evidence::new();
        for v in model.variables() {
            let card = model.cards()[v.index()];
            match picks[v.index()] {
                0 => evidence.set(v, Finding::State(card - 1)),
                1 => evidence.set(v, Finding::Likelihood((0..card).map(|s| 0.5 * s as f64).collect())),
                _ => {}
            }
        }
        let given = model.condition(&evidence).unwrap();
        let states = configurations(given.cards());
        let expected = states.iter().map(|x| {
            let mut y = x.clone();
            let mut likelihood = 0.0;
            for (v, finding) in evidence.iter() {
                match finding {
                    Finding::State(s) => y[v.index()] = *s,
                    Finding::Likelihood(l) => likelihood += l[y[v.index()]].ln(),
                }
            }
            model.log_score(&y).unwrap() + likelihood
        });
        let expected: Vec<f64> = expected.collect();
        let found: Vec<f64> = states.iter().map(|x| given.log_score(x).unwrap()).collect();
        prop_assert!(distance(&found, &expected) < 1e-12);
        prop_assert!(log_sum(found) < INF);
    }
}

#[test]
fn unsorted_scopes_are_permuted() {
    let values: Vec<f64> = (0..24).map(f64::from).collect();
    let t = Table::new(&ids(&[7, 1, 4]), &[2, 3, 4], &values).unwrap();
    assert_eq!(t.scope(), ids(&[1, 4, 7]));
    for (k, x) in configurations(&[2, 3, 4]).iter().enumerate() {
        assert_eq!(t.log_value(&[x[1], x[2], x[0]]), Ok(k as f64));
    }
}

#[test]
fn graphs_know_neighbours_and_components() {
    let mut model = FactorGraph::new(&[2, 2, 2, 2, 3]).unwrap();
    model.add(&ids(&[3, 0]), &[0.0; 4]).unwrap();
    model.add(&ids(&[1]), &[0.0; 2]).unwrap();
    model.add(&ids(&[3, 2, 0]), &[0.0; 8]).unwrap();
    assert_eq!(model.components(), [ids(&[0, 2, 3]), ids(&[1]), ids(&[4])]);
    assert_eq!(model.neighbours(), [ids(&[2, 3]), vec![], ids(&[0, 3]), ids(&[0, 2]), vec![]]);
    assert_eq!(model.factors_of_variables()[3].len(), 2);
}

#[test]
fn bad_tables_are_refused() {
    let new = |scope: &[u32], cards: &[usize], values: &[f64]| {
        Table::new(&ids(scope), cards, values).unwrap_err()
    };
    assert_eq!(new(&[1, 1], &[2, 2], &[0.0; 4]), Error::RepeatedVariable { variable: VarId(1) });
    assert!(matches!(new(&[1], &[2], &[0.0, INF]), Error::Potential { index: 1, .. }));
    assert!(matches!(new(&[1], &[2], &[f64::NAN, 0.0]), Error::Potential { index: 0, .. }));
    assert!(matches!(new(&[1], &[0], &[]), Error::Invalid(Invalid::Parameter { .. })));
    assert!(matches!(new(&[1], &[3], &[0.0]), Error::Invalid(Invalid::Length { expected: 3, .. })));
    assert!(matches!(
        new(&[1, 2], &[1 << 40, 1 << 40], &[0.0]),
        Error::Refused(Refusal::MemoryLimit { needed: u64::MAX, .. })
    ));
    assert!(matches!(Table::from_values(&[], &[], &[-1.0]), Err(Error::Potential { .. })));
    let small = Table::ones(&ids(&[0]), &[2]).unwrap();
    assert!(matches!(small.marginalize_sum(&ids(&[3])), Err(Error::UnknownVariable { .. })));
    assert!(matches!(
        small.product(&Table::ones(&ids(&[0]), &[3]).unwrap()),
        Err(Error::Cardinality { .. })
    ));
    assert!(small.reduce(&Evidence::new().observe(VarId(0), 2)).is_err());
}

#[test]
fn bad_models_and_evidence_are_refused() {
    assert!(FactorGraph::new(&[2, 0]).is_err());
    let mut model = FactorGraph::new(&[2, 3]).unwrap();
    assert!(matches!(model.add(&ids(&[2]), &[0.0; 2]), Err(Error::UnknownVariable { .. })));
    let f = model.add(&ids(&[1, 0]), &[0.0; 6]).unwrap();
    assert!(matches!(
        model.add(&ids(&[1]), &[0.0, 0.0, INF]),
        Err(Error::Potential { factor: 1, index: 2, .. })
    ));
    assert!(matches!(
        model.add_values(&ids(&[1]), &[0.0, -1.0, 0.0]),
        Err(Error::Potential { factor: 1, .. })
    ));
    assert!(model.set(f, &[0.0; 5]).is_err());
    assert!(model.set(f, &[1.0; 6]).is_ok());
    assert!(matches!(model.log_score(&[0, 3]), Err(Error::State { state: 3, .. })));
    assert!(model.log_score(&[0]).is_err());
    for bad in [
        Evidence::new().observe(VarId(9), 0),
        Evidence::new().observe(VarId(0), 2),
        Evidence::new().likelihood(VarId(0), [1.0]),
        Evidence::new().likelihood(VarId(0), [1.0, -0.5]),
        Evidence::new().likelihood(VarId(0), [1.0, f64::NAN]),
    ] {
        assert!(model.condition(&bad).is_err(), "{bad:?}");
    }
}
