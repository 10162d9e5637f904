//! Tiny models whose labellings can all be written down.

pub(crate) mod graphs;

use fenchel_crf::{Dataset, Features, Problem, Token, Weights};
use fenchel_graphical::chain::{ChainMarginals, Probability};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) type Sequence = Vec<(Vec<(u32, f64)>, u32)>;

pub(crate) fn dataset(attributes: usize, labels: usize, sequences: &[Sequence]) -> Dataset {
    let mut data = Dataset::new(attributes, labels);
    for sequence in sequences {
        let tokens: Vec<Token<'_>> =
            sequence.iter().map(|(a, label)| Token { attributes: a, label: *label }).collect();
        data.push(&tokens).unwrap();
    }
    data
}

pub(crate) fn random_sequences(
    (n, longest, attributes, labels): (usize, usize, usize, usize),
    signed: bool,
    seed: u64,
) -> Vec<Sequence> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n)
        .map(|_| {
            let length = rng.random_range(1..=longest);
            (0..length)
                .map(|_| {
                    let count = rng.random_range(0..4);
                    let attributes = (0..count)
                        .map(|_| {
                            let value = if signed { rng.random_range(-1.5..1.5) } else { 1.0 };
                            (rng.random_range(0..attributes as u32), value)
                        })
                        .collect();
                    (attributes, rng.random_range(0..labels as u32))
                })
                .collect()
        })
        .collect()
}

/// The four tiny models: data and `l2`.
pub(crate) fn tiny() -> Vec<(Dataset, f64)> {
    let make = |shape: (usize, usize, usize, usize), signed, seed, l2| {
        (dataset(shape.2, shape.3, &random_sequences(shape, signed, seed)), l2)
    };
    vec![
        make((5, 4, 4, 2), false, 1, 0.2),
        make((4, 3, 3, 3), true, 2, 0.25),
        make((6, 4, 5, 3), false, 3, 1.0 / 6.0),
        make((3, 2, 2, 2), true, 4, 0.02),
    ]
}

pub(crate) fn labellings(states: usize, length: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..length {
        let longer = |y: Vec<usize>| (0..states).map(move |k| [&y[..], &[k]].concat());
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// A block written out: labellings, their features, the index of the true one.
pub(crate) struct Block {
    pub(crate) labellings: Vec<Vec<usize>>,
    pub(crate) features: Vec<Array1<f64>>,
    pub(crate) truth: usize,
}

/// `F(x, y)` as a dense vector: emissions row by row, then transitions.
pub(crate) fn features(data: &Dataset, i: usize, y: &[usize]) -> Array1<f64> {
    let (a, k) = (data.attributes(), data.labels());
    let sequence = data.sequence(i);
    let mut f = Array1::zeros((a + 3) * k + k * k);
    for (t, &label) in y.iter().enumerate() {
        for (id, value) in sequence.attributes(t) {
            f[id as usize * k + label] += value;
        }
        f[a * k + label] += 1.0;
        if t == 0 {
            f[(a + 1) * k + label] += 1.0;
        }
        if t + 1 == y.len() {
            f[(a + 2) * k + label] += 1.0;
        }
    }
    for pair in y.windows(2) {
        f[(a + 3) * k + pair[0] * k + pair[1]] += 1.0;
    }
    f
}

pub(crate) fn blocks(data: &Dataset) -> Vec<Block> {
    (0..data.sequences())
        .map(|i| {
            let sequence = data.sequence(i);
            let truth: Vec<usize> = sequence.labels().iter().map(|&y| y as usize).collect();
            let labellings = labellings(data.labels(), sequence.len());
            let at = labellings.iter().position(|y| *y == truth).unwrap();
            let features = labellings.iter().map(|y| features(data, i, y)).collect();
            Block { labellings, features, truth: at }
        })
        .collect()
}

impl Block {
    /// `p(y | x; w)` and `log Z`.
    pub(crate) fn model(&self, w: &Array1<f64>) -> (Vec<f64>, f64) {
        let scores: Vec<f64> = self.features.iter().map(|f| f.dot(w)).collect();
        let log_z = fenchel_linalg::special::log_sum_exp(&scores);
        (scores.iter().map(|s| (s - log_z).exp()).collect(), log_z)
    }

    pub(crate) fn mean(&self, p: &[f64]) -> Array1<f64> {
        let zero = Array1::zeros(self.features[0].len());
        self.features.iter().zip(p).fold(zero, |sum, (f, p)| sum + f * *p)
    }

    /// `max_y norm(F(y_i) - F(y))^2`
    pub(crate) fn radius(&self) -> f64 {
        let truth = &self.features[self.truth];
        let distance = |f: &Array1<f64>| (truth - f).mapv(|d| d * d).sum();
        self.features.iter().map(distance).fold(0.0, f64::max)
    }
}

pub(crate) fn flat(weights: &Weights) -> Array1<f64> {
    weights.emission.iter().chain(&weights.transition).copied().collect()
}

pub(crate) fn unflat(data: &Dataset, w: &Array1<f64>) -> Weights {
    let (rows, k) = (data.attributes() + 3, data.labels());
    let (emission, transition) = w.as_slice().unwrap().split_at(rows * k);
    Weights {
        emission: Array2::from_shape_vec((rows, k), emission.to_vec()).unwrap(),
        transition: Array2::from_shape_vec((k, k), transition.to_vec()).unwrap(),
    }
}

/// `P(w)` by enumeration.
pub(crate) fn primal(blocks: &[Block], l2: f64, w: &Array1<f64>) -> f64 {
    let loss = |b: &Block| b.model(w).1 - b.features[b.truth].dot(w);
    0.5 * l2 * w.dot(w) + blocks.iter().map(loss).sum::<f64>() / blocks.len() as f64
}

/// `w(a)` of distributions over labellings.
pub(crate) fn weights_of(blocks: &[Block], l2: f64, joints: &[Vec<f64>]) -> Array1<f64> {
    let zero = Array1::zeros(blocks[0].features[0].len());
    let sum =
        blocks.iter().zip(joints).fold(zero, |sum, (b, a)| sum + &b.features[b.truth] - b.mean(a));
    sum / (l2 * blocks.len() as f64)
}

/// The weights with an l1 penalty: each coordinate moved towards 0 by the threshold.
pub(crate) fn shrunk<'x>(nu: impl IntoIterator<Item = &'x f64>, threshold: f64) -> Vec<f64> {
    nu.into_iter().map(|x| x.signum() * (x.abs() - threshold).max(0.0)).collect()
}

pub(crate) fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// `D(a)` by enumeration.
pub(crate) fn dual(blocks: &[Block], l2: f64, joints: &[Vec<f64>]) -> f64 {
    let w = weights_of(blocks, l2, joints);
    joints.iter().map(|a| entropy(a)).sum::<f64>() / blocks.len() as f64 - 0.5 * l2 * w.dot(&w)
}

/// The joint distributions that marginals stand for.
pub(crate) fn joints<T: Probability>(
    data: &Dataset,
    marginals: &[ChainMarginals<T>],
) -> Vec<Vec<f64>> {
    marginals
        .iter()
        .zip(data.iter())
        .map(|(m, sequence)| {
            let all = labellings(data.labels(), sequence.len());
            all.iter().map(|y| m.log_probability(y).unwrap().exp()).collect()
        })
        .collect()
}

pub(crate) fn kl(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).filter(|(p, _)| **p > 0.0).map(|(p, q)| p * (p / q).ln()).sum()
}

pub(crate) fn random_weights(data: &Dataset, scale: f64, seed: u64) -> Weights {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let d = (data.attributes() + 3 + data.labels()) * data.labels();
    unflat(data, &Array1::from_shape_simple_fn(d, || scale * rng.random_range(-1.0..1.0)))
}

pub(crate) fn problem(data: &Dataset, l2: f64) -> Problem<'_> {
    Problem::new(data, l2, Features::default()).unwrap()
}
