//! Probabilities below and above a point. Each is computed on its own: the smaller of the two is never obtained as 1
//! minus the other, so it keeps its digits.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use fenchel_linalg::quadrature::concave_tail;
use fenchel_linalg::special::{
    chi_squared_cdf, chi_squared_ln_cdf, chi_squared_ln_tail, chi_squared_tail, erfcx, log1mexp,
    log1pmx,
};

use super::{ln_beta, stirling_error};

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
    (chi_squared_cdf(2.0 * x, 2.0 * shape), chi_squared_tail(2.0 * x, 2.0 * shape))
}

/// The tails of a beta variable.
pub(crate) fn beta_tails(a: f64, b: f64, x: f64) -> Tails {
    let (below, above) = beta_ln_tails(a, b, x);
    (below.exp(), above.exp())
}

/// The logarithms of the tails of a beta variable, by the continued fraction of DLMF 8.17.22, from the side where it converges quickly.
/// Where both shapes are large, the density is integrated.
///
/// If one shape is far larger than everything else, the continued fraction loses digits. In this case `-log(1 - X)` is
/// a gamma variable, up to a relative error of the square of the ratio of the shapes (J. Wise, 1950).
pub(crate) fn beta_ln_tails(a: f64, b: f64, x: f64) -> Tails {
    if x <= 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    if x >= 1.0 {
        return (0.0, f64::NEG_INFINITY);
    }
    if a > 1e3 && b > 1e3 {
        if x <= 0.5 {
            return logit_tails(a, b, x);
        }
        let (above, below) = logit_tails(b, a, 1.0 - x);
        return (below, above);
    }
    let logs = (x.ln(), (-x).ln_1p());
    let gamma = |small: f64, large: f64, log: f64| {
        let rate = large + 0.5 * (small - 1.0);
        let point = -rate * log;
        // With two small shapes the rate is negative, and so is the point.
        (rate > 0.0 && small + 1.0 + point < 1e-8 * rate).then(|| gamma_ln_tails(small, point))
    };
    if let Some(tails) = gamma(a, b, logs.1) {
        return tails;
    }
    if let Some((above, below)) = gamma(b, a, logs.0) {
        return (below, above);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        with_rest(beta_fraction(b, a, 1.0 - x, (logs.1, logs.0)), false)
    } else {
        with_rest(beta_fraction(a, b, x, logs), true)
    }
}

/// The tails for large shapes and `x <= 1/2`, by the density of the logit, which is log-concave. No term is much larger than the
/// exponent of the result.
fn logit_tails(a: f64, b: f64, x: f64) -> Tails {
    let sum = a + b;
    // a (1 - x) - b x = sum (mean - x). Near the mean the differences are exact, and so are the products with their rounding.
    let (bx, ax) = (b * x, a * x);
    let rounding = libm::fma(b, x, -bx) + libm::fma(a, x, -ax);
    let slope = ((a - bx) - ax) - rounding;
    let (spread, delta) = (x * (1.0 - x), slope / sum);
    // From the mean to x, of the log density: a log(mean / x) + b log((1 - mean) / (1 - x)).
    let (u, v) = (delta / x, -delta / (1.0 - x));
    let drop = if u.abs() <= 0.5 {
        a * log1pmx(u) + b * log1pmx(v) + slope * delta / spread
    } else {
        let rest = if v < -0.5 { (b / sum / (1.0 - x)).ln() } else { v.ln_1p() };
        a * (a / sum / x).ln() + b * rest
    };
    let stirling = stirling_error(sum) - stirling_error(a) - stirling_error(b);
    let front = 0.5 * (a * (b / sum) / TAU).ln() + (stirling - drop);
    let sign = if slope > 0.0 { -1.0 } else { 1.0 };
    let unit = 1.0 / (slope.abs() + (sum * spread).sqrt());
    let area = concave_tail(unit, |t| {
        // e^t - 1 - t = v - log(1 + v).
        let v = (sign * t).exp_m1();
        slope * sign * t - sum * (log1pmx(x * v) - x * log1pmx(v))
    });
    with_rest(front + area.ln(), slope > 0.0)
}

/// `log P(X <= x)` given `log x` and `log(1 - x)`, by Lentz's method on `1 / (1 + d_1 / (1 + d_2 / (1 + ...)))`.
fn beta_fraction(a: f64, b: f64, x: f64, (log_x, log_rest): (f64, f64)) -> f64 {
    let front = a * log_x + b * log_rest - ln_beta(a, b);
    let (mut c, mut delta, mut value) = (1.0, 0.0, 1.0);
    for j in 1..10_000_u32 {
        let m = f64::from(j / 2);
        let d = if j % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        delta = 1.0 / (1.0 + d * delta);
        c = 1.0 + d / c;
        value *= c * delta;
        // Rounding can hold the factor one unit away from 1.
        if (c * delta - 1.0).abs() <= f64::EPSILON {
            return front - (a * value).ln();
        }
    }
    // The smaller shape is at most 1000, for which some hundred terms suffice.
    f64::NAN
}
