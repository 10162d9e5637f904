//! Log-linear families: scores, gradients, convexity.

use crate::common::{Enumeration, distance};
use fenchel_graphical::{Evidence, JunctionTree, LogLinear, OrderingOptions, VarId};
use proptest::prelude::*;

/// Three variables, two pairs that share a parameter, a triple.
fn family(statistics: &[f64]) -> LogLinear {
    let mut family = LogLinear::new(&[2, 3, 2], 3).unwrap();
    let ids = [VarId(0), VarId(1), VarId(2)];
    family.add(&ids[..2], &[0, 1], &statistics[..12]).unwrap();
    family.add(&ids[1..], &[1], &statistics[12..18]).unwrap();
    family.add(&ids, &[2], &statistics[18..30]).unwrap();
    family
}

proptest! {
    #[test]
    fn expectations_are_gradients(
        statistics in proptest::collection::vec(-2.0..2.0_f64, 30),
        theta in proptest::collection::vec(-2.0..2.0_f64, 3),
        direction in proptest::collection::vec(-1.0..1.0_f64, 3),
    ) {
        let family = family(&statistics);
        let model = family.model(&theta).unwrap();
        let exact = Enumeration::of(&model);
        let mut mean = vec![0.0; 3];
        for (k, x) in exact.configurations.iter().enumerate() {
            let t = family.statistics(x).unwrap();
            let score: f64 = t.iter().zip(&theta).map(|(t, w)| t * w).sum();
            prop_assert!((score - exact.scores[k]).abs() < 1e-12);
            mean.iter_mut().zip(&t).for_each(|(m, t)| *m += exact.probability(k) * t);
        }
        let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
        let mut workspace = tree.workspace();
        let none = Evidence::new();
        let found = family.expectation(&tree.calibrate(&model, &none, &mut workspace).unwrap()).unwrap();
        prop_assert!(distance(&found, &mean) < 1e-12);

        // A along a line: slope at 0, and convexity.
        let mut moved = model.clone();
        let mut log_z = |step: f64| {
            let at: Vec<f64> = theta.iter().zip(&direction).map(|(t, d)| t + step * d).collect();
            family.potentials(&at, &mut moved).unwrap();
            tree.calibrate(&moved, &none, &mut workspace).unwrap().log_partition()
        };
        let slope: f64 = mean.iter().zip(&direction).map(|(m, d)| m * d).sum();
        prop_assert!(((log_z(1e-4) - log_z(-1e-4)) / 2e-4 - slope).abs() < 1e-6);
        prop_assert!(log_z(1.0) + log_z(-1.0) - 2.0 * log_z(0.0) >= -1e-12);
    }
}

#[test]
fn misuse_is_refused() {
    let mut family = LogLinear::new(&[2, 2], 1).unwrap();
    assert!(family.add(&[VarId(0)], &[1], &[0.0, 1.0]).is_err());
    assert!(family.add(&[VarId(0)], &[0], &[0.0, 1.0, 2.0]).is_err());
    assert!(family.add(&[VarId(0)], &[0], &[0.0, f64::NAN]).is_err());
    assert!(family.add(&[VarId(7)], &[0], &[0.0, 1.0]).is_err());
    family.add(&[VarId(0)], &[0], &[0.0, 1.0]).unwrap();
    assert!(family.model(&[]).is_err());
    assert!(family.model(&[f64::INFINITY]).is_err());
    assert!(family.statistics(&[0, 2]).is_err());
}
