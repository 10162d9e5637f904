//! Convex-concave saddle point problems, solved with a certificate.
//!
//! ```text
//! min_x max_y  f(x, y),   f convex in x, concave in y;   gap = max_y f(x, .) - min_x f(., y)
//! ```
//!
//! | you have | use |
//! |---|---|
//! | several classes, a linear classifier with few weights | [`MulticlassL1`] |
//! | a matrix game | [`matrix_game`], [`exact_game`], [`sampled_game`] |
//! | a linear program | [`linear_program`] |
//! | a saddle point problem of your own, in a geometry of [`setup`] | [`SaddleProblem`] with [`mirror_pdhg`] or [`mirror_prox`] |
//! | a polyhedral problem of your own, for many digits | [`Bilinear`] with [`pdhg`](fn@pdhg) |
//! | one convex function | [`minimise`] |
//!
//! The README contains a table of the methods with their guarantees, and the errors that were found in the document.
#![forbid(unsafe_code)]

mod active;
mod best;
pub mod conjugate;
mod error;
mod estimator;
mod games;
mod lp;
pub mod minimise;
mod mirror_descent;
mod mirror_pdhg;
mod mirror_prox;
pub mod multiclass;
pub mod norms;
mod pdhg;
mod pdhg_steps;
mod problem;
pub mod setup;
mod spectral;
mod stochastic_mirror_prox;
mod walk;

pub use error::Error;
pub use estimator::{ClassWeights, MulticlassL1, MulticlassL1Model, Radius, SaddleStep, Solver};
pub use fenchel_linalg::{AsDesign, CsrMatrix};
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::{Cadence, Certificate, Fit, Progress, Report, Status, StepSize, Stop};
pub use games::{MatrixGame, exact_game, matrix_game, sampled_game, value_bounds};
pub use lp::{LinearProgram, LpOutcome, LpSettings, LpSolution, linear_program};
pub use mirror_descent::{
    At, MirrorDescent, MirrorDescentSettings, Oracle, Potential, mirror_descent,
    stochastic_mirror_descent,
};
pub use mirror_pdhg::{MirrorPdhg, MirrorPdhgSettings, mirror_pdhg};
pub use mirror_prox::{MirrorProx, MirrorProxSettings, mirror_prox};
pub use multiclass::{
    Draw, Dual, Geometry, HingeBilinear, Law, Multiclass, MulticlassLoss, Primal, Sampler, Samples,
    Sampling, Subgradient, SubgradientSettings, Sublinear, SublinearSettings, SublinearState,
    subgradient, sublinear,
};
pub use pdhg::{Bilinear, Pdhg, PdhgSettings, PdhgState, pdhg};
pub use pdhg_steps::{Pair, Steps};
pub use problem::{SaddleProblem, SaddleState};
pub use setup::Setup;
pub use stochastic_mirror_prox::{StochasticMirrorProx, stochastic_mirror_prox};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
