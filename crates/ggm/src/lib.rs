//! Gaussian graphical models: which variables depend on one another directly.
//!
//! ```text
//! x ~ N(mu, Theta^-1),   Theta_ij = 0  <=>  x_i and x_j are independent given all others
//! ```
//!
//! | question | use |
//! |---|---|
//! | a sparse precision matrix with a proof of accuracy | [`GraphicalLasso`], [`graphical_lasso`] |
//! | which penalty | [`GraphicalLassoCv`], [`Path::ebic`], [`stars`](fn@stars), [`stability_selection`](fn@stability_selection) |
//! | density, samples, conditional distributions | [`GaussianModel`] |
//! | graphs and matrices with a known truth | [`synthetic`] |
//!
//! The crate's README has the whole table of choices.
#![forbid(unsafe_code)]

mod error;
mod estimator;
pub mod glasso;
mod model;
mod path;
mod penalty;
pub mod problem;
mod select;
mod statistics;
pub mod synthetic;
mod watch;

pub use error::Error;
pub use estimator::{GraphicalLasso, Scale};
pub use glasso::{GlassoSettings, GlassoState, Method, Precision, graphical_lasso};
pub use model::{Gaussian, GaussianModel, graph_of, partial_correlations, sample};
pub use path::{Path, PathPoint, grid};
pub use penalty::Weights;
pub use problem::Problem;
pub use select::{
    CrossValidated, GraphicalLassoCv, Stability, Stars, StarsSettings, stability_selection, stars,
};
pub use statistics::Statistics;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
