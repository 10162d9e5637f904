//! Coordinate descent: step by step against the algorithm as it is printed, at the optimum against the independent solver, in every
//! order, with and without extrapolation.

use crate::common::{Data, data, distance, objective, reference};
use fenchel_erm::loss::{Logistic, Squared, SquaredHinge};
use fenchel_erm::methods::newton::AsElasticNet;
use fenchel_erm::methods::{CoordinateSettings, coordinate_descent};
use fenchel_erm::prelude::Refusal;
use fenchel_erm::{AutoSettings, Error, Point, Problem, auto};
use fenchel_linalg::{Csr, CsrMatrix, Dense, Invalid};
use fenchel_optim::prox::{L1, L1L2, Zero, soft_threshold};
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Cadence, Certificate, Loss, Status, Stop, Trace};
use rand::RngExt;

const ORDERS: [Order; 4] = [Order::Cyclic, Order::Permuted, Order::Uniform, Order::LargestGap];

/// Nothing but the sweeps, for so many of them; the first pass is the certificate at the start.
fn plain(sweeps: f64, order: Order) -> CoordinateSettings {
    let passes = 1.0 + sweeps - 0.5;
    let stop = Stop { absolute: 0.0, relative: 0.0, max_passes: passes, ..Stop::default() };
    let (working_set, extrapolates) = (false, false);
    CoordinateSettings { order, extrapolates, working_set, stop, ..Default::default() }
}

fn tight() -> Stop {
    Stop { absolute: 1e-13, max_passes: 1e5, ..Stop::at_relative(1e-10) }
}

/// `x_c <- S(x_c - g_c / L_c, l1 / L_c)` with the gradient from scratch at every step. `next` gives the coordinate.
fn textbook<L: Loss>(
    x: &ndarray::Array2<f64>,
    y: &[f64],
    loss: L,
    (l1, l2): (f64, f64),
    steps: usize,
    next: impl Fn(usize, &[f64]) -> usize,
) -> Vec<f64> {
    let (n, d) = x.dim();
    let mut w = vec![0.0; d];
    for step in 0..steps {
        let slopes: Vec<f64> = (0..d)
            .map(|c| {
                let of = |i: usize| {
                    let t: f64 = (0..d).map(|e| x[[i, e]] * w[e]).sum();
                    loss.derivative(t, y[i]) * x[[i, c]]
                };
                (0..n).map(of).sum::<f64>() / n as f64 + l2 * w[c]
            })
            .collect();
        let violations: Vec<f64> = (0..d)
            .map(|c| match w[c] {
                0.0 => (slopes[c].abs() - l1).max(0.0),
                w => (slopes[c] + l1 * w.signum()).abs(),
            })
            .collect();
        let c = next(step, &violations);
        let squares: f64 = (0..n).map(|i| x[[i, c]] * x[[i, c]]).sum();
        let curvature = loss.curvature() * squares / n as f64 + l2;
        w[c] = soft_threshold(w[c] - slopes[c] / curvature, l1 / curvature);
    }
    w
}

#[test]
fn sweeps_are_those_of_the_printed_algorithm() {
    let data = data(14, 5, 0.8, 3);
    let design = Csr::new(data.sparse.view()).unwrap();
    for sweeps in [1, 2, 7] {
        for (l1, l2) in [(0.0, 0.05), (0.02, 0.0), (0.02, 0.03)] {
            let problem =
                Problem::new(design, &data.reals, Squared, L1 { strength: l1 }, l2).unwrap();
            let settings = plain(f64::from(sweeps), Order::Cyclic);
            let found = coordinate_descent(&problem, &settings, None, &mut ()).unwrap().state;
            let steps = 5 * sweeps as usize;
            let cyclic = |step: usize, _: &[f64]| step % 5;
            let w = textbook(&data.dense, &data.reals, Squared, (l1, l2), steps, cyclic);
            assert!(distance(&found.weights, &w) < 1e-13, "{sweeps} {l1} {l2}");
            let problem =
                Problem::new(design, &data.signs, Logistic, L1 { strength: l1 }, l2).unwrap();
            let found = coordinate_descent(&problem, &settings, None, &mut ()).unwrap().state;
            let w = textbook(&data.dense, &data.signs, Logistic, (l1, l2), steps, cyclic);
            assert!(distance(&found.weights, &w) < 1e-13, "logistic {sweeps} {l1} {l2}");
        }
    }
}

/// The rule of Gauss and Southwell: the coordinate that violates optimality most, every time.
#[test]
fn the_largest_violation_is_next() {
    let data = data(14, 5, 0.8, 4);
    let problem = Problem::new(
        Dense::new(data.dense.view()).unwrap(),
        &data.reals,
        Squared,
        L1 { strength: 0.02 },
        0.01,
    )
    .unwrap();
    let largest =
        |_: usize, v: &[f64]| (0..5).fold(0, |best, c| if v[c] > v[best] { c } else { best });
    let mut settings = plain(0.0, Order::LargestGap);
    // A step looks at every column (half a pass) and visits one (a fifth).
    for steps in 1..6 {
        settings.stop.max_passes = 1.0 + 0.7 * f64::from(steps) - 0.1;
        let s = coordinate_descent(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.oracle_calls, steps as u64);
        let w = textbook(&data.dense, &data.reals, Squared, (0.02, 0.01), steps as usize, largest);
        assert!(distance(&s.state.weights, &w) < 1e-13, "{steps}");
    }
}

fn check<L: Loss + Copy, R: AsElasticNet + Copy>(
    data: &Data,
    y: &[f64],
    (loss, regulariser, l2): (L, R, f64),
    order: &Order,
) {
    for intercept in [false, true] {
        let (w, b) = reference(&data.dense, y, &loss, &regulariser, l2, intercept);
        let best = objective(&data.dense, y, &loss, &regulariser, l2, (&w, b));
        for extrapolates in [false, true] {
            let design = Csr::new(data.sparse.view()).unwrap();
            let problem = Problem::new(design, y, loss, regulariser, l2).unwrap();
            let problem = if intercept { problem.with_intercept() } else { problem };
            let settings = CoordinateSettings {
                order: order.clone(),
                extrapolates,
                stop: tight(),
                ..Default::default()
            };
            let s = coordinate_descent(&problem, &settings, None, &mut ()).unwrap();
            let name =
                format!("{} {} {} {intercept} {extrapolates}", L::NAME, R::NAME, order.name());
            assert_eq!(s.report.status, Status::Converged, "{name}: {}", s.report);
            let found = problem.objective(&s.state).unwrap();
            // The gap is proved to 1e-10 of the objective.
            assert!((found - best).abs() <= 2e-10 * best, "{name}: {found} {best}");
            let Certificate::Gap { lower_bound, .. } = s.report.certificate else { panic!() };
            assert!(lower_bound <= best * (1.0 + 1e-12), "{name}: {lower_bound} {best}");
        }
    }
}

#[test]
fn every_order_finds_the_optimum() {
    for (shape, seed) in [((40, 12), 5), ((20, 30), 6)] {
        let data = data(shape.0, shape.1, 0.5, seed);
        for order in &ORDERS {
            let net = L1L2 { l1: 0.01, l2: 0.02 };
            check(&data, &data.reals, (Squared, net, 0.0), order);
            check(&data, &data.reals, (Squared, L1 { strength: 0.02 }, 0.0), order);
            check(&data, &data.signs, (SquaredHinge, Zero, 0.05), order);
            check(&data, &data.signs, (Logistic, net, 0.0), order);
        }
    }
}

/// Rows of weight `k` are `k` copies of them.
#[test]
fn weights_are_copies() {
    let data = data(15, 6, 0.7, 8);
    let counts: Vec<f64> = (0..15).map(|i| f64::from(i % 4)).collect();
    let rows: Vec<usize> = (0..15).flat_map(|i| vec![i; i % 4]).collect();
    let copies = data.dense.select(ndarray::Axis(0), &rows);
    let targets: Vec<f64> = rows.iter().map(|&i| data.reals[i]).collect();
    let l1 = L1 { strength: 0.02 };
    let weighted =
        Problem::new(Dense::new(data.dense.view()).unwrap(), &data.reals, Squared, l1, 0.01);
    let weighted = weighted.unwrap().with_weights(&counts).unwrap().with_intercept();
    let copied = Problem::new(Dense::new(copies.view()).unwrap(), &targets, Squared, l1, 0.01);
    let copied = copied.unwrap().with_intercept();
    let settings = CoordinateSettings { stop: tight(), ..Default::default() };
    let a = coordinate_descent(&weighted, &settings, None, &mut ()).unwrap().state;
    let b = coordinate_descent(&copied, &settings, None, &mut ()).unwrap().state;
    // The objective is 0.01-strongly convex: a gap of 1e-10 leaves sqrt(2e-10 / 0.01) at most.
    assert!(distance(&a.weights, &b.weights) < 3e-4, "{a:?} {b:?}");
}

/// Ill-conditioned least squares: extrapolation saves most sweeps, and the objective never rises.
#[test]
fn extrapolation_lowers_the_objective_and_saves_sweeps() {
    let mut data = data(60, 20, 1.0, 9);
    for mut row in data.dense.rows_mut() {
        for c in 1..20 {
            row[c] = 0.95 * row[c - 1] + (1.0 - 0.95f64.powi(2)).sqrt() * row[c];
        }
    }
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.reals, Squared, L1 { strength: 1e-3 }, 0.0).unwrap();
    let run = |extrapolates| {
        let stop = Stop { check: Cadence::Every(1.0), ..tight() };
        let settings = CoordinateSettings { extrapolates, stop, ..Default::default() };
        let mut trace = Trace::new();
        let s = coordinate_descent(&problem, &settings, None, &mut trace).unwrap();
        let objectives = trace.suboptimality(0.0);
        for pair in objectives.windows(2) {
            assert!(pair[1].1 <= pair[0].1 * (1.0 + 1e-14), "{pair:?}");
        }
        let stop = Stop::after_passes(30.0);
        let fixed = CoordinateSettings { stop, ..settings };
        let watched = coordinate_descent(&problem, &fixed, None, &mut Trace::new()).unwrap();
        let unwatched = coordinate_descent(&problem, &fixed, None, &mut ()).unwrap();
        assert_eq!(watched.state, unwatched.state);
        assert_eq!(s.report.status, Status::Converged, "{}", s.report);
        s.report.oracle_calls
    };
    let (with, without) = (run(true), run(false));
    assert!(2 * with < without, "{with} {without}");
}

/// The seed decides, and a solution has nothing to do.
#[test]
fn seeds_and_warm_starts() {
    let data = data(40, 30, 0.4, 11);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.reals, Squared, L1 { strength: 0.01 }, 1e-3).unwrap();
    let run = |order: Order, seed, start| {
        let settings = CoordinateSettings { order, seed, ..Default::default() };
        coordinate_descent(&problem, &settings, start, &mut ()).unwrap()
    };
    for order in ORDERS {
        let random = matches!(order, Order::Permuted | Order::Uniform);
        let (a, b) = (run(order.clone(), 1, None).state, run(order.clone(), 1, None).state);
        assert_eq!(a, b, "{}", order.name());
        assert_eq!(a != run(order.clone(), 2, None).state, random, "{}", order.name());
        assert_eq!(run(order, 1, Some(a)).report.passes, 0.0);
    }
}

#[test]
fn what_cannot_be_treated_is_refused() {
    use fenchel_erm::loss::{Hinge, Poisson};
    let data = data(10, 3, 1.0, 0);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.reals, Squared, Zero, 0.1).unwrap();
    let with = |settings: CoordinateSettings, start| {
        coordinate_descent(&problem, &settings, start, &mut ())
    };
    let memory = CoordinateSettings { max_memory: Some(100), ..Default::default() };
    assert!(matches!(
        with(memory, None),
        Err(Error::Refused(Refusal::MemoryLimit { needed: 272, limit: 100, .. }))
    ));
    let order = CoordinateSettings { order: Order::Lipschitz, ..Default::default() };
    let refused = with(order, None).unwrap_err().to_string();
    assert!(
        refused.contains("the Lipschitz order; expected Cyclic, Permuted, Uniform"),
        "{refused}"
    );
    assert!(matches!(
        with(CoordinateSettings::default(), Some(Point::zero(2))),
        Err(Error::Invalid(Invalid::Length { .. }))
    ));
    let stop = Stop { relative: f64::NAN, ..Stop::default() };
    assert!(with(CoordinateSettings { stop, ..Default::default() }, None).is_err());
    let settings = CoordinateSettings::default();
    let kinked = Problem::new(design, &data.signs, Hinge, Zero, 0.1).unwrap();
    assert!(coordinate_descent(&kinked, &settings, None, &mut ()).is_err());
    let ones = [1.0; 10];
    let counts = Problem::new(design, &ones, Poisson, Zero, 0.1).unwrap();
    assert!(coordinate_descent(&counts, &settings, None, &mut ()).is_err());
}

/// Two indicators a row, without l1: `auto` solves one linear system.
#[test]
fn least_squares_on_one_hot_rows_is_one_linear_system() {
    let (n, d) = (4000, 1500_u32);
    let mut rng = stream(3, 0);
    let columns: Vec<u32> =
        (0..n).flat_map(|_| [rng.random_range(0..1000), rng.random_range(1000..d)]).collect();
    let effects: Vec<f64> = (0..d).map(|_| rng.random_range(-1.0..1.0)).collect();
    let of = |c: &[u32]| effects[c[0] as usize] + effects[c[1] as usize];
    let y: Vec<f64> = columns.chunks(2).map(|c| of(c) + rng.random_range(-0.5..0.5)).collect();
    let offsets = (0..=n).map(|i| 2 * i).collect();
    let x = CsrMatrix::new((n, d as usize), offsets, columns, vec![1.0; 2 * n]);
    let design = Csr::new(x.view()).unwrap();
    let settings = AutoSettings { stop: Stop::at_relative(1e-8), ..Default::default() };
    let ridge = Problem::new(design, &y, Squared, Zero, 1.0 / n as f64).unwrap();
    let s = auto(&ridge, &settings, None, &mut ()).unwrap();
    assert_eq!(s.state.choice.method.name(), "Newton-CG", "{}", s.state.choice);
    assert_eq!(s.report.status, Status::Converged, "{}", s.report);
    // One linear system, or a second for the last digits.
    assert!(s.report.oracle_calls <= 2, "{}", s.report.oracle_calls);
}

/// A sweep with replacement leaves coordinates out: it does not end a run by what it did not see. `x_c = y_c - 0.02` over `1.2`.
#[test]
fn random_draws_end_where_all_coordinates_are_done() {
    let x = ndarray::array![[1.0, 0.0], [0.0, 1.0]];
    let problem = Problem::new(
        Dense::new(x.view()).unwrap(),
        &[1.0, 2.0],
        Squared,
        L1 { strength: 0.01 },
        0.1,
    )
    .unwrap();
    for seed in 0..200 {
        let settings = CoordinateSettings { order: Order::Uniform, seed, ..Default::default() };
        let found = coordinate_descent(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(found.report.status, Status::Converged, "{seed}");
        for (w, y) in found.state.weights.iter().zip([1.0, 2.0]) {
            assert!((w - (y - 0.02) / 1.2).abs() < 1e-2, "{seed}: {w}");
        }
    }
}

/// The intercept of a start counts only where the problem has one.
#[test]
fn a_start_with_an_intercept_in_a_problem_without_one() {
    let x = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0]];
    let y = [1.0, -1.0, 1.0];
    let net = L1 { strength: 0.05 };
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, net, 0.01).unwrap();
    let start = || Some(Point { weights: vec![0.0, 0.0], intercept: 5.0 });
    let descent = coordinate_descent(&problem, &CoordinateSettings::default(), start(), &mut ());
    let settings = fenchel_erm::methods::NewtonSettings::default();
    let newton = fenchel_erm::methods::newton(&problem, &settings, start(), &mut ());
    for found in [descent.unwrap(), newton.unwrap()] {
        assert_eq!((found.report.status, found.state.intercept), (Status::Converged, 0.0));
        let objective = problem.objective(&found.state).unwrap();
        assert!((objective - found.report.certificate.objective().unwrap()).abs() < 1e-12);
    }
}
