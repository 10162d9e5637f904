//! The rates of Prox-Finito (thesis, sections 3.6.2 and 3.8), for the method as it is implemented.

use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::methods::{DualState, ProxFinitoSettings, draw_weights, prox_finito};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::Dense;
use fenchel_optim::Loss;
use fenchel_optim::Stop;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, stream};
use rand::RngExt;

use super::terms::{Terms, Vector, mean, mean_below, minus, norm_squared};
use super::{D, N, dot, dual_value, one_step};
use crate::common::data;

type Toy<'a, L> = Problem<'a, Dense<'a, f64>, L, Zero>;

/// The dual variables after a step on term `j`.
fn step<L: Loss>(problem: &Toy<'_, L>, dual: &[f64], j: usize) -> Vec<f64> {
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
        let dual = dual_value(&terms.problem(), &s);
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
        let problem = terms.problem();
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

/// Lemmas 3.15 and 3.16, and what theorem 3.17 makes of them for every single term, at a step of the library on term `j`. With
/// `l_j(x) = s_j a_j.x - phi*(s_j) + (mu/2) ||x||^2` the lower model of the term, `delta = f_j(w) - l_j(w)`, `M = L - mu`:
///
/// ```text
/// 3.15  f_j(x) - l_j(x) >= (M/2) ||x - v||^2 on the way from w towards w+, up to v with (M/2) ||w - v||^2 = delta
/// 3.27  B+ - B = (mu/2) ||w+ - w||^2 + (f_j(w+) - l_j(w+))/n
/// 3.16  B+ - B >= mu/(mu n + M) delta
/// 3.31  E B+ - B >= mu/(mu n + M) (f(w) - B)
/// ```
///
/// For the squared loss all of them but the last are equalities, with the `M` of the term.
fn lemmas<L: Loss + Copy>(loss: L, classify: bool) {
    let n = N as f64;
    let mut tightest: f64 = 0.0;
    for seed in 0..60 {
        let mut rng = stream(seed, 10);
        let mu = 10f64.powf(rng.random_range(-2.5..0.0));
        let data = data(N, D, 1.0, seed);
        let y = if classify { &data.signs } else { &data.reals };
        let problem = Problem::new(Dense::new(data.dense.view()).unwrap(), y, loss, Zero, mu);
        let problem = problem.unwrap();
        let row = |j: usize| -> Vector { std::array::from_fn(|c| data.dense[[j, c]]) };
        let point = |s: &[f64]| -> Vector {
            std::array::from_fn(|c| {
                -(0..N).map(|i| s[i] * data.dense[[i, c]]).sum::<f64>() / (mu * n)
            })
        };
        let s: Vec<f64> =
            y.iter().map(|&y| loss.derivative(rng.random_range(-3.0..3.0), y)).collect();
        let (w, below) = (point(&s), dual_value(&problem, &s));
        let most = loss.curvature() * problem.largest_norm_squared();
        let scale = 1e-11 * (1.0 + below.abs() + norm_squared(&w));
        let (mut rises, mut gaps) = (0.0, 0.0);
        for j in 0..N {
            let a = row(j);
            let gap = |x: &Vector| {
                let t = dot(&a, x);
                loss.value(t, y[j]) + loss.conjugate(s[j], y[j]) - s[j] * t
            };
            let after = step(&problem, &s, j);
            let (next, rise) = (point(&after), dual_value(&problem, &after) - below);
            let (delta, offset) = (gap(&w), minus(&next, &w));
            let length = norm_squared(&offset).sqrt();
            let model = 0.5 * mu * length * length + gap(&next) / n;
            assert!((rise - model).abs() <= scale, "3.27, seed {seed}: {rise:e} {model:e}");
            let own = loss.curvature() * dot(&a, &a);
            for m in [own, most] {
                let least = mu / (mu * n + m) * delta;
                assert!(rise >= least - scale, "3.16, seed {seed}: {rise:e} {least:e}");
                let end = (2.0 * delta / m).sqrt();
                for k in 0..=10 {
                    let t = 0.1 * f64::from(k) * end;
                    let x: Vector = std::array::from_fn(|c| w[c] + t / length * offset[c]);
                    let (found, bound) = (gap(&x), 0.5 * m * (end - t).powi(2));
                    assert!(found >= bound - scale, "3.15, seed {seed}: {found:e} {bound:e}");
                    if m == own && !classify {
                        assert!((found - bound).abs() <= scale, "{found:e} {bound:e}");
                        assert!((rise - least).abs() <= scale, "{rise:e} {least:e}");
                    }
                }
            }
            rises += rise / n;
            gaps += delta / n;
        }
        let objective = problem.objective(&Point { weights: w.to_vec(), intercept: 0.0 }).unwrap();
        assert!((objective - below - gaps).abs() <= scale, "f(w) - B is the mean of all delta");
        let bound = mu / (mu * n + most) * gaps;
        assert!(rises >= bound - scale, "3.31, seed {seed}: {rises:e} {bound:e}");
        tightest = tightest.max(bound / rises);
    }
    assert!(tightest > 0.5, "{tightest}");
}

#[test]
fn lemmas_3_15_and_3_16() {
    lemmas(Logistic, true);
    lemmas(Squared, false);
}

/// Theorem 3.18: `E f(w^k) - F* <= (1 - mu/(mu n + L - mu))^k ((mu n + L - mu)/mu) (F* - B^0)`, until a run that does not move
/// would break the bound. In one step it is 3.31 above, with theorem 3.17.
#[test]
fn theorem_3_18_on_the_mean_of_100_seeds() {
    for mu in [0.02, 0.2] {
        let terms = Terms::new(11, |_| mu);
        let problem = terms.problem();
        let size = terms.mu * N as f64 + terms.largest() - terms.mu;
        let start = terms.best - dual_value(&problem, &[0.0; N]);
        let bound = |k: usize| (1.0 - mu / size).powi(k as i32) * size / mu * start;
        let still = terms.mean_value(&[0.0; D]) - terms.best;
        let end = (1..).find(|passes| bound(passes * N) < 0.5 * still).unwrap();
        for k in [1, N, 4 * N, end * N] {
            let stop = Stop { max_passes: k as f64 / N as f64, ..Stop::after_passes(1.0) };
            let excess: Vec<f64> = (0..100)
                .map(|seed| {
                    let order = Order::Uniform;
                    let settings = ProxFinitoSettings { order, seed, stop };
                    let s = prox_finito(&problem, &settings, None, &mut ()).unwrap();
                    problem.objective(&s.state.point).unwrap() - terms.best
                })
                .collect();
            mean_below(&excess, bound(k), &format!("mu {mu}, step {k}"));
        }
    }
}
