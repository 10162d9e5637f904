//! The methods for general sums go on bit for bit from their saved states, whenever they are interrupted and whoever looks on.

use crate::common::{Data, data};
use crate::general::Terms;
use crate::general_sdca::Terms as ProxTerms;
use fenchel_finite_sum::general::{self, FiniteSum, Sum, SumSettings, SumState};
use fenchel_finite_sum::lag::Composite;
use fenchel_finite_sum::{Error, Method, Order, Report, Solution, StepSize, Stop};
use fenchel_optim::Cadence;
use fenchel_optim::prox::{GroupLasso, Groups, L1, Zero};

const N: usize = 30;
const D: usize = 8;

fn orders() -> [Order; 4] {
    let script = Order::Scripted(vec![3, 1, 4, 15, 9]);
    [Order::Uniform, Order::Permuted, Order::Cyclic, script]
}

/// `solve` in parts with the state written down in between, at once, and at once with many certificates on the way.
fn check(
    name: &str,
    cuts: &[f64],
    solve: impl Fn(Option<SumState>, Stop) -> Result<Solution<SumState>, Error>,
) {
    let stop = |max_passes, passes| {
        let check = Cadence::Every(passes);
        Stop { max_passes, check, ..Stop::after_passes(max_passes) }
    };
    // A run may end a little beyond its limit: after a snapshot, the pass that fills a table, two gradients of a step.
    let (mut state, mut whole) = (None, 0.0);
    for &passes in cuts {
        let next = solve(state, stop(passes, 1e9)).unwrap();
        let json = serde_json::to_string(&next.state).unwrap();
        state = Some(serde_json::from_str(&json).unwrap());
        whole += next.report.passes;
    }
    let once = solve(None, stop(whole, 1e9)).unwrap();
    assert!(state.as_ref() == Some(&once.state), "{name} {cuts:?}");
    let watched = solve(None, stop(whole, 0.3)).unwrap();
    assert!(watched.state == once.state, "{name}: certificates steer");
}

const CUTS: [&[f64]; 3] = [&[1.0, 2.0], &[1.6, 2.25, 0.05, 12.0], &[0.0, 2.0, 0.0, 2.0]];

fn with_regulariser<T: FiniteSum, R: Composite>(name: &str, sum: &Sum<'_, T, R>) {
    for order in orders() {
        let name = format!("{name} {}", order.name());
        let settings = |stop| SumSettings {
            order: Some(order.clone()),
            unproven_prox: true,
            seed: 5,
            stop,
            ..Default::default()
        };
        for cuts in CUTS {
            check(&format!("saga {name}"), cuts, |start, stop| {
                general::saga(sum, &settings(stop), start, &mut ())
            });
            check(&format!("sag {name}"), cuts, |start, stop| {
                general::sag(sum, &settings(stop), start, &mut ())
            });
            check(&format!("svrg {name}"), cuts, |start, stop| {
                let settings = SumSettings { inner: 1.3, ..settings(stop) };
                general::svrg(sum, &settings, start, &mut ())
            });
            check(&format!("sgd {name}"), cuts, |start, stop| {
                general::sgd(sum, &settings(stop), start, &mut ())
            });
        }
        for kappa in [None, Some(0.0), Some(0.3)] {
            check(&format!("catalyst {name} {kappa:?}"), &[2.0, 4.0, 0.0, 9.0], |start, stop| {
                general::catalyst(sum, &settings(stop), kappa, start, &mut ())
            });
        }
    }
}

fn smooth<T: FiniteSum>(name: &str, sum: &Sum<'_, T, Zero>) {
    for order in orders() {
        let name = format!("{name} {}", order.name());
        let settings = |stop| {
            let order = Some(order.clone());
            SumSettings { order, seed: 5, stop, ..Default::default() }
        };
        for cuts in CUTS {
            check(&format!("finito {name}"), cuts, |start, stop| {
                let settings = SumSettings { step: StepSize::Scaled(0.001), ..settings(stop) };
                general::finito(sum, &settings, start, &mut ())
            });
            check(&format!("sdca {name}"), cuts, |start, stop| {
                general::sdca(sum, &settings(stop), start, &mut ())
            });
        }
    }
}

fn groups() -> GroupLasso {
    let groups = Groups::new(D, &[vec![0, 3], vec![1, 2, 5], vec![4, 6, 7]]).unwrap();
    GroupLasso { groups, strength: 0.004 }
}

#[test]
fn a_saved_run_goes_on_bit_for_bit() {
    let data = data(N, D, 0.3, 1);
    for sparse in [false, true] {
        let terms = ProxTerms::new(&data, sparse);
        let name = if sparse { "sparse" } else { "dense" };
        let sum = Sum::new(&terms, Zero, 0.01).unwrap();
        with_regulariser(name, &sum);
        // Slow: a gap of exactly 0 would end a run early, where it happens to be looked at.
        smooth(name, &Sum::new(&terms, Zero, 1e-3).unwrap());
        let sum = Sum::new(&terms, L1 { strength: 0.005 }, 0.001).unwrap();
        with_regulariser(&format!("{name} l1"), &sum);
        let sum = Sum::new(&terms, groups(), 0.001).unwrap();
        with_regulariser(&format!("{name} groups"), &sum);
    }
}

/// Whatever `auto` takes, its state goes on.
#[test]
fn auto_goes_on() {
    let data = data(N, D, 0.3, 2);
    let terms = Terms::new(&data.dense, &data.signs, true);
    for (l2, memory_limit, method) in [
        (1.0, 1 << 20, Method::Finito),
        (1e-3, 1 << 20, Method::AcceleratedSaga),
        (1e-3, 10, Method::Svrg),
    ] {
        let sum = Sum::new(&terms, Zero, l2).unwrap();
        check(&format!("{method:?}"), &[2.0, 3.0, 4.0], |start, stop| {
            let settings = SumSettings { memory_limit, seed: 3, stop, ..Default::default() };
            let solution = general::auto(&sum, &settings, start, &mut ())?;
            assert_eq!(solution.state.choice.method, method);
            Ok(Solution { state: solution.state.point, report: solution.report })
        });
    }
}

type Solve<'s> =
    Box<dyn Fn(Option<SumState>, &SumSettings) -> Result<Solution<SumState>, Error> + 's>;

/// Every method on one sum.
fn methods<'s, T: FiniteSum>(sum: &'s Sum<'_, T, Zero>) -> Vec<(&'static str, Solve<'s>)> {
    vec![
        ("saga", Box::new(|start, settings| general::saga(sum, settings, start, &mut ()))),
        ("sag", Box::new(|start, settings| general::sag(sum, settings, start, &mut ()))),
        ("svrg", Box::new(|start, settings| general::svrg(sum, settings, start, &mut ()))),
        ("sgd", Box::new(|start, settings| general::sgd(sum, settings, start, &mut ()))),
        ("finito", Box::new(|start, settings| general::finito(sum, settings, start, &mut ()))),
        ("sdca", Box::new(|start, settings| general::sdca(sum, settings, start, &mut ()))),
        (
            "catalyst",
            Box::new(|start, settings| general::catalyst(sum, settings, None, start, &mut ())),
        ),
    ]
}

fn after(passes: f64) -> SumSettings {
    SumSettings { stop: Stop::after_passes(passes), ..Default::default() }
}

/// What a state says beyond the point and the table is used by the run that left it alone.
#[test]
fn a_state_of_another_run_is_a_warm_start() {
    let data = data(N, D, 0.3, 3);
    let terms = ProxTerms::new(&data, true);
    let (one, other) =
        (Sum::new(&terms, Zero, 0.01).unwrap(), Sum::new(&terms, Zero, 0.02).unwrap());
    for ((name, solve), (_, elsewhere)) in methods(&one).iter().zip(methods(&other)) {
        let state = solve(None, &after(3.7)).unwrap().state;
        let bare = SumState::new(state.point.clone(), state.table.clone());
        let run = |solve: &Solve<'_>, start: &SumState, settings: &SumSettings| {
            solve(Some(start.clone()), settings).unwrap().state
        };
        let go_on = after(2.0);
        assert_ne!(run(solve, &state, &go_on), run(solve, &bare, &go_on), "{name}");
        assert_eq!(run(&elsewhere, &state, &go_on), run(&elsewhere, &bare, &go_on), "{name}: l2");
        let seed = SumSettings { seed: 1, ..after(2.0) };
        assert_eq!(run(solve, &state, &seed), run(solve, &bare, &seed), "{name}: seed");
        let permuted = ["finito", "sdca"].contains(name);
        let order = Some(if permuted { Order::Uniform } else { Order::Permuted });
        let order = SumSettings { order, ..after(2.0) };
        assert_eq!(run(solve, &state, &order), run(solve, &bare, &order), "{name}: order");
        for (another, solve) in methods(&one) {
            if another != *name {
                let table = if state.table.is_empty() { Vec::new() } else { state.table.clone() };
                let bare = SumState::new(state.point.clone(), table);
                let (a, b) = (run(&solve, &state, &go_on), run(&solve, &bare, &go_on));
                assert_eq!(a, b, "{another} after {name}");
            }
        }
    }
}

/// The dual value of SDCA is made of numbers in its state. Those of other terms prove nothing.
#[test]
fn what_another_data_set_left_behind_proves_nothing() {
    let old = data(N, D, 1.0, 4);
    let new = Data { signs: old.signs.iter().map(|y| -y).collect(), ..data(N, D, 1.0, 4) };
    let (before, terms) = (ProxTerms::new(&old, true), ProxTerms::new(&new, true));
    let (before, sum) =
        (Sum::new(&before, Zero, 0.01).unwrap(), Sum::new(&terms, Zero, 0.01).unwrap());
    let state = general::sdca(&before, &after(20.0), None, &mut ()).unwrap().state;
    let tight = SumSettings { stop: Stop::at_relative(1e-12), ..Default::default() };
    let optimum = |sum: &Sum<'_, ProxTerms<'_>, Zero>| -> Report {
        general::sdca(sum, &tight, None, &mut ()).unwrap().report
    };
    let best = optimum(&sum).certificate.objective().unwrap();
    for passes in [0.0, 0.1, 0.5, 1.0, 2.0] {
        let run = general::sdca(&sum, &after(passes), Some(state.clone()), &mut ()).unwrap();
        let certificate = run.report.certificate;
        let above = certificate.objective().unwrap() - best;
        assert!(certificate.value() >= above - 1e-12, "{passes}: {certificate:?} {above}");
    }
    // Where they belong, they prove what they did.
    let again = general::sdca(&before, &after(0.0), Some(state), &mut ()).unwrap();
    let once = general::sdca(&before, &after(20.0), None, &mut ()).unwrap();
    assert_eq!(again.report.certificate, once.report.certificate);
}

/// A file that was tampered with never panics: it is refused as a start of the wrong shape, or taken as a warm start.
#[test]
fn a_broken_state_does_no_harm() {
    let data = data(N, D, 0.3, 5);
    let terms = ProxTerms::new(&data, true);
    let sum = Sum::new(&terms, Zero, 0.01).unwrap();
    for (name, solve) in methods(&sum) {
        let state = solve(None, &after(2.7)).unwrap().state;
        let json = serde_json::to_value(&state).unwrap();
        let mut paths = vec![];
        crate::resume_incremental::arrays(&json, String::new(), &mut paths);
        for path in paths {
            let mut broken = json.clone();
            broken.pointer_mut(&path).unwrap().as_array_mut().unwrap().pop();
            if let Ok(state) = serde_json::from_value(broken) {
                let refused = solve(Some(state), &after(0.7)).is_err();
                let shape = path == "/point" || path == "/table";
                let needed = path == "/point" || !["svrg", "sgd", "finito"].contains(&name);
                assert_eq!(refused, shape && needed, "{name} {path}");
            }
        }
    }
    let error = general::saga(&sum, &after(1.0), Some(vec![0.0; D + 1].into()), &mut ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("point") && error.contains('8') && error.contains('9'), "{error}");
}
