//! How far an estimate is from the truth: the expected divergence `E KL(p* || p_hat)` after `n` observations, exactly where it is
//! known, else bounded or simulated.
//!
//! | estimate | family | exact | bounds |
//! |---|---|---|---|
//! | maximum likelihood | gamma of known shape, variance of a normal law | [`gamma_mle`] | [`gamma_mle_bounds`] |
//! | MAP | the same | [`gamma_map`] | [`gamma_map_bound`], [`mean_ratio_bounds`] |
//! | maximum likelihood | normal covariance, mean 0 | [`covariance_mle`] | [`covariance_mle_bound`] |
//! | maximum likelihood | normal mean and covariance | [`normal_vector_mle`] | |
//! | MAP | normal mean and variance | [`normal_map`] | |
//! | both | normal mean (quadratic `A`) | [`quadratic_mle`], [`quadratic_map`] | |
//! | MAP | categories, counts | [`categorical_map`], [`poisson_map`] | |
//! | both | any | [`monte_carlo`] | `d / (2 n)` for large `n`: [`asymptotic`] |
//!
//! All risks are in nats. A risk without bound is `+inf`. Arguments that are no such thing give NaN: shapes,
//! weights and rates that are not positive and finite, negative numbers of observations, probabilities that do not
//! add up to 1. Reference: R. Le Priol, PhD thesis 2021, sections 5.3 to 5.5 and appendices 5.A to 5.E. The
//! whole-family closed forms are not in the thesis.

mod exact;
mod simulate;

pub use exact::{
    asymptotic, categorical_map, covariance_mle, covariance_mle_bound, gamma_map, gamma_map_bound,
    gamma_map_symmetrised, gamma_mle, gamma_mle_bounds, mean_ratio, mean_ratio_bounds, normal_map,
    normal_vector_mle, poisson_map, quadratic_map, quadratic_mle, sample_size,
};
pub use simulate::{BiasVariance, Simulated, bias_variance, monte_carlo};
