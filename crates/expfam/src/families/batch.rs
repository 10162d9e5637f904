//! Sums and logarithms over many observations, by the vector kernels of the floor.

/// The mean, summed in eight lanes.
pub(crate) fn mean(x: &[f64]) -> f64 {
    sum(x, |x| x) / x.len() as f64
}

/// `sum_i f(x_i)` in a fixed order of eight lanes, which compilers turn into vector instructions.
#[inline]
pub(crate) fn sum(x: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let chunks = x.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    let rest: f64 = rest.iter().map(|&x| f(x)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// Writes `log x_i`.
pub(crate) fn logs(x: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = x.ln());
}
