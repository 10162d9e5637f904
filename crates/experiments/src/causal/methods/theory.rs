//! Closed formulas for the speed of adaptation after an intervention. The speed depends on the squared distance `delta`
//! between the parameters of a model before the intervention and those after it. This module computes `delta` for the
//! causal and the anticausal model, the expectation of `delta` under the priors, and bounds on the error of stochastic
//! gradient descent as functions of `delta`. The table gives the main results; numbers in its last column refer to
//! R. Le Priol, PhD thesis 2021.
//!
//! | intervention | result | function |
//! |---|---|---|
//! | on the cause | `delta_anti = K_y delta_causal + (d s_Y)^2`: at least K times as far | proposition 4.5.1 |
//! | on the effect | `delta_causal - delta_anti = (K - 1) (d(s*_Y, c)^2 - R^2)`: the anticausal model is closer outside a ball | [`effect_ball`] |
//! | on one row | `delta_anti = (K - 1)/K delta_causal + (d s_Y)^2 + (K - 1) (d A(x0))^2` | (4.48) |
//!
//! Under the dense prior the ball is tiny. So after an intervention on the effect, the *anticausal* model is nearly
//! always the closer one: the model that adapts fastest need not be the causal one.
//!
//! Source: R. Le Priol, PhD thesis 2021, propositions 4.5.1 and 4.5.2, appendices 4.A.1, 4.B, 4.C.3, 4.D.1. Where this
//! module corrects the thesis, the function says so.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{digamma, trigamma};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use fenchel_causal::Error;
use fenchel_causal::categorical::{Anova, CategoricalPair};

/// Where the new scores of the effect must lie for the causal model to be closer: within a ball.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectBall {
    /// `c = (K m - s_Y) / (K - 1)`.
    pub centre: Array1<f64>,
    /// `R^2`.
    pub radius_sq: f64,
    /// The squared distance of the new scores from the centre.
    pub deviation_sq: f64,
    /// `delta_causal - delta_anti`: above 0 the anticausal model is closer.
    pub delta: f64,
}

/// The ball of R. Le Priol, PhD thesis 2021, proposition 4.5.2, and the position of new scores of Y relative to it. X
/// and Y must have equally many states.
///
/// The squared radius is computed as the sum of squares `R^2 = K/(K-1) (|n - s_X|^2 + |m - s_Y|^2 / (K-1))`. Equation
/// (4.43) of Le Priol's thesis gives the same number as a difference, which loses digits by cancellation.
///
/// # Errors
/// [`Error::Invalid`] for different numbers of states, fewer than two, or scores of the wrong length or not finite.
pub fn effect_ball(
    pair: &CategoricalPair,
    effect: ArrayView1<'_, f64>,
) -> Result<EffectBall, Error> {
    let anova = Anova::of(pair);
    let (kx, ky) = anova.interaction.dim();
    Invalid::check_length("states of Y", kx, ky)?;
    Invalid::check_length("scores of the effect", ky, effect.len())?;
    Invalid::check_finite("scores of the effect", &effect.to_vec())?;
    if kx < 2 {
        let value = kx as f64;
        return Err(
            Invalid::Parameter { name: "number of states", value, expected: "at least 2" }.into()
        );
    }
    let k = kx as f64;
    let square = |v: Array1<f64>| v.mapv(|e| e * e).sum();
    let mean = effect.sum() / effect.len() as f64;
    let scores = effect.mapv(|s| s - mean);
    let centre = (&anova.column * k - &anova.marginal_y) / (k - 1.0);
    let n = square(&anova.row - &anova.marginal_x);
    let m = square(&anova.column - &anova.marginal_y);
    let radius_sq = k / (k - 1.0) * (n + m / (k - 1.0));
    let deviation_sq = square(&scores - &centre);
    let delta = (k - 1.0) * (deviation_sq - radius_sq);
    Ok(EffectBall { centre, radius_sq, deviation_sq, delta })
}

/// `|n - s_X|^2` as `K` times the variance of the log-partition functions over the states of X. Source: R. Le Priol, PhD thesis 2021,
/// proposition 4.B.6, equation (4.46).
pub fn partition_variance(pair: &CategoricalPair) -> f64 {
    let a = Array1::from(pair.partitions());
    a.len() as f64 * a.var(0.0)
}

/// `E |n - s_X|^2 = (K - 1) (psi'(l)/K - psi'(K l))` for rows drawn from `Dir(l, ..., l)`, with the trigamma function
/// `psi'`. This is K times the variance of the log-partition functions, and the leading part of the squared radius.
///
/// Le Priol (PhD thesis 2021, appendix 4.B.3) estimates the radius by treating `LSE(s)` and `mean(s)` as independent
/// ([`radius_sq_thesis`]). In fact their covariance is `psi'(K l)`, which changes the sign of one term.
pub fn expected_partition_variance(k: usize, concentration: f64) -> f64 {
    let k = k as f64;
    (k - 1.0) * (trigamma(concentration) / k - trigamma(k * concentration))
}

/// The estimate of the squared radius in R. Le Priol, PhD thesis 2021: `K psi'(K l) + psi'(l)`, the red lines of figure
/// 4.7b. It is too large; see [`expected_partition_variance`].
pub fn radius_sq_thesis(k: usize, concentration: f64) -> f64 {
    let k = k as f64;
    k * trigamma(k * concentration) + trigamma(concentration)
}

/// Expected squared distances and divergences for a prior with `p_X ~ Dir(1)`, rows `Dir(l)` and interventions
/// `Dir(1)`, each with K states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Cause: `E delta_causal = (K - 1) pi^2 / 3`.
    pub cause_causal: f64,
    /// Cause: `E delta_joint`, K times as much.
    pub cause_joint: f64,
    /// Cause: `E KL(p* || p) = 1 - 1/K`.
    pub cause_kl: f64,
    /// Effect: `E delta_causal = K (K - 1) (psi'(l) + psi'(1))`.
    pub effect_causal: f64,
    /// Effect: `E KL(p* || p) = psi(2) - psi(K + 1) - psi(l) + psi(K l)`: explodes for small l.
    pub effect_kl: f64,
    /// Effect: `E (delta_causal - delta_anti)` of [`effect_ball`], `(K - 1)^2 pi^2 / 3`. It is known for `l = 1/K` only, where the effect
    /// has the law of the cause.
    pub effect_delta: Option<f64>,
    /// Effect: `E R^2` of [`effect_ball`], `K^2 / (K - 1) (psi'(1/K)/K - psi'(1))`, for `l = 1/K` only.
    pub radius_sq: Option<f64>,
}

/// The expectations for rows `Dir(l, ..., l)`: `l = 1` dense, `l = 1/K` sparse.
///
/// # Errors
/// [`Error::Invalid`] for fewer than two states or a concentration that is not positive.
pub fn expected(k: usize, concentration: f64) -> Result<Expected, Error> {
    Invalid::check_positive("concentration", concentration)?;
    if k < 2 {
        let value = k as f64;
        return Err(
            Invalid::Parameter { name: "number of states", value, expected: "at least 2" }.into()
        );
    }
    let n = k as f64;
    let cause_causal = 2.0 * (n - 1.0) * trigamma(1.0);
    let sparse = |value: f64| (n * concentration == 1.0).then_some(value);
    Ok(Expected {
        cause_causal,
        cause_joint: n * cause_causal,
        cause_kl: 1.0 - 1.0 / n,
        effect_causal: n * (n - 1.0) * (trigamma(concentration) + trigamma(1.0)),
        effect_kl: digamma(2.0) - digamma(n + 1.0) - digamma(concentration)
            + digamma(n * concentration),
        effect_delta: sparse((n - 1.0) * cause_causal),
        radius_sq: sparse((n / (n - 1.0)).powi(2) * expected_partition_variance(k, concentration)),
    })
}

/// A bound on the mean suboptimality of averaged stochastic gradient descent with step size `c / sqrt(T)` after T
/// steps: `(distance^2 / c + c B^2) / (2 sqrt(T))`. It holds for convex losses whose gradients have norm at most B.
///
/// Every mechanism contributes 2 to `B^2`: it is 4 for the directed categorical models and 2 for the joint one.
///
/// Source: R. Le Priol, PhD thesis 2021, equation (4.7) and theorem 4.A.1.
pub fn asgd_bound(distance_sq: f64, gradient_sq: f64, c: f64, steps: usize) -> f64 {
    (distance_sq / c + c * gradient_sq) / (2.0 * (steps as f64).sqrt())
}

/// The constant step size that minimises [`asgd_bound`] for T steps: `distance / (B sqrt(T))`. The bound is then
/// `distance B / sqrt(T)`.
///
/// Source: R. Le Priol, PhD thesis 2021, equation (4.7).
pub fn asgd_step(distance_sq: f64, gradient_sq: f64, steps: usize) -> f64 {
    (distance_sq / gradient_sq / steps as f64).sqrt()
}

/// A bound on the mean suboptimality of the proximal method with step size `c / sqrt(T)`, `c <= 1 / (5 B)`, for losses
/// that are convex and B-smooth: `(distance^2 / c + (5/2) c noise) / sqrt(T) + gap / T`. Here
/// `noise = E |grad f_i(opt) - grad f(opt)|^2`, and `gap` is the suboptimality of the start.
///
/// This corrects theorem 4.D.2 and equation (4.22) of R. Le Priol, PhD thesis 2021, which have no noise term. Without
/// it the bound would imply that a run started at the optimum stays there. The error in the proof is that it replaces
/// `E f_i(theta_{t+1})` by `E f(theta_{t+1})` although the iterate depends on i. The corrected proof uses the
/// three-point inequality of the proximal step, smoothness, and Young's inequality on the noise `e_t`:
///
/// ```text
/// step E[F(t+1) - F*] <= E d_t^2 / 2 - E d_{t+1}^2 / 2 + step^2 E |e_t|^2 / (2 (1 - step B))
/// E |e_t|^2 <= 4 B (F(t) - F*) + 2 noise       by co-coercivity
/// ```
///
/// Summing over t, with `step B <= 1/5`, gives the bound.
pub fn proximal_bound(distance_sq: f64, noise: f64, gap: f64, c: f64, steps: usize) -> f64 {
    let t = steps as f64;
    (distance_sq / c + 2.5 * c * noise) / t.sqrt() + gap / t
}

/// Expectations under the normal prior of R. Le Priol, PhD thesis 2021, appendix 4.F, with `n0 = 2K + 2`, scale s of
/// the conditional precision, and standard deviation tau of the slopes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExpectedNormal {
    /// Cause: `E delta_causal` in natural parameters, `4 (K + 1)^2 / K + 2`.
    pub cause_natural: f64,
    /// Cause: `E KL`, `K/2 + 3K / (4 (K + 1))`.
    pub cause_kl: f64,
    /// Effect: `E delta_causal` in natural parameters.
    pub effect_natural: f64,
    /// Effect: `E KL`.
    pub effect_kl: f64,
}

/// The expectations for dimension K, scale s and slope deviation tau.
pub fn expected_normal(dimension: usize, scale: f64, tau: f64) -> ExpectedNormal {
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
