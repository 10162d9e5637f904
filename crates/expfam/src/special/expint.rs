//! The generalised exponential integral.

/// `e^x E_p(x) = int_0^inf e^(-x t) (1 + t)^(-p) dt` for `x > 0` and real `p > 0`; NaN elsewhere.
///
/// The method is the continued fraction `1 / (x + p - p / (x + p + 2 - 2 (p + 1) / (x + p + 4 - ...)))`, evaluated from
/// the front (modified Lentz) in six to a few dozen terms. For small `x` the fraction converges slowly, and the
/// integral is used. The relative error is below 1e-13.
pub fn scaled_exponential_integral(p: f64, x: f64) -> f64 {
    if !(x > 0.0 && p > 0.0) {
        return f64::NAN;
    }
    if x.is_infinite() || p.is_infinite() {
        return 0.0;
    }
    if x < 0.5 && p < SHORT {
        return by_quadrature(p, x);
    }
    1.0 / (x + p - p * behind(p, x))
}

/// `(p + more) e^x E_p(x) - 1`, without the difference of two numbers near 1 where `p` is large.
pub(crate) fn exponential_integral_excess(p: f64, x: f64, more: f64) -> f64 {
    if p < SHORT {
        return (p + more) * scaled_exponential_integral(p, x) - 1.0;
    }
    let part = p * behind(p, x);
    (more - x + part) / (x + p - part)
}

/// From this `p` on, the fraction is short for every `x`.
const SHORT: f64 = 100.0;

/// `1 / (x + p + 2 - 2 (p + 1) / (x + p + 4 - ...))`, the fraction behind its first step.
fn behind(p: f64, x: f64) -> f64 {
    let mut b = x + p + 2.0;
    let mut d = 1.0 / b;
    let (mut value, mut c) = (d, f64::INFINITY);
    for i in 2..10_000 {
        let k = f64::from(i);
        let a = -k * (p + k - 1.0);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        let factor = c * d;
        value *= factor;
        // Rounding can hold the factor one unit away from 1.
        if (factor - 1.0).abs() <= f64::EPSILON {
            return value;
        }
    }
    // At `x >= 1/2` some 200 terms suffice.
    f64::NAN
}

/// With `u = log(1 + t)` the integrand is `exp(-x (e^u - 1) - (p - 1) u)`. It becomes negligible at `u` about
/// `log(700 / x)`, or earlier through its factor `exp(-(p - 1) u)`.
fn by_quadrature(p: f64, x: f64) -> f64 {
    let end = (750.0 / x).ln_1p().min(45.0 / (p - 1.0).max(1e-300));
    let mut f = |u: f64| (-x * u.exp_m1() - (p - 1.0) * u).exp();
    let panels = 24;
    (0..panels)
        .map(|i| {
            let ends = (
                f64::from(i) / f64::from(panels) * end,
                f64::from(i + 1) / f64::from(panels) * end,
            );
            super::panel::legendre(ends.0, ends.1, &mut f)
        })
        .sum()
}
