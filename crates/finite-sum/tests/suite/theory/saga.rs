//! SAGA (thesis, sections 4.2, 4.6 and 4.8), by steps of the library.
//!
//! The theorems ask every term to be strongly convex: the terms are folded, `f_i = phi_i + (mu/2)||.||^2`, and posed as a
//! general sum, whose table holds the `f_i'(phi_i)`.

use std::ops::ControlFlow;

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::general::{self, Incremental, Sum, SumSettings, SumState};
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{SagaSettings, saga};
use fenchel_linalg::Dense;
use fenchel_optim::prox::L1;
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Cadence, Progress, StepSize, Stop};
use rand::RngExt;

use super::terms::{Terms, Vector, expect, mean_below, minus, norm_squared};
use super::{D, N, dot, one_step};
use crate::common::distance;

struct State<'t> {
    terms: &'t Terms,
    step: f64,
    x: Vector,
    points: Vec<Vector>,
}

fn vector(x: Vec<f64>) -> Vector {
    x.try_into().expect("D entries")
}

impl<'t> State<'t> {
    /// The gradients `f_i'(phi_i)`, one after the other.
    fn table(&self) -> Vec<f64> {
        (0..N).flat_map(|i| self.terms.gradient(i, &self.points[i])).collect()
    }

    /// What the library makes of this state in a step on term `j`.
    fn moved(&self, h: L1, j: usize) -> SumState {
        let sum = Sum::new(self.terms, h, 0.0).unwrap();
        let (order, stop) = one_step(j);
        let step = StepSize::Constant(self.step);
        let settings = SumSettings { step, order, stop, ..SumSettings::default() };
        let start = SumState::new(self.x.to_vec(), self.table());
        general::saga(&sum, &settings, Some(start), &mut ()).unwrap().state
    }

    /// `w` of a step on term `j`: the point before the proximal operator.
    fn w(&self, j: usize) -> Vector {
        vector(self.moved(L1 { strength: 0.0 }, j).point)
    }

    /// The state after a step on term `j`.
    fn step(&self, j: usize) -> Self {
        let moved = self.moved(self.terms.h, j);
        let mut next = State { points: self.points.clone(), x: vector(moved.point), ..*self };
        next.points[j] = self.x;
        assert_eq!(moved.table, next.table());
        next
    }

    /// `(1/n) sum f_i(phi_i) - f(x*) - <f_i'(x*), phi_i - x*>`
    fn spread(&self) -> f64 {
        expect(|i| self.terms.term_divergence(i, &self.points[i], &self.terms.star))
    }

    /// `T`, with the weight `c` of the distance.
    fn lyapunov(&self, c: f64) -> f64 {
        self.spread() + c * norm_squared(&minus(&self.x, &self.terms.star))
    }

    /// `E||f_j'(phi_j) - f_j'(x*)||^2`
    fn table_error(&self) -> f64 {
        let error = |j: usize| {
            let at = self.terms.gradient(j, &self.points[j]);
            norm_squared(&minus(&at, &self.terms.gradient(j, &self.terms.star)))
        };
        expect(error)
    }

    /// `E||f_j'(x) - f_j'(x*)||^2`
    fn point_error(&self) -> f64 {
        let (x, star) = (&self.x, &self.terms.star);
        expect(|j| norm_squared(&minus(&self.terms.gradient(j, x), &self.terms.gradient(j, star))))
    }
}

/// The steps that have a theorem, with their rates: `1/(3L)`, `1/(2(mu n + L))`, `1/(3(mu n + L))`.
fn steps(terms: &Terms) -> [(f64, f64); 3] {
    let (mu, l, n) = (terms.mu, terms.largest(), N as f64);
    let size = mu * n + l;
    [
        (1.0 / (3.0 * l), 1.0 - f64::min(1.0 / (4.0 * n), mu / (3.0 * l))),
        (1.0 / (2.0 * size), 1.0 - mu / (2.0 * size)),
        (1.0 / (3.0 * size), 1.0 - mu / (6.0 * size)),
    ]
}

/// Random states, with and without l1, of all the steps that have a theorem: `(step, rate)`.
fn states(count: u64, stream_id: u64, mut check: impl FnMut(&State<'_>, f64)) {
    for seed in 0..count {
        for l1 in [0.0, 0.05] {
            let mut rng = stream(seed, stream_id);
            let mu = 10f64.powf(rng.random_range(-2.5..0.0));
            let terms = Terms::composite(seed, |_| mu, l1);
            for (step, rate) in steps(&terms) {
                let x = terms.random_point(&mut rng);
                check(
                    &State { terms: &terms, step, x, points: terms.random_points(&mut rng) },
                    rate,
                );
            }
        }
    }
}

/// Corollaries 4.1 and 4.2, between any two points.
#[test]
fn corollaries_4_1_and_4_2() {
    for seed in 0..60 {
        let mut rng = stream(seed, 31);
        let mu = 10f64.powf(rng.random_range(-2.5..0.0));
        let terms = Terms::new(seed, |_| mu);
        let l = terms.largest();
        for _ in 0..5 {
            let (x, other) = (terms.random_point(&mut rng), terms.random_point(&mut rng));
            let gap =
                |i: usize| norm_squared(&minus(&terms.gradient(i, &other), &terms.gradient(i, &x)));
            let offset = minus(&other, &x);
            let left = dot(&terms.mean_gradient(&x), &offset);
            let right = (l - mu) / l * (terms.mean_value(&other) - terms.mean_value(&x))
                - 0.5 * mu * norm_squared(&offset)
                - expect(gap) / (2.0 * l)
                + mu / l * dot(&terms.mean_gradient(&other), &offset);
            assert!(left <= right + 1e-13 * (1.0 + left.abs()), "4.1: {left:e} {right:e}");
            let points = terms.random_points(&mut rng);
            let s = State { terms: &terms, step: 0.1, x, points };
            assert!(s.table_error() <= 2.0 * l * s.spread() * (1.0 + 1e-12), "4.2");
        }
    }
}

/// Lemma 4.3, with the sign of `gamma f'(x*)` put right, and lemma 4.5, with that of `f_j'(x*)`.
#[test]
fn lemmas_4_3_and_4_5() {
    let mut tightest = [0.0f64; 2];
    states(40, 32, |s, _| {
        let terms = s.terms;
        let at_star = terms.mean_gradient(&terms.star);
        let slope = terms.mean_gradient(&s.x);
        let moved = expect(|j| {
            let w = s.w(j);
            let v: Vector = std::array::from_fn(|c| w[c] - s.x[c] + s.step * at_star[c]);
            norm_squared(&v)
        });
        let noise = expect(|j| {
            let w = s.w(j);
            let delta: Vector = std::array::from_fn(|c| -(w[c] - s.x[c]) / s.step - slope[c]);
            norm_squared(&delta)
        });
        for b in [0.1, 1.0, 10.0] {
            let sum = (1.0 + 1.0 / b) * s.table_error() + (1.0 + b) * s.point_error();
            let bound = s.step * s.step * (sum - b * norm_squared(&minus(&slope, &at_star)));
            assert!(moved <= bound * (1.0 + 1e-10), "4.3: {moved:e} {bound:e}");
            assert!(noise <= sum * (1.0 + 1e-10), "4.5: {noise:e} {sum:e}");
            tightest = [tightest[0].max(moved / bound), tightest[1].max(noise / sum)];
        }
    });
    assert!(tightest.iter().all(|t| *t > 0.5), "{tightest:?}");
}

/// Lemma 4.4: `E||x+ - x*||^2 <= ||x - x*||^2 - 2 gamma E[F(x+) - F*] + 2 gamma^2 E||Delta||^2`.
#[test]
fn lemma_4_4() {
    states(40, 33, |s, _| {
        let terms = s.terms;
        let slope = terms.mean_gradient(&s.x);
        let distance = |x: &Vector| norm_squared(&minus(x, &terms.star));
        let after = expect(|j| distance(&s.step(j).x));
        let excess = expect(|j| terms.objective(&s.step(j).x) - terms.best);
        let noise = expect(|j| {
            let w = s.w(j);
            let delta: Vector = std::array::from_fn(|c| -(w[c] - s.x[c]) / s.step - slope[c]);
            norm_squared(&delta)
        });
        let bound = distance(&s.x) - 2.0 * s.step * excess + 2.0 * s.step * s.step * noise;
        assert!(after <= bound + 1e-12 * distance(&s.x), "{after:e} {bound:e}");
    });
}

/// The weight of `||x - x*||^2` in theorem 4.6.
fn weight(step: f64, mu: f64) -> f64 {
    1.0 / (2.0 * step * (1.0 - step * mu) * N as f64)
}

/// Theorem 4.6: `T` contracts by `1 - min(1/(4n), mu/(3L))` a step with step `1/(3L)`, and by `1 - gamma mu` with `gamma =
/// 1/(2(mu n + L))`; and by `1 - mu/(6(mu n + L))` with `1/(3(mu n + L))`.
#[test]
fn theorem_4_6() {
    states(100, 3, |s, rate| {
        let c = weight(s.step, s.terms.mu);
        let (before, after) = (s.lyapunov(c), expect(|j| s.step(j).lyapunov(c)));
        assert!(after <= rate * before * (1.0 + 1e-9), "{after:e} {before:e}");
    });
}

/// No better rate can be proved: with `x*` in the table, and the point away from it where all terms have the curvature `mu`,
/// `T` falls by `1 - gamma mu` to the last digit, which is the rate for both steps as long as `mu/(3L) <= 1/(4n)`. Steps half
/// as long leave `1 - 3 (gamma mu)^2 / 4`, and violate it.
#[test]
fn theorem_4_6_is_tight() {
    for seed in 0..20 {
        let mut rng = stream(seed, 35);
        let share = 10f64.powf(rng.random_range(-2.5..-1.2));
        let terms = Terms::flat(seed, |l| share * l);
        assert!(terms.mu / (3.0 * terms.largest()) <= 1.0 / (4.0 * N as f64));
        let mut x = terms.star;
        x[D - 1] += 1.5;
        for (gamma, rate) in &steps(&terms)[..2] {
            let c = weight(*gamma, terms.mu);
            let contraction = |step: f64| {
                let s = State { terms: &terms, step, x, points: vec![terms.star; N] };
                expect(|j| s.step(j).lyapunov(c)) / s.lyapunov(c)
            };
            assert!((contraction(*gamma) - rate).abs() <= 1e-12, "{} {rate}", contraction(*gamma));
            let (product, half) = (gamma * terms.mu, contraction(0.5 * gamma));
            assert!((half - (1.0 - 0.75 * product * product)).abs() <= 1e-12, "{half}");
            assert!(half > *rate);
        }
    }
}

/// Section 4.2: where only the mean of the terms is strongly convex, the step `gamma = 1/(3(mu n + L))` has the rate
/// `1 - mu/(6(mu n + L))`. The thesis does not print the proof. It goes through with the weight `c = 1/(2 gamma n)`: the slack
/// of the term `E||f_j'(x) - f_j'(x*)||^2` pays for half of `2 gamma <f'(x) - f'(x*), x - x*> >= 2 gamma mu ||x - x*||^2`.
#[test]
fn section_4_2_strongly_convex_on_average() {
    for seed in 0..60 {
        for l1 in [0.0, 0.05] {
            let mut rng = stream(seed, 36);
            let mu = 10f64.powf(rng.random_range(-2.5..0.0));
            let terms = Terms::uneven(seed, |_| mu, l1);
            let (step, rate) = steps(&terms)[2];
            let (x, points) = (terms.random_point(&mut rng), terms.random_points(&mut rng));
            let s = State { terms: &terms, step, x, points };
            let c = 1.0 / (2.0 * step * N as f64);
            let (before, after) = (s.lyapunov(c), expect(|j| s.step(j).lyapunov(c)));
            assert!(after <= rate * before * (1.0 + 1e-9), "{after:e} {before:e}");
        }
        // Where all curvature is mu the decrease is gamma mu (1 - gamma mu), at most twice what is proved; a quarter of the
        // step lets T rise.
        let terms = Terms::flat(seed, |l| 0.3 * l);
        let (gamma, rate) = steps(&terms)[2];
        let mut x = terms.star;
        x[D - 1] -= 0.7;
        let c = 1.0 / (2.0 * gamma * N as f64);
        let contraction = |step: f64| {
            let s = State { terms: &terms, step, x, points: vec![terms.star; N] };
            expect(|j| s.step(j).lyapunov(c)) / s.lyapunov(c)
        };
        let fall = 1.0 - contraction(gamma);
        let product = gamma * terms.mu;
        assert!((fall - product * (1.0 - product)).abs() <= 1e-12);
        assert!(fall <= 2.0 * (1.0 - rate) && contraction(0.25 * gamma) > 1.0);
    }
}

/// Theorem 4.7: `E||x^k - x*||^2 <= rate^k (||x^0 - x*||^2 + weight B)`, `B` the divergence of `f` between the start and
/// the optimum, `weight = n/(mu n + L)` for the step `1/(2(mu n + L))` and `2n/(3L)` for `1/(3L)`; and, as above, `2 gamma n`
/// for `gamma = 1/(3(mu n + L))`. A run that does not move would break all of them.
#[test]
fn theorem_4_7_on_the_mean_of_200_seeds() {
    let (start, n) = ([0.5; D], N as f64);
    for l1 in [0.0, 0.05] {
        let terms = Terms::composite(12, |l| 0.3 * l, l1);
        let sum = Sum::new(&terms, terms.h, 0.0).unwrap();
        let (l, size) = (terms.largest(), terms.mu * n + terms.largest());
        let weights = [2.0 * n / (3.0 * l), n / size, 2.0 * n / (3.0 * size)];
        for ((step, rate), weight) in steps(&terms).into_iter().zip(weights) {
            let ends = [N, 3 * N, 12 * N, 30 * N];
            let runs: Vec<Vec<f64>> = (0..200)
                .map(|seed| {
                    let stop = Stop::after_passes(1.0 + (ends[3] / N) as f64);
                    let step = StepSize::Constant(step);
                    let settings = SumSettings { step, seed, stop, ..SumSettings::default() };
                    let mut walk = vec![];
                    let mut watch = |progress: &Progress, m: &Incremental<'_, '_, Terms, L1>| {
                        let x = vector(m.point().to_vec());
                        walk.push((progress.passes, norm_squared(&minus(&x, &terms.star))));
                        ControlFlow::Continue(())
                    };
                    let start = Some(SumState::from(start.to_vec()));
                    general::saga(&sum, &settings, start, &mut watch).unwrap();
                    let at = |k: &usize| (1 + k / N) as f64;
                    let place = |k| walk.iter().find(|(passes, _)| (passes - at(k)).abs() < 1e-9);
                    ends.iter().map(|k| place(k).expect("a look after every pass").1).collect()
                })
                .collect();
            let distance = norm_squared(&minus(&start, &terms.star));
            let size = distance + weight * terms.divergence(&start, &terms.star);
            for (at, k) in ends.into_iter().enumerate() {
                let samples: Vec<f64> = runs.iter().map(|run| run[at]).collect();
                mean_below(&samples, rate.powi(k as i32) * size, &format!("step {k}"));
            }
            assert!(rate.powi(ends[3] as i32) * size < 0.5 * distance);
        }
    }
}

/// Algorithm 4.2, in two variables, has the points of the library's steps.
#[test]
fn algorithm_4_2_in_two_variables() {
    let terms = Terms::new(7, |l| 0.2 * l);
    let sum = Sum::new(&terms, terms.h, 0.0).unwrap();
    let script: Vec<usize> = (0..6 * N).map(|k| (7 * k + k / 5) % N).collect();
    let (start, step) = ([0.3; D], 0.5 / terms.largest());
    let settings = SumSettings {
        step: StepSize::Constant(step),
        order: Order::Scripted(script.clone()),
        stop: Stop { check: Cadence::Every(1.0 / N as f64), ..Stop::after_passes(7.0) },
        ..SumSettings::default()
    };
    let mut path = vec![];
    let mut watch = |progress: &Progress, method: &Incremental<'_, '_, Terms, L1>| {
        if progress.passes > 1.0 - 1e-9 {
            path.push(method.point().to_vec());
        }
        ControlFlow::Continue(())
    };
    general::saga(&sum, &settings, Some(start.to_vec().into()), &mut watch).unwrap();
    assert_eq!(path.len(), script.len() + 1);
    let mut table: Vec<Vector> = (0..N).map(|i| terms.gradient(i, &start)).collect();
    let total = |table: &[Vector], c: usize| table.iter().map(|g| g[c]).sum::<f64>();
    let mut u: Vector = std::array::from_fn(|c| start[c] + step * total(&table, c));
    for (k, j) in script.into_iter().enumerate() {
        let x: Vector = std::array::from_fn(|c| u[c] - step * total(&table, c));
        assert!(distance(&x, &path[k]) < 1e-12, "step {k}: {x:?} {:?}", path[k]);
        u = std::array::from_fn(|c| u[c] + (x[c] - u[c]) / N as f64);
        table[j] = terms.gradient(j, &x);
    }
}

/// Theorem 4.8, a step: with `mu = 0`, `gamma = 1/(3L)` and the weight `c + a = 3L/(2n) + 3L/(20n)` of the distance,
/// `E[T+] - T <= -(1/(10n)) E[F(x+) - F*]`.
#[test]
fn theorem_4_8_in_one_step() {
    let n = N as f64;
    for seed in 0..60 {
        let mut rng = stream(seed, 34);
        let terms = Terms::composite(seed, |_| 0.0, 0.05);
        let l = terms.largest();
        for _ in 0..3 {
            let x = terms.random_point(&mut rng);
            let points = terms.random_points(&mut rng);
            let s = State { terms: &terms, step: 1.0 / (3.0 * l), x, points };
            let weight = 3.0 * l / (2.0 * n) + 3.0 * l / (20.0 * n);
            let before = s.lyapunov(weight);
            let next: Vec<State<'_>> = (0..N).map(|j| s.step(j)).collect();
            let after = expect(|j| next[j].lyapunov(weight));
            let excess = expect(|j| terms.objective(&next[j].x) - terms.best);
            assert!(excess >= -1e-12);
            assert!(after - before <= -excess / (10.0 * n) + 1e-13 * before, "seed {seed}");
        }
    }
}

/// Theorem 4.8: `E F(mean of x^1, ..., x^k) - F* <= (10n/k) ((2L/n) ||x^0 - x*||^2 + B)`, for the method as it is
/// implemented, which returns the better of the mean and the last point.
#[test]
fn theorem_4_8_on_the_mean_of_200_seeds() {
    let terms = Terms::composite(13, |_| 0.0, 0.05);
    let design = Dense::new(terms.data.dense.view()).unwrap();
    let problem = Problem::new(design, &terms.data.signs, Logistic, terms.h, 0.0).unwrap();
    let (l, n, start) = (terms.largest(), N as f64, [0.0; D]);
    let distance = norm_squared(&minus(&start, &terms.star));
    let size = 2.0 * l / n * distance + terms.divergence(&start, &terms.star);
    // Without a step the last of the bounds would be broken.
    let bound = |k: usize| 10.0 * n / k as f64 * size;
    assert!(bound(100 * N) < terms.objective(&start) - terms.best);
    for k in [1, N, 10 * N, 100 * N] {
        let stop = Stop::after_passes(1.0 + k as f64 / n);
        let excess: Vec<f64> = (0..200)
            .map(|seed| {
                let step = StepSize::Constant(1.0 / (3.0 * l));
                let settings =
                    SagaSettings { step, average: true, seed, stop, ..SagaSettings::default() };
                let s = saga(&problem, &settings, None, &mut ()).unwrap();
                problem.objective(&s.state.point).unwrap() - terms.best
            })
            .collect();
        mean_below(&excess, bound(k), &format!("step {k}"));
    }
}
