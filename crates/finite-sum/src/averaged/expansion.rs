//! The limit of constant-step SGD, to first order in the step. A simulation can be compared with it.
//!
//! Let `theta*` be the best linear model, `F* = F(theta*)` its expected loss, `H = F''(theta*)` the Hessian and `S`
//! the covariance of the stochastic gradients there. `C` is the solution of the Lyapunov equation `H C + C H = S`.
//! Iterates with step `g` fluctuate around `theta* + g D` with covariance `g C`, where `D = -H^-1 E[a''' (phi'C phi)
//! phi] / 2`. The expected losses of the estimates exceed `F*` by
//!
//! | estimate | excess |
//! |---|---|
//! | last iterate | `g B`, `B = tr(H C) / 2 = tr(S) / 4` |
//! | averaged parameters | `g^2 B_parameters`, `B_parameters = D'H D / 2` |
//! | averaged predictions | `g B_wrong + g^2 B_right` |
//!
//! If the model is correct, averaged predictions lose `B_right = -D'H D / 2 + E[(a'''^2 / a'') (phi'C phi)^2] / 8`.
//! If the model is wrong, there is the further term `B_wrong = E[(a''' / (2 a'')) (phi'C phi) (mu* - mu**)]`, which
//! may have either sign. Here `mu* = a'(phi.theta*)` is the prediction of the best linear model and `mu** = E[y | x]`
//! the true mean. The term is 0 if they agree.
//!
//! Source: D. Babichev, PhD thesis 2019, section 3.5 and appendix 3.9 (Proposition 3.1). The printed version loses
//! the double bars of the averages of predictions. Its term in `D'phi` is 0, because `E[(mu* - mu**) phi] = 0`.

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::MeanFunction;
use crate::Error;

/// The result of [`stationary_expansion`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StationaryExpansion {
    /// The best linear model `theta*`.
    pub best: Vec<f64>,
    /// `F* = E[a(phi.theta*) - mu** phi.theta*]`.
    pub best_loss: f64,
    /// `C`, row by row. The covariance of the iterates is `g C`.
    pub covariance: Vec<f64>,
    /// `B`, the coefficient of the last iterate.
    pub last: f64,
    /// `B_parameters`.
    pub parameters: f64,
    /// `B_wrong`.
    pub predictions_wrong: f64,
    /// `B_right`.
    pub predictions_right: f64,
}

impl StationaryExpansion {
    /// Excess of averaged predictions over `F*` at step `g`.
    pub fn predictions(&self, g: f64) -> f64 {
        g * self.predictions_wrong + g * g * self.predictions_right
    }
}

/// Computes the expansion for a distribution of the data on finitely many points, for instance a quadrature rule. The
/// arguments are the features (one row per point), the weights of the points (normalised here), `mu** = E[y | x]`,
/// and the variance of `y` given `x`.
///
/// Cost: O(n d^2) per Newton step for the best model, and O(d^3).
///
/// # Errors
/// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::NotPositiveDefinite`] if features are linearly dependent, or if the
/// curvature vanishes on the way to parameters that would be infinite; [`Invalid::Layout`] if there is no best model for that
/// reason and the curvature does not vanish.
pub fn stationary_expansion<M: MeanFunction>(
    family: &M,
    features: ArrayView2<f64>,
    weights: &[f64],
    means: &[f64],
    variances: &[f64],
) -> Result<StationaryExpansion, Error> {
    let (n, d) = features.dim();
    for (what, values) in [("weights", weights), ("means", means), ("variances", variances)] {
        Invalid::check_length(what, n, values.len())?;
        Invalid::check_finite(what, values)?;
    }
    Invalid::check_weights("weights", n, weights.iter())?;
    variances.iter().try_for_each(|&v| Invalid::check_nonnegative("variance", v))?;
    let mut entries = features.indexed_iter();
    if let Some(((row, column), &value)) = entries.find(|(_, x)| !x.is_finite()) {
        return Err(Invalid::NonFinite { what: "features", row, column, value }.into());
    }
    let total: f64 = weights.iter().sum();
    Invalid::check_positive("sum of the weights", total)?;
    let weights: Array1<f64> = weights.iter().map(|w| w / total).collect();
    let weighted =
        |f: &dyn Fn(usize) -> f64| -> Array1<f64> { (0..n).map(|i| weights[i] * f(i)).collect() };
    // E[f phi phi'] and E[f phi].
    let square = |f: &dyn Fn(usize) -> f64| {
        let scaled = &features * &weighted(f).insert_axis(Axis(1));
        features.t().dot(&scaled)
    };
    let vector = |f: &dyn Fn(usize) -> f64| features.t().dot(&weighted(f));
    let loss = |eta: &Array1<f64>| -> f64 {
        (0..n).map(|i| weights[i] * (family.log_partition(eta[i]) - means[i] * eta[i])).sum()
    };

    let mut theta = Array1::<f64>::zeros(d);
    let mut eta = features.dot(&theta);
    // Without a best model every Newton step moves some eta by about 1.
    let mut moved = f64::INFINITY;
    for _ in 0..100 {
        let gradient = vector(&|i| family.mean(eta[i]) - means[i]);
        let factor = Cholesky::new(square(&|i| family.variance(eta[i])).view())?;
        let step = factor.solve(gradient.view())?;
        moved = features.dot(&step).iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        let before = loss(&eta);
        let mut size = 1.0;
        loop {
            let next = &theta - &(&step * size);
            let there = features.dot(&next);
            if loss(&there) <= before + 1e-15 * before.abs() || size < 1e-10 {
                (theta, eta) = (next, there);
                break;
            }
            size *= 0.5;
        }
        if step.iter().zip(&theta).all(|(s, t)| s.abs() <= 1e-14 * (1.0 + t.abs())) {
            break;
        }
    }

    if !(moved <= 0.1) {
        let (what, reason) = ("means", "no linear model is best, its parameters would be infinite");
        return Err(Invalid::Layout { what, reason: reason.into() }.into());
    }

    let hessian = square(&|i| family.variance(eta[i]));
    let noise = square(&|i| (family.mean(eta[i]) - means[i]).powi(2) + variances[i]);
    let covariance = lyapunov(&hessian, &noise)?;
    let image = features.dot(&covariance);
    let spread: Vec<f64> = (0..n).map(|i| image.row(i).dot(&features.row(i))).collect();
    let factor = Cholesky::new(hessian.view())?;
    let bend = vector(&|i| family.third(eta[i]) * spread[i]);
    let shift = factor.solve(bend.view())? * -0.5;
    let parameters = 0.5 * shift.dot(&hessian.dot(&shift));
    let ratio = |i: usize| family.third(eta[i]) / family.variance(eta[i]);
    let right = weighted(&|i| ratio(i) * family.third(eta[i]) * spread[i] * spread[i]).sum() / 8.0;
    let wrong = weighted(&|i| 0.5 * ratio(i) * spread[i] * (family.mean(eta[i]) - means[i])).sum();
    Ok(StationaryExpansion {
        best_loss: loss(&eta),
        best: theta.to_vec(),
        last: 0.25 * noise.diag().sum(),
        covariance: covariance.iter().copied().collect(),
        parameters,
        predictions_wrong: wrong,
        predictions_right: right - parameters,
    })
}

/// Solves the Lyapunov equation `H C + C H = S` for a positive definite `H`, by Smith's doubling of the Cayley
/// transform. The convergence is quadratic.
fn lyapunov(h: &Array2<f64>, s: &Array2<f64>) -> Result<Array2<f64>, Invalid> {
    let d = h.nrows();
    let mu = h.diag().sum() / d as f64;
    let eye = Array2::<f64>::eye(d) * mu;
    let factor = Cholesky::new((h + &eye).view())?;
    // A = (mu - H)(mu + H)^-1, Q = 2 mu (mu + H)^-1 S (mu + H)^-1; both symmetric, as H and its functions commute.
    let mut a = factor.solve_matrix((&eye - h).view())?;
    let half = factor.solve_matrix(s.view())?;
    let mut q = factor.solve_matrix(half.t())? * (2.0 * mu);
    for _ in 0..60 {
        let add = a.dot(&q).dot(&a.t());
        q = &q + &add;
        a = a.dot(&a);
        if add.iter().zip(&q).all(|(x, q)| x.abs() <= 1e-17 * q.abs()) {
            break;
        }
    }
    Ok((&q + &q.t()) * 0.5)
}
