//! `auto` goes on bit for bit from its saved states, whatever its method, across a change of methods too.

use crate::common::multiclass::codes;
use crate::common::runs::StepsLeft;
use crate::common::{Data, data};
use fenchel_finite_sum::loss::{Custom, Hinge, Logistic};
use fenchel_finite_sum::multiclass::{self, MulticlassAuto};
use fenchel_finite_sum::prox::{GroupLasso, Groups, Interval, L1, Zero};
use fenchel_finite_sum::{
    AutoSettings, AutoState, Automatic, Error, Method, MulticlassProblem, Problem, Solution,
    Status, Stop, auto, auto_from,
};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::{Loss, Observer};
use ndarray::Array1;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Written and read back.
fn saved<S: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(state: S) -> S {
    let text = serde_json::to_string(&state).expect("finite numbers");
    let read = serde_json::from_str(&text).expect("what was written");
    assert_eq!(state, read);
    read
}

/// Where a run may be interrupted: at the start, in the middle of a pass, at a look and between two, twice.
const CUTS: [&[f64]; 11] = [
    &[0.0],
    &[0.3],
    &[1.0],
    &[2.0, 1.0],
    &[3.0, 0.0],
    &[5.5, 1.0],
    &[7.0],
    &[11.0, 12.0],
    &[40.0, 3.0],
    &[70.0, 378.0],
    &[460.0],
];

/// `run(passes, start)` at once and in parts, of which the last is what has converged.
fn check<S>(name: &str, total: f64, run: impl Fn(f64, Option<S>) -> Solution<S>) -> S
where
    S: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let whole = run(total, None).state;
    for cuts in CUTS {
        let (mut state, mut left) = (None, total);
        for &cut in cuts.iter().chain(&[f64::INFINITY]) {
            let part = run(left.min(cut), state);
            // The report counts rows that were looked at before the first method began; the limit does not.
            let json = serde_json::to_value(&part.state).unwrap();
            let first = json["choice"]["switched"].is_null();
            left = match json["trail"]["leg"]["journal"]["passes"].as_f64().filter(|_| first) {
                Some(done) => total - done,
                None => left - part.report.passes,
            };
            left = left.max(0.0);
            state = Some(saved(part.state));
            if part.report.status == Status::Converged {
                break;
            }
        }
        assert_eq!(state.as_ref(), Some(&whole), "{name}, cut at {cuts:?}");
    }
    whole
}

fn run<D, L, R, O>(
    problem: &Problem<'_, D, L, R>,
    settings: &AutoSettings,
    (max_passes, start): (f64, Option<AutoState>),
    observer: &mut O,
) -> Solution<AutoState>
where
    D: Design + Copy,
    L: Loss + Copy,
    R: Automatic,
    O: Observer<Method>,
{
    let stop = Stop { max_passes, ..settings.stop };
    let settings = AutoSettings { stop, ..settings.clone() };
    let solution = match start {
        None => auto(problem, &settings, None, observer),
        Some(start) => auto_from(problem, &settings, start, observer),
    };
    solution.unwrap()
}

/// Which method it is, and that it goes on, ended by passes and by the observer.
fn goes_on<D, L, R>(
    problem: &Problem<'_, D, L, R>,
    settings: &AutoSettings,
    total: f64,
) -> (Method, Option<Method>)
where
    D: Design + Copy,
    L: Loss + Copy,
    R: Automatic,
{
    let name = format!("{}, {}", L::NAME, R::NAME);
    let go = |passes, start, looks| run(problem, settings, (passes, start), &mut StepsLeft(looks));
    let whole = check(&name, total, |passes, start| go(passes, start, usize::MAX));
    let mut eye = StepsLeft(8);
    let early = run(problem, settings, (1e3, None), &mut eye);
    // Whoever ends a run at the look that would have ended it has nothing to go on from.
    let looks = 8 - eye.0 - usize::from(early.report.status == Status::Converged);
    for first in 0..looks {
        let begun = saved(go(1e3, None, first).state);
        let ended = go(1e3, Some(begun), 8 - first).state;
        assert_eq!(ended, early.state, "{name}, after {first} looks");
    }
    (whole.choice.method, whole.choice.switched)
}

/// Hard to please, so that nothing converges soon.
fn settings(memory_limit: u64) -> AutoSettings {
    let stop = Stop { absolute: 0.0, ..Stop::at_relative(1e-10) };
    AutoSettings { memory_limit, seed: 3, stop }
}

fn pose<'a, D: Design, L: Loss, R: Automatic>(
    design: D,
    y: &'a [f64],
    (loss, h, l2): (L, R, f64),
    intercept: bool,
) -> Problem<'a, D, L, R> {
    let problem = Problem::new(design, y, loss, h, l2).unwrap();
    if intercept { problem.with_intercept() } else { problem }
}

fn toy() -> Data {
    data(60, 6, 0.6, 11)
}

#[test]
fn dual_methods_and_saga_resume() {
    let (data, rows) = (toy(), data(60, 50, 0.9, 4));
    let design = Csr::new(data.sparse.view()).unwrap();
    let long = Csr::new(rows.sparse.view()).unwrap();
    for intercept in [false, true] {
        let problem = pose(design, &data.signs, (Hinge, Zero, 2e-3), intercept);
        assert_eq!(goes_on(&problem, &settings(100), 30.0).0, Method::Sdca);
        let problem = pose(long, &rows.signs, (Logistic, Zero, 5e-2), intercept);
        assert_eq!(goes_on(&problem, &settings(100), 23.0).0, Method::Catalyst);
        let bounds = Interval { lower: -0.5, upper: 0.5 };
        let problem = pose(design, &data.signs, (Logistic, bounds, 2e-3), intercept);
        assert_eq!(goes_on(&problem, &settings(1 << 30), 25.0).0, Method::Catalyst);
        let problem = pose(design, &data.signs, (Logistic, L1 { strength: 1e-3 }, 0.0), intercept);
        assert_eq!(goes_on(&problem, &settings(100), 30.0).0, Method::Qning);
        let square = Custom::new(1.0, |t: f64, y: f64| (0.5 * (t - y) * (t - y), t - y));
        let problem = pose(design, &data.reals, (square, Zero, 1e-2), intercept);
        assert_eq!(goes_on(&problem, &settings(1 << 30), 12.5).0, Method::Saga);
    }
}

#[test]
fn batch_methods_resume() {
    let data = toy();
    let design = Csr::new(data.sparse.view()).unwrap();
    for intercept in [false, true] {
        let groups = Groups::consecutive(&[2, 4]).unwrap();
        let h = GroupLasso { groups, strength: 1e-3 };
        let problem = pose(design, &data.signs, (Logistic, h, 0.0), intercept);
        assert_eq!(goes_on(&problem, &settings(1 << 30), 40.0).0, Method::Fista);
        let problem = pose(design, &data.signs, (Logistic, Zero, 0.0), intercept);
        assert_eq!(goes_on(&problem, &settings(100), 20.0).0, Method::Lbfgs);
        let problem = pose(design, &data.signs, (Logistic, Zero, 1e-5), intercept);
        assert_eq!(goes_on(&problem, &settings(100), 30.0).0, Method::NewtonCg);
        let problem = pose(design, &data.signs, (Logistic, Zero, 1e-3), intercept);
        assert_eq!(goes_on(&problem, &settings(1 << 30), 15.0).0, Method::Newton);
    }
}

/// With l1, from a part of the rows; and without, on drawn rows.
#[test]
fn methods_that_begin_with_some_rows_resume() {
    let (few, many) = (data(1500, 5, 0.6, 4), data(4000, 24, 0.6, 4));
    let design = Csr::new(few.sparse.view()).unwrap();
    let wide = Csr::new(many.sparse.view()).unwrap();
    for intercept in [false, true] {
        let h = L1 { strength: 1e-3 };
        let problem = pose(design, &few.signs, (Logistic, h, 0.0), intercept);
        assert_eq!(goes_on(&problem, &settings(1 << 30), 15.0).0, Method::Newton);
        // Few digits, for which a Hessian of all rows is too dear.
        let problem = pose(wide, &many.signs, (Logistic, Zero, 1e-5), intercept);
        let rough = AutoSettings { stop: Stop::at_relative(1e-4), ..settings(1 << 30) };
        assert_eq!(goes_on(&problem, &rough, 20.0).0, Method::SubsampledNewton);
    }
}

/// Features that are nearly the same, and hardly a penalty: Newton-CG needs more than three times the 150 passes that were
/// promised.
#[test]
fn a_change_of_methods_resumes() {
    let (rows, mix) = (data(200, 100, 1.0, 4).dense, data(100, 100, 1.0, 5).dense);
    let scales = Array1::from_shape_fn(100, |k| 10f64.powf(-0.06 * k as f64));
    let x = (rows * scales).dot(&mix);
    let y: Vec<f64> = (0..200).map(|i| if i * (7 * i + 3) % 11 < 5 { 1.0 } else { -1.0 }).collect();
    let design = Dense::new(x.view()).unwrap();
    let problem = pose(design, &y, (Logistic, Zero, 1e-9), false);
    let changed = goes_on(&problem, &settings(100), 480.0);
    assert_eq!(changed, (Method::NewtonCg, Some(Method::Lbfgs)));
}

/// A state of another problem is a warm start at its point, where it has the shape; else it is refused.
#[test]
fn a_state_of_another_problem_is_a_warm_start() {
    let (data, wide) = (toy(), data(60, 7, 0.6, 11));
    let design = Csr::new(data.sparse.view()).unwrap();
    let of = |l2| pose(design, &data.signs, (Logistic, Zero, l2), true);
    let settings = settings(1 << 30);
    let go = |problem: &Problem<'_, Csr<'_, f64>, Logistic, Zero>, start, looks| {
        run(problem, &settings, (1e3, start), &mut StepsLeft(looks)).state
    };
    let begun = go(&of(1e-3), None, 3);
    let (other, at) = (of(1e-1), begun.point.clone());
    let warm = auto(&other, &settings, Some(at), &mut StepsLeft(2)).unwrap().state;
    assert_eq!(go(&other, Some(begun.clone()), 2), warm);
    // Other targets, of which the choice does not depend.
    let flipped: Vec<f64> = data.signs.iter().map(|y| -y).collect();
    let other = pose(design, &flipped, (Logistic, Zero, 1e-3), true);
    let found = auto_from(&other, &settings, begun.clone(), &mut ()).unwrap();
    let expected = auto(&other, &settings, None, &mut ()).unwrap();
    assert_eq!(found.report.status, Status::Converged);
    let [found, expected] = [found, expected].map(|s| s.report.certificate.objective().unwrap());
    assert!((found - expected).abs() <= 1e-9);
    let y = &wide.signs;
    let wide = pose(Csr::new(wide.sparse.view()).unwrap(), y, (Logistic, Zero, 1e-3), true);
    let refused = auto_from(&wide, &settings, begun.clone(), &mut ());
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    // What was cut out of a file is refused or ignored.
    let json = serde_json::to_value(&begun).unwrap();
    let mut paths = vec![];
    crate::resume_incremental::arrays(&json, String::new(), &mut paths);
    for path in paths.iter().filter(|path| !path.contains("rng")) {
        let mut broken = json.clone();
        broken.pointer_mut(path).unwrap().as_array_mut().unwrap().pop();
        if let Ok(broken) = serde_json::from_value(broken) {
            let refused = auto_from(&of(1e-3), &settings, broken, &mut StepsLeft(1)).is_err();
            assert_eq!(refused, path == "/point/weights", "{path}");
        }
    }
    // A point in a method's own state is that of the whole.
    let mut text = json;
    text["trail"]["state"] = serde_json::json!({ "Point": { "weights": [1.0], "intercept": 0.0 } });
    let broken: AutoState = serde_json::from_value(text).unwrap();
    assert!(auto_from(&of(1e-3), &settings, broken, &mut ()).is_ok());
}

/// Which method it is, and that it goes on.
fn classes_go_on<D: Design + Copy, R: Automatic>(
    problem: &MulticlassProblem<'_, D, R>,
    settings: &AutoSettings,
    total: f64,
) -> (Method, Option<Method>) {
    let whole = check(R::NAME, total, |max_passes, start: Option<MulticlassAuto>| {
        let stop = Stop { max_passes, ..settings.stop };
        let settings = AutoSettings { stop, ..settings.clone() };
        let observer = &mut StepsLeft(usize::MAX);
        let solution = match start {
            None => multiclass::auto(problem, &settings, None, observer),
            Some(start) => multiclass::auto_from(problem, &settings, start, observer),
        };
        solution.unwrap()
    });
    (whole.choice.method, whole.choice.switched)
}

#[test]
fn several_classes_resume() {
    let data = toy();
    let y = codes(&data.reals, 8);
    let pose = |l2| {
        let design = Csr::new(data.sparse.view()).unwrap();
        MulticlassProblem::new(design, &y, 3, Zero, l2).unwrap().with_intercepts().unwrap()
    };
    let problem = pose(1e-3);
    assert_eq!(classes_go_on(&problem, &settings(1 << 30), 60.0), (Method::Newton, None));
    assert_eq!(classes_go_on(&problem, &settings(100), 75.0), (Method::NewtonCg, None));
    let h = L1 { strength: 1e-3 };
    let sparse = problem.clone().penalised(h, 1e-3).unwrap();
    assert_eq!(classes_go_on(&sparse, &settings(100), 45.0), (Method::Catalyst, None));
    let groups = multiclass::feature_groups(6, 3).unwrap();
    let h = GroupLasso { groups, strength: 1e-3 };
    let grouped = problem.penalised(h, 1e-3).unwrap();
    assert_eq!(classes_go_on(&grouped, &settings(100), 45.0), (Method::Fista, None));
}
