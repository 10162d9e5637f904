//! Gaussian graphical models: estimation of conditional independence graphs through sparse precision matrices.
//!
//! ```math
//! x \sim N(\mu, \Theta^{-1}), \qquad \Theta_{ij} = 0 \iff x_i \text{ and } x_j \text{ are independent given all others}
//! ```
//!
//! | question | use |
//! |---|---|
//! | a sparse precision matrix with a proof of accuracy | [`GraphicalLasso`], [`glasso`] |
//! | which penalty, which edges | [`GraphicalLassoCv`], [`path`], [`select`], [`inference`] |
//! | variables that were never observed | [`LatentGraphicalLasso`] |
//! | outputs given inputs | [`GaussianCrf`] |
//! | several groups of samples, several graphs that are alike | [`joint`] |
//! | density, samples, conditional distributions | [`GaussianModel`] |
//! | graphs and matrices with a known truth | [`synthetic`] |
//!
//! The README of the crate has the full table of choices.
#![forbid(unsafe_code)]

mod admm;
mod anderson;
pub mod bethe;
mod chow_liu;
pub mod conditional;
pub mod covariance;
pub mod cross_validation;
mod data;
mod error;
mod estimator;
pub mod glasso;
pub mod inference;
pub mod item_field;
pub mod joint;
pub mod latent;
pub mod model;
pub mod neighbourhood;
mod partial;
pub mod path;
mod penalty;
#[cfg(feature = "plot")]
mod plot;
mod problem;
mod refit;
pub mod reweighted;
pub mod scale_free;
pub mod select;
pub mod shortcut;
mod singular;
mod statistics;
pub mod synthetic;
pub mod threshold;

pub use fenchel_optim::model::Saved;
pub use fenchel_optim::{Fit, Status, Stop};

pub use chow_liu::chow_liu;
pub use conditional::GaussianCrf;
pub use cross_validation::GraphicalLassoCv;
pub use data::AsStatistics;
pub use error::Error;
pub use estimator::GraphicalLasso;
pub use glasso::Method;
pub use item_field::{ItemField, Ratings};
pub use latent::LatentGraphicalLasso;
pub use model::{GaussianModel, sample};
pub use partial::PartialCorrelationLasso;
pub use penalty::PenaltyWeights;
pub use refit::refit;
pub use scale_free::ScaleFree;
pub use statistics::{Scale, Statistics};

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
