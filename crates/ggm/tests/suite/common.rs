//! Problems and an independent solver.

use fenchel_ggm::{PenaltyWeights, Statistics, sample};
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, ArrayView2};

/// Samples of a precision matrix.
pub(crate) fn data(precision: ArrayView2<f64>, n: usize, seed: u64) -> Array2<f64> {
    let mean = Array1::zeros(precision.nrows());
    sample(precision, &mean, n, &mut stream(seed, 0)).unwrap()
}

pub(crate) fn statistics(precision: ArrayView2<f64>, n: usize, seed: u64) -> Statistics {
    Statistics::from_data(&data(precision, n, seed)).unwrap()
}

/// Inverse and log-determinant by Gauss-Jordan elimination, without pivoting: enough for positive definite matrices, and
/// `None` for others.
pub(crate) fn inverse(a: &Array2<f64>) -> Option<(Array2<f64>, f64)> {
    let n = a.nrows();
    let mut left = a.clone();
    let mut right = Array2::<f64>::eye(n);
    let mut log_det = 0.0;
    for k in 0..n {
        let pivot = left[[k, k]];
        if !(pivot > 0.0) {
            return None;
        }
        log_det += pivot.ln();
        for j in 0..n {
            left[[k, j]] /= pivot;
            right[[k, j]] /= pivot;
        }
        for i in 0..n {
            let by = left[[i, k]];
            if i != k && by != 0.0 {
                for j in 0..n {
                    left[[i, j]] -= by * left[[k, j]];
                    right[[i, j]] -= by * right[[k, j]];
                }
            }
        }
    }
    Some((right, log_det))
}

/// The objective of the graphical lasso, from its definition.
pub(crate) fn objective(c: &Array2<f64>, weights: &PenaltyWeights, x: &Array2<f64>) -> f64 {
    let Some((_, log_det)) = inverse(x) else { return f64::INFINITY };
    let mut sum = -log_det;
    for ((i, j), x) in x.indexed_iter() {
        sum += c[[i, j]] * x;
        if *x != 0.0 {
            sum += weights.at(i, j) * x.abs();
        }
    }
    sum
}

/// Proximal gradient descent with halving steps: slow, and shares nothing with the crate.
pub(crate) fn ista(c: &Array2<f64>, weights: &PenaltyWeights, steps: usize) -> Array2<f64> {
    let p = c.nrows();
    let mut x = Array2::from_shape_fn((p, p), |(i, j)| {
        if i == j { 1.0 / (c[[i, i]] + weights.at(i, i)) } else { 0.0 }
    });
    let mut step = 1.0;
    for _ in 0..steps {
        let (w, _) = inverse(&x).unwrap();
        let now = objective(c, weights, &x);
        step *= 2.0;
        loop {
            let moved = Array2::from_shape_fn((p, p), |(i, j)| {
                let z = x[[i, j]] - step * (c[[i, j]] - w[[i, j]]);
                z.signum() * (z.abs() - step * weights.at(i, j)).max(0.0)
            });
            let change = (&moved - &x).mapv(|v| v * v).sum();
            if objective(c, weights, &moved) <= now - 0.1 * change / step || step < 1e-12 {
                x = moved;
                break;
            }
            step *= 0.5;
        }
    }
    x
}

/// The largest violation of the optimality conditions.
pub(crate) fn violation(c: &Array2<f64>, weights: &PenaltyWeights, x: &Array2<f64>) -> f64 {
    let (w, _) = inverse(x).expect("positive definite");
    let mut worst = 0.0_f64;
    for ((i, j), &x) in x.indexed_iter() {
        let (g, t) = (c[[i, j]] - w[[i, j]], weights.at(i, j));
        worst = worst.max(if x == 0.0 { g.abs() - t } else { (g + t * x.signum()).abs() });
    }
    worst
}
