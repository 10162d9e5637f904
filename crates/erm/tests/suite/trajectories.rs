//! Step by step against the algorithms as the documents print them.

use std::ops::ControlFlow;

use crate::common::{Data, data, distance};
use fenchel_erm::Problem;
use fenchel_erm::loss::Logistic;
use fenchel_erm::methods::{
    FinitoSettings, FinitoStart, FinitoStorage, SagSettings, SagaSettings, Sdca, SdcaSettings,
    SvrgSettings, finito, sag, saga, sdca, svrg,
};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::prox::{L1, Zero, soft_threshold};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Progress, Separable, StepSize, Stop};

const N: usize = 12;
const D: usize = 5;
const STEPS: usize = 60;
const L2: f64 = 0.05;
const STEP: f64 = 0.4;

fn script() -> Vec<usize> {
    (0..STEPS).map(|k| (7 * k + k / 5) % N).collect()
}

/// Runs for so many steps beyond `extra` passes of preparation.
fn stop(steps: usize, extra: f64) -> Stop {
    let passes = extra + steps as f64 / N as f64;
    Stop { absolute: 0.0, relative: 0.0, max_passes: passes, ..Stop::default() }
}

fn row(data: &Data, j: usize) -> Vec<f64> {
    data.dense.row(j).to_vec()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn slope(data: &Data, j: usize, x: &[f64]) -> f64 {
    Logistic.derivative(dot(&row(data, j), x), data.signs[j])
}

/// `(1/n) sum_i s_i a_i`
fn average(data: &Data, table: &[f64]) -> Vec<f64> {
    (0..D).map(|c| (0..N).map(|i| table[i] * data.dense[[i, c]]).sum::<f64>() / N as f64).collect()
}

/// Algorithm 4.1 with explicit l2, all sums from scratch.
fn textbook_saga(data: &Data, l1: f64, steps: usize) -> Vec<f64> {
    let mut x = vec![0.0; D];
    let mut table: Vec<f64> = (0..N).map(|i| slope(data, i, &x)).collect();
    for &j in &script()[..steps] {
        let (g, gbar, a) = (slope(data, j, &x), average(data, &table), row(data, j));
        x = (0..D)
            .map(|c| {
                let forward = (1.0 - STEP * L2) * x[c] - STEP * ((g - table[j]) * a[c] + gbar[c]);
                soft_threshold(forward, STEP * l1)
            })
            .collect();
        table[j] = g;
    }
    x
}

/// Algorithm 2.2: the table first, then the step.
fn textbook_sag(data: &Data, steps: usize) -> Vec<f64> {
    let mut x = vec![0.0; D];
    let mut table: Vec<f64> = (0..N).map(|i| slope(data, i, &x)).collect();
    for &j in &script()[..steps] {
        table[j] = slope(data, j, &x);
        let gbar = average(data, &table);
        x = (0..D).map(|c| (1.0 - STEP * L2) * x[c] - STEP * gbar[c]).collect();
    }
    x
}

/// Algorithm 2.3 with the last point as snapshot, every `n` steps.
fn textbook_svrg(data: &Data, steps: usize) -> Vec<f64> {
    let mut x = vec![0.0; D];
    let mut snapshot = x.clone();
    for (k, &j) in script()[..steps].iter().enumerate() {
        if k % N == 0 {
            snapshot = x.clone();
        }
        let table: Vec<f64> = (0..N).map(|i| slope(data, i, &snapshot)).collect();
        let (delta, gbar) = (slope(data, j, &x) - table[j], average(data, &table));
        let a = row(data, j);
        x = (0..D).map(|c| (1.0 - STEP * L2) * x[c] - STEP * (delta * a[c] + gbar[c])).collect();
    }
    x
}

/// Algorithm 2.1; the coordinate maximum by bisection on the derivative of the dual.
fn textbook_sdca(data: &Data, l1: f64, steps: usize) -> Vec<f64> {
    let n = N as f64;
    let mut s = [0.0; N];
    let point = |s: &[f64]| -> Vec<f64> {
        average(data, s).iter().map(|v| soft_threshold(-v, l1) / L2).collect()
    };
    for &j in &script()[..steps] {
        let (a, y) = (row(data, j), data.signs[j]);
        let (t, q) = (dot(&a, &point(&s)), dot(&a, &a) / (L2 * n));
        let (mut low, mut high) = if y > 0.0 { (-1.0, 0.0) } else { (0.0, 1.0) };
        for _ in 0..200 {
            let u = 0.5 * (low + high);
            if u < Logistic.derivative(t - q * (u - s[j]), y) { low = u } else { high = u }
        }
        s[j] = 0.5 * (low + high);
    }
    point(&s)
}

/// Algorithm 3.1 with all points stored; returns the point that the next step would use.
fn textbook_finito(data: &Data, alpha: f64, steps: usize) -> Vec<f64> {
    let mut points = vec![vec![0.0; D]; N];
    let next = |points: &[Vec<f64>]| -> Vec<f64> {
        (0..D)
            .map(|c| {
                let mut w = 0.0;
                for (i, p) in points.iter().enumerate() {
                    let gradient = slope(data, i, p) * data.dense[[i, c]] + L2 * p[c];
                    w += p[c] - gradient / (alpha * L2);
                }
                w / N as f64
            })
            .collect()
    };
    for &j in &script()[..steps] {
        points[j] = next(&points);
    }
    next(&points)
}

/// The rule for the first pass (section 3.3): means over the terms seen so far; before the first of them, the start.
fn textbook_first_pass(data: &Data, alpha: f64, script: &[usize]) -> Vec<f64> {
    let mut points: Vec<Option<Vec<f64>>> = vec![None; N];
    let mut w = vec![0.0; D];
    for &j in script {
        points[j] = Some(w.clone());
        let seen: Vec<(usize, &Vec<f64>)> =
            points.iter().enumerate().filter_map(|(i, p)| Some((i, p.as_ref()?))).collect();
        let k = seen.len() as f64;
        let next = |c: usize| {
            let points: f64 = seen.iter().map(|(_, p)| p[c]).sum();
            let gradient =
                |(i, p): &(usize, &Vec<f64>)| slope(data, *i, p) * data.dense[[*i, c]] + L2 * p[c];
            points / k - seen.iter().map(gradient).sum::<f64>() / (alpha * L2 * k)
        };
        w = (0..D).map(next).collect();
    }
    w
}

macro_rules! both_storages {
    ($data:expr, $regulariser:expr, |$problem:ident| $solve:expr, $expected:expr, $name:literal) => {{
        let expected: Vec<f64> = $expected;
        let $problem = &Problem::new(
            Dense::new($data.dense.view()).unwrap(),
            &$data.signs,
            Logistic,
            $regulariser,
            L2,
        )
        .unwrap();
        let found = $solve;
        assert!(distance(&found, &expected) < 1e-11, "{} dense: {found:?} {expected:?}", $name);
        let $problem = &Problem::new(
            Csr::new($data.sparse.view()).unwrap(),
            &$data.signs,
            Logistic,
            $regulariser,
            L2,
        )
        .unwrap();
        let found = $solve;
        assert!(distance(&found, &expected) < 1e-11, "{} sparse: {found:?} {expected:?}", $name);
    }};
}

#[test]
fn saga_follows_algorithm_4_1() {
    let data = data(N, D, 0.4, 1);
    for steps in [1, 2, 3, 10, STEPS] {
        let settings = SagaSettings {
            step: StepSize::Constant(STEP),
            order: Order::Scripted(script()),
            stop: stop(steps, 1.0),
            ..SagaSettings::default()
        };
        let weights =
            |s: fenchel_optim::Solution<fenchel_erm::methods::TableState>| s.state.point.weights;
        both_storages!(
            data,
            Zero,
            |p| weights(saga(p, &settings, None, &mut ()).unwrap()),
            textbook_saga(&data, 0.0, steps),
            "saga"
        );
        both_storages!(
            data,
            L1 { strength: 0.03 },
            |p| weights(saga(p, &settings, None, &mut ()).unwrap()),
            textbook_saga(&data, 0.03, steps),
            "saga with l1"
        );
    }
}

#[test]
fn sag_follows_algorithm_2_2() {
    let data = data(N, D, 0.4, 2);
    for steps in [1, 2, 3, 10, STEPS] {
        let settings = SagSettings {
            step: StepSize::Constant(STEP),
            order: Order::Scripted(script()),
            stop: stop(steps, 1.0),
            ..SagSettings::default()
        };
        both_storages!(
            data,
            Zero,
            |p| sag(p, &settings, None, &mut ()).unwrap().state.point.weights,
            textbook_sag(&data, steps),
            "sag"
        );
    }
}

#[test]
fn svrg_follows_algorithm_2_3() {
    let data = data(N, D, 0.4, 3);
    for steps in [1, 5, N, N + 1, 2 * N + 3] {
        let snapshots = steps.div_ceil(N) as f64;
        let settings = SvrgSettings {
            step: StepSize::Constant(STEP),
            inner: Some(1.0),
            order: Order::Scripted(script()),
            stop: stop(steps, snapshots),
            ..SvrgSettings::default()
        };
        both_storages!(
            data,
            Zero,
            |p| svrg(p, &settings, None, &mut ()).unwrap().state.point.weights,
            textbook_svrg(&data, steps),
            "svrg"
        );
    }
}

/// The last point of the run, which is returned only if it is lower than the first one.
fn last_point<D: Design, R: Separable>(
    problem: &Problem<'_, D, Logistic, R>,
    settings: &SdcaSettings,
) -> Vec<f64> {
    let mut last = Vec::new();
    let mut see = |_: &Progress, method: &Sdca<'_, '_, D, Logistic, R>| {
        last.clone_from(&method.point().weights);
        ControlFlow::Continue(())
    };
    sdca(problem, settings, None, &mut see).unwrap();
    last
}

#[test]
fn sdca_follows_algorithm_2_1() {
    let data = data(N, D, 0.4, 4);
    for steps in [1, 2, 3, 10, STEPS] {
        let settings = SdcaSettings {
            order: Order::Scripted(script()),
            stop: stop(steps, 0.0),
            ..SdcaSettings::default()
        };
        both_storages!(
            data,
            Zero,
            |p| last_point(p, &settings),
            textbook_sdca(&data, 0.0, steps),
            "sdca"
        );
        both_storages!(
            data,
            L1 { strength: 0.03 },
            |p| last_point(p, &settings),
            textbook_sdca(&data, 0.03, steps),
            "prox-sdca"
        );
    }
}

#[test]
fn finito_follows_algorithm_3_1() {
    let data = data(N, D, 0.4, 5);
    for alpha in [1.0, 2.0, 3.5] {
        for steps in [1, 2, 3, 10, STEPS] {
            for storage in [FinitoStorage::Combined, FinitoStorage::Gradients] {
                let settings = FinitoSettings {
                    alpha: Some(alpha),
                    order: Order::Scripted(script()),
                    start: FinitoStart::Full,
                    storage,
                    stop: stop(steps, 1.0),
                    ..FinitoSettings::default()
                };
                both_storages!(
                    data,
                    Zero,
                    |p| finito(p, &settings, None, &mut ()).unwrap().state.point.weights,
                    textbook_finito(&data, alpha, steps),
                    "finito"
                );
            }
        }
    }
}

/// Section 3.1.3: where gradients are stored, another `alpha` goes on from the same table, without a pass to fill it. Long
/// enough for the sum to be recomputed from the table.
#[test]
fn gradients_serve_every_alpha() {
    let data = data(N, D, 0.4, 7);
    let long: Vec<usize> = (0..15 * N).map(|k| (5 * k + k / 7) % N).collect();
    let (first, second) = long.split_at(13 * N);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, L2).unwrap();
    let settings = |alpha, script: &[usize], extra| FinitoSettings {
        alpha: Some(alpha),
        order: Order::Scripted(script.to_vec()),
        storage: FinitoStorage::Gradients,
        stop: stop(script.len(), extra),
        ..FinitoSettings::default()
    };
    let half = finito(&problem, &settings(3.0, first, 1.0), None, &mut ()).unwrap();
    let whole = finito(&problem, &settings(5.0, second, 0.0), Some(half.state), &mut ()).unwrap();
    // The textbook changes alpha where the run does: the point of the first step is still the old one.
    let mut points = vec![vec![0.0; D]; N];
    let next = |points: &[Vec<f64>], alpha: f64| -> Vec<f64> {
        let part = |i: usize, c: usize| {
            let p = &points[i];
            p[c] - (slope(&data, i, p) * data.dense[[i, c]] + L2 * p[c]) / (alpha * L2)
        };
        (0..D).map(|c| (0..N).map(|i| part(i, c)).sum::<f64>() / N as f64).collect()
    };
    let mut w = next(&points, 3.0);
    for (k, &j) in long.iter().enumerate() {
        points[j] = w;
        w = next(&points, if k < first.len() { 3.0 } else { 5.0 });
    }
    let off = distance(&whole.state.point.weights, &w);
    assert!(off < 1e-11, "{off:e}");
    assert_eq!(whole.report.passes, 2.0);
}

/// Every step of the first pass, in the order of the data as in the thesis, and in one that comes back to a term before all have
/// been seen; and beyond it.
#[test]
fn the_first_pass_of_finito_follows_its_rule() {
    let data = data(N, D, 0.4, 6);
    let cyclic: Vec<usize> = (0..2 * N).map(|k| k % N).collect();
    let again: Vec<usize> = (0..2 * N).map(|k| (k * k + 1) % N).chain(0..N).collect();
    for (alpha, script) in [(2.0, &cyclic), (2.0, &again), (3.5, &again)] {
        for steps in 1..=script.len() {
            let settings = FinitoSettings {
                alpha: Some(alpha),
                order: Order::Scripted(script.clone()),
                start: FinitoStart::FirstPass,
                storage: if steps % 2 == 0 {
                    FinitoStorage::Combined
                } else {
                    FinitoStorage::Gradients
                },
                stop: stop(steps, 0.0),
                ..FinitoSettings::default()
            };
            both_storages!(
                data,
                Zero,
                |p| finito(p, &settings, None, &mut ()).unwrap().state.point.weights,
                textbook_first_pass(&data, alpha, &script[..steps]),
                "finito, first pass"
            );
        }
    }
}
