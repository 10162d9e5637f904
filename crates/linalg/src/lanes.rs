//! Elementary functions that the compiler can vectorise, and functions that select the widest vector instructions at run time.
//!
//! A loop over [`exp`], [`ln`], [`exp_f32`] or [`ln_f32`] has no branch and no call, so the compiler turns it into vector
//! instructions. Their width is that of the build; inside [`dispatch`] or [`run`] it is that of the machine.
//!
//! ```
//! use fenchel_linalg::lanes;
//!
//! let mut x = vec![0.5; 1000];
//! let sum = lanes::dispatch(|| {
//!     x.iter_mut().for_each(|v| *v = lanes::exp(*v));
//!     lanes::sum(&x)
//! });
//! assert!((sum - 1000.0 * 0.5_f64.exp()).abs() < 1e-9);
//! ```
//!
//! The bits of a result do not depend on the instruction set: nothing here is contracted into fused operations, and [`sum`] and
//! [`dot`] add in a fixed order of eight lanes. A caller who writes a loop of sums has to fix its order too.
//!
//! A build with debug assertions does no dispatch and runs the code as it is compiled. At the low optimisation of such builds
//! the compiler makes no vector instructions anyway, and each kernel is compiled once instead of three times.

/// Runs a small closure compiled for the widest vector instructions that this machine has, chosen at run time.
///
/// The compiler decides whether to inline the closure. If it does not, nothing is gained, so write a [`Kernel`] for more than a
/// dozen lines. A function that the closure calls is compiled for the wide instructions only if it is inlined too: mark helpers
/// `#[inline(always)]`. Closures and iterator adapters inside are often not inlined; loops over an index in `#[inline(always)]`
/// functions are. A call costs a few nanoseconds, so dispatch around a whole loop and not around a single row.
#[inline]
pub fn dispatch<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(debug_assertions)]
    {
        f()
    }
    #[cfg(not(debug_assertions))]
    {
        widest(f)
    }
}

/// A computation of any size for [`run`]. Its fields are the arguments, and [`compute`](Kernel::compute) does the work.
pub trait Kernel {
    /// What is computed.
    type Output;

    /// Does the work. Mark the implementation `#[inline(always)]`, and every helper that it calls.
    fn compute(self) -> Self::Output;
}

/// Runs a kernel compiled for the widest vector instructions that this machine has, chosen at run time.
///
/// ```
/// use fenchel_linalg::lanes;
///
/// struct Scale<'a>(&'a mut [f64], f64);
///
/// impl lanes::Kernel for Scale<'_> {
///     type Output = ();
///
///     #[inline(always)]
///     fn compute(self) {
///         self.0.iter_mut().for_each(|x| *x *= self.1);
///     }
/// }
///
/// let mut x = [1.0, 2.0, 3.0];
/// lanes::run(Scale(&mut x, 2.0));
/// assert_eq!(x, [2.0, 4.0, 6.0]);
/// ```
#[inline]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(debug_assertions)]
    {
        kernel.compute()
    }
    #[cfg(not(debug_assertions))]
    {
        widest(Wide(kernel))
    }
}

#[cfg(any(test, not(debug_assertions)))]
#[inline]
fn widest<W: pulp::WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}

#[cfg(any(test, not(debug_assertions)))]
struct Wide<K>(K);

#[cfg(any(test, not(debug_assertions)))]
impl<K: Kernel> pulp::WithSimd for Wide<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> K::Output {
        self.0.compute()
    }
}

const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer in the low bits
const MAGIC_F32: f32 = 12_582_912.0; // 1.5 * 2^23

// ln 2 in two parts: products of the first with integers below 2^20 are exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// `e^x` with a relative error below 4e-16. The result is 0 for `x` below -708 and `+inf` above 709.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let clamped = if x > -708.0 { x } else { -708.0 };
    let clamped = if clamped < 709.0 { clamped } else { 709.0 };
    let shifted = clamped * std::f64::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor: |r| <= ln(2)/2, the rest after degree 13 is below 5e-18. In pairs (Estrin): a chain of five instead of 13.
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let p0 = (1.0 + r) + (0.5 + r * (1.0 / 6.0)) * r2;
    let p4 = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0 + r * (1.0 / 5_040.0)) * r2;
    let p8 = (1.0 / 40_320.0 + r * (1.0 / 362_880.0))
        + (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0)) * r2;
    let p12 = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    let p = p0 + (p4 + (p8 + p12 * r4) * r4) * r4;
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let y = p * power;
    let y = if x < -708.0 { 0.0 } else { y };
    let y = if x > 709.0 { f64::INFINITY } else { y };
    if x.is_nan() { x } else { y }
}

/// Computes `e^{s + x}` and `e^{s - x}` for one `s` and many `x`, at little more than the cost of one exponential.
///
/// The two exponentials share the reduction of the argument, and the even and odd parts of the polynomial.
///
/// ```
/// use fenchel_linalg::lanes::ExpPair;
///
/// let (up, down) = ExpPair::new(-2.0).at(5.0);
/// assert!((up - 3.0_f64.exp()).abs() < 1e-14 && (down - (-7.0_f64).exp()).abs() < 1e-18);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ExpPair {
    power: f64,
    factor: f64,
}

impl ExpPair {
    /// For a finite `s`, `abs(s) <= 1e6`.
    pub fn new(s: f64) -> Self {
        let power = (s * std::f64::consts::LOG2_E).round();
        ExpPair { power, factor: ((s - power * LN2_HIGH) - power * LN2_LOW).exp() }
    }

    /// Returns `(e^{s + x}, e^{s - x})` with relative errors below 1e-15. Results below 2e-308 become 0, and results above
    /// 8e307 become infinite. Arguments beyond 1e5 count as 1e5.
    #[inline(always)]
    pub fn at(self, x: f64) -> (f64, f64) {
        let clamped = if x > -1e5 { x } else { -1e5 };
        let clamped = if clamped < 1e5 { clamped } else { 1e5 };
        let n = (clamped * std::f64::consts::LOG2_E + MAGIC) - MAGIC;
        let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
        let (z, z2) = (r * r, (r * r) * (r * r));
        let even = (1.0 + z * 0.5)
            + ((1.0 / 24.0 + z * (1.0 / 720.0))
                + (1.0 / 40_320.0 + z * (1.0 / 3_628_800.0) + z2 * (1.0 / 479_001_600.0)) * z2)
                * z2;
        let odd = (1.0 + z * (1.0 / 6.0))
            + ((1.0 / 120.0 + z * (1.0 / 5_040.0))
                + (1.0 / 362_880.0 + z * (1.0 / 39_916_800.0) + z2 * (1.0 / 6_227_020_800.0)) * z2)
                * z2;
        let odd = odd * r;
        let (up, down) = (even + odd, even - odd);
        (
            self.factor * up * power_of_two(self.power + n),
            self.factor * down * power_of_two(self.power - n),
        )
    }
}

/// `2^n` for an integral `n`; 0 from -1023 downward, infinite from 1024 upward.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    let n = if n > -1023.0 { n } else { -1023.0 };
    let n = if n < 1024.0 { n } else { 1024.0 };
    f64::from_bits((n + MAGIC).to_bits().wrapping_add(1023) << 52)
}

/// `ln x` for normal positive `x`, with an error below 1.5 units in the last place. Smaller arguments, zero and negative
/// numbers included, count as `f64::MIN_POSITIVE`, whose logarithm is -708.4. The result for `+inf` is not specified.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const HALF_ROOT: u64 = 0x3fe6_a09e_0000_0000; // about sqrt(1/2): the mantissa goes to [sqrt(1/2), sqrt(2))
    let x = if x > f64::MIN_POSITIVE { x } else { f64::MIN_POSITIVE };
    let bits = x.to_bits().wrapping_sub(HALF_ROOT).wrapping_add(1023 << 52);
    let k =
        f64::from_bits(0x4330_0000_0000_0000 | (bits >> 52)) - (4_503_599_627_370_496.0 + 1023.0);
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(HALF_ROOT));
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    // ln((1+s)/(1-s)) = 2s + s z R(z), minimax coefficients of R on z <= 0.0295.
    let z2 = z * z;
    let low = (6.666_666_666_666_735e-1 + z * 3.999_999_999_940_942e-1)
        + (2.857_142_874_366_239e-1 + z * 2.222_219_843_214_978_4e-1) * z2;
    let high = (1.818_357_216_161_805e-1 + z * 1.531_383_769_920_937_3e-1)
        + 1.479_819_860_511_658_6e-1 * z2;
    let r = low + high * (z2 * z2);
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + z * r) + k * LN2_LOW)) - f)
}

/// `e^x` in single precision with a relative error below 2e-7. The result is 0 for `x` below -87 and `+inf` above 88.
#[inline(always)]
pub fn exp_f32(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let clamped = if x > -87.0 { x } else { -87.0 };
    let clamped = if clamped < 88.0 { clamped } else { 88.0 };
    let shifted = clamped * std::f32::consts::LOG2_E + MAGIC_F32;
    let n = shifted - MAGIC_F32;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    let mut p = 1.0 / 5_040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let y = p * power;
    let y = if x < -87.0 { 0.0 } else { y };
    let y = if x > 88.0 { f32::INFINITY } else { y };
    if x.is_nan() { x } else { y }
}

/// `ln x` in single precision for normal positive `x`, with an error below 2 units in the last place. Smaller arguments count
/// as `f32::MIN_POSITIVE`, whose logarithm is -87.3. The result for `+inf` is not specified.
#[inline(always)]
pub fn ln_f32(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_138_1;
    const LN2_LOW: f32 = 9.058_001e-6;
    const HALF_ROOT: u32 = 0x3f35_04f3;
    let x = if x > f32::MIN_POSITIVE { x } else { f32::MIN_POSITIVE };
    let bits = x.to_bits().wrapping_sub(HALF_ROOT).wrapping_add(127 << 23);
    let k = (bits >> 23) as i32 as f32 - 127.0;
    let mantissa = f32::from_bits((bits & 0x007f_ffff).wrapping_add(HALF_ROOT));
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut r = 0.242_790_79_f32;
    r = r * z + 0.284_987_87;
    r = r * z + 0.400_009_72;
    r = r * z + 0.666_666_6;
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + z * r) + k * LN2_LOW)) - f)
}

/// `sum x_i` in eight lanes, joined in a fixed order.
#[inline(always)]
pub fn sum(x: &[f64]) -> f64 {
    let (blocks, rest) = x.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for block in blocks {
        for l in 0..8 {
            lanes[l] += block[l];
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += value;
    }
    join(lanes)
}

/// `sum x_i y_i` up to the length of the shorter slice, in eight partial sums joined in a fixed order.
#[inline(always)]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let length = x.len().min(y.len());
    let (xs, x_rest) = x[..length].as_chunks::<8>();
    let (ys, y_rest) = y[..length].as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (a, b) in xs.iter().zip(ys) {
        for l in 0..8 {
            lanes[l] += a[l] * b[l];
        }
    }
    for ((lane, a), b) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
        *lane += a * b;
    }
    join(lanes)
}

#[inline(always)]
fn join(l: [f64; 8]) -> f64 {
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exp_agrees_with_the_library(x in -707.9..708.9_f64) {
            let exact = x.exp();
            prop_assert!((exp(x) - exact).abs() <= 4e-16 * exact);
        }

        #[test]
        fn pairs_agree_with_the_library(s in -900.0..300.0_f64, x in -400.0..400.0_f64) {
            let (up, down) = ExpPair::new(s).at(x);
            for (value, at) in [(up, s + x), (down, s - x)] {
                // The rounding of the sum, times the exponential, is the library's error here.
                let (exact, slack) = (at.exp(), 1e-15 + at.abs() * f64::EPSILON);
                prop_assert!((value - exact).abs() <= slack * exact + 2.3e-308);
            }
        }

        #[test]
        fn ln_agrees_with_the_library(x in -700.0..700.0_f64, near in 0.5..2.0_f64) {
            for x in [x.exp(), near] {
                let exact = x.ln();
                prop_assert!((ln(x) - exact).abs() <= 3.3e-16 * exact.abs());
            }
        }

        #[test]
        fn single_precision_agrees_with_double(x in -86.0..87.0_f32, near in 0.5..2.0_f32) {
            let exact = f64::from(x).exp();
            prop_assert!((f64::from(exp_f32(x)) - exact).abs() <= 2e-7 * exact);
            for x in [exact as f32, near] {
                let exact = f64::from(x).ln();
                prop_assert!((f64::from(ln_f32(x)) - exact).abs() <= 2.4e-7 * exact.abs() + 1e-9);
            }
        }

        #[test]
        fn pairs_stop_at_the_range_of_numbers(x in 1500.0..1e9_f64) {
            prop_assert_eq!(ExpPair::new(0.5).at(x), (f64::INFINITY, 0.0));
            prop_assert_eq!(ExpPair::new(0.5).at(-x), (0.0, f64::INFINITY));
        }

        #[test]
        fn bits_do_not_depend_on_the_instruction_set(x in proptest::collection::vec(-700.0..700.0_f64, 0..50)) {
            let plain: Vec<f64> = x.iter().map(|&v| ln(exp(v))).collect();
            prop_assert_eq!(&plain, &widest(|| x.iter().map(|&v| ln(exp(v))).collect::<Vec<f64>>()));
            prop_assert_eq!(sum(&x), widest(|| sum(&x)));
            prop_assert_eq!(dot(&x, &plain), widest(Wide(Dot(&x, &plain))));
            prop_assert_eq!(dot(&x, &plain), run(Dot(&x, &plain)));
            prop_assert_eq!(sum(&x), dispatch(|| sum(&x)));
        }
    }

    struct Dot<'a>(&'a [f64], &'a [f64]);

    impl Kernel for Dot<'_> {
        type Output = f64;

        #[inline(always)]
        fn compute(self) -> f64 {
            dot(self.0, self.1)
        }
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(-1e9), 0.0);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert!(exp(f64::NAN).is_nan());
        assert_eq!(ln(1.0), 0.0);
        assert!((ln(0.0) + 708.396_418_532_264_1).abs() < 1e-12);
        assert_eq!(exp_f32(0.0), 1.0);
        assert_eq!(exp_f32(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp_f32(f32::INFINITY), f32::INFINITY);
        assert!(exp_f32(f32::NAN).is_nan());
        assert_eq!(ln_f32(1.0), 0.0);
        assert!((ln_f32(0.0) + 87.336_55).abs() < 1e-4);
    }

    #[test]
    fn sums_are_exact_on_integers() {
        let x: Vec<f64> = (0..1003).map(f64::from).collect();
        assert_eq!(sum(&x), 1003.0 * 1002.0 / 2.0);
        assert_eq!(dot(&x, &x), 1002.0 * 1003.0 * 2005.0 / 6.0);
        assert_eq!(dot(&x, &x[..3]), 5.0);
    }
}
