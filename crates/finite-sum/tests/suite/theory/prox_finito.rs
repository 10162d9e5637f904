//! The rates of Prox-Finito (thesis, sections 3.6.2 and 3.8), for the method as it is implemented.

use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{DualState, ProxFinitoSettings, draw_weights, prox_finito};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Loss, Stop};
use rand::RngExt;

use super::terms::{Terms, mean, mean_below, minus, norm_squared};
use super::{D, N, dot, dual_value, one_step};

type Toy<'a> = Problem<'a, Dense<'a, f64>, Logistic, Zero>;

fn problem(terms: &Terms) -> Toy<'_> {
    let design = Dense::new(terms.data.dense.view()).unwrap();
    Problem::new(design, &terms.data.signs, Logistic, Zero, terms.mu).unwrap()
}

/// The dual variables after a step on term `j`.
fn step(problem: &Toy<'_>, dual: &[f64], j: usize) -> Vec<f64> {
    let (order, stop) = one_step(j);
    let start = DualState::new(Point::zero(D), dual.to_vec());
    let settings = ProxFinitoSettings { order, stop, seed: 0 };
    prox_finito(problem, &settings, Some(start), &mut ()).unwrap().state.dual
}

/// `B = min_x (1/n) sum f_i(phi_i) + <f_i'(phi_i), x - phi_i> + (mu/2) ||x - phi_i||^2`, attained at
/// `mean phi - mean f_i'(phi_i) / mu`, is the dual value of the scalars `s_i = phi_i'(a_i.phi_i)`.
#[test]
fn the_lower_model_is_the_dual_value() {
    for seed in 0..200 {
        let mut rng = stream(seed, 7);
        let mu = 10f64.powf(rng.random_range(-1.5..0.5));
        let terms = Terms::new(seed % 20, |_| mu);
        let points = terms.random_points(&mut rng);
        let lowest = terms.next_point(&points, mu);
        let model = |x: &[f64; D]| {
            let sum: f64 = points
                .iter()
                .enumerate()
                .map(|(i, p)| {
                    let offset = minus(x, p);
                    terms.value(i, p)
                        + dot(&terms.gradient(i, p), &offset)
                        + 0.5 * mu * norm_squared(&offset)
                })
                .sum();
            sum / N as f64
        };
        let s: Vec<f64> = (0..N)
            .map(|i| Logistic.derivative(dot(&terms.rows[i], &points[i]), terms.data.signs[i]))
            .collect();
        let dual = dual_value(&problem(&terms), &s);
        let scale = 1.0 + norm_squared(&lowest) + norm_squared(&mean(points.iter().copied()));
        assert!((model(&lowest) - dual).abs() <= 1e-12 * scale, "{} {dual}", model(&lowest));
        // It is the least value of the model, and a lower bound.
        assert!(model(&terms.star) >= dual - 1e-12 * scale && dual <= terms.best + 1e-12);
    }
}

/// Theorem 3.17: `E[F* - B+] <= (1 - mu/(mu n + L - mu)) (F* - B)` with uniform draws; theorem 3.4: with probabilities
/// proportional to `mu n + L_i - mu`, the mean of the `L_i` takes the place of the largest. `L` includes `mu` here.
#[test]
fn theorems_3_17_and_3_4() {
    let mut tightest = [0.0f64; 2];
    for seed in 0..100 {
        let mut rng = stream(seed, 8);
        let mu = 10f64.powf(rng.random_range(-2.5..0.0));
        let terms = Terms::new(seed, |_| mu);
        let problem = problem(&terms);
        let start = DualState::new(Point::zero(problem.d()), vec![0.0; N]);
        let weights = draw_weights(&problem, &Order::Lipschitz, start).unwrap().unwrap();
        for (weight, l) in weights.iter().zip(&terms.smoothness) {
            assert!((weight - (mu * N as f64 + l - mu)).abs() < 1e-12 * weight);
        }
        let total: f64 = weights.iter().sum();
        for _ in 0..2 {
            let signs = &terms.data.signs;
            let s: Vec<f64> = signs
                .iter()
                .map(|&y| Logistic.derivative(rng.random_range(-3.0..3.0), y))
                .collect();
            let before = terms.best - dual_value(&problem, &s);
            let after: Vec<f64> =
                (0..N).map(|j| terms.best - dual_value(&problem, &step(&problem, &s, j))).collect();
            let mean = terms.smoothness.iter().sum::<f64>() / N as f64;
            let rate = |l: f64| 1.0 - mu / (mu * N as f64 + l - mu);
            let uniform = after.iter().sum::<f64>() / N as f64;
            let weighted: f64 = after.iter().zip(&weights).map(|(a, w)| a * w / total).sum();
            for (k, (found, bound)) in
                [(uniform, rate(terms.largest()) * before), (weighted, rate(mean) * before)]
                    .into_iter()
                    .enumerate()
            {
                assert!(found <= bound * (1.0 + 1e-9), "seed {seed}: {found:e} {bound:e}");
                tightest[k] = tightest[k].max(found / bound);
            }
        }
    }
    assert!(tightest.iter().all(|t| *t > 0.9), "{tightest:?}");
}

/// Theorem 3.18: `E f(w^k) - F* <= (1 - mu/(mu n + L - mu))^k ((mu n + L - mu)/mu) (F* - B^0)`.
#[test]
fn theorem_3_18_on_the_mean_of_200_seeds() {
    let terms = Terms::new(11, |_| 0.05);
    let problem = problem(&terms);
    let size = terms.mu * N as f64 + terms.largest() - terms.mu;
    let start = terms.best - dual_value(&problem, &[0.0; N]);
    for k in [1, N, 4 * N] {
        let stop = Stop { max_passes: k as f64 / N as f64, ..Stop::after_passes(1.0) };
        let excess: Vec<f64> = (0..200)
            .map(|seed| {
                let order = Order::Uniform;
                let settings = ProxFinitoSettings { order, seed, stop };
                let s = prox_finito(&problem, &settings, None, &mut ()).unwrap();
                problem.objective(&s.state.point).unwrap() - terms.best
            })
            .collect();
        let bound = (1.0 - terms.mu / size).powi(k as i32) * size / terms.mu * start;
        mean_below(&excess, bound, &format!("step {k}"));
    }
}
