//! Norms of vectors and of linear maps.

use ndarray::Array2;

/// The spectral norm of a linear map by power iteration, slightly increased so that it is an upper bound. `least` is
/// a known lower bound. It is needed because the iteration may start nearly orthogonal to the largest singular
/// vector.
pub(crate) fn spectral_norm(
    (dx, dy): (usize, usize),
    least: f64,
    mut forward: impl FnMut(&[f64], &mut [f64]),
    mut backward: impl FnMut(&[f64], &mut [f64]),
) -> f64 {
    // A fixed start without a pattern.
    let mut x: Vec<f64> = (0..dx).map(|i| 1.0 + 0.5 * (1.7 * i as f64 + 0.3).sin()).collect();
    let (mut y, mut norm) = (vec![0.0; dy], 0.0);
    for _ in 0..200 {
        let size = length(x.iter().copied());
        if !(size > 0.0) {
            break;
        }
        x.iter_mut().for_each(|v| *v /= size);
        forward(&x, &mut y);
        let last = std::mem::replace(&mut norm, length(y.iter().copied()));
        if (norm - last).abs() <= 1e-4 * norm {
            break;
        }
        backward(&y, &mut x);
    }
    // The iteration ends below: the steps keep a margin of 1 % beside this one.
    norm.max(least) * 1.01
}

/// The largest Euclidean norm of a row or column, which is at most the spectral norm.
pub(crate) fn longest(matrix: &Array2<f64>) -> f64 {
    let all = matrix.rows().into_iter().chain(matrix.columns());
    all.map(|v| length(v.into_iter().copied())).fold(0.0, f64::max)
}

/// The Euclidean norm, without overflow or underflow.
pub(crate) fn length(v: impl Iterator<Item = f64> + Clone) -> f64 {
    let squares: f64 = v.clone().map(|a| a * a).sum();
    if (1e-200..1e200).contains(&squares) {
        return squares.sqrt();
    }
    let top = v.clone().fold(0.0_f64, |m, a| m.max(a.abs()));
    if !(top > 0.0 && top < f64::INFINITY) {
        return top;
    }
    top * v.map(|a| (a / top).powi(2)).sum::<f64>().sqrt()
}
