//! Gaussian graphical models: estimation of conditional independence graphs through sparse precision matrices.
//!
//! ```text
//! x ~ N(mu, Theta^-1),   Theta_ij = 0  <=>  x_i and x_j are independent given all others
//! ```
//!
//! | question | use |
//! |---|---|
//! | a sparse precision matrix with a proof of accuracy | [`GraphicalLasso`], [`graphical_lasso`] |
//! | which penalty | [`GraphicalLassoCv`], [`Path::ebic`], [`stars`](fn@stars), [`stability_selection`](fn@stability_selection) |
//! | variables that were never observed | [`LatentGraphicalLasso`] |
//! | outputs given inputs | [`GaussianCrf`] |
//! | several groups of samples, several graphs that are alike | [`joint`] |
//! | density, samples, conditional distributions | [`GaussianModel`] |
//! | graphs and matrices with a known truth | [`synthetic`] |
//!
//! The README of the crate has the full table of choices.
#![forbid(unsafe_code)]

mod admm;
pub mod bethe;
mod chow_liu;
pub mod conditional;
mod cross_validation;
mod error;
mod estimator;
mod gabp;
pub mod glasso;
mod inference;
pub mod item_field;
pub mod joint;
pub mod laplacian;
pub mod latent;
pub mod missing;
mod model;
mod neighbourhood;
pub mod partial;
mod path;
mod penalty;
pub mod problem;
pub mod rank;
mod refit;
pub mod reweighted;
pub mod scale_free;
mod select;
mod shortcut;
mod shrinkage;
mod singular;
mod statistics;
pub mod synthetic;
pub mod threshold;

pub use fenchel_graphical::{Graph, Labels};
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::random::stream;
pub use fenchel_optim::{Fit, Progress, Report, Status, Stop};

pub use chow_liu::chow_liu;
pub use conditional::{GaussianCrf, GaussianCrfModel};
pub use cross_validation::{CrossValidated, GraphicalLassoCv};
pub use error::Error;
pub use estimator::{GraphicalLasso, Scale};
pub use gabp::{GaussianBeliefs, gaussian_belief_propagation};
pub use glasso::{GlassoSettings, GlassoState, Method, Precision, graphical_lasso};
pub use inference::{Bootstrap, Debiased, bootstrap, debiased};
pub use item_field::{ItemField, ItemFieldModel, Ratings};
pub use latent::{LatentGraphicalLasso, LatentModel};
pub use model::{Gaussian, GaussianModel, graph_of, partial_correlations, sample};
pub use neighbourhood::{
    Neighbourhoods, SupportRule, neighbourhood_scores, neighbourhood_selection,
};
pub use partial::PartialCorrelationLasso;
pub use path::{Path, PathPoint, grid};
pub use penalty::Weights;
pub use problem::Problem;
pub use rank::{Repaired, nearest_correlation, nonparanormal};
pub use refit::refit;
pub use scale_free::{DegreePrior, ScaleFree};
pub use select::{Stability, Stars, StarsSettings, stability_selection, stars};
pub use shortcut::{MaxProduct, Shortcut, max_product, shortcut};
pub use shrinkage::{Shrunk, ledoit_wolf};
pub use statistics::{AsStatistics, Statistics};

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
