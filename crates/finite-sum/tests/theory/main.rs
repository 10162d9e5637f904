//! Theorems with their stated constants, by enumeration of the next term: exact, no sampling error.

#[path = "../common/mod.rs"]
mod common;
mod finito;
mod miso;
mod prox_finito;
mod terms;

use common::{data, reference};
use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::{
    DualState, Point, Problem, SagaSettings, SdcaSettings, SdcaStep, saga, sdca,
};
use fenchel_linalg::{Dense, Design, multiply_transposed};
use fenchel_optim::prox::{L1, Regulariser, Zero};
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Loss, StepSize, Stop};
use rand::RngExt;

const N: usize = 10;
const D: usize = 4;

/// One step on term `j`.
fn one_step(j: usize) -> (Order, Stop) {
    let stop = Stop { max_passes: 1.0 / N as f64, ..Stop::after_passes(1.0) };
    (Order::Scripted(vec![j]), stop)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `D(s) = -(1/n) sum phi* - ||v||^2 / (2 mu)`
fn dual_value<De: Design, L: Loss>(problem: &Problem<'_, De, L, Zero>, s: &[f64]) -> f64 {
    let mut v = vec![0.0; D];
    multiply_transposed(problem.design(), s, &mut v);
    let conjugates: f64 =
        s.iter().zip(problem.targets()).map(|(&s, &y)| problem.loss().conjugate(s, y)).sum();
    let n = N as f64;
    -conjugates / n - dot(&v, &v) / (n * n * 2.0 * problem.l2())
}

/// `E[D* - D(s+)] <= (1 - mu/(L + mu n)) (D* - D(s))` and `P - D <= ((L + mu n)/mu) (D* - D)`
/// (thesis, section 2.3, with the signs put right).
#[test]
fn sdca_contracts_at_its_rate() {
    fn check<L: Loss + Copy>(loss: L, classify: bool) {
        let mut tightest: f64 = 0.0;
        for seed in 0..100 {
            let data = data(N, D, 1.0, seed);
            let y = if classify { &data.signs } else { &data.reals };
            let mut rng = stream(seed, 2);
            let mu = 10f64.powf(rng.random_range(-2.5..0.0));
            let problem =
                Problem::new(Dense::new(data.dense.view()).unwrap(), y, loss, Zero, mu).unwrap();
            let (w, b) = reference(&data.dense, y, &loss, &Zero, mu, false);
            let best = problem.objective(&Point { weights: w, intercept: b }).unwrap();
            // A random feasible dual point: derivatives at random margins.
            let dual: Vec<f64> =
                y.iter().map(|&y| loss.derivative(rng.random_range(-3.0..3.0), y)).collect();
            let before = best - dual_value(&problem, &dual);
            let l = loss.curvature() * problem.largest_norm_squared();
            for step in [SdcaStep::Exact, SdcaStep::Interval, SdcaStep::Constant] {
                let mean: f64 = (0..N)
                    .map(|j| {
                        let (order, stop) = one_step(j);
                        let start = DualState::new(Point::zero(D), dual.clone());
                        let settings = SdcaSettings { step, order, stop, seed: 0 };
                        let s = sdca(&problem, &settings, Some(start), &mut ()).unwrap();
                        best - dual_value(&problem, &s.state.dual)
                    })
                    .sum::<f64>()
                    / N as f64;
                let rate = 1.0 - mu / (l + mu * N as f64);
                assert!(
                    mean <= rate * before * (1.0 + 1e-9),
                    "{} seed {seed}: {mean} {before}",
                    L::NAME
                );
                tightest = tightest.max(mean / (rate * before));
            }
            // The point that belongs to the dual variables.
            let start = DualState::new(Point::zero(D), dual.clone());
            let stop = Stop { max_passes: 0.0, ..Stop::after_passes(0.0) };
            let s =
                sdca(&problem, &SdcaSettings { stop, ..Default::default() }, Some(start), &mut ())
                    .unwrap();
            let gap = problem.objective(&s.state.point).unwrap() - (best - before);
            assert!(
                gap <= (l + mu * N as f64) / mu * before * (1.0 + 1e-9),
                "{} seed {seed}",
                L::NAME
            );
        }
        assert!(tightest > 0.5, "{}: the bound is nowhere near: {tightest}", L::NAME);
    }
    check(Logistic, true);
    check(Squared, false);
}

/// Theorem 4.6: the Lyapunov function of SAGA contracts by `1 - min(1/(4n), mu/(3L))` a step with step
/// `1/(3L)`, and by `1 - gamma mu` with `gamma = 1/(2(mu n + L))`; with h = 0 and with h = l1.
///
/// The theorem asks every term to be strongly convex: the terms are folded, `f_i = phi_i + (mu/2)||.||^2`
/// with gradient tables `f_i'(phi_i)`. The explicit l2 of this crate is another placement of the same
/// term, so the step is written out here; the crate's own step is checked by the trajectory tests.
#[test]
fn saga_lyapunov_function_contracts() {
    let mut tightest: f64 = 0.0;
    for seed in 0..100 {
        let data = data(N, D, 1.0, seed);
        let mut rng = stream(seed, 3);
        let mu = 10f64.powf(rng.random_range(-2.5..0.0));
        for l1 in [0.0, 0.05] {
            let h = L1 { strength: l1 };
            let rows: Vec<Vec<f64>> = data.dense.rows().into_iter().map(|r| r.to_vec()).collect();
            let l = 0.25 * rows.iter().map(|a| dot(a, a)).fold(0.0, f64::max) + mu;
            let y = &data.signs;
            let value =
                |i: usize, x: &[f64]| Logistic.value(dot(&rows[i], x), y[i]) + 0.5 * mu * dot(x, x);
            let gradient = |i: usize, x: &[f64]| -> Vec<f64> {
                let s = Logistic.derivative(dot(&rows[i], x), y[i]);
                rows[i].iter().zip(x).map(|(a, x)| s * a + mu * x).collect()
            };
            let (star, _) = reference(&data.dense, y, &Logistic, &h, mu, false);
            let n = N as f64;
            for (step, rate) in [
                (1.0 / (3.0 * l), 1.0 - f64::min(1.0 / (4.0 * n), mu / (3.0 * l))),
                (1.0 / (2.0 * (mu * n + l)), 1.0 - mu / (2.0 * (mu * n + l))),
                (1.0 / (3.0 * (mu * n + l)), 1.0 - mu / (6.0 * (mu * n + l))),
            ] {
                let c = 1.0 / (2.0 * step * (1.0 - step * mu) * n);
                let lyapunov = |x: &[f64], points: &[Vec<f64>]| {
                    let mut sum = 0.0;
                    for (i, p) in points.iter().enumerate() {
                        let offset: Vec<f64> = p.iter().zip(&star).map(|(p, s)| p - s).collect();
                        sum += value(i, p) - value(i, &star) - dot(&gradient(i, &star), &offset);
                    }
                    let offset: Vec<f64> = x.iter().zip(&star).map(|(x, s)| x - s).collect();
                    sum / n + c * dot(&offset, &offset)
                };
                let random = |rng: &mut fenchel_optim::random::Generator| -> Vec<f64> {
                    star.iter().map(|s| s + rng.random_range(-2.0..2.0)).collect()
                };
                let x = random(&mut rng);
                let points: Vec<Vec<f64>> = (0..N).map(|_| random(&mut rng)).collect();
                let before = lyapunov(&x, &points);
                let mut after = 0.0;
                for j in 0..N {
                    let mut next = x.clone();
                    let (new, old) = (gradient(j, &x), gradient(j, &points[j]));
                    for k in 0..D {
                        let mean = (0..N).map(|i| gradient(i, &points[i])[k]).sum::<f64>() / n;
                        next[k] -= step * (new[k] - old[k] + mean);
                    }
                    h.prox(&mut next, step);
                    let mut moved = points.clone();
                    moved[j] = x.clone();
                    after += lyapunov(&next, &moved) / n;
                }
                assert!(after <= rate * before * (1.0 + 1e-9), "seed {seed}: {after} {before}");
                tightest = tightest.max(after / (rate * before));
            }
        }
    }
    assert!(tightest > 0.5, "{tightest}");
}

/// Theorem 5.1's worst case: `f_i = (n/2) (x_i - 1)^2 + ||x||^2 / 2`, minimum n/4 at 1/2, start 0.
/// Exact SDCA loses exactly 1/4 for every term that it has not seen; and no method that looks at terms only
/// when it visits them moves the coordinate of an unseen term.
#[test]
fn sdca_attains_the_lower_bound_of_theorem_5_1() {
    const N: usize = 20;
    let mut design = ndarray::Array2::<f64>::eye(N);
    // n (x_i - 1)^2 / 2 as the squared loss of the margin sqrt(n) x_i.
    design *= (N as f64).sqrt();
    let targets = vec![(N as f64).sqrt(); N];
    let problem =
        Problem::new(Dense::new(design.view()).unwrap(), &targets, Squared, Zero, 1.0).unwrap();
    let script = [3, 3, 7, 0, 19, 7, 7, 12, 3, 5];
    for k in 1..=script.len() {
        let seen: std::collections::BTreeSet<usize> = script[..k].iter().copied().collect();
        let stop = Stop { max_passes: k as f64 / N as f64, ..Stop::after_passes(1.0) };
        let order = Order::Scripted(script.to_vec());
        let settings = SdcaSettings { order: order.clone(), stop, ..Default::default() };
        let s = sdca(&problem, &settings, None, &mut ()).unwrap();
        let excess = problem.objective(&s.state.point).unwrap() - N as f64 / 4.0;
        let unseen = (N - seen.len()) as f64 / 4.0;
        assert!((excess - unseen).abs() < 1e-12, "{excess} {unseen}");
        let settings = SagaSettings {
            order,
            table: fenchel_finite_sum::TableStart::Zero,
            step: StepSize::Theory,
            stop,
            ..Default::default()
        };
        let point = saga(&problem, &settings, None, &mut ()).unwrap().state.point;
        for (j, &x) in point.weights.iter().enumerate() {
            assert_eq!(x != 0.0, seen.contains(&j), "saga, coordinate {j}");
        }
    }
}
