//! Data and comparisons of the tests.

use fenchel_moments::Reduction;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, ArrayView2};
use rand_distr::{Distribution, StandardNormal};

/// Independent normal numbers.
pub(crate) fn normal(n: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, 7);
    Array2::from_shape_simple_fn((n, d), || StandardNormal.sample(&mut rng))
}

/// Correlated features of different scales, a response with two indices, and its directions.
pub(crate) fn regression(n: usize, d: usize, seed: u64) -> (Array2<f64>, Array1<f64>) {
    let z = normal(n, d + 1, seed);
    let mut x = Array2::zeros((n, d));
    for i in 0..n {
        for c in 0..d {
            x[[i, c]] = (1.0 + c as f64) * (z[[i, c]] + 0.5 * z[[i, (c + 1) % d]]) + 3.0 * c as f64;
        }
    }
    let y = (0..n).map(|i| (0.8 * z[[i, 0]]).exp() + z[[i, 1]] + 0.3 * z[[i, d]]).collect();
    (x, y)
}

/// All of a fit that the data determine.
pub(crate) fn timeless(mut model: Reduction) -> Reduction {
    model.report = model.report.without_seconds();
    model
}

/// Entrywise, relative to the largest entry.
#[track_caller]
pub(crate) fn close(a: ArrayView2<f64>, b: ArrayView2<f64>, tolerance: f64) {
    assert_eq!(a.dim(), b.dim());
    let scale = b.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let worst = a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs() / scale));
    assert!(worst <= tolerance, "differ by {worst:e} of the largest entry\n{a:.6}\n{b:.6}");
}

/// Mean and covariance with divisor `n`, by the definition.
pub(crate) fn covariance(x: ArrayView2<f64>) -> (Array1<f64>, Array2<f64>) {
    let n = x.nrows() as f64;
    let mean = x.sum_axis(ndarray::Axis(0)) / n;
    let centred = &x - &mean;
    (mean, centred.t().dot(&centred) / n)
}

/// The first `d` columns, row by row in memory.
pub(crate) fn first_columns(a: &Array2<f64>, d: usize) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), d), |at| a[at])
}

/// `Psi(x)` (m x d) and `div Psi`, by the definition.
pub(crate) fn bumps(x: &Array1<f64>, centres: &Array2<f64>, h: f64) -> (Array2<f64>, Array1<f64>) {
    let (m, d) = centres.dim();
    let mut psi = Array2::zeros((m, d));
    let mut div = Array1::zeros(m);
    for j in 0..m {
        let u = x - &centres.row(j);
        let q = u.dot(&u);
        let k = (-q / (2.0 * h * h)).exp();
        psi.row_mut(j).assign(&(&u * (-k / (h * h))));
        div[j] = k * (q / h.powi(4) - d as f64 / (h * h));
    }
    (psi, div)
}
