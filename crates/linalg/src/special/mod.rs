//! Special functions of logistic, entropic and gamma models, accurate over their whole domains.
//!
//! All logarithms are natural, so entropies and divergences are in nats.
//!
//! | to compute | without the problem of | use |
//! |---|---|---|
//! | `log sum_i e^(x_i)`, `log(e^a + e^b)` | overflow | [`log_sum_exp`], [`log_add_exp`] |
//! | `log(1 + e^t)`, `1 / (1 + e^-t)` | overflow | [`softplus`], [`sigmoid`] |
//! | `log(1 - e^-x)`, `log(1 + x) - x` | cancellation | [`log1mexp`], [`log1pmx`] |
//! | `e^(x_i) / sum_j e^(x_j)` | overflow | [`softmax`], [`softmax_in_place`] |
//! | its logarithm, or minus that of one entry | cancellation | [`log_softmax_in_place`], [`softmax_loss`] |
//! | `x log x`, entropy, relative entropy | `0 log 0`, cancellation | [`xlogx`], [`entropy`], [`kl`] |
//! | `log Gamma` and its derivatives | recurrences by hand | [`ln_gamma`], [`digamma`], [`trigamma`], [`tetragamma`] |
//! | `psi^-1(y)` | Newton by hand | [`inverse_digamma`] |
//! | `P(X > x)`, `P(X <= x)` for a chi-squared `X` | `1 - cdf` | [`chi_squared_tail`], [`chi_squared_cdf`] |
//! | the logarithms of these two | underflow | [`chi_squared_ln_tail`], [`chi_squared_ln_cdf`] |
//! | `e^(x^2) erfc(x)` | `inf * 0` | [`erfcx`] |
//! | the `w` with `w + log w = c` | overflow of `e^c` | [`wright_omega`] |
//!
//! No function here returns a `Result`. An argument that is NaN or outside the domain gives NaN.

mod entropy;
mod gamma;
mod log_domain;
mod omega;
mod tail;

pub use entropy::{entropy, kl, softmax, softmax_in_place, xlogx};
pub use gamma::{digamma, inverse_digamma, ln_gamma, tetragamma, trigamma};
pub use log_domain::{
    log_add_exp, log_softmax_in_place, log_sum_exp, log1mexp, log1pmx, sigmoid, softmax_loss,
    softplus,
};
pub use omega::wright_omega;
pub use tail::{chi_squared_cdf, chi_squared_ln_cdf, chi_squared_ln_tail, chi_squared_tail, erfcx};

/// `|found - expected| <= tolerance |expected|`, or the same infinity, or zero for zero.
#[cfg(test)]
fn assert_close(found: f64, expected: f64, tolerance: f64, at: impl std::fmt::Debug) {
    assert!(
        found == expected || (found - expected).abs() <= tolerance * expected.abs(),
        "at {at:?}: {found:e}, expected {expected:e}"
    );
}
