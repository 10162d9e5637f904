//! SDCA on graphs: step by step against enumeration, its gaps, its certificate, its optimum.

use std::ops::ControlFlow;

use crate::common::graphs::*;
use crate::common::*;
use fenchel_crf::graph::{GraphProblem, GraphSdca, graph_lbfgs, graph_sdca};
use fenchel_crf::methods::{Init, NewtonStart, SdcaSettings, SdcaStep, sdca};
use fenchel_crf::{GraphDataset, Order, Weights};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Cadence, Certificate, Progress, Status, Stop};

const EXACT: SdcaStep = SdcaStep::Newton { tolerance: 1e-12, start: NewtonStart::Half };

fn sets() -> Vec<Graphs> {
    vec![
        random_graphs(6, 2, false, 0.1, 11),
        random_graphs(5, 2, true, 0.05, 12),
        random_graphs(6, 3, true, 0.2, 13),
    ]
}

fn of(graphs: &Graphs, data: &GraphDataset) -> f64 {
    let problem = GraphProblem::new(data, graphs.l2, None).unwrap();
    let stop = Stop { absolute: 1e-13, relative: 0.0, ..Stop::default() };
    let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
    let report = graph_lbfgs(&problem, &settings, None, &mut ()).unwrap().report;
    report.certificate.objective().unwrap()
}

fn joints(graphs: &Graphs, method: &GraphSdca<'_, '_>) -> Vec<Vec<f64>> {
    graphs.graphs.iter().zip(method.marginals()).map(|(g, m)| g.joint_of(m)).collect()
}

/// Sixty visits of a scripted order: weights, and dual values, are those of joint distributions.
#[test]
fn every_visit_is_that_of_enumeration() {
    for graphs in sets() {
        let (data, n) = (graphs.data(), graphs.graphs.len());
        let problem = GraphProblem::new(&data, graphs.l2, None).unwrap();
        let script: Vec<usize> = (0..60).map(|k| (k * k + k / 3) % n).collect();
        for (step, single) in [(EXACT, false), (SdcaStep::SingleNewton, true)] {
            let visits = script.len() as f64 / n as f64;
            let stop = Stop { check: Cadence::Every(1.0 / n as f64), ..Stop::after_passes(visits) };
            let order = Order::Scripted(script.clone());
            let init = Init::Smoothed { smoothing: 0.1 };
            let settings = SdcaSettings { order, step, init, stop, ..Default::default() };
            let mut reference: Vec<Vec<f64>> = Vec::new();
            let (mut seen, mut moved) = (0, 0);
            let mut watch = |_: &Progress, method: &GraphSdca<'_, '_>| {
                if seen == 0 {
                    reference = joints(&graphs, method);
                } else {
                    let step = visit(&graphs, &mut reference, script[seen - 1], single);
                    moved += usize::from(step > 1e-3);
                }
                seen += 1;
                let w = graphs.weights_of(&reference);
                let size = w.iter().fold(1.0, |top: f64, w| top.max(w.abs()));
                for (a, b) in method.weights().iter().zip(&w) {
                    assert!((a - b).abs() < 1e-7 * size, "visit {seen}: {a} {b}");
                }
                let found = graphs.dual(&joints(&graphs, method));
                assert!((found - graphs.dual(&reference)).abs() < 1e-8 * (1.0 + found.abs()));
                ControlFlow::Continue(())
            };
            graph_sdca(&problem, &settings, None, &mut watch).unwrap();
            assert_eq!(seen, script.len() + 1);
            assert!(moved > 30, "{moved}");
        }
    }
}

#[test]
fn block_gaps_are_divergences_and_the_certificate_is_their_mean() {
    for graphs in sets() {
        let (data, n) = (graphs.data(), graphs.graphs.len());
        let problem = GraphProblem::new(&data, graphs.l2, None).unwrap();
        let stop = Stop { check: Cadence::Every(1.0 / n as f64), ..Stop::after_passes(6.0) };
        let order = Order::Cyclic;
        let settings = SdcaSettings { order, step: EXACT, stop, ..Default::default() };
        let mut expected: Vec<f64> = Vec::new();
        let (mut seen, mut last) = (0, f64::NEG_INFINITY);
        let mut watch = |progress: &Progress, method: &GraphSdca<'_, '_>| {
            if seen > 0 {
                let i = (seen - 1) % n;
                let gap = method.gaps()[i];
                assert!((gap - expected[i]).abs() < 1e-9 * (1.0 + gap), "{gap} {}", expected[i]);
            }
            seen += 1;
            let joints = joints(&graphs, method);
            joints.iter().for_each(|q| assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-11));
            let w = graphs.weights_of(&joints);
            assert!(method.weights().iter().zip(&w).all(|(a, b)| (a - b).abs() < 1e-9));
            expected = graphs.gaps(&joints, &w);
            let dual = graphs.dual(&joints);
            assert!(dual >= last - 1e-12 * (1.0 + dual.abs()), "the dual fell");
            last = dual;
            let mean = expected.iter().sum::<f64>() / n as f64;
            assert!((graphs.primal(&w).0 - dual - mean).abs() < 1e-9 * (1.0 + mean));
            let Certificate::Gap { objective, lower_bound, .. } = progress.certificate else {
                panic!("{:?}", progress.certificate)
            };
            assert!((objective - graphs.primal(&w).0).abs() < 1e-9 * (1.0 + objective));
            // The bound is the best one so far, and the dual never falls.
            assert!((lower_bound - dual).abs() < 1e-9 * (1.0 + dual.abs()));
            ControlFlow::Continue(())
        };
        graph_sdca(&problem, &settings, None, &mut watch).unwrap();
        assert_eq!(seen, 6 * n + 1);
    }
}

#[test]
fn certificates_bound_what_is_left_and_every_rule_arrives() {
    let steps = [
        SdcaStep::SingleNewton,
        SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::Previous },
        SdcaStep::Brent { tolerance: 1e-4 },
        SdcaStep::Armijo { decrease: 1e-4, shrink: 0.5 },
        SdcaStep::SkipIfImproves,
    ];
    let orders =
        [Order::Uniform, Order::Permuted, Order::Lipschitz, Order::LipschitzGap, Order::LargestGap];
    let all = steps.into_iter().map(|step| (step, Order::Gap));
    let all = all.chain(orders.into_iter().map(|order| (SdcaStep::SingleNewton, order)));
    let sets: Vec<_> = sets().into_iter().map(|g| (g.data(), g)).collect();
    let best: Vec<f64> = sets.iter().map(|(data, graphs)| of(graphs, data)).collect();
    for (step, order) in all {
        for ((data, graphs), best) in sets.iter().zip(&best) {
            let problem = GraphProblem::new(data, graphs.l2, None).unwrap();
            let stop = Stop { absolute: 1e-9, relative: 0.0, ..Stop::default() };
            let stop = Stop { check: Cadence::Every(1.0), max_passes: 5000.0, ..stop };
            let settings = SdcaSettings { step, order: order.clone(), stop, ..Default::default() };
            let mut watch = |progress: &Progress, method: &GraphSdca<'_, '_>| {
                let above = problem.objective(method.weights()).unwrap() - best;
                let Certificate::Gap { lower_bound, .. } = progress.certificate else {
                    panic!("{:?}", progress.certificate)
                };
                assert!(progress.certificate.value() >= above - 1e-11 * (1.0 + best));
                assert!(lower_bound <= best + 1e-11 * (1.0 + best));
                ControlFlow::Continue(())
            };
            let solution = graph_sdca(&problem, &settings, None, &mut watch).unwrap();
            let report = solution.report;
            assert_eq!(report.status, Status::Converged, "{step:?} {order:?} {report}");
            let above = problem.objective(&solution.state.weights).unwrap() - best;
            assert!((-1e-11..=1e-9).contains(&above), "{step:?} {order:?} {above:e}");
        }
    }
}

/// The same visits of the same chains: weights and gaps of the chain's fast path, visit by visit.
#[test]
fn chains_have_the_trajectory_of_the_chain_crf() {
    for (seed, signed, l2) in [(1, false, 0.2), (2, true, 0.25), (3, true, 0.05)] {
        let sequences = random_sequences((6, 5, 5, 3), signed, seed);
        let data = dataset(5, 3, &sequences);
        let chain = problem(&data, l2);
        let graphs = chains(5, 3, &sequences, l2);
        let graph_data = graphs.data();
        let graph = GraphProblem::new(&graph_data, l2, None).unwrap();
        for step in [EXACT, SdcaStep::SingleNewton] {
            let stop = Stop { check: Cadence::Every(0.5), ..Stop::after_passes(20.0) };
            let (order, seed) = (Order::Gap, 5);
            let settings = SdcaSettings { order, step, stop, seed, ..Default::default() };
            let mut rows: Vec<(f64, Vec<f64>, Vec<f64>)> = Vec::new();
            let mut watch = |p: &Progress, m: &fenchel_crf::methods::Sdca<'_, '_, f64>| {
                rows.push((p.certificate.value(), flat(&m.weights()).to_vec(), m.gaps().to_vec()));
                ControlFlow::Continue(())
            };
            sdca(&chain, &settings, None, &mut watch).unwrap();
            let mut at = 0;
            let mut watch = |p: &Progress, m: &GraphSdca<'_, '_>| {
                let (gap, w, gaps) = &rows[at];
                at += 1;
                let near = |a: f64, b: f64| (a - b).abs() < 1e-8 * (1.0 + b.abs());
                assert!(near(p.certificate.value(), *gap), "{at}: {} {gap}", p.certificate);
                assert!(m.weights().iter().zip(w).all(|(a, b)| near(*a, *b)), "{at}");
                assert!(m.gaps().iter().zip(gaps).all(|(a, b)| near(*a, *b)), "{at}");
                ControlFlow::Continue(())
            };
            graph_sdca(&graph, &settings, None, &mut watch).unwrap();
            assert_eq!(at, rows.len());
            assert!(rows[at - 1].0 < 1e-2 * rows[0].0);
        }
    }
}

/// Objective and dual value of an elastic net, at the points of batches, are those of enumeration.
#[test]
fn an_l1_penalty_and_batches_are_those_of_enumeration() {
    for mut graphs in sets() {
        graphs.l1 = 0.3 * graphs.l2;
        let data = graphs.data();
        let problem = GraphProblem::new(&data, graphs.l2, None).unwrap();
        let stop = Stop { absolute: 1e-9, relative: 0.0, ..Stop::after_passes(2000.0) };
        let stop = Stop { check: Cadence::Every(1.0), ..stop };
        let settings = SdcaSettings { step: EXACT, l1: graphs.l1, stop, ..Default::default() };
        for (batch, refresh) in [(1, None), (3, Some(2))] {
            let settings = SdcaSettings { batch, refresh, ..settings.clone() };
            let mut best = f64::NEG_INFINITY;
            let mut watch = |progress: &Progress, method: &GraphSdca<'_, '_>| {
                let w = method.weights();
                let norm: f64 = w.iter().map(|w| w.abs()).sum();
                let value = graphs.primal(w).0 + graphs.l1 * norm;
                best = best.max(graphs.dual(&joints(&graphs, method)));
                let Certificate::Gap { objective, lower_bound, .. } = progress.certificate else {
                    panic!("{:?}", progress.certificate)
                };
                assert!((objective - value).abs() < 1e-9 * (1.0 + value), "{objective} {value}");
                assert!((lower_bound - best).abs() < 1e-9 * (1.0 + value), "{lower_bound} {best}");
                ControlFlow::Continue(())
            };
            let found = graph_sdca(&problem, &settings, None, &mut watch).unwrap();
            assert_eq!(found.report.status, Status::Converged, "{batch}: {}", found.report);
            assert!(found.state.weights.contains(&0.0));
        }
    }
}

#[test]
fn starts_of_chains_are_refused_and_uniform_ones_are_not() {
    let data = sets()[0].data();
    let problem = GraphProblem::new(&data, 0.5, None).unwrap();
    let with = |init| SdcaSettings { init, ..Default::default() };
    for init in [Init::Tilted { score: 1.0 }, Init::Weights(Weights::zeros(1, 2))] {
        let error = graph_sdca(&problem, &with(init), None, &mut ()).unwrap_err();
        assert!(error.to_string().contains("GraphDualState::at"), "{error}");
    }
    let found = graph_sdca(&problem, &with(Init::Uniform), None, &mut ()).unwrap();
    assert_eq!(found.report.status, Status::Converged);
}

#[test]
fn a_state_is_a_warm_start_and_one_of_other_graphs_is_refused() {
    let graphs = &sets()[0];
    let data = graphs.data();
    let problem = GraphProblem::new(&data, graphs.l2, None).unwrap();
    let settings = SdcaSettings { stop: Stop::at_relative(1e-8), ..Default::default() };
    let cold = graph_sdca(&problem, &settings, None, &mut ()).unwrap();
    let warm = graph_sdca(&problem, &settings, Some(cold.state.clone()), &mut ()).unwrap();
    assert!(warm.report.passes <= 2.0 && cold.report.passes > 5.0, "{}", warm.report);
    let other = GraphProblem::new(&data, 2.0 * graphs.l2, None).unwrap();
    let near = graph_sdca(&other, &settings, Some(cold.state.clone()), &mut ()).unwrap();
    assert_eq!(near.report.status, Status::Converged);
    // The marginals of two graphs the other way round.
    let mut mixed = cold.state;
    mixed.marginals.swap(1, 2);
    let error = graph_sdca(&problem, &settings, Some(mixed.clone()), &mut ()).unwrap_err();
    assert!(error.to_string().starts_with("graph 1: "), "{error}");
    mixed.marginals.pop();
    assert!(graph_sdca(&problem, &settings, Some(mixed), &mut ()).is_err());
}

#[test]
fn a_seed_determines_every_bit() {
    let graphs = &sets()[1];
    let data = graphs.data();
    let problem = GraphProblem::new(&data, graphs.l2, None).unwrap();
    let run = |seed| {
        let settings = SdcaSettings { seed, ..Default::default() };
        let found = graph_sdca(&problem, &settings, None, &mut ()).unwrap();
        (found.state, found.report.without_seconds())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3).0.weights, run(4).0.weights);
}
