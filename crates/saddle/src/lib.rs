//! Convex-concave saddle point problems, solved with a certificate.
//!
//! ```math
//! \min_x \max_y f(x, y), \quad f \text{ convex in } x \text{, concave in } y; \qquad \mathrm{gap}(x, y) = \max_{y^*} f(x, y^*) - \min_{x^*} f(x^*, y)
//! ```
//!
//! | you have | use |
//! |---|---|
//! | several classes, a linear classifier with few weights | [`MulticlassL1`] |
//! | a matrix game | [`matrix_game`], [`exact_game`], [`sampled_game`] |
//! | a linear program | [`linear_program`] |
//! | a saddle point problem of your own, in a geometry of [`setup`](mod@setup) | [`SaddleProblem`] with [`mirror_pdhg`](fn@methods::mirror_pdhg) or [`mirror_prox`](fn@methods::mirror_prox) |
//! | a polyhedral problem of your own, for many digits | [`Bilinear`] with [`pdhg`](fn@methods::pdhg) |
//! | one convex function | [`minimise`] |
//!
//! The README has a table of the methods with their guarantees, and `docs/sources/saddle.md` the errors that were found in the
//! document.
#![forbid(unsafe_code)]

mod active;
pub mod conjugate;
mod error;
mod estimator;
mod games;
mod lp;
pub mod methods;
pub mod minimise;
pub mod multiclass;
pub mod norms;
mod problem;
pub mod setup;
mod spectral;

pub use error::Error;
pub use estimator::{ClassWeights, MulticlassL1, MulticlassL1Model, Radius, SaddleStep, Solver};
pub use fenchel_linalg::{AsDesign, CsrMatrix};
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::{Cadence, Certificate, Fit, Progress, Report, Status, StepSize, Stop};
pub use games::{MatrixGame, exact_game, matrix_game, sampled_game, value_bounds};
pub use lp::{
    LinearProgram, LpOutcome, LpSettings, LpSolution, linear_program, linear_program_with,
};
pub use methods::Bilinear;
pub use multiclass::{MulticlassLoss, Primal};
pub use problem::{SaddleProblem, SaddleState};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
