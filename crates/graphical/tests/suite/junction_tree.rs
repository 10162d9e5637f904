//! Every answer of a junction tree, and of variable elimination, against enumeration.

use crate::common::{Enumeration, distance, models, models_with};
use fenchel_graphical::chain::{Chain, ChainMarginals};
use fenchel_graphical::elimination::{elimination_order, evaluate_order};
use fenchel_graphical::junction_tree::Domain;
use fenchel_graphical::{
    Error, Evidence, FactorGraph, FactorId, Finding, Heuristic, JunctionTree, OrderingOptions,
    VarId, variable_elimination,
};
use fenchel_optim::Refusal;
use fenchel_optim::random::stream;
use proptest::prelude::*;
use rand::RngExt;

const INF: f64 = f64::INFINITY;
const HEURISTICS: [Heuristic; 6] = [
    Heuristic::MinFill,
    Heuristic::WeightedMinFill,
    Heuristic::MinWeight,
    Heuristic::MinNeighbours,
    Heuristic::MaximumCardinality,
    Heuristic::Portfolio,
];

fn options(heuristic: Heuristic, seed: u64) -> OrderingOptions {
    OrderingOptions { heuristic, seed, restarts: 2, ..OrderingOptions::default() }
}

fn compile(model: &FactorGraph) -> JunctionTree {
    JunctionTree::compile(model, &OrderingOptions::default()).unwrap()
}

proptest! {
    #[test]
    fn sums_are_those_of_enumeration(model in models(10), heuristic in 0..6_usize, seed in any::<u64>(), picks in any::<u16>()) {
        let exact = Enumeration::of(&model);
        let tree = JunctionTree::compile(&model, &options(HEURISTICS[heuristic], seed)).unwrap();
        for domain in [Domain::Scaled, Domain::Log] {
            let mut workspace = tree.workspace();
            let answers = tree.calibrate_in(&model, &Evidence::new(), &mut workspace, domain);
            if exact.log_partition == -INF {
                prop_assert_eq!(answers.err(), Some(Error::ImpossibleEvidence));
                continue;
            }
            let answers = answers.unwrap();
            prop_assert_eq!(answers.is_in_logs(), domain == Domain::Log);
            prop_assert!((answers.log_partition() - exact.log_partition).abs() < 1e-10);
            prop_assert!((answers.entropy() - exact.entropy()).abs() < 1e-10);
            for (v, marginal) in model.variables().zip(answers.marginals()) {
                prop_assert!(distance(&marginal, &exact.marginal(&[v])) < 1e-10);
            }
            for (f, factor) in model.factors().iter().enumerate() {
                let marginal = answers.factor_marginal(FactorId(f as u32)).unwrap();
                prop_assert_eq!(marginal.scope(), factor.scope());
                prop_assert!(distance(&marginal.values(), &exact.marginal(factor.scope())) < 1e-10);
            }
            let scope: Vec<VarId> = model.variables().filter(|v| picks >> v.0 & 1 == 1).collect();
            let joint = answers.joint_marginal(&scope).unwrap();
            prop_assert!(distance(&joint.values(), &exact.marginal(&scope)) < 1e-10);
            for (k, x) in exact.configurations.iter().enumerate().step_by(7) {
                let found = answers.log_probability(x).unwrap();
                let expected = exact.scores[k] - exact.log_partition;
                prop_assert!(found == expected || (found - expected).abs() < 1e-9);
            }
            let marginals = answers.clique_marginals();
            prop_assert!(tree.is_consistent(&marginals, 1e-12).unwrap());
        }
    }

    #[test]
    fn maxima_are_those_of_enumeration(model in models(10), seed in any::<u64>()) {
        let exact = Enumeration::of(&model);
        let tree = JunctionTree::compile(&model, &options(Heuristic::Portfolio, seed)).unwrap();
        let mut workspace = tree.workspace();
        let answers = tree.calibrate_max(&model, &Evidence::new(), &mut workspace);
        if exact.best_score() == -INF {
            prop_assert_eq!(answers.err(), Some(Error::ImpossibleEvidence));
            return Ok(());
        }
        let answers = answers.unwrap();
        let score = model.log_score(&answers.map()).unwrap();
        prop_assert!((score - exact.best_score()).abs() < 1e-10);
        prop_assert!((answers.best_score() - exact.best_score()).abs() < 1e-10);
        for v in model.variables() {
            prop_assert!(distance(&answers.max_marginal(v).unwrap(), &exact.max_marginal(v)) < 1e-10);
        }
    }

    /// Evidence taken in by a compiled tree, by variable elimination and by conditioning the model give one posterior.
    #[test]
    fn evidence_conditions(model in models_with(8, 0.02), picks in proptest::collection::vec(0..4_u32, 8), query in any::<u8>()) {
        let mut evidence = Evidence::new();
        for v in model.variables() {
            let card = model.cards()[v.index()];
            match picks[v.index()] {
                0 => evidence.set(v, Finding::State(card / 2)),
                1 => evidence.set(v, Finding::Likelihood((0..card).map(|s| 0.1 + s as f64).collect())),
                _ => {}
            }
        }
        let exact = Enumeration::of(&model.condition(&evidence).unwrap());
        let tree = compile(&model);
        let mut workspace = tree.workspace();
        let answers = tree.calibrate(&model, &evidence, &mut workspace);
        if exact.log_partition == -INF {
            prop_assert_eq!(answers.err(), Some(Error::ImpossibleEvidence));
            // Variable elimination looks wherever the evidence is, whatever is asked for.
            if Enumeration::of(&model).log_partition > -INF {
                for v in model.variables() {
                    let alone = variable_elimination(&model, &[v], &evidence, &OrderingOptions::default());
                    prop_assert_eq!(alone.err(), Some(Error::ImpossibleEvidence));
                }
            }
            return Ok(());
        }
        let answers = answers.unwrap();
        prop_assert!((answers.log_partition() - exact.log_partition).abs() < 1e-10);
        let posterior = |v: VarId| match evidence.state(v) {
            Some(state) => (0..model.cards()[v.index()]).map(|s| f64::from(u8::from(s == state))).collect(),
            None => exact.marginal(&[v]),
        };
        for v in model.variables() {
            prop_assert!(distance(&answers.marginal(v).unwrap(), &posterior(v)) < 1e-10);
        }
        let scope: Vec<VarId> = model.variables().filter(|v| query >> v.0 & 1 == 1).collect();
        let joint = answers.joint_marginal(&scope).unwrap();
        let alone = variable_elimination(&model, &scope, &evidence, &OrderingOptions::default()).unwrap();
        prop_assert_eq!(alone.scope(), joint.scope());
        prop_assert!(distance(&alone.values(), &joint.values()) < 1e-10);
    }

    #[test]
    fn trees_have_the_running_intersection(model in models(10), heuristic in 0..6_usize) {
        let tree = JunctionTree::compile(&model, &options(HEURISTICS[heuristic], 1)).unwrap();
        let cliques: Vec<Vec<VarId>> = tree.cliques().collect();
        let separators: Vec<(Vec<VarId>, usize)> = tree.separators().collect();
        // In a tree: the cliques that hold a variable are one more than the edges that do.
        for v in model.variables() {
            let holding = cliques.iter().filter(|c| c.contains(&v)).count();
            let edges = separators.iter().filter(|s| s.0.contains(&v)).count();
            prop_assert_eq!(holding, edges + 1);
        }
        let roots = separators.iter().enumerate().filter(|(k, s)| s.1 == *k).count();
        prop_assert_eq!(roots, model.components().len());
        for (k, (separator, parent)) in separators.iter().enumerate() {
            prop_assert!(*parent <= k);
            if *parent < k {
                let shared = cliques[k].iter().filter(|v| cliques[*parent].contains(v));
                prop_assert!(shared.eq(separator.iter()));
                prop_assert!(separator.len() < cliques[k].len().min(cliques[*parent].len()));
            }
        }
        for factor in model.factors() {
            prop_assert!(cliques.iter().any(|c| factor.scope().iter().all(|v| c.contains(v))) || factor.scope().is_empty());
        }
    }

    #[test]
    fn reports_are_what_the_order_costs(model in models(10), heuristic in 0..6_usize, seed in any::<u64>()) {
        let report = elimination_order(&model, &options(HEURISTICS[heuristic], seed)).unwrap();
        let again = evaluate_order(&model, &report.order).unwrap();
        prop_assert_eq!(&again.order, &report.order);
        prop_assert_eq!(again.induced_width, report.induced_width);
        prop_assert!((again.log2_total_table - report.log2_total_table).abs() < 1e-9);
        prop_assert!((again.log2_max_table - report.log2_max_table).abs() < 1e-9);
        prop_assert_eq!(report, elimination_order(&model, &options(HEURISTICS[heuristic], seed)).unwrap());
    }

    /// `d log Z / d theta` of a cell is its probability.
    #[test]
    fn the_gradient_of_log_z_is_the_marginal(model in models_with(6, 0.0)) {
        let tree = compile(&model);
        let mut workspace = tree.workspace();
        let none = Evidence::new();
        let factors = model.factors().to_vec();
        for (f, factor) in factors.iter().enumerate().take(3) {
            let marginal = tree.calibrate(&model, &none, &mut workspace).unwrap();
            let marginal = marginal.factor_marginal(FactorId(f as u32)).unwrap().values();
            let mut moved = model.clone();
            let mut log_z = |k: usize, step: f64| {
                let mut values = factor.log_values().to_vec();
                values[k] += step;
                moved.set(FactorId(f as u32), &values).unwrap();
                tree.calibrate(&moved, &none, &mut workspace).unwrap().log_partition()
            };
            for k in 0..factor.len().min(4) {
                let slope = (log_z(k, 1e-4) - log_z(k, -1e-4)) / 2e-4;
                prop_assert!((slope - marginal[k]).abs() < 1e-7);
            }
        }
    }
}

proptest! {
    /// The fast paths of chains and of forests are the general tree.
    #[test]
    fn chains_and_trees_are_junction_trees(
        states in 1..6_usize,
        length in 1..30_usize,
        scores in proptest::collection::vec(-30.0..30.0_f64, 30 * 5 + 29 * 25),
    ) {
        let (unary, pairwise) = scores.split_at(30 * 5);
        let mut line = Chain::per_edge(states, length).unwrap();
        let mut model = FactorGraph::new(&vec![states; length]).unwrap();
        for t in 0..length {
            let values = &unary[5 * t..][..states];
            line.unary_mut(t).copy_from_slice(values);
            model.add(&[VarId(t as u32)], values).unwrap();
        }
        for t in 1..length {
            let values = &pairwise[25 * (t - 1)..][..states * states];
            for (from, row) in values.chunks_exact(states).enumerate() {
                line.pairwise_mut(t - 1, from).copy_from_slice(row);
            }
            model.add(&[VarId(t as u32 - 1), VarId(t as u32)], values).unwrap();
        }
        let mut marginals = ChainMarginals::<f64>::new();
        let log_partition = line.marginals(&mut marginals).unwrap();
        let none = Evidence::new();
        for tree in [compile(&model), JunctionTree::of_tree(&model).unwrap()] {
            let mut workspace = tree.workspace();
            let answers = tree.calibrate(&model, &none, &mut workspace).unwrap();
            let tolerance = 1e-10 * (1.0 + log_partition.abs());
            prop_assert!((answers.log_partition() - log_partition).abs() < tolerance);
            for t in 0..length {
                let p = answers.marginal(VarId(t as u32)).unwrap();
                prop_assert!(distance(&p, marginals.node(t)) < 1e-10);
            }
            prop_assert!((answers.entropy() - marginals.entropy()).abs() < 1e-9);
            let best = tree.calibrate_max(&model, &none, &mut workspace).unwrap().best_score();
            prop_assert!((line.viterbi().unwrap().1 - best).abs() < tolerance);
        }
    }
}

fn chain(scale: f64, length: u32) -> FactorGraph {
    let mut model = FactorGraph::new(&vec![3; length as usize]).unwrap();
    let mut rng = stream(5, 0);
    let mut draw =
        |n: usize| -> Vec<f64> { (0..n).map(|_| scale * rng.random_range(-10.0..10.0)).collect() };
    for v in 0..length {
        model.add(&[VarId(v)], &draw(3)).unwrap();
        if v > 0 {
            model.add(&[VarId(v - 1), VarId(v)], &draw(9)).unwrap();
        }
    }
    model
}

/// Scores up to 4000 apart: scaled numbers underflow, which must be noticed.
#[test]
fn huge_scores_fall_back_to_logs() {
    for length in [2, 5, 8] {
        let model = chain(400.0, length);
        let exact = Enumeration::of(&model);
        let tree = compile(&model);
        let mut workspace = tree.workspace();
        let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace).unwrap();
        assert!(
            (answers.log_partition() - exact.log_partition).abs()
                < 1e-10 * exact.log_partition.abs()
        );
        for v in model.variables() {
            assert!(distance(&answers.marginal(v).unwrap(), &exact.marginal(&[v])) < 1e-10);
        }
    }
}

/// A score of 1e300 that another factor forbids: the others keep their digits.
#[test]
fn a_huge_score_that_is_impossible_costs_no_digits() {
    let mut model = FactorGraph::new(&[2, 3]).unwrap();
    model.add(&[VarId(0), VarId(1)], &[3.0, 2.5, 1e300, 4.0, 0.5, -1.0]).unwrap();
    model.add(&[VarId(1)], &[-1.5, 0.25, -INF]).unwrap();
    let exact = Enumeration::of(&model);
    let none = Evidence::new();
    let tree = compile(&model);
    let mut workspace = tree.workspace();
    let answers = tree.calibrate(&model, &none, &mut workspace).unwrap();
    assert!((answers.log_partition() - exact.log_partition).abs() < 1e-12);
    for v in model.variables() {
        assert!(distance(&answers.marginal(v).unwrap(), &exact.marginal(&[v])) < 1e-12);
    }
    let best = tree.calibrate_max(&model, &none, &mut workspace).unwrap();
    assert_eq!((best.map().as_slice(), best.best_score()), (&[0, 1][..], 2.75));
    for v in model.variables() {
        let table = variable_elimination(&model, &[v], &none, &OrderingOptions::default()).unwrap();
        let shares: Vec<f64> = table.log_values().iter().map(|score| score.exp()).collect();
        assert!(distance(&shares, &exact.marginal(&[v])) < 1e-12);
    }
    let mut chain = Chain::per_edge(3, 2).unwrap();
    for (t, unary) in [[0.0, 0.0, -INF], [-1.5, 0.25, -INF]].into_iter().enumerate() {
        chain.unary_mut(t).copy_from_slice(&unary);
    }
    chain.pairwise_mut(0, 0).copy_from_slice(&[3.0, 2.5, 1e300]);
    chain.pairwise_mut(0, 1).copy_from_slice(&[4.0, 0.5, -1.0]);
    let mut marginals: ChainMarginals = ChainMarginals::new();
    let log_partition = chain.marginals(&mut marginals).unwrap();
    assert!((log_partition - exact.log_partition).abs() < 1e-12, "{log_partition}");
    assert!(distance(&marginals.node(1)[..2], &exact.marginal(&[VarId(1)])[..2]) < 1e-12);
}

/// The same where the huge score comes in a message: what forbids it lies in another clique.
#[test]
fn a_huge_message_that_is_impossible_costs_no_digits() {
    for huge in [1e16, 1e300] {
        let mut model = FactorGraph::new(&[2, 3, 2]).unwrap();
        model.add(&[VarId(0), VarId(1)], &[3.0, 2.5, -1.0, 4.0, 0.5, -1.0]).unwrap();
        model.add(&[VarId(1), VarId(2)], &[0.5, 1.0, -1.5, 0.25, huge, 0.0]).unwrap();
        model.add(&[VarId(0), VarId(1)], &[20.5, 1.0, -INF, 19.0, 2.0, -INF]).unwrap();
        let exact = Enumeration::of(&model);
        let tree = compile(&model);
        assert_eq!(tree.cliques().len(), 2);
        let mut workspace = tree.workspace();
        let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace).unwrap();
        assert!((answers.log_partition() - exact.log_partition).abs() < 1e-12, "{huge}");
        for v in model.variables() {
            let marginal = answers.marginal(v).unwrap();
            assert!(distance(&marginal, &exact.marginal(&[v])) < 1e-12, "{huge}, {v}");
        }
    }
}

/// Scores of one factor that are all huge: their difference from another's keeps its digits.
#[test]
fn a_huge_score_that_is_common_costs_no_digits() {
    let mut model = FactorGraph::new(&[2]).unwrap();
    model.add(&[VarId(0)], &[1e16, 1e16]).unwrap();
    model.add(&[VarId(0)], &[0.0, 0.7]).unwrap();
    let tree = compile(&model);
    let mut workspace = tree.workspace();
    let best = tree.calibrate_max(&model, &Evidence::new(), &mut workspace).unwrap();
    assert_eq!(best.map(), [1]);
    let none = Evidence::new();
    let answers = tree.calibrate_in(&model, &none, &mut workspace, Domain::Log).unwrap();
    let share = 1.0 / (1.0 + (-0.7f64).exp());
    assert!((answers.marginal(VarId(0)).unwrap()[1] - share).abs() < 1e-15);
}

/// Scores of 1e9 in logarithms have seven digits behind the point; what is normalised by their total adds up to 1 all the same.
#[test]
fn marginals_of_huge_scores_add_up_to_1() {
    for size in [1e9, 1e16, 1e32, 1e100] {
        let mut model = FactorGraph::new(&[3, 3, 2]).unwrap();
        // Two states of the first variable are alike.
        let scores = [7.7, -1.0, -3.2, 7.7, -1.0, -3.2, -0.3, -6.4, 2.5];
        model.add(&[VarId(0), VarId(1)], &scores.map(|score| score - size)).unwrap();
        model.add(&[VarId(1), VarId(2)], &[2.0, 1.0, -225.5, 0.4, 1.7, -0.9]).unwrap();
        model.add(&[VarId(1)], &[0.0, size, 1000.0]).unwrap();
        model.add(&[VarId(2)], &[0.3 - size, 1.1 * size]).unwrap();
        let tree = compile(&model);
        let mut workspace = tree.workspace();
        let none = Evidence::new();
        let answers = tree.calibrate_in(&model, &none, &mut workspace, Domain::Log).unwrap();
        for v in model.variables() {
            let total: f64 = answers.marginal(v).unwrap().iter().sum();
            assert!((total - 1.0).abs() < 1e-14, "{size}, {v}: {total}");
        }
        let mut cliques = vec![0.0; tree.cells()];
        let mut separators = vec![0.0; tree.separator_cells()];
        answers.write_marginals(&mut cliques, &mut separators).unwrap();
        assert!((cliques.iter().sum::<f64>() - tree.cliques().len() as f64).abs() < 1e-14);
        assert!((separators.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
}

/// Two messages that each favour what the other forbids by `e^-500`: the product would be zero.
#[test]
fn contradictions_that_underflow_are_no_zeros() {
    let mut model = FactorGraph::new(&[2, 2, 2]).unwrap();
    let copy = [0.0, -INF, -INF, 0.0];
    model.add(&[VarId(0), VarId(1)], &copy).unwrap();
    model.add(&[VarId(1), VarId(2)], &copy).unwrap();
    model.add(&[VarId(0)], &[0.0, -800.0]).unwrap();
    model.add(&[VarId(2)], &[-790.0, 0.0]).unwrap();
    let tree = compile(&model);
    let mut workspace = tree.workspace();
    let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace).unwrap();
    assert!(answers.is_in_logs());
    assert!((answers.log_partition() - (-790.0 + (-10.0_f64).exp().ln_1p())).abs() < 1e-12);
    model.set(FactorId(2), &[0.0, -INF]).unwrap();
    model.set(FactorId(3), &[-INF, 0.0]).unwrap();
    let impossible = tree.calibrate(&model, &Evidence::new(), &mut workspace).err();
    assert_eq!(impossible, Some(Error::ImpossibleEvidence));
}

#[test]
fn long_chains_neither_recurse_nor_underflow() {
    let model = chain(0.1, 100_000);
    let tree = JunctionTree::of_tree(&model).unwrap();
    let mut workspace = tree.workspace();
    let scaled =
        tree.calibrate_in(&model, &Evidence::new(), &mut workspace, Domain::Scaled).unwrap();
    assert!(!scaled.is_in_logs());
    let (log_z, middle) = (scaled.log_partition(), scaled.marginal(VarId(50_000)).unwrap());
    let logs = tree.calibrate_in(&model, &Evidence::new(), &mut workspace, Domain::Log).unwrap();
    assert!((logs.log_partition() - log_z).abs() < 1e-8 * log_z.abs());
    assert!(distance(&logs.marginal(VarId(50_000)).unwrap(), &middle) < 1e-10);
}

/// A random tree: Gibbs' formula `H = log Z - E[score]`, and Bethe's `log Z` from unary and pair marginals, which is exact.
#[test]
fn random_tree_of_a_thousand() {
    let mut rng = stream(9, 0);
    let n = 1000_u32;
    let cards: Vec<usize> = (0..n).map(|_| rng.random_range(2..5)).collect();
    let mut model = FactorGraph::new(&cards).unwrap();
    let mut degrees = vec![0_i32; n as usize];
    for v in 1..n {
        let u = rng.random_range(0..v);
        let size = cards[u as usize] * cards[v as usize];
        let values: Vec<f64> = (0..size).map(|_| rng.random_range(-2.0..2.0)).collect();
        model.add(&[VarId(u), VarId(v)], &values).unwrap();
        degrees[u as usize] += 1;
        degrees[v as usize] += 1;
    }
    let tree = JunctionTree::of_tree(&model).unwrap();
    assert_eq!(tree.width(), 1);
    let mut workspace = tree.workspace();
    let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace).unwrap();
    let mut bethe = 0.0;
    for (f, factor) in model.factors().iter().enumerate() {
        let b = answers.factor_marginal(FactorId(f as u32)).unwrap();
        bethe += b.entropy();
        bethe +=
            b.values().iter().zip(factor.log_values()).map(|(p, score)| p * score).sum::<f64>();
    }
    for (v, p) in answers.marginals().iter().enumerate() {
        bethe += f64::from(degrees[v] - 1) * p.iter().map(|p| p * p.ln()).sum::<f64>();
    }
    assert!((bethe - answers.log_partition()).abs() < 1e-9 * bethe.abs());
    let other = compile(&model);
    let mut workspace = other.workspace();
    let again = other.calibrate(&model, &Evidence::new(), &mut workspace).unwrap();
    assert!((again.log_partition() - answers.log_partition()).abs() < 1e-10 * bethe.abs());
}

/// A free-boundary Ising model.
fn ising(side: u32, coupling: f64) -> FactorGraph {
    let mut model = FactorGraph::new(&vec![2; (side * side) as usize]).unwrap();
    let pair = [coupling, -coupling, -coupling, coupling];
    for row in 0..side {
        for column in 0..side {
            let v = row * side + column;
            model.add(&[VarId(v)], &[-0.05, 0.05]).unwrap();
            if column > 0 {
                model.add(&[VarId(v - 1), VarId(v)], &pair).unwrap();
            }
            if row > 0 {
                model.add(&[VarId(v - side), VarId(v)], &pair).unwrap();
            }
        }
    }
    model
}

/// Its log Z by the transfer matrix: spin by spin, a vector over the states of the last `side` spins. Fixed spins have one state.
fn transfer_matrix(side: u32, coupling: f64, fixed: &[(u32, usize)]) -> f64 {
    let states = 1_usize << side;
    let mut weights = vec![0.0_f64; states];
    weights[0] = 1.0;
    let mut log_scale = 0.0;
    let spin = |state: usize, k: u32| if state >> k & 1 == 1 { 1.0 } else { -1.0 };
    for row in 0..side {
        for column in 0..side {
            let mut next = vec![0.0; states];
            let here = fixed.iter().find(|(v, _)| *v == row * side + column);
            for (state, &w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                for up in (0..2).filter(|up| here.is_none_or(|(_, state)| state == up)) {
                    let s = if up == 1 { 1.0 } else { -1.0 };
                    let mut energy = 0.05 * s;
                    if column > 0 {
                        energy += coupling * s * spin(state, column - 1);
                    }
                    if row > 0 {
                        energy += coupling * s * spin(state, column);
                    }
                    next[state & !(1 << column) | up << column] += w * f64::exp(energy);
                }
            }
            let top = next.iter().copied().fold(0.0, f64::max);
            next.iter_mut().for_each(|w| *w /= top);
            log_scale += top.ln();
            weights = next;
        }
    }
    log_scale + weights.iter().sum::<f64>().ln()
}

/// log Z and marginals of large tables, with and without evidence, in both domains.
#[test]
fn ising_grid_against_the_transfer_matrix() {
    let (side, coupling) = (12, 0.4);
    let model = ising(side, coupling);
    let tree = compile(&model);
    assert!(tree.width() <= 16);
    let mut workspace = tree.workspace();
    let seen = [(5, 1), (40, 0), (143, 1)];
    for fixed in [&seen[..0], &seen[..]] {
        let expected = transfer_matrix(side, coupling, fixed);
        let observe = |all: Evidence, &(v, state): &(u32, usize)| all.observe(VarId(v), state);
        let evidence = fixed.iter().fold(Evidence::new(), observe);
        for domain in [Domain::Auto, Domain::Log] {
            let answers = tree.calibrate_in(&model, &evidence, &mut workspace, domain).unwrap();
            assert!((answers.log_partition() - expected).abs() < 1e-10 * expected);
            for v in [0, 6, 66, 77, 100, 131] {
                let up = [fixed, &[(v, 1)]].concat();
                let p = (transfer_matrix(side, coupling, &up) - expected).exp();
                assert!((answers.marginal(VarId(v)).unwrap()[1] - p).abs() < 1e-9, "{v}");
            }
        }
    }
    // Two neighbours that exclude each other, in a corner.
    let mut strict = ising(side, coupling);
    strict.add_values(&[VarId(0), VarId(1)], &[1.0, 0.0, 0.0, 1.0]).unwrap();
    let tree = compile(&strict);
    let mut workspace = tree.workspace();
    let torn = Evidence::new().observe(VarId(0), 0).observe(VarId(1), 1);
    let answer = tree.calibrate(&strict, &torn, &mut workspace).map(|_| ());
    assert_eq!(answer, Err(Error::ImpossibleEvidence));
}

#[test]
fn small_and_empty_models() {
    let none = Evidence::new();
    let empty = FactorGraph::new(&[]).unwrap();
    let tree = compile(&empty);
    let mut workspace = tree.workspace();
    assert_eq!(tree.calibrate(&empty, &none, &mut workspace).unwrap().log_partition(), 0.0);
    assert!(tree.calibrate_max(&empty, &none, &mut workspace).unwrap().map().is_empty());

    let mut one = FactorGraph::new(&[3]).unwrap();
    one.add(&[], &[2.0]).unwrap();
    let tree = compile(&one);
    let mut workspace = tree.workspace();
    let answers = tree.calibrate(&one, &none, &mut workspace).unwrap();
    assert!((answers.log_partition() - (2.0 + 3.0_f64.ln())).abs() < 1e-15);
    assert!(distance(&answers.marginal(VarId(0)).unwrap(), &[1.0 / 3.0; 3]) < 1e-15);

    one.add(&[VarId(0)], &[-INF; 3]).unwrap();
    let tree = compile(&one);
    let mut workspace = tree.workspace();
    assert_eq!(tree.calibrate(&one, &none, &mut workspace).err(), Some(Error::ImpossibleEvidence));
    assert_eq!(
        tree.calibrate_max(&one, &none, &mut workspace).err(),
        Some(Error::ImpossibleEvidence)
    );
}

#[test]
fn what_is_too_large_is_refused_before_it_is_made() {
    // 4000 variables of 10 states, all connected through one another: no number holds the cells.
    let n = 4000;
    let mut model = FactorGraph::new(&vec![10; n]).unwrap();
    for v in 1..n as u32 {
        for u in [0, v / 2, v.saturating_sub(61)] {
            if u < v {
                model.add(&[VarId(u), VarId(v)], &[0.0; 100]).unwrap();
            }
        }
    }
    let options = OrderingOptions {
        restarts: 1,
        heuristic: Heuristic::MinNeighbours,
        ..OrderingOptions::default()
    };
    match JunctionTree::compile(&model, &options).unwrap_err() {
        Error::Refused(Refusal::MemoryLimit { needed, limit, .. }) => assert!(needed > limit),
        other => panic!("{other}"),
    }
    let tight = OrderingOptions { max_memory: Some(100), ..OrderingOptions::default() };
    let small = chain(1.0, 3);
    assert!(matches!(JunctionTree::compile(&small, &tight), Err(Error::Refused(_))));
    let query = [VarId(0), VarId(2)];
    let refused = variable_elimination(&small, &query, &Evidence::new(), &tight);
    assert!(matches!(refused, Err(Error::Refused(_))));
    // 2^70 cells are beyond the reach of a pointer.
    let mut complete = FactorGraph::new(&[2; 70]).unwrap();
    for v in 0..70 {
        for u in 0..v {
            complete.add(&[VarId(u), VarId(v)], &[0.0; 4]).unwrap();
        }
    }
    let boundless = OrderingOptions { max_memory: None, ..OrderingOptions::default() };
    assert!(matches!(JunctionTree::compile(&complete, &boundless), Err(Error::Refused(_))));
}

#[test]
fn misuse_is_refused() {
    let model = chain(1.0, 3);
    let tree = compile(&model);
    let mut workspace = tree.workspace();
    let none = Evidence::new();
    assert!(tree.calibrate(&chain(1.0, 4), &none, &mut workspace).is_err());
    assert!(tree.calibrate(&model, &Evidence::new().observe(VarId(0), 3), &mut workspace).is_err());
    let answers = tree.calibrate(&model, &none, &mut workspace).unwrap();
    assert!(matches!(answers.marginal(VarId(3)), Err(Error::UnknownVariable { .. })));
    assert!(answers.joint_marginal(&[VarId(0), VarId(0)]).is_err());
    assert!(answers.factor_marginal(FactorId(99)).is_err());
    assert!(answers.clique(99).is_err());
    assert!(answers.log_probability(&[0, 0]).is_err());
    let mut cycle = chain(1.0, 3);
    cycle.add(&[VarId(0), VarId(2)], &[0.0; 9]).unwrap();
    assert!(matches!(JunctionTree::of_tree(&cycle), Err(Error::NotATree { .. })));
    let order = [VarId(0), VarId(1), VarId(1)];
    assert!(JunctionTree::with_order(&model, &order, None).is_err());
    // A workspace of another tree is replaced.
    let other = chain(1.0, 5);
    assert!(compile(&other).calibrate(&other, &none, &mut workspace).is_ok());
}
