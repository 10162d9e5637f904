//! Belief propagation, tree-reweighting and max-product against enumeration.

use crate::common::{Enumeration, distance};
use fenchel_graphical::bp::{
    BeliefPropagationSettings, EdgeAppearance, Schedule, TreeReweightedSettings,
    belief_propagation, max_product, tree_reweighted,
};
use fenchel_graphical::mean_field::{MeanFieldSettings, mean_field};
use fenchel_graphical::{Error, FactorGraph, VarId};
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Status, Stop, Trace};
use rand::RngExt;

const SCHEDULES: [Schedule; 3] = [Schedule::Parallel, Schedule::Sequential, Schedule::Residual];

fn tight(schedule: Schedule) -> BeliefPropagationSettings {
    let stop = Stop { absolute: 1e-13, relative: 0.0, max_passes: 2000.0, ..Stop::default() };
    BeliefPropagationSettings { schedule, damping: None, stop }
}

pub(crate) fn add_random(
    model: &mut FactorGraph,
    scope: &[u32],
    size: f64,
    zeros: f64,
    rng: &mut impl RngExt,
) {
    let scope: Vec<VarId> = scope.iter().map(|&v| VarId(v)).collect();
    let cells = scope.iter().map(|v| model.cards()[v.index()]).product();
    let values: Vec<f64> =
        (0..cells)
            .map(|_| {
                if rng.random_bool(zeros) {
                    f64::NEG_INFINITY
                } else {
                    rng.random_range(-size..size)
                }
            })
            .collect();
    model.add(&scope, &values).unwrap();
}

/// A random forest of factors of two and three variables, some twice over, with unary factors and a constant.
pub(crate) fn random_tree(n: usize, size: f64, zeros: f64, seed: u64) -> FactorGraph {
    let mut rng = stream(seed, 1);
    let cards: Vec<usize> = (0..n).map(|_| rng.random_range(1..4)).collect();
    let mut model = FactorGraph::new(&cards).unwrap();
    model.add(&[], &[0.7]).unwrap();
    let mut v = 1;
    while v < n as u32 {
        let parent = rng.random_range(0..v);
        if v + 1 < n as u32 && rng.random_bool(0.3) {
            add_random(&mut model, &[v + 1, parent, v], size, zeros, &mut rng);
            v += 2;
        } else {
            if rng.random_bool(0.9) {
                add_random(&mut model, &[v, parent], size, zeros, &mut rng);
                add_random(&mut model, &[parent, v], size, 0.0, &mut rng);
            }
            v += 1;
        }
    }
    for v in 0..n as u32 {
        add_random(&mut model, &[v], size, 0.0, &mut rng);
    }
    model
}

fn random_pairs(n: usize, density: f64, size: f64, seed: u64) -> FactorGraph {
    let mut rng = stream(seed, 2);
    let cards: Vec<usize> = (0..n).map(|_| rng.random_range(2..4)).collect();
    let mut model = FactorGraph::new(&cards).unwrap();
    for i in 0..n as u32 {
        add_random(&mut model, &[i], size, 0.0, &mut rng);
        for j in i + 1..n as u32 {
            if rng.random_bool(density) {
                add_random(&mut model, &[i, j], size, 0.0, &mut rng);
            }
        }
    }
    model
}

#[test]
fn trees_are_exact_under_every_schedule() {
    for seed in 0..25 {
        let model = random_tree(7, 2.0, 0.1, seed);
        let exact = Enumeration::of(&model);
        for schedule in SCHEDULES {
            let solution = belief_propagation(&model, &tight(schedule), None, &mut ());
            if exact.log_partition == f64::NEG_INFINITY {
                assert_eq!(solution.unwrap_err(), Error::ImpossibleEvidence);
                continue;
            }
            let solution = solution.unwrap();
            assert_eq!(solution.report.status, Status::Converged, "{seed} {schedule:?}");
            let beliefs = solution.state;
            assert!((beliefs.log_partition() - exact.log_partition).abs() < 1e-10);
            for v in model.variables() {
                let found = beliefs.marginal(v).unwrap();
                assert!(distance(found, &exact.marginal(&[v])) < 1e-10, "{seed} {schedule:?} {v}");
            }
            for (f, factor) in model.factors().iter().enumerate() {
                let found = beliefs.factor_marginal(fenchel_graphical::FactorId(f as u32)).unwrap();
                assert_eq!(found.scope(), factor.scope());
                assert!(distance(&found.values(), &exact.marginal(factor.scope())) < 1e-10);
            }
        }
    }
}

#[test]
fn wide_potentials_are_exact_in_logs() {
    // Ranges of thousands: nothing survives an exp.
    for seed in 0..5 {
        let model = random_tree(6, 3000.0, 0.0, seed);
        let exact = Enumeration::of(&model);
        let solution =
            belief_propagation(&model, &tight(Schedule::Sequential), None, &mut ()).unwrap();
        let error = (solution.state.log_partition() - exact.log_partition).abs();
        assert!(error < 1e-12 * exact.log_partition.abs().max(1.0) + 1e-9, "{error}");
    }
}

#[test]
fn log_partitions_are_bracketed() {
    let mut converged = 0;
    for seed in 0..50 {
        let (density, size) = (0.3 + 0.01 * seed as f64, 0.2 + 0.03 * seed as f64);
        let model = random_pairs(4 + seed as usize % 5, density, size, seed);
        let exact = Enumeration::of(&model).log_partition;
        let settings = TreeReweightedSettings { seed, ..TreeReweightedSettings::default() };
        let upper = tree_reweighted(&model, &settings, None, &mut ()).unwrap();
        let lower = mean_field(&model, &MeanFieldSettings::default(), None, &mut ()).unwrap();
        assert!(lower.state.log_partition() <= exact + 1e-10, "{seed}");
        if upper.report.status == Status::Converged {
            assert!(upper.state.log_partition() >= exact - 1e-7, "{seed}");
            converged += 1;
        }
    }
    assert!(converged >= 45, "{converged} of 50");
}

#[test]
fn tree_reweighting_is_exact_on_trees_and_uniform_on_cycles() {
    for seed in 0..10 {
        let mut rng = stream(seed, 3);
        let mut model = FactorGraph::new(&[2, 3, 2, 2, 2]).unwrap();
        for (i, j) in [(0, 1), (1, 2), (1, 3), (3, 4)] {
            add_random(&mut model, &[i, j], 2.0, 0.0, &mut rng);
        }
        // The bound is charged with what is left of the residual.
        let stop = Stop { absolute: 1e-10, ..TreeReweightedSettings::default().stop };
        let settings = TreeReweightedSettings { stop, ..TreeReweightedSettings::default() };
        let tree = tree_reweighted(&model, &settings, None, &mut ());
        let found = tree.unwrap().state.log_partition();
        assert!((found - Enumeration::of(&model).log_partition).abs() < 1e-9);
        // One more edge closes a cycle of four, 1-2-4-3; of five it is not.
        let mut cycle = FactorGraph::new(&[2; 5]).unwrap();
        for i in 0..5 {
            add_random(&mut cycle, &[i, (i + 1) % 5], 1.0, 0.0, &mut rng);
        }
        let appearance = EdgeAppearance::Uniform;
        let settings = TreeReweightedSettings { appearance, ..TreeReweightedSettings::default() };
        let bound = tree_reweighted(&cycle, &settings, None, &mut ()).unwrap();
        assert_eq!(bound.report.status, Status::Converged);
        assert!(bound.state.log_partition() >= Enumeration::of(&cycle).log_partition - 1e-9);
    }
}

/// Factors of two to four variables in any scopes, parts of one another among them.
fn random_factors(n: usize, size: f64, seed: u64) -> FactorGraph {
    let mut rng = stream(seed, 7);
    let cards: Vec<usize> = (0..n).map(|_| rng.random_range(2..4)).collect();
    let mut model = FactorGraph::new(&cards).unwrap();
    for _ in 0..n {
        let mut scope: Vec<u32> = (0..n as u32).collect();
        for k in 0..4.min(n) {
            let other = rng.random_range(k..n);
            scope.swap(k, other);
        }
        scope.truncate(rng.random_range(1..=4.min(n)));
        add_random(&mut model, &scope, size, 0.0, &mut rng);
    }
    model
}

#[test]
fn tree_reweighting_of_larger_factors_bounds_and_is_exact_on_trees() {
    for seed in 0..25 {
        let model = random_tree(7, 1.5, 0.0, seed);
        let exact = Enumeration::of(&model);
        let found =
            tree_reweighted(&model, &TreeReweightedSettings::default(), None, &mut ()).unwrap();
        assert_eq!(found.report.status, Status::Converged);
        assert!((found.state.log_partition() - exact.log_partition).abs() < 1e-7, "{seed}");
        for v in model.variables() {
            assert!(distance(found.state.marginal(v).unwrap(), &exact.marginal(&[v])) < 1e-6);
        }
    }
    let (mut converged, mut looser) = (0, 0);
    for seed in 0..60 {
        let model = random_factors(4 + seed as usize % 4, 0.3 + 0.02 * seed as f64, seed);
        let exact = Enumeration::of(&model).log_partition;
        let settings = TreeReweightedSettings { seed, ..TreeReweightedSettings::default() };
        let upper = tree_reweighted(&model, &settings, None, &mut ()).unwrap();
        if upper.report.status != Status::Converged {
            continue;
        }
        converged += 1;
        looser += i32::from(upper.state.log_partition() > exact + 1e-6);
        assert!(upper.state.log_partition() >= exact - 1e-7, "{seed}");
        // Beliefs of factors agree with those of their variables, those of absorbed factors too.
        for (f, factor) in model.factors().iter().enumerate() {
            let id = fenchel_graphical::FactorId(f as u32);
            let belief = upper.state.factor_marginal(id).unwrap();
            assert_eq!(belief.scope(), factor.scope());
            for &v in factor.scope() {
                let single = belief.marginalize_sum(&[v]).unwrap().values();
                assert!(distance(&single, upper.state.marginal(v).unwrap()) < 1e-5, "{seed}");
            }
        }
    }
    assert!(converged >= 50 && looser >= 20, "{converged} {looser}");
    // A factor inside another one is part of it: one table of three variables, exact.
    let mut rng = stream(5, 0);
    let mut nested = FactorGraph::new(&[2, 3, 2]).unwrap();
    for scope in [&[0_u32, 1, 2][..], &[0, 1], &[1, 2], &[0, 2], &[2, 1, 0]] {
        add_random(&mut nested, scope, 1.0, 0.0, &mut rng);
    }
    let stop = Stop { absolute: 1e-10, ..TreeReweightedSettings::default().stop };
    let settings = TreeReweightedSettings { stop, ..TreeReweightedSettings::default() };
    let found = tree_reweighted(&nested, &settings, None, &mut ()).unwrap();
    assert!((found.state.log_partition() - Enumeration::of(&nested).log_partition).abs() < 1e-9);
}

/// A damped message may never reach its limit, by rounding. A pass ends all the same, in every order of messages.
#[test]
fn damped_messages_that_do_not_arrive_end_a_pass() {
    for seed in 0..4 {
        let model = random_tree(5, 2.0, 0.0, seed);
        for schedule in SCHEDULES {
            for damping in [0.3, 0.9, 0.999, 1.0 - f64::EPSILON] {
                let stop = Stop { absolute: 0.0, max_passes: 40.0, ..tight(schedule).stop };
                let settings = BeliefPropagationSettings { damping: Some(damping), schedule, stop };
                let found = belief_propagation(&model, &settings, None, &mut ()).unwrap();
                assert!(found.report.passes <= 40.0, "{schedule:?} {damping}: {}", found.report);
                if damping == 0.3 {
                    // 0.3^40 is 1e-21: beliefs have arrived all the same.
                    let exact = Enumeration::of(&model);
                    for v in model.variables() {
                        let off = distance(found.state.marginal(v).unwrap(), &exact.marginal(&[v]));
                        assert!(off < 1e-9, "{schedule:?} {v}: {off}");
                    }
                }
            }
        }
    }
}

/// At a fixed point the Bethe value is stationary: its derivative by a log-potential is the belief alone.
#[test]
fn the_bethe_value_is_stationary() {
    let mut model = random_pairs(5, 0.8, 0.5, 11);
    let settings = tight(Schedule::Residual);
    let at_rest = belief_propagation(&model, &settings, None, &mut ()).unwrap();
    assert_eq!(at_rest.report.status, Status::Converged);
    let exact = Enumeration::of(&model).log_partition;
    assert!((at_rest.state.log_partition() - exact).abs() > 1e-6, "the model has cycles");
    for f in 0..model.factors().len() {
        let id = fenchel_graphical::FactorId(f as u32);
        let belief = at_rest.state.factor_marginal(id).unwrap().values();
        let values = model.factors()[f].log_values().to_vec();
        for cell in 0..values.len() {
            let mut value = |step: f64| {
                let mut moved = values.clone();
                moved[cell] += step;
                model.set(id, &moved).unwrap();
                let run =
                    belief_propagation(&model, &settings, Some(at_rest.state.clone()), &mut ());
                run.unwrap().state.log_partition()
            };
            let derivative = (value(1e-4) - value(-1e-4)) / 2e-4;
            assert!((derivative - belief[cell]).abs() < 1e-7, "{f} {cell}");
        }
        model.set(id, &values).unwrap();
    }
    // Energy plus entropy of the beliefs, as it is written in books.
    let xlogx = |p: &[f64]| p.iter().map(|p| p * p.ln()).sum::<f64>();
    let degrees: Vec<f64> = model.neighbours().iter().map(|n| n.len() as f64).collect();
    let mut bethe = 0.0;
    for (f, factor) in model.factors().iter().enumerate() {
        let belief =
            at_rest.state.factor_marginal(fenchel_graphical::FactorId(f as u32)).unwrap().values();
        bethe += belief.iter().zip(factor.log_values()).map(|(b, v)| b * v).sum::<f64>();
        if factor.scope().len() == 2 {
            bethe -= xlogx(&belief);
        }
    }
    for (v, degree) in degrees.iter().enumerate() {
        bethe += (degree - 1.0) * xlogx(&at_rest.state.marginals()[v]);
    }
    assert!((bethe - at_rest.state.log_partition()).abs() < 1e-10);
}

#[test]
fn schedules_reach_the_same_fixed_point() {
    for seed in 0..5 {
        let model = random_pairs(8, 0.4, 0.5, 100 + seed);
        let runs: Vec<_> = SCHEDULES
            .iter()
            .map(|&s| belief_propagation(&model, &tight(s), None, &mut ()).unwrap())
            .collect();
        for run in &runs {
            assert_eq!(run.report.status, Status::Converged);
            for (a, b) in run.state.marginals().iter().zip(runs[0].state.marginals()) {
                assert!(distance(a, b) < 1e-9);
            }
            let again = belief_propagation(
                &model,
                &BeliefPropagationSettings::default(),
                Some(run.state.clone()),
                &mut (),
            );
            let again = again.unwrap();
            assert_eq!((again.report.status, again.report.passes), (Status::Converged, 0.0));
        }
    }
}

#[test]
fn a_run_that_does_not_converge_says_so() {
    // A frustrated dense model far beyond the range of belief propagation, in parallel and undamped.
    let model = random_pairs(9, 1.0, 6.0, 5);
    let stop = Stop { max_passes: 50.0, ..BeliefPropagationSettings::default().stop };
    let schedule = Schedule::Parallel;
    let settings = BeliefPropagationSettings { schedule, damping: Some(0.0), stop };
    let run = belief_propagation(&model, &settings, None, &mut ()).unwrap();
    assert_eq!(run.report.status, Status::PassLimit);
    assert_eq!(run.report.passes, 50.0);
    assert!(run.report.certificate.value() > 1e-3);
    assert!(run.state.marginals().iter().flatten().all(|p| (0.0..=1.0).contains(p)));
}

#[test]
fn watching_changes_no_bit() {
    let model = random_pairs(7, 0.6, 1.0, 6);
    for schedule in SCHEDULES {
        let stop = Stop { max_passes: 7.0, check: Cadence::Every(1.0), ..tight(schedule).stop };
        let settings = BeliefPropagationSettings { stop, ..tight(schedule) };
        let mut trace = Trace::new();
        let watched = belief_propagation(&model, &settings, None, &mut trace).unwrap();
        let alone = belief_propagation(&model, &settings, None, &mut ()).unwrap();
        assert_eq!(watched.state, alone.state);
        assert!(trace.rows.len() > 2);
    }
}

#[test]
fn max_product_is_optimal_on_trees() {
    for seed in 0..25 {
        let model = random_tree(7, 2.0, 0.1, 200 + seed);
        let exact = Enumeration::of(&model);
        if exact.log_partition == f64::NEG_INFINITY {
            continue;
        }
        for schedule in SCHEDULES {
            let solution = max_product(&model, &tight(schedule), None, &mut ()).unwrap();
            let best = &solution.state;
            assert!(best.is_exact(), "{seed} {schedule:?} {}", solution.report);
            assert!((best.log_score() - exact.best_score()).abs() < 1e-9, "{seed} {schedule:?}");
            assert_eq!(model.log_score(best.configuration()).unwrap(), best.log_score());
            for v in model.variables() {
                // Convergence is one of probabilities: that of the logarithm of a tiny one is another matter.
                let expected: Vec<f64> =
                    exact.max_marginal(v).iter().map(|m| (m - exact.best_score()).exp()).collect();
                let found: Vec<f64> =
                    best.max_marginals()[v.index()].iter().map(|m| m.exp()).collect();
                assert!(distance(&found, &expected) < 1e-9);
            }
        }
    }
}

#[test]
fn ties_do_not_mix_two_optima() {
    // Two optima, 000 and 111: a choice per variable could mix them.
    let mut model = FactorGraph::new(&[2; 3]).unwrap();
    for i in 0..2 {
        model.add(&[VarId(i), VarId(i + 1)], &[1.0, 0.0, 0.0, 1.0]).unwrap();
    }
    let best = max_product(&model, &BeliefPropagationSettings::default(), None, &mut ()).unwrap();
    assert_eq!(best.state.log_score(), 2.0);
}

#[test]
fn max_product_with_cycles_proves_nothing_and_is_a_local_optimum() {
    for seed in 0..20 {
        let model = random_pairs(7, 0.7, 1.0, 300 + seed);
        let best = Enumeration::of(&model).best_score();
        let found = max_product(&model, &BeliefPropagationSettings::default(), None, &mut ())
            .unwrap()
            .state;
        assert!(!found.is_exact());
        assert!(found.log_score() <= best + 1e-12);
        let mut x = found.configuration().to_vec();
        for v in 0..7 {
            let before = x[v];
            for state in 0..model.cards()[v] {
                x[v] = state;
                assert!(model.log_score(&x).unwrap() <= found.log_score() + 1e-9);
            }
            x[v] = before;
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let minus = f64::NEG_INFINITY;
    let mut impossible = FactorGraph::new(&[2, 2]).unwrap();
    impossible.add(&[VarId(0)], &[0.0, minus]).unwrap();
    impossible.add(&[VarId(0), VarId(1)], &[minus, minus, 0.0, 0.0]).unwrap();
    let settings = BeliefPropagationSettings::default();
    let refused = belief_propagation(&impossible, &settings, None, &mut ()).unwrap_err();
    assert_eq!(refused, Error::ImpossibleEvidence);
    assert_eq!(
        max_product(&impossible, &settings, None, &mut ()).unwrap_err(),
        Error::ImpossibleEvidence
    );
    let refused =
        mean_field(&impossible, &MeanFieldSettings::default(), None, &mut ()).unwrap_err();
    assert!(refused.to_string().contains("positive model"), "{refused}");
    let model = random_pairs(4, 1.0, 1.0, 1);
    for damping in [-0.1, 1.0, f64::NAN] {
        let settings = BeliefPropagationSettings { damping: Some(damping), ..settings.clone() };
        let refused = belief_propagation(&model, &settings, None, &mut ()).unwrap_err();
        assert!(refused.to_string().contains("damping"));
    }
    let other =
        belief_propagation(&random_pairs(5, 1.0, 1.0, 1), &settings, None, &mut ()).unwrap();
    let refused = belief_propagation(&model, &settings, Some(other.state), &mut ()).unwrap_err();
    assert!(refused.to_string().contains("messages of the start"));
    let mut triple = FactorGraph::new(&[2; 3]).unwrap();
    triple.add(&[VarId(0), VarId(1), VarId(2)], &[0.0; 8]).unwrap();
    let uniform = TreeReweightedSettings {
        appearance: EdgeAppearance::Uniform,
        ..TreeReweightedSettings::default()
    };
    let refused = tree_reweighted(&triple, &uniform, None, &mut ()).unwrap_err();
    assert!(refused.to_string().contains("a factor of 3 variables"), "{refused}");
}

#[test]
fn small_models_have_nothing_to_pass() {
    let empty = FactorGraph::new(&[]).unwrap();
    let settings = BeliefPropagationSettings::default();
    let run = belief_propagation(&empty, &settings, None, &mut ()).unwrap();
    assert_eq!((run.state.log_partition(), run.report.status), (0.0, Status::Converged));
    assert_eq!(
        mean_field(&empty, &MeanFieldSettings::default(), None, &mut ())
            .unwrap()
            .state
            .log_partition(),
        0.0
    );
    let mut one = FactorGraph::new(&[3]).unwrap();
    one.add(&[VarId(0)], &[0.0, 1.0, 2.0]).unwrap();
    one.add(&[], &[0.5]).unwrap();
    let exact = Enumeration::of(&one).log_partition;
    for schedule in SCHEDULES {
        let run = belief_propagation(&one, &tight(schedule), None, &mut ()).unwrap();
        assert!((run.state.log_partition() - exact).abs() < 1e-14);
    }
    let trw = tree_reweighted(&one, &TreeReweightedSettings::default(), None, &mut ()).unwrap();
    assert!((trw.state.log_partition() - exact).abs() < 1e-14);
    assert_eq!(max_product(&one, &settings, None, &mut ()).unwrap().state.configuration(), [2]);
}
