//! The Kullback-Leibler divergence as the Bregman divergence `B_A` of the log-partition function:
//!
//! ```text
//! KL(p || q) = A(eta_q) - A(eta_p) - <mu_p, eta_q - eta_p> = B_A(eta_q; eta_p) = B_A*(mu_p; mu_q)
//! ```

use fenchel_linalg::special::log1pmx;

use crate::Family;
use crate::family::dot;
use crate::special::legendre;

/// The divergence is a sum of terms that cancel. If it is below this fraction of the terms, it is computed as an
/// integral instead.
const CANCELS: f64 = 1e-3;

/// `B_A(q; p)` for any family. If its three terms cancel, it is computed as the integral
/// `int_0^1 (1 - s) d' I(p + s d) d ds` with `d = q - p`, whose integrand does not change sign. The quadrature has 16
/// points, or 8 panels of 16 points.
pub(crate) fn bregman<F: Family + ?Sized>(family: &F, p: &[f64], q: &[f64]) -> f64 {
    let k = family.dimension();
    let mut mu = vec![0.0; k];
    family.mean(p, &mut mu);
    let d: Vec<f64> = q.iter().zip(p).map(|(q, p)| q - p).collect();
    if d.iter().all(|&d| d == 0.0) {
        return 0.0;
    }
    let (to, from, slope) = (family.log_partition(q), family.log_partition(p), dot(&mu, &d));
    let direct = to - from - slope;
    if direct > CANCELS * (to.abs() + from.abs() + slope.abs()) {
        return direct;
    }
    // A step as long as the point itself is cut into pieces.
    let far = d.iter().zip(p).any(|(d, p)| d.abs() > 0.1 * p.abs().max(1e-3));
    let panels = if far { 8 } else { 1 };
    let mut integrand = |s: f64| {
        let at: Vec<f64> = p.iter().zip(&d).map(|(p, d)| p + s * d).collect();
        (1.0 - s) * family.variance_along(&at, &d)
    };
    let width = 1.0 / f64::from(panels);
    let integral: f64 = (0..panels)
        .map(|i| legendre(f64::from(i) * width, f64::from(i + 1) * width, &mut integrand))
        .sum();
    integral.max(0.0)
}

/// `a b - c d`, without cancellation of the rounded products (W. Kahan).
pub(crate) fn difference_of_products(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let product = c * d;
    let lost = libm::fma(-c, d, product);
    libm::fma(a, b, -product) + lost
}

/// `a / b - c / d` as the difference of the products, with `b` and `d` scaled so that neither overflows.
pub(crate) fn difference_of_quotients(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let (first, second) = (libm::frexp(b), libm::frexp(d));
    let (a, c) = (libm::scalbn(a, -first.1), libm::scalbn(c, -second.1));
    difference_of_products(a, second.0, c, first.0) / first.0 / second.0
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
