//! What beta and Dirichlet families share, in terms of concentrations `a_k = eta_k + 1`.
//!
//! `A = sum log Gamma(a_k) - log Gamma(s)` with `s = sum a_k`, `mu_k = psi(a_k) - psi(s)`,
//! `I = diag(psi'(a_k)) - psi'(s) 11'`.

use fenchel_optim::scalar::increasing_root;

use crate::special::{
    between, digamma, digamma_drop, integrate_along, inverse_digamma, ln_beta, ln_gamma_1p,
    trigamma, trigamma_drop,
};

pub(crate) const EXPECTED: &str = "sum_k exp(E log x_k) < 1";

fn sum(eta: &[f64]) -> f64 {
    eta.iter().map(|e| e + 1.0).sum()
}

/// One beta function after another, which does not cancel for large concentrations.
pub(crate) fn log_partition(eta: &[f64]) -> f64 {
    if let &[x, y] = eta
        && x.abs() < 0.12
        && y.abs() < 0.12
    {
        // B(1, 1) = 1: next to it the logarithm has the digits of eta.
        let sum = x + y;
        return ln_gamma_1p(x) + ln_gamma_1p(y) - sum.ln_1p() - ln_gamma_1p(sum);
    }
    let (mut before, mut total) = (eta[0] + 1.0, 0.0);
    for e in &eta[1..] {
        let a = e + 1.0;
        total += ln_beta(before, a);
        before += a;
    }
    total
}

/// The sum of all concentrations but one.
fn others(eta: &[f64], k: usize) -> f64 {
    eta.iter().enumerate().filter(|&(j, _)| j != k).map(|(_, e)| e + 1.0).sum()
}

pub(crate) fn mean(eta: &[f64], mu: &mut [f64]) {
    for (k, mu) in mu.iter_mut().enumerate() {
        *mu = digamma_drop(eta[k] + 1.0, others(eta, k));
    }
}

/// `1 - sum_k exp(mu_k)`, positive inside of the mean domain.
pub(crate) fn slack(mu: &[f64]) -> f64 {
    1.0 - mu.iter().map(|m| m.exp()).sum::<f64>()
}

/// The sum `s` solves `sum_k psi^-1(mu_k + psi(s)) = s`, an equation of one unknown; the concentrations follow from it. O(K) a step,
/// ten steps or so.
pub(crate) fn natural(mu: &[f64], eta: &mut [f64]) {
    let k = mu.len() as f64;
    let f = |y: f64| {
        let s = y.exp();
        let psi = digamma(s);
        let (mut total, mut slope) = (0.0, 0.0);
        for m in mu {
            let a = inverse_digamma(m + psi);
            total += a;
            slope += 1.0 / trigamma(a);
        }
        (y - total.ln(), 1.0 - s * trigamma(s) * slope / total)
    };
    let start = (0.5 * (k - 1.0) / slack(mu)).ln();
    let y = increasing_root(f, -690.0, 690.0, start, 1e-16);
    let psi = digamma(y.exp());
    eta.iter_mut().zip(mu).for_each(|(e, m)| *e = inverse_digamma(m + psi) - 1.0);
}

pub(crate) fn fisher(eta: &[f64], out: &mut [f64]) {
    let k = eta.len();
    out.fill(-trigamma(sum(eta)));
    for i in 0..k {
        out[i * k + i] = trigamma_drop(eta[i] + 1.0, others(eta, i));
    }
}

/// `sum (psi'(a_k) - psi'(s)) d_k^2 - 2 psi'(s) sum_{j<k} d_j d_k` in terms of concentrations.
fn variance_at(a: &[f64], d: &[f64]) -> f64 {
    let s: f64 = a.iter().sum();
    let (mut own, mut cross, mut before) = (0.0, 0.0, 0.0);
    for (k, (a_k, d)) in a.iter().zip(d).enumerate() {
        let rest: f64 = a.iter().enumerate().filter(|&(j, _)| j != k).map(|(_, a)| a).sum();
        own += trigamma_drop(*a_k, rest) * d * d;
        cross += before * d;
        before += d;
    }
    own - 2.0 * trigamma(s) * cross
}

pub(crate) fn variance_along(eta: &[f64], d: &[f64]) -> f64 {
    let a: Vec<f64> = eta.iter().map(|e| e + 1.0).collect();
    variance_at(&a, d)
}

/// The integral of the variance along the segment, in concentrations: next to `eta = -1` they have digits that `eta` lacks.
pub(crate) fn kl(p: &[f64], q: &[f64]) -> f64 {
    let parts: Vec<(f64, f64, f64)> =
        p.iter().zip(q).map(|(p, q)| (p + 1.0, q + 1.0, q - p)).collect();
    let d: Vec<f64> = parts.iter().map(|part| part.2).collect();
    let mut at = d.clone();
    integrate_along(parts.iter().map(|&(a, to, _)| (a, to)), |s, t| {
        at.iter_mut().zip(&parts).for_each(|(at, &(a, to, d))| *at = between(a, to, d, s, t));
        t * variance_at(&at, &d)
    })
}
