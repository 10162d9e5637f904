//! Dimension reduction for regression by the method of moments.
//!
//! A response that depends on many features through a few linear indices, `y = g(W' x) + noise`, lets `W` be found before
//! `g`: moments of the response with functions of the features lie in the span of `W`. This crate has the classics
//! ([`Sir`], [`Save`], [`Phd`], [`DirectionalRegression`]) and the methods with score functions ([`Sade`]),
//! which need no elliptical features.
//!
//! Conventions: rows are samples, responses are `f64` or classes, a fitted [`Reduction`] holds orthonormal directions
//! as columns. Nothing here reads a file or prints; a seed determines every bit on any number of threads.
#![forbid(unsafe_code)]

mod accumulate;
mod blocks;
mod classic;
mod components;
mod error;
mod model;
mod response;
mod sade;
mod score;
mod slicing;
mod spectrum;
mod stream;
mod subspace;
pub mod synthetic;
mod transform;
mod whitening;

pub use blocks::Blocks;
pub use classic::{DirectionalRegression, Phd, Save, Sir};
pub use components::{Components, DimensionTest, chi_square_tests, ladle, permutation_test};
pub use error::Error;
pub use model::{Reducer, Reduction, fit_blocks, fit_numbers};
pub use response::Response;
pub use sade::{Sade, SadeWith, SliceEstimator};
pub use score::{
    Component, FnScore, Gaussian, GaussianMixture, Part, ProductMixture, Score, ScoreDiagnostics,
    SecondOrderScore, StudentT,
};
pub use slicing::{Slices, Slicing};
pub use spectrum::{EigenOrder, Spectrum, Warning};
pub use stream::SliceMoments;
pub use subspace::{orthonormal, principal_angles, trace_correlation, trace_error};
pub use transform::ResponseTransform;
pub use whitening::Whitening;

/// The example of the README, as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
