//! Combinations of gamma functions, computed without the cancellation of the direct formulas.

use fenchel_linalg::special::{digamma, ln_gamma, log1pmx, tetragamma, trigamma};

use super::panel::legendre;

/// `log(p / (1 - p))`, with all digits near 1/2 too.
pub fn logit(p: f64) -> f64 {
    if (0.3..=0.65).contains(&p) {
        // log((1 + d) / (1 - d)) for p = (1 + d) / 2; 2 p - 1 is exact here.
        let d = 2.0 * p - 1.0;
        2.0 * d.atanh()
    } else {
        p.ln() - (-p).ln_1p()
    }
}

/// Asymptotic part of `log Gamma`: `log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2`.
///
/// Loader's "Stirling error" is this for `Gamma(x + 1)`, the same number for `x > 0`.
pub(crate) fn stirling_error(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x) - (x - 0.5) * x.ln() + x - 0.918_938_533_204_672_7;
    }
    let z = 1.0 / (x * x);
    (1.0 / 12.0
        - z * (1.0 / 360.0
            - z * (1.0 / 1260.0
                - z * (1.0 / 1680.0 - z * (1.0 / 1188.0 - z * (691.0 / 360_360.0 - z / 156.0))))))
        / x
}

/// `log B(a, b) = log Gamma(a) + log Gamma(b) - log Gamma(a + b)`.
///
/// If one argument is large, the formula cancels the large parts analytically.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0) {
        return f64::NAN;
    }
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < 10.0 {
        return ln_gamma(small) + ln_gamma(large) - ln_gamma(small + large);
    }
    let sum = small + large;
    if small >= 10.0 {
        // Stirling's formula for all three: both large terms have one sign, and neither overflows before the result.
        let errors = stirling_error(small) + stirling_error(large) - stirling_error(sum);
        let halves = HALF_LOG_TAU + 0.5 * (1.0 / small + 1.0 / large).ln();
        return errors + halves - small * (large / small).ln_1p() - large * (small / large).ln_1p();
    }
    // log Gamma(large) - log Gamma(sum), by Stirling's formula.
    let shift =
        -(large - 0.5) * (small / large).ln_1p() - small * sum.ln() + small + stirling_error(large)
            - stirling_error(sum);
    ln_gamma(small) + shift
}

/// `log (n over x)`, for whole numbers and between.
pub(crate) fn ln_choose(n: f64, x: f64) -> f64 {
    if x == 0.0 || x == n {
        return 0.0;
    }
    -(n + 1.0).ln() - ln_beta(x + 1.0, n - x + 1.0)
}

/// `log` of the binomial probability of `x` in `x + y` trials, `x, y > 0` whole or not, by C. Loader's saddle-point form:
/// no term is much larger than the result. `log_p` and `log_q` are those of the two outcomes.
pub(crate) fn ln_binomial(x: f64, y: f64, (log_p, log_q): (f64, f64)) -> f64 {
    let n = x + y;
    let part = |x: f64, log: f64| deviance(x, n * log.exp(), n.ln() + log);
    stirling_error(n)
        - stirling_error(x)
        - stirling_error(y)
        - part(x, log_p)
        - part(y, log_q)
        - 0.5 * (x.ln() + (y / n).ln())
        - HALF_LOG_TAU
}

/// `log a - psi(a) > 0` for `a > 0`. This is `log E x - E log x` of a gamma variable, and about `1 / (2a)` for large
/// `a`.
pub fn log_minus_digamma(a: f64) -> f64 {
    if a < 12.0 {
        return if a < 1e-300 { 1.0 / a + a.ln() } else { a.ln() - digamma(a) };
    }
    let z = 1.0 / (a * a);
    0.5 / a
        + z * (1.0 / 12.0
            - z * (1.0 / 120.0
                - z * (1.0 / 252.0
                    - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32_760.0 - z / 12.0))))))
}

/// `a psi'(a) - 1 > 0`, the derivative of [`log_minus_digamma`] with respect to `-log a`.
pub(crate) fn one_minus_shape_trigamma(a: f64) -> f64 {
    if a < 12.0 {
        return a * trigamma(a) - 1.0;
    }
    let z = 1.0 / (a * a);
    0.5 / a
        + z * (1.0 / 6.0
            - z * (1.0 / 30.0
                - z * (1.0 / 42.0
                    - z * (1.0 / 30.0 - z * (5.0 / 66.0 - z * (691.0 / 2730.0 - z * 7.0 / 6.0))))))
}

/// Whether a step of `d >= 0` from `a > 0` is small enough for one panel of Gauss quadrature. For functions with their
/// singularity at 0, the error is then below 1e-15.
fn is_near(a: f64, d: f64) -> bool {
    d < 1.5 * a
}

/// `int_0^1 f(s, 1 - s) ds` along the segment from `a` to `to`, both positive, for functions of `a + s (to - a)` with
/// their singularity at 0. If the segment comes close to 0 relative to its length, the panels become shorter by factors
/// of 4 towards that end.
pub(crate) fn integrate_along(
    segments: impl IntoIterator<Item = (f64, f64)>,
    mut f: impl FnMut(f64, f64) -> f64,
) -> f64 {
    let (mut first, mut last) = (0.0, 0.0);
    for (a, to) in segments {
        first = f64::max(first, (to - a) / a);
        last = f64::max(last, (a - to) / to);
    }
    if first <= 1.5 && last <= 1.5 {
        return legendre(0.0, 1.0, |s| f(s, 1.0 - s));
    }
    // Ratios that overflow: beyond 1e300 the panels at the end hold less than rounding.
    let (first, last) = (first.min(1e300), last.min(1e300));
    let mut sum = 0.0;
    for (ratio, from_end) in [(first, false), (last, true)] {
        let (mut from, mut to) = (0.0, (1.0 / ratio).min(0.5));
        loop {
            sum += legendre(from, to, |s| if from_end { f(1.0 - s, s) } else { f(s, 1.0 - s) });
            if to >= 0.5 {
                break;
            }
            (from, to) = (to, (4.0 * to).min(0.5));
        }
    }
    sum
}

/// `a + s (to - a)` from the end that is nearer, with `t = 1 - s`.
pub(crate) fn between(a: f64, to: f64, d: f64, s: f64, t: f64) -> f64 {
    if s < 0.5 { a + s * d } else { to - t * d }
}

/// `psi(a) - psi(a + d)` for `d >= 0`, without the difference of two close numbers.
pub(crate) fn digamma_drop(a: f64, d: f64) -> f64 {
    if is_near(a, d) {
        -d * legendre(0.0, 1.0, |s| trigamma(a + s * d))
    } else {
        digamma(a) - digamma(a + d)
    }
}

/// `psi'(a) - psi'(a + d)` for `d >= 0`.
pub(crate) fn trigamma_drop(a: f64, d: f64) -> f64 {
    if is_near(a, d) {
        -d * legendre(0.0, 1.0, |s| tetragamma(a + s * d))
    } else {
        trigamma(a) - trigamma(a + d)
    }
}

/// `x log(x / m) - x + m >= 0`, the deviance of a count `x` of mean `m`, without cancellation. The logarithm of the mean
/// is an argument of its own, because the mean may underflow.
pub(crate) fn deviance(x: f64, m: f64, ln_m: f64) -> f64 {
    let u = (m - x) / x;
    if x == 0.0 {
        m
    } else if u.abs() < 0.5 {
        -x * log1pmx(u)
    } else {
        x * (x.ln() - ln_m) + (m - x)
    }
}

/// `log Gamma(a) - a ln_rate`, without the difference of two large terms where the shape is large.
pub(crate) fn ln_gamma_scaled(a: f64, ln_rate: f64) -> f64 {
    if a < 10.0 {
        return ln_gamma(a) - a * ln_rate;
    }
    a * (a.ln() - ln_rate - 1.0) + HALF_LOG_TAU - 0.5 * a.ln() + stirling_error(a)
}

/// The entropy of a gamma variable of rate 1. In `a + log Gamma(a) + (1 - a) psi(a)` the large terms are taken out by
/// Stirling's formula.
pub(crate) fn gamma_entropy(a: f64) -> f64 {
    if a < 10.0 {
        return a + ln_gamma(a) + (1.0 - a) * digamma(a);
    }
    0.5 * a.ln() + HALF_LOG_TAU + stirling_error(a) + (a - 1.0) * log_minus_digamma(a)
}

/// `log(2 pi) / 2`
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

/// Whether the divergence from `a` to `a + d` is one panel of Gauss quadrature.
fn is_short(a: f64, to: f64, d: f64) -> bool {
    d <= 1.5 * a && -d <= 1.5 * to
}

/// The divergence of `log Gamma`: `log Gamma(to) - log Gamma(a) - psi(a) d >= 0` with `d = to - a`. The caller passes
/// `d`, because it may know more digits of it.
pub(crate) fn ln_gamma_divergence(a: f64, to: f64, d: f64) -> f64 {
    if is_short(a, to, d) {
        return legendre(0.0, 1.0, |s| {
            let x = between(a, to, d, s, 1.0 - s);
            (1.0 - s) * (d / x) * d * (x * trigamma(x))
        });
    }
    shape_divergence(a, to, d) + deviance(to, a, a.ln())
}

/// The same less the divergence of `x log x`: the part of a gamma law's divergence that is its shape's.
///
/// With Stirling's formula it is `log(a / to) / 2 + error(to) - error(a) + (log a - psi(a)) d`. This cancels for short
/// steps only, where the curvature is integrated.
pub(crate) fn shape_divergence(a: f64, to: f64, d: f64) -> f64 {
    if is_short(a, to, d) {
        return legendre(0.0, 1.0, |s| {
            let x = between(a, to, d, s, 1.0 - s);
            (1.0 - s) * (d / x) * (d / x) * (x * one_minus_shape_trigamma(x))
        });
    }
    let linear = log_minus_digamma(a) * d;
    if a < 10.0 && to < 10.0 {
        // log Gamma(x) - x log x + x itself.
        let part = |x: f64| ln_gamma(x) - x * x.ln() + x;
        return part(to) - part(a) + linear;
    }
    0.5 * (a.ln() - to.ln()) + stirling_error(to) - stirling_error(a) + linear
}

/// The divergence of `x log x` from `a` to `to`, less that from `a + more` to `to + more`, `more >= 0`.
pub(crate) fn x_log_x_divergence_drop(a: f64, to: f64, d: f64, more: f64) -> f64 {
    if is_short(a, to, d) {
        return legendre(0.0, 1.0, |s| {
            let x = between(a, to, d, s, 1.0 - s);
            (1.0 - s) * (d / x) * d * (more / (x + more))
        });
    }
    to * ((more / a).ln_1p() - (more / to).ln_1p()) - more * ((to + more) / (a + more)).ln()
}

/// `log Gamma(1 + x)` for `|x| <= 1/4`, accurate relative to `x`:
/// `-log(1 + x) + (1 - gamma) x + sum_k (zeta(k) - 1) (-x)^k / k`.
pub(crate) fn ln_gamma_1p(x: f64) -> f64 {
    /// `zeta(k) - 1` from `k = 2` on.
    const ZETA: [f64; 22] = [
        0.644_934_066_848_226_4,
        0.202_056_903_159_594_3,
        0.082_323_233_711_138_19,
        0.036_927_755_143_369_93,
        0.017_343_061_984_449_14,
        0.008_349_277_381_922_827,
        0.004_077_356_197_944_339,
        0.002_008_392_826_082_214_3,
        0.000_994_575_127_818_085_3,
        0.000_494_188_604_119_464_5,
        0.000_246_086_553_308_048_3,
        0.000_122_713_347_578_489_15,
        6.124_813_505_870_483e-5,
        3.058_823_630_702_049e-5,
        1.528_225_940_865_187e-5,
        7.637_197_637_899_763e-6,
        3.817_293_264_999_84e-6,
        1.908_212_716_553_939e-6,
        9.539_620_338_727_962e-7,
        4.769_329_867_878_066e-7,
        2.384_505_027_277_33e-7,
        1.192_199_259_653_110_6e-7,
    ];
    let mut sum = 0.0;
    for (i, z) in ZETA.iter().enumerate().rev() {
        let k = (i + 2) as f64;
        sum = -x * (sum + z / k);
    }
    // sum = sum_k (zeta(k) - 1) / k (-x)^(k - 1).
    -x.ln_1p() + x * (0.422_784_335_098_467_13 - sum)
}

/// `sum_{i<d} f(above + i/2)`: a multivariate gamma function at `above + (d - 1) / 2`, without rounding near the border
/// of its domain.
fn from_above(d: usize, above: f64, f: impl Fn(f64) -> f64) -> f64 {
    (0..d).map(|i| f(above + 0.5 * i as f64)).sum()
}

/// The shape `a` with `log a - psi(a) = s`: the gamma family's maximum likelihood. NaN unless `s > 0`.
///
/// Newton's method in `log a`, from the start of T. Minka, "Estimating a gamma distribution" (2002). It takes four or
/// five steps.
pub fn gamma_shape(s: f64) -> f64 {
    if !(s > 0.0) {
        return f64::NAN;
    }
    if s < 1e-17 {
        return 0.5 / s;
    }
    // For large s the shape is near 1 / (s + log a); the rational start is poor beyond about 10.
    let mut a = if s < 10.0 {
        (3.0 - s + ((s - 3.0) * (s - 3.0) + 24.0 * s).sqrt()) / (12.0 * s)
    } else {
        1.0 / (s - s.ln())
    };
    for _ in 0..50 {
        let step = (log_minus_digamma(a) - s) / one_minus_shape_trigamma(a);
        a *= step.clamp(-2.0, 2.0).exp();
        if !(step.abs() > 1e-9) {
            // The convergence is quadratic: the next step would be below the last bit. One more costs little.
            let step = (log_minus_digamma(a) - s) / one_minus_shape_trigamma(a);
            return if step.is_finite() { a * (1.0 + step) } else { a };
        }
    }
    a
}

/// `log Gamma_d(x) = d (d - 1) / 4 log pi + sum_{i<d} log Gamma(x - i/2)`.
pub fn ln_gamma_multivariate(d: usize, x: f64) -> f64 {
    let pairs = (d * d.saturating_sub(1)) as f64;
    let above = x - 0.5 * (d as f64 - 1.0);
    0.25 * pairs * std::f64::consts::PI.ln() + from_above(d, above, ln_gamma)
}

/// `sum_{i<d} psi(x - i/2)`, the derivative of [`ln_gamma_multivariate`].
pub fn digamma_multivariate(d: usize, x: f64) -> f64 {
    digamma_multivariate_above(d, x - 0.5 * (d as f64 - 1.0))
}

/// [`digamma_multivariate`] at `above + (d - 1) / 2`.
pub(crate) fn digamma_multivariate_above(d: usize, above: f64) -> f64 {
    from_above(d, above, digamma)
}

/// `sum_{i<d} psi'(x - i/2)`.
pub fn trigamma_multivariate(d: usize, x: f64) -> f64 {
    trigamma_multivariate_above(d, x - 0.5 * (d as f64 - 1.0))
}

/// [`trigamma_multivariate`] at `above + (d - 1) / 2`.
pub(crate) fn trigamma_multivariate_above(d: usize, above: f64) -> f64 {
    from_above(d, above, trigamma)
}
