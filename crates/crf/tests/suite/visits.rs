//! SDCA visit by visit against joint distributions: trajectory and gaps (CRF-08, 12, 14, 19, 24).

use std::ops::ControlFlow;

use crate::common::graphs::{Enumerated, chains, visit};
use crate::common::*;
use fenchel_crf::Order;
use fenchel_crf::methods::{
    Init, NewtonStart, Oeg, OegSettings, Sdca, SdcaSettings, SdcaStep, oeg, sdca,
};
use fenchel_optim::{Cadence, Progress, Stop};

const EXACT: SdcaStep = SdcaStep::Newton { tolerance: 1e-12, start: NewtonStart::Half };

/// A block's gap as the steps see it: the divergence, and with `SingleNewton` half the curvature of the entropy at half the way,
/// which is `sum_C 2 E u^2 - sum_S 2 E u^2` over cliques and separators, `u = (p - m)/(p + m)`, `E` under their mean. The third
/// number bounds the difference of the two where all `|u| <= 0.3`: `(1 - u) log((1 - u)/(1 + u)) = -2u + 2u^2 - 2u^3/3 + ..`.
fn gap_of(graph: &Enumerated, m: &[f64], p: &[f64]) -> (f64, f64, Option<f64>) {
    let (cliques, separators) = graph.scopes();
    let signed = cliques.iter().map(|c| (c, 1.0)).chain(separators.iter().map(|s| (s, -1.0)));
    let (mut half, mut rest, mut largest) = (0.0, 0.0, 0.0f64);
    for (scope, sign) in signed {
        for (m, p) in graph.margin(m, scope).iter().zip(graph.margin(p, scope)) {
            let (mean, u) = (0.5 * (m + p), (p - m) / (p + m));
            half += sign * 2.0 * mean * u * u;
            rest += mean * u.abs().powi(3);
            largest = largest.max(u.abs());
        }
    }
    (kl(m, p), half, (largest <= 0.3).then_some(rest))
}

/// Sixty visits of a scripted order against joint distributions, one by one: weights, dual values, and the gap that is found;
/// without an l1 penalty and with one.
#[test]
fn every_visit_is_that_of_enumeration() {
    let models = [(1, false, 0.2), (2, true, 0.25), (3, true, 0.05)];
    let both = models.into_iter().flat_map(|model| [(model, 0.0), (model, 0.15)]);
    for ((seed, signed, l2), l1) in both {
        let sequences = random_sequences((5, 4, 4, 3), signed, seed);
        let data = dataset(4, 3, &sequences);
        let (problem, mut graphs) = (problem(&data, l2), chains(4, 3, &sequences, l2));
        graphs.l1 = l1;
        let script: Vec<usize> = (0..60).map(|k| (k * k + k / 3) % 5).collect();
        for (step, single) in [(EXACT, false), (SdcaStep::SingleNewton, true)] {
            let stop = Stop { check: Cadence::Every(0.2), ..Stop::after_passes(12.0) };
            let (order, init) =
                (Order::Scripted(script.clone()), Init::Smoothed { smoothing: 0.1 });
            let settings = SdcaSettings { order, step, init, l1, stop, ..Default::default() };
            let mut reference: Vec<Vec<f64>> = Vec::new();
            let (mut seen, mut moved, mut near, mut zeros) = (0, 0, 0, 0);
            let mut watch = |_: &Progress, method: &Sdca<'_, '_, f64>| {
                if seen == 0 {
                    reference = joints(&data, method.marginals());
                } else {
                    let i = script[seen - 1];
                    let own = graphs.graphs[i].model(&graphs.weights_of(&reference)).0;
                    let (kl, half, rest) = gap_of(&graphs.graphs[i], &reference[i], &own);
                    let (found, expected) = (method.gaps()[i], if single { half } else { kl });
                    assert!((found - expected).abs() < 1e-9 * (1.0 + kl), "{found} {expected}");
                    if let Some(rest) = rest {
                        assert!((half - kl).abs() <= rest + 1e-15, "{half:e} {kl:e} {rest:e}");
                        near += 1;
                    }
                    let step = visit(&graphs, &mut reference, i, single);
                    moved += usize::from(step > 1e-3);
                }
                seen += 1;
                let w = graphs.weights_of(&reference);
                zeros += w.iter().filter(|w| **w == 0.0).count();
                let size = w.iter().fold(1.0, |top: f64, w| top.max(w.abs()));
                for (a, b) in flat(&method.weights()).iter().zip(&w) {
                    assert!((a - b).abs() < 1e-7 * size, "visit {seen}: {a} {b}");
                }
                let dual = graphs.dual(&reference);
                let found = graphs.dual(&joints(&data, method.marginals()));
                assert!((found - dual).abs() < 1e-8 * (1.0 + dual.abs()), "visit {seen}");
                let running = method.dual();
                assert_eq!(running.is_none(), single);
                assert!((running.unwrap_or(dual) - dual).abs() < 1e-8 * (1.0 + dual.abs()));
                ControlFlow::Continue(())
            };
            sdca(&problem, &settings, None, &mut watch).unwrap();
            assert_eq!(seen, script.len() + 1);
            assert!(moved > 30 && near > 20, "{moved} {near}");
            // At least a fifth of the weights, on the mean of the visits.
            assert_eq!(zeros * 5 > graphs.dimension() * seen, l1 > 0.0, "{zeros}");
        }
    }
}

/// `refresh` looks at every block: all gaps are the divergences at the weights of that moment, whatever the step estimates.
#[test]
fn refreshed_gaps_are_divergences() {
    for (data, l2) in tiny() {
        let (problem, blocks) = (problem(&data, l2), blocks(&data));
        for step in [EXACT, SdcaStep::SingleNewton] {
            let stop = Stop::after_passes(9.0);
            let settings = SdcaSettings {
                step,
                refresh: Some(3),
                order: Order::Uniform,
                stop,
                ..Default::default()
            };
            let (mut refreshed, mut old) = (0, 0);
            let mut watch = |progress: &Progress, method: &Sdca<'_, '_, f64>| {
                let joints = joints(&data, method.marginals());
                let w = weights_of(&blocks, l2, &joints);
                let gap = |(b, a): (&Block, &Vec<f64>)| kl(a, &b.model(&w).0);
                let gaps: Vec<f64> = blocks.iter().zip(&joints).map(gap).collect();
                let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * (1.0 + b);
                let all = method.gaps().iter().zip(&gaps).all(same);
                // Between two looks the gaps of blocks that were visited are old ones.
                let due = progress.passes > 0.0 && progress.passes % 3.0 == 0.0;
                assert!(all || !due, "{step:?}, pass {}", progress.passes);
                refreshed += usize::from(due);
                old += usize::from(!all);
                ControlFlow::Continue(())
            };
            sdca(&problem, &settings, None, &mut watch).unwrap();
            assert!(refreshed == 3 && old > 0, "{refreshed} {old}");
        }
    }
}

/// Draws of exponentiated gradient by gaps: what a visit records is half the curvature between the block's distribution and its
/// geometric mixture with the model's, over the squared rate. With rate 1 that is what SDCA records.
#[test]
fn gaps_of_exponentiated_gradient_are_those_of_enumeration() {
    let sequences = random_sequences((6, 4, 5, 3), false, 3);
    let data = dataset(5, 3, &sequences);
    // A large l2 leaves the weights so small that the first rate succeeds.
    let (problem, graphs) = (problem(&data, 50.0), chains(5, 3, &sequences, 50.0));
    for rate in [0.25, 1.0] {
        for order in [Order::Gap, Order::LipschitzGap, Order::LargestGap] {
            let n = data.sequences() as f64;
            let stop = Stop { check: Cadence::Every(1.0 / n), ..Stop::after_passes(8.0) };
            let settings = OegSettings {
                rate,
                growth: 1.0,
                order: order.clone(),
                init: Init::Tilted { score: 1.0 },
                stop,
                ..Default::default()
            };
            let mut before: Option<(Vec<Vec<f64>>, Vec<f64>)> = None;
            let mut visited = vec![0; data.sequences()];
            let mut watch = |_: &Progress, method: &Oeg<'_, '_>| {
                let (now, gaps) = (joints(&data, method.marginals()), method.gaps().to_vec());
                if let Some((old, known)) = &before {
                    let changed = |i: &usize| gaps[*i] != known[*i];
                    let changed: Vec<usize> = (0..gaps.len()).filter(changed).collect();
                    assert!(changed.len() <= 1);
                    for i in changed {
                        let graph = &graphs.graphs[i];
                        let p = graph.model(&graphs.weights_of(old)).0;
                        let mixture = old[i].iter().zip(&p);
                        let mixture: Vec<f64> =
                            mixture.map(|(m, p)| m.powf(1.0 - rate) * p.powf(rate)).collect();
                        let total: f64 = mixture.iter().sum();
                        let mixture: Vec<f64> = mixture.iter().map(|q| q / total).collect();
                        let (kl, half, rest) = gap_of(graph, &old[i], &mixture);
                        let expected = half / (rate * rate);
                        let found = gaps[i];
                        assert!((found - expected).abs() < 1e-9 * (1.0 + expected), "{found}");
                        assert!(rest.is_none_or(|rest| (half - kl).abs() <= rest + 1e-15));
                        visited[i] += 1;
                    }
                }
                before = Some((now, gaps));
                ControlFlow::Continue(())
            };
            oeg(&problem, &settings, None, &mut watch).unwrap();
            assert!(visited.iter().all(|&count| count > 0), "{order:?} {visited:?}");
        }
    }
}
