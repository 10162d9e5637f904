//! Random problems and an independent solver, shared by the tests.

pub(crate) mod multiclass;

use fenchel_linalg::CsrMatrix;
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Loss, Regulariser};
use ndarray::Array2;
use rand::RngExt;

/// A design matrix in both storages, and targets of both kinds.
pub(crate) struct Data {
    pub(crate) dense: Array2<f64>,
    pub(crate) sparse: CsrMatrix<f64>,
    pub(crate) signs: Vec<f64>,
    pub(crate) reals: Vec<f64>,
}

/// `n x d` entries, a fraction `density` of them not 0, row norms about 1 and uneven.
pub(crate) fn data(n: usize, d: usize, density: f64, seed: u64) -> Data {
    let mut rng: Generator = stream(seed, 0);
    let truth: Vec<f64> = (0..d).map(|_| rng.random_range(-2.0..2.0)).collect();
    let mut dense = Array2::zeros((n, d));
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    let (mut signs, mut reals) = (vec![], vec![]);
    for i in 0..n {
        let scale = (2.0 / d as f64).sqrt() * rng.random_range(0.5..1.5);
        let mut score = rng.random_range(-0.5..0.5);
        for c in 0..d {
            if rng.random_range(0.0..1.0) < density {
                let a = scale * rng.random_range(-1.5..1.5);
                dense[[i, c]] = a;
                columns.push(c as u32);
                values.push(a);
                score += a * truth[c];
            }
        }
        offsets.push(values.len());
        signs.push(if score > 0.0 { 1.0 } else { -1.0 });
        reals.push(score);
    }
    let sparse = CsrMatrix::try_new((n, d), offsets, columns, values).expect("a valid matrix");
    Data { dense, sparse, signs, reals }
}

/// The optimum by proximal gradient descent with momentum and restart, run until nothing moves:
/// slow, obvious, and written against nothing but the traits.
pub(crate) fn reference<L: Loss, R: Regulariser>(
    x: &Array2<f64>,
    y: &[f64],
    loss: &L,
    regulariser: &R,
    l2: f64,
    intercept: bool,
) -> (Vec<f64>, f64) {
    let (n, d) = x.dim();
    // The intercept is column d; the regulariser sees the first d entries only.
    let largest = x.rows().into_iter().map(|a| a.dot(&a)).fold(0.0, f64::max) + 1.0;
    let step = 1.0 / (loss.curvature() * largest + l2);
    let gradient = |w: &[f64]| {
        let mut g = vec![0.0; d + 1];
        for (a, &y) in x.rows().into_iter().zip(y) {
            let t: f64 = a.iter().zip(w).map(|(a, w)| a * w).sum::<f64>() + w[d];
            let s = loss.derivative(t, y) / n as f64;
            for c in 0..d {
                g[c] += s * a[c];
            }
            g[d] += if intercept { s } else { 0.0 };
        }
        for c in 0..d {
            g[c] += l2 * w[c];
        }
        g
    };
    let (mut w, mut z, mut momentum) = (vec![0.0; d + 1], vec![0.0; d + 1], 1.0f64);
    for _ in 0..2_000_000 {
        let mut next: Vec<f64> = z.iter().zip(gradient(&z)).map(|(z, g)| z - step * g).collect();
        regulariser.prox(&mut next[..d], step);
        let moved: f64 = next.iter().zip(&w).map(|(a, b)| (a - b).abs()).sum();
        let uphill: f64 = (0..=d).map(|c| (z[c] - next[c]) * (next[c] - w[c])).sum();
        let old = momentum;
        momentum = if uphill > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * old * old).sqrt()) };
        let push = if uphill > 0.0 { 0.0 } else { (old - 1.0) / momentum };
        z = next.iter().zip(&w).map(|(a, b)| a + push * (a - b)).collect();
        w = next;
        if moved < 1e-16 {
            break;
        }
    }
    let b = w.pop().expect("d + 1 entries");
    (w, b)
}

/// `(1/n) sum phi + (l2/2) ||w||^2 + h(w)`, written out.
pub(crate) fn objective<L: Loss, R: Regulariser>(
    x: &Array2<f64>,
    y: &[f64],
    loss: &L,
    regulariser: &R,
    l2: f64,
    (w, b): (&[f64], f64),
) -> f64 {
    let risk: f64 = x
        .rows()
        .into_iter()
        .zip(y)
        .map(|(a, &y)| loss.value(a.iter().zip(w).map(|(a, w)| a * w).sum::<f64>() + b, y))
        .sum();
    let norm: f64 = w.iter().map(|w| w * w).sum();
    risk / y.len() as f64 + 0.5 * l2 * norm + regulariser.value(w)
}

/// Largest difference of two vectors.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
