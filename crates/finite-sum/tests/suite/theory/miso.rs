//! MISO in any order (thesis, section 5.3): the length of the path that is left, for the method as it is implemented.

use std::ops::ControlFlow;

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{MisoSettings, PointTable, miso};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Cadence, Progress, Stop};

use super::terms::{Terms, Vector, mean_below, minus, norm_squared};
use super::{D, N};

const STEPS: usize = 6 * N;

/// A run of MISO from the origin: `phi^0, w^0, w^1, ...`, and the terms visited.
struct Run {
    path: Vec<Vector>,
    visited: Vec<usize>,
    /// `length[k]`: of the path up to point `k`.
    length: Vec<f64>,
}

fn run(terms: &Terms, order: &Order, seed: u64) -> Run {
    let design = Dense::new(terms.data.dense.view()).unwrap();
    let problem = Problem::new(design, &terms.data.signs, Logistic, Zero, terms.mu).unwrap();
    let stop = Stop {
        check: Cadence::Every(1.0 / N as f64),
        ..Stop::after_passes(1.0 + STEPS as f64 / N as f64)
    };
    let settings = MisoSettings { order: order.clone(), seed, stop, ..MisoSettings::default() };
    let mut path = vec![];
    let mut watch = |progress: &Progress, method: &PointTable<'_, '_, _, _>| {
        // The pass that fills the table ends at w^0.
        if progress.passes == 0.0 || progress.passes > 1.0 - 1e-9 {
            path.push(method.point().weights.clone().try_into().expect("D entries"));
        }
        ControlFlow::Continue(())
    };
    miso(&problem, &settings, None, &mut watch).unwrap();
    assert_eq!(path.len(), STEPS + 2);
    let mut visits = Visits::new(order, N, seed).unwrap();
    let mut length = vec![0.0];
    for pair in path.windows(2) {
        length.push(length[length.len() - 1] + norm_squared(&minus(&pair[1], &pair[0])).sqrt());
    }
    Run { path, visited: (0..STEPS).map(|_| visits.draw()).collect(), length }
}

impl Run {
    /// For every step: the positions on the path of all `phi_i` before it, that of `w` being `k + 1`.
    fn positions(&self) -> Vec<[usize; N]> {
        let mut places = [0; N];
        let mut all = vec![places];
        for (k, &j) in self.visited.iter().enumerate() {
            places[j] = k + 1;
            all.push(places);
        }
        all
    }

    /// `mean_i d(w^k, phi_i^k)`
    fn distances(&self) -> Vec<f64> {
        let to_table = |(k, places): (usize, &[usize; N])| {
            places.iter().map(|&p| self.length[k + 1] - self.length[p]).sum::<f64>() / N as f64
        };
        self.positions().iter().enumerate().map(to_table).collect()
    }
}

fn problems() -> impl Iterator<Item = Terms> {
    [0.03, 0.3, 2.0].into_iter().enumerate().map(|(k, mu)| Terms::new(20 + k as u64, |_| mu))
}

/// Lemma 5.4: `||w+ - w|| <= (1 - mu/(mu + L)) (1/n) ||w - phi_j||`, at every step of every order.
#[test]
fn lemma_5_4() {
    let mut tightest: f64 = 0.0;
    for terms in problems() {
        let shrink = 1.0 - terms.mu / (terms.mu + terms.largest());
        for order in [Order::Cyclic, Order::Permuted, Order::Uniform] {
            let run = run(&terms, &order, 1);
            for (k, places) in run.positions()[..STEPS].iter().enumerate() {
                let w = &run.path[k + 1];
                let moved = norm_squared(&minus(&run.path[k + 2], w)).sqrt();
                let phi = &run.path[places[run.visited[k]]];
                let bound = shrink / N as f64 * norm_squared(&minus(w, phi)).sqrt();
                assert!(moved <= bound * (1.0 + 1e-9) + 1e-15, "step {k}: {moved:e} {bound:e}");
                tightest = tightest.max(moved / bound.max(1e-12));
            }
        }
    }
    assert!(tightest > 0.5, "{tightest}");
}

/// Theorems 5.5 to 5.7: `mean_i d(w, phi_i)`, along the path, falls by `1 - mu/((mu + L) n)` a step: in every step of the
/// cyclic order, in expectation for random draws (here from each state of a run), on the mean of runs for permuted ones.
#[test]
fn theorems_5_5_to_5_7() {
    for terms in problems() {
        let rate = 1.0 - terms.mu / ((terms.mu + terms.largest()) * N as f64);
        let cyclic = run(&terms, &Order::Cyclic, 0);
        for (k, pair) in cyclic.distances().windows(2).enumerate() {
            assert!(pair[1] <= rate * pair[0] * (1.0 + 1e-9) + 1e-15, "cyclic, step {k}");
        }
        // From each state of a random run, all next terms.
        let random = run(&terms, &Order::Uniform, 3);
        let distances = random.distances();
        for (k, places) in random.positions()[..STEPS].iter().enumerate() {
            let points: Vec<Vector> = places.iter().map(|&p| random.path[p]).collect();
            let w = random.path[k + 1];
            let mean = super::terms::expect(|j| {
                let mut next = points.clone();
                next[j] = w;
                let step = minus(&terms.next_point(&next, terms.largest()), &w);
                let left =
                    distances[k] - (random.length[k + 1] - random.length[places[j]]) / N as f64;
                left + norm_squared(&step).sqrt()
            });
            assert!(mean <= rate * distances[k] * (1.0 + 1e-9) + 1e-15, "random, step {k}");
        }
        let runs: Vec<Vec<f64>> =
            (0..60).map(|seed| run(&terms, &Order::Permuted, seed).distances()).collect();
        for k in [1, N, STEPS] {
            let samples: Vec<f64> = runs.iter().map(|run| run[k]).collect();
            mean_below(&samples, rate.powi(k as i32) * runs[0][0], &format!("permuted, step {k}"));
        }
    }
}

/// Theorem 5.8: `f(w^k) - f* <= (1 - mu/((mu + L) n))^{2k} (2n/mu) ||f'(phi^0)||^2` for every run in cyclic order. For
/// random and permuted orders the thesis squares a bound on an expectation; there the mean of runs is looked at.
#[test]
fn theorem_5_8() {
    for terms in problems() {
        let rate = 1.0 - terms.mu / ((terms.mu + terms.largest()) * N as f64);
        let start = 2.0 * N as f64 / terms.mu * norm_squared(&terms.mean_gradient(&[0.0; D]));
        let bound = |k: usize| rate.powi(2 * k as i32) * start;
        let excess = |run: &Run, k: usize| terms.mean_value(&run.path[k + 1]) - terms.best;
        let cyclic = run(&terms, &Order::Cyclic, 0);
        for k in 0..=STEPS {
            assert!(excess(&cyclic, k) <= bound(k) + 1e-14, "cyclic, step {k}");
        }
        for order in [Order::Uniform, Order::Permuted] {
            let runs: Vec<Run> = (0..60).map(|seed| run(&terms, &order, seed)).collect();
            for k in [1, N, STEPS] {
                let samples: Vec<f64> = runs.iter().map(|run| excess(run, k)).collect();
                mean_below(&samples, bound(k), &format!("{}, step {k}", order.name()));
            }
        }
    }
}
