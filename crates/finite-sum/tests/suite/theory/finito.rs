//! The Lyapunov function of Finito (thesis, section 3.7), with the misprints of its lemmas put right, at states and by steps
//! of the library.
//!
//! `T = T1 + T2 + T3 + T4`; `w` the next point, `phi` the table, `S = sum ||w - phi_i||^2`:
//!
//! ```text
//! T1 = f(mean phi)                    T2 = -(1/n) sum f_i(phi_i) + <f_i'(phi_i), w - phi_i>
//! T3 = -(mu/2n) S                     T4 = (mu/2n) sum ||mean phi - phi_i||^2
//! ```

use std::ops::ControlFlow;

use fenchel_finite_sum::Point;
use fenchel_finite_sum::methods::{DualState, MisoMuSettings, Sdca, miso_mu};
use fenchel_optim::random::{Generator, Order, stream};
use fenchel_optim::{Loss, Progress, Stop};
use rand::RngExt;

use super::points::{Method, State, run};
use super::terms::{Terms, Vector, expect, mean, mean_below, minus, norm_squared};
use super::{D, N, dot};
use crate::common::distance;

impl State<'_> {
    fn spread(&self, from: &Vector) -> f64 {
        self.points.iter().map(|p| norm_squared(&minus(from, p))).sum()
    }

    fn t1(&self) -> f64 {
        self.terms.mean_value(&self.centre)
    }

    fn t2(&self) -> f64 {
        -expect(|i| {
            let p = &self.points[i];
            self.terms.value(i, p) + dot(&self.terms.gradient(i, p), &minus(&self.w, p))
        })
    }

    fn t3(&self) -> f64 {
        -0.5 * self.terms.mu / N as f64 * self.spread(&self.w)
    }

    fn t4(&self) -> f64 {
        0.5 * self.terms.mu / N as f64 * self.spread(&self.centre)
    }

    fn total(&self) -> f64 {
        self.t1() + self.t2() + self.t3() + self.t4()
    }
}

/// `E[T+] - T` of a part of the function.
fn drift<'t>(now: &State<'t>, next: &[State<'t>], part: impl Fn(&State<'t>) -> f64) -> f64 {
    expect(|j| part(&next[j])) - part(now)
}

/// All next states.
fn nexts<'t>(now: &State<'t>) -> Vec<State<'t>> {
    (0..N).map(|j| now.step(j)).collect()
}

/// Up to two passes of steps from a random point; the closer the start to the minimum, the closer all.
fn wander(rng: &mut Generator) -> Vec<usize> {
    let steps = rng.random_range(0..2 * N);
    (0..steps).map(|_| rng.random_range(0..N)).collect()
}

/// Equalities hold up to rounding of the terms that cancel.
#[track_caller]
fn equal(name: &str, a: f64, b: f64, scale: f64) {
    assert!((a - b).abs() <= 1e-13 * (1.0 + scale.abs()), "{name}: {a:e} {b:e}");
}

#[test]
fn lemmas_3_6_to_3_10() {
    let n = N as f64;
    for seed in 0..40 {
        let mut rng = stream(seed, 5);
        let mu = 10f64.powf(rng.random_range(-1.5..0.5));
        let terms = Terms::new(seed, |_| mu);
        let problem = terms.problem();
        for _ in 0..5 {
            let alpha = rng.random_range(1.0..4.0);
            let start = terms.random_point(&mut rng);
            let s = State::start(&terms, &problem, Method::Finito(alpha), start);
            let s = s.walk(wander(&mut rng));
            let next = nexts(&s);
            let (w, slope) = (s.w, terms.mean_gradient(&s.w));
            let gap = |i: usize| minus(&terms.gradient(i, &w), &terms.gradient(i, &s.points[i]));
            let gaps: f64 = (0..N).map(|i| norm_squared(&gap(i))).sum();

            // Lemma 3.6.
            for c in 0..D {
                let moved = expect(|j| next[j].w[c]) - w[c];
                equal("3.6", moved, -slope[c] / (alpha * mu * n), w[c] + slope[c] / mu);
            }
            // Lemma 3.7.
            let offset = minus(&w, &s.centre);
            let bound = dot(&terms.mean_gradient(&s.centre), &offset) / n
                + terms.largest() / (2.0 * n.powi(3)) * s.spread(&w);
            assert!(drift(&s, &next, State::t1) <= bound + 1e-13 * (1.0 + s.t1().abs()), "3.7");
            // Lemma 3.8.
            let products: f64 =
                (0..N).map(|i| dot(&gap(i), &minus(&w, &s.points[i]))).sum::<f64>() / n.powi(3);
            let right = -s.t2() / n - terms.mean_value(&w) / n
                + gaps / (alpha * mu * n.powi(3))
                + dot(&minus(&s.centre, &w), &slope) / n
                - products;
            equal("3.8", drift(&s, &next, State::t2), right, s.t2().abs() + gaps / mu);
            // Lemma 3.9.
            let right = -(1.0 + 1.0 / n) * s.t3() / n + dot(&slope, &offset) / (alpha * n)
                - gaps / (2.0 * alpha * alpha * mu * n.powi(3));
            equal("3.9", drift(&s, &next, State::t3), right, s.t3().abs() + gaps / mu);
            // Lemma 3.10.
            let right = -0.5 * mu / (n * n) * s.spread(&s.centre)
                + 0.5 * mu / n * norm_squared(&offset)
                - 0.5 * mu / n.powi(3) * s.spread(&w);
            equal("3.10", drift(&s, &next, State::t4), right, s.t4() + norm_squared(&offset));
        }
    }
}

/// Lemma 3.11, under the big-data condition `n mu >= beta L`, between any point and any table:
///
/// ```text
/// f(x) >= (1/n) sum [f_i(phi_i) + <f_i'(phi_i), x - phi_i>] + beta/(2 mu n^2) sum ||f_i'(x) - f_i'(phi_i)||^2
///         + beta L/(2 n^2) sum ||x - phi_i||^2 + (beta/n^2) sum <f_i'(x) - f_i'(phi_i), phi_i - x>
/// ```
#[test]
fn lemma_3_11() {
    let n = N as f64;
    let mut tightest: f64 = 0.0;
    for seed in 0..40 {
        let mut rng = stream(seed, 9);
        let beta = rng.random_range(1.0..4.0);
        let terms = Terms::new(seed, |l| beta * l / (n - beta));
        let (mu, l) = (terms.mu, terms.largest());
        assert!(n * mu >= beta * l * (1.0 - 1e-12));
        for _ in 0..5 {
            let (x, points) = (terms.random_point(&mut rng), terms.random_points(&mut rng));
            let model = expect(|i| {
                let p = &points[i];
                let bend = minus(&terms.gradient(i, &x), &terms.gradient(i, p));
                let offset = minus(&x, p);
                terms.value(i, p)
                    + dot(&terms.gradient(i, p), &offset)
                    + beta / (2.0 * mu * n) * norm_squared(&bend)
                    + beta * l / (2.0 * n) * norm_squared(&offset)
                    - beta / n * dot(&bend, &offset)
            });
            let value = terms.mean_value(&x);
            assert!(value >= model - 1e-13 * (1.0 + value.abs()), "seed {seed}: {value} {model}");
            // Beyond what strong convexity alone gives.
            let flat = expect(|i| {
                terms.value(i, &points[i])
                    + dot(&terms.gradient(i, &points[i]), &minus(&x, &points[i]))
            });
            tightest = tightest.max((model - flat) / (value - flat));
        }
    }
    assert!(tightest > 0.5, "{tightest}");
}

/// Theorem 3.12: `E[T+] <= (1 - 1/(alpha n)) T` for `alpha, beta >= 2` with `2/alpha - 1/alpha^2 - beta + beta/alpha <= 0`,
/// `beta = n mu / L`; and theorem 3.13: `f(mean phi) - f* <= alpha T`.
#[test]
fn theorems_3_12_and_3_13() {
    let mut tightest: f64 = 0.0;
    for seed in 0..40 {
        let mut rng = stream(seed, 6);
        // alpha = beta = 2 first, the least that the theorem admits.
        let (alpha, beta): (f64, f64) = if seed < 20 {
            (2.0, 2.0)
        } else {
            (rng.random_range(2.0..4.0), rng.random_range(2.0..4.0))
        };
        assert!(2.0 / alpha - 1.0 / (alpha * alpha) - beta + beta / alpha <= 0.0);
        let terms = Terms::new(seed, |l| beta * l / (N as f64 - beta));
        let problem = terms.problem();
        for k in 0..5 {
            // Far out, and close to the minimum.
            let (shrink, far) = (10f64.powi(-k), terms.random_point(&mut rng));
            let start = std::array::from_fn(|c| terms.star[c] + shrink * (far[c] - terms.star[c]));
            let s = State::start(&terms, &problem, Method::Finito(alpha), start);
            let s = s.walk(wander(&mut rng));
            let (before, next) = (s.total(), nexts(&s));
            let bound = (1.0 - 1.0 / (alpha * N as f64)) * before;
            let after = expect(|j| next[j].total());
            assert!(after <= bound + 1e-14, "3.12, seed {seed}: {after:e} {bound:e}");
            assert!(s.t1() - terms.best <= alpha * before + 1e-14, "3.13, seed {seed}");
            if k == 0 {
                tightest = tightest.max(after / bound);
            }
        }
    }
    assert!(tightest > 0.9, "{tightest}");
}

/// Theorem 3.14: `E f(mean phi^k) - f* <= (c/mu) (1 - 1/(alpha n))^k ||f'(phi^0)||^2`, `c = 1 - 1/(2 alpha)`; theorem 3.1 for
/// `alpha = 2`. As `||f'||^2 <= 2 L (f - f*)`, a run that does not move breaks the last of the bounds.
#[test]
fn theorems_3_1_and_3_14_on_the_mean_of_100_seeds() {
    let start = [0.5; D];
    for (alpha, beta, steps) in [(2.0, 2.0, 16 * N), (3.0, 2.5, 24 * N)] {
        let terms = Terms::new(3, |l| beta * l / (N as f64 - beta));
        let problem = terms.problem();
        let slope = norm_squared(&terms.mean_gradient(&start));
        let runs: Vec<Vec<f64>> = (0..100)
            .map(|seed| {
                let walk =
                    run(&problem, Method::Finito(alpha), &start, (&Order::Uniform, seed), steps);
                let centre = |places: &[usize; N]| mean(places.iter().map(|&p| walk.path[p]));
                let excess = |places| terms.mean_value(&centre(places)) - terms.best;
                walk.positions().iter().map(excess).collect()
            })
            .collect();
        let bound = |k: usize| {
            let factor = (1.0 - 1.0 / (alpha * N as f64)).powi(k as i32);
            (1.0 - 0.5 / alpha) / terms.mu * factor * slope
        };
        for k in [1, N, 3 * N, 8 * N, steps] {
            let excess: Vec<f64> = runs.iter().map(|run| run[k]).collect();
            mean_below(&excess, bound(k), &format!("alpha {alpha}, step {k}"));
        }
        assert!(bound(steps) < 0.5 * (terms.mean_value(&start) - terms.best));
    }
}

/// MISOmu, section 3.4: `alpha = 1`, `n >= 2 L/mu`, `E f(w^k) - f* <= (1 - 1/(3n))^k (2n/mu) ||f'(phi^0)||^2`, by `finito` and by
/// `miso_mu`, which keeps one number a term. `2n/mu` is generous: it takes 20 passes until a run that does not move would
/// break the bound.
#[test]
fn miso_mu_on_the_mean_of_100_seeds() {
    let (steps, n, start) = (20 * N, N as f64, [0.5; D]);
    let terms = Terms::new(4, |l| 2.0 * l / (n - 2.0));
    assert!((n * terms.mu - 2.0 * terms.largest()).abs() < 1e-12);
    let problem = terms.problem();
    let slope = norm_squared(&terms.mean_gradient(&start));
    let bound = |k: usize| (1.0 - 1.0 / (3.0 * n)).powi(k as i32) * 2.0 * n / terms.mu * slope;
    let excess = |x: &Vector| terms.mean_value(x) - terms.best;
    let runs: Vec<Vec<Vector>> = (0..100)
        .map(|seed| {
            let walk = run(&problem, Method::Finito(1.0), &start, (&Order::Uniform, seed), steps);
            // The derivatives at the start in the table.
            let signs = &terms.data.signs;
            let dual = terms.rows.iter().zip(signs);
            let dual = dual.map(|(a, &y)| problem.loss().derivative(dot(a, &start), y)).collect();
            let stop = Stop::after_passes((steps / N) as f64);
            let (order, damping) = (Order::Uniform, Some(1.0));
            let settings = MisoMuSettings { order, damping, seed, stop };
            let mut at = 0;
            let mut watch = |progress: &Progress, method: &Sdca<'_, '_, _, _, _>| {
                // Until a gap of 0 may have ended the other run.
                let (w, other) = (&method.point().weights, &walk.path[1 + at * N]);
                let apart = distance(w, other);
                assert!(
                    apart < 1e-12 || progress.certificate.value() < 1e-13,
                    "pass {at}: {apart:e}"
                );
                at += 1;
                ControlFlow::Continue(())
            };
            let begin = Some(DualState::new(Point::zero(D), dual));
            let report = miso_mu(&problem, &settings, begin, &mut watch).unwrap().report;
            assert!(at == steps / N + 1 || report.certificate.value() == 0.0, "{report}");
            walk.path
        })
        .collect();
    for k in [0, 1, N, 5 * N, steps] {
        let excess: Vec<f64> = runs.iter().map(|path| excess(&path[k + 1])).collect();
        mean_below(&excess, bound(k), &format!("step {k}"));
    }
    assert!(bound(steps) < excess(&start).min(excess(&runs[0][1])));
}
