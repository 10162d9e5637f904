//! The dual step of one term: `p = softmax(m - q (p - e_y))`.

use fenchel_linalg::special::{log_sum_exp, softmax, wright_omega};
use fenchel_optim::scalar::increasing_root;
use serde::{Deserialize, Serialize};

/// The length of the step of a term's distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SoftmaxStep {
    /// The step to the maximum of the dual objective over the whole simplex, by [`exact_step`].
    #[default]
    Exact,
    /// The step to the maximum on the segment that ends at `softmax(z)`, by [`interval_step`].
    Interval,
    /// A step of the fraction `1 / (1 + q/2)` of the way to `softmax(z)`. It costs one exponential per class. A run
    /// needs a few more passes.
    Constant,
}

/// Solves `p = softmax(m - q (p - e_y))`: the exact maximum of the dual along the `r` coordinates of a term.
///
/// `m` are the scores without the term's own contribution, and `q = ||a||^2 / (mu n)`. For `w_k = q p_k` the
/// equations become `w_k + log w_k = b_k - nu` with `b_k = log q + m_k + q [k = y]`. The multiplier `nu` is
/// determined by `sum_k w_k = q`. Each `w_k` is Wright's omega function of `b_k - nu`. The sum decreases in `nu` and
/// is convex, so that Newton's method converges to the root monotonically from the left. `guess` is the log-partition
/// function of the current scores, which is `nu` at the solution of the problem. Two or three Newton steps are
/// needed, each with `r` values of omega.
pub fn exact_step(m: &[f64], q: f64, y: usize, guess: f64, p: &mut [f64]) {
    if q == 0.0 {
        softmax(m, p);
        return;
    }
    let log_q = q.ln();
    // p holds b, then w.
    for (p, m) in p.iter_mut().zip(m) {
        *p = log_q + m;
    }
    p[y] += q;
    let low = p.iter().copied().fold(f64::NEG_INFINITY, f64::max) - q - log_q;
    let high = log_sum_exp(p) - log_q;
    // Left of high by rounding at least: with one class far ahead the two ends are the same.
    let mut nu = guess.min(high).max(low);
    // 60 is never reached: the convergence is quadratic, and monotone from the second round on.
    for _ in 0..60 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for &b in p.iter() {
            let w = wright_omega(b - nu);
            sum += w;
            slope += w / (1.0 + w);
        }
        let next = (nu + (sum - q) / slope).min(high).max(low);
        let close = !((next - nu).abs() > 1e-8 * (1.0 + nu.abs()).min(1e4));
        nu = next;
        if close {
            break;
        }
    }
    let mut sum = 0.0;
    for p in p.iter_mut() {
        *p = wright_omega(*p - nu);
        sum += *p;
    }
    p.iter_mut().for_each(|p| *p /= sum);
}

/// Maximises the dual objective on the segment between the current distribution `old` and `p = softmax(z)`. The
/// result is `old + c (p - old)` with the best `c` in `[0, 1]`. It is cheaper than [`exact_step`] for many classes,
/// and nearly as good. Source: A. Defazio, PhD thesis 2014, section 2.3.1, with its sign corrected.
///
/// On entry `p` contains `softmax(z)`. The scores are `z`, and `q = ||a||^2 / (mu n)`.
pub fn interval_step(old: &[f64], z: &[f64], q: f64, p: &mut [f64]) {
    // delta.z may be shifted by any constant, since delta sums to 0: by the largest score.
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut linear, mut square) = (0.0, 0.0);
    for ((p, old), z) in p.iter().zip(old).zip(z) {
        let delta = p - old;
        linear += delta * (z - top);
        square += delta * delta;
    }
    let target = &*p;
    let slope = |c: f64| {
        let (mut value, mut curvature) = (c * q * square - linear, q * square);
        for (&p, &old) in target.iter().zip(old) {
            let delta = p - old;
            if delta != 0.0 {
                let here = old + c * delta;
                value += delta * here.ln();
                curvature += delta * delta / here;
            }
        }
        (value, curvature)
    };
    let c = increasing_root(slope, 0.0, 1.0, 1.0 / (1.0 + 0.5 * q), 1e-12);
    for (p, old) in p.iter_mut().zip(old) {
        *p = old + c * (*p - old);
    }
}
