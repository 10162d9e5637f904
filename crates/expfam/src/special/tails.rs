//! Probabilities below and above a point. Each is computed on its own: the smaller of the two is never obtained as 1
//! minus the other, so it keeps its digits.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use fenchel_linalg::quadrature::concave_tail;
use fenchel_linalg::special::{
    chi_squared_cdf, chi_squared_ln_cdf, chi_squared_ln_tail, chi_squared_tail, erfcx, log1mexp,
    log1pmx,
};

use super::panel::legendre;
use super::{digamma, ln_gamma_1p, stirling_error};

/// `P(X <= x)` and `P(X > x)`.
pub(crate) type Tails = (f64, f64);

/// The tails of a standard normal variable.
pub(crate) fn normal_tails(z: f64) -> Tails {
    let tail = 0.5 * erfcx(z.abs() * FRAC_1_SQRT_2) * (-0.5 * z * z).exp();
    if z < 0.0 { (tail, 1.0 - tail) } else { (1.0 - tail, tail) }
}

/// Their logarithms, also where a tail is no number.
pub(crate) fn normal_ln_tails(z: f64) -> Tails {
    let tail = (0.5 * erfcx(z.abs() * FRAC_1_SQRT_2)).ln() - 0.5 * z * z;
    with_rest(tail, z < 0.0)
}

/// Both logarithms from that of one side.
fn with_rest(tail: f64, is_below: bool) -> Tails {
    let rest = log1mexp(-tail);
    if is_below { (tail, rest) } else { (rest, tail) }
}

/// The logarithms of the tails of a gamma variable of rate 1.
pub(crate) fn gamma_ln_tails(shape: f64, x: f64) -> Tails {
    (chi_squared_ln_cdf(2.0 * x, 2.0 * shape), chi_squared_ln_tail(2.0 * x, 2.0 * shape))
}

/// The tails of a gamma variable of rate 1.
pub(crate) fn gamma_tails(shape: f64, x: f64) -> Tails {
    (gamma_below(shape, x), gamma_above(shape, x))
}

/// The probability below a point of a gamma variable of rate 1.
pub(crate) fn gamma_below(shape: f64, x: f64) -> f64 {
    chi_squared_cdf(2.0 * x, 2.0 * shape)
}

/// The probability above it.
pub(crate) fn gamma_above(shape: f64, x: f64) -> f64 {
    chi_squared_tail(2.0 * x, 2.0 * shape)
}

/// The tails of a beta variable.
pub(crate) fn beta_tails(a: f64, b: f64, x: f64) -> Tails {
    let (below, above) = beta_ln_tails(a, b, x);
    (below.exp(), above.exp())
}

/// The logarithms of the tails of a beta variable.
pub(crate) fn beta_ln_tails(a: f64, b: f64, x: f64) -> Tails {
    if x <= 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    if x >= 1.0 {
        return (0.0, f64::NEG_INFINITY);
    }
    if x <= 0.5 {
        return beta_ln_tails_near_0(a, b, x);
    }
    // Here 1 - x is exact.
    let (above, below) = beta_ln_tails_near_0(b, a, 1.0 - x);
    (below, above)
}

/// The same for `x <= 1/2`: the density times a continued fraction, from the side where it converges quickly. Where both shapes
/// are large, the density is integrated. What is missing from a probability near 1 is a series.
fn beta_ln_tails_near_0(a: f64, b: f64, x: f64) -> Tails {
    let (front, slope) = beta_front(a, b, x);
    if a > 1e3 && b > 1e3 {
        return with_rest(front + logit_area(a + b, x, slope).ln(), slope > 0.0);
    }
    let is_below = x <= (a + 1.0) / (a + b + 2.0);
    let (a, b, x, rest, slope) =
        if is_below { (a, b, x, 1.0 - x, slope) } else { (b, a, 1.0 - x, x, -slope) };
    let tail = front - beta_fraction((a, b), (x, rest), slope).ln();
    if tail > -0.02 {
        return with_rest(beta_series(a, b, x).ln(), !is_below);
    }
    with_rest(tail, is_below)
}

/// `log(x^a (1 - x)^b / B(a, b))` for `x <= 1/2`, and `a - (a + b) x`. No term is much larger than the exponent of the result.
fn beta_front(a: f64, b: f64, x: f64) -> (f64, f64) {
    let sum = a + b;
    // a (1 - x) - b x = sum (mean - x). Near the mean the differences are exact, and so are the products with their rounding.
    let (bx, ax) = (b * x, a * x);
    let rounding = libm::fma(b, x, -bx) + libm::fma(a, x, -ax);
    let slope = ((a - bx) - ax) - rounding;
    let delta = slope / sum;
    // From the mean to x, of the log density: a log(mean / x) + b log((1 - mean) / (1 - x)).
    let (u, v) = (delta / x, -delta / (1.0 - x));
    let drop = if u.abs() <= 0.5 {
        a * log1pmx(u) + b * log1pmx(v) + slope * delta / (x * (1.0 - x))
    } else {
        let ratio = a / sum / x;
        let log = if ratio < f64::MAX { ratio.ln() } else { (a / sum).ln() - x.ln() };
        a * log + b * if v < -0.5 { (b / sum / (1.0 - x)).ln() } else { v.ln_1p() }
    };
    let stirling = stirling_error(sum) - stirling_error(a) - stirling_error(b);
    (0.5 * (a * (b / sum) / TAU).ln() + (stirling - drop), slope)
}

/// The part of a beta law on the side of `x` away from its mean, in units of `e^beta_front`: the density of the logit is log-concave.
fn logit_area(sum: f64, x: f64, slope: f64) -> f64 {
    let sign = if slope > 0.0 { -1.0 } else { 1.0 };
    let unit = 1.0 / (slope.abs() + (sum * (x * (1.0 - x))).sqrt());
    concave_tail(unit, |t| {
        // e^t - 1 - t = v - log(1 + v).
        let v = (sign * t).exp_m1();
        slope * sign * t - sum * (log1pmx(x * v) - x * log1pmx(v))
    })
}

/// `e^beta_front / P(X <= x)` by Lentz's method: the even part of the continued fraction of DLMF 8.17.22 (A. R. Didonato and
/// A. H. Morris, 1992). It has `rest = 1 - x` and `slope = a - (a + b) x` as arguments, since `x` itself may round to 1.
fn beta_fraction((a, b): (f64, f64), (x, rest): (f64, f64), slope: f64) -> f64 {
    let mut value = a * (slope + 1.0) / (a + 1.0);
    let (mut c, mut delta) = (value, 0.0);
    for m in (1..10_000_u32).map(f64::from) {
        let end = a + 2.0 * m - 1.0;
        let up = ((a + m - 1.0) / end * m) * ((a + b + m - 1.0) / end * x) * ((b - m) * x);
        let next =
            m + m * (b - m) / end * x + (a + m) / (end + 2.0) * (slope + 1.0 + m * (1.0 + rest));
        delta = 1.0 / (next + up * delta);
        c = next + up / c;
        value *= c * delta;
        // Rounding can hold the factor one unit away from 1.
        if (c * delta - 1.0).abs() <= f64::EPSILON {
            return value;
        }
    }
    // The smaller shape is at most 1000, for which some hundred terms suffice.
    f64::NAN
}

/// `P(X > x)` of a small first shape, by the power series of `P(X <= x)` (DLMF 8.17.7):
/// `x^a / (a B(a, b)) (1 + a sum_n (1 - b)_n x^n / (n! (a + n)))`.
fn beta_series(a: f64, b: f64, x: f64) -> f64 {
    // log Gamma(a + b) - log Gamma(b), where b > a: else most of the law is above.
    let rise = a * legendre(0.0, 1.0, |s| digamma(b + s * a));
    let log = a * x.ln() + rise - ln_gamma_1p(a);
    let (mut sum, mut term, mut n) = (0.0, 1.0, 0.0);
    while f64::abs(term) > 1e-18 {
        n += 1.0;
        term *= (n - b) * x / n;
        sum += term / (a + n);
    }
    -log.exp_m1() - a * log.exp() * sum
}
