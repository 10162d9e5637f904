//! Lower bounds (thesis, section 5.1).

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::general::{self, FiniteSum, Sum, SumSettings};
use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::methods::SdcaSettings;
use fenchel_finite_sum::methods::{SagaSettings, TableStart, saga, sdca};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{StepSize, Stop};
use ndarray::Array2;

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
            table: TableStart::Zero,
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

/// Theorem 5.2's worst case: `n` copies of Nesterov's chain of `2t + 1` links, each on variables of its own,
/// `f_i(x) = (L/4) ((z_1^2 + sum (z_l - z_{l+1})^2 + z_last^2)/2 - z_1)`, `L` the smoothness of a term.
struct Chains {
    count: usize,
    links: usize,
    l: f64,
    columns: Vec<Vec<u32>>,
}

impl Chains {
    fn new(count: usize, t: usize, l: f64) -> Self {
        let links = 2 * t + 1;
        let column = |i: usize, k: usize| (k * count + i) as u32;
        let columns = (0..count).map(|i| (0..links).map(|k| column(i, k)).collect()).collect();
        Chains { count, links, l, columns }
    }

    fn objective(&self, x: &[f64]) -> f64 {
        let mut gradient = vec![0.0; self.links];
        let each = (0..self.count).map(|i| self.gradient(i, x, &mut (), &mut gradient));
        each.sum::<f64>() / self.count as f64
    }

    /// The optimum: `z_l = 1 - l/(2t + 2)`, with `f* = -(L/8) (1 - 1/(2t + 2))`.
    fn optimum(&self) -> (Vec<f64>, f64) {
        let ends = (self.links + 1) as f64;
        let x = (0..self.links).flat_map(|k| vec![1.0 - (k + 1) as f64 / ends; self.count]);
        (x.collect(), -self.l / 8.0 * (1.0 - 1.0 / ends))
    }
}

impl FiniteSum for Chains {
    type Scratch = ();

    fn scratch(&self) {}

    fn terms(&self) -> usize {
        self.count
    }

    fn dimension(&self) -> usize {
        self.count * self.links
    }

    fn support(&self, i: usize) -> Option<&[u32]> {
        Some(&self.columns[i])
    }

    fn gradient(&self, i: usize, x: &[f64], (): &mut (), gradient: &mut [f64]) -> f64 {
        let z = |k: usize| self.columns[i].get(k).map_or(0.0, |&c| x[c as usize]);
        let mut sum = 0.5 * z(0) * z(0) - z(0);
        for (k, g) in gradient.iter_mut().enumerate() {
            let before = if k == 0 { 1.0 } else { z(k - 1) };
            *g = 0.25 * self.l * (2.0 * z(k) - before - z(k + 1));
            sum += 0.5 * (z(k) - z(k + 1)).powi(2);
        }
        0.25 * self.l * sum
    }

    fn smoothness(&self, _: usize) -> f64 {
        self.l
    }
}

/// Theorem 5.2 with its constant put right: after `k` term gradients, whichever terms they are of, `F(x^k) - F* >=
/// 3 L ||x^0 - x*||^2 / (32 n (k/n + 1)^2)`. The best point that can be reached by `t` gradients of every term stands
/// at `L/(16 (t + 1))`, by exact linear algebra; the crate's methods stay above the bound.
#[test]
fn theorem_5_2() {
    let (n, l) = (6, 2.5);
    for t in [1usize, 3, 10] {
        let chains = Chains::new(n, t, l);
        let (star, best) = chains.optimum();
        assert!((chains.objective(&star) - best).abs() < 1e-14);
        let sum = Sum::new(&chains, Zero, 0.0).unwrap();
        let mut slope = vec![1.0; star.len()];
        sum.mean_gradient(&star, &mut slope);
        assert!(slope.iter().all(|g| g.abs() < 1e-14), "x* is not stationary");
        let distance: f64 = star.iter().map(|x| x * x).sum();
        let bound = |k: usize| {
            let passes = k as f64 / n as f64;
            3.0 * l * distance / (32.0 * n as f64 * (passes + 1.0).powi(2))
        };
        // t gradients of a term reach its first t links. The minimum over them, by elimination in
        // 2 z_l - z_{l-1} - z_{l+1} = 0, z_0 = 1, z_{t+1} = 0.
        let (mut pivots, mut z) = (vec![2.0], vec![0.0; t + 1]);
        (1..t).for_each(|_| pivots.push(2.0 - 1.0 / pivots[pivots.len() - 1]));
        let mut right = vec![1.0];
        (1..t).for_each(|k| right.push(right[k - 1] / pivots[k - 1]));
        (0..t).rev().for_each(|k| z[k] = (right[k] + z[k + 1]) / pivots[k]);
        let mut x = vec![0.0; star.len()];
        (0..t).for_each(|k| x[k * n..(k + 1) * n].fill(z[k]));
        let gap = chains.objective(&x) - best;
        assert!((gap - l / (16.0 * (t + 1) as f64)).abs() < 1e-14, "{gap}");
        assert!(gap >= bound(t * n) && gap <= 1.6 * bound(t * n), "{gap} {}", bound(t * n));

        let stop = Stop::after_passes(t as f64);
        for order in [Order::Uniform, Order::Permuted, Order::Cyclic] {
            let settings = SumSettings {
                order,
                step: StepSize::Constant(0.5 / l),
                stop,
                ..SumSettings::default()
            };
            let excess = |x: &[f64]| chains.objective(x) - best;
            let saga = general::saga(&sum, &settings, None, &mut ()).unwrap();
            let svrg = general::svrg(&sum, &settings, None, &mut ()).unwrap();
            for (excess, passes, name) in [
                (excess(&saga.state.point), saga.report.passes, "saga"),
                (excess(&svrg.state.point), svrg.report.passes, "svrg"),
            ] {
                let bound = bound((passes * n as f64).round() as usize);
                assert!(excess >= bound * (1.0 - 1e-12), "{name}, t = {t}: {excess} {bound}");
            }
        }
    }
}

/// Section 5.1.4: between the proved bound for well conditioned terms and the rate of acceleration for the others.
#[test]
fn the_conjectured_rate_has_the_two_limits() {
    let x = Array2::from_elem((50, 1), 1.0);
    let y = vec![1.0; 50];
    let rate = |l2: f64| {
        let design = Dense::new(x.view()).unwrap();
        Problem::new(design, &y, Logistic, Zero, l2).unwrap().conjectured_rate()
    };
    assert!((rate(1e6) - (1.0 - 1.0 / 50.0)).abs() < 1e-3);
    // kappa = L/mu = 0.25 / l2: 1 - 1/sqrt(n kappa).
    let l2 = 1e-9;
    assert!(((1.0 - rate(l2)) / (l2 / (50.0 * 0.25f64)).sqrt() - 1.0).abs() < 1e-6);
    assert_eq!(rate(0.0), 1.0);
}
