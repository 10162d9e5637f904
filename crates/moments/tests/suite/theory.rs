//! Lemmas and proofs of the thesis (2.6, 2.7), each as an inequality that data could break.

use fenchel_linalg::factor::{cholesky, svd, symmetric_eigen};
use fenchel_linalg::special::{chi_squared_tail, digamma, ln_gamma, trigamma};
use fenchel_moments::gmm::{Moments, method_of_moments};
use fenchel_moments::matching::{Bandwidth, Basis, Centres, Ridge};
use fenchel_moments::sade::SliceEstimator;
use fenchel_moments::{Sade, ScoreFunction, ScoreMatching, Slicing};
use ndarray::{Array1, Array2, ArrayView1, array};
use proptest::prelude::*;

use crate::common::{bumps, close, first_columns, normal};

/// MO-60, lemma 2.5: `E X^p <= (A sqrt p + B n^{1/p} p^2)^p` for all whole `p` gives
/// `P(X >= 3 A sqrt t + 3 B n^{1/t} t^2) <= 3 e^{-t}` for `t >= (ln n) / 2`.
#[test]
fn moments_bound_tails() {
    let level =
        |a: f64, b: f64, n: f64, t: f64| 3.0 * a * t.sqrt() + 3.0 * b * (n.ln() / t).exp() * t * t;
    let times = |n: f64| (0..60).map(move |k| (0.5 * n.ln()).max(0.05) * 1.1_f64.powi(k));
    // |N(0, 1)|: A = 1, B = 0.
    for p in 1..=60 {
        let p = f64::from(p);
        let log =
            0.5 * p * 2.0_f64.ln() + ln_gamma(0.5 * (p + 1.0)) - 0.5 * std::f64::consts::PI.ln();
        assert!(log <= 0.5 * p * p.ln() + 1e-12, "{p}");
    }
    for t in times(1.0) {
        let u = level(1.0, 0.0, 1.0, t);
        assert!(chi_squared_tail(u * u, 1.0) <= 3.0 * (-t).exp(), "{t}");
    }
    // The largest of n squared exponentials: E X^p <= n (2 p)! <= (4 n^{1/p} p^2)^p, A = 0, B = 4.
    for p in 1..=60 {
        let p = f64::from(p);
        assert!(ln_gamma(2.0 * p + 1.0) <= 2.0 * p * (2.0 * p).ln(), "{p}");
    }
    for n in [1.0, 10.0, 1e3, 1e6] {
        let mut before = 0.0;
        for t in times(n) {
            let u = level(0.0, 4.0, n, t);
            let tail = -(n * (-(-u.sqrt()).exp()).ln_1p()).exp_m1();
            assert!(tail <= 3.0 * (-t).exp(), "{n} {t}: {tail}");
            // What the proof uses: n^{1/t} t^2 rises, and n^{1/t} <= e from ln n on.
            assert!(u >= before);
            assert!(t < n.ln() || (n.ln() / t).exp() <= std::f64::consts::E * (1.0 + 1e-15));
            before = u;
        }
    }
}

/// The gamma family by its statistics `ln x` and `x`: shape and rate.
struct GammaStatistics;

impl Moments for GammaStatistics {
    fn parameters(&self) -> usize {
        2
    }
    fn moments(&self) -> usize {
        2
    }
    fn value(&self, t: ArrayView1<f64>) -> Array1<f64> {
        array![digamma(t[0]) - t[1].ln(), t[0] / t[1]]
    }
    fn jacobian(&self, t: ArrayView1<f64>) -> Array2<f64> {
        array![[trigamma(t[0]), -1.0 / t[1]], [1.0 / t[1], -t[0] / (t[1] * t[1])]]
    }
}

/// MO-04: in an exponential family matching the means of the statistics is maximum likelihood, `A'(theta) = mean T(x)`.
#[test]
fn matching_statistics_is_maximum_likelihood() {
    let samples: Vec<f64> = (1..200).map(|i| (0.01 * f64::from(i)).powf(1.5) + 0.05).collect();
    let n = samples.len() as f64;
    let logs = samples.iter().map(|x| x.ln()).sum::<f64>() / n;
    let mean = samples.iter().sum::<f64>() / n;
    let found =
        method_of_moments(&GammaStatistics, array![logs, mean].view(), array![1.0, 1.0].view())
            .unwrap();
    let likelihood = |a: f64, b: f64| a * b.ln() - ln_gamma(a) + (a - 1.0) * logs - b * mean;
    let best = likelihood(found[0], found[1]);
    for (a, b) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3), (1e-3, 1e-3)] {
        let other = likelihood(found[0] * (1.0 + a), found[1] * (1.0 + b));
        assert!(other < best, "{a} {b}");
    }
}

fn nuclear(a: &Array2<f64>) -> f64 {
    svd(a.view()).unwrap().values.sum()
}

fn norm(a: &Array1<f64>) -> f64 {
    a.dot(a).sqrt()
}

fn pairs() -> Sade {
    Sade { slicing: Slicing::Pairs, ..Sade::default() }
}

/// Rows `Psi(x_i)' theta`, and the mean of `||Psi||_F^2`.
fn scored(x: &Array2<f64>, centres: &Array2<f64>, theta: &Array1<f64>) -> (Array2<f64>, f64) {
    let mut scores = Array2::zeros(x.dim());
    let mut size = 0.0;
    for (row, mut score) in x.rows().into_iter().zip(scores.rows_mut()) {
        let psi = bumps(&row.to_owned(), centres, 1.5).0;
        size += psi.iter().map(|v| v * v).sum::<f64>() / x.nrows() as f64;
        score.assign(&psi.t().dot(theta));
    }
    (scores, size)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// MO-62, (2.7.4): how far the matrix of SADE moves with the score's coefficients.
    #[test]
    fn the_matrix_moves_little_with_the_coefficients(
        half in 3usize..12, d in 1usize..4, m in 1usize..6, seed in 0u64..1000, size in 1e-3..3.0_f64,
    ) {
        let n = 2 * half;
        let (x, centres) = (normal(n, d, seed), normal(m, d, seed + 1000));
        let y = normal(n, 1, seed + 2000).column(0).to_owned();
        let theta = normal(m, 1, seed + 3000).column(0).to_owned();
        let delta = normal(m, 1, seed + 4000).column(0).to_owned() * size;
        let (one, mean) = scored(&x, &centres, &theta);
        let (other, _) = scored(&x, &centres, &(&theta + &delta));
        let moved = pairs().moment_matrix(&one, &y).unwrap()
            - pairs().moment_matrix(&other, &y).unwrap();
        let bound = m as f64 * mean * (2.0 * norm(&theta) + norm(&delta)) * norm(&delta);
        prop_assert!(nuclear(&moved) <= bound * (1.0 + 1e-9), "{} > {bound}", nuclear(&moved));
    }

    /// MO-62, 2.7.3: how far the coefficients of two samples are apart,
    /// `||b' - b|| / lmin(C') + ||b|| ||C - C'|| / (lmin(C) lmin(C'))`.
    #[test]
    fn coefficients_move_little_with_the_sample(seed in 0u64..1000, ridge in 1e-3..1.0_f64) {
        let centres = array![[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]];
        let settings = ScoreMatching {
            basis: Basis::Bumps(Centres::Grid { low: -1.0, high: 1.0, points: 2 }),
            bandwidth: Bandwidth::Absolute(1.5),
            ridge: Ridge::Absolute(ridge),
            offset: false,
            whiten: false,
            ..ScoreMatching::default()
        };
        let one = |seed: u64| {
            let x = normal(50, 2, seed);
            let (mut c, mut b) = (Array2::<f64>::eye(4) * ridge, Array1::<f64>::zeros(4));
            for row in x.rows() {
                let (psi, div) = bumps(&row.to_owned(), &centres, 1.5);
                c = c + psi.dot(&psi.t()) / 50.0;
                b = b + div / 50.0;
            }
            (settings.fit(&x).unwrap().theta().to_owned(), c, b)
        };
        let ((t, c, b), (t2, c2, b2)) = (one(seed), one(seed + 5000));
        // The grid may be laid out in another order: compare what does not depend on it.
        let solved = cholesky(c.view()).unwrap().solve(b.view()).unwrap();
        prop_assert!((norm(&t) - norm(&solved)).abs() < 1e-8 * norm(&t));
        let least = |c: &Array2<f64>| symmetric_eigen(c.view()).unwrap().values[0];
        let spectral = svd((&c - &c2).view()).unwrap().values[0];
        let bound = norm(&(&b2 - &b)) / least(&c2)
            + norm(&b) * spectral / (least(&c) * least(&c2));
        prop_assert!(norm(&(&t2 - &t)) <= bound * (1.0 + 1e-9), "{bound}");
    }

    /// MO-65: the four terms of 2.7.2 add up, and the first three are as small as the proof says.
    #[test]
    fn four_terms_of_the_proof(half in 5usize..40, d in 2usize..5, seed in 0u64..1000, s in 0.2..2.0_f64) {
        let n = 2 * half;
        let z = normal(n, d + 1, seed);
        let x = first_columns(&z, d);
        let y: Array1<f64> = &z.column(0) + &(&z.column(d) * s);
        // Normal features: the score is x, and E(x given y) = y e / (1 + s^2).
        let lipschitz = 1.0 / (1.0 + s * s);
        let mut mean = Array2::<f64>::zeros((n, d));
        mean.column_mut(0).assign(&(&y * lipschitz));
        let eta = &x - &mean;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| y[i].total_cmp(&y[j]));
        let differences = |a: &Array2<f64>| {
            let mut rows = Array2::zeros((half, d));
            for (h, pair) in order.chunks(2).enumerate() {
                rows.row_mut(h).assign(&(&a.row(pair[0]) - &a.row(pair[1])));
            }
            rows
        };
        let (of_mean, of_eta) = (differences(&mean), differences(&eta));
        let scale = 1.0 / n as f64;
        let t1 = of_mean.t().dot(&of_mean) * scale;
        let t2 = of_mean.t().dot(&of_eta) * scale;
        let t3 = t2.t().to_owned();
        let t4 = of_eta.t().dot(&of_eta) * scale;
        let within = x.t().dot(&x) * scale - pairs().moment_matrix(&x, &y).unwrap();
        close((&t1 + &t2 + &t3 + &t4).view(), within.view(), 1e-10);

        let range = y[order[n - 1]] - y[order[0]];
        let diameter = eta
            .rows()
            .into_iter()
            .flat_map(|a| eta.rows().into_iter().map(move |b| norm(&(&a - &b))))
            .fold(0.0, f64::max);
        prop_assert!(t1.diag().sum() <= lipschitz * lipschitz * scale * range * range * (1.0 + 1e-12));
        let bound = lipschitz * scale * range * diameter;
        prop_assert!(nuclear(&t2) <= bound * (1.0 + 1e-9) && nuclear(&t3) <= bound * (1.0 + 1e-9));
    }
}

/// MO-17: the weights of pairs of a slice, `(11' - I) / (n (c - 1))`, are indefinite; their positive part gives the slice means, so that
/// the square root that 2.4.3 takes does not exist.
#[test]
fn slice_means_are_the_positive_part_of_pairs() {
    let (n, c) = (12, 4);
    let s = normal(n, 3, 1);
    let y = Array1::from_shape_fn(n, |i| i as f64);
    let mut weights = Array2::<f64>::zeros((n, n));
    for i in 0..n {
        for j in 0..n {
            if i != j && i / c == j / c {
                weights[[i, j]] = 1.0 / (n * (c - 1)) as f64;
            }
        }
    }
    let eigen = symmetric_eigen(weights.view()).unwrap();
    assert!((eigen.values[0] + 1.0 / (n * (c - 1)) as f64).abs() < 1e-15);
    assert!((eigen.values[n - 1] - 1.0 / n as f64).abs() < 1e-15);
    let sade =
        |estimator| Sade { slicing: Slicing::EqualCount(n / c), estimator, ..Sade::default() };
    let of = |weights: &Array2<f64>| s.t().dot(weights).dot(&s);
    let pairs = sade(SliceEstimator::Unbiased).moment_matrix(&s, &y).unwrap();
    close(pairs.view(), of(&weights).view(), 1e-12);
    let means = sade(SliceEstimator::Means).moment_matrix(&s, &y).unwrap();
    close(means.view(), of(&eigen.map(|l| l.max(0.0))).view(), 1e-12);
}

/// MO-62: with a score that is learned in a model that holds the true one, the error of the matrix still falls like
/// `1 / sqrt n`. Correlated normal features, affine basis, pairs; -0.517 in an independent implementation.
#[test]
fn a_learned_score_keeps_the_rate() {
    let mix = array![[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.4, 0.8]];
    let s = 0.5;
    let mut truth = Array2::zeros((3, 3));
    truth[[0, 0]] = 1.0 / (1.0 + s * s);
    let affine = ScoreMatching { basis: Basis::Affine, ..ScoreMatching::default() };
    let mean_error = |n: usize| {
        let repeats = 40;
        let one = |seed| {
            let z = normal(n, 4, seed);
            let x = first_columns(&z, 3).dot(&mix.t());
            let y: Array1<f64> = &x.column(0) + &(&z.column(3) * s);
            let scores = affine.fit(&x).unwrap().score1(x.view()).unwrap();
            nuclear(&(pairs().moment_matrix(&scores, &y).unwrap() - &truth))
        };
        (0..repeats).map(one).sum::<f64>() / repeats as f64
    };
    let sizes = [300, 1200, 4800, 19_200];
    let logs: Vec<(f64, f64)> =
        sizes.iter().map(|&n| ((n as f64).ln(), mean_error(n).ln())).collect();
    let (x, y) =
        (logs.iter().map(|p| p.0).sum::<f64>() / 4.0, logs.iter().map(|p| p.1).sum::<f64>() / 4.0);
    let slope = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
        / logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    assert!((-0.65..=-0.4).contains(&slope), "{slope}");
}
