//! MISO in any order (thesis, sections 3.4 and 5.3), for the method as it is implemented: distances to the minimum, and the
//! length of the path that is left.

use fenchel_optim::random::{Order, stream};
use rand::RngExt;

use super::points::{Method, Run, State, Toy, run};
use super::terms::{Terms, Vector, expect, mean_below, minus, norm_squared};
use super::{D, N};

const STEPS: usize = 6 * N;
const ORIGIN: Vector = [0.0; D];

fn length(a: &Vector, b: &Vector) -> f64 {
    norm_squared(&minus(a, b)).sqrt()
}

/// A run with the lengths of its path up to each of its points.
struct Measured {
    run: Run,
    length: Vec<f64>,
}

fn measured(terms: &Terms, problem: &Toy<'_>, order: &Order, seed: u64, steps: usize) -> Measured {
    let run = run(problem, Method::Miso(terms.largest()), &ORIGIN, (order, seed), steps);
    let mut lengths = vec![0.0];
    for pair in run.path.windows(2) {
        lengths.push(lengths[lengths.len() - 1] + length(&pair[1], &pair[0]));
    }
    Measured { run, length: lengths }
}

impl Measured {
    /// `mean_i d(w^k, phi_i^k)`
    fn distances(&self) -> Vec<f64> {
        let to_table = |(k, places): (usize, &[usize; N])| {
            places.iter().map(|&p| self.length[k + 1] - self.length[p]).sum::<f64>() / N as f64
        };
        self.run.positions().iter().enumerate().map(to_table).collect()
    }
}

fn problems() -> impl Iterator<Item = Terms> {
    [0.03, 0.3, 2.0].into_iter().enumerate().map(|(k, mu)| Terms::new(20 + k as u64, |_| mu))
}

/// `1 - mu/((mu + L) n)`
fn rate(terms: &Terms) -> f64 {
    1.0 - terms.mu / ((terms.mu + terms.largest()) * N as f64)
}

/// `mean_i ||phi_i - x*||^2`
fn spread(s: &State<'_>) -> f64 {
    expect(|i| norm_squared(&minus(&s.points[i], &s.terms.star)))
}

/// (3.3) in one step. The parabolas stand by `(L - mu)/2 ||x* - phi_i||^2` above their terms at most, so that `f(w) - f* <=
/// (L - mu)/2 Q` and `||w - x*||^2 <= (L - mu)/(L + mu) Q` with `Q = mean ||phi_i - x*||^2`: `E Q+ <= (1 - 2 mu/((mu + L) n)) Q`,
/// twice as fast as (3.3).
#[test]
fn the_distance_of_the_table_falls_in_every_step() {
    let n = N as f64;
    for terms in problems() {
        let problem = terms.problem();
        let (mu, l) = (terms.mu, terms.largest());
        for seed in 0..20 {
            let mut rng = stream(seed, 25);
            let start = terms.random_point(&mut rng);
            let s = State::start(&terms, &problem, Method::Miso(l), start);
            let s = s.walk((0..rng.random_range(0..2 * N)).map(|k| (7 * k) % N));
            let before = spread(&s);
            assert!(terms.mean_value(&s.w) - terms.best <= 0.5 * (l - mu) * before + 1e-13);
            let after = expect(|j| spread(&s.step(j)));
            let twice = 1.0 - 2.0 * mu / ((mu + l) * n);
            assert!(after <= twice * before * (1.0 + 1e-12), "seed {seed}: {after:e} {before:e}");
        }
    }
}

/// How much room there is: along a direction in which every term has the curvature `mu`, from a table of one point, `Q` falls by
/// `(2 - q) q / n`, `q = mu/L`, between 1 and 9/8 times what is proved above. Parabolas four times as curved, steps a
/// quarter as long, do not even meet (3.3).
#[test]
fn the_bound_of_one_step_is_tight() {
    for (seed, share) in [(1, 0.05), (2, 0.3), (3, 1.0)] {
        let terms = Terms::flat(seed, |l| share * l);
        let problem = terms.problem();
        let (l, q, n) = (terms.largest(), terms.mu / terms.largest(), N as f64);
        let mut start = terms.star;
        start[D - 1] += 0.8;
        let fall = |curvature: f64| {
            let s = State::start(&terms, &problem, Method::Miso(curvature), start);
            1.0 - expect(|j| spread(&s.step(j))) / spread(&s)
        };
        assert!((fall(l) - (2.0 - q) * q / n).abs() <= 1e-12);
        let proved = 2.0 * q / ((1.0 + q) * n);
        assert!((proved * (1.0 - 1e-9)..=1.125 * proved).contains(&fall(l)));
        assert!(fall(4.0 * l) < 1.0 - rate(&terms));
    }
}

/// (3.3), with the point of the start, `phi^0`, in place of what is printed as `w^0`, and counted from the first minimum:
/// `E f(w^k) - f* <= (1 - mu/((mu + L) n))^k (L/2) ||phi^0 - x*||^2`.
#[test]
fn equation_3_3_on_the_mean_of_60_seeds() {
    for terms in problems() {
        let problem = terms.problem();
        let size = 0.5 * terms.largest() * norm_squared(&terms.star);
        let bound = |k: usize| rate(&terms).powi(k as i32) * size;
        let excess = |x: &Vector| terms.mean_value(x) - terms.best;
        // A run that does not move would break the last of the bounds.
        let steps = (0..).find(|&k| bound(k) < 0.5 * excess(&ORIGIN)).unwrap();
        let runs: Vec<Vec<Vector>> = (0..60)
            .map(|seed| {
                let method = Method::Miso(terms.largest());
                run(&problem, method, &ORIGIN, (&Order::Uniform, seed), steps).path
            })
            .collect();
        for k in [0, steps / 4, steps / 2, steps] {
            let samples: Vec<f64> = runs.iter().map(|path| excess(&path[k + 1])).collect();
            mean_below(&samples, bound(k), &format!("mu {}, step {k}", terms.mu));
        }
    }
}

/// Lemma 5.4: `||w+ - w|| <= (1 - mu/(mu + L)) (1/n) ||w - phi_j||`, at every step of every order.
#[test]
fn lemma_5_4() {
    let mut tightest: f64 = 0.0;
    for terms in problems() {
        let shrink = 1.0 - terms.mu / (terms.mu + terms.largest());
        let problem = terms.problem();
        for order in [Order::Cyclic, Order::Permuted, Order::Uniform] {
            let Measured { run, .. } = measured(&terms, &problem, &order, 1, STEPS);
            for (k, places) in run.positions()[..STEPS].iter().enumerate() {
                let w = &run.path[k + 1];
                let moved = length(&run.path[k + 2], w);
                let bound = shrink / N as f64 * length(w, &run.path[places[run.visited[k]]]);
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
        let (problem, rate) = (terms.problem(), rate(&terms));
        let cyclic = measured(&terms, &problem, &Order::Cyclic, 0, STEPS);
        for (k, pair) in cyclic.distances().windows(2).enumerate() {
            assert!(pair[1] <= rate * pair[0] * (1.0 + 1e-9) + 1e-15, "cyclic, step {k}");
        }
        // From each state of a random run, all next terms.
        let random = measured(&terms, &problem, &Order::Uniform, 3, STEPS);
        let distances = random.distances();
        let mut s = State::start(&terms, &problem, Method::Miso(terms.largest()), ORIGIN);
        for (k, places) in random.run.positions()[..STEPS].iter().enumerate() {
            let mean = expect(|j| {
                let left =
                    distances[k] - (random.length[k + 1] - random.length[places[j]]) / N as f64;
                left + length(&s.step(j).w, &s.w)
            });
            assert!(mean <= rate * distances[k] * (1.0 + 1e-9) + 1e-15, "random, step {k}");
            s = s.step(random.run.visited[k]);
        }
        let permuted = |seed| measured(&terms, &problem, &Order::Permuted, seed, STEPS).distances();
        let runs: Vec<Vec<f64>> = (0..60).map(permuted).collect();
        for k in [1, N, STEPS] {
            let samples: Vec<f64> = runs.iter().map(|run| run[k]).collect();
            mean_below(&samples, rate.powi(k as i32) * runs[0][0], &format!("permuted, step {k}"));
        }
    }
}

/// Theorem 5.8: `f(w^k) - f* <= (1 - mu/((mu + L) n))^{2k} (2n/mu) ||f'(phi^0)||^2` for every run in cyclic order. For
/// random and permuted orders the thesis squares a bound on an expectation; what follows is the bound on the mean of the root of
/// `f(w^k) - f*`. Each run is so long that one that does not move would break the bound, also for small `mu`.
#[test]
fn theorem_5_8() {
    for terms in problems() {
        let (problem, rate) = (terms.problem(), rate(&terms));
        let start = 2.0 * N as f64 / terms.mu * norm_squared(&terms.mean_gradient(&ORIGIN));
        let bound = |k: usize| rate.powi(2 * k as i32) * start;
        let excess = |x: &Vector| terms.mean_value(x) - terms.best;
        let steps = (0..).find(|&k| bound(k) < 0.5 * excess(&ORIGIN)).unwrap();
        let method = Method::Miso(terms.largest());
        let path = |order: &Order, seed| run(&problem, method, &ORIGIN, (order, seed), steps).path;
        for (k, x) in path(&Order::Cyclic, 0)[1..].iter().enumerate() {
            assert!(excess(x) <= bound(k) + 1e-14, "cyclic, step {k}");
        }
        for order in [Order::Uniform, Order::Permuted] {
            let runs: Vec<Vec<Vector>> = (0..40).map(|seed| path(&order, seed)).collect();
            for k in [1, N, steps / 2, steps] {
                let root = |path: &Vec<Vector>| excess(&path[k + 1]).max(0.0).sqrt();
                let samples: Vec<f64> = runs.iter().map(root).collect();
                mean_below(&samples, bound(k).sqrt(), &format!("{}, step {k}", order.name()));
            }
        }
    }
}
