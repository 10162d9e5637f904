//! Batches of SDCA: the dual never falls, and no bit depends on the number of threads (CRF-08).

use std::ops::ControlFlow;

use crate::common::*;
use fenchel_crf::methods::{Sdca, SdcaSettings, SdcaStep, sdca};
use fenchel_crf::{Dataset, Order, Problem, Support, Token};
use fenchel_optim::{Cadence, Progress, Status, Stop};
use rand::{RngExt, SeedableRng};

const STEPS: [SdcaStep; 4] = [
    SdcaStep::SingleNewton,
    SdcaStep::Newton { tolerance: 1e-3, start: fenchel_crf::methods::NewtonStart::Half },
    SdcaStep::Armijo { decrease: 1e-4, shrink: 0.5 },
    SdcaStep::SkipIfImproves,
];

/// Every token has the same dense attributes, nearly: each block undoes what the others do.
fn overlapping(seed: u64) -> Dataset {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let sequences: Vec<Sequence> = (0..12)
        .map(|_| {
            let token = |rng: &mut rand_chacha::ChaCha8Rng| {
                let attributes = (0..8).map(|a| (a, 1.0 + rng.random_range(0.0..0.3))).collect();
                (attributes, rng.random_range(0..3))
            };
            (0..rng.random_range(1..5)).map(|_| token(&mut rng)).collect()
        })
        .collect();
    dataset(8, 3, &sequences)
}

/// The dual, by enumeration, at every look.
fn duals(data: &Dataset, l2: f64, settings: &SdcaSettings) -> Vec<f64> {
    let (problem, blocks) = (problem(data, l2), blocks(data));
    let mut duals = Vec::new();
    let mut watch = |_: &Progress, method: &Sdca<'_, '_, f64>| {
        let joints: Vec<Vec<f64>> = method
            .marginals()
            .iter()
            .zip(&blocks)
            .map(|(m, b)| {
                b.labellings.iter().map(|y| m.log_probability(y).unwrap().exp()).collect()
            })
            .collect();
        duals.push(dual(&blocks, l2, &joints));
        if let (Some(running), Some(exact)) = (method.dual(), duals.last()) {
            assert!((running - exact).abs() < 1e-9 * (1.0 + exact.abs()), "{running} {exact}");
        }
        ControlFlow::Continue(())
    };
    sdca(&problem, settings, None, &mut watch).unwrap();
    duals
}

#[test]
fn the_dual_never_falls_however_much_blocks_overlap() {
    let mut problems = tiny();
    problems.extend([(overlapping(1), 1.0 / 12.0), (overlapping(2), 1e-3)]);
    for (data, l2) in &problems {
        for step in STEPS {
            for batch in [2, 4, 8] {
                let stop = Stop { check: Cadence::Every(0.1), ..Stop::after_passes(12.0) };
                let settings = SdcaSettings { step, batch, stop, ..Default::default() };
                let duals = duals(data, *l2, &settings);
                for pair in duals.windows(2) {
                    let slack = 1e-11 * (1.0 + pair[0].abs());
                    assert!(pair[1] >= pair[0] - slack, "{step:?} {batch} {l2}: {pair:?}");
                }
            }
        }
    }
}

#[test]
fn batches_reach_the_same_optimum() {
    for (data, l2) in [(overlapping(3), 1.0 / 12.0), tiny().remove(2)] {
        let problem = problem(&data, l2);
        for order in [Order::Gap, Order::Permuted, Order::LargestGap, Order::Uniform] {
            let value = |batch: usize| {
                let stop =
                    Stop { absolute: 1e-9, relative: 0.0, max_passes: 5000.0, ..Stop::default() };
                let order = order.clone();
                let settings = SdcaSettings { batch, order, stop, ..Default::default() };
                let solution = sdca::<f64, _>(&problem, &settings, None, &mut ()).unwrap();
                assert_eq!(solution.report.status, Status::Converged, "{settings:?}");
                problem.objective(&solution.state.weights).unwrap()
            };
            assert!((value(1) - value(4)).abs() <= 2e-9);
        }
    }
}

#[test]
fn looking_changes_no_bit_of_a_batch() {
    let (data, l2) = (overlapping(4), 0.1);
    let problem = problem(&data, l2);
    let state = |cadence: f64| {
        let stop = Stop { check: Cadence::Every(cadence), ..Stop::after_passes(6.0) };
        let settings = SdcaSettings { batch: 5, stop, ..Default::default() };
        sdca::<f32, _>(&problem, &settings, None, &mut ()).unwrap().state
    };
    assert_eq!(state(6.0), state(0.1));
}

#[cfg(feature = "parallel")]
#[test]
fn threads_change_no_bit() {
    let mut data = Dataset::new(20, 5);
    for sequence in random_sequences((60, 12, 20, 5), false, 9) {
        let tokens: Vec<Token<'_>> =
            sequence.iter().map(|(a, label)| Token { attributes: a, label: *label }).collect();
        data.push(&tokens).unwrap();
    }
    for states in [Support::All, Support::Observed] {
        let features = fenchel_crf::Features { states, transitions: states, ..Default::default() };
        let problem = Problem::new(&data, 1.0 / 60.0, features).unwrap();
        for step in STEPS {
            let state = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let stop = Stop::after_passes(6.0);
                let settings = SdcaSettings { step, batch: 8, stop, ..Default::default() };
                pool.install(|| sdca::<f32, _>(&problem, &settings, None, &mut ()).unwrap().state)
            };
            let one = state(1);
            assert_eq!(one, state(2), "{step:?}");
            assert_eq!(one, state(5), "{step:?}");
        }
    }
}
