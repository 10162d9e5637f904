//! A state, written as JSON and read back, is a warm start: it never ends worse than it began, costs no work at the
//! optimum, and goes on with its visits.

use crate::common::{Data, data};
use fenchel_finite_sum::general::{self, FiniteSum, Sum, SumSettings, SumState};
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{
    CatalystSettings, DualState, FinitoSettings, FistaSettings, LbfgsSettings, MisoMuSettings,
    MisoSettings, NewtonCgSettings, NewtonSettings, ProxFinitoSettings, QningSettings, SagSettings,
    SagaSettings, SdcaSettings, SgdSettings, SubsampledNewtonSettings, SvrgSettings, catalyst,
    finito, fista, lbfgs, miso, miso_mu, newton, newton_cg, prox_finito, qning, sag, saga, sdca,
    sgd, subsampled_newton, svrg,
};
use fenchel_finite_sum::multiclass::{MulticlassProblem, MulticlassSettings};
use fenchel_finite_sum::prox::{L1, Zero};
use fenchel_finite_sum::{Problem, multiclass};
use fenchel_linalg::Csr;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Report, Status, Stop};
use serde_json::Value;

const N: usize = 60;
const D: usize = 8;

/// Logistic terms of dense rows.
struct Terms<'d>(&'d Data);

impl FiniteSum for Terms<'_> {
    type Scratch = ();

    fn terms(&self) -> usize {
        N
    }

    fn dimension(&self) -> usize {
        D
    }

    fn scratch(&self) {}

    fn smoothness(&self, i: usize) -> f64 {
        let row = self.0.dense.row(i);
        0.25 * row.dot(&row)
    }

    fn gradient(&self, i: usize, x: &[f64], (): &mut (), out: &mut [f64]) -> f64 {
        let row = self.0.dense.row(i);
        let margin = row.iter().zip(x).map(|(a, x)| a * x).sum();
        let slope = Logistic.derivative(margin, self.0.signs[i]);
        out.iter_mut().zip(row).for_each(|(o, a)| *o = slope * a);
        Logistic.value(margin, self.0.signs[i])
    }
}

/// A method, from a state to a state.
type Solve<'p> = Box<dyn Fn(Stop, Option<&Value>) -> Result<(Value, Report), String> + 'p>;

/// A method with its settings on a problem, its states written down.
macro_rules! method {
    ($name:literal, $solve:path, $problem:expr, $settings:ident { $($field:ident: $value:expr),* }) => {
        ($name, Box::new(move |stop: Stop, start: Option<&Value>| {
            let start = match start.map(|start| serde_json::from_value(start.clone())).transpose() {
                Ok(start) => start,
                Err(error) => return Err(error.to_string()),
            };
            let settings = $settings { stop, $($field: $value,)* ..Default::default() };
            let s = $solve($problem, &settings, start, &mut ()).map_err(|e| e.to_string())?;
            Ok((serde_json::to_value(&s.state).map_err(|e| e.to_string())?, s.report))
        }) as Solve<'_>)
    };
}

type WithL1<'a> = Problem<'a, Csr<'a, f64>, Logistic, L1>;
type Smooth<'a> = Problem<'a, Csr<'a, f64>, Logistic, Zero>;
type Classes<'a> = MulticlassProblem<'a, Csr<'a, f64>, Zero>;

fn methods<'p>(
    l1: &'p WithL1<'p>,
    smooth: &'p Smooth<'p>,
    plain: &'p Smooth<'p>,
    classes: &'p Classes<'p>,
    sum: &'p Sum<'p, Terms<'p>, Zero>,
) -> Vec<(&'static str, Solve<'p>)> {
    vec![
        method!("sdca", sdca, l1, SdcaSettings {}),
        method!("prox_finito", prox_finito, l1, ProxFinitoSettings {}),
        method!("miso_mu", miso_mu, l1, MisoMuSettings {}),
        method!("catalyst", catalyst, l1, CatalystSettings {}),
        method!("qning", qning, l1, QningSettings {}),
        method!("saga", saga, l1, SagaSettings {}),
        method!("sag", sag, smooth, SagSettings {}),
        method!("svrg", svrg, l1, SvrgSettings {}),
        method!("sgd", sgd, smooth, SgdSettings {}),
        method!("finito", finito, plain, FinitoSettings {}),
        method!("miso", miso, plain, MisoSettings {}),
        method!("fista", fista, l1, FistaSettings {}),
        method!("lbfgs", lbfgs, smooth, LbfgsSettings {}),
        method!("newton", newton, l1, NewtonSettings {}),
        method!("newton_cg", newton_cg, smooth, NewtonCgSettings {}),
        method!("subsampled_newton", subsampled_newton, smooth, SubsampledNewtonSettings {}),
        method!("classes: sdca", multiclass::sdca, classes, MulticlassSettings {}),
        method!("classes: catalyst", multiclass::catalyst, classes, MulticlassSettings {}),
        method!("classes: newton", multiclass::newton, classes, NewtonSettings {}),
        method!("classes: newton_cg", multiclass::newton_cg, classes, NewtonCgSettings {}),
        method!("classes: lbfgs", multiclass::lbfgs, classes, LbfgsSettings {}),
        method!("general: saga", general::saga, sum, SumSettings {}),
        method!("general: svrg", general::svrg, sum, SumSettings {}),
        method!("general: finito", general::finito, sum, SumSettings {}),
    ]
}

fn with_methods(seed: u64, mut work: impl FnMut(&'static str, &Solve<'_>)) {
    let data = data(N, D, 0.7, seed);
    let design = Csr::new(data.sparse.view()).unwrap();
    let smooth = Problem::new(design, &data.signs, Logistic, Zero, 0.05).unwrap();
    let l1 = Problem::new(design, &data.signs, Logistic, L1 { strength: 0.01 }, 0.05).unwrap();
    let l1 = l1.with_intercept();
    let plain = Problem::new(design, &data.signs, Logistic, Zero, 0.3).unwrap();
    let smooth = smooth.with_intercept();
    let y: Vec<usize> =
        data.reals.iter().map(|t| usize::from(*t > 0.2) + usize::from(*t > -0.2)).collect();
    let classes =
        MulticlassProblem::new(design, &y, 3, Zero, 0.05).unwrap().with_intercepts().unwrap();
    let terms = Terms(&data);
    let sum = Sum::new(&terms, Zero, 0.3).unwrap();
    for (name, solve) in methods(&l1, &smooth, &plain, &classes, &sum) {
        work(name, &solve);
    }
}

fn objective(report: &Report) -> f64 {
    report.certificate.objective().expect("an objective")
}

#[test]
fn a_start_never_ends_worse_than_it_began() {
    with_methods(1, |name, solve| {
        let noisy = name.contains("sgd");
        let (mut state, first) = solve(Stop::after_passes(6.0), None).unwrap();
        let mut last = objective(&first);
        for passes in [0.0, 3.0, 1.0, 4.0] {
            let (next, report) = solve(Stop::after_passes(passes), Some(&state)).unwrap();
            let slack = if noisy { 0.02 } else { 1e-12 };
            assert!(objective(&report) <= last + slack, "{name}: {report} after {last}");
            (state, last) = (next, objective(&report));
        }
    });
}

#[test]
fn a_start_at_the_optimum_costs_no_work() {
    let stop = Stop { max_passes: 3000.0, ..Stop::at_relative(1e-7) };
    with_methods(2, |name, solve| {
        if name.contains("sgd") {
            return;
        }
        let (state, report) = solve(stop, None).unwrap();
        assert_eq!(report.status, Status::Converged, "{name}: {report}");
        let (_, again) = solve(stop, Some(&state)).unwrap();
        assert_eq!((again.status, again.passes), (Status::Converged, 0.0), "{name}: {again}");
        assert!((objective(&again) - objective(&report)).abs() <= 1e-12, "{name}: {again}");
    });
}

/// Uniform draws of a pass miss a third of the terms. The next pass must not miss the same ones.
#[test]
fn visits_go_on() {
    let data = data(N, D, 0.7, 3);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.05).unwrap();
    let settings = SdcaSettings {
        order: Order::Uniform,
        stop: Stop::after_passes(1.0),
        ..SdcaSettings::default()
    };
    let met = |state: &DualState| state.dual.iter().filter(|s| **s != 0.0).count();
    let one = sdca(&problem, &settings, None, &mut ()).unwrap().state;
    let by_hand = DualState::new(one.point.clone(), one.dual.clone());
    let two = sdca(&problem, &settings, Some(one.clone()), &mut ()).unwrap().state;
    assert!(met(&one) < 50 && met(&two) > met(&one) + 5, "{} {}", met(&one), met(&two));
    let again = sdca(&problem, &settings, Some(by_hand), &mut ()).unwrap().state;
    assert_eq!(met(&again), met(&one));
}

/// Where the arrays of a document are.
fn arrays(json: &Value, at: String, found: &mut Vec<String>) {
    match json {
        Value::Array(values) => {
            if !values.is_empty() {
                found.push(at.clone());
            }
            values.iter().enumerate().for_each(|(i, v)| arrays(v, format!("{at}/{i}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(k, v)| arrays(v, format!("{at}/{k}"), found));
        }
        _ => {}
    }
}

/// A file that was tampered with never panics: it is refused as a start of the wrong shape, or taken as a warm start.
#[test]
fn a_broken_state_does_no_harm() {
    with_methods(4, |name, solve| {
        let (state, _) = solve(Stop::after_passes(2.7), None).unwrap();
        let mut paths = vec![];
        arrays(&state, String::new(), &mut paths);
        assert!(!paths.is_empty(), "{name}");
        for path in paths {
            let mut broken = state.clone();
            broken.pointer_mut(&path).unwrap().as_array_mut().unwrap().pop();
            let found = solve(Stop::after_passes(0.7), Some(&broken));
            let of_point = path.starts_with("/point") || path.starts_with("/weights");
            assert!(found.is_err() || !of_point, "{name} {path}");
        }
    });
}

/// What a table says of other terms proves nothing, and SDCA on a general sum starts from what it is given.
#[test]
fn a_table_of_finito_is_no_table_of_gradients() {
    let data = data(N, D, 0.7, 5);
    let terms = Terms(&data);
    let sum = Sum::new(&terms, Zero, 0.3).unwrap();
    let settings = SumSettings { stop: Stop::after_passes(3.0), ..Default::default() };
    let left = general::finito(&sum, &settings, None, &mut ()).unwrap().state;
    assert_eq!(left.table.len(), N * D);
    let bare: SumState = left.point.clone().into();
    let from = |start| general::saga(&sum, &settings, Some(start), &mut ()).unwrap();
    assert_eq!(from(left).report.passes, from(bare).report.passes);
}
