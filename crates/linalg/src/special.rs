//! Special functions of logistic and entropic models, accurate over the whole range.
//!
//! Natural logarithms throughout: entropies and divergences are in nats.

/// `1 / (1 + e^-t)`, without overflow at either end.
#[inline]
pub fn sigmoid(t: f64) -> f64 {
    // e^-|t| <= 1 in both branches.
    let e = (-t.abs()).exp();
    if t >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// `log(1 + e^t)`, the log-partition of a Bernoulli variable.
#[inline]
pub fn softplus(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// `x log x`, with `0 log 0 = 0`.
#[inline]
pub fn xlogx(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * x.ln() }
}
