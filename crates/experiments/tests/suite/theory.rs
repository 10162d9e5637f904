//! Closed formulas of R. Le Priol, PhD thesis 2021, which the tests compare with draws: expectations under the priors, and the
//! bound of averaged stochastic gradient descent.

use fenchel_causal::categorical::CategoricalPair;
use fenchel_experiments::causal::methods::theory::expected_partition_variance;
use fenchel_linalg::special::{digamma, trigamma};
use ndarray::Array1;

/// `|n - s_X|^2` as `K` times the variance of the log-partition functions over the states of X: proposition 4.B.6, equation (4.46).
pub(crate) fn partition_variance(pair: &CategoricalPair) -> f64 {
    let a = Array1::from(pair.partitions());
    a.len() as f64 * a.var(0.0)
}

/// Expected squared distances and divergences for a prior with `p_X ~ Dir(1)`, rows `Dir(l)` and interventions
/// `Dir(1)`, each with K states.
pub(crate) struct Expected {
    /// Cause: `E delta_causal = (K - 1) pi^2 / 3`; of the joint model it is K times as much.
    pub(crate) cause_causal: f64,
    /// Cause: `E KL(p* || p) = 1 - 1/K`.
    pub(crate) cause_kl: f64,
    /// Effect: `E delta_causal = K (K - 1) (psi'(l) + psi'(1))`.
    pub(crate) effect_causal: f64,
    /// Effect: `E KL(p* || p) = psi(2) - psi(K + 1) - psi(l) + psi(K l)`: explodes for small l.
    pub(crate) effect_kl: f64,
    /// Effect: `E (delta_causal - delta_anti)` of proposition 4.5.2, `(K - 1)^2 pi^2 / 3`. It is known for `l = 1/K` only, where the
    /// effect has the law of the cause.
    pub(crate) effect_delta: Option<f64>,
    /// Effect: `E R^2` of proposition 4.5.2, `K^2 / (K - 1) (psi'(1/K)/K - psi'(1))`, for `l = 1/K` only.
    pub(crate) radius_sq: Option<f64>,
}

/// The expectations for rows `Dir(l, ..., l)`: `l = 1` dense, `l = 1/K` sparse.
pub(crate) fn expected(k: usize, concentration: f64) -> Expected {
    let n = k as f64;
    let cause_causal = 2.0 * (n - 1.0) * trigamma(1.0);
    let sparse = |value: f64| (n * concentration == 1.0).then_some(value);
    Expected {
        cause_causal,
        cause_kl: 1.0 - 1.0 / n,
        effect_causal: n * (n - 1.0) * (trigamma(concentration) + trigamma(1.0)),
        effect_kl: digamma(2.0) - digamma(n + 1.0) - digamma(concentration)
            + digamma(n * concentration),
        effect_delta: sparse((n - 1.0) * cause_causal),
        radius_sq: sparse((n / (n - 1.0)).powi(2) * expected_partition_variance(k, concentration)),
    }
}

/// A bound on the mean suboptimality of averaged stochastic gradient descent with step size `c / sqrt(T)` after T
/// steps: `(distance^2 / c + c B^2) / (2 sqrt(T))`. It holds for convex losses whose gradients have norm at most B.
/// Every mechanism contributes 2 to `B^2`: it is 4 for the directed categorical models and 2 for the joint one.
/// Equation (4.7) and theorem 4.A.1.
pub(crate) fn asgd_bound(distance_sq: f64, gradient_sq: f64, c: f64, steps: usize) -> f64 {
    (distance_sq / c + c * gradient_sq) / (2.0 * (steps as f64).sqrt())
}

/// The constant step size that minimises [`asgd_bound`] for T steps: `distance / (B sqrt(T))`. The bound is then
/// `distance B / sqrt(T)`. Equation (4.7).
pub(crate) fn asgd_step(distance_sq: f64, gradient_sq: f64, steps: usize) -> f64 {
    (distance_sq / gradient_sq / steps as f64).sqrt()
}

/// Expectations under the normal prior of appendix 4.F, with `n0 = 2K + 2`, scale s of the conditional precision, and standard
/// deviation tau of the slopes.
pub(crate) struct ExpectedNormal {
    /// Cause: `E delta_causal` in natural parameters, `4 (K + 1)^2 / K + 2`.
    pub(crate) cause_natural: f64,
    /// Cause: `E KL`, `K/2 + 3K / (4 (K + 1))`.
    pub(crate) cause_kl: f64,
    /// Effect: `E delta_causal` in natural parameters.
    pub(crate) effect_natural: f64,
    /// Effect: `E KL`.
    pub(crate) effect_kl: f64,
}

/// The expectations for dimension K, scale s and slope deviation tau.
pub(crate) fn expected_normal(dimension: usize, scale: f64, tau: f64) -> ExpectedNormal {
    let (k, s, t2) = (dimension as f64, scale, tau * tau);
    let n0 = 2.0 * k + 2.0;
    let w = (k + 1.0) * (k + 1.0) / k;
    ExpectedNormal {
        cause_natural: 4.0 * w + 2.0,
        cause_kl: k / 2.0 + 3.0 * k / (4.0 * (k + 1.0)),
        effect_natural: s * s * 6.0 * w * (1.0 + k * t2) + 6.0 * w - 8.0 * s * w + s + 1.0,
        effect_kl: 0.5
            * (2.0 * k * s - k - k * s.ln()
                + 2.0 * s * t2 * k * k * (1.0 + 1.0 / n0)
                + k / n0
                + 2.0 * k * s / n0),
    }
}
