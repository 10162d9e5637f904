//! Classes of graphs and distances between graphs, against enumeration and numbers.

use fenchel_causal::adjustment::adjust;
use fenchel_causal::distance::{Strategy, adjustment_distance, shd, sid};
use fenchel_causal::equivalence::{identify_in_class, is_identifiable, members};
use fenchel_causal::{Admg, LatentModel, NodeSet, ProbabilityTable, Query, identify};
use fenchel_graphical::{Cpdag, Dag};

use crate::common::{names, pairs, random_graph, random_query, rng};

fn dag(g: &Admg) -> Dag {
    Dag::new(g.len(), g.directed()).unwrap()
}

/// All directed acyclic graphs with n nodes.
fn all_dags(n: usize) -> Vec<Dag> {
    let edges = pairs(n);
    let mut found = Vec::new();
    for code in 0..3_u32.pow(edges.len() as u32) {
        let mut rest = code;
        let mut arcs = Vec::new();
        for &(a, b) in &edges {
            match rest % 3 {
                1 => arcs.push((a, b)),
                2 => arcs.push((b, a)),
                _ => {}
            }
            rest /= 3;
        }
        found.extend(Dag::new(n, arcs));
    }
    found
}

#[test]
fn members_are_the_equivalent_graphs() {
    let all = all_dags(4);
    assert_eq!(all.len(), 543);
    for truth in all.iter().step_by(3) {
        let class = truth.cpdag();
        let found = members(&class, 1000).unwrap();
        let expected = all.iter().filter(|g| g.is_equivalent(truth)).count();
        assert_eq!(found.len(), expected, "{class:?}");
        assert!(found.iter().all(|g| g.is_equivalent(truth)), "{class:?}");
    }
    assert_eq!(
        members(&all[0].cpdag(), 0).unwrap_err().to_string(),
        "more than 0 graphs of the class"
    );
}

/// The criterion says yes exactly where all members give the same number on a distribution of the class.
#[test]
fn a_class_answers_where_all_members_agree() {
    let mut rng = rng(11);
    for k in 0..60 {
        let n = 3 + k % 3;
        let g = random_graph(n, 0.6, 0.0, &mut rng);
        let model = LatentModel::random(&g, &vec![2; n], &mut rng).unwrap();
        let joint = model.observed().unwrap();
        let class = dag(&g).cpdag();
        let all = members(&class, 1000).unwrap();
        for (a, b) in pairs(n) {
            for (x, y) in [(a, b), (b, a)] {
                let query = Query::new(NodeSet::one(y), NodeSet::one(x));
                let values: Vec<ProbabilityTable> = all
                    .iter()
                    .map(|m| {
                        let m = Admg::from_dag(m, &names(n)).unwrap();
                        identify(&m, query).unwrap().evaluate(&joint).unwrap()
                    })
                    .collect();
                let spread = values.iter().map(|v| v.distance(&values[0])).fold(0.0, f64::max);
                let yes = is_identifiable(&class, query.outcome, query.treatment).unwrap();
                assert_eq!(yes, spread < 1e-9, "{g}: {x} -> {y}: spread {spread:e}");
                let formula = identify_in_class(&class, &names(n), query).unwrap();
                assert_eq!(formula.is_some(), yes);
                if let Some(formula) = formula {
                    let truth = model.effect(query).unwrap();
                    assert!(formula.evaluate(&joint).unwrap().distance(&truth) < 1e-12);
                }
            }
        }
    }
}

/// 0 -> 1 - 2 is no class: one way to direct the edge makes a v-structure.
#[test]
fn edges_that_are_no_class() {
    let wrong = Cpdag { nodes: 3, directed: vec![(0, 1)], undirected: vec![(1, 2)] };
    let error = members(&wrong, 10).unwrap_err().to_string();
    assert!(error.starts_with("the class: expected all graphs that are equivalent"), "{error}");
}

/// The edge X - Z may go either way, so that the effect of X on Y and Z is not determined. That on Y given Z is: `P(Y | X, Z)`.
#[test]
fn a_condition_may_settle_what_the_class_leaves_open() {
    let g = Admg::parse("X -> Z; X -> Y; Z -> Y; W -> Y").unwrap();
    let class = dag(&g).cpdag();
    assert_eq!(class.undirected.len(), 1);
    let names = ["X", "Z", "Y", "W"];
    let found = |text: &str| identify_in_class(&class, &names, g.query(text).unwrap()).unwrap();
    assert!(found("P(Y, Z | do(X))").is_none() && found("P(Z | do(X), W)").is_none());
    let formula = found("P(Y | do(X), Z)").unwrap();
    let joint = LatentModel::random(&g, &[2, 3, 2, 2], &mut rng(5)).unwrap().observed().unwrap();
    let seen = identify(&g, g.query("P(Y | X, Z)").unwrap()).unwrap().evaluate(&joint).unwrap();
    assert!(formula.evaluate(&joint).unwrap().distance(&seen) < 1e-14);
    // A chain: whether 1 is set in front of 2 or behind it makes a difference.
    let chain = Dag::new(3, [(0, 1), (1, 2)]).unwrap().cpdag();
    let query = Query::new(NodeSet::one(2), NodeSet::one(1)).given(NodeSet::one(0));
    assert!(identify_in_class(&chain, &["a", "b", "c"], query).unwrap().is_none());
}

/// Conditional queries on classes against the formulas of all members, on laws of their own.
#[test]
fn conditional_queries_on_classes() {
    let mut rng = rng(31);
    let (mut yes, mut no) = (0, 0);
    for k in 0..120 {
        let n = 3 + k % 3;
        let g = random_graph(n, 0.5, 0.0, &mut rng);
        let mut query = random_query(n, &mut rng);
        while query.given.is_empty() {
            query = random_query(n, &mut rng);
        }
        let class = dag(&g).cpdag();
        let joint = LatentModel::random(&g, &vec![3; n], &mut rng).unwrap().observed().unwrap();
        let of = |dag: &Dag| {
            let member = Admg::from_dag(dag, &names(n)).unwrap();
            identify(&member, query).unwrap().evaluate(&joint).unwrap()
        };
        let values: Vec<ProbabilityTable> = members(&class, 600).unwrap().iter().map(of).collect();
        let spread = values.iter().map(|v| v.distance(&values[0])).fold(0.0, f64::max);
        match identify_in_class(&class, &names(n), query).unwrap() {
            Some(formula) => {
                yes += 1;
                assert!(spread < 1e-11, "{g}: {query:?}: {spread:e}");
                assert!(formula.evaluate(&joint).unwrap().distance(&values[0]) < 1e-11);
            }
            None => {
                no += 1;
                assert!(spread > 1e-9, "{g}: {query:?}: {spread:e}");
            }
        }
    }
    assert!(yes > 20 && no > 20, "{yes} with a formula, {no} without");
}

/// The distance counts the pairs for which the estimate's formula is wrong on a random distribution of the truth.
#[test]
fn intervention_distances_are_counts_of_wrong_numbers() {
    let mut rng = rng(21);
    for k in 0..80 {
        let n = 3 + k % 3;
        let (truth, estimate) =
            (random_graph(n, 0.5, 0.0, &mut rng), random_graph(n, 0.5, 0.0, &mut rng));
        let model = LatentModel::random(&truth, &vec![2; n], &mut rng).unwrap();
        let joint = model.observed().unwrap();
        let mut wrong = 0;
        for (a, b) in pairs(n) {
            for (x, y) in [(a, b), (b, a)] {
                let query = Query::new(NodeSet::one(y), NodeSet::one(x));
                // Adjusting for the parents is what the estimate would do if every node were its child.
                let formula = if estimate.parents(x).contains(y) {
                    let empty = Admg::new(&names(n), &[], &[]).unwrap();
                    identify(&empty, query).unwrap()
                } else {
                    let z = estimate.parents(x);
                    let arcs: Vec<(u32, u32)> =
                        z.iter().flat_map(|v| [(v, x), (v, y)]).chain([(x, y)]).collect();
                    let other = Admg::new(&names(n), &arcs, &[]).unwrap();
                    adjust(&other, query.treatment, query.outcome, z).unwrap()
                };
                let truth = model.effect(query).unwrap();
                wrong += usize::from(formula.evaluate(&joint).unwrap().distance(&truth) > 1e-9);
            }
        }
        assert_eq!(
            sid(&dag(&truth), &dag(&estimate)).unwrap(),
            wrong,
            "{truth} against {estimate}"
        );
    }
}

#[test]
fn distances_of_known_pairs() {
    let g = |arcs: &[(u32, u32)]| Dag::new(3, arcs.iter().copied()).unwrap();
    let chain = g(&[(0, 1), (1, 2)]);
    let back = g(&[(2, 1), (1, 0)]);
    let full = g(&[(0, 1), (1, 2), (0, 2)]);
    assert_eq!(shd(&chain, &chain).unwrap(), 0);
    assert_eq!(shd(&chain, &back).unwrap(), 2);
    assert_eq!(shd(&chain, &full).unwrap(), 1);
    // One more edge in the right order does no harm; one fewer does.
    assert_eq!(sid(&chain, &full).unwrap(), 0);
    assert!(sid(&full, &chain).unwrap() > 0);
    // The reversed chain is wrong about every pair: three effects that are there, and the three that are not.
    assert_eq!(sid(&chain, &back).unwrap(), 6);
    for strategy in [Strategy::Parents, Strategy::Ancestors, Strategy::Optimal] {
        assert_eq!(adjustment_distance(&chain, &chain, strategy).unwrap(), 0);
        assert_eq!(adjustment_distance(&chain, &full, strategy).unwrap(), 0);
        assert!(adjustment_distance(&chain, &back, strategy).unwrap() >= 3);
    }
    let other = Dag::new(2, []).unwrap();
    assert!(shd(&chain, &other).is_err() && sid(&chain, &other).is_err());
}

#[test]
fn edges_that_form_no_class_are_refused() {
    let class = |directed: &[(u32, u32)], undirected: &[(u32, u32)], nodes| Cpdag {
        nodes,
        directed: directed.to_vec(),
        undirected: undirected.to_vec(),
    };
    let wrong = [
        class(&[(0, 1)], &[(1, 2)], 3),
        class(&[(0, 1), (1, 2), (2, 0)], &[], 3),
        class(&[(0, 1)], &[], 2),
    ];
    for class in wrong {
        let (y, x) = (NodeSet::one(1), NodeSet::one(0));
        assert!(is_identifiable(&class, y, x).is_err(), "{class:?}");
        let names = ["a", "b", "c"];
        let asked = identify_in_class(&class, &names[..class.nodes], Query::new(y, x));
        assert!(asked.is_err(), "{class:?}");
    }
}

#[test]
fn outcome_and_treatment_are_apart() {
    let class = Cpdag { nodes: 2, directed: vec![], undirected: vec![(0, 1)] };
    let x = NodeSet::one(0);
    let error = is_identifiable(&class, x, x).unwrap_err().to_string();
    assert_eq!(error, "\"0\" is both outcome and treatment");
    let error = is_identifiable(&class, NodeSet::EMPTY, x).unwrap_err().to_string();
    assert_eq!(error, "the outcome of the query is empty");
}
