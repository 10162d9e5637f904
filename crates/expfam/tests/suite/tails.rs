//! Survival functions, logarithms of probabilities and quantiles. The values are from 60-digit arithmetic.

#![allow(clippy::excessive_precision, reason = "references are quoted as they were computed")]

use fenchel_expfam::families::*;

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs(),
        "{found:e}, expected {expected:e}"
    );
}

#[test]
fn logarithms_go_on_where_probabilities_underflow() {
    let p = Normal.with_mean_variance(1.0, 4.0).unwrap();
    close(p.log_cdf(-119.0), -1805.0135606805671, 1e-14);
    close(p.log_survival(121.0), -1805.0135606805671, 1e-14);
    close(p.log_cdf(7.0), -0.0013508099647481938, 1e-13);
    assert_eq!((p.cdf(-119.0), p.log_survival(-119.0)), (0.0, 0.0));
    let p = LogNormal.with_mean_variance_of_log(0.0, 1.0).unwrap();
    close(p.log_survival(60f64.exp()), -1805.0135606805671, 1e-14);
    assert_eq!((p.log_cdf(-1.0), p.log_survival(-1.0)), (f64::NEG_INFINITY, 0.0));
    for (a, b, x, below) in [
        (50.0, 3.0, 1e-9, -1028.9733696785355),
        (2.0, 3.0, 0.5, -0.37469344944141069),
        (2000.0, 3000.0, 0.01, -5880.3825950458462),
    ] {
        close(Beta.with_shapes(a, b).unwrap().log_cdf(x), below, 1e-12);
    }
    close(Beta.with_shapes(3.0, 80.0).unwrap().log_survival(0.99995), -784.17108174939277, 1e-12);
    // Those of rate 1 at 2000 and shape 3; the inverse has them on the other side.
    let p = Gamma.with_shape_rate(3.0, 2.0).unwrap();
    close(p.log_survival(1000.0), -1985.4903422616423, 1e-14);
    close(p.survival(1.0), (-0.39056208756589963_f64).exp(), 1e-13);
    let p = InverseGamma.with_shape_scale(3.0, 2.0).unwrap();
    close(p.log_cdf(0.001), -1985.4903422616423, 1e-14);
}

#[test]
fn quantiles_are_right_in_both_tails() {
    for (shape, p, expected) in [
        (2.5, 0.3, 1.4999540663799531),
        (2.5, 1e-12, 2.5623217484152679e-5),
        (40.0, 0.999, 62.419612007882395),
        (1e-3, 0.99, 2.4259428385578437e-5),
    ] {
        let law = Gamma.with_shape_rate(shape, 4.0).unwrap();
        close(law.quantile(p).unwrap(), 0.25 * expected, 1e-12);
        let law = InverseGamma.with_shape_scale(shape, 4.0).unwrap();
        // The parameter -1.001 has three digits of the shape 1e-3 fewer.
        close(law.upper_quantile(p).unwrap(), 4.0 / expected, 1e-11);
    }
    let law = Gamma.with_shape_rate(2.5, 1.0).unwrap();
    close(law.upper_quantile(1e-30).unwrap(), 75.29484206783833, 1e-13);
    for (a, b, p, expected) in [
        (2.0, 3.0, 0.1, 0.14255931671003072),
        (0.5, 0.5, 0.25, 0.14644660940672624),
        (30.0, 2.0, 1e-10, 0.42124572379700426),
    ] {
        close(Beta.with_shapes(a, b).unwrap().quantile(p).unwrap(), expected, 1e-12);
    }
    let law = Normal.with_mean_variance(1.0, 4.0).unwrap();
    close(law.upper_quantile(1e-20).unwrap(), 1.0 + 2.0 * 9.2623400897984076, 1e-13);
    assert_eq!(law.quantile(0.5).unwrap(), 1.0);
    // A law so near to 0 that half of it lies below the smallest number.
    assert_eq!(Gamma.with_shape_rate(1e-6, 1.0).unwrap().quantile(0.5).unwrap(), 0.0);
    assert!(law.quantile(1.0).is_err() && law.upper_quantile(f64::NAN).is_err());
}

/// By bisection with 60 digits: the first three points are 1 - 2.4e-50, 1 - 3.2e-545 and 1 - 7.3e-33.
#[test]
fn quantiles_of_a_beta_law_near_1_are_the_nearest_numbers() {
    for (a, b, above, expected) in [
        (2.4115228181116244, 0.09422884731576453, 2.3584552704281353e-05, 1.0),
        (3.417120442563524, 0.01540709649217777, 4.187896279095361e-09, 1.0),
        (0.34572631786148195, 0.3592732056075748, 1.6018239624473393e-12, 1.0),
        (0.10439423153813804, 0.01219780703906886, 0.7584916961533212, 0.9999989435568165),
    ] {
        let p = Beta.with_shapes(a, b).unwrap();
        assert_eq!(p.upper_quantile(above).unwrap(), expected, "{a} {b}");
    }
    // A root at the middle, from either side.
    close(Beta.with_shapes(3.0, 3.0).unwrap().quantile(0.5).unwrap(), 0.5, 1e-15);
}

/// By the power series with 120 digits.
#[test]
fn probabilities_of_beta_laws_of_one_huge_or_tiny_shape_keep_their_digits() {
    for (a, b, x, below, above) in [
        (116.25, 5.7e9, 2.1e-8, 0.63597287539071919, 0.36402712460928081),
        (116.25, 5.7e9, 1.5e-8, 0.00090562219913117729, 0.99909437780086882),
        (5.7e9, 116.25, 1.0 - 2f64.powi(-26), 0.99927368519585445, 0.00072631480414554513),
        (2.5, 3e8, 1e-8, 0.69378108596541721, 0.30621891403458279),
        (900.5, 1e11, 9.5e-9, 0.94858745790169813, 0.051412542098301871),
        (1e-10, 2.0, 0.2, 0.9999999999190562, 8.0943797940653402e-11),
        (1e-6, 3e9, 1e-10, 0.9999990943231862, 9.056768137980376e-7),
        (3e-9, 1e-7, 0.4, 0.97087378496517803, 0.029126215034821968),
        (0.01, 0.03, 0.9, 0.76586500570300623, 0.23413499429699377),
        (0.25, 1e15, 3e-15, 0.99498910405129171, 0.0050108959487082887),
    ] {
        let p = Beta.with_shapes(a, b).unwrap();
        close(p.cdf(x), below, 1e-13);
        close(p.survival(x), above, 1e-13);
    }
}

/// By `x^a / Gamma(a + 1)` with 60 digits: the point times the rate is below the normal numbers, the point is not.
#[test]
fn probabilities_of_gamma_laws_keep_their_digits_below_the_normal_numbers() {
    let (below, above) = (0.11250716944330615, 0.88749283055669385);
    let p = Gamma.with_shape_rate(0.003, 1e-9).unwrap();
    close(p.cdf(3e-308), below, 1e-12);
    close(p.survival(3e-308), above, 1e-12);
    close(p.log_cdf(3e-308), below.ln(), 1e-12);
    close(p.quantile(below).unwrap(), 3e-308, 1e-10);
    let p = InverseGamma.with_shape_scale(0.003, 1e-9).unwrap();
    close(p.survival(1e307), 0.11291427092630521, 1e-11);
    close(p.upper_quantile(0.11291427092630521).unwrap(), 1e307, 1e-9);
}
