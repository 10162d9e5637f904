//! A stopped solve that was saved goes on bit for bit; another cadence of certificates changes no bit.

use crate::common::{Data, data};
use fenchel_finite_sum::lag::Lagged;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::{
    Draws, Point, Problem, SagSettings, SagaSettings, Snapshot, SvrgSettings, TableStart, sag,
    saga, svrg,
};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::random::Order;
use fenchel_optim::{Cadence, Solution, StepSize, Stop, Trace};
use serde::{Serialize, de::DeserializeOwned};

const N: usize = 40;

fn stop(passes: f64) -> Stop {
    Stop { absolute: 0.0, relative: 0.0, check: Cadence::Every(1e9), ..Stop::after_passes(passes) }
}

/// `solve(state, stop, watched)` for `cuts` passes each, saved and loaded in between, against one run.
#[track_caller]
fn check<S: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    name: &str,
    cuts: &[f64],
    solve: impl Fn(Option<S>, Stop, Cadence) -> Solution<S>,
) {
    // A run may end a little beyond its limit, where the limit lies within the pass of a snapshot.
    let (mut state, mut whole) = (None, 0.0);
    for &passes in cuts {
        let next = solve(state, stop(passes), Cadence::Every(1e9));
        let json = serde_json::to_string(&next.state).unwrap();
        state = Some(serde_json::from_str(&json).unwrap());
        whole += next.report.passes;
    }
    let once = solve(None, stop(whole), Cadence::Every(1e9)).state;
    assert!(state.as_ref() == Some(&once), "{name} {cuts:?}");
    let watched = solve(None, stop(whole), Cadence::Every(0.3)).state;
    assert!(watched == once, "{name}: certificates steer");
}

fn every_method<D: Design, R: Lagged + Clone>(name: &str, p: &Problem<'_, D, Logistic, R>) {
    let orders =
        [Order::Uniform, Order::Permuted, Order::Cyclic, Order::Scripted(vec![3, 1, 4, 15, 9])];
    for order in &orders {
        for table in [TableStart::Full, TableStart::Zero, TableStart::FirstPass] {
            for step in [StepSize::Theory, StepSize::Backtracking] {
                let name = format!("{name} {} {table:?} {step:?}", order.name());
                let order = order.clone();
                let settings = SagaSettings { order, table, step, seed: 5, ..Default::default() };
                for cuts in [&[1.0, 2.0][..], &[1.6, 2.25, 0.05, 12.0], &[2.0, 2.0]] {
                    check(&format!("saga {name}"), cuts, |state, stop, check| {
                        let settings =
                            SagaSettings { stop: Stop { check, ..stop }, ..settings.clone() };
                        saga(p, &settings, state, &mut Trace::new()).unwrap()
                    });
                    check(&format!("sag {name}"), cuts, |state, stop, check| {
                        let SagaSettings { order, table, step, seed, .. } = settings.clone();
                        let stop = Stop { check, ..stop };
                        let settings = SagSettings {
                            order,
                            table,
                            step,
                            seed,
                            stop,
                            unproven_prox: true,
                            ..Default::default()
                        };
                        sag(p, &settings, state, &mut Trace::new()).unwrap()
                    });
                }
            }
        }
    }
    for draws in [Draws::InOrder, Draws::Mixed] {
        for average in [false, true] {
            let settings = SagaSettings { draws, average, ..Default::default() };
            check(
                &format!("saga {name} {draws:?} average {average}"),
                &[1.5, 2.5],
                |state, stop, check| {
                    let settings =
                        SagaSettings { stop: Stop { check, ..stop }, ..settings.clone() };
                    saga(p, &settings, state, &mut Trace::new()).unwrap()
                },
            );
        }
    }
    for snapshot in [Snapshot::Last, Snapshot::Average, Snapshot::Random, Snapshot::Loopless] {
        for draws in [Draws::InOrder, Draws::Mixed, Draws::Lipschitz] {
            let cuts = &[1.5, 1.25, 1.75, 6.0, 0.4, 3.3];
            check(&format!("svrg {name} {snapshot:?} {draws:?}"), cuts, |state, stop, check| {
                let stop = Stop { check, ..stop };
                let settings = SvrgSettings { snapshot, draws, stop, ..Default::default() };
                svrg(p, &settings, state, &mut ()).unwrap()
            });
        }
    }
}

fn problem<'a, D: Design, R: Lagged>(
    design: D,
    data: &'a Data,
    r: R,
) -> Problem<'a, D, Logistic, R> {
    let weights: Vec<f64> = (0..N).map(|i| ((i * 5) % 4) as f64).collect();
    let problem = Problem::new(design, &data.signs, Logistic, r, 0.01).unwrap();
    problem.with_intercept().with_weights(&weights).unwrap()
}

#[test]
fn a_saved_run_goes_on_bit_for_bit() {
    let data = data(N, 30, 0.1, 1);
    let (dense, sparse) =
        (Dense::new(data.dense.view()).unwrap(), Csr::new(data.sparse.view()).unwrap());
    every_method("sparse", &problem(sparse, &data, Zero));
    every_method("sparse l1", &problem(sparse, &data, L1 { strength: 0.005 }));
    every_method("dense l1", &problem(dense, &data, L1 { strength: 0.005 }));
}

/// A state that was not left by the same run is a warm start: what it says beyond the point and the table is not used.
#[test]
fn a_state_of_another_problem_is_a_warm_start() {
    let data = data(N, 30, 0.1, 2);
    let design = Csr::new(data.sparse.view()).unwrap();
    let (one, other) = (
        problem(design, &data, L1 { strength: 0.005 }),
        problem(design, &data, L1 { strength: 0.002 }),
    );
    let settings = SagaSettings { stop: stop(1.7), ..Default::default() };
    let state = saga(&one, &settings, None, &mut ()).unwrap().state;
    let by_hand = fenchel_finite_sum::TableState::new(state.point.clone(), state.table.clone());
    let expected = saga(&other, &settings, Some(by_hand.clone()), &mut ()).unwrap().state;
    assert_eq!(saga(&other, &settings, Some(state.clone()), &mut ()).unwrap().state, expected);
    // Another seed, another method, another step.
    for settings in [
        SagaSettings { seed: 1, ..settings.clone() },
        SagaSettings { step: StepSize::Scaled(0.5), ..settings.clone() },
        SagaSettings { step: StepSize::Backtracking, ..settings.clone() },
    ] {
        let [a, b] = [state.clone(), by_hand.clone()]
            .map(|s| saga(&one, &settings, Some(s), &mut ()).unwrap().state);
        assert_eq!(a, b);
    }
    let settings = SagSettings { stop: stop(1.7), unproven_prox: true, ..Default::default() };
    let [a, b] = [state, by_hand].map(|s| sag(&one, &settings, Some(s), &mut ()).unwrap().state);
    assert_eq!(a, b);
}

/// A file that was tampered with never panics: it is refused as a start of the wrong shape, or taken as a warm start.
#[test]
fn a_broken_state_does_no_harm() {
    let data = data(N, 30, 0.1, 3);
    let design = Csr::new(data.sparse.view()).unwrap();
    let p = problem(design, &data, L1 { strength: 0.005 });
    for table in [TableStart::Full, TableStart::FirstPass] {
        let settings = SagaSettings {
            stop: stop(0.7),
            table,
            step: StepSize::Backtracking,
            ..Default::default()
        };
        let state = saga(&p, &settings, None, &mut ()).unwrap().state;
        let json = serde_json::to_value(&state).unwrap();
        let mut paths = vec![];
        arrays(&json, String::new(), &mut paths);
        assert!(paths.len() > 5, "{paths:?}");
        for path in paths {
            let mut broken = json.clone();
            broken.pointer_mut(&path).unwrap().as_array_mut().unwrap().pop();
            if let Ok(state) = serde_json::from_value(broken) {
                let _ = saga(&p, &settings, Some(state), &mut ());
            }
        }
        let mut broken = json.clone();
        *broken.pointer_mut("/trail/kernel/done/0").unwrap() = 4_000_000_000u32.into();
        let state = serde_json::from_value(broken).unwrap();
        assert!(saga(&p, &settings, Some(state), &mut ()).is_ok());
    }
    let point = Point::zero(29);
    assert!(svrg(&p, &SvrgSettings::default(), Some(point.into()), &mut ()).is_err());
}

/// Where the arrays of a document are.
pub(crate) fn arrays(json: &serde_json::Value, at: String, found: &mut Vec<String>) {
    match json {
        serde_json::Value::Array(values) => {
            if !values.is_empty() {
                found.push(at.clone());
            }
            values.iter().enumerate().for_each(|(i, v)| arrays(v, format!("{at}/{i}"), found));
        }
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(k, v)| arrays(v, format!("{at}/{k}"), found));
        }
        _ => {}
    }
}
