//! Sparse steps with lagged coordinates equal dense steps, for every separable regulariser.

use crate::common::data;
use fenchel_erm::loss::{Logistic, Squared};
use fenchel_erm::methods::lag::Lagged;
use fenchel_erm::methods::{SagSettings, SagaSettings, SvrgSettings, sag, saga, svrg};
use fenchel_erm::{Point, Problem};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::prox::{Interval, L1, L1L2, Zero};
use fenchel_optim::{Cadence, Loss, StepSize, Stop};
use proptest::prelude::*;

fn points<D: Design, L: Loss, R: Lagged>(
    problem: &Problem<'_, D, L, R>,
    step: f64,
    seed: u64,
) -> Vec<Point> {
    // Ends in the middle of a pass, where coordinates wait; no look before, since a gap of exactly 0 would
    // end one of two runs that differ in the last digit.
    let stop = Stop { max_passes: 3.4, check: Cadence::Every(1e9), ..Stop::after_passes(0.0) };
    let step = StepSize::Scaled(step);
    let saga_settings = SagaSettings { step, seed, stop, ..SagaSettings::default() };
    let sag_settings =
        SagSettings { step, seed, stop, unproven_prox: true, ..SagSettings::default() };
    let svrg_settings =
        SvrgSettings { step, seed, stop, inner: Some(0.7), ..SvrgSettings::default() };
    vec![
        saga(problem, &saga_settings, None, &mut ()).unwrap().state.point,
        sag(problem, &sag_settings, None, &mut ()).unwrap().state.point,
        svrg(problem, &svrg_settings, None, &mut ()).unwrap().state.point,
    ]
}

#[allow(clippy::too_many_arguments)]
fn compare<L: Loss + Copy, R: Lagged + Copy>(
    loss: L,
    regulariser: R,
    n: usize,
    d: usize,
    density: f64,
    l2: f64,
    step: f64,
    seed: u64,
) {
    let data = data(n, d, density, seed);
    for intercept in [false, true] {
        let dense = Dense::new(data.dense.view()).unwrap();
        let sparse = Csr::new(data.sparse.view()).unwrap();
        let dense = Problem::new(dense, &data.signs, loss, regulariser, l2).unwrap();
        let sparse = Problem::new(sparse, &data.signs, loss, regulariser, l2).unwrap();
        let (dense, sparse) = if intercept {
            (dense.with_intercept(), sparse.with_intercept())
        } else {
            (dense, sparse)
        };
        for (a, b) in points(&dense, step, seed).iter().zip(points(&sparse, step, seed)) {
            for (a, b) in
                a.weights.iter().chain([&a.intercept]).zip(b.weights.iter().chain([&b.intercept]))
            {
                assert!((a - b).abs() <= 1e-13 + 1e-10 * a.abs(), "{} {a} {b}", R::NAME);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn lagged_steps_equal_dense_steps(
        n in 2usize..60, d in 1usize..30, density in 0.02..0.5f64,
        l1 in 1e-4..0.2f64, l2 in prop_oneof![Just(0.0), 1e-4..0.2f64],
        step in 0.1..1.5f64, seed in 0u64..1000,
    ) {
        compare(Logistic, Zero, n, d, density, l2, step, seed);
        compare(Logistic, L1 { strength: l1 }, n, d, density, l2, step, seed);
        compare(Squared, L1 { strength: l1 }, n, d, density, l2, step.min(1.0), seed);
        compare(Logistic, L1L2 { l1, l2: 0.1 }, n, d, density, l2, step, seed);
        compare(Logistic, Interval { lower: -0.1, upper: 0.05 }, n, d, density, l2, step, seed);
    }
}
