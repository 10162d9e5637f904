//! Modified Bessel functions for directional statistics: ratios and normalisers, for orders `nu = d/2 - 1`.

use fenchel_linalg::special::ln_gamma;

/// For `k` of at least this value, and `k >= d^2`, the expansion in `1 / k` is used: its smallest terms are below 1e-17
/// there.
const FAR: f64 = 25.0;
/// The largest number of terms of the expansion.
const TERMS: usize = 40;

/// `R = I_{d/2}(k) / I_{d/2-1}(k)`: the length of the mean direction of a von Mises-Fisher law on the sphere in `R^d`, `d >= 1`.
///
/// The method is the continued fraction of Perron and Gauss, `1 / (2 nu / k + 1 / (2 (nu + 1) / k + ...))` with
/// `nu = d / 2`. The relative error is below 1e-14. The ratio is about `k / d` for small `k`, and 1 at infinity.
pub fn bessel_ratio(d: usize, k: f64) -> f64 {
    match one_minus_or_ratio(d, k) {
        Ok(deficit) => 1.0 - deficit,
        Err(ratio) => ratio,
    }
}

/// `1 - R`, with all digits where `R` is near 1.
pub(crate) fn one_minus_bessel_ratio(d: usize, k: f64) -> f64 {
    one_minus_or_ratio(d, k).unwrap_or_else(|ratio| 1.0 - ratio)
}

/// `Ok(1 - R)` where that is known to all digits, else `Err(R)`.
fn one_minus_or_ratio(d: usize, k: f64) -> Result<f64, f64> {
    let m = d as f64;
    if !(k >= 0.0) || d == 0 {
        return Err(f64::NAN);
    }
    if k == 0.0 {
        return Err(0.0);
    }
    if k < 1e-8 {
        // The next term is smaller by k^2; quotients by a subnormal number overflow.
        return Err(k / m);
    }
    if k >= FAR && k >= m * m {
        return Ok(deficit_expansion(m, k));
    }
    let nu = 0.5 * m;
    // Lentz's method; all partial quotients are positive.
    let mut b = 2.0 * nu / k;
    let mut value = 1.0 / b;
    let (mut c, mut delta) = (f64::INFINITY, value);
    // The j-th step contracts by e^(-2 (nu + j) / k) or more: some 6 sqrt(k) steps suffice.
    let limit = 200 + (20.0 * k.sqrt()) as u64;
    for i in 1..=limit {
        b = 2.0 * (nu + i as f64) / k;
        delta = 1.0 / (b + delta);
        c = b + 1.0 / c;
        let factor = c * delta;
        value *= factor;
        // Rounding can hold the factor one unit away from 1.
        if (factor - 1.0).abs() <= f64::EPSILON {
            return Err(value.min(1.0));
        }
    }
    Err(f64::NAN)
}

/// `1 - R = sum_j c_j / k^j`, from the Riccati equation `R' = 1 - R^2 - (d - 1) R / k`.
fn deficit_expansion(m: f64, k: f64) -> f64 {
    // With D = 1 - R: -D' = 2 D - D^2 - (m - 1)(1 - D) / k. Order by order:
    // 2 c_1 = m - 1;  2 c_{j+1} = j c_j + sum_{i} c_i c_{j+1-i} - (m - 1) c_j.
    let mut c = [0.0; TERMS + 1];
    c[1] = 0.5 * (m - 1.0);
    let (mut sum, mut power) = (c[1] / k, 1.0 / k);
    for j in 1..TERMS {
        let products: f64 = (1..=j).map(|i| c[i] * c[j + 1 - i]).sum();
        c[j + 1] = 0.5 * (j as f64 * c[j] + products - (m - 1.0) * c[j]);
        power /= k;
        let term = c[j + 1] * power;
        if term.abs() <= 1e-17 * sum.abs() {
            break;
        }
        sum += term;
    }
    sum
}

/// `R'(k) = 1 - R^2 - (d - 1) R / k`, the variance along the mean direction.
pub(crate) fn bessel_ratio_slope(d: usize, k: f64) -> f64 {
    let m = d as f64;
    if k < 0.25 * (0.5 * m + 1.4) {
        return slope_series(m, k);
    }
    if k >= FAR && k >= m * m {
        // The derivative of the expansion of R, term by term.
        let mut c = [0.0; TERMS + 1];
        c[1] = 0.5 * (m - 1.0);
        let mut power = 1.0 / (k * k);
        let mut sum = c[1] * power;
        for j in 1..TERMS {
            let products: f64 = (1..=j).map(|i| c[i] * c[j + 1 - i]).sum();
            c[j + 1] = 0.5 * (j as f64 * c[j] + products - (m - 1.0) * c[j]);
            power /= k;
            let term = (j + 1) as f64 * c[j + 1] * power;
            if term.abs() <= 1e-17 * sum.abs() {
                break;
            }
            sum += term;
        }
        return sum;
    }
    // Down the orders: R_j = 1 / (b_j + R_{j+1}) with b_j = (d + 2j) / k, and R_j' = R_j^2 (b_j / k - R_{j+1}'). The Riccati equation
    // would cancel.
    let steps = 60 + (10.0 * k.sqrt()) as usize;
    let b = |j: usize| (m + 2.0 * j as f64) / k;
    let mut ratio = 1.0 / b(steps);
    let mut slope = ratio / k;
    for j in (0..steps).rev() {
        ratio = 1.0 / (b(j) + ratio);
        slope = ratio * ratio * (b(j) / k - slope);
    }
    slope
}

/// The derivative of `R = sum_j r_j k^(2j+1)`. By the Riccati equation, `(2j + d) r_j = -sum_i r_i r_(j-1-i)` with
/// `r_0 = 1/d`. The series converges up to the first zero of `J_{d/2-1}`, which is beyond `d/2 + 1.4`.
fn slope_series(m: f64, k: f64) -> f64 {
    const TERMS: usize = 15;
    let mut r = [0.0; TERMS];
    r[0] = 1.0 / m;
    let (mut sum, mut power) = (r[0], 1.0);
    for j in 1..TERMS {
        let products: f64 = (0..j).map(|i| r[i] * r[j - 1 - i]).sum();
        r[j] = -products / (2.0 * j as f64 + m);
        power *= k * k;
        sum += (2 * j + 1) as f64 * r[j] * power;
    }
    sum
}

/// The `k >= 0` with `R(k) = r` for `0 <= r < 1`; NaN elsewhere. `missing` is `1 - r`, which may be known to more digits.
///
/// Newton's method from `r (d - r^2) / (1 - r^2)` (Banerjee et al., 2005; Sra, 2012).
pub fn inverse_bessel_ratio(d: usize, r: f64, missing: f64) -> f64 {
    if !((0.0..1.0).contains(&r) || (r == 1.0 && missing > 0.0)) || d == 0 {
        return f64::NAN;
    }
    let m = d as f64;
    if r == 0.0 {
        return 0.0;
    }
    let mut k = r * (m - r * r) / (missing * (1.0 + r));
    let (mut low, mut high) = (0.0, f64::INFINITY);
    for _ in 0..60 {
        // Near 1 the deficit has the digits, elsewhere the ratio.
        let error =
            if r > 0.5 { missing - one_minus_bessel_ratio(d, k) } else { bessel_ratio(d, k) - r };
        if error > 0.0 {
            high = k;
        } else {
            low = k;
        }
        let mut next = k - error / bessel_ratio_slope(d, k);
        if !(next > low && next < high) {
            next = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * k };
        }
        let done = (next - k).abs() <= 4.0 * f64::EPSILON * k;
        k = next;
        if done {
            break;
        }
    }
    k
}

/// `log 0F1(; d/2; k^2 / 4)`: the log of the mean of `exp(k cos(angle))` over the uniform law on the sphere in `R^d`. 0 at 0.
///
/// The method is the power series for `k^2 / 4` below about 10^4. Beyond, it is Debye's uniform expansion for large
/// orders, or Hankel's expansion for large `k`.
pub fn ln_bessel_normaliser(d: usize, k: f64) -> f64 {
    if !(k >= 0.0) || d == 0 {
        return f64::NAN;
    }
    if d == 1 {
        return ln_cosh(k);
    }
    if d == 3 {
        return ln_sinhc(k);
    }
    let m = d as f64;
    if k <= 200.0 || k * k <= 4.0 * m {
        return series(m, k);
    }
    let nu = 0.5 * m - 1.0;
    if k >= 30.0 && k >= 2.0 * nu * nu {
        return k + hankel(nu, k);
    }
    debye(nu, k)
}

/// `log 0F1(; d/2; k^2 / 4) - k`, computed without cancellation for large `k`.
pub(crate) fn ln_bessel_excess(d: usize, k: f64) -> f64 {
    let nu = 0.5 * d as f64 - 1.0;
    if d == 3 && k >= 2.0 {
        return (-(-2.0 * k).exp()).ln_1p() - (2.0 * k).ln();
    }
    if k >= 30.0 && k >= 2.0 * nu * nu {
        return hankel(nu, k);
    }
    ln_bessel_normaliser(d, k) - k
}

fn ln_cosh(k: f64) -> f64 {
    if k < 1.0 {
        let s = (0.5 * k).sinh();
        return (2.0 * s * s).ln_1p();
    }
    k + (-2.0 * k).exp().ln_1p() - std::f64::consts::LN_2
}

/// `log(sinh k / k)`
pub(crate) fn ln_sinhc(k: f64) -> f64 {
    if k < 2.0 {
        return series(3.0, k);
    }
    k + (-(-2.0 * k).exp()).ln_1p() - (2.0 * k).ln()
}

/// `log(1 + sum_j z^j / (j! (m/2)_j))` with `z = k^2 / 4`. All terms are positive. The sum is scaled, because `e^k` may
/// overflow.
fn series(m: f64, k: f64) -> f64 {
    let z = 0.25 * k * k;
    let (mut term, mut sum, mut scale) = (1.0, 0.0, 0.0);
    let mut j = 0.0;
    loop {
        j += 1.0;
        term *= z / (j * (0.5 * m + j - 1.0));
        sum += term;
        if term > 1e200 {
            (term, sum) = (term * 1e-200, (sum + 1.0) * 1e-200);
            scale += 200.0 * std::f64::consts::LN_10;
            // What is added to the logarithm below is 1e-200 of the sum, or nothing.
        }
        if !(term > 1e-17 * (sum + 1.0)) || j > 1e6 {
            break;
        }
    }
    if scale > 0.0 { scale + sum.ln() } else { sum.ln_1p() }
}

/// `log 0F1 = log Gamma(nu + 1) - nu log(k / 2) + log I_nu(k)`.
fn from_ln_bessel(nu: f64, k: f64, ln_bessel: f64) -> f64 {
    ln_gamma(nu + 1.0) - nu * (0.5 * k).ln() + ln_bessel
}

/// [`from_ln_bessel`] minus `k`, by Hankel's expansion:
/// `I_nu(k) ~ e^k / sqrt(2 pi k) (1 - (4 nu^2 - 1) / (8 k) + ...)`.
fn hankel(nu: f64, k: f64) -> f64 {
    let square = 4.0 * nu * nu;
    let (mut term, mut sum) = (1.0, 1.0);
    for j in 1..60 {
        let odd = f64::from(2 * j - 1);
        let next = -term * (square - odd * odd) / (8.0 * k * f64::from(j));
        if next.abs() >= f64::abs(term) && next != 0.0 {
            break;
        }
        term = next;
        sum += term;
        if term.abs() <= 1e-17 * sum.abs() {
            break;
        }
    }
    from_ln_bessel(nu, k, sum.ln() - 0.5 * (std::f64::consts::TAU * k).ln())
}

/// Debye's uniform expansion in `1 / nu` (Abramowitz and Stegun 9.7.7). It is evaluated at an order of at least 60;
/// ratios lead from there to the requested order.
fn debye(nu: f64, k: f64) -> f64 {
    let up = (60.0 - nu).max(0.0).ceil();
    let top = nu + up;
    let z = k / top;
    let root = (1.0 + z * z).sqrt();
    let t = 1.0 / root;
    let exponent = root + (z / (1.0 + root)).ln();
    let s = t * t;
    let u1 = t * (3.0 - 5.0 * s) / 24.0;
    let u2 = s * (81.0 - 462.0 * s + 385.0 * s * s) / 1152.0;
    let u3 =
        t * s * (30375.0 - 369_603.0 * s + 765_765.0 * s * s - 425_425.0 * s * s * s) / 414_720.0;
    let u4 = s
        * s
        * (4_465_125.0 - 94_121_676.0 * s + 349_922_430.0 * s * s - 446_185_740.0 * s * s * s
            + 185_910_725.0 * s * s * s * s)
        / 39_813_120.0;
    let u5 = t
        * s
        * s
        * (1_519_035_525.0 - 49_286_948_607.0 * s + 284_499_769_554.0 * s * s
            - 614_135_872_350.0 * s * s * s
            + 566_098_157_625.0 * s.powi(4)
            - 188_699_385_875.0 * s.powi(5))
        / 6_688_604_160.0;
    let v = 1.0 / top;
    let correction = v * (u1 + v * (u2 + v * (u3 + v * (u4 + v * u5))));
    let mut ln_bessel = top * exponent - 0.5 * (std::f64::consts::TAU * top).ln() - 0.5 * root.ln()
        + correction.ln_1p();
    // I_nu = I_{nu+1} / ratio, downwards.
    for i in 0..up as u64 {
        let order = nu + i as f64;
        ln_bessel -= ratio_at(order, k).ln();
    }
    from_ln_bessel(nu, k, ln_bessel)
}

/// `I_{nu+1}(k) / I_nu(k)` of any order.
fn ratio_at(nu: f64, k: f64) -> f64 {
    let (mut value, mut c, mut delta) = (k / (2.0 * (nu + 1.0)), f64::INFINITY, 0.0);
    let mut b = 2.0 * (nu + 1.0) / k;
    delta += 1.0 / b;
    // Asked below order 60 and k = 7200 only, where some 500 steps suffice.
    for i in 1..10_000 {
        b = 2.0 * (nu + 1.0 + f64::from(i)) / k;
        delta = 1.0 / (b + delta);
        c = b + 1.0 / c;
        let factor = c * delta;
        value *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            return value;
        }
    }
    f64::NAN
}
