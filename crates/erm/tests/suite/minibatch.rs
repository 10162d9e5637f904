//! SDCA whose terms are minibatches (thesis 2.3.1).

use std::ops::ControlFlow;

use crate::common::{Data, data, distance, reference};
use fenchel_erm::loss::{Hinge, Logistic, Poisson, Squared};
use fenchel_erm::methods::{Sdca, SdcaSettings, SdcaStep, sdca};
use fenchel_erm::prelude::{Order, Status, Stop};
use fenchel_erm::prox::{L1, Zero};
use fenchel_erm::{Error, Problem};
use fenchel_linalg::{Csr, Design};
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::{Cadence, Loss, Progress, Refusal, Separable};

const N: usize = 12;
const D: usize = 5;
const L2: f64 = 0.05;

fn problem<L: Loss, R: Separable>(
    data: &Data,
    loss: L,
    regulariser: R,
    l2: f64,
) -> Problem<'_, Csr<'_, f64>, L, R> {
    let design = Csr::new(data.sparse.view()).unwrap();
    Problem::new(design, &data.signs, loss, regulariser, l2).unwrap()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The batches that a run visits, and a run over the first `steps` of them.
fn script(batch: usize, steps: usize) -> (Vec<usize>, Stop) {
    let count = N.div_ceil(batch);
    let script = (0..steps).map(|k| (3 * k + k / 4) % count).collect();
    (script, Stop::after_passes(steps as f64 / count as f64))
}

/// The printed step, with its sign corrected and everything computed from scratch: `f_B` is the mean over the rows of
/// the batch, with the dual block `alpha_B = (1/b) sum_i s_i a_i`, and there are `m = n / b` terms.
fn textbook(data: &Data, l1: f64, batch: usize, constant: bool, script: &[usize]) -> Vec<f64> {
    let row = |i: usize| data.dense.row(i).to_vec();
    let mut s = [0.0; N];
    let point = |s: &[f64; N]| -> Vec<f64> {
        let v = |c: usize| -(0..N).map(|i| s[i] * data.dense[[i, c]]).sum::<f64>() / N as f64;
        (0..D).map(|c| soft_threshold(v(c), l1) / L2).collect()
    };
    for &j in script {
        let rows = j * batch..((j + 1) * batch).min(N);
        let (b, m) = (rows.len() as f64, N as f64 / rows.len() as f64);
        let x = point(&s);
        let u: Vec<f64> =
            rows.clone().map(|i| Logistic.derivative(dot(&row(i), &x), data.signs[i])).collect();
        let mut block = vec![0.0; D];
        for (i, u) in rows.clone().zip(&u) {
            block.iter_mut().zip(row(i)).for_each(|(z, a)| *z += (u - s[i]) * a / b);
        }
        let old = s;
        let at = |c: f64, i: usize| old[i] + c * (u[i - rows.start] - old[i]);
        // f_B*(alpha) + (mu m / 2) || x - (c / (mu m)) (u - alpha) ||^2
        let printed = |c: f64| {
            let conjugate: f64 =
                rows.clone().map(|i| Logistic.conjugate(at(c, i), data.signs[i])).sum();
            let far = x.iter().zip(&block).map(|(x, z)| (x - c * z / (L2 * m)).powi(2));
            conjugate / b + 0.5 * L2 * m * far.sum::<f64>()
        };
        let slope = |c: f64| {
            let conjugate = rows.clone().map(|i| {
                let p = -data.signs[i] * at(c, i);
                -data.signs[i] * (u[i - rows.start] - old[i]) * (p / (1.0 - p)).ln()
            });
            conjugate.sum::<f64>() / b - dot(&x, &block) + c * dot(&block, &block) / (L2 * m)
        };
        let c = if constant {
            let l = rows.clone().map(|i| 0.25 * dot(&row(i), &row(i))).sum::<f64>() / b;
            L2 * m / (L2 * m + l)
        } else {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..100 {
                let middle = 0.5 * (low + high);
                if slope(middle) < 0.0 { low = middle } else { high = middle }
            }
            // No point of the interval does better.
            for k in 0..=200 {
                assert!(printed(low) <= printed(f64::from(k) / 200.0) + 1e-14);
            }
            low
        };
        for i in rows.clone() {
            s[i] = at(c, i);
        }
    }
    point(&s)
}

#[test]
fn a_step_is_the_printed_one() {
    let data = data(N, D, 0.6, 4);
    for (batch, steps) in [(3, 1), (3, 2), (3, 40), (5, 40), (12, 7)] {
        let (script, stop) = script(batch, steps);
        for step in [SdcaStep::Exact, SdcaStep::Interval, SdcaStep::Constant] {
            let order = Order::Scripted(script.clone());
            let settings = SdcaSettings { batch, step, order, stop, ..SdcaSettings::default() };
            let constant = step == SdcaStep::Constant;
            let found = sdca(&problem(&data, Logistic, Zero, L2), &settings, None, &mut ());
            let expected = textbook(&data, 0.0, batch, constant, &script);
            let off = distance(&found.unwrap().state.point.weights, &expected);
            assert!(off < 1e-10, "{step:?}, batch {batch}, {steps} steps: {off:e}");
            let l1 = L1 { strength: 0.03 };
            let found = sdca(&problem(&data, Logistic, l1, L2), &settings, None, &mut ());
            // The printed objective is that without l1, so only the constant step has a textbook.
            if constant {
                let expected = textbook(&data, 0.03, batch, constant, &script);
                let off = distance(&found.unwrap().state.point.weights, &expected);
                assert!(off < 1e-10, "l1, batch {batch}, {steps} steps: {off:e}");
            }
        }
    }
}

/// For the squared loss the best fraction is `sum delta^2 / (sum delta^2 + ||sum delta_i a_i||^2 / (mu n))`.
#[test]
fn the_best_fraction_of_the_squared_loss_has_a_closed_form() {
    let data = data(N, D, 0.6, 5);
    let stop = Stop::after_passes(1.0);
    let settings = SdcaSettings { batch: N, stop, ..SdcaSettings::default() };
    let found = sdca(&problem(&data, Squared, Zero, L2), &settings, None, &mut ()).unwrap();
    // From 0 the derivatives are -y.
    let sum: Vec<f64> =
        (0..D).map(|c| -(0..N).map(|i| data.signs[i] * data.dense[[i, c]]).sum::<f64>()).collect();
    let squares = N as f64;
    let fraction = squares / (squares + dot(&sum, &sum) / (L2 * N as f64));
    let expected: Vec<f64> = sum.iter().map(|v| -fraction * v / (L2 * N as f64)).collect();
    let off = distance(&found.state.point.weights, &expected);
    assert!(off < 1e-13, "{off:e}: {found:?} {expected:?}");
}

/// In a batch of one row and one of weight 0, the search is that of a single row, whose maximum is the exact step.
#[test]
fn a_batch_of_one_row_is_plain_sdca() {
    let data = data(N, D, 0.6, 6);
    let mut weights = [0.0; N];
    weights.iter_mut().step_by(2).for_each(|w| *w = 1.0);
    let script: Vec<usize> = (0..40).map(|k| (3 * k + k / 4) % (N / 2)).collect();
    let single: Vec<usize> = script.iter().map(|b| 2 * b).collect();
    let problem = problem(&data, Logistic, Zero, L2).with_weights(&weights).unwrap();
    let run = |batch: usize, script: Vec<usize>, passes: f64| {
        let (order, stop) = (Order::Scripted(script), Stop::after_passes(passes));
        let settings = SdcaSettings { batch, order, stop, ..SdcaSettings::default() };
        sdca(&problem, &settings, None, &mut ()).unwrap().state
    };
    let steps = script.len() as f64;
    let (pairs, rows) = (run(2, script, steps / 6.0), run(1, single, steps / 12.0));
    assert!(distance(&pairs.dual, &rows.dual) < 1e-11);
    assert!(distance(&pairs.point.weights, &rows.point.weights) < 1e-11);
}

/// After every single step.
#[test]
fn no_step_lowers_the_dual() {
    fn climbs<L: Loss + Copy, R: Separable>(loss: L, regulariser: R, l2: f64, step: SdcaStep) {
        let data = data(30, 8, 0.5, 3);
        let problem = problem(&data, loss, regulariser, l2);
        // Seven batches of four rows, and one of two.
        let stop = Stop { check: Cadence::Every(0.125), ..Stop::after_passes(20.0) };
        let settings = SdcaSettings { batch: 4, step, stop, ..SdcaSettings::default() };
        let (mut last, mut looks) = (f64::NEG_INFINITY, 0);
        let mut observer = |_: &Progress, method: &Sdca<'_, '_, _, L, R>| {
            let (u, mut v) = (method.last_dual(), vec![0.0; 8]);
            let mut value = 0.0;
            for (i, u) in u.iter().enumerate() {
                problem.design().row_axpy(i, -u / 30.0, &mut v);
                value -= loss.conjugate(*u, data.signs[i]) / 30.0;
            }
            value -= problem.regulariser().conjugate(&v, l2);
            assert!(value >= last - 1e-13 * value.abs(), "{value} after {last}");
            (last, looks) = (value, looks + 1);
            ControlFlow::Continue(())
        };
        sdca(&problem, &settings, None, &mut observer).unwrap();
        assert!(looks >= 160, "{looks}");
    }
    for step in [SdcaStep::Exact, SdcaStep::Constant] {
        climbs(Logistic, Zero, 1e-3, step);
        climbs(Logistic, L1 { strength: 0.01 }, 1e-3, step);
    }
    climbs(Hinge, Zero, 1e-2, SdcaStep::Exact);
}

#[test]
fn the_optimum_is_reached_and_certified() {
    let data = data(40, 6, 0.6, 7);
    let l1 = L1 { strength: 0.01 };
    let (best, b) = reference(&data.dense, &data.signs, &Logistic, &l1, 0.02, true);
    let problem = problem(&data, Logistic, l1, 0.02).with_intercept();
    for (batch, step, order) in [
        (7, SdcaStep::Exact, Order::Permuted),
        (7, SdcaStep::Constant, Order::Uniform),
        (1000, SdcaStep::Interval, Order::Cyclic),
        (16, SdcaStep::Exact, Order::Weighted(vec![3.0, 2.0, 1.0])),
    ] {
        let stop = Stop { absolute: 1e-13, relative: 0.0, max_passes: 1e5, ..Stop::default() };
        let settings = SdcaSettings { batch, step, order, stop, ..SdcaSettings::default() };
        let solution = sdca(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(
            solution.report.status,
            Status::Converged,
            "{batch} {step:?} {}",
            solution.report
        );
        // ||x - x*||^2 <= 2 gap / mu, and the intercept follows.
        let off = distance(&solution.state.point.weights, &best);
        assert!(off < (2e-13f64 / 0.02).sqrt() * 1.1, "{batch} {step:?}: {off:e}");
        assert!((solution.state.point.intercept - b).abs() < 1e-4);
    }
}

/// A loss with a kink: the gap, which holds whatever the method is, closes.
#[test]
fn the_hinge_converges_too() {
    let data = data(40, 6, 0.6, 8);
    let problem = problem(&data, Hinge, Zero, 0.05);
    let stop = Stop { absolute: 1e-4, relative: 0.0, max_passes: 20_000.0, ..Stop::default() };
    let settings = SdcaSettings { batch: 6, stop, ..SdcaSettings::default() };
    let solution = sdca(&problem, &settings, None, &mut ()).unwrap();
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
}

#[test]
fn bad_batches_are_refused() {
    #[track_caller]
    fn refused<T>(result: Result<T, Error>, expected: &str) {
        let error = result.err().expect("accepted");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let mut data = data(6, 3, 1.0, 9);
    let logistic = problem(&data, Logistic, Zero, 0.1);
    let settings = SdcaSettings { batch: 0, ..SdcaSettings::default() };
    refused(sdca(&logistic, &settings, None, &mut ()), "batch = 0; expected a number of rows >= 1");
    let settings = SdcaSettings { batch: 2, order: Order::Gap, ..SdcaSettings::default() };
    refused(sdca(&logistic, &settings, None, &mut ()), "with batches, a plain order or Weighted");
    let order = Order::Weighted(vec![1.0; 6]);
    let settings = SdcaSettings { batch: 2, order, ..SdcaSettings::default() };
    refused(
        sdca(&logistic, &settings, None, &mut ()),
        "order weights, one a minibatch: expected length 3, found 6",
    );
    let settings = SdcaSettings { order: Order::Scripted(vec![0, 4]), ..settings };
    refused(
        sdca(&logistic, &settings, None, &mut ()),
        "expected an index below the number of minibatches",
    );
    data.signs.fill(1.0);
    let counts = problem(&data, Poisson, Zero, 0.1);
    let settings = SdcaSettings { batch: 2, ..SdcaSettings::default() };
    let error = sdca(&counts, &settings, None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::Unsupported { .. })), "{error}");
    assert!(error.to_string().contains("use batch = 1"), "{error}");
}
