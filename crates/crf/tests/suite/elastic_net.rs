//! SDCA with an l1 penalty: its optimum against OWL-QN, its certificate against enumeration, its zeros (CRF-28).

use std::ops::ControlFlow;

use crate::common::*;
use fenchel_crf::methods::{NewtonStart, Sdca, SdcaSettings, SdcaStep, owlqn, sdca};
use fenchel_crf::synthetic::{TextLike, text_like};
use fenchel_crf::{Features, Problem, Support, Weights};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Cadence, Progress, Solution, Status, Stop};

const NEWTON: SdcaStep = SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::Half };
const STEPS: [SdcaStep; 5] = [
    SdcaStep::SingleNewton,
    NEWTON,
    SdcaStep::Brent { tolerance: 1e-4 },
    SdcaStep::Armijo { decrease: 1e-4, shrink: 0.5 },
    SdcaStep::SkipIfImproves,
];

fn until(absolute: f64) -> Stop {
    Stop { absolute, relative: 0.0, max_passes: 5000.0, ..Stop::default() }
}

fn reference(problem: &Problem<'_>, l1: f64) -> Solution<Weights> {
    let settings = LbfgsSettings { stop: until(1e-12), ..LbfgsSettings::default() };
    let solution = owlqn(problem, l1, &settings, None, &mut ()).unwrap();
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
    solution
}

/// Objectives agree to the certificates. The objective is strongly convex, so that weights agree to `sqrt(2 gap / l2)`. Where the
/// subgradient of the likelihood is smaller than `l1` by more than that moves it, the weight is exactly 0.
#[test]
fn the_optimum_and_its_zeros_are_those_of_owl_qn() {
    for (data, l2) in &tiny()[..3] {
        for states in [Support::All, Support::Observed] {
            let features = Features { states, transitions: states, ..Features::default() };
            let problem = Problem::new(data, *l2, features).unwrap();
            for l1 in [0.02, 0.1] {
                let best = reference(&problem, l1);
                let w = flat(&best.state);
                for (step, batch) in STEPS.into_iter().zip([1, 3, 1, 2, 1]) {
                    let stop = until(1e-9);
                    let settings = SdcaSettings { step, l1, batch, stop, ..Default::default() };
                    let found = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
                    assert_eq!(found.report.status, Status::Converged, "{}", found.report);
                    let weights = &found.state.weights;
                    let objective = problem.objective(weights).unwrap() + l1 * weights.l1_norm();
                    let above = objective - best.report.certificate.objective().unwrap();
                    assert!((-1e-11..=1e-9).contains(&above), "{step:?} {above:e}");
                    let radius = (2e-9 / l2).sqrt() + (2e-12 / l2).sqrt();
                    let apart = flat(weights) - &w;
                    assert!(apart.dot(&apart).sqrt() <= radius, "{step:?}");
                    let blocks = blocks(data);
                    // A pass of gradients changes by at most the mean squared radius of the features times the distance.
                    let steep = blocks.iter().map(Block::radius).fold(0.0, f64::max) * radius;
                    let (mut zeros, mut all) = (0, 0);
                    let mean = |c: usize| {
                        let term = |b: &Block| b.mean(&b.model(&w).0)[c] - b.features[b.truth][c];
                        blocks.iter().map(term).sum::<f64>() / blocks.len() as f64
                    };
                    for (c, found) in flat(weights).iter().enumerate() {
                        let sure = w[c] == 0.0 && mean(c).abs() < l1 - steep;
                        zeros += usize::from(sure);
                        all += usize::from(*found == 0.0);
                        assert!(!sure || *found == 0.0, "{step:?}: weight {c} is {found}");
                    }
                    assert!(zeros > 0 && all < w.len(), "{zeros} {all}");
                }
            }
        }
    }
}

/// The certificate is the gap of the point that is returned, by enumeration, and so is the dual value that a run keeps. The dual
/// never falls.
#[test]
fn gaps_are_those_of_enumeration_and_the_dual_rises() {
    for (data, l2) in tiny() {
        let (problem, blocks) = (problem(&data, l2), blocks(&data));
        for (step, batch) in STEPS[1..].iter().copied().chain([SdcaStep::Safe]).zip([1, 2, 1, 3, 1])
        {
            let (l1, mut last) = (0.3 * l2, f64::NEG_INFINITY);
            let stop = Stop { check: Cadence::Every(1.0), ..Stop::after_passes(15.0) };
            let settings = SdcaSettings { step, batch, l1, stop, ..Default::default() };
            let mut watch = |progress: &Progress, method: &Sdca<'_, '_, f64>| {
                let joints = joints(&data, method.marginals());
                let expected = shrunk(&weights_of(&blocks, l2, &joints), l1 / l2);
                let w = flat(&method.weights());
                let size = w.fold(1.0, |top: f64, w| top.max(w.abs()));
                assert!(w.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9 * size));
                let penalty = l1 * w.iter().map(|w| w.abs()).sum::<f64>();
                let entropies = joints.iter().map(|a| entropy(a)).sum::<f64>();
                let dual = entropies / blocks.len() as f64 - 0.5 * l2 * w.dot(&w);
                let gap = primal(&blocks, l2, &w) + penalty - dual;
                let found = progress.certificate.value();
                assert!((found - gap).abs() < 1e-8 * (1.0 + gap), "{step:?}: {found} {gap}");
                // The mean of the blocks' divergences.
                let kl = |(b, a): (&Block, &Vec<f64>)| kl(a, &b.model(&w).0);
                let mean = blocks.iter().zip(&joints).map(kl).sum::<f64>() / blocks.len() as f64;
                assert!((mean - gap).abs() < 1e-8 * (1.0 + gap), "{step:?}: {mean} {gap}");
                let running = method.dual().unwrap();
                assert!((running - dual).abs() < 1e-9 * (1.0 + dual.abs()), "{running} {dual}");
                assert!(dual >= last - 1e-11 * (1.0 + dual.abs()), "{step:?}: {last} {dual}");
                last = dual;
                ControlFlow::Continue(())
            };
            sdca(&problem, &settings, None, &mut watch).unwrap();
        }
    }
}

/// Without a penalty the search is quadratic in the weights, with one it adds up coordinates. A penalty that moves no weight
/// compares the two.
#[test]
fn a_penalty_that_moves_nothing_changes_nothing() {
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        for (step, batch) in STEPS.into_iter().zip([1, 2, 1, 3, 1]) {
            let run = |l1: f64| {
                let stop = Stop::after_passes(5.0);
                let settings = SdcaSettings { step, batch, l1, stop, ..Default::default() };
                let solution = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
                (flat(&solution.state.weights), solution.report.certificate)
            };
            let ((without, gap), (with, other)) = (run(0.0), run(1e-200));
            let size = without.fold(1.0, |top: f64, w| top.max(w.abs()));
            // Brent's method compares values, and stops at its tolerance.
            let close = if let SdcaStep::Brent { .. } = step { 1e-3 } else { 1e-7 };
            assert!((without - with).iter().all(|d| d.abs() < close * size), "{step:?}");
            let (a, b) = (gap.value(), other.value());
            assert!((a - b).abs() <= close * (1.0 + a), "{step:?}: {a} {b}");
        }
    }
}

/// With pairs in single precision the bound still holds, and the penalty that empties the model leaves nothing.
#[test]
fn bounds_hold_in_single_precision_and_large_penalties_leave_no_weight() {
    let data = text_like(&TextLike { sequences: 60, words: 200, ..TextLike::default() }).unwrap();
    let problem = problem(&data, 1.0 / 60.0);
    for l1 in [1e-3, 1e-2] {
        let best = reference(&problem, l1).report.certificate.objective().unwrap();
        let settings = SdcaSettings { l1, stop: Stop::at_relative(1e-5), ..Default::default() };
        let found = sdca::<f32, _>(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(found.report.status, Status::Converged, "{}", found.report);
        let certificate = found.report.certificate;
        let bound = certificate.objective().unwrap() - certificate.value();
        assert!(bound <= best && best - bound < 2e-5 * best, "{bound} {best}");
    }
    // At w = 0 no expected count is farther from its observation than this.
    let all = blocks(&tiny()[0].0);
    let zero = ndarray::Array1::zeros(all[0].features[0].len());
    let gradient = all
        .iter()
        .fold(zero.clone(), |sum, b| sum + b.mean(&b.model(&zero).0) - &b.features[b.truth]);
    let largest = gradient.fold(0.0, |top: f64, g| top.max(g.abs())) / all.len() as f64;
    let (data, l2) = &tiny()[0];
    let problem = crate::common::problem(data, *l2);
    for (share, empty) in [(1.01, true), (0.99, false)] {
        let settings =
            SdcaSettings { l1: share * largest, stop: until(1e-12), ..Default::default() };
        let found = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(found.state.weights.l1_norm() == 0.0, empty, "{share}");
    }
}
