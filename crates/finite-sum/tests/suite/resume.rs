//! An interrupted run, its state written as JSON and read back, goes on bit for bit.

use std::ops::ControlFlow;

use crate::common::multiclass::codes;
use crate::common::{Data, data};
use fenchel_finite_sum::loss::{Hinge, Logistic};
use fenchel_finite_sum::multiclass::{MulticlassState, SoftmaxStep};
use fenchel_finite_sum::{
    CatalystSettings, DualState, FinitoSettings, FinitoStart, MisoMuSettings, MisoSettings,
    MulticlassProblem, MulticlassSettings, Point, Problem, ProxFinitoSettings, Qning,
    QningSettings, Sampling, SdcaSettings, SdcaStep, catalyst, finito, miso, miso_mu, multiclass,
    prox_finito, qning, sdca,
};
use fenchel_linalg::{Csr, Design};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Progress, Separable, Solution, Stop};
use serde::Serialize;
use serde::de::DeserializeOwned;

const N: usize = 30;

fn toy() -> Data {
    data(N, 6, 0.6, 8)
}

/// `run(stop, start)` for all passes at once, and in parts with the state written down in between. The passes of a
/// part need not be whole.
fn check<S, F>(name: &str, parts: &[f64], mut run: F)
where
    S: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
    F: FnMut(Stop, Option<S>) -> S,
{
    let stop = |passes| Stop { max_passes: passes, ..Stop::after_passes(passes) };
    let whole = run(stop(parts.iter().sum()), None);
    let mut state: Option<S> = None;
    for &part in parts {
        let reached = run(stop(part), state);
        let text = serde_json::to_string(&reached).expect("finite numbers");
        state = Some(serde_json::from_str(&text).expect("what was written"));
    }
    assert_eq!(state.as_ref(), Some(&whole), "{name}");
}

/// Every order, and the adaptive ways that the loss allows.
fn samplings(smooth: bool) -> Vec<Sampling> {
    let mut all: Vec<Sampling> = orders().into_iter().map(Sampling::from).collect();
    all.push(Sampling::Gap);
    if smooth {
        all.extend([Sampling::Lipschitz, Sampling::Residual, Sampling::LipschitzGap]);
    }
    all
}

fn orders() -> Vec<Order> {
    vec![
        Order::Permuted,
        Order::Uniform,
        Order::Cyclic,
        Order::Scripted(vec![3, 1, 4, 1, 5, 9, 2, 6]),
        Order::Weighted((1..=N).map(|i| i as f64).collect()),
    ]
}

fn dual_methods<D: Design, L: Loss, R: Separable>(problem: &Problem<'_, D, L, R>, smooth: bool) {
    let parts = [2.0, 0.5, 3.3, 12.2];
    let state = |s: Solution<DualState>| s.state;
    for sampling in samplings(smooth) {
        for step in [SdcaStep::Exact, SdcaStep::Interval, SdcaStep::Constant] {
            if step == SdcaStep::Constant && !smooth {
                continue;
            }
            check(&format!("sdca {sampling:?} {step:?}"), &parts, |stop, start| {
                let settings =
                    SdcaSettings { step, sampling: sampling.clone(), rest: 0, seed: 4, stop };
                state(sdca(problem, &settings, start, &mut ()).unwrap())
            });
        }
        check(&format!("prox_finito {sampling:?}"), &parts, |stop, start| {
            let settings = ProxFinitoSettings { sampling: sampling.clone(), seed: 4, stop };
            state(prox_finito(problem, &settings, start, &mut ()).unwrap())
        });
    }
    for order in orders() {
        if !smooth {
            continue;
        }
        check(&format!("miso_mu {order:?}"), &parts, |stop, start| {
            let settings =
                MisoMuSettings { damping: Some(0.3), order: order.clone(), seed: 4, stop };
            state(miso_mu(problem, &settings, start, &mut ()).unwrap())
        });
        check(&format!("catalyst {order:?}"), &[1.0, 4.0, 13.0], |stop, start| {
            let settings =
                CatalystSettings { order: order.clone(), stop, ..CatalystSettings::default() };
            state(catalyst(problem, &settings, start, &mut ()).unwrap())
        });
        // The cost of an outer step depends on how many trials it takes: count steps, not passes.
        check(&format!("qning {order:?}"), &[1.0, 5.0, 9.0], |stop, start| {
            let mut left = stop.max_passes as usize;
            let settings = QningSettings {
                order: order.clone(),
                stop: Stop::after_passes(1e3),
                ..QningSettings::default()
            };
            let mut count = |_: &Progress, _: &Qning<'_, '_, D, L, R>| {
                let ended = left == 0;
                left = left.saturating_sub(1);
                if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            state(qning(problem, &settings, start, &mut count).unwrap())
        });
    }
}

#[test]
fn dual_methods_resume() {
    let data = toy();
    let design = || Csr::new(data.sparse.view()).unwrap();
    // n mu < L, so that the outer loops accelerate.
    let problem = Problem::new(design(), &data.signs, Logistic, Zero, 1e-4).unwrap();
    dual_methods(&problem, true);
    dual_methods(&problem.with_intercept(), true);
    let l1 = L1 { strength: 0.01 };
    let problem = Problem::new(design(), &data.signs, Logistic, l1, 1e-4).unwrap();
    dual_methods(&problem, true);
    let problem = Problem::new(design(), &data.signs, Hinge, Zero, 0.05).unwrap();
    dual_methods(&problem, false);
    dual_methods(&problem.with_intercept(), false);
}

fn of_classes<D: Design, R: Separable>(problem: &MulticlassProblem<'_, D, R>, accelerates: bool) {
    for sampling in samplings(true) {
        for step in [SoftmaxStep::Exact, SoftmaxStep::Interval, SoftmaxStep::Constant] {
            let settings = |stop| MulticlassSettings {
                step,
                sampling: sampling.clone(),
                seed: 4,
                stop,
                kappa: None,
            };
            check(
                &format!("softmax sdca {sampling:?} {step:?}"),
                &[2.0, 0.5, 3.3, 12.2],
                |stop, start| {
                    multiclass::sdca(problem, &settings(stop), start, &mut ()).unwrap().state
                },
            );
            if accelerates {
                // Whole passes, each with its scores.
                let adaptive = !matches!(sampling, Sampling::Order(_) | Sampling::Lipschitz);
                let cost = if adaptive { 1.5 } else { 1.0 };
                check(
                    &format!("softmax catalyst {sampling:?} {step:?}"),
                    &[1.0, 4.0, 13.0].map(|passes| cost * passes),
                    |stop, start| {
                        multiclass::catalyst(problem, &settings(stop), start, &mut ())
                            .unwrap()
                            .state
                    },
                );
            }
        }
    }
}

#[test]
fn dual_methods_of_several_classes_resume() {
    let data = toy();
    let y = codes(&data.reals, 8);
    let pose = |l2| {
        let design = Csr::new(data.sparse.view()).unwrap();
        MulticlassProblem::new(design, &y, 3, Zero, l2).unwrap()
    };
    of_classes(&pose(1e-3), true);
    of_classes(&pose(1e-3).with_intercepts().unwrap(), true);
    let l1 = pose(0.01).penalised(L1 { strength: 0.01 }, 0.01).unwrap();
    of_classes(&l1.with_intercepts().unwrap(), true);
}

/// A trail whose sums are not those of its dual variables, and one of another problem, are warm starts.
#[test]
fn a_trail_of_several_classes_that_does_not_fit_is_ignored() {
    let data = toy();
    let y = codes(&data.reals, 8);
    let pose = |l2| {
        let design = Csr::new(data.sparse.view()).unwrap();
        MulticlassProblem::new(design, &y, 3, Zero, l2).unwrap().with_intercepts().unwrap()
    };
    let settings =
        |passes| MulticlassSettings { stop: Stop::after_passes(passes), ..Default::default() };
    let problem = pose(1e-3);
    let state = multiclass::catalyst(&problem, &settings(5.0), None, &mut ()).unwrap().state;
    let plain = MulticlassState::new(state.point.clone(), state.dual.clone());
    let go = |problem: &MulticlassProblem<'_, _, Zero>, start: MulticlassState| {
        multiclass::catalyst(problem, &settings(3.0), Some(start), &mut ()).unwrap().state
    };
    assert_ne!(go(&problem, state.clone()), go(&problem, plain.clone()));
    let other = pose(2e-3);
    assert_eq!(go(&other, state.clone()), go(&other, plain.clone()));
    let mut edited = serde_json::to_value(&state).unwrap();
    edited["trail"]["direction"][0] = 7.0.into();
    let edited: MulticlassState = serde_json::from_value(edited).unwrap();
    assert_eq!(go(&problem, edited), go(&problem, plain));
}

#[test]
fn point_tables_resume() {
    let data = toy();
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.02).unwrap();
    let parts = [2.0, 0.5, 3.3, 12.2];
    for order in orders() {
        check(&format!("miso {order:?}"), &parts, |stop, start| {
            let settings =
                MisoSettings { order: order.clone(), seed: 4, stop, ..Default::default() };
            miso(&problem, &settings, start, &mut ()).unwrap().state
        });
        if matches!(order, Order::Weighted(_)) {
            continue;
        }
        for table in [FinitoStart::Full, FinitoStart::FirstPass] {
            check(&format!("finito {order:?} {table:?}"), &parts, |stop, start| {
                // A slow step: a gap of exactly 0 would end the run early, where it happens to be looked at.
                let settings = FinitoSettings {
                    alpha: Some(40.0),
                    order: order.clone(),
                    start: table,
                    seed: 4,
                    stop,
                    ..Default::default()
                };
                finito(&problem, &settings, start, &mut ()).unwrap().state
            });
        }
    }
}

/// The trail of another problem, other settings or a broken file is no trail: the state is a warm start.
#[test]
fn a_trail_that_does_not_fit_is_ignored() {
    let data = toy();
    let design = || Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design(), &data.signs, Logistic, Zero, 1e-3).unwrap();
    let settings =
        |seed| SdcaSettings { seed, stop: Stop::after_passes(3.0), ..Default::default() };
    let first = sdca(&problem, &settings(1), None, &mut ()).unwrap().state;
    let bare = DualState::new(first.point.clone(), first.dual.clone());
    let go =
        |start: DualState, seed| sdca(&problem, &settings(seed), Some(start), &mut ()).unwrap();
    assert_eq!(go(first.clone(), 2).state, go(bare.clone(), 2).state, "another seed");
    assert_ne!(go(first.clone(), 1).state.point, go(bare.clone(), 1).state.point, "its own seed");
    // The dual variables were changed by hand: the sums of the trail are no longer theirs.
    let mut edited = first.clone();
    edited.dual = vec![0.0; N];
    let zero = DualState::new(Point::zero(6), vec![0.0; N]);
    assert_eq!(go(edited, 1).state.dual, go(zero, 1).state.dual, "edited");
    let mut text: serde_json::Value = serde_json::to_value(&first).unwrap();
    text["trail"]["direction"] = serde_json::json!([1.0]);
    let broken: DualState = serde_json::from_value(text).unwrap();
    assert_eq!(go(broken, 1).state, go(bare, 1).state, "broken");
}
