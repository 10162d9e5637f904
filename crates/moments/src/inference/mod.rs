//! How well the directions are determined.
//!
//! | region | for | assumes | cost |
//! |---|---|---|---|
//! | [`sir_intervals`] | SIR | a gap between eigenvalues | a second look at the data |
//! | [`bootstrap`] | every method | the same | one fit a resample |
//!
//! Both speak of *loadings*: directions of length 1, with the sign of the estimate. With several directions single loadings are
//! meaningful where their eigenvalues differ; otherwise use the radius of the span.

mod asymptotic;
mod bootstrap;

pub use asymptotic::{DirectionIntervals, sir_intervals};
pub use bootstrap::{BootstrapDirections, BootstrapSettings, bootstrap};
