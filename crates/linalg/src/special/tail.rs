//! Tail probabilities of the chi-squared and normal distributions, with full relative accuracy
//! where the probability is tiny.

use super::{ln_gamma, log1pmx};
use crate::quadrature::concave_tail;

/// `P(X > x)` for a chi-squared variable with `degrees` degrees of freedom: the p-value of a
/// likelihood-ratio or independence statistic.
///
/// The result is the regularised upper incomplete gamma function `Q(degrees / 2, x / 2)`. The degrees need not be an integer.
/// It is 1 for `x <= 0`, and NaN unless `degrees > 0`. The relative error is below 1e-12 as long as the result is a normal number.
/// The cost is O(1) terms far from the mean, O(sqrt(degrees)) terms near it, and bounded for many degrees.
///
/// Below the mean the power series of the lower function is used, and above it the continued fraction of the upper function
/// (DLMF 8.7.1 and 8.9.2). Above 20,000 degrees the density is integrated.
pub fn chi_squared_tail(x: f64, degrees: f64) -> f64 {
    if !(degrees > 0.0) || x.is_nan() || degrees.is_infinite() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let (a, x) = (0.5 * degrees, 0.5 * x);
    if x >= a + 1.0 {
        upper(a, x)
    } else if a < 0.05 {
        upper_series(a, x)
    } else {
        1.0 - lower(a, x)
    }
}

/// `Q(a, x)` of a small shape, where nearly all of the probability is below:
/// `1 - x^a / Gamma(a + 1) - x^a / Gamma(a) sum_k (-x)^k / (k! (a + k))`.
fn upper_series(a: f64, x: f64) -> f64 {
    // log Gamma(1 + a) by zeta(k) / k.
    const ZETA: [f64; 12] = [
        0.822_467_033_424_113_2,
        0.400_685_634_386_531_43,
        0.270_580_808_427_784_55,
        0.207_385_551_028_673_99,
        0.169_557_176_997_408_2,
        0.144_049_896_768_846_1,
        0.125_509_669_524_743_04,
        0.111_334_265_869_564_7,
        0.100_099_457_512_781_8,
        0.090_954_017_145_829_04,
        0.083_353_840_546_109,
        0.076_932_516_411_352_2,
    ];
    let sum = ZETA.iter().rev().fold(0.0, |sum, z| z - a * sum);
    let log = a * x.ln() + a * (0.577_215_664_901_532_9 - a * sum);
    let (mut rest, mut term, mut k) = (0.0, 1.0, 0.0);
    while f64::abs(term) > 1e-18 {
        k += 1.0;
        term *= -x / k;
        rest += term / (a + k);
    }
    -log.exp_m1() - a * log.exp() * rest
}

/// `P(X <= x)` for a chi-squared variable with `degrees` degrees of freedom, with full relative accuracy where the probability
/// is tiny.
///
/// The result is the regularised lower incomplete gamma function `P(degrees / 2, x / 2)`. It is 0 for `x <= 0`, and NaN unless
/// `degrees > 0`. The cost is that of [`chi_squared_tail`].
pub fn chi_squared_cdf(x: f64, degrees: f64) -> f64 {
    // With x < a + 1 for half of both numbers the series is the smaller part.
    if x > 0.0 && degrees > 0.0 && degrees < f64::INFINITY && x < degrees + 2.0 {
        return lower(0.5 * degrees, 0.5 * x);
    }
    1.0 - chi_squared_tail(x, degrees)
}

/// The logarithm of [`chi_squared_cdf`], also where the probability is no number.
pub fn chi_squared_ln_cdf(x: f64, degrees: f64) -> f64 {
    let (below, above) = (chi_squared_cdf(x, degrees), chi_squared_tail(x, degrees));
    if below < TINY && x > 0.0 {
        let (a, x) = (0.5 * degrees, 0.5 * x);
        let factor = if a < LARGE { lower_series(a, x) } else { side(a, x, -1.0) };
        return ln_gamma_density(a, x) + factor.ln();
    }
    if below > 0.5 { (-above).ln_1p() } else { below.ln() }
}

/// The logarithm of [`chi_squared_tail`], also where the probability is no number.
pub fn chi_squared_ln_tail(x: f64, degrees: f64) -> f64 {
    let (below, above) = (chi_squared_cdf(x, degrees), chi_squared_tail(x, degrees));
    if above < TINY && x > degrees + 2.0 && x < f64::INFINITY {
        let (a, x) = (0.5 * degrees, 0.5 * x);
        let factor = if a < LARGE { upper_fraction(a, x) } else { side(a, x, 1.0) };
        return ln_gamma_density(a, x) + factor.ln();
    }
    if above > 0.5 { (-below).ln_1p() } else { above.ln() }
}

/// Below, logarithms are not taken from the probability.
const TINY: f64 = 1e-290;

/// `log(x^a e^-x / Gamma(a + 1))`
fn ln_gamma_density(a: f64, x: f64) -> f64 {
    if a < 10.0 {
        return a * x.ln() - x - ln_gamma(a + 1.0);
    }
    stirling_exponent(a, x) - 0.5 * (std::f64::consts::TAU * a).ln()
}

/// `x^a e^-x / Gamma(a + 1)`.
fn gamma_density(a: f64, x: f64) -> f64 {
    if a < 10.0 {
        return ln_gamma_density(a, x).exp();
    }
    stirling_exponent(a, x).exp() / (std::f64::consts::TAU * a).sqrt()
}

/// `log(x^a e^-x / Gamma(a + 1)) + log(2 pi a) / 2` for large `a`.
fn stirling_exponent(a: f64, x: f64) -> f64 {
    // For large a the three terms above are large and cancel. With x = a (1 + d), their sum is
    // a (log(1 + d) - d) less log sqrt(2 pi a) and Stirling's correction.
    let z = 1.0 / (a * a);
    let correction =
        (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0)))) / a;
    let d = (x - a) / a;
    // Far below a, 1 + d has fewer digits than the quotient itself.
    let log = if d < -0.5 { (x / a).ln() - d } else { log1pmx(d) };
    a * log - correction
}

/// Shapes from which the number of terms of series and fraction, about sqrt(a), is above that of the integral.
const LARGE: f64 = 1e4;

/// `P(a, x)` for `x < a + 1`.
fn lower(a: f64, x: f64) -> f64 {
    match a < LARGE {
        true => gamma_density(a, x) * lower_series(a, x),
        false if x <= a => gamma_density(a, x) * side(a, x, -1.0),
        false => 1.0 - gamma_density(a, x) * side(a, x, 1.0),
    }
}

/// `Q(a, x)` for `x >= a + 1`.
fn upper(a: f64, x: f64) -> f64 {
    gamma_density(a, x) * if a < LARGE { upper_fraction(a, x) } else { side(a, x, 1.0) }
}

/// The part of a gamma law on the side `sign` of `x`, away from its mean: the density of the logarithm is log-concave. It is
/// proportional to `e^((a - x) t - x (e^t - 1 - t))` at `x e^t`. In units of [`gamma_density`].
fn side(a: f64, x: f64, sign: f64) -> f64 {
    let slope = a - x;
    let unit = 1.0 / (slope.abs() + x.sqrt());
    // e^t - 1 - t = v - log(1 + v) with v = e^t - 1.
    let area = concave_tail(unit, |t| slope * sign * t + x * log1pmx((sign * t).exp_m1()));
    a * area
}

/// `P(a, x) / density = (1 + x / (a + 1) + x^2 / ((a + 1)(a + 2)) + ...)`.
fn lower_series(a: f64, x: f64) -> f64 {
    let (mut sum, mut term, mut k) = (1.0, 1.0, a);
    // x < a + 1, so that the ratios x / (a + k) fall below 1 and the loop ends.
    while term > 1e-17 * sum {
        k += 1.0;
        term *= x / k;
        sum += term;
    }
    sum
}

/// `Q(a, x)` in units of [`gamma_density`] by its continued fraction, with the forward evaluation of Lentz as modified by Thompson and Barnett.
fn upper_fraction(a: f64, x: f64) -> f64 {
    // No denominator vanishes for x >= a + 1: all the partial denominators are positive.
    let mut b = x + 1.0 - a;
    let mut d = 1.0 / b;
    let (mut value, mut c) = (d, f64::INFINITY);
    let mut k = 1.0;
    // The number of terms grows like sqrt(a) at x = a. Rounding can hold the factor one unit away from 1.
    loop {
        let numerator = k * (a - k);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        let factor = c * d;
        value *= factor;
        if !((factor - 1.0).abs() > f64::EPSILON) {
            break;
        }
        k += 1.0;
    }
    // density(a) is over Gamma(a + 1) = a Gamma(a).
    a * value
}

/// `e^(x^2) erfc(x)`, the scaled complementary error function.
///
/// It is proportional to the ratio of the normal tail probability to the normal density, and does not underflow. For large `x`
/// it behaves like `1 / (x sqrt(pi))`. It is `+inf` for `x` below about -26.6.
pub fn erfcx(x: f64) -> f64 {
    if x < 10.0 {
        // x^2 = square + rest exactly, so that the exponential loses nothing to the rounding of x^2.
        let square = x * x;
        if square.is_infinite() || square > 720.0 {
            // Only a negative x comes here.
            return f64::INFINITY;
        }
        let rest = libm::fma(x, x, -square);
        return square.exp() * (1.0 + rest) * libm::erfc(x);
    }
    // Asymptotic series in 1 / (2 x^2): at x = 10 the tenth term is 7e-15 of the ninth's scale
    // and the smallest terms are far below the last bit.
    let z = 0.5 / (x * x);
    let (mut sum, mut term, mut odd) = (1.0, 1.0_f64, 1.0);
    while term.abs() > 1e-17 && odd < 40.0 {
        term *= -odd * z;
        sum += term;
        odd += 2.0;
    }
    sum / (x * std::f64::consts::PI.sqrt())
}

#[cfg(test)]
// Reference values are quoted with more digits than a f64 holds.
#[allow(clippy::excessive_precision)]
mod tests {
    use super::super::assert_close;
    use super::*;

    // The constants of this file are from arbitrary-precision evaluation with 40 digits.

    #[test]
    fn chi_squared_tail_agrees_with_reference_values() {
        for (x, degrees, expected) in [
            (0.5, 1.0, 0.47950012218695346232),
            (3.841458820694124, 1.0, 0.050000000000000057435),
            (10.0, 1.0, 0.0015654022580025496775),
            (100.0, 1.0, 1.5239706048321052132e-23),
            (1.0, 2.0, 0.6065306597126334236),
            (700.0, 2.0, 9.9295903962649792963e-153),
            (5.0, 5.0, 0.41588018699550792028),
            (18.307, 10.0, 0.050000589091398120291),
            (0.001, 10.0, 1.0),
            (100.0, 100.0, 0.48119168452795671811),
            (150.0, 100.0, 0.00090393204235400908576),
            (10000.0, 10000.0, 0.49811936596618264465),
            (10300.0, 10000.0, 0.017638117447345399638),
            (1000.0, 3.0, 1.7994208765314476631e-216),
        ] {
            assert_close(chi_squared_tail(x, degrees), expected, 1e-12, (x, degrees));
        }
    }

    /// `P(degrees / 2, x / 2)` by mpmath with 40 digits.
    #[test]
    fn chi_squared_cdf_keeps_small_probabilities() {
        for (x, degrees, expected) in [
            (6e-10, 4.0, 4.499_999_999_100_000_33e-20),
            (0.2, 40.0, 3.736_960_368_008_905_1e-39),
            (2e-10, 40.0, 4.110_317_622_920_709_03e-219),
            (3000.0, 4000.0, 6.601_488_115_620_482_37e-35),
            (700.0, 2.0, 1.0),
            (0.0, 3.0, 0.0),
        ] {
            assert_close(chi_squared_cdf(x, degrees), expected, 1e-12, (x, degrees));
        }
        for (x, degrees) in [(1.0, 0.0), (1.0, -2.0), (f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(chi_squared_cdf(x, degrees).is_nan());
        }
        // With two degrees it is 1 - e^(-x/2).
        for x in [1e-9, 0.1, 3.0, 5.0] {
            assert_close(chi_squared_cdf(x, 2.0), -(-0.5 * x).exp_m1(), 1e-14, x);
        }
    }

    /// By mpmath with 50 digits.
    #[test]
    fn logarithms_of_tails_go_on_where_tails_underflow() {
        for (a, x, below, above) in [
            (3.0, 2000.0, 0.0, -1985.4903422616423),
            (50.0, 1e-09, -1184.641058800074, 0.0),
            (0.2, 900.0, 0.0, -906.9668671434298),
            (200.0, 2.5, -682.46132579469573, -4.0814275810638043e-297),
            (20000.0, 3000.0, -20948.107875644011, 0.0),
            (20000.0, 100000.0, 0.0, -47818.498747779837),
            (3.0, 2.0, -1.1291016497509286, -0.39056208756589963),
        ] {
            assert_close(chi_squared_ln_cdf(2.0 * x, 2.0 * a), below, 1e-13, (a, x));
            assert_close(chi_squared_ln_tail(2.0 * x, 2.0 * a), above, 1e-13, (a, x));
        }
        assert_eq!(chi_squared_ln_cdf(0.0, 3.0), f64::NEG_INFINITY);
        assert_eq!(chi_squared_ln_tail(f64::INFINITY, 3.0), f64::NEG_INFINITY);
        assert!(chi_squared_ln_tail(1.0, -3.0).is_nan() && chi_squared_ln_cdf(1.0, 0.0).is_nan());
    }

    /// By mpmath with 50 digits.
    #[test]
    fn upper_tails_of_tiny_shapes_keep_their_digits() {
        for (a, x, above) in [
            (1e-10, 0.01, 4.0379295758041231e-10),
            (1e-10, 0.9, 2.6018393935058367e-11),
            (0.001, 1e-05, 0.010876955304217331),
            (1e-300, 0.3, 9.0567665167584676e-301),
            (0.04, 1e-30, 0.93551382766018009),
            (0.0499, 1.04, 0.010773767736825879),
            (1e-10, 1e-200, 4.5993979235675891e-8),
        ] {
            assert_close(chi_squared_tail(2.0 * x, 2.0 * a), above, 1e-13, (a, x));
        }
    }

    /// `P` and `Q` of shape and point by mpmath with 50 digits.
    #[test]
    fn chi_squared_tails_of_many_degrees_are_right() {
        for (a, x, below, above) in [
            (2e4, 2e4, 0.500940316233749323, 0.499059683766250677),
            (2e4, 1.9e4, 3.23687464361859018e-13, 0.999999999999676313),
            (2e4, 2.1e4, 0.999999999998285133, 1.7148666085753985e-12),
            (1e8, 1e8, 0.50001329807601412, 0.49998670192398588),
            (1e8, 1.0003e8, 0.998648919898398042, 0.00135108010160195762),
            (1e12, 1e12 - 3e6, 0.00134988621339203788, 0.998650113786607962),
            (1e16, 1e16, 0.500000001329807601, 0.499999998670192399),
            (1e16, 1e16 + 2e8, 0.97724986751191113, 0.0227501324880888696),
            (1e16, 1e16 - 2e8, 0.0227501314082695394, 0.977249868591730461),
        ] {
            assert_close(chi_squared_cdf(2.0 * x, 2.0 * a), below, 1e-12, (a, x));
            assert_close(chi_squared_tail(2.0 * x, 2.0 * a), above, 1e-12, (a, x));
        }
        assert_close(chi_squared_tail(1e300, 1e300), 0.5, 1e-12, 1e300);
    }

    #[test]
    fn chi_squared_tail_with_two_degrees_is_exponential() {
        for x in [1e-3, 0.3, 1.999, 2.0, 4.0, 4.1, 60.0] {
            assert_close(chi_squared_tail(x, 2.0), (-0.5 * x).exp(), 1e-14, x);
        }
    }

    #[test]
    fn chi_squared_tail_at_the_edges() {
        assert_eq!(chi_squared_tail(0.0, 3.0), 1.0);
        assert_eq!(chi_squared_tail(-1.0, 3.0), 1.0);
        assert_eq!(chi_squared_tail(f64::INFINITY, 3.0), 0.0);
        assert_eq!(chi_squared_tail(1e300, 3.0), 0.0);
        for (x, degrees) in [(1.0, 0.0), (1.0, -2.0), (f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(chi_squared_tail(x, degrees).is_nan());
        }
    }

    #[test]
    fn erfcx_agrees_with_reference_values() {
        for (x, expected) in [
            (-5.0, 144009798674.66104041),
            (-0.3, 1.4537492328427655512),
            (0.0, 1.0),
            (0.5, 0.61569034419292587487),
            (1.0, 0.42758357615580700441),
            (3.0, 0.17900115118138995042),
            (5.0, 0.11070463773306862637),
            (9.9, 0.056702456938832268241),
            (10.0, 0.056140992743822585858),
            (20.0, 0.028174348741051319319),
            (25.0, 0.022549572432641358944),
            (100.0, 0.0056416137829894329036),
            (1e8, 5.6418958354775625874e-9),
            (-1e3, f64::INFINITY),
        ] {
            assert_close(erfcx(x), expected, 2e-15, x);
        }
        assert!(erfcx(f64::NAN).is_nan());
    }
}
