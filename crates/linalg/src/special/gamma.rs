//! The logarithm of the gamma function on the positive axis, its first three derivatives, and the inverse of the first
//! derivative. They give log-partition function, mean and variance of gamma, beta and Dirichlet families.
//!
//! For `x` above [`FAR`] each derivative is computed by its asymptotic expansion in `1 / x^2`. A smaller `x` is first raised
//! above `FAR` by the recurrence of the function (Abramowitz and Stegun 6.3.5, 6.3.18, 6.4.6, 6.4.11).

/// `log Gamma(x)` for `x > 0`.
///
/// The result is `+inf` at 0 and NaN below. Its relative error is a few units in the last place, also near the zeros 1 and 2.
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    // Below 0 libm would return log |Gamma|.
    if x >= 0.0 { libm::lgamma(x) } else { f64::NAN }
}

/// For `x` from here on, the truncated expansions below have a relative error of less than 1e-16. The first omitted term is
/// largest in `psi''`, where it is `19 B_18 / x^18 = 4e-17`.
const FAR: f64 = 12.0;

/// Bernoulli numbers `B_2, B_4, ..., B_16`.
const BERNOULLI: [f64; 8] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
];

/// `sum_k B_2k factor(2k) z^(k-1)`, by Horner's rule.
fn bernoulli_series(z: f64, factor: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (k, b) in BERNOULLI.iter().enumerate().rev() {
        sum = sum * z + b * factor(2.0 * (k as f64 + 1.0));
    }
    sum
}

/// `psi(x)`, the derivative of `log Gamma`, for `x > 0`.
///
/// The result is `-inf` at 0 and NaN below. For `x >= 0.1`, an interval that contains the zero 1.4616..., the absolute error is
/// below 1e-14. Elsewhere the relative error is below 1e-14.
pub fn digamma(x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let (mut far, mut below) = (x, 0.0);
    while far < FAR {
        below += 1.0 / far;
        far += 1.0;
    }
    let z = 1.0 / (far * far);
    far.ln() - 0.5 / far - z * bernoulli_series(z, |k| 1.0 / k) - below
}

/// `psi'(x)`, the second derivative of `log Gamma`, for `x > 0`. `+inf` at 0; NaN below.
///
/// Relative error below 1e-14.
pub fn trigamma(x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    let (mut far, mut below) = (x, 0.0);
    while far < FAR {
        below += 1.0 / (far * far);
        far += 1.0;
    }
    let inverse = 1.0 / far;
    let z = inverse * inverse;
    below + inverse * (1.0 + 0.5 * inverse + z * bernoulli_series(z, |_| 1.0))
}

/// `psi''(x)`, the third derivative of `log Gamma`, for `x > 0`. Negative; `-inf` at 0; NaN below.
///
/// Relative error below 1e-14.
pub fn tetragamma(x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let (mut far, mut below) = (x, 0.0);
    while far < FAR {
        below += 2.0 / (far * far * far);
        far += 1.0;
    }
    let inverse = 1.0 / far;
    let z = inverse * inverse;
    -below - z * (1.0 + inverse + z * bernoulli_series(z, |k| k + 1.0))
}

/// The `x > 0` with `psi(x) = y`: the shape of a gamma variable of given mean logarithm.
///
/// Newton's method starts from the two-piece approximation of T. Minka, *Estimating a Dirichlet distribution* (2000, appendix
/// C), whose error is a few per cent, and takes about five steps. Since `psi` is concave and increasing, the iterates rise to
/// the root after the first step.
pub fn inverse_digamma(y: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    if y == f64::NEG_INFINITY {
        return 0.0;
    }
    // psi(x) is log x to the last digit there, up to 1 / (2x).
    if y > 40.0 {
        return y.exp();
    }
    let mut x = if y >= -2.22 { y.exp() + 0.5 } else { -1.0 / (y + EULER) };
    for _ in 0..20 {
        let step = (y - digamma(x)) / trigamma(x);
        x += step;
        // Quadratic convergence: the next step would be below the last bit.
        if !(step.abs() > 1e-9 * x) {
            break;
        }
    }
    x
}

#[cfg(test)]
// Reference values are quoted with more digits than a f64 holds.
#[allow(clippy::excessive_precision)]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// `x, log Gamma, psi, psi', psi''` from arbitrary-precision evaluation with 40 digits.
    const REFERENCE: [[f64; 5]; 10] = [
        [
            1e-8,
            18.420680738180208884,
            -100000000.57721564636,
            10000000000000001.226,
            -1.9999999999999998745e24,
        ],
        [
            0.1,
            2.252712651734205902,
            -10.423754940411076232,
            101.4332991507927477,
            -2001.8614573783436732,
        ],
        [
            0.5,
            0.57236494292470008707,
            -1.9635100260214234794,
            4.9348022005446793094,
            -16.828796644234319996,
        ],
        [1.0, 0.0, -0.57721566490153286061, 1.6449340668482264365, -2.4041138063191885708],
        [
            1.4616321449683623,
            -0.1214862905358496081,
            -9.2412655217294275168e-17,
            0.967672245447621255,
            -0.88552633796718436031,
        ],
        [2.0, 0.0, 0.42278433509846713939, 0.64493406684822643647, -0.4041138063191885708],
        [
            3.7,
            1.4280723266653881292,
            1.1671535393615114409,
            0.31003785767003830216,
            -0.095395308728554033483,
        ],
        [
            10.0,
            12.801827480081469611,
            2.2517525890667211076,
            0.10516633568168574612,
            -0.011049834970802067462,
        ],
        [
            123.456,
            469.6055471299294835,
            4.8118293238289854123,
            0.0081329458342781978071,
            -0.000066144443363940406274,
        ],
        [
            1e6,
            12815504.56914761166,
            13.815510057964190771,
            1.0000005000001666667e-6,
            -1.0000010000005e-12,
        ],
    ];

    #[test]
    fn gamma_functions_agree_with_reference_values() {
        for [x, log, first, second, third] in REFERENCE {
            assert_close(ln_gamma(x), log, 1e-14, x);
            let slack: f64 = if x >= 0.1 { 1e-14 } else { 0.0 };
            assert!((digamma(x) - first).abs() <= slack.max(1e-14 * first.abs()), "psi({x})");
            assert_close(trigamma(x), second, 1e-14, x);
            assert_close(tetragamma(x), third, 1e-14, x);
        }
    }

    #[test]
    fn recurrence_joins_the_expansion() {
        // psi(x + 1) - psi(x) = 1 / x across FAR, where one side is expansion only.
        for x in [11.0, 11.5, 11.999] {
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() <= 2e-15, "{x}");
        }
    }

    #[test]
    fn the_edge_of_the_domain() {
        assert_eq!(ln_gamma(0.0), f64::INFINITY);
        assert_eq!(digamma(0.0), f64::NEG_INFINITY);
        assert_eq!(trigamma(0.0), f64::INFINITY);
        assert_eq!(tetragamma(0.0), f64::NEG_INFINITY);
        for f in [ln_gamma, digamma, trigamma, tetragamma] {
            assert!(f(-0.5).is_nan() && f(f64::NAN).is_nan());
        }
    }

    #[test]
    fn inverse_digamma_agrees_with_reference_values() {
        for (y, x) in [
            (-100.0, 0.010056395666750782055),
            (-2.22, 0.45229849651070547366),
            (-0.5772156649015329, 1.0),
            (0.0, 1.4616321449683623413),
            (1.0, 3.2031714683769310693),
            (5.0, 148.91287835621885551),
        ] {
            // An error e of psi moves the root by e / psi'(x): at y = 5 a factor 148 / 5.
            assert_close(inverse_digamma(y), x, 1e-13, y);
        }
        // Far out psi(x) = log x.
        assert_close(inverse_digamma(39.0), 39f64.exp(), 1e-13, 39);
        assert_close(inverse_digamma(41.0), 41f64.exp(), 1e-15, 41);
        assert_eq!(inverse_digamma(f64::NEG_INFINITY), 0.0);
        assert!(inverse_digamma(f64::NAN).is_nan());
    }
}
