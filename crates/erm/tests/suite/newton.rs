//! Proximal Newton against the independent solver, and where first-order methods give up.

use crate::common::{Data, data, distance, objective, reference};
use fenchel_datasets::embedded;
use fenchel_erm::loss::{Logistic, Squared, SquaredHinge};
use fenchel_erm::methods::newton::AsElasticNet;
use fenchel_erm::methods::{NewtonSettings, newton};
use fenchel_erm::prelude::Refusal;
use fenchel_erm::{Error, Point, Problem};
use fenchel_linalg::{Csr, CsrMatrix, Dense};
use fenchel_optim::prox::{L1, L1L2, Zero};
use fenchel_optim::random::stream;
use fenchel_optim::{Loss, Status, Stop};
use proptest::prelude::*;
use rand::RngExt;

fn tight() -> NewtonSettings {
    let stop = Stop { absolute: 1e-14, ..Stop::at_relative(1e-11) };
    NewtonSettings { stop, ..NewtonSettings::default() }
}

fn check<L: Loss + Copy, R: AsElasticNet + Copy>(
    loss: L,
    regulariser: R,
    l2: f64,
    (n, d): (usize, usize),
    seed: u64,
) {
    check_on(&data(n, d, 0.5, seed), loss, regulariser, l2, &format!("seed {seed}"));
}

fn check_on<L: Loss + Copy, R: AsElasticNet + Copy>(
    data: &Data,
    loss: L,
    regulariser: R,
    l2: f64,
    case: &str,
) {
    for intercept in [false, true] {
        let (w, b) = reference(&data.dense, &data.signs, &loss, &regulariser, l2, intercept);
        let best = objective(&data.dense, &data.signs, &loss, &regulariser, l2, (&w, b));
        let problem =
            Problem::new(Csr::new(data.sparse.view()).unwrap(), &data.signs, loss, regulariser, l2);
        let problem = problem.unwrap();
        let problem = if intercept { problem.with_intercept() } else { problem };
        let s = newton(&problem, &tight(), None, &mut ()).unwrap();
        let name = format!("{} {} intercept {intercept} {case}", L::NAME, R::NAME);
        assert_eq!(s.report.status, Status::Converged, "{name}: {}", s.report);
        let found = problem.objective(&s.state).unwrap();
        assert!((found - best).abs() <= 2e-11 * best, "{name}: {found} {best}");
        assert!(s.report.oracle_calls <= 30, "{name}: {} outer steps", s.report.oracle_calls);
        let dense = Problem::new(
            Dense::new(data.dense.view()).unwrap(),
            &data.signs,
            loss,
            regulariser,
            l2,
        );
        let dense = dense.unwrap();
        let dense = if intercept { dense.with_intercept() } else { dense };
        let s2 = newton(&dense, &tight(), None, &mut ()).unwrap();
        let scale = 1.0 + w.iter().map(|w| w.abs()).fold(0.0, f64::max);
        assert!(distance(&s.state.weights, &s2.state.weights) < 1e-4 * scale, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn newton_finds_the_optimum(seed in 0u64..10_000, d in 1usize..15) {
        let shape = (60, d);
        check(Logistic, Zero, 0.01, shape, seed);
        check(SquaredHinge, Zero, 0.01, shape, seed);
        check(Squared, Zero, 0.01, shape, seed);
        check(Logistic, L1 { strength: 0.01 }, 0.0, shape, seed);
        check(Squared, L1 { strength: 0.03 }, 0.0, shape, seed);
        check(Logistic, L1 { strength: 0.01 }, 0.02, shape, seed);
        check(Logistic, L1L2 { l1: 0.02, l2: 0.01 }, 0.0, shape, seed);
        check(Logistic, L1L2 { l1: 0.0, l2: 0.05 }, 0.0, shape, seed);
    }
}

/// More features than the first working set holds, and than rows.
#[test]
fn the_working_set_grows_to_the_support() {
    check(Logistic, L1 { strength: 0.004 }, 0.0, (80, 300), 1);
    check(Squared, L1 { strength: 0.004 }, 0.001, (80, 300), 2);
}

/// Many rows of a dozen entries: with and without l1 the optimum is that of the independent solver.
#[test]
fn many_rows_lead_to_the_optimum() {
    let data = data(1500, 60, 0.2, 5);
    for l2 in [1e-2, 1e-4] {
        check_on(&data, Logistic, Zero, l2, "many rows");
        check_on(&data, SquaredHinge, Zero, l2, "many rows");
        check_on(&data, Logistic, L1 { strength: 1e-3 }, l2, "many rows");
    }
    check_on(&data, Squared, L1 { strength: 3e-3 }, 0.0, "many rows");
}

/// Working sets too large for a Gram matrix, over columns: nearly orthogonal ones, and groups of twenty alike.
#[test]
fn large_sets_lead_to_the_optimum() {
    for alike in [0.0, 0.95] {
        let mut rng = stream(7, 0);
        let (n, d) = (1500, 1200_u32);
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..n {
            let group = rng.random_range(0..d / 20);
            let mut row: Vec<u32> = (0..5)
                .map(|k| {
                    let near = rng.random_range(0.0..1.0) < alike;
                    if near { 20 * group + 4 * k } else { rng.random_range(0..d / 5) * 5 + k }
                })
                .collect();
            row.sort_unstable();
            row.dedup();
            values.extend(row.iter().map(|_| rng.random_range(0.5..1.5)));
            columns.append(&mut row);
            offsets.push(columns.len());
        }
        let design = Csr::from_parts(&offsets, &columns, &values, d as usize).unwrap();
        let signs: Vec<f64> =
            (0..n).map(|_| if rng.random_range(0.0..1.0) < 0.5 { 1.0 } else { -1.0 }).collect();
        let l1 = L1 { strength: 1e-4 };
        let problem = Problem::new(design, &signs, Logistic, l1, 0.0).unwrap();
        let mut settings = tight();
        settings.stop.max_passes = f64::INFINITY;
        let s = newton(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{}", s.report);
        let support = s.state.weights.iter().filter(|w| **w != 0.0).count();
        assert!(support * support > 2 * 5 * n, "{support}");
        // Optimality, from the definition: |v_c| = l1 with the sign of x_c on the support, at most l1 off it.
        let mut slopes = vec![0.0_f64; d as usize];
        for (i, sign) in signs.iter().enumerate() {
            let row = offsets[i]..offsets[i + 1];
            let (row, entries) = (&columns[row.clone()], &values[row]);
            let weights = row.iter().map(|&c| s.state.weights[c as usize]);
            let margin: f64 = weights.zip(entries).map(|(x, a)| x * a).sum();
            let u = -sign / (1.0 + (sign * margin).exp()) / n as f64;
            row.iter().zip(entries).for_each(|(&c, a)| slopes[c as usize] += u * a);
        }
        for (c, (x, g)) in s.state.weights.iter().zip(&slopes).enumerate() {
            let violation = if *x == 0.0 {
                g.abs() - l1.strength
            } else {
                (g + l1.strength * x.signum()).abs()
            };
            assert!(violation <= 1e-8, "{alike}, {c}: {x}, {g}");
        }
    }
}

/// The seed draws orders, which there are with l1 alone.
#[test]
fn without_l1_nothing_is_random() {
    let data = data(1500, 60, 0.2, 6);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 1e-3).unwrap();
    let run = |seed| {
        let settings = NewtonSettings { seed, ..NewtonSettings::default() };
        newton(&problem, &settings, None, &mut ()).unwrap().state.weights
    };
    assert_eq!(run(1), run(1));
    assert_eq!(run(1), run(2));
}

/// Raw features with ranges from 1e-3 to 1e3: hopeless for a step size of 1/L.
#[test]
fn bad_scaling_is_no_obstacle() {
    let data = embedded::breast_cancer();
    let y = data.y.to_vec();
    for l2 in [0.1, 1e-3, 1e-6] {
        let design = Dense::new(data.x.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, Zero, l2).unwrap().with_intercept();
        let s = newton(&problem, &NewtonSettings::default(), None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{}", s.report);
        assert!(s.report.oracle_calls <= 25, "{}", s.report.oracle_calls);
    }
}

/// Twice the same column: the Hessian is singular without l2.
#[test]
fn collinear_columns_are_solved() {
    let x = ndarray::array![[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0], [0.5, 0.5], [-2.0, -2.0]];
    let y = [1.0, -1.0, -1.0, 1.0, 1.0];
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, 0.0).unwrap();
    let stop = Stop { absolute: 1e-9, relative: 0.0, max_passes: 100.0, ..Stop::default() };
    let settings = NewtonSettings { stop, ..NewtonSettings::default() };
    let s = newton(&problem, &settings, None, &mut ()).unwrap();
    assert_eq!(s.report.status, Status::Converged, "{}", s.report);
    // The one-dimensional optimum in x_0 + x_1, by its stationarity condition.
    let sum = s.state.weights[0] + s.state.weights[1];
    let slope: f64 =
        x.column(0).iter().zip(&y).map(|(&a, &y)| Logistic.derivative(a * sum, y) * a).sum();
    assert!(slope.abs() < 1e-8, "{slope} {}", s.report);
}

#[test]
fn memory_and_starts_are_checked() {
    let data = data(10, 3, 1.0, 0);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.1).unwrap();
    let settings = NewtonSettings { max_memory: Some(255), ..Default::default() };
    assert!(matches!(
        newton(&problem, &settings, None, &mut ()),
        Err(Error::Refused(Refusal::MemoryLimit { needed: 256, limit: 255, .. }))
    ));
    assert!(newton(&problem, &NewtonSettings::default(), Some(Point::zero(2)), &mut ()).is_err());
    // A warm start at the solution has nothing to do.
    let s = newton(&problem, &NewtonSettings::default(), None, &mut ()).unwrap();
    let again = newton(&problem, &NewtonSettings::default(), Some(s.state), &mut ()).unwrap();
    assert_eq!(again.report.passes, 0.0);
}

/// Fewer rows than columns: dense storage takes steps through an `n x n` system, sparse storage through a `d x d` one, and both end
/// where the independent solver does.
#[test]
fn wide_data_is_solved_through_its_rows() {
    for (n, d, seed) in [(2, 5, 1), (7, 30, 2), (20, 50, 3)] {
        let mut data = data(n, d, 1.0, seed);
        for (i, y) in data.signs.iter_mut().enumerate() {
            *y = if i % 2 == 0 { 1.0 } else { -1.0 };
        }
        for l2 in [0.5, 0.01] {
            check_on(&data, Squared, Zero, l2, "wide");
            check_on(&data, Logistic, Zero, l2, "wide");
            check_on(&data, Logistic, L1L2 { l1: 0.0, l2 }, 0.0, "wide");
        }
    }
}

/// The `n x n` system is what is asked for, not the Hessian of 8 MB.
#[test]
fn wide_data_needs_memory_by_its_rows() {
    let data = data(10, 1000, 1.0, 4);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.1).unwrap();
    let of = |max_memory| NewtonSettings { max_memory: Some(max_memory), ..tight() };
    assert!(newton(&problem, &of(20_000), None, &mut ()).is_ok());
    let refused = newton(&problem, &of(10_000), None, &mut ()).unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal::MemoryLimit { .. })), "{refused}");
    // Without l2 there is no way through the rows.
    let flat = Problem::new(design, &data.signs, Logistic, Zero, 0.0).unwrap();
    assert!(newton(&flat, &of(200_000), None, &mut ()).is_err());
}

/// Columns like their neighbours (correlation 0.99): sweeps creep, the system of the support does not.
#[test]
fn correlated_columns_take_few_steps() {
    for (loss, l1) in [(0, 0.02), (1, 0.002)] {
        let mut data = data(60, 40, 1.0, 5);
        for mut row in data.dense.rows_mut() {
            for c in 1..40 {
                row[c] = 0.99 * row[c - 1] + (1.0 - 0.99f64.powi(2)).sqrt() * row[c];
            }
        }
        let (offsets, columns) = ((0..=60).map(|i| 40 * i).collect(), (0..60).flat_map(|_| 0..40));
        let values = data.dense.iter().copied().collect();
        data.sparse = CsrMatrix::new((60, 40), offsets, columns.collect(), values);
        match loss {
            0 => check_on(&data, Squared, L1 { strength: l1 }, 0.0, "correlated"),
            _ => check_on(&data, Logistic, L1 { strength: l1 }, 0.001, "correlated"),
        }
    }
}
