//! Closed formulas for the speed of adaptation after an intervention. The speed depends on the squared distance `delta`
//! between the parameters of a model before the intervention and those after it. The table compares `delta` of the causal
//! and of the anticausal model; numbers in its last column refer to R. Le Priol, PhD thesis 2021. The expectations of
//! `delta` under the priors, and the bound of theorem 4.A.1, stand in the tests that draw against them.
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
use fenchel_linalg::special::trigamma;
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
