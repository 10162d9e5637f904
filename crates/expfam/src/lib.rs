//! Exponential families in natural parameters `eta` and mean parameters `mu`:
//!
//! ```math
//! p(x \mid \eta) = h(x) \exp(\langle \eta, T(x) \rangle - A(\eta)), \qquad \mu = \nabla A(\eta) = \mathbb{E} \, T(x), \qquad \eta = \nabla A^*(\mu).
//! ```
//!
//! | you have | use |
//! |---|---|
//! | textbook parameters | a family of [`families`], whose `with_...` gives a [`Distribution`] |
//! | observations of one law | [`mle`], [`mle_weighted`]; in parts or as a stream [`Summary`] |
//! | observations of several laws | [`Em`] |
//! | observations and a belief | [`Prior`]; from quantiles or a mode [`quantiles`], [`maximum_entropy`] |
//! | counts, shares or times that depend on features | [`glm`] |
//! | a stream whose law moves | [`mirror`] |
//! | a number of observations to choose | [`risk`] |
//!
//! | module | has |
//! |---|---|
//! | [`families`] | one type for each family |
//! | [`family`](mod@family) | the traits of a family of your own |
//! | [`quantiles`] | distribution functions, and members with given quantiles |
//! | [`samplers`] | draws in inner loops |
//! | [`selfconcordance`] | local quadratic bounds |
//! | [`special`] | the functions that families need |
//!
//! Parameters are checked where a [`Distribution`] is made, observations where they are counted. `docs/sources/expfam.md` says
//! where the methods come from.
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
