//! Special functions of exponential families. The functions of [`fenchel_linalg::special`] are re-exported.
//!
//! | function | what |
//! |---|---|
//! | [`ln_gamma`], [`digamma`], [`trigamma`], [`tetragamma`], [`inverse_digamma`] | the gamma function in logs and its derivatives |
//! | [`ln_beta`], [`logit`], [`log_minus_digamma`], [`gamma_shape`] | what beta and gamma families need, without cancellation |
//! | [`ln_gamma_multivariate`], [`digamma_multivariate`], [`trigamma_multivariate`] | the same for matrices |
//! | [`scaled_exponential_integral`] | `e^x E_p(x)` for real `p` |
//! | [`bessel_ratio`], [`ln_bessel_normaliser`], [`inverse_bessel_ratio`] | directions on a sphere |
//!
//! The result is NaN if an argument is NaN or outside the domain.

mod bessel;
mod expint;
mod gamma;
mod panel;
mod tails;

pub use bessel::{bessel_ratio, inverse_bessel_ratio, ln_bessel_normaliser};
pub(crate) use bessel::{bessel_ratio_slope, ln_bessel_excess, ln_sinhc, one_minus_bessel_ratio};
pub(crate) use expint::exponential_integral_excess;
pub use expint::scaled_exponential_integral;
pub use fenchel_linalg::special::{
    digamma, erfcx, inverse_digamma, ln_gamma, log_sum_exp, log1mexp, log1pmx, sigmoid,
    softmax_in_place, softplus, tetragamma, trigamma, xlogx,
};
pub(crate) use gamma::{
    between, deviance, digamma_drop, digamma_multivariate_above, gamma_entropy, integrate_along,
    ln_binomial, ln_choose, ln_gamma_1p, ln_gamma_divergence, ln_gamma_scaled,
    one_minus_shape_trigamma, shape_divergence, stirling_error, trigamma_drop,
    trigamma_multivariate_above, x_log_x_divergence_drop,
};
pub use gamma::{
    digamma_multivariate, gamma_shape, ln_beta, ln_gamma_multivariate, log_minus_digamma, logit,
    trigamma_multivariate,
};
pub(crate) use panel::{legendre, legendre_nodes};
pub(crate) use tails::{
    beta_ln_tails, beta_tails, gamma_above, gamma_below, gamma_ln_tails, gamma_tails,
    normal_ln_tails, normal_tails,
};
