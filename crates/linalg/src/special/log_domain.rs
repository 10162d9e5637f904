//! Sums of exponentials, and logarithms that would suffer from cancellation.

/// The logistic function `1 / (1 + e^-t)`, without overflow at either end.
#[inline]
pub fn sigmoid(t: f64) -> f64 {
    // e^-|t| <= 1 in both branches.
    let e = (-t.abs()).exp();
    if t >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// The log-partition function `log(1 + e^t)` of a Bernoulli variable.
#[inline]
pub fn softplus(t: f64) -> f64 {
    // `max` drops a NaN, but the second term keeps it.
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// `log(e^a + e^b)`.
///
/// An argument `-inf` represents the logarithm of zero: `log_add_exp(-inf, b) = b`.
#[inline]
pub fn log_add_exp(a: f64, b: f64) -> f64 {
    // The difference of two equal infinities would be NaN.
    if a == b { a + std::f64::consts::LN_2 } else { a.max(b) + (-(a - b).abs()).exp().ln_1p() }
}

/// `log sum_i e^(x_i)`. O(n), no allocation.
///
/// The empty sum and a sum of `-inf` are `-inf`. An entry `+inf` makes the result `+inf`, and a NaN makes it NaN.
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let Some((top, max)) = arg_max(x) else { return f64::NEG_INFINITY };
    if max.is_finite() { max + log_sum_beside(x, top) } else { max }
}

/// `log sum_i e^(x_i) - x_label`: the negative logarithm of `softmax(x)_label`, without the cancellation where it is small. O(n).
///
/// It is `+inf` where another entry is `+inf` or this one is `-inf`. A NaN makes it NaN, and so does an infinity minus itself.
///
/// # Panics
/// If there is no entry `label`.
pub fn softmax_loss(x: &[f64], label: usize) -> f64 {
    let own = x[label];
    let (top, max) = arg_max(x).expect("an entry");
    if max.is_finite() { (max - own) + log_sum_beside(x, top) } else { max - own }
}

/// Subtracts `log sum_j e^(x_j)` from every entry, and returns it. O(n). The largest entry is subtracted first: beside a large one the
/// logarithm of the sum would have few digits, and the exponentials would not add up to 1.
///
/// Entries of `-inf` alone stay, and so does everything where the result is not finite.
pub fn log_softmax_in_place(x: &mut [f64]) -> f64 {
    let Some((top, max)) = arg_max(x) else { return f64::NEG_INFINITY };
    if !max.is_finite() {
        return max;
    }
    let rest = log_sum_beside(x, top);
    x.iter_mut().for_each(|v| *v = (*v - max) - rest);
    max + rest
}

/// `log sum_i e^(x_i - x_top)`, where `x_top` is the largest. Leaving its term, 1, to `ln_1p` keeps the digits of the others
/// when they are far below it.
fn log_sum_beside(x: &[f64], top: usize) -> f64 {
    let others = x.iter().enumerate().filter(|&(i, _)| i != top);
    others.map(|(_, &v)| (v - x[top]).exp()).sum::<f64>().ln_1p()
}

/// The largest entry and its first index; NaN if there is a NaN.
pub(super) fn arg_max(x: &[f64]) -> Option<(usize, f64)> {
    let mut best = (0, *x.first()?);
    for (i, &v) in x.iter().enumerate() {
        if v.is_nan() {
            return Some((i, v));
        }
        if v > best.1 {
            best = (i, v);
        }
    }
    Some(best)
}

/// `log(1 - e^-x)` for `x >= 0`: `-inf` at 0, NaN below.
///
/// The function uses the two branches of M. Maechler, *Accurately computing log(1 - exp(-|a|))* (2012), which meet at `x = log
/// 2`. Each branch is accurate to the last digits on its side.
#[inline]
pub fn log1mexp(x: f64) -> f64 {
    if x <= std::f64::consts::LN_2 { (-(-x).exp_m1()).ln() } else { (-(-x).exp()).ln_1p() }
}

/// `log(1 + x) - x` for `x > -1`, without the cancellation near 0, where it is about `-x^2/2`.
///
/// Never positive; `-inf` at -1.
pub fn log1pmx(x: f64) -> f64 {
    if !(-0.5..=1.0).contains(&x) {
        return x.ln_1p() - x;
    }
    // With r = x / (2 + x), log(1 + x) = 2 artanh r = 2 r (1 + r^2/3 + r^4/5 + ...), and
    // 2 r - x = -r x. |r| <= 1/3 here, so the bracket is at most 7/9 of x: nothing cancels.
    let r = x / (2.0 + x);
    let r2 = r * r;
    let (mut series, mut power, mut odd) = (0.0, 1.0, 3.0);
    // r^2 <= 1/9: 18 terms reach the last bit, fewer when r is small.
    while power > 1e-18 {
        series += power / odd;
        power *= r2;
        odd += 2.0;
    }
    r * (2.0 * r2 * series - x)
}

#[cfg(test)]
// Reference values are quoted with more digits than a f64 holds, log 2 among them.
#[allow(clippy::excessive_precision, clippy::approx_constant)]
mod tests {
    use super::super::assert_close;
    use super::*;

    const INF: f64 = f64::INFINITY;

    // The constants of this file are from arbitrary-precision evaluation with 40 digits or more.

    #[test]
    fn sigmoid_and_softplus_hold_their_digits_in_both_tails() {
        for (t, log_partition, mean) in [
            (-40.0, 4.248354255291589e-18, 4.248354255291589e-18),
            (-1.0, 0.313261687518222834, 0.268941421369995121),
            (0.0, 0.693147180559945309, 0.5),
            (1.0, 1.313261687518222834, 0.731058578630004879),
            (800.0, 800.0, 1.0),
            (-INF, 0.0, 0.0),
            (INF, INF, 1.0),
        ] {
            assert_close(softplus(t), log_partition, 4e-16, t);
            assert_close(sigmoid(t), mean, 4e-16, t);
        }
        assert!(softplus(f64::NAN).is_nan() && sigmoid(f64::NAN).is_nan());
    }

    #[test]
    fn a_softmax_loss_keeps_its_digits() {
        // e^-40, with the largest score at 1e6; mpmath.
        let loss = softmax_loss(&[1e6, 1e6 - 40.0], 0);
        assert_close(loss, 4.248354255291588986e-18, 4e-16, "sure");
        assert_close(softmax_loss(&[0.1, 0.2, 0.3], 1), 1.1019428482292441307, 4e-16, "near 0");
        assert_eq!(softmax_loss(&[1e6, 1e6 - 40.0], 1), 40.0);
        assert_eq!(softmax_loss(&[3.0], 0), 0.0);
        assert_eq!(softmax_loss(&[INF, INF, 0.0], 2), INF);
        assert_eq!(softmax_loss(&[-INF, 0.0], 0), INF);
        assert!(
            softmax_loss(&[INF, 0.0], 0).is_nan() && softmax_loss(&[0.0, f64::NAN], 0).is_nan()
        );
    }

    #[test]
    fn a_log_softmax_adds_up_to_1_at_any_size() {
        for size in [0.0, 1e9, 1e16, 1e100] {
            let mut x = [size, size + 0.5, size, -size];
            let total = log_softmax_in_place(&mut x);
            assert!((x.iter().map(|v| v.exp()).sum::<f64>() - 1.0).abs() < 1e-15, "{size}");
            assert!((total - log_sum_exp(&[size, size + 0.5, size, -size])).abs() <= 1e-15 * total);
        }
        let mut nothing = [-INF, -INF];
        assert_eq!((log_softmax_in_place(&mut nothing), nothing), (-INF, [-INF, -INF]));
        assert_eq!(log_softmax_in_place(&mut []), -INF);
    }

    #[test]
    fn log_sum_exp_agrees_with_reference_values() {
        assert_close(log_sum_exp(&[0.1, 0.2, 0.3]), 1.3019428482292441307, 4e-16, "near 0");
        assert_close(log_sum_exp(&[0.0, -40.0]), 4.248354255291588986e-18, 4e-16, "one term");
        assert_close(log_sum_exp(&[-745.0, -746.0]), -744.68673831248177717, 4e-16, "underflow");
        assert_close(log_sum_exp(&[999.0, 1000.0]), 1000.3132616875182228, 4e-16, "overflow");
        for (a, b) in [(0.0, -40.0), (-745.0, -746.0), (999.0, 1000.0), (3.0, 3.0)] {
            assert_eq!(log_add_exp(a, b), log_add_exp(b, a));
            assert_close(log_add_exp(a, b), log_sum_exp(&[a, b]), 4e-16, (a, b));
        }
    }

    #[test]
    fn infinities_and_nan_in_a_sum_of_exponentials() {
        assert_eq!(log_sum_exp(&[]), -INF);
        assert_eq!(log_sum_exp(&[-INF, -INF]), -INF);
        assert_eq!(log_sum_exp(&[-INF, 2.5, -INF]), 2.5);
        assert_eq!(log_sum_exp(&[-INF, INF, 0.0, INF]), INF);
        assert!(log_sum_exp(&[INF, f64::NAN]).is_nan());
        assert!(log_sum_exp(&[f64::NAN, 1.0]).is_nan());
        assert_eq!(log_add_exp(-INF, -INF), -INF);
        assert_eq!(log_add_exp(-INF, 2.5), 2.5);
        assert_eq!(log_add_exp(INF, -INF), INF);
        assert_eq!(log_add_exp(INF, INF), INF);
        assert!(log_add_exp(f64::NAN, INF).is_nan() && log_add_exp(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn log1mexp_agrees_with_reference_values() {
        for (x, expected) in [
            (1e-20, -46.051701859880913735),
            (1e-5, -11.512930464966061672),
            (0.5, -0.93275212956718857189),
            (0.6931471805599453, -0.69314718055994533261),
            (0.7, -0.6863410028083851535),
            (1.0, -0.45867514538708189102),
            (10.0, -0.000045400960370489209504),
            (40.0, -4.2483542552915890044e-18),
            (700.0, -9.8596765437597708567e-305),
            (0.0, -INF),
            (INF, 0.0),
        ] {
            assert_close(log1mexp(x), expected, 4e-16, x);
        }
        assert!(log1mexp(-1e-3).is_nan() && log1mexp(f64::NAN).is_nan());
    }

    #[test]
    fn log1pmx_agrees_with_reference_values() {
        for (x, expected) in [
            (-0.99, -3.6151701859880904887),
            (-0.5, -0.19314718055994530942),
            (-0.3, -0.056674943938732374155),
            (-1e-5, -5.0000333335833361514e-11),
            (0.0, 0.0),
            (1e-10, -4.999999999666667031e-21),
            (0.01, -0.000049669146831917153846),
            (0.4, -0.06352776337878707584),
            (0.99, -0.30186536126359896821),
            (1.01, -0.31186527792901562143),
            (5.0, -3.2082405307719449992),
            (1e10, -9999999976.97414907),
            (-1.0, -INF),
        ] {
            // Outside the series the subtraction costs at most a factor 4.
            assert_close(log1pmx(x), expected, 1e-15, x);
        }
        assert!(log1pmx(-1.5).is_nan() && log1pmx(f64::NAN).is_nan());
    }
}
