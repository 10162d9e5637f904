//! Sums and logarithms over many observations, by the vector kernels of the floor.

use fenchel_linalg::lanes;

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

/// Writes `a log(x) + b x + c`, of positive `x`.
pub(crate) fn logs_and_values(x: &[f64], (a, b, c): (f64, f64, f64), out: &mut [f64]) {
    lanes::run(Each { x, out, f: |x: f64| a * lanes::ln(x) + (b * x + c) });
    // The vector kernel ends where numbers are subnormal.
    for (out, &x) in out.iter_mut().zip(x).filter(|(_, x)| **x < f64::MIN_POSITIVE) {
        *out = a * x.ln() + (b * x + c);
    }
}

/// Writes `a log(x) + b log(1 - x) + c`, of `x` inside of (0, 1).
pub(crate) fn logs_of_both(x: &[f64], (a, b, c): (f64, f64, f64), out: &mut [f64]) {
    let one = |x: f64| {
        // log(1 - x), with what rounding took from 1 - x put back.
        let u = 1.0 - x;
        a * lanes::ln(x) + (b * (lanes::ln(u) - ((u - 1.0) + x) / u) + c)
    };
    lanes::run(Each { x, out, f: one });
    for (out, &x) in out.iter_mut().zip(x).filter(|(_, x)| **x < f64::MIN_POSITIVE) {
        *out = a * x.ln() + (b * (-x).ln_1p() + c);
    }
}

/// `out_i = f(x_i)` by wide instructions.
struct Each<'a, F> {
    x: &'a [f64],
    out: &'a mut [f64],
    f: F,
}

impl<F: Fn(f64) -> f64> lanes::Kernel for Each<'_, F> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = (self.f)(x);
        }
    }
}
