//! Sums, differences and divergences of numbers without cancellation.

use fenchel_linalg::special::log1pmx;

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `a b - c d`, without cancellation of the rounded products (W. Kahan).
pub(crate) fn difference_of_products(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let product = c * d;
    let lost = libm::fma(-c, d, product);
    libm::fma(a, b, -product) + lost
}

/// `s (a / b - c / d)` as the difference of the products. Exponents are kept apart: nothing on the way overflows unless the result does.
pub(crate) fn difference_of_quotients(s: f64, (a, b): (f64, f64), (c, d): (f64, f64)) -> f64 {
    let [s, a, b, c, d] = [s, a, b, c, d].map(libm::frexp);
    // The number 0 has the exponent 0, as those from 1/2 to 1 have.
    let exponent = |(m, e): (f64, i32), over: i32| if m == 0.0 { i32::MIN / 2 } else { e - over };
    let (first, second) = (exponent(a, b.1), exponent(c, d.1));
    let top = first.max(second);
    let (a, c) = (libm::scalbn(a.0, first - top), libm::scalbn(c.0, second - top));
    libm::scalbn(s.0 * difference_of_products(a, d.0, c, b.0) / b.0 / d.0, s.1.saturating_add(top))
}

/// `sum_i a_i b_i` as if with twice the digits (T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", 2005).
pub(crate) fn accurate_dot(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for (a, b) in pairs {
        let product = a * b;
        lost += libm::fma(a, b, -product);
        let next = sum + product;
        let part = next - sum;
        lost += (sum - (next - part)) + (product - part);
        sum = next;
    }
    sum + lost
}

/// `e^t - 1 - t >= 0`, the divergence of the exponential function.
pub(crate) fn exp_excess(t: f64) -> f64 {
    let u = t.exp_m1();
    if t.abs() < 0.3 { -log1pmx(u) } else { u - t }
}

/// `phi(q / p) = q/p - 1 - log(q/p) >= 0` of two numbers of one sign.
pub(crate) fn phi(p: f64, q: f64) -> f64 {
    let u = (q - p) / p;
    if u.abs() < 0.5 {
        -log1pmx(u)
    } else {
        // Separate logarithms, since the quotient may overflow.
        q / p - 1.0 - (q.abs().ln() - p.abs().ln())
    }
}

/// `d' M d` of a matrix stored row by row.
pub(crate) fn quadratic(matrix: &[f64], d: &[f64]) -> f64 {
    matrix.chunks_exact(d.len()).zip(d).map(|(row, di)| di * dot(row, d)).sum()
}
