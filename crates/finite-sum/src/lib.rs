//! Certified solvers for regularised empirical risk of linear models,
//!
//! ```math
//! F(x, b) = \frac{1}{n} \sum_{i=1}^n \phi(a_i \cdot x + b; \, y_i) + \frac{l_2}{2} \|x\|^2 + h(x).
//! ```
//!
//! A [`Problem`] borrows the data and is checked once. The estimators ([`LogisticRegression`], [`Lasso`] and their kin) and
//! [`auto`](fn@auto) choose a method; [`methods`] has all of them, as functions of the problem, settings, a start and an
//! observer. What comes back is a state (ready for a warm start) and a report whose certificate is a duality gap at the
//! returned point.
//!
//! | module | what |
//! |---|---|
//! | [`estimators`] | which estimator to take; cross-validation; penalties from `C` |
//! | [`methods`] | solvers for a [`Problem`], their settings and states |
//! | [`loss`], [`prox`] | what a problem is made of |
//! | [`path`] | solutions for a falling sequence of penalties |
//! | [`multiclass`] | several classes |
//! | [`general`] | terms that are no function of a margin |
//! | [`averaged`] | predictors that are averaged along the way, for streams |
//! | [`prelude`] | what generic code needs of the crates below |
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `A`, `a_i` | design, its rows | `n x d`, `d` |
//! | `x`, `b` | weights, intercept: a [`Point`] | `d`, 1 |
//! | `t_i = a_i.x + b` | margins | `n` |
//! | `s_i` | stored derivatives or dual variables | `n` |
//! | `mu` | strong convexity, `l2` and what the regulariser adds | |
//! | `L` | smoothness of a term, `gamma max \|\|a_i\|\|^2 + l2` | |
//!
//! A pass is `n` term gradients. When `n mu >= L` (the big-data condition), every incremental method needs
//! about ten passes, and permuted [`sdca`](fn@methods::sdca) is the fastest; below, [`catalyst`](fn@methods::catalyst)
//! accelerates it. With few features, or features of very different scale, [`newton`](fn@methods::newton) needs a handful
//! of expensive steps whatever the conditioning. `docs/sources/finite-sum.md` has the table of choices, and the sources.
//!
//! The problem, the methods and `auto` come from `fenchel-erm`, which can be used alone.
#![forbid(unsafe_code)]

pub mod averaged;
pub mod estimators;
pub mod general;
pub mod path;
#[cfg(feature = "plot")]
mod plot;

pub use estimators::{
    ClassWeights, ElasticNet, ElasticNetCv, GroupLasso, Lasso, LassoCv, LinearModel, LinearSvc,
    LinearSvcCv, LogisticModel, LogisticRegression, LogisticRegressionCv, OneVsRest, Penalised,
    PoissonModel, PoissonRegressor, Ridge, RidgeCv, SoftmaxModel, SoftmaxRegression,
    SoftmaxRegressionCv, Standardiser, SvcLoss, SvcModel,
};
pub use fenchel_erm::{
    AutoSettings, Composite, Error, Method, Point, Problem, auto, loss, methods, multiclass,
    prelude, prox,
};
pub use fenchel_optim::Fit;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
