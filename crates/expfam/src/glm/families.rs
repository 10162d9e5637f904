//! The conditional families of generalised linear models, with one natural parameter each.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{ln_gamma, sigmoid, softplus, xlogx};
use serde::{Deserialize, Serialize};

use super::batch;
use crate::divergence::phi;
use crate::special::{deviance, ln_binomial, logit, stirling_error};

/// A family with one parameter `eta`, with the functions that a generalised linear model needs. The loss of a row is convex in `eta`.
///
/// With the canonical link the loss is `a(eta) - y eta`, and the default implementations of [`loss`](Self::loss),
/// [`slope`](Self::slope) and [`curvature`](Self::curvature) apply.
pub trait ScalarFamily: Sync {
    /// Its name in messages and summaries.
    const NAME: &'static str;
    /// The name of its link.
    const LINK: &'static str;
    /// Whether the dispersion is known to be 1.
    const KNOWN_DISPERSION: bool;
    /// The condition on targets, for messages.
    const TARGETS: &'static str;

    /// The condition on linear predictors, for messages.
    const PREDICTORS: &'static str = "a finite number";

    /// `a(eta)`, `+inf` outside of the domain. Of another than the canonical link: 0 inside.
    fn log_partition(&self, eta: f64) -> f64;
    /// `E y`: `a'(eta)`.
    fn mean(&self, eta: f64) -> f64;
    /// The expected second derivative of the loss: `a''(eta)`.
    fn variance(&self, eta: f64) -> f64;
    /// The `eta` with mean `mu`.
    fn link(&self, mu: f64) -> f64;
    /// Whether a target is in the closed mean domain.
    fn accepts(&self, y: f64) -> bool;
    /// `2 KL` between the members of means `y` and `mu` at dispersion 1: the deviance of one observation.
    fn deviance(&self, y: f64, mu: f64) -> f64;
    /// `log p(y)` at mean `mu`, weight `w` and dispersion `phi`.
    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, dispersion: f64) -> f64;

    /// The smallest `M` with `|a'''| <= M a''` everywhere, for the canonical link; `None` if there is none. With `M`, the gradient and
    /// the Hessian give a proved bound on the suboptimality.
    fn third_over_second(&self) -> Option<f64> {
        None
    }

    /// Checks the fixed quantities of the family.
    ///
    /// # Errors
    /// [`Invalid::Parameter`].
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Whether `eta` is in the open domain.
    fn in_domain(&self, eta: f64) -> bool {
        eta.is_finite()
    }

    /// Whether loss, deviance and likelihood depend on the difference `y - eta` alone, up to a term of the target alone. Targets far
    /// from 0 are then centred.
    fn shifts(&self) -> bool {
        false
    }

    /// The part of the negative log-likelihood that depends on `eta`; `+inf` outside of the domain.
    fn loss(&self, y: f64, eta: f64) -> f64 {
        self.log_partition(eta) - y * eta
    }

    /// Its derivative.
    fn slope(&self, y: f64, eta: f64) -> f64 {
        self.mean(eta) - y
    }

    /// Its second derivative.
    fn curvature(&self, y: f64, eta: f64) -> f64 {
        let _ = y;
        self.variance(eta)
    }

    /// Writes `share_i` times the slope of every row, and returns the sum of `share_i` times the loss. Rows of share 0 are ignored,
    /// even outside the domain. Other slopes outside the domain are NaN.
    fn losses(&self, eta: &[f64], y: &[f64], shares: &[f64], slopes: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for (i, slope) in slopes.iter_mut().enumerate() {
            *slope = 0.0;
            if shares[i] > 0.0 {
                let loss = self.loss(y[i], eta[i]);
                sum += shares[i] * loss;
                let inside = loss < f64::INFINITY;
                *slope = if inside { shares[i] * self.slope(y[i], eta[i]) } else { f64::NAN };
            }
        }
        sum
    }

    /// Writes `share_i` times the curvature of every row.
    fn curvatures(&self, eta: &[f64], y: &[f64], shares: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = if shares[i] > 0.0 { shares[i] * self.curvature(y[i], eta[i]) } else { 0.0 };
        }
    }

    /// The deviance at mean `a'(eta)`, also where that mean rounds to the border of its range.
    fn deviance_at(&self, y: f64, eta: f64) -> f64 {
        self.deviance(y, self.mean(eta))
    }

    /// The log-likelihood at mean `a'(eta)`, also where that mean rounds to the border of its range.
    fn log_likelihood_at(&self, y: f64, eta: f64, weight: f64, dispersion: f64) -> f64 {
        self.log_likelihood(y, self.mean(eta), weight, dispersion)
    }

    /// Whether the loss of this target does not increase along the change `z` of `eta`, and strictly decreases if `z` is not 0. If this
    /// holds for all rows, the likelihood has no maximum.
    fn recedes(&self, y: f64, z: f64) -> bool {
        let _ = y;
        z == 0.0
    }
}

/// Bernoulli targets, or shares of successes with the numbers of trials as weights; logit link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logistic;

impl ScalarFamily for Logistic {
    const NAME: &'static str = "binomial";
    const LINK: &'static str = "logit";
    const KNOWN_DISPERSION: bool = true;
    const TARGETS: &'static str = "a number in [0, 1]";

    /// `a''' = a'' (1 - 2 mu)`.
    fn third_over_second(&self) -> Option<f64> {
        Some(1.0)
    }

    fn log_partition(&self, eta: f64) -> f64 {
        softplus(eta)
    }

    fn mean(&self, eta: f64) -> f64 {
        sigmoid(eta)
    }

    fn variance(&self, eta: f64) -> f64 {
        sigmoid(eta) * sigmoid(-eta)
    }

    fn link(&self, mu: f64) -> f64 {
        logit(mu)
    }

    fn accepts(&self, y: f64) -> bool {
        (0.0..=1.0).contains(&y)
    }

    fn deviance(&self, y: f64, mu: f64) -> f64 {
        2.0 * (xlogx(y) - cross(y, mu) + xlogx(1.0 - y) - cross(1.0 - y, 1.0 - mu))
    }

    fn losses(&self, eta: &[f64], y: &[f64], shares: &[f64], slopes: &mut [f64]) -> f64 {
        batch::logistic_losses(eta, y, shares, slopes)
    }

    fn curvatures(&self, eta: &[f64], _: &[f64], shares: &[f64], out: &mut [f64]) {
        batch::logistic_curvatures(eta, shares, out);
    }

    fn deviance_at(&self, y: f64, eta: f64) -> f64 {
        (2.0 * (xlogx(y) + xlogx(1.0 - y) + surprise(y, eta))).max(0.0)
    }

    fn log_likelihood_at(&self, y: f64, eta: f64, weight: f64, _: f64) -> f64 {
        match successes(y, weight) {
            Some(x) => {
                let off = weight * y - x;
                ln_binomial(x, weight - x, (-softplus(-eta), -softplus(eta))) + off * eta
            }
            None => -weight * surprise(y, eta),
        }
    }

    fn recedes(&self, y: f64, z: f64) -> bool {
        z == 0.0 || (y == 0.0 && z < 0.0) || (y == 1.0 && z > 0.0)
    }

    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, _: f64) -> f64 {
        match successes(y, weight) {
            Some(x) => ln_binomial(x, weight - x, (mu.ln(), (-mu).ln_1p())),
            None => weight * (cross(y, mu) + cross(1.0 - y, 1.0 - mu)),
        }
    }
}

/// `-y log p - (1 - y) log(1 - p)` with the log-odds `eta` of `p`, finite where `p` rounds to 0 or 1.
fn surprise(y: f64, eta: f64) -> f64 {
    match y {
        0.0 => softplus(eta),
        1.0 => softplus(-eta),
        y => y * softplus(-eta) + (1.0 - y) * softplus(eta),
    }
}

/// The `w y` successes in `w` trials whose order counts as one way: unless all or none are, or a number is not whole.
fn successes(y: f64, weight: f64) -> Option<f64> {
    let x = (weight * y).round();
    let whole = weight.fract() == 0.0 && (weight * y - x).abs() < 1e-6_f64.max(1e-15 * weight);
    (whole && x > 0.0 && x < weight).then_some(x)
}

/// `y log mu - mu - log Gamma(y + 1)`, for large counts by C. Loader's saddle-point form.
fn ln_poisson(y: f64, mu: f64, ln_mu: f64) -> f64 {
    if y < 10.0 {
        return if y == 0.0 { -mu } else { y * ln_mu - mu - ln_gamma(y + 1.0) };
    }
    -deviance(y, mu, ln_mu) - 0.5 * (std::f64::consts::TAU * y).ln() - stirling_error(y)
}

/// `y log mu`, 0 at `y = 0`.
pub(super) fn cross(y: f64, mu: f64) -> f64 {
    if y == 0.0 { 0.0 } else { y * mu.ln() }
}

/// Poisson targets; log link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoissonLog;

impl ScalarFamily for PoissonLog {
    const NAME: &'static str = "poisson";
    const LINK: &'static str = "log";
    const KNOWN_DISPERSION: bool = true;
    const TARGETS: &'static str = "a finite number >= 0";

    /// `a''' = a''`.
    fn third_over_second(&self) -> Option<f64> {
        Some(1.0)
    }

    fn log_partition(&self, eta: f64) -> f64 {
        eta.exp()
    }

    fn mean(&self, eta: f64) -> f64 {
        eta.exp()
    }

    fn variance(&self, eta: f64) -> f64 {
        eta.exp()
    }

    fn link(&self, mu: f64) -> f64 {
        mu.ln()
    }

    fn accepts(&self, y: f64) -> bool {
        y >= 0.0 && y.is_finite()
    }

    fn deviance(&self, y: f64, mu: f64) -> f64 {
        if y == 0.0 { 2.0 * mu } else { 2.0 * y * phi(y, mu) }
    }

    fn losses(&self, eta: &[f64], y: &[f64], shares: &[f64], slopes: &mut [f64]) -> f64 {
        batch::log_linear_losses(eta, y, shares, slopes)
    }

    fn curvatures(&self, eta: &[f64], _: &[f64], shares: &[f64], out: &mut [f64]) {
        batch::log_linear_curvatures(eta, shares, out);
    }

    fn deviance_at(&self, y: f64, eta: f64) -> f64 {
        let mu = eta.exp();
        // A mean that underflows still has a logarithm.
        if mu > 0.0 { self.deviance(y, mu) } else { 2.0 * (xlogx(y) - y * eta - y) }
    }

    fn log_likelihood_at(&self, y: f64, eta: f64, weight: f64, _: f64) -> f64 {
        weight * ln_poisson(y, eta.exp(), eta)
    }

    fn recedes(&self, y: f64, z: f64) -> bool {
        z == 0.0 || (y == 0.0 && z < 0.0)
    }

    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, _: f64) -> f64 {
        weight * ln_poisson(y, mu, mu.ln())
    }
}

/// Normal targets; identity link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity;

impl ScalarFamily for Identity {
    const NAME: &'static str = "gaussian";
    const LINK: &'static str = "identity";
    const KNOWN_DISPERSION: bool = false;
    const TARGETS: &'static str = "a finite number";

    /// `a''' = 0`.
    fn third_over_second(&self) -> Option<f64> {
        Some(0.0)
    }

    fn shifts(&self) -> bool {
        true
    }

    fn log_partition(&self, eta: f64) -> f64 {
        0.5 * eta * eta
    }

    fn mean(&self, eta: f64) -> f64 {
        eta
    }

    fn variance(&self, _: f64) -> f64 {
        1.0
    }

    fn link(&self, mu: f64) -> f64 {
        mu
    }

    fn accepts(&self, y: f64) -> bool {
        y.is_finite()
    }

    fn deviance(&self, y: f64, mu: f64) -> f64 {
        (y - mu) * (y - mu)
    }

    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, dispersion: f64) -> f64 {
        let v = dispersion / weight;
        -0.5 * ((y - mu) * (y - mu) / v + (std::f64::consts::TAU * v).ln())
    }
}
