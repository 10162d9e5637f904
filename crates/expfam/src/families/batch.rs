//! Sums and logarithms over many observations, by the vector kernels of `fenchel-linalg`.

use fenchel_linalg::lanes;

use crate::divergence::phi;

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

/// The mean of `f(x_i)`, by wide instructions.
pub(crate) fn mean_of(x: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    lanes::run(SumOf { x, f }) / x.len() as f64
}

/// The same for positive numbers. `f` is given twice: with [`lanes::ln`] as logarithm, which is not valid for subnormal
/// numbers, and with the logarithm of the standard library.
pub(crate) fn mean_of_positive(
    x: &[f64],
    fast: impl Fn(f64) -> f64,
    exact: impl Fn(f64) -> f64,
) -> f64 {
    let normal = all(
        x,
        #[inline(always)]
        |x| *x >= f64::MIN_POSITIVE,
    );
    if normal { mean_of(x, fast) } else { sum(x, exact) / x.len() as f64 }
}

/// Whether a condition holds for all, by wide instructions: no branch between the observations of a block.
pub(crate) fn all<T>(x: &[T], f: impl Fn(&T) -> bool) -> bool {
    lanes::run(All { x, f })
}

/// The mean of `x/m - 1 - log(x/m)` of positive numbers around their mean `m`, each term without cancellation.
pub(crate) fn mean_excess_of_logs(x: &[f64], mean: f64) -> f64 {
    // The kernel's logarithm ends where numbers are subnormal, also those of the quotient.
    let normal = all(
        x,
        #[inline(always)]
        |x| *x >= f64::MIN_POSITIVE && x / mean >= f64::MIN_POSITIVE && x / mean < f64::INFINITY,
    );
    if !normal {
        return sum(x, |x| phi(mean, x)) / x.len() as f64;
    }
    mean_of(
        x,
        #[inline(always)]
        |x| excess_of_log((x - mean) / mean, x / mean),
    )
}

/// `u - log(1 + u)`, given `1 + u` too; no branch and no call.
///
/// `u - log(1 + u)` near 0. With `s = u / (2 + u)` and `log(1 + u) = 2 artanh(s)`, the result is
/// `u s - 2 s^3 (1/3 + s^2/5 + ...)`. For `|s| <= 1/3` the omitted terms are below 2e-17 of the sum.
#[inline(always)]
fn excess_of_log(u: f64, one_plus: f64) -> f64 {
    let s = u / (2.0 + u);
    let z = s * s;
    let mut series = 0.0;
    for i in 0..16 {
        series = series * z + INVERSE_ODD[i];
    }
    let near = s * (u - 2.0 * z * series);
    let far = u - lanes::ln(one_plus);
    if u.abs() < 0.5 { near } else { far }
}

/// `1/33, 1/31, ..., 1/3`
const INVERSE_ODD: [f64; 16] = {
    let (mut odd, mut i) = ([0.0; 16], 0);
    while i < 16 {
        odd[i] = 1.0 / (33 - 2 * i) as f64;
        i += 1;
    }
    odd
};

/// Writes `f(x_i)`.
pub(crate) fn each(x: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    lanes::run(Each { x, out, f });
}

/// Writes `f(x_i)` of positive numbers, given `f` as [`mean_of_positive`].
pub(crate) fn each_positive(
    x: &[f64],
    out: &mut [f64],
    fast: impl Fn(f64) -> f64,
    exact: impl Fn(f64) -> f64,
) {
    lanes::run(Each { x, out: &mut *out, f: fast });
    for (out, &x) in out.iter_mut().zip(x).filter(|(_, x)| **x < f64::MIN_POSITIVE) {
        *out = exact(x);
    }
}

/// Writes `a log(x) + b x + c`, of positive `x`.
pub(crate) fn logs_and_values(x: &[f64], (a, b, c): (f64, f64, f64), out: &mut [f64]) {
    each_positive(
        x,
        out,
        #[inline(always)]
        |x: f64| a * lanes::ln(x) + (b * x + c),
        |x| a * x.ln() + (b * x + c),
    );
}

/// `log(1 - x)` for `x` in (0, 1), by the vector kernel, with a correction for the rounding error of `1 - x`.
#[inline(always)]
pub(crate) fn ln_one_minus(x: f64) -> f64 {
    let u = 1.0 - x;
    lanes::ln(u) - ((u - 1.0) + x) / u
}

/// Writes `a log(x) + b log(1 - x) + c`, of `x` inside of (0, 1).
pub(crate) fn logs_of_both(x: &[f64], (a, b, c): (f64, f64, f64), out: &mut [f64]) {
    each_positive(
        x,
        out,
        #[inline(always)]
        |x: f64| a * lanes::ln(x) + (b * ln_one_minus(x) + c),
        |x| a * x.ln() + (b * (-x).ln_1p() + c),
    );
}

/// Writes `f(x_i)` for whole numbers `x_i >= 0`. Small counts occur often, so their values are looked up in a table.
pub(crate) fn counts(x: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    let size = if x.len() >= 1024 { 256 } else { 0 };
    let table: Vec<f64> = (0..size).map(|x: u32| f(f64::from(x))).collect();
    for (out, &x) in out.iter_mut().zip(x) {
        // To 32 bits: one instruction.
        *out = table.get(x as u32 as usize).copied().unwrap_or_else(|| f(x));
    }
}

/// Angles up to this size are turned into cosines and sines by [`cos_sin`].
pub(crate) const NEAR: f64 = 1e5;

/// `(cos x, sin x)` for `|x| <= 2 NEAR`, with an absolute error below 3e-16. There is no branch and no call, so loops
/// over it vectorise.
#[inline(always)]
pub(crate) fn cos_sin(x: f64) -> (f64, f64) {
    // Adding it rounds to a whole number in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    // pi in two parts: products of the first with whole numbers below 2^20 are exact.
    const HIGH: f64 = 3.141_592_653_468_251_2;
    const LOW: f64 = 1.215_420_101_301_238_4e-10;
    let shifted = x * std::f64::consts::FRAC_1_PI + MAGIC;
    let n = shifted - MAGIC;
    let r = (x - n * HIGH) - n * LOW;
    let z = r * r;
    // Taylor's series: |r| <= pi/2, what is left out is below 2e-17.
    let even = [
        1.0 / 2_432_902_008_176_640_000.0,
        -1.0 / 6_402_373_705_728_000.0,
        1.0 / 20_922_789_888_000.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
    ];
    let odd = [
        1.0 / 51_090_942_171_709_440_000.0,
        -1.0 / 121_645_100_408_832_000.0,
        1.0 / 355_687_428_096_000.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
    ];
    let (mut c, mut s) = (0.0, 0.0);
    for i in 0..10 {
        c = c * z + even[i];
        s = s * z + odd[i];
    }
    let sign = (shifted.to_bits() & 1) << 63;
    let turn = |v: f64| f64::from_bits(v.to_bits() ^ sign);
    (turn(1.0 + c * z), turn(r + r * z * s))
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

struct All<'a, T, F> {
    x: &'a [T],
    f: F,
}

impl<T, F: Fn(&T) -> bool> lanes::Kernel for All<'_, T, F> {
    type Output = bool;

    #[inline(always)]
    fn compute(self) -> bool {
        for block in self.x.chunks(1024) {
            let mut holds = true;
            for x in block {
                holds &= (self.f)(x);
            }
            if !holds {
                return false;
            }
        }
        true
    }
}

/// `sum_i f(x_i)` in eight lanes, by wide instructions.
struct SumOf<'a, F> {
    x: &'a [f64],
    f: F,
}

impl<F: Fn(f64) -> f64> lanes::Kernel for SumOf<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let mut sums = [0.0; 8];
        let (blocks, rest) = self.x.as_chunks::<8>();
        for block in blocks {
            for l in 0..8 {
                sums[l] += (self.f)(block[l]);
            }
        }
        for (sum, &x) in sums.iter_mut().zip(rest) {
            *sum += (self.f)(x);
        }
        lanes::sum(&sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the library's functions, on both sides of the switch and at the ends of the range.
    #[test]
    fn excesses_of_logarithms_agree_with_the_library() {
        let near = (-5000..=5000).map(|i| 1e-4 * f64::from(i) + 1e-9 * f64::from(i % 13));
        let far = (1..600).map(|i| f64::from(i) * 0.37 + 0.5).chain([-0.7, -0.99, 1e10, 1e300]);
        let tiny = [0.0, 1e-12, -1e-9, 1e-200, 0.4999999, 0.5000001, -0.4999999, -0.5000001];
        for u in near.chain(far).chain(tiny) {
            let (found, library) = (excess_of_log(u, 1.0 + u), phi(1.0, 1.0 + u));
            // `1 + u` rounds: the library is asked about the same number.
            let u = (1.0 + u) - 1.0;
            let found = if u.abs() < 0.6 { excess_of_log(u, 1.0 + u) } else { found };
            assert!((found - library).abs() <= 4e-15 * library, "{u}: {found} {library}");
        }
        let x = [1e-310, 1.0, 3.0, 1e10];
        let by_hand = x.iter().map(|x| phi(2.0, *x)).sum::<f64>() / 4.0;
        assert_eq!(mean_excess_of_logs(&x, 2.0), by_hand);
    }

    #[test]
    fn cosines_and_sines_agree_with_the_library() {
        let points = (-40_000..=40_000).map(|i| 2.5 * f64::from(i) + 1e-3 * f64::from(i % 977));
        let special = [0.0, -0.0, 1e-300, std::f64::consts::PI, std::f64::consts::FRAC_PI_2, NEAR];
        for x in points.chain(special) {
            let (cos, sin) = cos_sin(x);
            assert!((cos - x.cos()).abs() < 3e-16, "{x}: {cos} {}", x.cos());
            assert!((sin - x.sin()).abs() < 3e-16, "{x}: {sin} {}", x.sin());
        }
    }
}
