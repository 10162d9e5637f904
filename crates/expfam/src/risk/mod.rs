//! The risk of an estimate: the expected divergence `E KL(p* || p_hat)` after `n` observations. It is computed exactly
//! where a formula is known, and bounded or simulated otherwise.
//!
//! | estimate | family | exact | bounds |
//! |---|---|---|---|
//! | maximum likelihood | gamma of known shape, variance of a normal law | [`gamma_mle`] | [`gamma_mle_bounds`] |
//! | MAP | the same | [`gamma_map`] | [`gamma_map_bound`], [`normal_variance_map_bound`], [`mean_ratio_bounds`] |
//! | its bias and variance | the same | [`gamma_map_parts`] | [`gamma_map_variance_bound`] |
//! | maximum likelihood | normal covariance, mean 0 | [`covariance_mle`] | [`covariance_mle_bound`] |
//! | maximum likelihood | normal mean and covariance | [`normal_vector_mle`] | |
//! | MAP | normal mean and variance | [`normal_map`] | |
//! | both | normal mean (quadratic `A`) | [`quadratic_mle`], [`quadratic_map`] | [`smooth_map_bound`], [`lipschitz_map_bound`] |
//! | MAP | categories, counts | [`categorical_map`], [`poisson_map`] | |
//! | both | any | [`monte_carlo`] | `d / (2 n)` for large `n`: [`asymptotic`] |
//!
//! All risks are in nats. An infinite risk is `+inf`. Invalid arguments give NaN: shapes, weights and rates that are
//! not positive and finite, negative numbers of observations, and probabilities that do not sum to 1. Reference: R. Le
//! Priol, PhD thesis 2021, sections 5.3 to 5.5 and appendices 5.A to 5.E. The closed forms for normal mean with
//! variance or covariance are not in the thesis.

mod exact;
mod simulate;

pub use exact::{
    asymptotic, categorical_map, covariance_mle, covariance_mle_bound, gamma_map, gamma_map_bound,
    gamma_map_parts, gamma_map_symmetrised, gamma_map_variance_bound, gamma_mle, gamma_mle_bounds,
    lipschitz_map_bound, mean_ratio, mean_ratio_bounds, normal_map, normal_variance_map_bound,
    normal_vector_mle, poisson_map, quadratic_map, quadratic_mle, sample_size, smooth_map_bound,
};
pub use simulate::{BiasVariance, Simulated, bias_variance, monte_carlo};
