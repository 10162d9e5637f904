//! SAGA (thesis, sections 4.6 and 4.8).
//!
//! The theorems ask every term to be strongly convex: the terms are folded, `f_i = phi_i + (mu/2)||.||^2` with gradient
//! tables `f_i'(phi_i)`. The explicit l2 of this crate is another placement of the same term, so for `mu > 0` the step is
//! written out here; the crate's own step is checked by the trajectory tests, and by the theorem for `mu = 0`.

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{SagaSettings, saga};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Regulariser;
use fenchel_optim::random::{Order, Visits, stream};
use fenchel_optim::{StepSize, Stop};
use rand::RngExt;

use super::terms::{Terms, Vector, expect, mean, mean_below, minus, norm_squared};
use super::{D, N, dot};

struct State<'t> {
    terms: &'t Terms,
    step: f64,
    x: Vector,
    points: Vec<Vector>,
    /// `(1/n) sum f_i'(phi_i)`
    average: Vector,
}

impl<'t> State<'t> {
    fn new(terms: &'t Terms, step: f64, x: Vector, points: Vec<Vector>) -> Self {
        let average = mean((0..N).map(|i| terms.gradient(i, &points[i])));
        State { terms, step, x, points, average }
    }

    /// `w` of a step on term `j`: the point before the proximal operator.
    fn w(&self, j: usize) -> Vector {
        let (new, old) = (self.terms.gradient(j, &self.x), self.terms.gradient(j, &self.points[j]));
        std::array::from_fn(|c| self.x[c] - self.step * (new[c] - old[c] + self.average[c]))
    }

    /// The state after a step on term `j`.
    fn step(&self, j: usize) -> Self {
        let mut next = self.w(j);
        self.terms.h.prox(&mut next, self.step);
        let mut points = self.points.clone();
        points[j] = self.x;
        State::new(self.terms, self.step, next, points)
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

/// Random states, with and without l1, of all the steps that have a theorem: `(step, rate)`.
fn states(count: u64, stream_id: u64, mut check: impl FnMut(&State<'_>, f64)) {
    for seed in 0..count {
        for l1 in [0.0, 0.05] {
            let mut rng = stream(seed, stream_id);
            let mu = 10f64.powf(rng.random_range(-2.5..0.0));
            let terms = Terms::composite(seed, |_| mu, l1);
            let (l, n) = (terms.largest(), N as f64);
            let size = mu * n + l;
            for (step, rate) in [
                (1.0 / (3.0 * l), 1.0 - f64::min(1.0 / (4.0 * n), mu / (3.0 * l))),
                (1.0 / (2.0 * size), 1.0 - mu / (2.0 * size)),
                (1.0 / (3.0 * size), 1.0 - mu / (6.0 * size)),
            ] {
                let x = terms.random_point(&mut rng);
                check(&State::new(&terms, step, x, terms.random_points(&mut rng)), rate);
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
            let s = State { x, ..State::new(&terms, 0.1, x, terms.random_points(&mut rng)) };
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

/// Theorem 4.6: `T` contracts by `1 - min(1/(4n), mu/(3L))` a step with step `1/(3L)`, and by `1 - gamma mu` with `gamma =
/// 1/(2(mu n + L))`; and by `1 - mu/(6(mu n + L))` with `1/(3(mu n + L))`.
#[test]
fn theorem_4_6() {
    let mut tightest: f64 = 0.0;
    states(100, 3, |s, rate| {
        let c = 1.0 / (2.0 * s.step * (1.0 - s.step * s.terms.mu) * N as f64);
        let (before, after) = (s.lyapunov(c), expect(|j| s.step(j).lyapunov(c)));
        assert!(after <= rate * before * (1.0 + 1e-9), "{after:e} {before:e}");
        tightest = tightest.max(after / (rate * before));
    });
    assert!(tightest > 0.5, "{tightest}");
}

/// Theorem 4.7: `E||x^k - x*||^2 <= rate^k (||x^0 - x*||^2 + weight B)`, `B` the divergence of `f` between the start and
/// the optimum, `weight = n/(mu n + L)` for the step `1/(2(mu n + L))` and `2n/(3L)` for `1/(3L)`.
#[test]
fn theorem_4_7_on_the_mean_of_200_seeds() {
    let start = [0.5; D];
    for l1 in [0.0, 0.05] {
        let terms = Terms::composite(12, |l| 0.3 * l, l1);
        let (l, n) = (terms.largest(), N as f64);
        let size = terms.mu * n + l;
        for (step, rate, weight) in [
            (1.0 / (2.0 * size), 1.0 - terms.mu / (2.0 * size), n / size),
            (
                1.0 / (3.0 * l),
                1.0 - f64::min(1.0 / (4.0 * n), terms.mu / (3.0 * l)),
                2.0 * n / (3.0 * l),
            ),
        ] {
            let runs: Vec<Vec<f64>> = (0..200)
                .map(|seed| {
                    let mut visits = Visits::new(&Order::Uniform, N, seed).unwrap();
                    let mut state = State::new(&terms, step, start, vec![start; N]);
                    let walk = (0..8 * N).map(|_| {
                        state = state.step(visits.draw());
                        norm_squared(&minus(&state.x, &terms.star))
                    });
                    walk.collect()
                })
                .collect();
            let distance = norm_squared(&minus(&start, &terms.star));
            let bound = distance + weight * terms.divergence(&start, &terms.star);
            for k in [1, N, 3 * N, 8 * N] {
                let samples: Vec<f64> = runs.iter().map(|run| run[k - 1]).collect();
                mean_below(&samples, rate.powi(k as i32) * bound, &format!("step {k}"));
            }
        }
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
            let s = State::new(&terms, 1.0 / (3.0 * l), x, terms.random_points(&mut rng));
            let weight = 3.0 * l / (2.0 * n) + 3.0 * l / (20.0 * n);
            let before = s.lyapunov(weight);
            let after = expect(|j| s.step(j).lyapunov(weight));
            let excess = expect(|j| terms.objective(&s.step(j).x) - terms.best);
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
        mean_below(&excess, 10.0 * n / k as f64 * size, &format!("step {k}"));
    }
}
