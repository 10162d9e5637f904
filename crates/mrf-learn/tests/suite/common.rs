//! Brute force over all states, written without the crate's own routines.

use fenchel_graphical::BinaryPairwise;
use fenchel_mrf_learn::{Coordinates, Layout, synthetic};
use fenchel_optim::random::stream;
use rand::RngExt;

/// The layout of `p` variables in binary coordinates.
pub(crate) fn two_states(p: usize) -> Layout {
    Layout::two_states(p, Coordinates::Binary).unwrap()
}

/// State `s` as bits.
pub(crate) fn bits(s: usize, p: usize) -> Vec<bool> {
    (0..p).map(|i| s >> i & 1 == 1).collect()
}

/// `psi(x)`, packed: rows of the upper triangle.
pub(crate) fn statistics(x: &[bool]) -> Vec<f64> {
    let mut out = Vec::new();
    for i in 0..x.len() {
        for j in i..x.len() {
            out.push(f64::from(u8::from(x[i] && x[j])));
        }
    }
    out
}

/// `log Z`, probabilities of all states, and the means of the statistics.
pub(crate) fn brute(model: &BinaryPairwise) -> (f64, Vec<f64>, Vec<f64>) {
    let p = model.variables();
    let scores: Vec<f64> = (0..1 << p).map(|s| model.log_score(&bits(s, p)).unwrap()).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = scores.iter().map(|s| (s - largest).exp()).sum();
    let log_z = largest + total.ln();
    let probabilities: Vec<f64> = scores.iter().map(|s| (s - log_z).exp()).collect();
    (log_z, probabilities.clone(), expectation(&probabilities, p))
}

/// Means of the statistics under a distribution of states.
pub(crate) fn expectation(probabilities: &[f64], p: usize) -> Vec<f64> {
    let mut means = vec![0.0; p * (p + 1) / 2];
    for (s, weight) in probabilities.iter().enumerate() {
        for (mean, psi) in means.iter_mut().zip(statistics(&bits(s, p))) {
            *mean += weight * psi;
        }
    }
    means
}

/// All joint states, the first variable fastest.
pub(crate) fn configurations(cards: &[usize]) -> Vec<Vec<usize>> {
    let total: usize = cards.iter().product();
    let of = |mut s: usize| {
        let digit = |card: &usize| {
            let state = s % card;
            s /= card;
            state
        };
        cards.iter().map(digit).collect()
    };
    (0..total).map(of).collect()
}

/// `psi(x)` in some coordinates, written without the layout.
pub(crate) fn psi(coordinates: Coordinates, cards: &[usize], x: &[usize]) -> Vec<f64> {
    let mut out = vec![];
    for i in 0..x.len() {
        for j in i..x.len() {
            if coordinates == Coordinates::Indicators {
                let columns = if i == j { 1 } else { cards[j] };
                let own = x[i] * columns + if i == j { 0 } else { x[j] };
                out.extend((0..cards[i] * columns).map(|at| f64::from(u8::from(at == own))));
                continue;
            }
            let zero = if coordinates == Coordinates::Spins { -1.0 } else { 0.0 };
            let value = |i: usize| if x[i] == 1 { 1.0 } else { zero };
            out.push(value(i) * if i == j { 1.0 } else { value(j) });
        }
    }
    out
}

/// `A(theta)`, the law of all joint states, and the means of the statistics.
pub(crate) fn brute_states(
    coordinates: Coordinates,
    cards: &[usize],
    theta: &[f64],
) -> (f64, Vec<f64>, Vec<f64>) {
    let all: Vec<Vec<f64>> =
        configurations(cards).iter().map(|x| psi(coordinates, cards, x)).collect();
    let scores: Vec<f64> = all.iter().map(|psi| dot(psi, theta)).collect();
    let log_z = log_sum(&scores);
    let law: Vec<f64> = scores.iter().map(|score| (score - log_z).exp()).collect();
    let mut means = vec![0.0; theta.len()];
    for (psi, weight) in all.iter().zip(&law) {
        means.iter_mut().zip(psi).for_each(|(mean, psi)| *mean += weight * psi);
    }
    (log_z, law, means)
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn log_sum(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln()
}

/// The law of one systematic sweep from a law: the conditional of one variable after the other.
pub(crate) fn sweep(model: &BinaryPairwise, law: &[f64]) -> Vec<f64> {
    let p = model.variables();
    let mut law = law.to_vec();
    for i in 0..p {
        let mut next = vec![0.0; law.len()];
        for (s, weight) in law.iter().enumerate() {
            let (off, on) = (s & !(1 << i), s | 1 << i);
            let up = 1.0 / (1.0 + (-model.logit(i, &bits(off, p))).exp());
            next[on] += weight * up;
            next[off] += weight * (1.0 - up);
        }
        law = next;
    }
    law
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Random packed parameters, some of them 0.
pub(crate) fn random_theta(p: usize, scale: f64, seed: u64) -> Vec<f64> {
    let mut random = stream(seed, 77);
    (0..p * (p + 1) / 2)
        .map(|_| {
            if random.random::<f64>() < 0.3 {
                0.0
            } else {
                scale * (2.0 * random.random::<f64>() - 1.0)
            }
        })
        .collect()
}

pub(crate) fn random_model(p: usize, scale: f64, seed: u64) -> BinaryPairwise {
    synthetic::random_network(p, 0.6, (0.0, scale), seed).unwrap()
}
