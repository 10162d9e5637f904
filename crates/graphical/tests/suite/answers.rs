//! Every method of inference on small random models against enumeration: exact methods are exact, bounds are bounds after
//! any number of passes, and `Converged` means that the certificate meets the tolerance.
//!
//! `FENCHEL_PROBLEMS` sets the number of problems.

use crate::common::{Enumeration, distance, log_sum};
use fenchel_graphical::ais::{AisSettings, Ladder, ais, ais_binary};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::bp::{
    BeliefPropagationSettings, EdgeAppearance, Schedule, TreeReweightedSettings,
    belief_propagation, max_product, tree_reweighted,
};
use fenchel_graphical::gibbs::GibbsSettings;
use fenchel_graphical::gibbs::{Gibbs, Start};
use fenchel_graphical::mean_field::{MeanFieldSettings, mean_field};
use fenchel_graphical::{
    BinaryPairwise, Error, Evidence, FactorGraph, Heuristic, JunctionTree, OrderingOptions, VarId,
    variable_elimination,
};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Report, Status, Stop};
use rand::RngExt;

fn problems() -> impl Iterator<Item = (u64, Generator)> {
    let count = std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    // Two of more than the default: potentials of 800 nats whose messages agree as probabilities alone, and sums that overflow.
    (0..count).chain([1775, 4626]).map(|seed| (seed, stream(seed, 0)))
}

/// 1 to 6 variables of 1 to 3 states, up to 8 factors of 0 to 3 of them. Sizes, constants and zeros differ by problem.
fn model(random: &mut Generator) -> FactorGraph {
    let n: usize = random.random_range(1..=6);
    let cards: Vec<usize> = (0..n).map(|_| random.random_range(1..=3)).collect();
    let mut model = FactorGraph::new(&cards).unwrap();
    let size = [1e-9, 0.5, 3.0, 40.0, 800.0][random.random_range(0..5)];
    let shift = [0.0, 0.0, -1e3, 1e6][random.random_range(0..4)];
    let zeros = [0.0, 0.0, 0.2][random.random_range(0..3)];
    for _ in 0..random.random_range(0..=8) {
        let mut scope: Vec<u32> = (0..n as u32).collect();
        for _ in 0..n.saturating_sub(random.random_range(0..=3)) {
            scope.swap_remove(random.random_range(0..scope.len()));
        }
        let scope: Vec<VarId> = scope.into_iter().map(VarId).collect();
        let cells = scope.iter().map(|v| cards[v.index()]).product();
        let value = |_| match random.random::<f64>() < zeros {
            true => f64::NEG_INFINITY,
            false => shift + size * (2.0 * random.random::<f64>() - 1.0),
        };
        let values: Vec<f64> = (0..cells).map(value).collect();
        model.add(&scope, &values).unwrap();
    }
    model
}

/// Rounding of sums of log-potentials of this size.
fn slack(model: &FactorGraph) -> f64 {
    let size = |v: &f64| if v.is_finite() { v.abs() } else { 0.0 };
    let largest =
        |t: &fenchel_graphical::Table| t.log_values().iter().map(size).fold(0.0, f64::max);
    1e-12 * (1.0 + model.factors().iter().map(largest).sum::<f64>())
}

fn check_status(stop: &Stop, report: &Report, what: &str) {
    assert!(report.status != Status::Converged || stop.met_by(&report.certificate), "{what}");
}

fn check_laws(laws: &[Vec<f64>], what: &str) {
    for law in laws {
        let sum: f64 = law.iter().sum();
        assert!(law.iter().all(|p| *p >= 0.0) && (sum - 1.0).abs() < 1e-9, "{what}: {law:?}");
    }
}

#[test]
fn exact_methods_are_exact() {
    for (seed, mut random) in problems() {
        let model = model(&mut random);
        let truth = Enumeration::of(&model);
        let slack = slack(&model);
        let possible = truth.log_partition > f64::NEG_INFINITY;
        for heuristic in [
            Heuristic::MinFill,
            Heuristic::WeightedMinFill,
            Heuristic::MinWeight,
            Heuristic::MinNeighbours,
            Heuristic::MaximumCardinality,
            Heuristic::Portfolio,
        ] {
            let what = format!("problem {seed}, {heuristic:?}");
            let options = OrderingOptions { heuristic, ..OrderingOptions::default() };
            let tree = JunctionTree::compile(&model, &options).unwrap();
            let mut workspace = tree.workspace();
            let none = Evidence::new();
            match tree.calibrate(&model, &none, &mut workspace) {
                Ok(calibrated) => {
                    let off = (calibrated.log_partition() - truth.log_partition).abs();
                    assert!(off <= slack, "{what}: {off}");
                    for v in model.variables() {
                        let law = calibrated.marginal(v).unwrap();
                        assert!(distance(&law, &truth.marginal(&[v])) <= 10.0 * slack, "{what}");
                    }
                }
                Err(error) => {
                    assert!(!possible && matches!(error, Error::ImpossibleEvidence), "{what}");
                }
            }
            match tree.calibrate_max(&model, &none, &mut workspace) {
                Ok(calibrated) => {
                    let mut last = f64::INFINITY;
                    for (k, (score, x)) in calibrated.ranking().enumerate() {
                        let found = model.log_score(&x).unwrap();
                        assert!((score - found).abs() <= slack && score <= last, "{what}");
                        assert!(k > 0 || (score - truth.best_score()).abs() <= slack, "{what}");
                        last = score;
                    }
                }
                Err(_) => assert!(!possible, "{what}"),
            }
        }
        let options = OrderingOptions::default();
        for v in model.variables() {
            let found = variable_elimination(&model, &[v], &Evidence::new(), &options);
            match found {
                Ok(table) => {
                    let total = log_sum(table.log_values().iter().copied());
                    let law: Vec<f64> =
                        table.log_values().iter().map(|l| (l - total).exp()).collect();
                    assert!(distance(&law, &truth.marginal(&[v])) <= 10.0 * slack, "{seed}");
                }
                Err(_) => assert!(!possible, "{seed}"),
            }
        }
    }
}

#[test]
fn bounds_hold_after_any_number_of_passes() {
    for (seed, mut random) in problems() {
        let model = model(&mut random);
        let truth = Enumeration::of(&model);
        let slack = slack(&model);
        for max_passes in [0.0, 1.0, 3.0, 300.0] {
            let what = format!("problem {seed}, {max_passes} passes");
            let limit = |stop: Stop| Stop { max_passes, ..stop };
            let stop = limit(MeanFieldSettings::default().stop);
            match mean_field(&model, &MeanFieldSettings { seed, stop }, None, &mut ()) {
                Ok(solution) => {
                    let state = solution.state;
                    check_status(&stop, &solution.report, &what);
                    check_laws(state.marginals(), &what);
                    assert!(state.log_partition() <= truth.log_partition + slack, "{what}");
                    // The objective, over all configurations.
                    let law = |x: &Vec<usize>| -> f64 {
                        x.iter().enumerate().map(|(v, &s)| state.marginals()[v][s]).product()
                    };
                    let terms = truth.configurations.iter().zip(&truth.scores);
                    let energy: f64 = terms.map(|(x, score)| law(x) * score).sum();
                    let entropy: f64 = state
                        .marginals()
                        .iter()
                        .flatten()
                        .filter(|q| **q > 0.0)
                        .map(|q| -q * q.ln())
                        .sum();
                    let found = energy + entropy;
                    assert!((state.log_partition() - found).abs() <= 10.0 * slack, "{what}");
                    let said = solution.report.certificate.objective().unwrap();
                    assert!((said + found).abs() <= 10.0 * slack, "{what}: {said} {found}");
                }
                Err(error) => assert!(matches!(error, Error::Potential { .. }), "{what}: {error}"),
            }
            let possible = truth.log_partition > f64::NEG_INFINITY;
            for schedule in [Schedule::Parallel, Schedule::Sequential, Schedule::Residual] {
                let default = BeliefPropagationSettings { schedule, ..Default::default() };
                let stop = limit(default.stop);
                let settings = BeliefPropagationSettings { stop, ..default };
                let what = format!("{what}, {schedule:?}");
                match belief_propagation(&model, &settings, None, &mut ()) {
                    Ok(solution) => {
                        check_status(&stop, &solution.report, &what);
                        check_laws(solution.state.marginals(), &what);
                        assert!(!solution.state.log_partition().is_nan(), "{what}");
                    }
                    Err(_) => assert!(!possible, "{what}"),
                }
                match max_product(&model, &settings, None, &mut ()) {
                    Ok(solution) => {
                        let state = solution.state;
                        check_status(&stop, &solution.report, &what);
                        let score = model.log_score(state.configuration()).unwrap();
                        assert_eq!(score, state.log_score(), "{what}");
                        assert!(score <= truth.best_score() + slack, "{what}");
                        let best = score >= truth.best_score() - slack;
                        assert!(!state.is_exact() || best, "{what}");
                    }
                    Err(_) => assert!(!possible, "{what}"),
                }
                let default = TreeReweightedSettings { schedule, ..Default::default() };
                let stop = limit(default.stop);
                for appearance in [EdgeAppearance::SpanningTrees(0), EdgeAppearance::Uniform] {
                    let settings = TreeReweightedSettings { appearance, seed, stop, ..default };
                    match tree_reweighted(&model, &settings, None, &mut ()) {
                        Ok(solution) => {
                            check_status(&stop, &solution.report, &what);
                            check_laws(solution.state.marginals(), &what);
                            let bound = solution.state.log_partition();
                            assert!(!bound.is_nan(), "{what}");
                            let holds = bound >= truth.log_partition - slack;
                            // Equal probabilities are those of a mixture of forests only where symmetry says so.
                            let mixture = appearance != EdgeAppearance::Uniform;
                            assert!(!mixture || holds, "{what}: {bound} {}", truth.log_partition);
                        }
                        Err(Error::Refused(_)) => assert_eq!(appearance, EdgeAppearance::Uniform),
                        Err(_) => assert!(!possible, "{what}"),
                    }
                }
            }
        }
    }
}

/// An estimate that is unbiased for `Z` exceeds `log Z` by more than 20 with a probability of `e^-20`. Chains are in
/// possible configurations, or counted as impossible.
#[test]
fn sampled_answers_are_possible() {
    for (seed, mut random) in problems() {
        let model = model(&mut random);
        let truth = Enumeration::of(&model);
        for ladder in [Ladder::Uniform(1), Ladder::Uniform(30), Ladder::Adaptive(0.5)] {
            let settings = AisSettings { ladder, chains: 32, sweeps: 1, seed };
            match ais(&model, &settings) {
                Ok(estimate) => {
                    let found = estimate.log_partition;
                    assert!(found <= truth.log_partition + 20.0 + slack(&model), "{seed} {found}");
                    assert!(!(estimate.standard_error < 0.0) && estimate.effective_samples <= 32.1);
                }
                Err(error) => assert!(matches!(error, Error::ImpossibleEvidence), "{seed} {error}"),
            }
        }
        let settings = GibbsSettings { chains: 16, seed, ..GibbsSettings::default() };
        match Gibbs::new(&model, &Evidence::new(), Start::Random, &settings) {
            Ok(mut chains) => {
                chains.sweep(5);
                let impossible = (0..16)
                    .filter(|&c| model.log_score(&chains.state(c)).unwrap() == f64::NEG_INFINITY);
                assert_eq!(impossible.count(), chains.impossible_chains(), "{seed}");
            }
            Err(_) => assert_eq!(truth.log_partition, f64::NEG_INFINITY, "{seed}"),
        }
        let p = random.random_range(1..=6_u32);
        let bias: Vec<f64> = (0..p).map(|_| 4.0 * random.random::<f64>() - 2.0).collect();
        let pairs = (0..p).flat_map(|i| (i + 1..p).map(move |j| (i, j)));
        let edges: Vec<(u32, u32, f64)> =
            pairs.map(|(i, j)| (i, j, 2.0 * random.random::<f64>() - 1.0)).collect();
        let binary = BinaryPairwise::new(&bias, &edges).unwrap();
        let truth = Enumeration::of(&binary.factor_graph().unwrap());
        let settings = AisSettings { ladder: Ladder::Uniform(50), chains: 256, sweeps: 1, seed };
        let found = ais_binary(&binary, &settings).unwrap();
        // Weak couplings: the weights are nearly normal. Seven standard errors, and rounding where all weights are equal.
        let off = (found.log_partition - truth.log_partition).abs();
        assert!(off <= 7.0 * found.standard_error + 1e-12, "{seed} {off} {}", found.standard_error);
        let mut chains =
            BinaryGibbs::new(&binary, 4096, BinaryStart::Random, Order::Cyclic, seed).unwrap();
        chains.sweep(30);
        for i in 0..p as usize {
            let mean = chains.mean(i);
            let exact = truth.marginal(&[VarId(i as u32)])[1];
            // 4096 chains that have mixed: six standard deviations.
            let deviation = (exact * (1.0 - exact) / 4096.0).sqrt();
            assert!((mean - exact).abs() <= 6.0 * deviation + 1e-3, "{seed} {i} {mean} {exact}");
        }
    }
}

/// Log-potentials near the largest number: an error or numbers, and no panic. A sum of them may be infinite, and then nothing
/// is finite that depends on it.
#[test]
fn potentials_near_the_largest_number_end_in_an_error_or_numbers() {
    let huge = [f64::MAX, -f64::MAX, 1e308, -1e308, 0.0, 1.0, f64::NEG_INFINITY];
    for (seed, mut random) in problems() {
        let mut model = FactorGraph::new(&[2, 2, 2]).unwrap();
        for scope in [&[0][..], &[0], &[1], &[0, 1], &[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]] {
            let scope: Vec<VarId> = scope.iter().map(|&v| VarId(v)).collect();
            let values: Vec<f64> =
                (0..1 << scope.len()).map(|_| huge[random.random_range(0..huge.len())]).collect();
            model.add(&scope, &values).unwrap();
        }
        let none = Evidence::new();
        let options = OrderingOptions::default();
        let tree = JunctionTree::compile(&model, &options).unwrap();
        let mut workspace = tree.workspace();
        if let Ok(calibrated) = tree.calibrate(&model, &none, &mut workspace) {
            check_laws(&calibrated.marginals(), &format!("junction tree, {seed}"));
            assert!(!calibrated.log_partition().is_nan(), "{seed}");
        }
        if let Ok(calibrated) = tree.calibrate_max(&model, &none, &mut workspace) {
            assert!(calibrated.ranking().take(20).all(|(score, _)| !score.is_nan()), "{seed}");
        }
        if let Ok(table) = variable_elimination(&model, &[VarId(1)], &none, &options) {
            let law: Vec<f64> = table.log_values().iter().map(|l| l.exp()).collect();
            check_laws(&[law], &format!("elimination, {seed}"));
        }
        for schedule in [Schedule::Parallel, Schedule::Sequential, Schedule::Residual] {
            let settings = BeliefPropagationSettings { schedule, ..Default::default() };
            if let Ok(solution) = belief_propagation(&model, &settings, None, &mut ()) {
                check_laws(solution.state.marginals(), &format!("{schedule:?}, {seed}"));
            }
            let _ = max_product(&model, &settings, None, &mut ());
            let settings = TreeReweightedSettings { schedule, ..Default::default() };
            if let Ok(solution) = tree_reweighted(&model, &settings, None, &mut ()) {
                check_laws(solution.state.marginals(), &format!("reweighted {schedule:?}, {seed}"));
            }
        }
        if let Ok(solution) = mean_field(&model, &MeanFieldSettings::default(), None, &mut ()) {
            check_laws(solution.state.marginals(), &format!("mean field, {seed}"));
        }
        let settings =
            AisSettings { chains: 8, ladder: Ladder::Adaptive(0.5), ..Default::default() };
        let _ = ais(&model, &settings);
    }
}

/// `x = 0` has the sum `MAX + MAX`, and `x = 1` has `-2 MAX`.
#[test]
fn sums_that_overflow_are_refused_by_name() {
    let mut model = FactorGraph::new(&[2, 2]).unwrap();
    for _ in 0..2 {
        model.add(&[VarId(0), VarId(1)], &[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX]).unwrap();
    }
    let refused = |error: Error| assert!(matches!(error, Error::Potential { .. }), "{error}");
    let (none, options) = (Evidence::new(), OrderingOptions::default());
    let tree = JunctionTree::compile(&model, &options).unwrap();
    let mut workspace = tree.workspace();
    refused(tree.calibrate(&model, &none, &mut workspace).unwrap_err());
    refused(tree.calibrate_max(&model, &none, &mut workspace).unwrap_err());
    refused(variable_elimination(&model, &[VarId(0)], &none, &options).unwrap_err());
    refused(Gibbs::new(&model, &none, Start::Zero, &GibbsSettings::default()).unwrap_err());
}
