//! Strongly convex terms `f_i(x) = log(1 + exp(-y_i a_i.x)) + (mu_i/2) ||x||^2`, written out for the theorems that ask for
//! them, and posed to the library: as a general sum of terms, or as a problem with explicit l2.

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::general::FiniteSum;
use fenchel_finite_sum::loss::Logistic;
use fenchel_linalg::Dense;
use fenchel_optim::Loss;
use fenchel_optim::prox::{L1, Regulariser, Zero};
use fenchel_optim::random::Generator;
use rand::RngExt;

use super::{D, N, dot};
use crate::common::{Data, data, reference};

pub(crate) type Vector = [f64; D];

pub(crate) struct Terms {
    pub(crate) data: Data,
    pub(crate) rows: Vec<Vector>,
    /// Strong convexity of the mean.
    pub(crate) mu: f64,
    /// `mu_i / mu`, 1 for all but theorems about the mean alone.
    shares: [f64; N],
    /// `h`, 0 for most theorems.
    pub(crate) h: L1,
    /// Smoothness of each term, `mu` included.
    pub(crate) smoothness: Vec<f64>,
    pub(crate) star: Vector,
    pub(crate) best: f64,
}

impl Terms {
    /// `mu` is a function of the largest smoothness of the losses alone.
    pub(crate) fn new(seed: u64, mu: impl Fn(f64) -> f64) -> Self {
        Terms::composite(seed, mu, 0.0)
    }

    /// With `h = l1 ||.||_1` beside the sum.
    pub(crate) fn composite(seed: u64, mu: impl Fn(f64) -> f64, l1: f64) -> Self {
        Terms::of(data(N, D, 1.0, seed), mu, l1, [1.0; N])
    }

    /// Strongly convex on average only: two terms in three have no l2 at all.
    pub(crate) fn uneven(seed: u64, mu: impl Fn(f64) -> f64, l1: f64) -> Self {
        let with = N.div_ceil(3);
        let share = |i: usize| if i.is_multiple_of(3) { N as f64 / with as f64 } else { 0.0 };
        Terms::of(data(N, D, 1.0, seed), mu, l1, std::array::from_fn(share))
    }

    /// With a direction, the last one, along which every term has the curvature `mu_i` and no more.
    pub(crate) fn flat(seed: u64, mu: impl Fn(f64) -> f64) -> Self {
        let mut data = data(N, D, 1.0, seed);
        data.dense.column_mut(D - 1).fill(0.0);
        Terms::of(data, mu, 0.0, [1.0; N])
    }

    fn of(data: Data, mu: impl Fn(f64) -> f64, l1: f64, shares: [f64; N]) -> Self {
        let h = L1 { strength: l1 };
        let rows: Vec<Vector> =
            (0..N).map(|i| std::array::from_fn(|c| data.dense[[i, c]])).collect();
        let losses: Vec<f64> = rows.iter().map(|a| 0.25 * dot(a, a)).collect();
        let mu = mu(losses.iter().copied().fold(0.0, f64::max));
        let (star, _) = reference(&data.dense, &data.signs, &Logistic, &h, mu, false);
        let mut terms = Terms {
            smoothness: losses.iter().zip(shares).map(|(l, share)| l + share * mu).collect(),
            data,
            rows,
            mu,
            shares,
            h,
            star: star.try_into().expect("D entries"),
            best: 0.0,
        };
        terms.best = terms.objective(&terms.star);
        terms
    }

    /// `L`
    pub(crate) fn largest(&self) -> f64 {
        self.smoothness.iter().copied().fold(0.0, f64::max)
    }

    pub(crate) fn value(&self, i: usize, x: &Vector) -> f64 {
        let loss = Logistic.value(dot(&self.rows[i], x), self.data.signs[i]);
        loss + 0.5 * self.shares[i] * self.mu * dot(x, x)
    }

    pub(crate) fn gradient(&self, i: usize, x: &Vector) -> Vector {
        let s = Logistic.derivative(dot(&self.rows[i], x), self.data.signs[i]);
        std::array::from_fn(|c| s * self.rows[i][c] + self.shares[i] * self.mu * x[c])
    }

    /// The terms as the linear methods are given them.
    pub(crate) fn problem(&self) -> Problem<'_, Dense<'_, f64>, Logistic, Zero> {
        assert_eq!((self.shares, self.h.strength), ([1.0; N], 0.0));
        let design = Dense::new(self.data.dense.view()).unwrap();
        Problem::new(design, &self.data.signs, Logistic, Zero, self.mu).unwrap()
    }

    /// `f(x)`
    pub(crate) fn mean_value(&self, x: &Vector) -> f64 {
        (0..N).map(|i| self.value(i, x)).sum::<f64>() / N as f64
    }

    /// `F(x) = f(x) + h(x)`
    pub(crate) fn objective(&self, x: &Vector) -> f64 {
        self.mean_value(x) + self.h.value(x)
    }

    /// `f(x) - f(y) - <f'(y), x - y>`
    pub(crate) fn divergence(&self, x: &Vector, y: &Vector) -> f64 {
        expect(|i| self.term_divergence(i, x, y))
    }

    /// The same for one term.
    pub(crate) fn term_divergence(&self, i: usize, x: &Vector, y: &Vector) -> f64 {
        self.value(i, x) - self.value(i, y) - dot(&self.gradient(i, y), &minus(x, y))
    }

    /// `f'(x)`
    pub(crate) fn mean_gradient(&self, x: &Vector) -> Vector {
        mean((0..N).map(|i| self.gradient(i, x)))
    }

    /// A point at random, up to 2 away from the minimum in every coordinate.
    pub(crate) fn random_point(&self, rng: &mut Generator) -> Vector {
        std::array::from_fn(|c| self.star[c] + rng.random_range(-2.0..2.0))
    }

    pub(crate) fn random_points(&self, rng: &mut Generator) -> Vec<Vector> {
        (0..N).map(|_| self.random_point(rng)).collect()
    }

    /// `mean phi_i - (1/(lambda n)) sum f_i'(phi_i)`: the next point of Finito (`lambda = alpha mu`) and MISO (`L`).
    pub(crate) fn next_point(&self, points: &[Vector], lambda: f64) -> Vector {
        let centre = mean(points.iter().copied());
        let gradient = mean(points.iter().enumerate().map(|(i, p)| self.gradient(i, p)));
        std::array::from_fn(|c| centre[c] - gradient[c] / lambda)
    }
}

impl FiniteSum for Terms {
    type Scratch = ();

    fn scratch(&self) {}

    fn terms(&self) -> usize {
        N
    }

    fn dimension(&self) -> usize {
        D
    }

    fn gradient(&self, i: usize, x: &[f64], (): &mut (), gradient: &mut [f64]) -> f64 {
        let x: &Vector = x.try_into().expect("D entries");
        gradient.copy_from_slice(&Terms::gradient(self, i, x));
        self.value(i, x)
    }

    fn smoothness(&self, i: usize) -> f64 {
        self.smoothness[i]
    }
}

pub(crate) fn mean(vectors: impl Iterator<Item = Vector>) -> Vector {
    let (mut sum, mut count) = ([0.0; D], 0.0);
    for v in vectors {
        sum = std::array::from_fn(|c| sum[c] + v[c]);
        count += 1.0;
    }
    sum.map(|s| s / count)
}

pub(crate) fn minus(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|c| a[c] - b[c])
}

pub(crate) fn norm_squared(a: &Vector) -> f64 {
    dot(a, a)
}

/// `(1/n) sum_j g(j)`
pub(crate) fn expect(g: impl Fn(usize) -> f64) -> f64 {
    (0..N).map(g).sum::<f64>() / N as f64
}

/// The mean of samples stands below the bound, up to three standard errors.
#[track_caller]
pub(crate) fn mean_below(samples: &[f64], bound: f64, name: &str) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    assert!(mean - 3.0 * error <= bound, "{name}: mean {mean:e}, error {error:e}, bound {bound:e}");
}
