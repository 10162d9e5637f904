//! Newton's methods go on bit for bit from their saved states.

use crate::common::data;
use crate::common::multiclass::codes;
use crate::common::runs::{StepsLeft, StopAt, check_steps};
use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::{
    ElasticNetForm, Globalisation, MulticlassProblem, NewtonCgSettings, NewtonCgState,
    NewtonSettings, NewtonState, Problem, SubsampledNewtonSettings, SubsampledNewtonState,
    multiclass, newton, newton_cg, subsampled_newton,
};
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Cadence, Loss, Stop};

/// The optimum of an intercept is found from where the steps left it.
#[test]
fn newton_cg_resumes() {
    let data = data(30, 6, 0.6, 8);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 1e-4).unwrap();
    // To the bits of the gradient, where it must halve.
    let stop = Stop { check: Cadence::Adaptive, ..Stop::after_passes(1e4) };
    for problem in [problem.clone(), problem.with_intercept()] {
        for globalisation in [Globalisation::LineSearch, Globalisation::TrustRegion] {
            let settings = NewtonCgSettings { globalisation, stop, ..Default::default() };
            check_steps(&format!("{globalisation:?}"), |steps, start| {
                newton_cg(&problem, &settings, start, &mut StepsLeft(steps)).unwrap().state
            });
        }
    }
}

#[test]
fn newton_of_several_classes_resumes() {
    let data = data(45, 5, 0.6, 8);
    let y = codes(&data.reals, 8);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = MulticlassProblem::new(design, &y, 3, Zero, 1e-5).unwrap();
    let stop = Stop { check: Cadence::Adaptive, ..Stop::after_passes(1e4) };
    for problem in [problem.clone(), problem.with_intercepts().unwrap()] {
        let settings = NewtonSettings { stop, ..Default::default() };
        check_steps("newton", |steps, start| {
            multiclass::newton(&problem, &settings, start, &mut StepsLeft(steps)).unwrap().state
        });
        let settings = NewtonCgSettings {
            globalisation: Globalisation::TrustRegion,
            stop,
            ..Default::default()
        };
        check_steps("newton_cg", |steps, start| {
            multiclass::newton_cg(&problem, &settings, start, &mut StepsLeft(steps)).unwrap().state
        });
        // Parts of a state that no run can have left are ignored.
        let begun = multiclass::newton_cg(&problem, &settings, None, &mut StepsLeft(3)).unwrap();
        let bare: NewtonCgState<_> = begun.state.point.clone().into();
        for (part, value) in
            [("radius", serde_json::json!(-1.0)), ("free", serde_json::json!([1.0]))]
        {
            let mut text = serde_json::to_value(&begun.state).unwrap();
            text["trail"][part] = value;
            let broken: NewtonCgState<_> = serde_json::from_value(text).unwrap();
            let go =
                |start| multiclass::newton_cg(&problem, &settings, Some(start), &mut StepsLeft(2));
            assert_eq!(go(broken).unwrap().state, go(bare.clone()).unwrap().state, "{part}");
        }
    }
}

/// With a sample of the rows and without, whose Hessians are made again.
#[test]
fn subsampled_newton_resumes() {
    let data = data(300, 6, 0.6, 8);
    let design = Csr::new(data.sparse.view()).unwrap();
    let smooth = Problem::new(design, &data.signs, Logistic, Zero, 1e-7).unwrap();
    for problem in [smooth.clone(), smooth.clone().with_intercept()] {
        for rows_per_variable in [1.0, 3.0, 40.0] {
            let stop = Stop { absolute: 0.0, ..Stop::after_passes(1e3) };
            let settings =
                SubsampledNewtonSettings { rows_per_variable, stop, ..Default::default() };
            check_steps(&format!("subsampled newton {rows_per_variable}"), |steps, start| {
                subsampled_newton(&problem, &settings, start, &mut StepsLeft(steps)).unwrap().state
            });
            // Nobody looks on, and the parts are passes, few enough for a gap beyond 0.
            let parts = [0.0, 2.0, 3.0, 0.0, 4.0, 1.0];
            let (mut state, mut whole) = (None, 0);
            for max_passes in parts {
                let stop = Stop { max_passes, ..stop };
                let settings = SubsampledNewtonSettings { stop, ..settings.clone() };
                let part = subsampled_newton(&problem, &settings, state, &mut ()).unwrap();
                let text = serde_json::to_string(&part.state).unwrap();
                state = Some(serde_json::from_str(&text).unwrap());
                whole += part.report.oracle_calls;
            }
            let once = subsampled_newton(&problem, &settings, None, &mut StopAt(whole));
            assert_eq!(state.as_ref(), Some(&once.unwrap().state), "{rows_per_variable}");
            // Another seed: a start at the point.
            let start = state.unwrap();
            let bare: SubsampledNewtonState = start.point.clone().into();
            let seed = SubsampledNewtonSettings { seed: 1, ..settings.clone() };
            let go = |settings: &SubsampledNewtonSettings, start: &SubsampledNewtonState| {
                subsampled_newton(&problem, settings, Some(start.clone()), &mut StepsLeft(3))
                    .unwrap()
                    .state
            };
            if rows_per_variable < 40.0 {
                assert_eq!(go(&seed, &start), go(&seed, &bare), "{rows_per_variable}");
            }
        }
    }
}

fn saved(state: &NewtonState) -> NewtonState {
    let text = serde_json::to_string(state).expect("finite numbers");
    serde_json::from_str(&text).expect("what was written")
}

/// Interrupted after every step, and again after the next, to two tolerances.
fn newton_goes_on<D: Design, L: Loss, R: ElasticNetForm>(
    name: &str,
    problem: &Problem<'_, D, L, R>,
) {
    for relative in [1e-6, 1e-10] {
        let stop = Stop { absolute: 0.0, ..Stop::at_relative(relative) };
        let settings = NewtonSettings { seed: 3, stop, ..Default::default() };
        let run = |steps, start: Option<NewtonState>| {
            newton(problem, &settings, start, &mut StepsLeft(steps)).unwrap()
        };
        let whole = run(1000, None);
        let steps = whole.report.oracle_calls;
        for first in 0..steps as usize {
            // A run that has ended by what its last model proved has no interruption to go on from.
            for second in [0, 1].into_iter().filter(|second| first + second < steps as usize) {
                let a = run(first, None);
                let b = run(second, Some(saved(&a.state)));
                // The bounds of the steps before are forgotten: only the steps say where to end.
                let c = run(steps as usize - first - second, Some(saved(&b.state)));
                let name = format!("{name} to {relative}, {first} and {second} of {steps} steps");
                let sum = a.report.oracle_calls + b.report.oracle_calls + c.report.oracle_calls;
                assert_eq!(sum, steps, "{name}");
                assert!(c.state == whole.state, "{name}");
            }
        }
    }
}

/// On Gram matrices and columns, by products, on sampled rows, and with a Hessian for all.
#[test]
fn newton_resumes() {
    for (case, (n, d, density), l1) in [
        ("few features", (60, 12, 0.6), 0.01),
        ("many features", (80, 300, 0.6), 0.004),
        ("a large support", (40, 600, 0.05), 1e-4),
        ("many rows", (1500, 60, 0.2), 1e-3),
    ] {
        let data = data(n, d, density, 5);
        let sparse = Csr::new(data.sparse.view()).unwrap();
        let dense = Dense::new(data.dense.view()).unwrap();
        let h = L1 { strength: l1 };
        let problem = Problem::new(sparse, &data.signs, Logistic, h, 0.0).unwrap();
        newton_goes_on(case, &problem);
        newton_goes_on(&format!("{case}, intercept"), &problem.with_intercept());
        let problem = Problem::new(sparse, &data.reals, Squared, h, 1e-3).unwrap();
        newton_goes_on(&format!("{case}, squared"), &problem.with_intercept());
        let problem = Problem::new(dense, &data.signs, Logistic, h, 1e-3).unwrap();
        newton_goes_on(&format!("{case}, dense"), &problem);
        if d < 100 {
            let problem = Problem::new(dense, &data.signs, Logistic, Zero, 1e-4).unwrap();
            newton_goes_on(&format!("{case}, no l1"), &problem);
            newton_goes_on(&format!("{case}, no l1, intercept"), &problem.with_intercept());
        }
    }
}

/// A state of another problem, other settings or a broken file is a start at its point.
#[test]
fn a_state_of_another_newton_run_is_a_warm_start() {
    let data = data(80, 300, 0.6, 5);
    let design = Csr::new(data.sparse.view()).unwrap();
    let pose = |l1| {
        let h = L1 { strength: l1 };
        Problem::new(design, &data.signs, Logistic, h, 0.0).unwrap().with_intercept()
    };
    let (one, other) = (pose(0.004), pose(0.003));
    let stop = Stop { absolute: 0.0, ..Stop::at_relative(1e-9) };
    let settings = NewtonSettings { stop, ..Default::default() };
    let state = newton(&one, &settings, None, &mut StepsLeft(3)).unwrap().state;
    let bare: NewtonState = state.point.clone().into();
    let go = |problem: &Problem<'_, _, Logistic, L1>, seed, start: &NewtonState| {
        let settings = NewtonSettings { seed, ..settings.clone() };
        newton(problem, &settings, Some(start.clone()), &mut StepsLeft(2)).unwrap().state
    };
    assert_ne!(go(&one, 0, &state), go(&one, 0, &bare));
    assert_eq!(go(&other, 0, &state), go(&other, 0, &bare));
    assert_eq!(go(&one, 1, &state), go(&one, 1, &bare));
    let json = serde_json::to_value(&state).unwrap();
    let mut paths = vec![];
    crate::resume_incremental::arrays(&json, String::new(), &mut paths);
    for path in paths.iter().filter(|path| !path.contains("rng")) {
        let mut broken = json.clone();
        broken.pointer_mut(path).unwrap().as_array_mut().unwrap().pop();
        if let Ok(broken) = serde_json::from_value::<NewtonState>(broken) {
            let refused = newton(&one, &settings, Some(broken), &mut StepsLeft(1)).is_err();
            assert_eq!(refused, path == "/point/weights", "{path}");
        }
    }
}

/// The state of a run on sparse rows, given to the same numbers stored dense: a start at its point. Every other row is
/// 0, as a count by some of the rows does not see.
#[test]
fn a_copy_of_sparse_columns_is_not_made_of_dense_rows() {
    let x = ndarray::Array2::from_shape_fn((5000, 8), |(i, j)| match i % 2 {
        0 => 0.0,
        _ => ((i * 7 + j * 13) as f64).sin(),
    });
    let y: Vec<f64> = (0..5000).map(|i| if x[[i, 0]] > 0.3 { 1.0 } else { -1.0 }).collect();
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, L1 { strength: 1e-3 }, 0.0).unwrap();
    let settings = NewtonSettings { stop: Stop::at_relative(1e-8), ..Default::default() };
    let early = newton(&problem, &settings, None, &mut StepsLeft(1)).unwrap().state;
    let mut text = serde_json::to_value(early).unwrap();
    text["trail"]["part"] = serde_json::json!([0, 1, 2, 3, 4, 5, 6, 7]);
    let foreign: NewtonState = serde_json::from_value(text).unwrap();
    let found = newton(&problem, &settings, Some(foreign), &mut ()).unwrap();
    assert_eq!(found.report.status, fenchel_optim::Status::Converged, "{}", found.report);
}
