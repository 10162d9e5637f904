//! Generalised linear models with canonical links.
//!
//! ```text
//! p(y | x) = h(y) exp((y eta - a(eta)) w / phi),     eta = x.beta + b + offset,     E[y | x] = a'(eta)
//! ```
//!
//! | family | `a(eta)` | mean | targets | dispersion |
//! |---|---|---|---|---|
//! | [`Logistic`] | `log(1 + e^eta)` | `1 / (1 + e^-eta)` | 0 to 1; shares with weights as numbers of trials | 1 |
//! | [`LogLinear`] | `e^eta` | `e^eta` | `>= 0` | 1 |
//! | [`Identity`] | `eta^2 / 2` | `eta` | real | estimated |
//! | [`Reciprocal`] | `-log(-eta)` | `-1 / eta` | `> 0` | estimated |
//! | [`InverseSquare`] | `-sqrt(-2 eta)` | `1 / sqrt(-2 eta)` | `> 0` | estimated |
//!
//! [`Glm`] fits by Newton's method ([`fenchel_optim::newton`](mod@fenchel_optim::newton)) on the convex negative log-likelihood; the
//! certificate is the norm of its gradient. An exposure is an offset `log(exposure)` of [`LogLinear`]. The gamma and inverse
//! Gaussian links are those of the natural parameter: coefficients have the opposite sign of R's `inverse` and `1/mu^2` (and half
//! the size in the second case).
//!
//! Reference: Le Priol (2.32); Babichev, section 3.4.

mod families;
mod fit;
mod objective;
mod summary;

pub use families::{Identity, InverseSquare, LogLinear, Logistic, Reciprocal, ScalarFamily};
pub use fit::{Glm, GlmModel};
pub use summary::{Coefficient, GlmSummary};
