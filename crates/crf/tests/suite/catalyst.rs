//! Accelerated SDCA: its optimum against L-BFGS, its trajectory and its certificate against enumeration (CRF-48).

use std::ops::ControlFlow;

use crate::common::*;
use fenchel_crf::methods::{
    Catalyst, CatalystSettings, DualState, Init, NewtonStart, Sdca, SdcaSettings, SdcaStep,
    catalyst, lbfgs, sdca,
};
use fenchel_crf::{Error, Order, Problem};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Cadence, Progress, Refusal, Status, Stop};
use ndarray::Array1;

const NEWTON: SdcaStep = SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::Half };

fn until(absolute: f64) -> Stop {
    Stop { absolute, relative: 0.0, max_passes: 5000.0, ..Stop::default() }
}

fn optimum(problem: &Problem<'_>) -> f64 {
    let settings = LbfgsSettings { stop: until(1e-12), ..LbfgsSettings::default() };
    lbfgs(problem, &settings, None, &mut ()).unwrap().report.certificate.objective().unwrap()
}

#[test]
fn the_optimum_is_that_of_lbfgs() {
    for (data, l2) in &tiny()[..3] {
        for share in [1.0, 0.1] {
            let problem = problem(data, share * l2);
            let best = optimum(&problem);
            for (kappa, inner, order, step) in [
                (None, 1, Order::Gap, SdcaStep::SingleNewton),
                (Some(4.0 * l2), 2, Order::Uniform, NEWTON),
                (Some(0.5 * l2), 1, Order::LipschitzGap, SdcaStep::SkipIfImproves),
            ] {
                let stop = until(1e-9);
                let settings =
                    CatalystSettings { kappa, inner, order, step, stop, ..Default::default() };
                let found = catalyst::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
                assert_eq!(found.report.status, Status::Converged, "{}", found.report);
                let above = problem.objective(&found.state.weights).unwrap() - best;
                assert!((-1e-11..=1e-9).contains(&above), "{kappa:?}: {above:e}");
                let single =
                    catalyst::<f32, _>(&problem, &CatalystSettings::default(), None, &mut ());
                let certificate = single.unwrap().report.certificate;
                let bound = certificate.objective().unwrap() - certificate.value();
                assert!(bound <= best + 1e-11, "{bound} {best}");
            }
        }
    }
}

/// The centre follows from the weights of the passes before, as Lin et al. write it. At this centre the marginals have the weights of
/// the proximal problem. The certificate is the gap of the objective without a centre, to the best dual value so far. All by enumeration.
#[test]
fn centres_weights_and_gaps_are_those_of_the_formulas() {
    for (data, l2) in tiny() {
        let (problem, blocks) = (problem(&data, l2), blocks(&data));
        for factor in [0.5, 3.0] {
            let (kappa, q) = (factor * l2, 1.0 / (1.0 + factor));
            let mut centre: Option<Array1<f64>> = None;
            let mut bound = f64::NEG_INFINITY;
            let (mut alpha, mut pushed, mut last) = (1.0_f64, 0, Vec::<Array1<f64>>::new());
            let mut watch = |progress: &Progress, method: &Catalyst<'_, '_, f64>| {
                let w = flat(&method.weights());
                let mut y = centre.take().unwrap_or_else(|| 0.0 * &w);
                if let [.., old, x] = &last[..] {
                    let mut push = 0.0;
                    if (&y - x).dot(&(x - old)) > 0.0 {
                        alpha = 1.0;
                    } else {
                        // The positive root of a^2 + (alpha^2 - q) a - alpha^2.
                        let (b, c) = (alpha * alpha - q, -alpha * alpha);
                        let next = 0.5 * (-b + (b * b - 4.0 * c).sqrt());
                        push = alpha * (1.0 - alpha) / (alpha * alpha + next);
                        alpha = next;
                        pushed += usize::from(push > 0.0);
                    }
                    y = x + push * (x - old);
                }
                let joints = joints(&data, method.marginals());
                let plain = weights_of(&blocks, l2, &joints);
                let expected = (l2 * &plain + kappa * &y) / (l2 + kappa);
                let size = expected.fold(1.0, |top: f64, w| top.max(w.abs()));
                assert!((&w - &expected).iter().all(|d| d.abs() < 1e-8 * size), "{w} {expected}");
                // The dual value may fall; the best one counts.
                bound = bound.max(dual(&blocks, l2, &joints));
                let gap = primal(&blocks, l2, &w) - bound;
                let found = progress.certificate.value();
                assert!((found - gap).abs() < 1e-8 * (1.0 + gap.abs()), "{found} {gap}");
                last.push(w);
                centre = Some(y);
                ControlFlow::Continue(())
            };
            let stop = Stop { check: Cadence::Every(1.0), ..Stop::after_passes(12.0) };
            let settings =
                CatalystSettings { kappa: Some(kappa), step: NEWTON, stop, ..Default::default() };
            catalyst(&problem, &settings, None, &mut watch).unwrap();
            assert!(pushed > 2, "the momentum was tested {pushed} times");
        }
    }
}

/// One sequence of one token, so that a pass is a step and marginals are probabilities. On the way to the model's distribution no other
/// point has a larger dual value of the proximal problem, which is `H - (l2 + kappa)/2 norm(w)^2` for the centre 0.
#[test]
fn a_step_is_the_best_one_for_the_proximal_problem() {
    let data = dataset(3, 3, &[vec![(vec![(0, 1.0), (2, -0.7)], 1)]]);
    let (l2, kappa) = (0.05, 0.4);
    let (problem, blocks) = (problem(&data, l2), blocks(&data));
    let mut joints_at = Vec::new();
    let mut watch = |_: &Progress, method: &Catalyst<'_, '_, f64>| {
        joints_at.push((joints(&data, method.marginals()).remove(0), flat(&method.weights())));
        ControlFlow::Continue(())
    };
    let step = SdcaStep::Newton { tolerance: 1e-9, start: NewtonStart::Half };
    let stop = Stop { check: Cadence::Every(1.0), ..Stop::after_passes(1.0) };
    let settings = CatalystSettings { kappa: Some(kappa), step, stop, ..Default::default() };
    catalyst(&problem, &settings, None, &mut watch).unwrap();
    let [(from, w), (to, _), ..] = &joints_at[..] else { panic!("two points") };
    let target = blocks[0].model(w).0;
    let value = |t: f64| {
        let joint: Vec<f64> = from.iter().zip(&target).map(|(m, p)| m + t * (p - m)).collect();
        let w = l2 / (l2 + kappa) * weights_of(&blocks, l2, std::slice::from_ref(&joint));
        entropy(&joint) - 0.5 * (l2 + kappa) * w.dot(&w)
    };
    let found = (to[1] - from[1]) / (target[1] - from[1]);
    assert!(found > 0.05 && found < 0.95, "{found}");
    // Differences of 1e-3 change the value by about 1e-6, far more than rounding.
    assert!(value(found) > value(found - 1e-3) && value(found) > value(found + 1e-3), "{found}");
}

#[test]
fn without_a_proximal_term_it_is_sdca() {
    let (data, l2) = &tiny()[2];
    let problem = problem(data, *l2);
    let stop = Stop::after_passes(7.0);
    let plain = SdcaSettings { stop, seed: 3, ..Default::default() };
    let plain = sdca::<f64, _>(&problem, &plain, None, &mut ()).unwrap();
    let none = CatalystSettings { kappa: Some(0.0), stop, seed: 3, ..Default::default() };
    let none = catalyst::<f64, _>(&problem, &none, None, &mut ()).unwrap();
    assert_eq!(none.state, plain.state);
    assert_eq!(none.report.certificate, plain.report.certificate);
}

/// An outer step of many passes ends where the run ends, and where it ends decides nothing about its course.
#[test]
fn limits_hold_within_an_outer_step() {
    let (data, l2) = &tiny()[2];
    let problem = problem(data, 0.1 * l2);
    let stop = Stop::after_passes(7.0);
    let long = |inner: usize, check: Cadence| {
        let settings =
            CatalystSettings { inner, stop: Stop { check, ..stop }, ..Default::default() };
        catalyst::<f64, _>(&problem, &settings, None, &mut ()).unwrap()
    };
    assert_eq!(long(1_000_000, Cadence::Every(1.0)).report.passes, 7.0);
    let (often, once) = (long(3, Cadence::Every(1.0)), long(3, Cadence::Every(7.0)));
    assert_eq!(often.state.weights, once.state.weights);
}

/// From a state of its own, from one of SDCA, and at given weights.
#[test]
fn a_run_continues_at_the_weights_of_its_start() {
    for (data, l2) in tiny() {
        let problem = problem(&data, 0.1 * l2);
        let stop = Stop::after_passes(6.0);
        let settings = CatalystSettings { stop, ..Default::default() };
        let plain = SdcaSettings { stop, ..Default::default() };
        let first = |start: DualState<f64>| {
            let size = flat(&start.weights).fold(1.0, |top: f64, w| top.max(w.abs()));
            let before = problem.objective(&start.weights).unwrap();
            let weights = flat(&start.weights);
            let mut seen = None;
            let mut watch = |_: &Progress, method: &Catalyst<'_, '_, f64>| {
                seen = seen.take().or(Some(flat(&method.weights())));
                ControlFlow::Continue(())
            };
            let found = catalyst(&problem, &settings, Some(start), &mut watch).unwrap();
            assert!((seen.unwrap() - weights).iter().all(|d| d.abs() < 1e-9 * size));
            let after = found.report.certificate.objective().unwrap();
            assert!(after <= before + 1e-11 * (1.0 + before), "{before} {after}");
        };
        first(catalyst(&problem, &settings, None, &mut ()).unwrap().state);
        let mut watch = |_: &Progress, _: &Sdca<'_, '_, f64>| ControlFlow::Continue(());
        first(sdca(&problem, &plain, None, &mut watch).unwrap().state);
        let weights = random_weights(&data, 0.3, 8);
        let init = Init::Weights(weights);
        let given = CatalystSettings { init, stop: until(1e-8), ..Default::default() };
        let found = catalyst::<f64, _>(&problem, &given, None, &mut ()).unwrap();
        assert_eq!(found.report.status, Status::Converged, "{}", found.report);
    }
}

#[test]
fn bad_arguments_are_refused() {
    let (data, l2) = &tiny()[0];
    let problem = problem(data, *l2);
    let refused = |settings: CatalystSettings, what: &str| {
        let error = catalyst::<f64, _>(&problem, &settings, None, &mut ()).err().unwrap();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    let default = CatalystSettings::default;
    refused(CatalystSettings { kappa: Some(-1.0), ..default() }, "kappa");
    refused(CatalystSettings { kappa: Some(f64::NAN), ..default() }, "kappa");
    refused(CatalystSettings { kappa: Some(f64::INFINITY), ..default() }, "kappa");
    refused(CatalystSettings { inner: 0, ..default() }, "inner");
    refused(CatalystSettings { non_uniformity: 2.0, ..default() }, "non_uniformity");
    refused(CatalystSettings { init: Init::Empirical, ..default() }, "init.smoothing");
    let small = CatalystSettings { max_memory: Some(1), ..default() };
    let error = catalyst::<f64, _>(&problem, &small, None, &mut ()).err().unwrap();
    assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { .. })), "{error}");
    let state = catalyst::<f64, _>(&problem, &default(), None, &mut ()).unwrap().state;
    let short = DualState { marginals: state.marginals[1..].to_vec(), ..state };
    let error = catalyst(&problem, &default(), Some(short), &mut ()).err().unwrap();
    assert!(error.to_string().contains("start.marginals"), "{error}");
}
