//! Generated problems of shapes that no method and no prediction of the choice was set by.
//!
//! | set | rows, columns | kind | task |
//! |---|---|---|---|
//! | `validation-wide` | 1,000 x 4,000 | dense, each column like its neighbour (correlation 0.95) | squares |
//! | `validation-ratings` | 300,000 x 9,000 | a user and an item a row, one-hot | squares |
//! | `validation-scaled` | 20,000 x 60 | dense, scales over six orders of magnitude | labels |
//! | `validation-tokens` | 60,000 x 150,000 | words of a window, binary, Zipf frequencies | labels |
//! | `validation-counts` | 40,000 x 80 | dense | counts |
//! | `test-wide` | 600 x 8,000 | dense, 30 common factors | labels |
//! | `test-ratings` | 500,000 x 25,000 | a user, an item and a day a row, one-hot | squares |
//! | `test-tall` | 1,000,000 x 12 | dense, columns of unit variance | labels |
//! | `test-tails` | 30,000 x 60,000 | sparse, row lengths of a Pareto law from 8 to 3,000 | labels |
//! | `test-factors` | 20,000 x 500 | dense, 60 common factors | squares |
//! | `test-visits` | 60,000 x 3,000 | three indicators a row | counts |
//! | `fresh-genes` | 300 x 15,000 | dense, each column like its neighbour (correlation 0.8) | labels |
//! | `fresh-baskets` | 200,000 x 12,000 | four indicators a row with amounts of a log-normal law | squares |
//! | `fresh-claims` | 100,000 x 3,000 | eight indicators a row, one label in thirty positive | labels |
//! | `fresh-letters` | 40,000 x 80,000 | word counts of documents, rows of norm 1 | labels |
//! | `fresh-panel` | 300,000 x 30 | dense, columns of log-normal laws in units of their own | labels |
//! | `fresh-sensors` | 5,000 x 1,000 | dense, each column like its neighbour (correlation 0.99) | squares |
//! | `fresh-calls` | 30,000 x 20,000 | word counts of documents, rows of norm 1 | counts |
//! | `second-chips` | 250 x 20,000 | dense, each column like its neighbour (correlation 0.3) | labels |
//! | `second-spectra` | 500 x 4,000 | dense, each column like its neighbour (correlation 0.998) | labels |
//! | `second-orders` | 150,000 x 9,050 | three indicators a row with amounts | labels |
//! | `second-survey` | 60,000 x 150 | dense, 12 common factors | labels |
//! | `second-mail` | 15,000 x 30,000 | word counts of documents, rows of norm 1 | labels |
//! | `second-grades` | 80,000 x 3,600 | a student and a course a row, one-hot | squares |
//! | `third-flights` | 90,000 x 2,400 | eight indicators a row | squares |
//! | `third-answers` | 80,000 x 2,400 | the answers to 160 questions, one-hot | squares |
//! | `third-proteins` | 3,500 x 2,400 | the letter at each of 120 places, one-hot | labels |
//! | `third-splices` | 4,000 x 2,240 | the pair of letters at each of 140 places, one-hot | labels |
//! | `third-mirrors` | 1,300 x 1,200 | dense, each column like its neighbour (correlation 0.98) | squares |
//! | `third-meters` | 1,900 x 2,000 | dense, 25 common factors | squares |
//! | `third-arrays` | 1,500 x 5,000 | dense, each column like its neighbour (correlation 0.7) | labels |
//! | `third-voxels` | 2,200 x 4,500 | dense, 40 common factors | labels |
//! | `third-clicks` | 200,000 x 200,000 | words of a window, binary, Zipf frequencies | labels |
//! | `third-queries` | 200,000 x 320,000 | the same, row lengths of a Pareto law from 4 to 200 | labels |
//!
//! What is named validation may be looked at while methods are written; what is named test is run once, at the end. Once the losses
//! of a test have been worked on, it is validation too: `fresh` was written before that work ended, and run once after it.
//! `second` was written when the losses of `fresh` had been worked on, and run once too. `third` has two sets of each of five kinds of
//! data that `auto` was once known to lose on, written afterwards.

use fenchel_linalg::CsrMatrix;
use fenchel_optim::random::{Generator, stream};
use ndarray::{Array1, Array2};
use rand::RngExt;

use crate::files::{Matrix, Task};

/// Rows, targets, and what they are for.
type Made = (Matrix, Array1<f64>, Task);
/// A name, and how the set is made.
type Maker = (&'static str, fn() -> Made);

/// A data set with its name.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) x: Matrix,
    pub(crate) y: Array1<f64>,
    pub(crate) task: Task,
}

/// The sets whose name begins with `half`: validation, test, fresh, second or third.
pub(crate) fn sets(half: &str) -> impl Iterator<Item = Set> + use<'_> {
    let makers: [Maker; 34] = [
        ("validation-wide", || neighbours((1_000, 4_000), 0.95, Task::Squared, 1)),
        ("validation-ratings", || indicators(300_000, &[6_000, 3_000], Task::Squared, 2)),
        ("validation-scaled", scaled),
        ("validation-tokens", || tokens(60_000, 150_000, |_| 15, 4)),
        ("validation-counts", || factors((40_000, 80), 5, Task::Counts, 5)),
        ("test-wide", || factors((600, 8_000), 30, Task::Logistic, 6)),
        ("test-ratings", || indicators(500_000, &[20_000, 4_636, 364], Task::Squared, 7)),
        ("test-tall", || factors((1_000_000, 12), 1, Task::Logistic, 8)),
        ("test-tails", || {
            let pareto = |rng: &mut Generator| 8.0 * (1.0 - rng.random::<f64>()).powf(-0.8);
            tokens(30_000, 60_000, |rng| pareto(rng).min(3_000.0) as usize, 9)
        }),
        ("test-factors", || factors((20_000, 500), 60, Task::Squared, 10)),
        ("test-visits", || indicators(60_000, &[2_000, 800, 200], Task::Counts, 11)),
        ("fresh-genes", || neighbours((300, 15_000), 0.8, Task::Logistic, 12)),
        ("fresh-baskets", || {
            let made = indicators(200_000, &[10_000, 1_500, 450, 50], Task::Squared, 13);
            amounts(made, 13)
        }),
        ("fresh-claims", || {
            rare(indicators(100_000, &[2_500, 300, 100, 50, 25, 12, 8, 5], Task::Logistic, 14))
        }),
        ("fresh-letters", || documents((40_000, 80_000), Task::Logistic, 15)),
        ("fresh-panel", panel),
        ("fresh-sensors", || neighbours((5_000, 1_000), 0.99, Task::Squared, 17)),
        ("fresh-calls", || documents((30_000, 20_000), Task::Counts, 18)),
        ("second-chips", || neighbours((250, 20_000), 0.3, Task::Logistic, 19)),
        ("second-spectra", || neighbours((500, 4_000), 0.998, Task::Logistic, 20)),
        ("second-orders", || {
            amounts(indicators(150_000, &[8_000, 1_000, 50], Task::Logistic, 21), 21)
        }),
        ("second-survey", || factors((60_000, 150), 12, Task::Logistic, 22)),
        ("second-mail", || documents((15_000, 30_000), Task::Logistic, 23)),
        ("second-grades", || indicators(80_000, &[3_000, 600], Task::Squared, 24)),
        ("third-flights", || indicators(90_000, &[300; 8], Task::Squared, 25)),
        ("third-answers", || indicators(80_000, &[15; 160], Task::Squared, 26)),
        ("third-proteins", || indicators(3_500, &[20; 120], Task::Logistic, 27)),
        ("third-splices", || indicators(4_000, &[16; 140], Task::Logistic, 28)),
        ("third-mirrors", || neighbours((1_300, 1_200), 0.98, Task::Squared, 29)),
        ("third-meters", || factors((1_900, 2_000), 25, Task::Squared, 30)),
        ("third-arrays", || neighbours((1_500, 5_000), 0.7, Task::Logistic, 31)),
        ("third-voxels", || factors((2_200, 4_500), 40, Task::Logistic, 32)),
        ("third-clicks", || tokens(200_000, 200_000, |_| 12, 33)),
        ("third-queries", || {
            let pareto = |rng: &mut Generator| 4.0 * (1.0 - rng.random::<f64>()).powf(-0.8);
            tokens(200_000, 320_000, |rng| pareto(rng).min(200.0) as usize, 34)
        }),
    ];
    makers.into_iter().filter(move |(name, _)| name.starts_with(half)).map(|(name, make)| {
        let (x, y, task) = make();
        Set { name, x, y, task }
    })
}

/// A standard normal number.
fn normal(rng: &mut Generator) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The target of a score of mean 0 and deviation 1 or so.
fn target(score: f64, task: Task, rng: &mut Generator) -> f64 {
    match task {
        Task::Logistic => {
            let positive = rng.random::<f64>() < 1.0 / (1.0 + (-2.0 * score).exp());
            if positive { 1.0 } else { -1.0 }
        }
        Task::Squared => score + 0.5 * normal(rng),
        // By inversion: the means are small.
        Task::Counts => {
            let mean = (0.5 * score).exp();
            let (mut count, mut left) = (0.0, rng.random::<f64>());
            let mut share = (-mean).exp();
            while left > share && count < 1e3 {
                left -= share;
                count += 1.0;
                share *= mean / count;
            }
            count
        }
    }
}

/// Dense rows: a tenth noise of their own, the rest common factors; a tenth of the columns counts.
fn factors((n, d): (usize, usize), rank: usize, task: Task, seed: u64) -> Made {
    let rng = &mut stream(seed, 0);
    let size = (1.0 / rank as f64).sqrt();
    let loadings = Array2::from_shape_simple_fn((rank, d), || size * normal(rng));
    let truth: Vec<f64> = (0..d).map(|c| if c % 10 == 0 { normal(rng) } else { 0.0 }).collect();
    let scale = truth.iter().map(|w| w * w).sum::<f64>().sqrt();
    let mut x = Array2::zeros((n, d));
    let y = (0..n).map(|i| {
        let common: Vec<f64> = (0..rank).map(|_| normal(rng)).collect();
        let mut score = 0.0;
        for c in 0..d {
            let of_factors: f64 = (0..rank).map(|k| common[k] * loadings[[k, c]]).sum();
            x[[i, c]] = of_factors + 0.3 * normal(rng);
            score += x[[i, c]] * truth[c] / scale;
        }
        target(score, task, rng)
    });
    let y = y.collect();
    (Matrix::Dense(x), y, task)
}

/// Rows whose columns are like their neighbours; a column in twenty counts.
fn neighbours((n, d): (usize, usize), correlation: f64, task: Task, seed: u64) -> Made {
    let rng = &mut stream(seed, 0);
    let truth: Vec<f64> = (0..d).map(|c| if c % 20 == 0 { normal(rng) } else { 0.0 }).collect();
    let scale = truth.iter().map(|w| w * w).sum::<f64>().sqrt();
    let mut x = Array2::zeros((n, d));
    let y = (0..n).map(|i| {
        let (mut before, mut score) = (normal(rng), 0.0);
        for c in 0..d {
            before = correlation * before + (1.0 - correlation.powi(2)).sqrt() * normal(rng);
            x[[i, c]] = before;
            score += before * truth[c] / scale;
        }
        target(score, task, rng)
    });
    let y = y.collect();
    (Matrix::Dense(x), y, task)
}

/// The same rows with amounts of a log-normal law in place of ones.
fn amounts((mut x, y, task): Made, seed: u64) -> Made {
    let rng = &mut stream(seed, 1);
    if let Matrix::Sparse(x) = &mut x {
        x.data_mut().iter_mut().for_each(|value| *value = (0.5 * normal(rng)).exp());
    }
    (x, y, task)
}

/// The same rows, where only one positive label in fifteen stays one.
fn rare((x, y, task): Made) -> Made {
    let mut seen = 0;
    let y = y.mapv(|label| {
        seen += usize::from(label > 0.0);
        if label > 0.0 && seen % 15 != 0 { -1.0 } else { label }
    });
    (x, y, task)
}

/// Counts of the words of documents: lengths of a log-normal law, frequencies of Zipf's, rows of norm 1. A word in ten has an effect.
fn documents((n, d): (usize, usize), task: Task, seed: u64) -> Made {
    let rng = &mut stream(seed, 0);
    let effects: Vec<f64> =
        (0..d).map(|c| if c % 10 == 3 { 4.0 * normal(rng) } else { 0.0 }).collect();
    let (mut offsets, mut indices, mut values, mut y) =
        (vec![0], Vec::new(), Vec::new(), Vec::with_capacity(n));
    for _ in 0..n {
        let length = (60.0 * (0.8 * normal(rng)).exp()).clamp(3.0, 2_000.0) as usize;
        let mut words: Vec<u32> =
            (0..length).map(|_| ((d as f64).powf(rng.random()) - 1.0) as u32).collect();
        words.sort_unstable();
        let counts: Vec<(u32, f64)> =
            words.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect();
        let norm = counts.iter().map(|(_, count)| count * count).sum::<f64>().sqrt();
        let score: f64 = counts.iter().map(|&(c, count)| effects[c as usize] * count / norm).sum();
        y.push(target(score, task, rng));
        indices.extend(counts.iter().map(|&(c, _)| c));
        values.extend(counts.iter().map(|&(_, count)| count / norm));
        offsets.push(indices.len());
    }
    (Matrix::Sparse(CsrMatrix::new((n, d), offsets, indices, values)), y.into(), task)
}

/// Positive columns of log-normal laws, in units from 0.01 to 100, half of them rounded to whole numbers.
fn panel() -> Made {
    let (n, d, rng) = (300_000, 30, &mut stream(16, 0));
    let mut x = Array2::zeros((n, d));
    let y = (0..n).map(|i| {
        let common = normal(rng);
        let mut score = -0.5;
        for c in 0..d {
            let z = 0.5 * common + normal(rng);
            score += if c % 3 == 0 { z / 3.0 } else { 0.0 };
            let value = (0.7 * z).exp() * 10f64.powf(4.0 * (c % 10) as f64 / 9.0 - 2.0);
            x[[i, c]] = if c % 2 == 1 { value.ceil() } else { value };
        }
        target(score, Task::Logistic, rng)
    });
    let y = y.collect();
    (Matrix::Dense(x), y, Task::Logistic)
}

/// Columns whose scales go over six orders of magnitude, and heavy tails.
fn scaled() -> Made {
    let (n, d, rng) = (20_000, 60, &mut stream(3, 0));
    let mut x = Array2::zeros((n, d));
    let y = (0..n).map(|i| {
        let common = normal(rng);
        let mut score = 0.0;
        for c in 0..d {
            let z = 0.7 * common + normal(rng).powi(3) / 3.0;
            score += if c % 4 == 0 { z / 4.0 } else { 0.0 };
            x[[i, c]] = z * 10f64.powf(6.0 * c as f64 / 59.0 - 4.0);
        }
        target(score, Task::Logistic, rng)
    });
    let y = y.collect();
    (Matrix::Dense(x), y, Task::Logistic)
}

/// One of each kind of indicator a row, small numbers more often; every indicator has an effect of its own.
fn indicators(n: usize, kinds: &[usize], task: Task, seed: u64) -> Made {
    let rng = &mut stream(seed, 0);
    let d: usize = kinds.iter().sum();
    // Of many indicators each has a smaller effect, so that labels stay uncertain.
    let size = 0.7 * (8.0 / kinds.len().max(8) as f64).sqrt();
    let effects: Vec<f64> = (0..d).map(|_| size * normal(rng)).collect();
    let (mut indices, mut y) = (Vec::with_capacity(n * kinds.len()), Vec::with_capacity(n));
    for _ in 0..n {
        let (mut first, mut score) = (0, 0.0);
        for kind in kinds {
            let c = first + ((*kind as f64) * rng.random::<f64>().powi(2)) as usize;
            indices.push(c as u32);
            score += effects[c];
            first += kind;
        }
        y.push(target(score, task, rng));
    }
    let offsets = (0..=n).map(|i| i * kinds.len()).collect();
    let values = vec![1.0; indices.len()];
    (Matrix::Sparse(CsrMatrix::new((n, d), offsets, indices, values)), y.into(), task)
}

/// Binary rows of distinct columns with Zipf frequencies.
fn tokens(n: usize, d: usize, length: impl Fn(&mut Generator) -> usize, seed: u64) -> Made {
    let rng = &mut stream(seed, 0);
    let effects: Vec<f64> = (0..d).map(|_| normal(rng)).collect();
    let (mut offsets, mut indices, mut y) = (vec![0], Vec::new(), Vec::with_capacity(n));
    for _ in 0..n {
        // The logarithm of a rank by Zipf's law is uniform.
        let wanted = length(rng);
        let mut row: Vec<u32> =
            (0..wanted).map(|_| ((d as f64).powf(rng.random()) - 1.0) as u32).collect();
        row.sort_unstable();
        row.dedup();
        let score: f64 = row.iter().map(|&c| effects[c as usize]).sum();
        y.push(target(score / (row.len() as f64).sqrt(), Task::Logistic, rng));
        indices.extend(row);
        offsets.push(indices.len());
    }
    let values = vec![1.0; indices.len()];
    (Matrix::Sparse(CsrMatrix::new((n, d), offsets, indices, values)), y.into(), Task::Logistic)
}
