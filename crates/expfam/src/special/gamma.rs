//! Combinations of gamma functions that would cancel if they were written out.

use fenchel_linalg::special::{digamma, ln_gamma, tetragamma, trigamma};

use crate::quadrature::legendre;

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
/// Where one argument is large, the large parts are cancelled on paper.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0) {
        return f64::NAN;
    }
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < 10.0 {
        return ln_gamma(small) + ln_gamma(large) - ln_gamma(small + large);
    }
    let sum = small + large;
    // log Gamma(large) - log Gamma(sum), by Stirling's formula.
    let shift =
        -(large - 0.5) * (small / large).ln_1p() - small * sum.ln() + small + stirling_error(large)
            - stirling_error(sum);
    ln_gamma(small) + shift
}

/// `log (n over x)`, for whole numbers and between.
pub(crate) fn ln_choose(n: f64, x: f64) -> f64 {
    -(n + 1.0).ln() - ln_beta(x + 1.0, n - x + 1.0)
}

/// `log a - psi(a) > 0` for `a > 0`: `log E x - E log x` of a gamma variable. About `1 / (2a)` for large `a`.
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

/// Whether a step of `d` from `a > 0` is small enough for Gauss' rule on functions with their singularity at 0: its error is then
/// below 1e-15.
pub(crate) fn is_near(a: f64, d: f64) -> bool {
    d > -0.75 * a && d < 3.0 * a
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

/// `log Gamma(a + d) - log Gamma(a) - psi(a) d >= 0`, the divergence of `log Gamma`.
pub(crate) fn ln_gamma_divergence(a: f64, d: f64) -> f64 {
    if is_near(a, d) {
        return d * d * legendre(0.0, 1.0, |s| (1.0 - s) * trigamma(a + s * d));
    }
    ln_gamma(a + d) - ln_gamma(a) - digamma(a) * d
}

/// The same less the divergence of `x log x`: the part of a gamma law's divergence that is its shape's.
pub(crate) fn shape_divergence(a: f64, d: f64) -> f64 {
    if is_near(a, d) {
        let curvature = |x: f64| one_minus_shape_trigamma(x) / x;
        return d * d * legendre(0.0, 1.0, |s| (1.0 - s) * curvature(a + s * d));
    }
    let to = a + d;
    ln_gamma(to) - ln_gamma(a) - digamma(a) * d - (to * (to.ln() - a.ln()) - d)
}

/// The shape `a` with `log a - psi(a) = s`: the gamma family's maximum likelihood. NaN unless `s > 0`.
///
/// Newton's method in `log a` from the start of T. Minka, "Estimating a gamma distribution" (2002); four or five steps.
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
    0.25 * pairs * std::f64::consts::PI.ln()
        + (0..d).map(|i| ln_gamma(x - 0.5 * i as f64)).sum::<f64>()
}

/// `sum_{i<d} psi(x - i/2)`, the derivative of [`ln_gamma_multivariate`].
pub fn digamma_multivariate(d: usize, x: f64) -> f64 {
    (0..d).map(|i| digamma(x - 0.5 * i as f64)).sum()
}

/// `sum_{i<d} psi'(x - i/2)`.
pub fn trigamma_multivariate(d: usize, x: f64) -> f64 {
    (0..d).map(|i| trigamma(x - 0.5 * i as f64)).sum()
}
