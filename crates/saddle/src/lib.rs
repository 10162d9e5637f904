//! Convex-concave saddle points, solved with a certificate.
//!
//! ```text
//! min_x max_y  f(x, y),   f convex in x, concave in y
//! ```
#![forbid(unsafe_code)]

mod error;
mod estimator;
mod games;
mod lp;
mod mirror_descent;
mod mirror_prox;
pub mod multiclass;
mod pdhg;
mod problem;
pub mod setup;
mod walk;

pub use error::Error;
pub use estimator::{ClassWeights, MulticlassL1, MulticlassL1Model, Radius, SaddleStep, Solver};
pub use games::{MatrixGame, exact_game, matrix_game, sampled_game, value_bounds};
pub use lp::{LinearProgram, LpOutcome, LpSettings, LpSolution, linear_program};
pub use mirror_descent::{
    At, MirrorDescent, MirrorDescentSettings, Oracle, Potential, mirror_descent,
    stochastic_mirror_descent,
};
pub use mirror_prox::{MirrorProx, MirrorProxSettings, mirror_prox};
pub use multiclass::{
    Draw, Dual, Geometry, HingeBilinear, Law, Multiclass, MulticlassLoss, Primal, Sampler, Samples,
    Sampling, Sublinear, SublinearSettings, SublinearState, sublinear,
};
pub use pdhg::{Bilinear, Pdhg, PdhgSettings, PdhgState, pdhg};
pub use problem::{SaddleProblem, SaddleState};
pub use setup::Setup;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
