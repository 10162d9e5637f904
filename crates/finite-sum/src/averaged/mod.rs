//! Constant-step stochastic gradient descent (SGD) with averaging of the parameters, or of the predictions.
//!
//! ```text
//! theta_n = theta_{n-1} - g ((a'(phi_n.theta_{n-1}) - y_n) phi_n + l2 theta_{n-1})
//! ```
//!
//! Here `phi_n` are the features and `y_n` the target of row `n`, and `a'` is the mean function of an exponential
//! family ([`MeanFunction`]). With a constant step `g` the iterates do not converge. They fluctuate with a covariance
//! of order `g`. Averaging the parameters removes most of this error, and leaves an excess loss of order `g^2`.
//! Averaging the *predictions* `a'(phi.theta_n)` is another estimate, which is not a linear model. If the linear
//! model is wrong, it can be better than the best linear model. If the linear model is right, it can be worse than
//! averaged parameters.
//!
//! | predictor | cost of a query | when |
//! |---|---|---|
//! | [`Predictor::Parameters`] | O(d) | the model is right, or the step small |
//! | [`Predictor::Exact`] | O(d) per snapshot | the reference: the mean over stored iterates |
//! | [`Predictor::Gaussian`] | O(d^2) | the mean over a normal law with mean and covariance of the iterates |
//! | [`Predictor::Taylor`] | O(d^2) | the formula of the thesis; at large steps it can leave the mean domain, and is clamped |
//!
//! There are two ways to use kernels. [`KernelSgd`] is exact and costs O(n^2). Nystrom features
//! (`fenchel_linalg::factor::Nystrom`, in the feature `factor`) and [`RandomFeatures`] compute rows for
//! [`AveragedSgd`].
//!
//! SGD is stable for steps up to about `2 / (max a'' R^2)`, where `R^2` is the mean of `|phi|^2`. The default of
//! [`AveragedSettings::step`] is half of that. The implicit step ([`Update::Implicit`]) is stable for every step size, and is the
//! one to use for [`Poisson`], whose `a''` has no bound. By default the data are read once, because the theory requires that
//! each step uses a new sample.
//!
//! Reference: D. Babichev, PhD thesis 2019, chapter 3 (D. Babichev, F. Bach, "Constant step size stochastic gradient
//! descent for probabilistic modeling", 2018). The thesis prints the logistic `a(t)` as `log(1 + e^-t)`, but uses
//! `log(1 + e^t)`. Its Laplacian kernel lacks the minus sign.

mod expansion;
mod family;
mod features;
mod kernel;
mod method;
mod predict;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod update_tests;

pub use expansion::{StationaryExpansion, stationary_expansion};
pub use family::{Bernoulli, Gaussian, MeanFunction, Poisson};
pub use features::RandomFeatures;
pub use kernel::{KernelSgd, laplacian_kernel};
pub use method::{AveragedSettings, AveragedSgd, Update, averaged_sgd};
pub use predict::{Predictions, Predictor};
