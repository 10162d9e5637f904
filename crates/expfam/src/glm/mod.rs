//! Generalised linear models.
//!
//! ```text
//! p(y | x) = h(y) exp((y eta - a(eta)) w / phi),     eta = x.beta + b + offset,     E[y | x] = a'(eta)
//! ```
//!
//! | family | law | `a(eta)` | mean | targets | dispersion |
//! |---|---|---|---|---|---|
//! | [`Logistic`] | binomial | `log(1 + e^eta)` | `1 / (1 + e^-eta)` | 0 to 1; shares with weights as numbers of trials | 1 |
//! | [`PoissonLog`] | Poisson | `e^eta` | `e^eta` | `>= 0` | 1 |
//! | [`Identity`] | normal | `eta^2 / 2` | `eta` | real | estimated |
//! | [`Reciprocal`] | gamma | `-log(-eta)` | `-1 / eta` | `> 0` | estimated |
//! | [`InverseSquare`] | inverse Gaussian | `-sqrt(-2 eta)` | `1 / sqrt(-2 eta)` | `> 0` | estimated |
//! | [`NegativeBinomialCanonical`] | negative binomial | `-r log(1 - e^eta)` | `r / (e^-eta - 1)` | `>= 0` | 1; the size `r` is given |
//! | [`NegativeBinomialLog`] | negative binomial | log link, a convex loss | `e^eta` | `>= 0` | 1; the size `r` is given |
//!
//! # How it is fitted
//! The model is fitted by Newton's method ([`fenchel_optim::newton`](mod@fenchel_optim::newton)) on the convex negative
//! log-likelihood. Another method is used if there are many more rows than coefficients, that is, if 40 rows per
//! coefficient are at most 40 % of all rows. Then the steps are L-BFGS steps, preconditioned with the Hessian of a
//! subset of the rows, and each step is one pass over the data.
//!
//! For the logistic, Poisson and normal families, the certificate of the fitted point is a proved bound on the
//! suboptimality. These families have third derivatives that are at most a multiple of the second, so the gradient and
//! the Hessian at a point give a bound without a dual point (Bach 2010). The bound exists once the point is close to
//! the optimum, as converged points are. In all other cases the certificate is the norm of the gradient, with each
//! coordinate measured relative to the terms that cancel in it. These cases are: while the method runs, after a fit
//! that ended far from the optimum, and the other families, whose curvature has no such bound or whose link is not
//! canonical.
//!
//! The solvers of `fenchel-finite-sum` are not used, because their certificate is a duality gap. That gap needs
//! `l2 > 0`: without it no dual point is feasible before the optimum. It also needs the same loss for all rows, but an
//! offset gives each row its own loss. And it needs losses that are finite everywhere, but half of these families have
//! the domain `eta < 0`. Without a gap, a model with few coefficients is best solved with its own Hessian, which the
//! standard errors need in any case.
//!
//! With an intercept, columns whose mean is more than eight times their standard deviation are centred first, in a copy.
//! Coefficients, standard errors and certificate are then those of the same column around 0. The intercept and its variance
//! are transformed back. The targets of the identity link, less their offsets, are centred likewise if they are that far from 0. The
//! objective in the report is that of the targets as they were given; a closure that watches sees that of the centred ones, which
//! differs by a constant.
//!
//! An exposure is an offset `log(exposure)` of [`PoissonLog`]. The links of the gamma and inverse Gaussian families are
//! those of the natural parameter. So their coefficients have the opposite sign of those in R with the links `inverse`
//! and `1/mu^2`, and half the size in the second case.
//!
//! References: R. Le Priol, PhD thesis 2021, equation (2.32); D. Babichev, PhD thesis 2019, section 3.4.

mod batch;
mod centre;
mod certificate;
mod checks;
mod families;
mod fit;
mod model;
mod negative_binomial;
mod objective;
#[cfg(feature = "plot")]
mod plot;
mod positive;
mod summary;
mod targets;

pub use families::{Identity, Logistic, PoissonLog, ScalarFamily};
pub use fit::Glm;
pub use model::GlmModel;
pub use negative_binomial::{NegativeBinomialCanonical, NegativeBinomialLog};
pub use positive::{InverseSquare, Reciprocal};
pub use summary::{Coefficient, GlmSummary, wald_quantile};
pub use targets::Targets;
