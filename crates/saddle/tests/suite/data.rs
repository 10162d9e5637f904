//! Small problems.

use fenchel_linalg::{AsDesign, CsrMatrix};
use fenchel_optim::random::stream;
use fenchel_saddle::multiclass::Samples;
use ndarray::Array2;
use rand::RngExt;

/// Uniform entries, labels from a random linear rule with noise.
pub(crate) fn dense(n: usize, d: usize, k: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = stream(seed, 7);
    let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0));
    let u = Array2::from_shape_fn((d, k), |_| rng.random_range(-1.0..1.0));
    let scores = x.dot(&u);
    let labels = (0..n)
        .map(|j| {
            let noisy: Vec<f64> =
                (0..k).map(|l| scores[[j, l]] + rng.random_range(-0.3..0.3)).collect();
            (0..k).fold(0, |b, l| if noisy[l] > noisy[b] { l } else { b })
        })
        .collect();
    (x, labels)
}

pub(crate) fn samples(n: usize, d: usize, k: usize, seed: u64) -> Samples {
    let (x, y) = dense(n, d, k, seed);
    Samples::new(&x.as_design().unwrap(), &y, k, None).unwrap()
}

/// The same with about two thirds zeros, stored sparse.
pub(crate) fn sparse(
    n: usize,
    d: usize,
    k: usize,
    seed: u64,
) -> (CsrMatrix<f64>, Array2<f64>, Vec<usize>) {
    let (mut x, y) = dense(n, d, k, seed);
    let mut rng = stream(seed, 8);
    x.mapv_inplace(|v| if rng.random_range(0.0..1.0) < 0.65 { 0.0 } else { v });
    let (mut offsets, mut places, mut values) = (vec![0], vec![], vec![]);
    for row in x.rows() {
        for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            places.push(c as u32);
            values.push(*v);
        }
        offsets.push(places.len());
    }
    (CsrMatrix::new((n, d), offsets, places, values), x, y)
}

/// Correlated features in `k` classes: a dozen hidden factors, entries between 0 and 1.
pub(crate) fn correlated(n: usize, d: usize, k: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = stream(seed, 9);
    let factors = 12;
    let centres = Array2::from_shape_fn((k, factors), |_| rng.random_range(-1.7..1.7));
    let loads = Array2::from_shape_fn((factors, d), |_| {
        let size: f64 = rng.random_range(0.0..1.0);
        if rng.random_range(0.0..1.0) < 0.3 { size } else { 0.0 }
    });
    let y: Vec<usize> = (0..n).map(|_| rng.random_range(0..k)).collect();
    let hidden = Array2::from_shape_fn((n, factors), |(j, f)| {
        (centres[[y[j], f]] + rng.random_range(-1.7_f64..1.7)).max(0.0)
    });
    let x = hidden.dot(&loads).mapv(|v| (0.4 * v).clamp(0.0, 1.0));
    (x, y)
}
