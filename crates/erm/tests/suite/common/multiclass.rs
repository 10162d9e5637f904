//! Multinomial problems and an independent solver.

use fenchel_optim::Regulariser;
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::RngExt;

/// Three uneven classes with some noise.
pub(crate) fn codes(reals: &[f64], seed: u64) -> Vec<usize> {
    let mut rng = stream(seed, 9);
    let class = |&t: &f64| {
        let t = t + rng.random_range(-0.6..0.6);
        if t > 0.4 { 2 } else { usize::from(t > -0.5) }
    };
    reals.iter().map(class).collect()
}

/// `F`, written out.
pub(crate) fn objective<R: Regulariser>(
    x: &Array2<f64>,
    y: &[usize],
    r: usize,
    h: &R,
    l2: f64,
    w: &[f64],
    b: &[f64],
) -> f64 {
    let mut risk = 0.0;
    for (a, &y) in x.rows().into_iter().zip(y) {
        let z: Vec<f64> =
            (0..r).map(|k| b[k] + (0..a.len()).map(|c| a[c] * w[c * r + k]).sum::<f64>()).collect();
        risk += z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[y];
    }
    risk / y.len() as f64 + 0.5 * l2 * w.iter().map(|w| w * w).sum::<f64>() + h.value(w)
}

/// Proximal gradient descent with momentum and restart, until nothing moves.
pub(crate) fn reference<R: Regulariser>(
    x: &Array2<f64>,
    y: &[usize],
    r: usize,
    h: &R,
    l2: f64,
    intercepts: bool,
) -> (Vec<f64>, Vec<f64>) {
    let (n, d) = x.dim();
    let largest = x.rows().into_iter().map(|a| a.dot(&a)).fold(0.0, f64::max) + 1.0;
    let step = 1.0 / (0.5 * largest + l2);
    let size = d * r + r;
    let (mut w, mut z, mut momentum) = (vec![0.0; size], vec![0.0; size], 1.0f64);
    for _ in 0..300_000 {
        let mut g: Vec<f64> = z.iter().map(|z| l2 * z).collect();
        g[d * r..].fill(0.0);
        for (a, &y) in x.rows().into_iter().zip(y) {
            let mut p: Vec<f64> = (0..r)
                .map(|k| z[d * r + k] + (0..d).map(|c| a[c] * z[c * r + k]).sum::<f64>())
                .map(f64::exp)
                .collect();
            let sum: f64 = p.iter().sum();
            p.iter_mut().for_each(|p| *p /= sum);
            p[y] -= 1.0;
            for k in 0..r {
                for c in 0..d {
                    g[c * r + k] += a[c] * p[k] / n as f64;
                }
                g[d * r + k] += if intercepts { p[k] / n as f64 } else { 0.0 };
            }
        }
        let mut next: Vec<f64> = z.iter().zip(&g).map(|(z, g)| z - step * g).collect();
        h.prox(&mut next[..d * r], step);
        let moved: f64 = next.iter().zip(&w).map(|(a, b)| (a - b).abs()).sum();
        let uphill: f64 = (0..size).map(|c| (z[c] - next[c]) * (next[c] - w[c])).sum();
        let old = momentum;
        momentum = if uphill > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * old * old).sqrt()) };
        let push = if uphill > 0.0 { 0.0 } else { (old - 1.0) / momentum };
        z = next.iter().zip(&w).map(|(a, b)| a + push * (a - b)).collect();
        w = next;
        if moved < 1e-15 {
            break;
        }
    }
    let b = w.split_off(d * r);
    (w, b)
}
