//! Exponential families in natural parameters `eta` and mean parameters `mu`:
//!
//! ```text
//! p(x | eta) = h(x) exp(<eta, T(x)> - A(eta)),     mu = grad A(eta) = E T(x),     eta = grad A*(mu).
//! ```
#![forbid(unsafe_code)]

mod distribution;
mod divergence;
mod error;
pub mod families;
pub mod family;
pub mod glm;
pub mod maximum_entropy;
pub mod mirror;
pub mod mixture;
mod prior;
pub mod quantiles;
pub mod risk;
pub mod samplers;
pub mod selfconcordance;
pub mod special;
mod summary;

pub use distribution::Distribution;
pub use error::Error;
pub use families::*;
pub use family::{Density, Evidence, Family, Sample};
pub use fenchel_optim::Fit;
pub use mixture::{Em, Mixture};
pub use prior::Prior;
pub use quantiles::Quantiles;
pub use summary::{Summary, mle, mle_weighted};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
