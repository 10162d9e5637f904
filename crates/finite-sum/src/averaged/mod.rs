//! Constant-step stochastic gradient descent with averaging: of the parameters, or of the predictions.
//!
//! ```text
//! theta_n = theta_{n-1} - g ((a'(phi_n.theta_{n-1}) - y_n) phi_n + l2 theta_{n-1})
//! ```
//!
//! With a constant step `g` the iterates never settle: they move around with a covariance of order `g`. Averaging the parameters
//! removes most of it and leaves an excess of order `g^2`. Averaging the *predictions* `a'(phi.theta_n)` is another estimate: outside
//! of the linear model. Where the model is wrong it can be better than the best linear model, and worse where it is right.
//!
//! | predictor | cost of a query | when |
//! |---|---|---|
//! | [`Predictor::Parameters`] | O(d) | the model is right, or the step small |
//! | [`Predictor::Exact`] | O(d) a snapshot | the reference: the mean over stored iterates |
//! | [`Predictor::Gaussian`] | O(d^2) | as good, from the mean and covariance of the iterates |
//! | [`Predictor::Taylor`] | O(d^2) | as printed; leaves the domain at large steps, and is clamped there |
//!
//! Kernels: [`KernelSgd`] is exact and O(n^2); Nystrom features (`fenchel_linalg::factor::Nystrom`, of the feature `factor`) or [`RandomFeatures`] make rows
//! for [`AveragedSgd`].
//!
//! Stable steps are about `2 / (max a'' R^2)` and below, with `R^2` the mean of `|phi|^2`; [`AveragedSettings::step`] is half of that
//! by default. Single pass by default: the theory needs fresh samples.
//!
//! Reference: D. Babichev's thesis, chapter 3 (D. Babichev, F. Bach, "Constant step size stochastic gradient descent for
//! probabilistic modeling", 2018). Its logistic `a(t)` is printed as `log(1 + e^-t)` and means `log(1 + e^t)`; its Laplacian kernel
//! lacks the minus sign.

mod expansion;
mod family;
mod features;
mod kernel;
mod method;
#[cfg(test)]
mod tests;

pub use expansion::{StationaryExpansion, stationary_expansion};
pub use family::{Bernoulli, Gaussian, MeanFunction, Poisson};
pub use features::RandomFeatures;
pub use kernel::{KernelSgd, laplacian_kernel};
pub use method::{AveragedSettings, AveragedSgd, Predictions, Predictor, averaged_sgd};
