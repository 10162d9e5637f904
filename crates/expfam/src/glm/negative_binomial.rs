//! Negative binomial regression: counts with the variance `mu + mu^2 / size`, for a known size.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{log1mexp, sigmoid, softplus};
use serde::{Deserialize, Serialize};

use super::ScalarFamily;
use crate::divergence::phi;
use crate::special::ln_binomial;

/// Negative binomial targets of known size `r`, with variance `mu + mu^2 / r` and log link. `r = 1` is the geometric
/// law.
///
/// The link is not canonical, but the loss `(y + r) log(r + e^eta) - y eta` is convex. Standard errors use the expected
/// Hessian and dispersion 1, as R's `glm(y ~ x, MASS::negative.binomial(r))` does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Size")]
pub struct NegativeBinomialLog {
    /// `r > 0`, which R calls theta.
    pub size: f64,
}

/// Negative binomial targets of known size `r`, with the canonical link `eta = log(mu / (mu + r)) < 0`. `r = 1` is the
/// geometric law.
///
/// `e^eta` is the probability of one more event before the next failure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Size")]
pub struct NegativeBinomialCanonical {
    /// `r > 0`.
    pub size: f64,
}

/// The contents of a file.
#[derive(Deserialize)]
struct Size {
    size: f64,
}

impl TryFrom<Size> for NegativeBinomialLog {
    type Error = Invalid;

    fn try_from(read: Size) -> Result<Self, Invalid> {
        let family = NegativeBinomialLog { size: read.size };
        family.check().map(|()| family)
    }
}

impl TryFrom<Size> for NegativeBinomialCanonical {
    type Error = Invalid;

    fn try_from(read: Size) -> Result<Self, Invalid> {
        let family = NegativeBinomialCanonical { size: read.size };
        family.check().map(|()| family)
    }
}

impl NegativeBinomialLog {
    /// Size 1.
    pub const GEOMETRIC: Self = NegativeBinomialLog { size: 1.0 };
}

impl NegativeBinomialCanonical {
    /// Size 1.
    pub const GEOMETRIC: Self = NegativeBinomialCanonical { size: 1.0 };
}

/// `2 (y log(y / mu) - (y + r) log((y + r) / (mu + r)))`, by divergences, whose first orders are gone.
fn deviance(r: f64, y: f64, mu: f64) -> f64 {
    let count = if y == 0.0 { mu } else { y * phi(y, mu) };
    (2.0 * (count - (y + r) * phi(y + r, mu + r))).max(0.0)
}

fn log_likelihood(r: f64, y: f64, mu: f64, weight: f64) -> f64 {
    let log_q = -(mu / r).ln_1p();
    if y == 0.0 {
        return weight * r * log_q;
    }
    // r / (y + r) times a binomial probability.
    let log_p = if mu < r { (mu / (mu + r)).ln() } else { -(r / mu).ln_1p() };
    weight * (ln_binomial(r, y, (log_q, log_p)) - (y / r).ln_1p())
}

impl ScalarFamily for NegativeBinomialLog {
    const NAME: &'static str = "negative binomial";
    const LINK: &'static str = "log";
    const KNOWN_DISPERSION: bool = true;
    const TARGETS: &'static str = "a finite number >= 0";

    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_positive("size", self.size)
    }

    fn log_partition(&self, _: f64) -> f64 {
        0.0
    }

    fn mean(&self, eta: f64) -> f64 {
        eta.exp()
    }

    fn variance(&self, eta: f64) -> f64 {
        // r mu / (r + mu)
        self.size * sigmoid(eta - self.size.ln())
    }

    fn link(&self, mu: f64) -> f64 {
        mu.ln()
    }

    fn loss(&self, y: f64, eta: f64) -> f64 {
        let (r, log) = (self.size, self.size.ln());
        let t = eta - log;
        if t > 0.0 {
            // The terms in y t cancel, which are far larger than the loss at large means.
            r * t + (y + r) * softplus(-t) - y * log
        } else {
            (y + r) * softplus(t) - y * eta
        }
    }

    fn slope(&self, y: f64, eta: f64) -> f64 {
        // r (mu - y) / (mu + r)
        let t = eta - self.size.ln();
        self.size * sigmoid(t) - y * sigmoid(-t)
    }

    fn curvature(&self, y: f64, eta: f64) -> f64 {
        let t = eta - self.size.ln();
        (y + self.size) * sigmoid(t) * sigmoid(-t)
    }

    fn accepts(&self, y: f64) -> bool {
        y >= 0.0 && y.is_finite()
    }

    fn deviance(&self, y: f64, mu: f64) -> f64 {
        deviance(self.size, y, mu)
    }

    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, _: f64) -> f64 {
        log_likelihood(self.size, y, mu, weight)
    }

    fn recedes(&self, y: f64, z: f64) -> bool {
        z == 0.0 || (y == 0.0 && z < 0.0)
    }
}

impl ScalarFamily for NegativeBinomialCanonical {
    const NAME: &'static str = "negative binomial";
    const LINK: &'static str = "log(mu/(mu+size))";
    const KNOWN_DISPERSION: bool = true;
    const TARGETS: &'static str = "a finite number >= 0";
    const PREDICTORS: &'static str = "a number < 0";

    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_positive("size", self.size)
    }

    fn in_domain(&self, eta: f64) -> bool {
        eta < 0.0
    }

    fn log_partition(&self, eta: f64) -> f64 {
        if eta < 0.0 { -self.size * log1mexp(-eta) } else { f64::INFINITY }
    }

    fn mean(&self, eta: f64) -> f64 {
        self.size / (-eta).exp_m1()
    }

    fn variance(&self, eta: f64) -> f64 {
        // mu (1 + mu / r)
        let odds = 1.0 / (-eta).exp_m1();
        self.size * odds * (1.0 + odds)
    }

    fn link(&self, mu: f64) -> f64 {
        -(self.size / mu).ln_1p()
    }

    fn accepts(&self, y: f64) -> bool {
        y >= 0.0 && y.is_finite()
    }

    fn deviance(&self, y: f64, mu: f64) -> f64 {
        deviance(self.size, y, mu)
    }

    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, _: f64) -> f64 {
        log_likelihood(self.size, y, mu, weight)
    }

    fn recedes(&self, y: f64, z: f64) -> bool {
        z == 0.0 || (y == 0.0 && z < 0.0)
    }
}
