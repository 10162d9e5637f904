//! Subsampled Newton against Newton's method on all rows, which is tested against an independent solver.

use fenchel_erm::loss::{Hinge, Huber, Logistic, Poisson, Squared};
use fenchel_erm::methods::{NewtonSettings, SubsampledNewtonSettings, newton, subsampled_newton};
use fenchel_erm::prelude::Refusal;
use fenchel_erm::{Error, Problem};
use fenchel_linalg::{Csr, CsrMatrix, Dense};
use fenchel_optim::prox::Zero;
use fenchel_optim::random::stream;
use fenchel_optim::{Loss, Status, Stop};
use ndarray::Array2;
use proptest::prelude::*;
use rand::RngExt;

fn tight(seed: u64) -> SubsampledNewtonSettings {
    let stop = Stop { absolute: 1e-14, ..Stop::at_relative(1e-10) };
    SubsampledNewtonSettings { seed, stop, ..Default::default() }
}

/// Rows of very different length, and columns of very different scale; a few columns are rare.
fn table(n: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, 7);
    Array2::from_shape_fn((n, d), |(i, c)| {
        let rare = if c == 0 { 0.01 } else { 0.5 / (1 + i % 5) as f64 };
        let scale = 10f64.powi((c % 4) as i32 - 2);
        if rng.random::<f64>() < rare { scale * (rng.random::<f64>() - 0.3) } else { 0.0 }
    })
}

fn sparse(x: &Array2<f64>) -> CsrMatrix<f64> {
    let (n, d) = x.dim();
    let rows: Vec<Vec<(u32, f64)>> = x
        .rows()
        .into_iter()
        .map(|row| {
            let entries = row.iter().enumerate().filter(|(_, a)| **a != 0.0);
            entries.map(|(c, a)| (c as u32, *a)).collect()
        })
        .collect();
    let indptr: Vec<usize> = std::iter::once(0)
        .chain(rows.iter().scan(0, |sum, row| {
            *sum += row.len();
            Some(*sum)
        }))
        .collect();
    let (columns, values) = rows.into_iter().flatten().unzip();
    CsrMatrix::new((n, d), indptr, columns, values)
}

fn check<L: Loss + Copy>(loss: L, y: &[f64], x: &Array2<f64>, l2: f64, seed: u64) {
    let mut rng = stream(seed, 8);
    let weights: Vec<f64> = (0..y.len()).map(|_| rng.random::<f64>() + 0.1).collect();
    let sparse = sparse(x);
    for (intercept, weighted) in [(false, false), (true, false), (false, true), (true, true)] {
        let case = format!("{} l2 {l2} intercept {intercept} weights {weighted}", L::NAME);
        let mut problem =
            Problem::new(Csr::new(sparse.view()).unwrap(), y, loss, Zero, l2).unwrap();
        let mut dense = Problem::new(Dense::new(x.view()).unwrap(), y, loss, Zero, l2).unwrap();
        if weighted {
            problem = problem.with_weights(&weights).unwrap();
            dense = dense.with_weights(&weights).unwrap();
        }
        if intercept {
            (problem, dense) = (problem.with_intercept(), dense.with_intercept());
        }
        let exact = NewtonSettings { stop: tight(0).stop, ..Default::default() };
        let best = newton(&problem, &exact, None, &mut ()).unwrap();
        let best = best.report.certificate.objective().unwrap();
        let found = subsampled_newton(&problem, &tight(seed), None, &mut ()).unwrap();
        let objective = problem.objective(&found.state).unwrap();
        assert_eq!(found.report.status, Status::Converged, "{case}: {}", found.report);
        assert!((objective - best).abs() <= 3e-10 * best.abs(), "{case}: {objective} {best}");
        // The certificate is that of the point, and it holds.
        let certificate = found.report.certificate;
        let lower = certificate.objective().unwrap() - certificate.value();
        assert!(
            lower <= best + 1e-12 * best.abs() && objective >= best - 1e-9 * best.abs(),
            "{case}"
        );
        let again = subsampled_newton(&dense, &tight(seed), None, &mut ()).unwrap();
        let objective = dense.objective(&again.state).unwrap();
        assert_eq!(again.report.status, Status::Converged, "{case}, dense: {}", again.report);
        assert!(
            (objective - best).abs() <= 3e-10 * best.abs(),
            "{case}, dense: {objective} {best}"
        );
        // From its own solution there is nothing left to do.
        let resumed = subsampled_newton(&problem, &tight(seed), Some(found.state), &mut ());
        assert!(resumed.unwrap().report.oracle_calls <= 1, "{case}");
    }
}

fn check_all(seed: u64, d: usize, l2: f64) {
    let n = 600;
    let x = table(n, d, seed);
    let mut rng = stream(seed, 9);
    let noise: Vec<f64> = (0..n).map(|i| x[[i, d - 1]] + rng.random::<f64>() - 0.4).collect();
    let signs: Vec<f64> = noise.iter().map(|t| f64::signum(*t)).collect();
    let counts: Vec<f64> = noise.iter().map(|t| (2.0 * t.abs()).floor()).collect();
    let l2 = 10f64.powf(l2);
    check(Logistic, &signs, &x, l2, seed);
    check(Squared, &noise, &x, l2, seed);
    check(Huber { delta: 0.3 }, &noise, &x, l2, seed);
    check(Poisson, &counts, &x, l2, seed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn finds_the_optimum(seed in 0u64..10_000, d in 1usize..9, l2 in -5f64..-1.0) {
        check_all(seed, d, l2);
    }
}

/// An optimum of -0.001 with terms near 1.
#[test]
fn finds_an_optimum_near_zero() {
    check_all(9888, 8, -1.4262691527550475);
}

/// However badly scaled, the number of passes stays small: the point of the method. The gradient falls by about four a pass.
#[test]
fn passes_do_not_grow_with_the_condition_number() {
    let x = table(4000, 12, 3);
    let y: Vec<f64> = x.rows().into_iter().map(|row| f64::signum(row.sum() + 0.01)).collect();
    let sparse = sparse(&x);
    for l2 in [1e-2, 1e-4, 1e-6, 1e-8] {
        let design = Csr::new(sparse.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, Zero, l2).unwrap();
        let settings = SubsampledNewtonSettings { stop: Stop::at_relative(1e-6), ..tight(1) };
        let s = subsampled_newton(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{l2}: {}", s.report);
        assert!(s.report.oracle_calls <= 40, "{l2}: {}", s.report);
    }
}

/// However few rows are asked for, there are some.
#[test]
fn a_fraction_of_a_row_is_a_row() {
    let x = table(12, 1, 5);
    let y: Vec<f64> = (0..12).map(|i| f64::signum(x[[i, 0]] - 0.001)).collect();
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, 0.01).unwrap();
    for seed in 0..20 {
        let settings = SubsampledNewtonSettings { rows_per_variable: 1e-3, ..tight(seed) };
        let s = subsampled_newton(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{}", s.report);
    }
}

/// Few rows a feature: nothing is drawn, and the Hessian is the true one.
#[test]
fn few_rows_are_all_taken() {
    let x = table(50, 20, 5);
    let y: Vec<f64> = (0..50).map(|i| f64::signum(x[[i, 1]] + 0.001)).collect();
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Squared, Zero, 0.01).unwrap();
    let s = subsampled_newton(&problem, &tight(0), None, &mut ()).unwrap();
    assert_eq!(s.report.status, Status::Converged, "{}", s.report);
    // A quadratic with its own Hessian is solved by one step.
    assert_eq!(s.report.oracle_calls, 1);
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let x = table(3000, 6, 11);
    let y: Vec<f64> = (0..3000).map(|i| f64::signum(x[[i, 1]] + 0.01)).collect();
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, 1e-3).unwrap();
    let run = |seed, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| subsampled_newton(&problem, &tight(seed), None, &mut ()).unwrap().state)
    };
    let one = run(4, 1);
    assert_eq!(one, run(4, 1));
    assert_eq!(one, run(4, 3));
    assert_ne!(one, run(5, 1));
}

#[test]
fn what_it_cannot_do_is_said_before_anything_is_done() {
    let x = table(100, 3, 1);
    let y: Vec<f64> = (0..100).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, Zero, 0.1).unwrap();
    let kinked = Problem::new(design, &y, Hinge, Zero, 0.1).unwrap();
    let error = subsampled_newton(&kinked, &tight(0), None, &mut ()).unwrap_err();
    assert!(error.to_string().contains("hinge loss, which has a kink"), "{error}");
    let starved = SubsampledNewtonSettings { max_memory: Some(100), ..tight(0) };
    let error = subsampled_newton(&problem, &starved, None, &mut ()).unwrap_err();
    assert!(
        matches!(error, Error::Refused(Refusal::MemoryLimit { needed: 256, limit: 100, .. })),
        "{error}"
    );
    let none = SubsampledNewtonSettings { rows_per_variable: 0.0, ..tight(0) };
    let error = subsampled_newton(&problem, &none, None, &mut ()).unwrap_err();
    assert!(error.to_string().contains("rows_per_variable"), "{error}");
    let short = Some(fenchel_erm::Point::zero(2));
    assert!(subsampled_newton(&problem, &tight(0), short, &mut ()).is_err());
}
