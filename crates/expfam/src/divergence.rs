//! Bregman divergences of the log-partition function, and with them `KL`.
//!
//! ```text
//! KL(p || q) = A(eta_q) - A(eta_p) - <mu_p, eta_q - eta_p> = B_A(eta_q; eta_p) = B_A*(mu_p; mu_q)
//! ```

use crate::Family;
use crate::family::dot;
use crate::quadrature::legendre;

/// Below this fraction of the terms that it is the difference of, the divergence is integrated instead.
const CANCELS: f64 = 1e-3;

/// `B_A(q; p)` for any family. Where the three terms cancel, it is `int_0^1 (1 - s) d' I(p + s d) d ds` with `d = q - p`, whose
/// integrand has one sign; 16 points.
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
    let mut information = vec![0.0; k * k];
    let integral = legendre(0.0, 1.0, |s| {
        let at: Vec<f64> = p.iter().zip(&d).map(|(p, d)| p + s * d).collect();
        family.fisher(&at, &mut information);
        (1.0 - s) * quadratic(&information, &d)
    });
    integral.max(0.0)
}

/// `d' M d` of a matrix stored row by row.
pub(crate) fn quadratic(matrix: &[f64], d: &[f64]) -> f64 {
    matrix.chunks_exact(d.len()).zip(d).map(|(row, di)| di * dot(row, d)).sum()
}
