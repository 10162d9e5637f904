//! The variants of the incremental methods, step by step against the algorithms as printed: dense and sparse,
//! with and without weights of the rows, an intercept and a regulariser.

use std::ops::ControlFlow;

use crate::common::{Data, data, distance};
use crate::textbook::{
    D, L2, N, STEP, STEPS, Sum, TextbookSearch, check, plus, script, stop, weights,
};
use fenchel_erm::loss::Logistic;
use fenchel_erm::methods::lag::Lagged;
use fenchel_erm::methods::{
    SagSettings, SagaSettings, SagaTheory, SgdSettings, Snapshot, Svrg, SvrgSettings, TableStart,
    sag, saga, sgd, svrg,
};
use fenchel_erm::{Error, Problem};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::prox::{L1, Separable, Zero};
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Cadence, Certificate, Progress, Refusal, Status, StepSize, Stop};

#[test]
fn the_line_search_of_sag_and_saga_is_as_printed() {
    let data = data(N, D, 0.4, 1);
    fn textbook<R: Separable>(sum: &Sum<'_, R>, steps: usize, saga: bool) -> Vec<f64> {
        let (mut x, mut search) = (vec![0.0; D], TextbookSearch::new(sum));
        let mut table = sum.table(&x);
        for &j in &script()[..steps] {
            let g = sum.slope(j, &x);
            let step = search.step(sum, j, &x, if saga { 3.0 } else { 1.0 });
            let old = sum.average(&table, N as f64);
            let delta = g - table[j];
            table[j] = g;
            let along =
                if saga { plus(delta, &sum.row(j), &old) } else { sum.average(&table, N as f64) };
            x = sum.step(&x, &along, step);
        }
        x
    }
    fn both<R: Lagged + Copy>(data: &Data, regulariser: R) {
        for steps in [1, 2, 3, 10, STEPS] {
            let (step, order) = (StepSize::Backtracking, Order::Scripted(script()));
            let stop = stop(steps, 1.0);
            let sum = Sum::new(data, regulariser);
            let sag_settings = SagSettings {
                step,
                order: order.clone(),
                unproven_prox: true,
                stop,
                ..Default::default()
            };
            check(
                "sag",
                data,
                regulariser,
                &textbook(&sum, steps, false),
                |p| sag(p, &sag_settings, None, &mut ()).unwrap().state.point.weights,
                |p| sag(p, &sag_settings, None, &mut ()).unwrap().state.point.weights,
            );
            let settings = SagaSettings { step, order, stop, ..Default::default() };
            check(
                "saga",
                data,
                regulariser,
                &textbook(&sum, steps, true),
                |p| saga(p, &settings, None, &mut ()).unwrap().state.point.weights,
                |p| saga(p, &settings, None, &mut ()).unwrap().state.point.weights,
            );
        }
    }
    both(&data, Zero);
    both(&data, L1 { strength: 0.03 });
}

#[test]
fn mixed_sampling_weighs_the_correction_and_not_the_table() {
    let data = data(N, D, 0.4, 2);
    let regulariser = L1 { strength: 0.02 };
    let sum = Sum::new(&data, regulariser);
    let mean: f64 = (0..N).map(|j| sum.smoothness(j)).sum::<f64>() / N as f64;
    let n = N as f64;
    let p: Vec<f64> = (0..N).map(|j| 0.5 / n + sum.smoothness(j) / (2.0 * n * mean)).collect();
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    for steps in [1, 2, 10, STEPS] {
        let step = 1.0 / (3.0 * (mean + L2));
        let mut x = vec![0.0; D];
        let mut table = sum.table(&x);
        let mut visits = Visits::new(&Order::Weighted(p.clone()), N, 0).unwrap();
        for j in (0..steps).map(|_| visits.draw()) {
            let g = sum.slope(j, &x);
            let along = plus((g - table[j]) / (n * p[j]), &sum.row(j), &sum.average(&table, n));
            x = sum.step(&x, &along, step);
            table[j] = g;
        }
        let settings =
            SagaSettings { order: Order::Mixed, stop: stop(steps, 1.0), ..SagaSettings::default() };
        check(
            "saga",
            &data,
            regulariser,
            &x,
            |p| saga(p, &settings, None, &mut ()).unwrap().state.point.weights,
            |p| saga(p, &settings, None, &mut ()).unwrap().state.point.weights,
        );
    }
}

#[test]
fn the_first_pass_averages_over_the_terms_seen() {
    let data = data(N, D, 0.4, 3);
    fn one<R: Lagged + Copy>(data: &Data, regulariser: R) {
        let sum = Sum::new(data, regulariser);
        // Terms may come twice in a script; seven of the twelve come in the first pass here.
        let order: Vec<usize> = (0..STEPS).map(|k| (5 * k + k / 3) % N).collect();
        for steps in [1, 2, 7, N, N + 1, STEPS] {
            let (mut x, mut table) = (vec![0.0; D], vec![0.0; N]);
            let mut seen = [false; N];
            for (k, &j) in order[..steps].iter().enumerate() {
                let (g, old) = (sum.slope(j, &x), sum.average(&table, N as f64));
                let delta = g - table[j];
                table[j] = g;
                seen[j] = true;
                let count = seen.iter().filter(|s| **s).count() as f64;
                let along =
                    if k < N { sum.average(&table, count) } else { plus(delta, &sum.row(j), &old) };
                x = sum.step(&x, &along, STEP);
            }
            let settings = SagaSettings {
                step: StepSize::Constant(STEP),
                table: TableStart::FirstPass,
                order: Order::Scripted(order.clone()),
                stop: stop(steps, 0.0),
                ..SagaSettings::default()
            };
            check(
                "first pass",
                data,
                regulariser,
                &x,
                |p| saga(p, &settings, None, &mut ()).unwrap().state.point.weights,
                |p| saga(p, &settings, None, &mut ()).unwrap().state.point.weights,
            );
        }
    }
    one(&data, Zero);
    one(&data, L1 { strength: 0.03 });
}

/// In uniform order the first pass looks at every term exactly once.
#[test]
fn the_first_pass_visits_every_term_once() {
    let data = data(N, D, 1.0, 4);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, L2).unwrap();
    let stop = stop(N, 0.0);
    let first = TableStart::FirstPass;
    let settings = SagSettings { table: first, stop, ..SagSettings::default() };
    let table = sag(&problem, &settings, None, &mut ()).unwrap().state.table;
    assert!(table.iter().all(|s| *s != 0.0), "{table:?}");
    let settings = SagaSettings { table: first, stop, ..SagaSettings::default() };
    let table = saga(&problem, &settings, None, &mut ()).unwrap().state.table;
    assert!(table.iter().all(|s| *s != 0.0), "{table:?}");
}

/// All four kinds of snapshot, replayed with the lengths of rounds that the run reports.
#[test]
fn snapshots_are_taken_where_they_should_be() {
    let data = data(N, D, 0.4, 5);
    fn one<R: Lagged + Copy>(data: &Data, regulariser: R, snapshot: Snapshot, lipschitz: bool) {
        let sum = Sum::new(data, regulariser);
        let total: f64 = (0..N).map(|j| sum.smoothness(j)).sum();
        let importance = |j: usize| match lipschitz {
            false => 1.0,
            true => total / (N as f64 * sum.smoothness(j)),
        };
        // Lipschitz draws never visit a term of weight 0.
        let (order, visited) = if lipschitz {
            let p = (0..N).map(|j| sum.smoothness(j) / total).collect();
            let mut visits = Visits::new(&Order::Weighted(p), N, 0).unwrap();
            (Order::Lipschitz, (0..STEPS).map(|_| visits.draw()).collect())
        } else {
            (Order::Scripted(script()), script())
        };
        let settings = SvrgSettings {
            step: StepSize::Constant(STEP),
            inner: Some(0.75),
            snapshot,
            order,
            stop: Stop { check: Cadence::Every(1.0 / N as f64), ..stop(STEPS, 0.0) },
            ..SvrgSettings::default()
        };
        fn replay<D2: Design, R: Lagged>(
            p: &Problem<'_, D2, Logistic, R>,
            settings: &SvrgSettings,
            log: &mut Vec<(f64, usize)>,
        ) -> Vec<f64> {
            let mut see = |progress: &Progress, method: &Svrg<'_, '_, D2, Logistic, R>| {
                log.push((progress.passes, method.round_length()));
                ControlFlow::Continue(())
            };
            svrg(p, settings, None, &mut see).unwrap().state.point.weights
        }
        let mut log = vec![];
        let design = Dense::new(data.dense.view()).unwrap();
        let problem = Problem::new(design, &data.signs, Logistic, regulariser, L2).unwrap();
        replay(&problem.with_weights(&weights()).unwrap(), &settings, &mut log);
        let spent = (log.last().unwrap().0 * N as f64).round() as usize;

        // Gradients spent, snapshot by snapshot.
        let (mut x, mut used, mut k) = (vec![0.0; D], 0, 0);
        let at = |used: usize| {
            // The first report after the snapshot that was taken with `used` gradients spent.
            let mut after = log.iter().filter(|(p, _)| (p * N as f64).round() as usize > used);
            after.next().map_or(0, |(_, length)| *length)
        };
        while used < spent {
            let length = at(used);
            let (table, start) = (sum.table(&x), used + N);
            let full = sum.average(&table, N as f64);
            let (mut total, mut walked) = (vec![0.0; D], 0);
            used = start;
            while walked < length && used < spent {
                let j = visited[k % visited.len()];
                let delta = importance(j) * (sum.slope(j, &x) - table[j]);
                x = sum.step(&x, &plus(delta, &sum.row(j), &full), STEP);
                total = total.iter().zip(&x).map(|(t, x)| t + x).collect();
                (k, walked, used) = (k + 1, walked + 1, used + 1);
            }
            if snapshot == Snapshot::Average && walked == length {
                x = total.iter().map(|t| t / length as f64).collect();
            }
        }
        let name = format!("{snapshot:?} {lipschitz:?}");
        check(
            &name,
            data,
            regulariser,
            &x,
            |p| replay(p, &settings, &mut vec![]),
            |p| replay(p, &settings, &mut vec![]),
        );
        let lengths: Vec<usize> = log.iter().map(|(_, length)| *length).collect();
        let fixed = matches!(snapshot, Snapshot::Last | Snapshot::Average);
        assert_eq!(lengths.iter().skip(1).all(|l| *l == 9), fixed, "{name} {lengths:?}");
    }
    for snapshot in [Snapshot::Last, Snapshot::Average, Snapshot::Random, Snapshot::Loopless] {
        for lipschitz in [false, true] {
            one(&data, Zero, snapshot, lipschitz);
            one(&data, L1 { strength: 0.03 }, snapshot, lipschitz);
        }
    }
}

/// The better point is returned, and the average leaves out the start.
#[test]
fn the_average_competes_with_the_last_point() {
    let data = data(N, D, 0.4, 6);
    let sum = Sum::new(&data, Zero);
    // So long a step that the average is better than any single point.
    let step = 4.0 * STEP;
    let (mut x, mut total) = (vec![0.0; D], vec![0.0; D]);
    let mut table = sum.table(&x);
    for &j in &script() {
        let g = sum.slope(j, &x);
        let along = plus(g - table[j], &sum.row(j), &sum.average(&table, N as f64));
        x = sum.step(&x, &along, step);
        table[j] = g;
        total = total.iter().zip(&x).map(|(t, x)| t + x).collect();
    }
    let mean: Vec<f64> = total.iter().map(|t| t / STEPS as f64).collect();
    let settings = SagaSettings {
        step: StepSize::Constant(step),
        average: true,
        order: Order::Scripted(script()),
        stop: stop(STEPS, 1.0),
        ..SagaSettings::default()
    };
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, L2).unwrap();
    let problem = problem.with_weights(&weights()).unwrap();
    let certify = |weights: &[f64]| {
        let point = fenchel_erm::Point { weights: weights.to_vec(), intercept: 0.0 };
        problem.certify(&point).unwrap().value()
    };
    let better = if certify(&mean) < certify(&x) { &mean } else { &x };
    let s = saga(&problem, &settings, None, &mut ()).unwrap();
    assert!(distance(&s.state.point.weights, better) < 1e-11);
    assert!(s.report.certificate.value() <= certify(better) + 1e-12, "{}", s.report);
    assert!(certify(&mean) < certify(&x), "the average is to be the better of the two");
}

#[test]
fn steps_of_the_theory_are_as_printed() {
    let data = data(N, D, 0.4, 8);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, L2).unwrap();
    let (l, n) = (problem.smoothness(), N as f64);
    for (theory, step) in [
        (SagaTheory::Adaptive, 1.0 / (3.0 * l)),
        (SagaTheory::StronglyConvex, 1.0 / (2.0 * (L2 * n + l))),
        (SagaTheory::StronglyConvexOnAverage, 1.0 / (3.0 * (L2 * n + l))),
    ] {
        let stop = stop(STEPS, 1.0);
        let a = SagaSettings { theory, stop, ..SagaSettings::default() };
        let b = SagaSettings { step: StepSize::Constant(step), stop, ..SagaSettings::default() };
        let [a, b] = [a, b].map(|s| saga(&problem, &s, None, &mut ()).unwrap().state.point);
        assert_eq!(a, b, "{theory:?}");
    }
    // What follows from strong convexity, without any.
    let design = Dense::new(data.dense.view()).unwrap();
    let flat = Problem::new(design, &data.signs, Logistic, Zero, 0.0).unwrap();
    let saga_settings = SagaSettings { theory: SagaTheory::StronglyConvex, ..Default::default() };
    let svrg_settings = SvrgSettings { inner: None, ..SvrgSettings::default() };
    // A round that never ends is refused as well.
    let tiny = Problem::new(design, &data.signs, Logistic, Zero, 1e-300).unwrap();
    assert!(
        svrg(&tiny, &svrg_settings, None, &mut ()).unwrap_err().to_string().contains("`inner`")
    );
    for error in [
        saga(&flat, &saga_settings, None, &mut ()).unwrap_err(),
        svrg(&flat, &svrg_settings, None, &mut ()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Refused(Refusal::NeedsStrongConvexity { .. })), "{error}");
    }
}

/// A few rows ten times as long as the rest: uniform draws must step for the longest of them.
#[test]
fn mixed_sampling_beats_uniform_draws_on_uneven_rows() {
    let mut data = data(300, 10, 1.0, 9);
    for i in 0..3 {
        data.dense.row_mut(i).mapv_inplace(|a| 20.0 * a);
    }
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 1e-3).unwrap();
    let passes = |order: Order| {
        let stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 20_000.0, ..Stop::default() };
        let settings = SagaSettings { order, stop, ..SagaSettings::default() };
        let report = saga(&problem, &settings, None, &mut ()).unwrap().report;
        assert_eq!(report.status, Status::Converged, "{report}");
        report.passes
    };
    let (uniform, mixed) = (passes(Order::Uniform), passes(Order::Mixed));
    assert!(3.0 * mixed <= uniform, "{mixed} {uniform}");
}

#[test]
fn every_variant_reaches_a_closed_gap() {
    let data = data(60, D, 0.5, 10);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, L1 { strength: 0.01 }, 0.02).unwrap();
    let problem = problem.with_intercept();
    let stop = Stop { absolute: 1e-11, relative: 0.0, max_passes: 5_000.0, ..Stop::default() };
    let closed = |name: &str, certificate: Certificate| {
        assert!(certificate.value() <= 1e-11, "{name}: {certificate:?}");
    };
    for table in [TableStart::Full, TableStart::Zero, TableStart::FirstPass] {
        for step in [StepSize::Theory, StepSize::Backtracking] {
            let settings = SagaSettings { step, table, stop, ..Default::default() };
            let report = saga(&problem, &settings, None, &mut ()).unwrap().report;
            closed(&format!("saga {table:?} {step:?}"), report.certificate);
            let settings =
                SagSettings { step, table, stop, unproven_prox: true, ..Default::default() };
            let report = sag(&problem, &settings, None, &mut ()).unwrap().report;
            closed(&format!("sag {table:?} {step:?}"), report.certificate);
        }
    }
    for order in [Order::Uniform, Order::Mixed, Order::Lipschitz] {
        for snapshot in [Snapshot::Last, Snapshot::Average, Snapshot::Random, Snapshot::Loopless] {
            let settings =
                SvrgSettings { order: order.clone(), snapshot, stop, ..Default::default() };
            let report = svrg(&problem, &settings, None, &mut ()).unwrap().report;
            closed(&format!("svrg {order:?} {snapshot:?}"), report.certificate);
        }
    }
}

/// `theta / k`, a constant and `1/(L + mu k)`, with and without a step beyond `1 / l2`.
#[test]
fn sgd_is_as_printed() {
    let data = data(N, D, 0.4, 11);
    fn one<R: Lagged + Copy>(data: &Data, regulariser: R) {
        let sum = Sum::new(data, regulariser);
        let largest = (0..N).map(|j| sum.smoothness(j)).fold(0.0, f64::max) + L2;
        let decaying = StepSize::Decaying { first: 0.6 / L2, power: 1.0 };
        let root = StepSize::Decaying { first: 0.5, power: 0.5 };
        for (step, at) in [
            (decaying, Box::new(|k: f64| 0.6 / L2 / k) as Box<dyn Fn(f64) -> f64>),
            (root, Box::new(|k: f64| 0.5 / k.sqrt())),
            (StepSize::Constant(STEP), Box::new(|_| STEP)),
            (StepSize::Scaled(2.0), Box::new(move |k| 2.0 / (largest + L2 * k))),
        ] {
            for steps in [1, 2, 10, STEPS] {
                let mut x = vec![0.0; D];
                for (k, &j) in script()[..steps].iter().enumerate() {
                    let g: Vec<f64> = sum.row(j).iter().map(|a| sum.slope(j, &x) * a).collect();
                    x = sum.step(&x, &g, at(k as f64 + 1.0));
                }
                let order = Order::Scripted(script());
                let settings =
                    SgdSettings { step, order, stop: stop(steps, 0.0), ..Default::default() };
                // A first step of 12 / L throws the point out: errors are relative to where it was.
                check(
                    "sgd",
                    data,
                    regulariser,
                    &x,
                    |p| sgd(p, &settings, None, &mut ()).unwrap().state.point.weights,
                    |p| sgd(p, &settings, None, &mut ()).unwrap().state.point.weights,
                );
            }
        }
    }
    one(&data, Zero);
    one(&data, L1 { strength: 0.01 });
}
