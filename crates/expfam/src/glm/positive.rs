//! Families of positive targets: gamma and inverse Gaussian, with the links of their natural parameters.

use serde::{Deserialize, Serialize};

use super::families::ScalarFamily;
use crate::divergence::phi;
use crate::families::ln_gamma_density;

/// Gamma targets; `eta = -1 / mu`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reciprocal;

impl ScalarFamily for Reciprocal {
    const NAME: &'static str = "gamma";
    const LINK: &'static str = "-1/mu";
    const KNOWN_DISPERSION: bool = false;
    const TARGETS: &'static str = "a finite number > 0";
    const PREDICTORS: &'static str = "a number < 0";

    fn in_domain(&self, eta: f64) -> bool {
        eta < 0.0
    }

    fn log_partition(&self, eta: f64) -> f64 {
        if eta < 0.0 { -(-eta).ln() } else { f64::INFINITY }
    }

    fn mean(&self, eta: f64) -> f64 {
        -1.0 / eta
    }

    fn variance(&self, eta: f64) -> f64 {
        1.0 / (eta * eta)
    }

    fn link(&self, mu: f64) -> f64 {
        -1.0 / mu
    }

    fn accepts(&self, y: f64) -> bool {
        y > 0.0 && y.is_finite()
    }

    fn deviance(&self, y: f64, mu: f64) -> f64 {
        2.0 * phi(mu, y)
    }

    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, dispersion: f64) -> f64 {
        let a = weight / dispersion;
        ln_gamma_density(a, a * y / mu, a.ln() + y.ln() - mu.ln()) - y.ln()
    }
}

/// Inverse Gaussian targets; `eta = -1 / (2 mu^2)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InverseSquare;

impl ScalarFamily for InverseSquare {
    const NAME: &'static str = "inverse gaussian";
    const LINK: &'static str = "-1/(2 mu^2)";
    const KNOWN_DISPERSION: bool = false;
    const TARGETS: &'static str = "a finite number > 0";
    const PREDICTORS: &'static str = "a number < 0";

    fn in_domain(&self, eta: f64) -> bool {
        eta < 0.0
    }

    fn log_partition(&self, eta: f64) -> f64 {
        if eta < 0.0 { -(-2.0 * eta).sqrt() } else { f64::INFINITY }
    }

    fn mean(&self, eta: f64) -> f64 {
        1.0 / (-2.0 * eta).sqrt()
    }

    fn variance(&self, eta: f64) -> f64 {
        (-2.0 * eta).powf(-1.5)
    }

    fn link(&self, mu: f64) -> f64 {
        -0.5 / (mu * mu)
    }

    fn accepts(&self, y: f64) -> bool {
        y > 0.0 && y.is_finite()
    }

    fn deviance(&self, y: f64, mu: f64) -> f64 {
        (y - mu) * (y - mu) / (mu * mu * y)
    }

    fn log_likelihood(&self, y: f64, mu: f64, weight: f64, dispersion: f64) -> f64 {
        let l = weight / dispersion;
        0.5 * ((l / (std::f64::consts::TAU * y * y * y)).ln() - l * self.deviance(y, mu))
    }
}
