//! Dimension reduction for regression by the method of moments.
//!
//! The model is `y = g(W' x) + noise`: the response depends on many features through a few linear indices. `W` can be
//! found before `g` is known, because moments of the response with suitable functions of the features lie in the span
//! of `W`.
//!
//! | features | methods |
//! |---|---|
//! | elliptical | [`Sir`]; normal ones also [`Save`], [`Phd`], [`DirectionalRegression`] |
//! | of known density ([`GaussianMixture`], [`ProductMixture`], [`StudentT`], [`FnScore`]) | [`Sade`], [`Sphd`], [`Ade`], [`PhdPlus`] |
//! | of unknown density | [`LearnedSade`] (two steps), [`DirectSade`] (one); [`ScoreMatching`] learns the score |
//! | any, few samples | [`Opg`], [`Mave`] |
//! | more than samples | [`LassoSir`] |
//!
//! [`Ellipticity`] tests which row of the table applies. A fit returns a [`Reduction`]. [`Components`] choose the
//! number of directions, [`sir_intervals`] and [`bootstrap`] give confidence regions for them, and [`IndexRegressor`]
//! predicts from the indices. [`SliceMoments`] accumulates the sums of a data stream. [`scree_svg`] and [`summary_svg`]
//! draw figures. [`method_of_moments`] and [`generalised_method_of_moments`] are the general method of moments.
//!
//! A method without a setting `max_memory` refuses data for which it needs more than 4 GiB. That is the case from 13,400
//! features on, because of three matrices of `d x d` numbers. Features, weights and responses may have any unit up to where
//! their squares leave the range of floating-point numbers; an error then names the column.
//!
//! Conventions: rows are samples, responses are `f64` or classes, directions are columns. No function reads a file or
//! prints. The seed determines all results to the last bit, whatever the number of threads.
#![forbid(unsafe_code)]

mod accumulate;
mod blocks;
mod classic;
pub mod components;
mod derivative;
pub mod direct;
mod ellipticity;
mod error;
mod file;
mod gmm;
mod inference;
pub mod matching;
mod mave;
mod model;
mod neighbours;
mod plot;
mod regressor;
mod response;
pub mod sade;
mod score;
pub mod slicing;
mod sparse;
mod spectrum;
mod stream;
mod subspace;
pub mod synthetic;
mod transform;
mod two_step;
mod weighted;
mod whitening;

pub use blocks::Blocks;
pub use classic::{DirectionalRegression, Phd, Save, Sir};
pub use components::{Components, DimensionTest, chi_square_tests, ladle, permutation_test};
pub use derivative::{Ade, AdeWith, PhdPlus, PhdPlusWith, Sphd, SphdEstimator, SphdWith};
pub use direct::{DirectFit, DirectSade, DirectSolver, Lambda};
pub use ellipticity::{Advice, Ellipticity};
pub use error::Error;
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::{Progress, Report, Status, Stop};
pub use gmm::{
    GmmFit, Moments, gaussian_single_index, generalised_method_of_moments, method_of_moments,
    uniform_from_moments,
};
pub use inference::{
    BootstrapDirections, BootstrapSettings, DirectionIntervals, bootstrap, sir_intervals,
};
pub use matching::{
    Bandwidth, Basis, Centres, LearnedScore, Ridge, ScoreMatching, Selected, Selection,
};
pub use mave::{Mave, Opg};
pub use model::{Reducer, Reduction, fit_blocks, fit_numbers};
pub use plot::{scree_svg, summary_svg};
pub use regressor::{IndexModel, IndexRegressor, Smoother};
pub use response::Response;
pub use sade::{Sade, SadeWith, SliceEstimator};
pub use score::{
    Component, FnScore, Gaussian, GaussianMixture, Part, ProductMixture, Score, ScoreDiagnostics,
    SecondOrderScore, StudentT,
};
pub use slicing::{Slices, Slicing};
pub use sparse::{LassoSir, Sparsity};
pub use spectrum::{EigenOrder, Spectrum, Warning};
pub use stream::SliceMoments;
pub use subspace::{orthonormal, principal_angles, trace_correlation, trace_error};
pub use transform::ResponseTransform;
pub use two_step::LearnedSade;
pub use whitening::Whitening;

/// The example of the README, as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
