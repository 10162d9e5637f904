//! SDCA: its invariants, its optimum against L-BFGS, its variants (CRF-08, 12, 14, 15, 17, 19 to 23).

use std::ops::ControlFlow;

use crate::common::*;
use fenchel_crf::methods::{
    DualState, Init, NewtonStart, Sdca, SdcaSettings, SdcaStep, lbfgs, memory, sdca,
};
use fenchel_crf::{Error, Order, Problem};
use fenchel_graphical::chain::{ChainMarginals, LogF64, Probability};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Cadence, Certificate, Progress, Refusal, Status, Stop};

const NEWTON: SdcaStep = SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::Half };

fn optimum(problem: &Problem<'_>) -> f64 {
    let stop = Stop { absolute: 1e-12, relative: 0.0, ..Stop::default() };
    let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
    lbfgs(problem, &settings, None, &mut ()).unwrap().report.certificate.objective().unwrap()
}

fn until(absolute: f64) -> Stop {
    Stop { absolute, relative: 0.0, max_passes: 5000.0, ..Stop::default() }
}

#[test]
fn every_step_and_every_order_reaches_the_optimum() {
    let steps = [
        SdcaStep::SingleNewton,
        NEWTON,
        SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::Previous },
        SdcaStep::Brent { tolerance: 1e-4 },
        SdcaStep::Armijo { decrease: 1e-4, shrink: 0.5 },
        SdcaStep::SkipIfImproves,
    ];
    let orders = [
        Order::Uniform,
        Order::Cyclic,
        Order::Permuted,
        Order::Lipschitz,
        Order::Gap,
        Order::LipschitzGap,
        Order::LargestGap,
    ];
    let defaults = steps.into_iter().map(|step| (step, Order::Gap));
    let all = defaults.chain(orders.into_iter().map(|order| (NEWTON, order)));
    let tiny = tiny();
    for (step, order) in all {
        for (data, l2) in &tiny[..3] {
            let problem = problem(data, *l2);
            let stop = until(1e-9);
            let settings = SdcaSettings { step, order: order.clone(), stop, ..Default::default() };
            let solution = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
            let report = solution.report;
            assert_eq!(report.status, Status::Converged, "{step:?} {order:?} {report}");
            let above = problem.objective(&solution.state.weights).unwrap() - optimum(&problem);
            assert!((-1e-11..=1e-9).contains(&above), "{step:?} {order:?} {above:e}");
        }
    }
}

#[test]
fn invariants_hold_along_the_way() {
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        let blocks = blocks(&data);
        let stop =
            Stop { max_passes: 20.0, check: Cadence::Every(0.5), ..Stop::after_passes(20.0) };
        let settings = SdcaSettings { step: NEWTON, stop, ..Default::default() };
        let mut last = f64::NEG_INFINITY;
        let mut watch = |progress: &Progress, method: &Sdca<'_, '_, f64>| {
            let joints = joints(&data, method.marginals());
            // w = w(m), and the running dual is the dual.
            let w = weights_of(&blocks, l2, &joints);
            let found = flat(&method.weights());
            let size = w.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
            assert!((&w - &found).iter().all(|d| d.abs() <= 1e-9 * (1.0 + size)));
            let exact = dual(&blocks, l2, &joints);
            let running = method.dual().unwrap();
            assert!((running - exact).abs() < 1e-9 * (1.0 + exact.abs()), "{running} {exact}");
            assert!(running >= last - 1e-12 * (1.0 + running.abs()));
            last = running;
            // The certificate is P - D, the mean of the block gaps.
            let gap = primal(&blocks, l2, &w) - exact;
            assert!((progress.certificate.value() - gap).abs() < 1e-8 * (1.0 + gap));
            assert!(method.marginals().iter().all(|m| m.is_consistent(1e-12)));
            ControlFlow::Continue(())
        };
        sdca(&problem, &settings, None, &mut watch).unwrap();
    }
}

#[test]
fn the_dual_never_falls_but_for_large_fixed_steps() {
    let steps = [
        NEWTON,
        SdcaStep::Brent { tolerance: 1e-3 },
        SdcaStep::Armijo { decrease: 1e-4, shrink: 0.5 },
        SdcaStep::SkipIfImproves,
        SdcaStep::Safe,
    ];
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        for step in steps {
            let stop = Stop { check: Cadence::Every(0.1), ..Stop::after_passes(60.0) };
            let settings = SdcaSettings { step, stop, ..Default::default() };
            let mut last = f64::NEG_INFINITY;
            let mut watch = |_: &Progress, method: &Sdca<'_, '_, f64>| {
                let dual = method.dual().unwrap();
                assert!(dual >= last - 1e-12 * (1.0 + dual.abs()), "{step:?} {last} {dual}");
                last = dual;
                ControlFlow::Continue(())
            };
            sdca(&problem, &settings, None, &mut watch).unwrap();
        }
    }
}

#[test]
fn a_newton_step_is_the_best_on_a_grid() {
    // One block visited once: the dual after an exact step against that after fixed ones.
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        let after = |step: SdcaStep, i: usize| {
            let n = data.sequences() as f64;
            let order = Order::Scripted(vec![i]);
            let stop = Stop { check: Cadence::Every(1.0 / n), ..Stop::after_passes(1.0 / n) };
            let settings = SdcaSettings { step, order, stop, ..Default::default() };
            let mut dual = 0.0;
            let mut watch = |_: &Progress, method: &Sdca<'_, '_, f64>| {
                dual = method.dual().unwrap();
                ControlFlow::Continue(())
            };
            sdca(&problem, &settings, None, &mut watch).unwrap();
            dual
        };
        for i in 0..data.sequences() {
            let exact = after(SdcaStep::Newton { tolerance: 1e-10, start: NewtonStart::Half }, i);
            let brent = after(SdcaStep::Brent { tolerance: 1e-9 }, i);
            assert!((exact - brent).abs() < 1e-10 * (1.0 + exact.abs()), "{exact} {brent}");
            for k in 0..=20 {
                let fixed = after(SdcaStep::Fixed(f64::from(k) / 20.0), i);
                assert!(fixed <= exact + 1e-10 * (1.0 + exact.abs()), "{fixed} {exact}");
            }
        }
    }
}

#[test]
fn storages_lead_to_the_same_place() {
    let (data, l2) = &tiny()[2];
    let problem = problem(data, *l2);
    let best = optimum(&problem);
    fn after<T: Probability>(problem: &Problem<'_>, passes: f64) -> (f64, DualState<T>) {
        let settings =
            SdcaSettings { step: NEWTON, stop: Stop::after_passes(passes), ..Default::default() };
        let state = sdca::<T, _>(problem, &settings, None, &mut ()).unwrap().state;
        (problem.objective(&state.weights).unwrap(), state)
    }
    // The same draws: nearly the same trajectory, as long as gaps steer the same way.
    let (double, state) = after::<f64>(&problem, 3.0);
    let (logs, other) = after::<LogF64>(&problem, 3.0);
    assert!((double - logs).abs() < 1e-9, "{double} {logs}");
    let difference = flat(&state.weights) - flat(&other.weights);
    assert!(difference.iter().all(|d| d.abs() < 1e-8));
    assert!(after::<f64>(&problem, 100.0).0 - best < 1e-10);
    assert!(after::<LogF64>(&problem, 100.0).0 - best < 1e-10);
    assert!(after::<f32>(&problem, 100.0).0 - best < 1e-5);
}

#[test]
fn starts_are_what_they_say_and_warm_starts_go_on() {
    let (data, l2) = &tiny()[0];
    let problem = problem(data, *l2);
    let start = |init: Init| {
        let settings = SdcaSettings { init, stop: Stop::after_passes(0.0), ..Default::default() };
        sdca::<f64, _>(&problem, &settings, None, &mut ())
    };
    for init in [
        Init::default(),
        Init::Tilted { score: 10.0 },
        Init::Uniform,
        Init::Weights(random_weights(data, 1.0, 3)),
    ] {
        let state = start(init).unwrap().state;
        // The weights are those of the marginals.
        let expected = weights_of(&blocks(data), *l2, &joints(data, &state.marginals));
        assert!((expected - flat(&state.weights)).iter().all(|d| d.abs() < 1e-10));
    }
    let weights = random_weights(data, 1.0, 3);
    let state = start(Init::Weights(weights.clone())).unwrap().state;
    let found = joints(data, &state.marginals);
    for (block, found) in blocks(data).iter().zip(found) {
        let expected = block.model(&flat(&weights)).0;
        assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    assert!(start(Init::Empirical).is_err());
    assert!(start(Init::Smoothed { smoothing: 0.0 }).is_err());
    assert!(start(Init::Smoothed { smoothing: 1.5 }).is_err());
    assert!(start(Init::Tilted { score: f64::NAN }).is_err());

    // From as near the empirical distribution as numbers go, Newton's method gets there.
    let settings = SdcaSettings {
        init: Init::Smoothed { smoothing: 1e-300 },
        step: NEWTON,
        stop: until(1e-9),
        ..Default::default()
    };
    let solution = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);

    // From the empirical distribution itself Brent's method does.
    let settings = SdcaSettings {
        init: Init::Empirical,
        step: SdcaStep::Brent { tolerance: 1e-5 },
        stop: until(1e-7),
        ..Default::default()
    };
    assert_eq!(
        sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap().report.status,
        Status::Converged
    );

    // A warm start at a neighbouring l2 begins closer than a cold one.
    let settings = SdcaSettings { stop: until(1e-8), ..Default::default() };
    let solution = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
    let neighbour = Problem::new(data, 1.1 * l2, Default::default()).unwrap();
    let warm = sdca(&neighbour, &settings, Some(solution.state), &mut ()).unwrap();
    let cold = sdca::<f64, _>(&neighbour, &settings, None, &mut ()).unwrap();
    assert_eq!(warm.report.status, Status::Converged);
    assert!(warm.report.passes < cold.report.passes);
}

#[test]
fn a_seed_determines_every_bit_watched_or_not() {
    let (data, l2) = &tiny()[1];
    let problem = problem(data, *l2);
    let stop = Stop { check: Cadence::Every(1.0), ..Stop::after_passes(7.0) };
    for step in [NEWTON, SdcaStep::SingleNewton] {
        let settings = SdcaSettings { step, stop, refresh: Some(3), ..Default::default() };
        let run =
            |settings: &SdcaSettings| sdca::<f32, _>(&problem, settings, None, &mut ()).unwrap();
        let first = run(&settings);
        let mut watch = |_: &Progress, _: &Sdca<'_, '_, f32>| ControlFlow::Continue(());
        let watched = sdca(&problem, &settings, None, &mut watch).unwrap();
        assert_eq!(first.state, watched.state);
        let rarely = Stop { check: Cadence::Every(7.0), ..stop };
        assert_eq!(first.state, run(&SdcaSettings { stop: rarely, ..settings.clone() }).state);
        assert_ne!(first.state, run(&SdcaSettings { seed: 1, ..settings.clone() }).state);
        // 7 passes and two refreshes, one call a sequence each.
        assert_eq!(first.report.oracle_calls, 9 * data.sequences() as u64);
    }
}

#[test]
fn memory_is_estimated_and_limited() {
    let (data, l2) = &tiny()[2];
    let problem = problem(data, *l2);
    let (n, tokens, k) = (data.sequences(), data.tokens(), data.labels());
    let pairs = 8 * k * k * (tokens - n);
    let estimate = memory::<f64>(data);
    assert!(estimate >= pairs as u64 && estimate < (pairs + 8 * 8 * tokens + 200 * n) as u64);
    assert!(memory::<f32>(data) < estimate);
    let limited = |limit| {
        let settings = SdcaSettings {
            max_memory: Some(limit),
            stop: Stop::after_passes(1.0),
            ..Default::default()
        };
        sdca::<f64, _>(&problem, &settings, None, &mut ()).map(|_| ())
    };
    assert_eq!(limited(estimate), Ok(()));
    assert!(
        matches!(limited(estimate - 1), Err(Error::Refused(Refusal::MemoryLimit { needed, .. })) if needed == estimate)
    );
}

#[test]
fn bad_settings_and_starts_are_refused() {
    let (data, l2) = &tiny()[0];
    let problem = problem(data, *l2);
    let refused =
        |settings: SdcaSettings| sdca::<f64, _>(&problem, &settings, None, &mut ()).is_err();
    for non_uniformity in [-0.1, 1.1, f64::NAN] {
        assert!(refused(SdcaSettings { non_uniformity, ..Default::default() }));
    }
    for step in [
        SdcaStep::Fixed(1.1),
        SdcaStep::Fixed(f64::NAN),
        SdcaStep::Newton { tolerance: 0.0, start: NewtonStart::Half },
        SdcaStep::Brent { tolerance: -1.0 },
        SdcaStep::Armijo { decrease: 0.0, shrink: 0.5 },
        SdcaStep::Armijo { decrease: 0.1, shrink: 1.0 },
    ] {
        assert!(refused(SdcaSettings { step, ..Default::default() }), "{step:?}");
    }
    for l1 in [-1e-9, f64::NAN, f64::INFINITY] {
        assert!(refused(SdcaSettings { l1, ..Default::default() }));
    }
    assert!(refused(SdcaSettings { order: Order::Scripted(vec![99]), ..Default::default() }));
    assert!(refused(SdcaSettings { order: Order::Scripted(vec![]), ..Default::default() }));
    for order in [Order::Mixed, Order::Residual] {
        assert!(refused(SdcaSettings { order, ..Default::default() }));
    }
    let settings = SdcaSettings { stop: Stop::after_passes(1.0), ..Default::default() };
    let mut state = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap().state;
    state.marginals.pop();
    assert!(sdca(&problem, &settings, Some(state), &mut ()).is_err());
}

/// Marginals that contradict each other are no distribution: a dual value at them may exceed the optimum. They are put right
/// before they prove anything.
#[test]
fn a_start_that_contradicts_itself_proves_nothing_false() {
    for (data, l2) in tiny() {
        let problem = problem(&data, l2);
        let settings = SdcaSettings { stop: until(1e-11), ..SdcaSettings::default() };
        let best = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
        let optimum = optimum(&problem);
        // The positions a little nearer to the uniform distribution than the pairs say, or farther from it.
        for by in [9e-4, -9e-4] {
            let moved = |m: &ChainMarginals<f64>| {
                let flat = 1.0 / m.states() as f64;
                let nodes: Vec<f64> = (0..m.length())
                    .flat_map(|t| m.node(t))
                    .map(|p| (p + by * (flat - p)).max(0.0))
                    .collect();
                let edges: Vec<f64> =
                    (1..m.length()).flat_map(|t| m.edge(t - 1)).copied().collect();
                ChainMarginals::from_parts(m.states(), &nodes, &edges).unwrap()
            };
            let marginals = best.state.marginals.iter().map(moved).collect();
            let start = DualState { weights: best.state.weights.clone(), marginals };
            let stop = Stop::after_passes(0.0);
            let settings = SdcaSettings { stop, ..SdcaSettings::default() };
            let report = sdca(&problem, &settings, Some(start), &mut ()).unwrap().report;
            let Certificate::Gap { lower_bound, .. } = report.certificate else {
                panic!("{report}")
            };
            assert!(lower_bound <= optimum + 1e-11, "{report}: {optimum}");
        }
    }
}
