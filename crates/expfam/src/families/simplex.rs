//! The common part of the beta and Dirichlet families, in terms of the concentrations `a_k = eta_k + 1`.
//!
//! With `s = sum a_k`: the log-partition function is `A = sum log Gamma(a_k) - log Gamma(s)`, the mean
//! `mu_k = psi(a_k) - psi(s)`, and the Fisher information `I = diag(psi'(a_k)) - psi'(s) 11'`. Here `psi` is the
//! digamma function.

use super::normal::HALF_LOG_TAU;
use crate::special::{
    between, deviance, digamma_drop, integrate_along, ln_beta, ln_gamma, ln_gamma_1p,
    log_minus_digamma, log1pmx, shape_divergence, stirling_error, trigamma, trigamma_drop,
};

pub(crate) fn sum(eta: &[f64]) -> f64 {
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

/// With `X(u; v) = u log(u / v) - u + v`, the divergence is `sum_k X(a'_k; a_k s' / s)` of the means of the law, and what
/// Stirling's formula leaves of the gamma functions: `sum_k S(a_k, a'_k) - S(s, s')`. Where that difference cancels, the
/// variance is integrated along the segment instead. Near `eta = -1` the concentrations have digits that `eta` has lost.
pub(crate) fn kl(p: &[f64], q: &[f64]) -> f64 {
    let parts: Vec<(f64, f64, f64)> =
        p.iter().zip(q).map(|(p, q)| (p + 1.0, q + 1.0, q - p)).collect();
    let (s, d) = (sum(p), parts.iter().map(|part| part.2).sum::<f64>());
    let to = sum(q);
    let total = shape_divergence(s, to, d);
    let mut own = 0.0;
    for &(a, a_to, d_k) in &parts {
        // a s' / s - a', for short steps from the differences of the parameters.
        let short = d_k.abs() < 0.5 * a;
        let u = (if short { a / s * d - d_k } else { a / s * to - a_to }) / a_to;
        let means = if u.abs() < 0.5 {
            -a_to * log1pmx(u)
        } else {
            let log = (a_to.ln() - a.ln()) - (to.ln() - s.ln());
            a_to * (log - 1.0) + a / s * to
        };
        own += shape_divergence(a, a_to, d_k) + means;
    }
    let direct = own - total;
    if direct > 0.1 * own || !direct.is_finite() {
        return direct;
    }
    let d: Vec<f64> = parts.iter().map(|part| part.2).collect();
    let mut at = d.clone();
    let integral = integrate_along(parts.iter().map(|&(a, to, _)| (a, to)), |s, t| {
        at.iter_mut().zip(&parts).for_each(|(at, &(a, to, d))| *at = between(a, to, d, s, t));
        t * variance_at(&at, &d)
    });
    // What cancels to nothing in both forms is below rounding.
    integral.max(0.0)
}

/// Whether densities and entropies take the saddle-point form: their plain terms would be far larger than their sum.
pub(crate) fn is_concentrated(eta: &[f64]) -> bool {
    sum(eta) >= 20.0
}

/// `log Gamma(s) - sum log Gamma(a_k)` less its terms `a log a - log(a) / 2`, for both forms below.
fn errors(eta: &[f64]) -> f64 {
    let own: f64 = eta.iter().map(|e| stirling_error(e + 1.0)).sum();
    stirling_error(sum(eta)) - own - (eta.len() - 1) as f64 * HALF_LOG_TAU
}

/// `log p(x) + sum log x_k` of a concentrated law at a probability vector given by its entries and their logarithms. It is
/// the deviance of `s x` from the concentrations, and Stirling's formula.
pub(crate) fn log_density_of_logs(eta: &[f64], x: impl Iterator<Item = (f64, f64)>) -> f64 {
    let s = sum(eta);
    let mut out = errors(eta) - 0.5 * s.ln();
    for (e, (x, log)) in eta.iter().zip(x) {
        let a = e + 1.0;
        out += 0.5 * a.ln() - deviance(a, s * x, s.ln() + log);
    }
    out
}

/// `A*` of the mean at `eta`: minus the entropy.
pub(crate) fn conjugate_at(eta: &[f64]) -> f64 {
    let (s, k) = (sum(eta), eta.len() as f64);
    if eta.iter().all(|e| e.abs() < 0.5) {
        // The divergence from the uniform law, which is a member.
        return kl(eta, &vec![0.0; eta.len()]) + ln_gamma(k);
    }
    if !is_concentrated(eta) {
        let inner: f64 =
            (0..eta.len()).map(|k| eta[k] * digamma_drop(eta[k] + 1.0, others(eta, k))).sum();
        return inner - log_partition(eta);
    }
    let mut out = errors(eta) + (s - k) * log_minus_digamma(s) + (k - 0.5) * s.ln();
    for e in eta {
        out -= 0.5 * (e + 1.0).ln() + e * log_minus_digamma(e + 1.0);
    }
    out
}
