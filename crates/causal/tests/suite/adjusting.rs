//! Sets to adjust for: all minimal ones against brute force, formulas against the truth, the rules of the do-calculus on
//! numbers.

use fenchel_causal::adjustment::{
    SetSearch, adjust, adjustment_sets, back_door_sets, front_door, front_door_sets, is_adjustment,
    is_back_door, is_front_door, optimal_adjustment,
};
use fenchel_causal::{Admg, Error, Estimand, LatentModel, NodeSet, Query, calculus};
use proptest::prelude::*;

use crate::common::{graph_of_bits, pairs, random_graph, random_query, rng};

fn subsets(n: usize, of: NodeSet) -> Vec<NodeSet> {
    let all = (0..1_u32 << n).map(|bits| (0..n as u32).filter(|v| bits >> v & 1 == 1).collect());
    all.filter(|s: &NodeSet| s.is_subset(of)).collect()
}

/// The sets of which no proper subset is among them.
fn minimal(sets: &[NodeSet]) -> Vec<NodeSet> {
    let below = |s: &NodeSet| sets.iter().any(|t| t != s && t.is_subset(*s));
    let mut all: Vec<NodeSet> = sets.iter().copied().filter(|s| !below(s)).collect();
    all.sort();
    all
}

fn error_of(estimand: &Estimand, model: &LatentModel) -> f64 {
    let found = estimand.evaluate(&model.observed().unwrap()).unwrap();
    found.distance(&model.effect(estimand.query).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn all_minimal_sets_are_found(seed in any::<u64>(), n in 3_usize..8) {
        let mut rng = rng(seed);
        let g = random_graph(n, 0.45, 0.15, &mut rng);
        let Query { outcome: y, treatment: x, given: out } = random_query(n, &mut rng);
        let search = SetSearch { forbidden: out, ..SetSearch::default() };
        let open = subsets(n, g.all() - x - y - out);
        type Judge = fn(&Admg, NodeSet, NodeSet, NodeSet) -> Result<bool, Error>;
        type List = fn(&Admg, NodeSet, NodeSet, &SetSearch) -> Result<Vec<NodeSet>, Error>;
        let cases: [(Judge, List); 3] = [
            (is_back_door, back_door_sets),
            (is_adjustment, adjustment_sets),
            (is_front_door, front_door_sets),
        ];
        for (judge, list) in cases {
            let valid: Vec<NodeSet> =
                open.iter().copied().filter(|&z| judge(&g, x, y, z).unwrap()).collect();
            let mut found = list(&g, x, y, &search).unwrap();
            found.sort();
            prop_assert_eq!(&found, &minimal(&valid), "{} x={:?} y={:?}", g, x, y);
        }
    }

    /// Every adjustment and every front door gives the truth; the back-door criterion implies the exact one.
    #[test]
    fn formulas_give_the_truth(seed in any::<u64>(), n in 3_usize..7) {
        let mut rng = rng(seed);
        let g = random_graph(n, 0.5, 0.15, &mut rng);
        let model = LatentModel::random(&g, &vec![2; n], &mut rng).unwrap();
        let Query { outcome: y, treatment: x, .. } = random_query(n, &mut rng);
        for z in subsets(n, g.all() - x - y) {
            if is_back_door(&g, x, y, z).unwrap() {
                prop_assert!(is_adjustment(&g, x, y, z).unwrap(), "{} {:?}", g, z);
            }
            if is_adjustment(&g, x, y, z).unwrap() {
                let error = error_of(&adjust(&g, x, y, z).unwrap(), &model);
                prop_assert!(error < 1e-12, "{}: adjusting for {:?}: {:e}", g, z, error);
            }
            if is_front_door(&g, x, y, z).unwrap() && !z.is_empty() {
                let error = error_of(&front_door(&g, x, y, z).unwrap(), &model);
                prop_assert!(error < 1e-12, "{}: front door {:?}: {:e}", g, z, error);
            }
        }
        if let Ok(z) = optimal_adjustment(&g, x, y) {
            prop_assert!(is_adjustment(&g, x, y, z).unwrap());
        }
    }

    /// Where a rule applies, both sides are the same on a random model; where it does not, they differ.
    #[test]
    fn rules_of_the_calculus(seed in any::<u64>(), n in 3_usize..6) {
        let mut rng = rng(seed);
        let g = random_graph(n, 0.4, 0.2, &mut rng);
        let model = LatentModel::random(&g, &vec![2; n], &mut rng).unwrap();
        let Query { outcome: y, treatment: z, given: w } = random_query(n, &mut rng);
        let x = (g.all() - y - z - w).smallest().map_or(NodeSet::EMPTY, NodeSet::one);
        let law = |treatment, given| model.effect(Query { outcome: y, treatment, given }).unwrap();
        // Both sides over the same variables: multiplied by a table of ones.
        let same = |a: &fenchel_causal::ProbabilityTable, b: &fenchel_causal::ProbabilityTable| {
            let scope = if a.scope().len() > b.scope().len() { a } else { b };
            crate::common::odometer(scope.cards()).into_iter().map(|s| {
                let at: Vec<(u32, usize)> = scope.scope().iter().copied().zip(s).collect();
                (a.at(&at).unwrap() - b.at(&at).unwrap()).abs()
            }).fold(0.0, f64::max)
        };
        let cases = [
            (calculus::observation(&g, y, x, z, w).unwrap(), law(x, z | w), law(x, w)),
            (calculus::exchange(&g, y, x, z, w).unwrap(), law(x | z, w), law(x, z | w)),
            (calculus::action(&g, y, x, z, w).unwrap(), law(x | z, w), law(x, w)),
        ];
        for (k, (applies, left, right)) in cases.iter().enumerate() {
            let gap = same(left, right);
            if *applies {
                prop_assert!(gap < 1e-12, "rule {}: {} {:?} {:?} {:?} {:?}: {:e}", k + 1, g, y, x, z, w, gap);
            }
        }
    }
}

/// In graphs of three nodes without hidden causes, a set gives the truth on a random model only if the criterion holds.
#[test]
fn the_adjustment_criterion_is_exact() {
    let mut rng = rng(5);
    for bits in 0..1 << 6 {
        let g = graph_of_bits(4, bits, 0);
        let model = LatentModel::random(&g, &[2; 4], &mut rng).unwrap();
        let joint = model.observed().unwrap();
        for (a, b) in pairs(4) {
            for (x, y) in [(a, b), (b, a)] {
                let (x, y) = (NodeSet::one(x), NodeSet::one(y));
                let truth = model.effect(Query::new(y, x)).unwrap();
                for z in subsets(4, g.all() - x - y) {
                    // The formula of a graph in which z is a valid set, whatever it is here.
                    let names = g.names();
                    let arcs: Vec<(u32, u32)> = z
                        .iter()
                        .flat_map(|v| [(v, x.smallest().unwrap()), (v, y.smallest().unwrap())])
                        .collect();
                    let other = Admg::new(names, &arcs, &[]).unwrap();
                    let value = adjust(&other, x, y, z).unwrap().evaluate(&joint).unwrap();
                    let right = value.distance(&truth) < 1e-9;
                    assert_eq!(
                        right,
                        is_adjustment(&g, x, y, z).unwrap(),
                        "{g}: {x:?} {y:?} {z:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn limits_and_refusals() {
    let g = Admg::parse("A -> X; A -> B -> Y; X -> Y").unwrap();
    let (x, y) = (g.set(&["X"]).unwrap(), g.set(&["Y"]).unwrap());
    let search = SetSearch { limit: 1, ..SetSearch::default() };
    let error = back_door_sets(&g, x, y, &search).unwrap_err();
    assert_eq!(error.to_string(), "more than 1 minimal sets");
    let error = adjust(&g, x, y, NodeSet::EMPTY).unwrap_err();
    assert_eq!(error.to_string(), "no valid adjustment by this set for this pair of sets");
    assert!(front_door(&g, x, y, NodeSet::EMPTY).is_err());
    assert_eq!(optimal_adjustment(&g, x, y).unwrap(), g.set(&["B"]).unwrap());
    assert!(optimal_adjustment(&g, y, x).is_err());
}
