//! Exponentiated gradient, stochastic average gradient and the finite sum: the same optimum as L-BFGS, and what each
//! method promises on the way (CRF-36, 37, 39).

use std::cell::Cell;
use std::ops::ControlFlow;

use crate::common::*;
use fenchel_crf::methods::{
    CrfFiniteSum, DualState, Init, Likelihood, Oeg, OegSettings, Sag, SagSettings, SdcaSettings,
    lbfgs, oeg, sag, sdca,
};
use fenchel_crf::synthetic::{OcrLike, TextLike, ocr_like, text_like};
use fenchel_crf::{Error, Features, Order, Problem, Support};
use fenchel_finite_sum::general::{FiniteSum, Sum, SumSettings, saga, svrg};
use fenchel_graphical::chain::ChainMarginals;
use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::{LbfgsSettings, Smooth};
use fenchel_optim::prox::Zero;
use fenchel_optim::{Cadence, Progress, Refusal, Status, Stop};

fn optimum(problem: &Problem<'_>) -> f64 {
    let stop = Stop { absolute: 1e-12, relative: 0.0, ..Stop::default() };
    let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
    lbfgs(problem, &settings, None, &mut ()).unwrap().report.certificate.objective().unwrap()
}

fn until(absolute: f64) -> Stop {
    Stop { absolute, relative: 0.0, max_passes: 4000.0, ..Stop::default() }
}

const SAGS: [(Order, bool); 3] =
    [(Order::Uniform, false), (Order::Lipschitz, false), (Order::Lipschitz, true)];

/// The problem's own function, counting how often it is asked.
struct Counted<'c, 'p, 'a>(Likelihood<'p, Problem<'a>>, &'c Cell<u32>);

impl Smooth for Counted<'_, '_, '_> {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn value_gradient(&mut self, w: &[f64], gradient: &mut [f64]) -> f64 {
        self.1.set(self.1.get() + 1);
        self.0.value_gradient(w, gradient)
    }
}

/// What a run reports is what it evaluated. It ends above its limit only by the search of the last step: allowed as many
/// passes as that took, it ends at its limit.
#[test]
fn a_pass_of_l_bfgs_is_an_evaluation() {
    let (data, l2) = &tiny()[1];
    let problem = problem(data, 1e-3 * l2);
    let settings = |max_passes: f64| LbfgsSettings {
        stop: Stop { max_passes, absolute: 0.0, relative: 0.0, ..Stop::default() },
        ..LbfgsSettings::default()
    };
    for limit in 0..15 {
        let limit = f64::from(limit);
        let report = lbfgs(&problem, &settings(limit), None, &mut ()).unwrap().report;
        let count = Cell::new(0);
        let counted = Counted(Likelihood::new(&problem), &count);
        let start = vec![0.0; counted.dimension()];
        let same = fenchel_optim::lbfgs::lbfgs(counted, &settings(limit), start, &mut ()).unwrap();
        assert_eq!(report.passes, same.report.passes);
        // The start is evaluated even where no pass is allowed.
        assert_eq!(report.passes, if limit == 0.0 { 0.0 } else { f64::from(count.get()) });
        assert!(report.passes >= limit, "{report}");
        let exactly = lbfgs(&problem, &settings(report.passes), None, &mut ()).unwrap().report;
        assert_eq!(exactly.passes, report.passes, "{report}");
    }
}

#[test]
fn oeg_reaches_the_optimum_where_n_l2_is_not_tiny() {
    for (data, l2) in &tiny()[..3] {
        for states in [Support::All, Support::Observed] {
            let features = Features { states, transitions: states, ..Features::default() };
            let problem = Problem::new(data, *l2, features).unwrap();
            for order in [Order::Uniform, Order::Gap, Order::LargestGap] {
                let settings = OegSettings { order, stop: until(1e-8), ..Default::default() };
                let solution = oeg(&problem, &settings, None, &mut ()).unwrap();
                assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
                let above = problem.objective(&solution.state.weights).unwrap() - optimum(&problem);
                assert!((-1e-11..=1e-8).contains(&above), "{above:e}");
            }
        }
    }
}

#[test]
fn the_dual_of_oeg_never_falls_and_is_the_dual_of_its_marginals() {
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        let blocks = blocks(&data);
        let stop = Stop { check: Cadence::Every(0.5), ..Stop::after_passes(20.0) };
        let settings = OegSettings { stop, ..Default::default() };
        let mut last = f64::NEG_INFINITY;
        let mut watch = |progress: &Progress, method: &Oeg<'_, '_>| {
            let joint = |(m, sequence): (&ChainMarginals, fenchel_crf::Sequence<'_>)| {
                let all = labellings(data.labels(), sequence.len());
                all.iter().map(|y| m.log_probability(y).unwrap().exp()).collect::<Vec<f64>>()
            };
            let joints: Vec<_> = method.marginals().iter().zip(data.iter()).map(joint).collect();
            let exact = dual(&blocks, l2, &joints);
            assert!((method.dual() - exact).abs() < 1e-9 * (1.0 + exact.abs()));
            assert!(method.dual() >= last - 1e-11 * (1.0 + exact.abs()));
            last = method.dual();
            let w = weights_of(&blocks, l2, &joints);
            let gap = primal(&blocks, l2, &w) - exact;
            assert!((progress.certificate.value() - gap).abs() < 1e-8 * (1.0 + gap));
            assert!(method.marginals().iter().all(|m| m.is_consistent(1e-12)));
            ControlFlow::Continue(())
        };
        oeg(&problem, &settings, None, &mut watch).unwrap();
    }
}

/// One step at a fixed rate is the geometric mixture of joint distributions, by enumeration.
#[test]
fn a_step_of_oeg_mixes_scores() {
    let (data, _) = &tiny()[2];
    // A large l2 leaves the weights so small that the first rate succeeds.
    let problem = problem(data, 50.0);
    let blocks = blocks(data);
    for rate in [0.25, 1.0] {
        let script: Vec<usize> = (0..data.sequences()).collect();
        let settings = OegSettings {
            rate,
            growth: 1.0,
            init: Init::Tilted { score: 1.0 },
            order: Order::Scripted(script),
            stop: Stop { check: Cadence::Every(0.1), ..Stop::after_passes(1.0) },
            ..Default::default()
        };
        let mut before: Option<(Vec<Vec<f64>>, ndarray::Array1<f64>)> = None;
        let mut step = 0;
        let mut watch = |progress: &Progress, method: &Oeg<'_, '_>| {
            let joints: Vec<Vec<f64>> = method
                .marginals()
                .iter()
                .zip(&blocks)
                .map(|(m, b)| {
                    b.labellings.iter().map(|y| m.log_probability(y).unwrap().exp()).collect()
                })
                .collect();
            // Rounding of the passes can ask for one look more.
            if step > 0 && progress.oracle_calls == step {
                return ControlFlow::Continue(());
            }
            if let Some((old, w)) = &before {
                assert_eq!(progress.oracle_calls, step + 1, "the first rate was accepted");
                let i = step as usize;
                let model = blocks[i].model(w).0;
                let mixed: Vec<f64> = old[i]
                    .iter()
                    .zip(&model)
                    .map(|(a, p)| a.powf(1.0 - rate) * p.powf(rate))
                    .collect();
                let total: f64 = mixed.iter().sum();
                for (found, mixed) in joints[i].iter().zip(&mixed) {
                    assert!((found - mixed / total).abs() < 1e-12, "{found} {}", mixed / total);
                }
                step += 1;
            }
            before = Some((joints, flat(&method.weights())));
            ControlFlow::Continue(())
        };
        oeg(&problem, &settings, None, &mut watch).unwrap();
        assert_eq!(step, data.sequences() as u64);
    }
}

#[test]
fn oeg_counts_every_trial_as_an_oracle_call() {
    let (data, l2) = &tiny()[2];
    let problem = problem(data, *l2);
    let calls = |retries| {
        let settings = OegSettings {
            rate: 1.0,
            retries,
            stop: Stop::after_passes(30.0),
            ..Default::default()
        };
        oeg(&problem, &settings, None, &mut ()).unwrap().report.oracle_calls
    };
    let updates = 30 * problem.n() as u64;
    assert_eq!(calls(0), updates);
    let with_retries = calls(40);
    assert!(with_retries > updates && with_retries < 2 * updates, "{with_retries} of {updates}");
}

#[test]
fn every_sag_reaches_the_optimum() {
    for (data, l2) in &tiny() {
        for states in [Support::All, Support::Observed] {
            let features = Features { states, transitions: states, ..Features::default() };
            let problem = Problem::new(data, *l2, features).unwrap();
            let best = optimum(&problem);
            for (order, skip) in SAGS {
                let stop = until(1e-8);
                let settings = SagSettings { order, skip, stop, ..Default::default() };
                let solution = sag(&problem, &settings, None, &mut ()).unwrap();
                assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
                let above = problem.objective(&solution.state).unwrap() - best;
                assert!((-1e-11..=1e-8).contains(&above), "{settings:?} {above:e}");
            }
        }
    }
}

/// With steps this small the lazy updates are those of a dense implementation on enumerated models.
#[test]
fn lazy_updates_are_the_dense_ones() {
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        let blocks = blocks(&data);
        let (n, passes) = (data.sequences(), 7);
        let stop =
            Stop { check: Cadence::Every(1.0 / n as f64), ..Stop::after_passes(f64::from(passes)) };
        let settings = SagSettings { stop, ..Default::default() };
        // The direction is recovered from two steps; the step size from the curvatures.
        let mut stored: Vec<Option<ndarray::Array1<f64>>> = vec![None; n];
        let mut w = ndarray::Array1::<f64>::zeros(blocks[0].features[0].len());
        let mut first = true;
        let mut watch = |_: &Progress, method: &Sag<'_, '_>| {
            let found = flat(&method.weights());
            if std::mem::take(&mut first) {
                return ControlFlow::Continue(());
            }
            // The visit is the one choice of a block that explains the move.
            let (mean, top) = method.curvatures();
            let step = 0.5 * (1.0 / (top + l2) + 1.0 / (mean + l2));
            let explained = (0..n).find_map(|i| {
                let b = &blocks[i];
                let gradient = b.mean(&b.model(&w).0) - &b.features[b.truth];
                let mut trial = stored.clone();
                trial[i] = Some(gradient);
                let m = trial.iter().flatten().count();
                let zero = ndarray::Array1::<f64>::zeros(w.len());
                let sum = trial.iter().flatten().fold(zero, |sum, g| sum + g);
                let next = &w * (1.0 - step * l2) - sum * (step / m as f64);
                let size = 1.0 + next.fold(0.0, |top: f64, x| top.max(x.abs()));
                let fits = (&next - &found).iter().all(|d| d.abs() < 1e-9 * size);
                (fits && m == method.seen()).then_some((trial, next))
            });
            let (trial, next) = explained.expect("no block explains the move");
            (stored, w) = (trial, next);
            ControlFlow::Continue(())
        };
        sag(&problem, &settings, None, &mut watch).unwrap();
    }
}

#[test]
fn skipped_searches_save_oracle_calls() {
    let data = text_like(&TextLike { sequences: 60, words: 200, ..TextLike::default() }).unwrap();
    let problem = problem(&data, 1.0 / 60.0);
    let calls = |order, skip| {
        let stop = Stop::after_passes(20.0);
        let settings = SagSettings { order, skip, stop, ..Default::default() };
        sag(&problem, &settings, None, &mut ()).unwrap().report.oracle_calls as f64 / 1200.0
    };
    let searched = calls(Order::Lipschitz, false);
    let skipped = calls(Order::Lipschitz, true);
    assert!((1.9..2.4).contains(&searched), "{searched}");
    assert!((1.0..1.7).contains(&skipped), "{skipped}");
}

#[test]
fn certificates_change_no_bit_and_a_seed_determines_all() {
    let (data, l2) = &tiny()[0];
    let problem = problem(data, *l2);
    let stop = |check| Stop { check, ..Stop::after_passes(9.0) };
    let (often, rarely) = (stop(Cadence::Every(0.2)), stop(Cadence::Every(9.0)));
    let by_oeg = |stop, seed| {
        let settings = OegSettings { stop, seed, ..Default::default() };
        oeg(&problem, &settings, None, &mut ()).unwrap().state
    };
    assert_eq!(by_oeg(often, 1), by_oeg(rarely, 1));
    assert_ne!(by_oeg(often, 1), by_oeg(often, 2));
    let mut watch = |_: &Progress, _: &Sag<'_, '_>| ControlFlow::Continue(());
    for (order, skip) in SAGS {
        let mut by_sag = |stop, seed| {
            let order = order.clone();
            let settings = SagSettings { order, skip, stop, seed, ..Default::default() };
            sag(&problem, &settings, None, &mut watch).unwrap().state
        };
        assert_eq!(by_sag(often, 1), by_sag(rarely, 1));
        assert_ne!(by_sag(often, 1), by_sag(often, 2));
    }
}

#[test]
fn a_warm_start_starts_where_the_last_run_ended() {
    let (data, l2) = &tiny()[1];
    let problem = problem(data, *l2);
    let settings = OegSettings { stop: until(1e-8), ..Default::default() };
    let solution = oeg(&problem, &settings, None, &mut ()).unwrap();
    let again = oeg(&problem, &settings, Some(solution.state), &mut ()).unwrap();
    assert!(again.report.passes <= 1.0, "{}", again.report);
    let settings = SagSettings { stop: Stop::after_passes(0.0), ..Default::default() };
    let kept = sag(&problem, &settings, Some(again.state.weights.clone()), &mut ()).unwrap();
    assert_eq!(kept.state, again.state.weights);
}

#[test]
fn bad_input_is_refused_by_name() {
    let (data, l2) = &tiny()[0];
    let problem = problem(data, *l2);
    let refused = |error: Error, expected: &str| match error {
        Error::Invalid(Invalid::Parameter { name, .. }) => assert_eq!(name, expected),
        other => panic!("{other}"),
    };
    let base = OegSettings::default;
    for (settings, name) in [
        (OegSettings { rate: 0.0, ..base() }, "rate"),
        (OegSettings { rate: f64::NAN, ..base() }, "rate"),
        (OegSettings { growth: 0.9, ..base() }, "growth"),
        (OegSettings { shrink: 1.0, ..base() }, "shrink"),
        (OegSettings { tolerance: -1.0, ..base() }, "tolerance"),
        (OegSettings { non_uniformity: 1.5, ..base() }, "non_uniformity"),
        (OegSettings { init: Init::Empirical, ..base() }, "init.smoothing"),
        (OegSettings { init: Init::Smoothed { smoothing: 2.0 }, ..base() }, "init.smoothing"),
        (OegSettings { tolerance: 2.0, ..base() }, "tolerance"),
    ] {
        refused(oeg(&problem, &settings, None, &mut ()).unwrap_err(), name);
    }
    let never = SdcaSettings { refresh: Some(0), ..Default::default() };
    refused(sdca(&problem, &never, None::<DualState>, &mut ()).unwrap_err(), "refresh");
    let base = SagSettings::default;
    for (settings, name) in [
        (SagSettings { first: 0.0, ..base() }, "first"),
        (SagSettings { decrease: 1.5, ..base() }, "decrease"),
        (SagSettings { non_uniformity: -0.1, ..base() }, "non_uniformity"),
    ] {
        refused(sag(&problem, &settings, None, &mut ()).unwrap_err(), name);
    }
    let small = SagSettings { max_memory: Some(100), ..base() };
    let error = sag(&problem, &small, None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { what: "sag", limit: 100, .. })));
    let small = OegSettings { max_memory: Some(100), ..Default::default() };
    let error = oeg(&problem, &small, None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { what: "oeg", limit: 100, .. })));
    let (other, _) = &tiny()[1];
    let weights = random_weights(other, 1.0, 1);
    let settings = SagSettings { order: Order::Gap, ..base() };
    let message = sag(&problem, &settings, None, &mut ()).unwrap_err().to_string();
    assert!(message.contains("the gap order; expected Uniform or Lipschitz"), "{message}");
    assert!(sag(&problem, &base(), Some(weights.clone()), &mut ()).is_err());
    let state = DualState { weights, marginals: vec![] };
    assert!(oeg(&problem, &OegSettings::default(), Some(state), &mut ()).is_err());
}

/// Value and gradient of every term against enumeration, and the constant of smoothness against the curvature.
#[test]
fn the_terms_of_the_sum_are_the_losses() {
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        let terms = CrfFiniteSum::new(&problem);
        let weights = random_weights(&data, 1.0, 3);
        // The flat form is found by asking for it.
        let mut x = vec![0.0; terms.dimension()];
        for k in 0..x.len() {
            let mut unit = vec![0.0; x.len()];
            unit[k] = 1.0;
            let named = flat(&terms.weights(&unit));
            if let Some(at) = named.iter().position(|v| *v == 1.0) {
                x[k] = flat(&weights)[at];
            }
        }
        assert_eq!(flat(&terms.weights(&x)), flat(&weights));
        let mut scratch = terms.scratch();
        for (i, block) in blocks(&data).iter().enumerate() {
            let support = terms.support(i).unwrap().to_vec();
            let mut gradient = vec![f64::NAN; support.len()];
            let loss = terms.gradient(i, &x, &mut scratch, &mut gradient);
            let (p, log_z) = block.model(&flat(&weights));
            let exact = log_z - block.features[block.truth].dot(&flat(&weights));
            assert!((loss - exact).abs() < 1e-10 * (1.0 + exact));
            let mut spread = vec![0.0; x.len()];
            support.iter().zip(&gradient).for_each(|(&k, g)| spread[k as usize] = *g);
            let exact = block.mean(&p) - &block.features[block.truth];
            let found = flat(&terms.weights(&spread));
            assert!((&found - &exact).iter().all(|d| d.abs() < 1e-10));
            assert!(terms.smoothness(i) >= block.radius() - 1e-9);
        }
    }
}

#[test]
fn finite_sum_methods_approach_the_optimum() {
    let (data, l2) = &tiny()[2];
    let problem = problem(data, *l2);
    let best = optimum(&problem);
    let terms = CrfFiniteSum::new(&problem);
    let sum = Sum::new(&terms, Zero, problem.l2()).unwrap();
    let above = |x: &[f64]| problem.objective(&terms.weights(x)).unwrap() - best;
    let settings = SumSettings { stop: until(1e-9), ..SumSettings::default() };
    let solution = saga(&sum, &settings, None, &mut ()).unwrap();
    assert!((-1e-11..=1e-9).contains(&above(&solution.state.point)));
    // Its steps are shorter, and a snapshot costs a pass.
    let stop = Stop { max_passes: 40_000.0, ..until(1e-9) };
    let settings = SumSettings { stop, ..settings };
    let solution = svrg(&sum, &settings, None, &mut ()).unwrap();
    assert!((-1e-11..=1e-9).contains(&above(&solution.state.point)));
}

#[test]
fn generators_make_what_they_say_and_refuse_what_they_cannot() {
    let data = text_like(&TextLike::default()).unwrap();
    let tokens = data.tokens() as f64;
    assert!((tokens / 2000.0 - 13.0).abs() < 1.5, "{tokens}");
    let first = data.iter().flat_map(|s| s.labels()).filter(|&&y| y == 0).count() as f64;
    assert!((0.7..0.9).contains(&(first / tokens)), "{}", first / tokens);
    assert_eq!(data, text_like(&TextLike::default()).unwrap());
    let data = ocr_like(&OcrLike::default()).unwrap();
    let inked = data.entries() as f64 / data.tokens() as f64 / 128.0;
    // 0.22 of the pixels, flipped with probability 0.12.
    assert!((inked - (0.22 * 0.88 + 0.78 * 0.12)).abs() < 0.02, "{inked}");
    assert!(data.iter().all(|s| (3..=12).contains(&s.len())));
    assert!(text_like(&TextLike { labels: 1, ..TextLike::default() }).is_err());
    assert!(text_like(&TextLike { signal: 1.5, ..TextLike::default() }).is_err());
    assert!(text_like(&TextLike { mean_length: 0.5, ..TextLike::default() }).is_err());
    assert!(text_like(&TextLike { exponent: -1.0, ..TextLike::default() }).is_err());
    assert!(text_like(&TextLike { words: usize::MAX, ..TextLike::default() }).is_err());
    assert!(ocr_like(&OcrLike { longest: 2, ..OcrLike::default() }).is_err());
    assert!(ocr_like(&OcrLike { flips: f64::NAN, ..OcrLike::default() }).is_err());
}
