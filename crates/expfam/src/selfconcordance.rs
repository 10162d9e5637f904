//! Self-concordance of the conjugate `A*` of the log-partition function, and the quadratic bound on the divergence that
//! follows.
//!
//! A convex function `F` is `M`-self-concordant if `|D^3 F[u,u,u]| <= 2 M (D^2 F[u,u])^(3/2)` for all directions `u`.
//! Let `A*` be `M`-self-concordant, `mu*` the true mean and `mu` an estimate, and `B_A*` the Bregman divergence, which
//! is the `KL` divergence. With `w(t) = -t - log(1 - t)` and the root `t* = 0.2153...` of `w(t / (1 - t)) = t^2`, the
//! bound is
//!
//! ```text
//! M |mu* - mu|_F < t*   ==>   B_A*(mu*; mu) <= |mu* - mu|_F^2,       F = Hess A*(mu*) = I(eta*)^-1.
//! ```
//!
//! R. Le Priol, PhD thesis 2021, states this as proposition 5.5.1 without the constant `M`. The constant is
//! `1 / sqrt(a)` for a gamma law of known shape `a`, and `sqrt(2)` for normal laws. For Bernoulli, categorical and
//! Poisson families, `A*` is not self-concordant with any constant, and [`Family::self_concordance`] is `None`. If `A`
//! is self-concordant, so is `A*`, with the same constant.

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::ArrayView2;

use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::Family;

/// The root `t*` of `w(t / (1 - t)) = t^2`.
pub const RADIUS: f64 = 0.215_344_436_2;

/// `w(t) = -t - log(1 - t)`, `+inf` from 1 on.
pub fn w(t: f64) -> f64 {
    if t < 1.0 { -fenchel_linalg::special::log1pmx(-t) } else { f64::INFINITY }
}

/// `|mu* - mu|_F` with `F = I(eta*)^-1`: the distance of `mu` from the true mean, in units of the standard deviation of
/// the statistic.
///
/// # Errors
/// [`Invalid::Length`]; [`Invalid::NotPositiveDefinite`] where the Fisher information is singular to rounding.
pub fn local_norm<F: Family>(truth: &Distribution<F>, mu: &[f64]) -> Result<f64, Error> {
    let k = truth.family().dimension();
    Invalid::check_length("mean parameter", k, mu.len())?;
    let information = truth.fisher_information();
    let factor = Cholesky::new(ArrayView2::from_shape((k, k), &information).expect("k^2 entries"))?;
    let d: Vec<f64> = truth.mean().iter().zip(mu).map(|(a, b)| a - b).collect();
    let mut solved = d.clone();
    factor.solve_in_place(&mut solved)?;
    Ok(crate::divergence::dot(&d, &solved).max(0.0).sqrt())
}

/// Bounds that self-concordance proves for `B_A*(mu*; mu) = KL(truth || member with mean mu)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalBound {
    /// `|mu* - mu|_F`.
    pub norm: f64,
    /// `w(M |..|_mu) / M^2` with `|..|_mu <= norm / (1 - M norm)`: always an upper bound, perhaps infinite.
    pub bound: f64,
    /// `norm^2`, where `M norm < t*` makes it an upper bound.
    pub quadratic: Option<f64>,
}

/// Upper bounds on the divergence from the truth to the member with mean `mu`.
///
/// # Errors
/// [`Error::Unavailable`] for a family without self-concordance; the errors of [`local_norm`].
pub fn local_bound<F: Family>(truth: &Distribution<F>, mu: &[f64]) -> Result<LocalBound, Error> {
    let Some(m) = truth.family().self_concordance() else {
        return Err(Error::Unavailable {
            family: truth.family().name(),
            what: "the local quadratic bound",
            hint: "the conjugate is not self-concordant with any constant",
        });
    };
    let norm = local_norm(truth, mu)?;
    if m == 0.0 {
        let half = 0.5 * norm * norm;
        return Ok(LocalBound { norm, bound: half, quadratic: Some(norm * norm) });
    }
    let t = m * norm;
    let bound = if t < 1.0 { w(t / (1.0 - t)) / (m * m) } else { f64::INFINITY };
    Ok(LocalBound { norm, bound, quadratic: (t < RADIUS).then_some(norm * norm) })
}

/// The number of observations after which `E |mu* - mu_hat|_F < t*` for maximum likelihood in dimension `d`:
/// `d / t*^2`.
pub fn samples_for_quadratic_regime(dimension: usize) -> f64 {
    dimension as f64 / (RADIUS * RADIUS)
}

/// The same for the maximum a posteriori estimate with a prior of `strength` observations of mean `mu_0`, and
/// `distance = |mu* - mu_0|_F`: `d / t*^2 + strength distance / t* - strength`, at least 0. Then
/// `E |mu* - mu_hat|_F^2 = (n d + strength^2 distance^2) / (n + strength)^2` is at most `t*^2`. The thesis lacks the factor `strength`
/// before the distance. NaN for a strength or a distance that is negative or NaN.
pub fn samples_for_quadratic_regime_map(dimension: usize, strength: f64, distance: f64) -> f64 {
    if !(strength >= 0.0 && distance >= 0.0) {
        return f64::NAN;
    }
    let n = samples_for_quadratic_regime(dimension) + strength * (distance / RADIUS - 1.0);
    if n < 0.0 { 0.0 } else { n }
}
