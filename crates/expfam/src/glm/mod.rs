//! Generalised linear models.
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
//! | [`NegativeBinomialCanonical`] | `-r log(1 - e^eta)` | `r / (e^-eta - 1)` | `>= 0` | 1; the size `r` is given |
//! | [`NegativeBinomialLog`] | log link, a convex loss | `e^eta` | `>= 0` | 1; the size `r` is given |
//!
//! # How it is fitted
//! By Newton's method ([`fenchel_optim::newton`](mod@fenchel_optim::newton)) on the convex negative log-likelihood. With many more rows
//! than coefficients (40 rows a coefficient, and these at most 40 % of all) the steps are L-BFGS that begins with the Hessian of
//! some rows: a step is then one look at the data.
//!
//! The certificate of the fitted point is a proved gap for the logistic, Poisson and normal families: their third derivatives are at most
//! a multiple of the second, so that gradient and Hessian at a point bound the suboptimality (Bach 2010), without a dual point. It is there
//! once the point is close, as converged ones are. While the method runs, after a fit that ended far away, and for the other families,
//! whose curvature grows without such a bound or is not that of a canonical link, it is the norm of the gradient, each coordinate in
//! units of what cancels in it.
//!
//! The solvers of `fenchel-finite-sum` are not used. Their certificate is a duality gap, and it needs what is missing here: an
//! `l2 > 0` (without it no dual point is feasible before the optimum), one loss for all rows (an offset gives each row its own, whose
//! conjugate has a linear term), and losses that are finite everywhere (half of these families end at `eta = 0`). Without a gap a
//! model of few coefficients is best solved by its own Hessian, which the standard errors need in any case.
//!
//! An exposure is an offset `log(exposure)` of [`LogLinear`]. The gamma and inverse
//! Gaussian links are those of the natural parameter: coefficients have the opposite sign of R's `inverse` and `1/mu^2` (and half
//! the size in the second case).
//!
//! Reference: Le Priol (2.32); Babichev, section 3.4.

mod batch;
mod certificate;
mod checks;
mod families;
mod fit;
mod negative_binomial;
mod objective;
mod summary;

pub use families::{Identity, InverseSquare, LogLinear, Logistic, Reciprocal, ScalarFamily};
pub use fit::{Glm, GlmModel};
pub use negative_binomial::{NegativeBinomialCanonical, NegativeBinomialLog};
pub use summary::{Coefficient, GlmSummary};
