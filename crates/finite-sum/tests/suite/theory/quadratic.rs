//! SAG and SVRG as they are implemented, on least squares whose smoothness, strong convexity and optimum are known: the
//! rows are multiples of the columns of an orthogonal matrix.

use std::ops::ControlFlow;

use fenchel_finite_sum::loss::Squared;
use fenchel_finite_sum::methods::{
    SagSettings, Snapshot, Svrg, SvrgSettings, TableStart, sag, svrg,
};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::Dense;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Loss, Progress, StepSize, Stop};
use ndarray::Array2;
use rand::RngExt;

use super::dot;
use super::terms::mean_below;
use crate::common::{objective, reference};

const ROWS: usize = 12;

struct Quadratic {
    x: Array2<f64>,
    y: Vec<f64>,
    star: Vec<f64>,
    best: f64,
    /// Largest smoothness of a term, and strong convexity of the mean.
    l: f64,
    mu: f64,
}

/// `directions` of four: with fewer, the mean is not strongly convex, and `star` is the minimum next to 0.
fn quadratic(directions: usize, seed: u64) -> Quadratic {
    let mut rng = stream(seed, 51);
    let half = |c: usize, k: usize| if (c & k).count_ones().is_multiple_of(2) { 0.5 } else { -0.5 };
    let lengths: Vec<f64> = (0..ROWS).map(|_| rng.random_range(0.7..1.3)).collect();
    let y: Vec<f64> = (0..ROWS).map(|_| rng.random_range(-1.0..2.0)).collect();
    let x = Array2::from_shape_fn((ROWS, 4), |(i, c)| lengths[i] * half(c, i % directions));
    let mut star = vec![0.0; 4];
    let mut mu = f64::INFINITY;
    for k in 0..directions {
        let rows = || (k..ROWS).step_by(directions);
        let squares: f64 = rows().map(|i| lengths[i] * lengths[i]).sum();
        let along = rows().map(|i| lengths[i] * y[i]).sum::<f64>() / squares;
        (0..4).for_each(|c| star[c] += along * half(c, k));
        mu = mu.min(squares / ROWS as f64);
    }
    let l = lengths.iter().map(|a| a * a).fold(0.0, f64::max);
    let best = objective(&x, &y, &Squared, &Zero, 0.0, (&star, 0.0));
    let mu = if directions < 4 { 0.0 } else { mu };
    Quadratic { x, y, star, best, l, mu }
}

/// SAG with step `1/(16L)` and a table of zeros: `E f(x^k) - F* <= (1 - min(1/(8n), mu/(16L)))^k C`, without strong
/// convexity `E f(mean of the points) - F* <= (32 n/k) C`, `C = f(x^0) - F* + (4L/n) ||x^0 - x*||^2 + sigma^2/(16L)`, with
/// `sigma^2` the mean of `||f_i'(x*)||^2` (Schmidt, Le Roux and Bach, theorem 1; thesis, section 2.4).
#[test]
fn sag_on_the_mean_of_200_seeds() {
    for (directions, average) in [(4, false), (3, true)] {
        let Quadratic { x, y, star, best, l, mu } = quadratic(directions, 1);
        let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Squared, Zero, 0.0).unwrap();
        let n = ROWS as f64;
        let noise = x.rows().into_iter().zip(&y).map(|(a, &y)| {
            let a = a.to_vec();
            Squared.derivative(dot(&a, &star), y).powi(2) * dot(&a, &a)
        });
        let start = objective(&x, &y, &Squared, &Zero, 0.0, (&[0.0; 4], 0.0)) - best;
        let c = start + 4.0 * l / n * dot(&star, &star) + noise.sum::<f64>() / n / (16.0 * l);
        for k in [1, ROWS, 10 * ROWS, 60 * ROWS] {
            let excess: Vec<f64> = (0..200)
                .map(|seed| {
                    let settings = SagSettings {
                        step: StepSize::Scaled(1.0 / 16.0),
                        table: TableStart::Zero,
                        average,
                        seed,
                        stop: Stop::after_passes(k as f64 / n),
                        ..SagSettings::default()
                    };
                    let s = sag(&problem, &settings, None, &mut ()).unwrap();
                    problem.objective(&s.state.point).unwrap() - best
                })
                .collect();
            let rate = 1.0 - f64::min(1.0 / (8.0 * n), mu / (16.0 * l));
            let bound = if average { 32.0 * n / k as f64 } else { rate.powi(k as i32) } * c;
            mean_below(&excess, bound, &format!("{directions} directions, step {k}"));
        }
    }
}

/// The point after a round, of whatever length.
fn one_round(
    problem: &Problem<'_, Dense<'_, f64>, Squared, L1>,
    settings: &SvrgSettings,
    point: Point,
) -> Point {
    // The length is known as soon as the snapshot is taken.
    let mut length = 0;
    let mut watch = |_: &Progress, method: &Svrg<'_, '_, _, _, _>| {
        length = method.round_length();
        ControlFlow::Continue(())
    };
    let first = SvrgSettings { stop: Stop::after_passes(1.0), ..settings.clone() };
    svrg(problem, &first, Some(point.clone().into()), &mut watch).unwrap();
    let stop = Stop {
        check: Cadence::Every(1e9),
        ..Stop::after_passes(1.0 + length as f64 / ROWS as f64)
    };
    let whole = SvrgSettings { stop, ..settings.clone() };
    svrg(problem, &whole, Some(point.into()), &mut ()).unwrap().state.point
}

/// SVRG with step `1/eta`: a round of `m` steps takes the suboptimality of the snapshot, the mean or a random one of its
/// points, to `rho = eta/(mu (1 - 4L/eta) m) + 4L (m + 1)/(eta (1 - 4L/eta) m)` of it in expectation (thesis, section
/// 2.5; Xiao and Zhang, theorem 3.1), with l1 as without. For `eta = 20 L`, `m = 100 L/mu` that is a half; `eta = 10 L`, `m
/// = 50 L/mu` would leave all of it.
#[test]
fn svrg_on_the_mean_of_100_seeds() {
    let Quadratic { x, y, l, mu, .. } = quadratic(4, 2);
    let n = ROWS as f64;
    for l1 in [0.0, 0.05] {
        let h = L1 { strength: l1 };
        let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Squared, h, 0.0).unwrap();
        let (star, _) = reference(&x, &y, &Squared, &h, 0.0, false);
        let best = objective(&x, &y, &Squared, &h, 0.0, (&star, 0.0));
        let start = objective(&x, &y, &Squared, &h, 0.0, (&[0.0; 4], 0.0)) - best;
        let (eta, inner) = (20.0 * l, (100.0 * l / mu / n).ceil());
        let m = inner * n;
        let room = 1.0 - 4.0 * l / eta;
        let rho = eta / (mu * room * m) + 4.0 * l * (m + 1.0) / (eta * room * m);
        assert!(rho < 0.51, "{rho}");
        for snapshot in [Snapshot::Average, Snapshot::Random] {
            let settings = |seed| SvrgSettings {
                step: StepSize::Constant(1.0 / eta),
                inner: Some(inner),
                snapshot,
                seed,
                ..SvrgSettings::default()
            };
            for rounds in [1, 3] {
                let excess: Vec<f64> = (0..100)
                    .map(|seed| {
                        let mut point = Point::zero(4);
                        for round in 0..rounds {
                            point = one_round(&problem, &settings(1000 * round + seed), point);
                        }
                        problem.objective(&point).unwrap() - best
                    })
                    .collect();
                let bound = rho.powi(rounds as i32) * start;
                mean_below(&excess, bound, &format!("{snapshot:?}, l1 {l1}, {rounds} rounds"));
            }
        }
    }
}
