//! Regularised empirical risk of linear models,
//!
//! ```math
//! F(x, b) = \frac{1}{n} \sum_{i=1}^n \phi(a_i \cdot x + b; \, y_i) + \frac{l_2}{2} \|x\|^2 + h(x)
//! ```
//!
//! the checked [`Problem`], certificates, solvers, and the choice among them. This crate is the lower half of
//! `fenchel-finite-sum`, which adds estimators, paths, cross validation and general sums, and re-exports what is here. Depend on it
//! alone for a solver in a program of your own.
//!
//! | module | what |
//! |---|---|
//! | [`methods`] | solvers for a [`Problem`], their settings and states |
//! | [`auto`](mod@auto) | predicts what each method costs, and runs the cheapest |
//! | [`loss`], [`prox`] | what a problem is made of |
//! | [`multiclass`] | the same for several classes |
//! | [`parts`] | for solvers outside this crate |
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
//! of expensive steps whatever the conditioning.
#![forbid(unsafe_code)]

pub mod auto;
mod capability;
mod centre;
mod error;
mod gap;
pub mod methods;
pub mod multiclass;
mod origin;
pub mod parts;
pub mod prelude;
mod problem;
mod recession;
mod shared;
mod terms;

pub use auto::{AutoSettings, AutoState, Choice, Method, auto};
pub use error::Error;
pub use fenchel_optim::{loss, prox};
pub use methods::lag::Composite;
pub use problem::{Point, Problem};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
