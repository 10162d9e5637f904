//! Theorems with their stated constants, by enumeration of the next term: exact, no sampling error.

mod constants;
mod convexity;
mod finito;
mod lower_bound;
mod miso;
mod mixture;
mod points;
mod prox_finito;
mod quadratic;
mod rates;
mod saga;
mod sampling;
mod svrg;
mod terms;

use crate::common::{data, reference};
use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::methods::{DualState, SdcaSettings, SdcaStep, sdca};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::{Dense, Design, multiply_transposed};
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Loss, Stop};
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

/// The same over many steps: `E[D* - D(s^k)] <= (1 - mu/(L + mu n))^k (D* - D(0))`, on the mean of 200 seeds.
#[test]
fn sdca_contracts_at_its_rate_on_the_mean_of_200_seeds() {
    let terms = terms::Terms::new(17, |l| 0.2 * l);
    let design = Dense::new(terms.data.dense.view()).unwrap();
    let problem = Problem::new(design, &terms.data.signs, Logistic, Zero, terms.mu).unwrap();
    let start = terms.best - dual_value(&problem, &[0.0; N]);
    let rate = 1.0 - terms.mu / (terms.largest() - terms.mu + terms.mu * N as f64);
    for step in [SdcaStep::Exact, SdcaStep::Interval, SdcaStep::Constant] {
        for k in [1, N, 4 * N] {
            let below: Vec<f64> = (0..200)
                .map(|seed| {
                    let stop = Stop { max_passes: k as f64 / N as f64, ..Stop::after_passes(1.0) };
                    let order = Order::Uniform;
                    let settings = SdcaSettings { step, order, stop, seed, batch: 1 };
                    let s = sdca(&problem, &settings, None, &mut ()).unwrap();
                    terms.best - dual_value(&problem, &s.state.dual)
                })
                .collect();
            let bound = rate.powi(k as i32) * start;
            terms::mean_below(&below, bound, &format!("{step:?}, step {k}"));
        }
    }
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
                        let settings = SdcaSettings { step, order, stop, seed: 0, batch: 1 };
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
