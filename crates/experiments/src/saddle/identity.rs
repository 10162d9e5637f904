//! The data of the experiments on running times.

use ndarray::{Array2, ArrayView1};

use crate::numbers::normal;

/// Normal features, the class of the largest noisy feature: `n = d = k`, the true weights are the identity.
pub(super) fn identity(n: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = fenchel_optim::random::stream(seed, 4);
    let x = Array2::from_shape_simple_fn((n, n), || normal(&mut rng));
    let scale = 1.0 / (n as f64).sqrt();
    let largest = |row: ArrayView1<f64>| {
        let mut best = (0, f64::NEG_INFINITY);
        for (l, v) in row.iter().enumerate() {
            let noisy = v + scale * normal(&mut rng);
            if noisy > best.1 {
                best = (l, noisy);
            }
        }
        best.0
    };
    let y = x.rows().into_iter().map(largest).collect();
    (x, y)
}
