//! Dimension reduction for regression by the method of moments.
//!
//! The model is `y = g(W' x) + noise`: the response depends on many features through a few linear indices. `W` can be
//! found before `g` is known, because moments of the response with suitable functions of the features lie in the span
//! of `W`.
//!
//! | features | methods |
//! |---|---|
//! | elliptical | [`Sir`]; normal ones also [`Save`], [`Phd`], [`DirectionalRegression`] |
//! | of known density ([`score`]) | [`Sade`], [`Sphd`], [`Ade`], [`PhdPlus`] |
//! | of unknown density | [`LearnedSade`] (two steps), [`DirectSade`] (one); [`ScoreMatching`] learns the score |
//! | any, few samples | [`Opg`], [`Mave`] |
//! | more than samples | [`LassoSir`] |
//!
//! Every method has `fit(data)`, and `fit_with(data, Fit)` for weights, a start and a closure that watches. A fit returns a
//! [`Reduction`]. The modules around the methods:
//!
//! | module | has |
//! |---|---|
//! | [`ellipticity`] | a test which row of the table applies |
//! | [`score`] | densities and their score functions; [`matching`] learns a score |
//! | [`slicing`], [`transform`] | what is done to the response |
//! | [`components`], [`dimension`] | rules for the number of directions, and tests of it |
//! | [`inference`] | confidence regions: [`sir_intervals`](inference::sir_intervals), [`bootstrap`](inference::bootstrap) |
//! | [`regressor`] | prediction from the indices |
//! | [`subspace`] | distances between spans |
//! | [`gmm`] | the general method of moments |
//! | [`reducer`], [`fit`], [`spectrum`], [`blocks`] | what a method of your own needs |
//!
//! [`SliceMoments`] accumulates the sums of a data stream.
//!
//! A method without a setting `max_memory` refuses data for which it needs more than 4 GiB. That is the case from 13,400
//! features on, because of three matrices of `d x d` numbers. Features, weights and responses may have any unit up to where
//! their squares leave the range of floating-point numbers; an error then names the column.
//!
//! Conventions: rows are samples, responses are `f64` or classes, directions are columns. No function reads a file or
//! prints. The seed determines all results to the last bit, whatever the number of threads.
#![forbid(unsafe_code)]

mod accumulate;
pub mod blocks;
mod classic;
pub mod components;
pub mod derivative;
pub mod dimension;
pub mod direct;
mod discrete;
pub mod ellipticity;
mod error;
mod file;
pub mod fit;
mod fits;
pub mod gmm;
pub mod inference;
pub mod matching;
mod mave;
mod neighbours;
mod planes;
#[cfg(feature = "plot")]
mod plot;
pub mod reducer;
mod reduction;
pub mod regressor;
mod resampling;
mod response;
pub mod sade;
pub mod score;
pub mod slicing;
pub mod sparse;
pub mod spectrum;
mod stream;
pub mod subspace;
pub mod synthetic;
pub mod transform;
mod two_step;
mod whitening;

pub use fenchel_optim::model::Saved;
pub use fenchel_optim::{Fit, Progress, Report, Status, Stop};

pub use classic::{DirectionalRegression, Phd, Save, Sir};
pub use components::Components;
pub use derivative::{Ade, PhdPlus, Sphd};
pub use direct::DirectSade;
pub use error::Error;
pub use matching::ScoreMatching;
pub use mave::{Mave, Opg};
pub use reduction::Reduction;
pub use regressor::IndexRegressor;
pub use response::Response;
pub use sade::Sade;
pub use score::{GaussianMixture, ScoreFunction};
pub use slicing::Slicing;
pub use sparse::LassoSir;
pub use stream::SliceMoments;
pub use subspace::trace_error;
pub use two_step::LearnedSade;

/// The example of the README, as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
