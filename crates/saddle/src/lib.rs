//! Convex-concave saddle points, solved with a certificate.
//!
//! ```text
//! min_x max_y  f(x, y),   f convex in x, concave in y
//! ```
#![forbid(unsafe_code)]

mod error;
mod games;
mod mirror_descent;
mod mirror_prox;
mod problem;
pub mod setup;
mod walk;

pub use error::Error;
pub use games::{MatrixGame, matrix_game, sampled_game, value_bounds};
pub use mirror_descent::{
    MirrorDescent, MirrorDescentSettings, Oracle, Potential, mirror_descent,
    stochastic_mirror_descent,
};
pub use mirror_prox::{MirrorProx, MirrorProxSettings, mirror_prox};
pub use problem::{SaddleProblem, SaddleState};
pub use setup::Setup;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
