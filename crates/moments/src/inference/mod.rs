//! Confidence regions for the directions.
//!
//! | region | for | assumes | cost |
//! |---|---|---|---|
//! | [`sir_intervals`] | SIR | a gap between eigenvalues | a second pass over the data |
//! | [`bootstrap`] | every method | the same | one fit per resample |
//!
//! Both functions return *loadings*: the entries of a direction, scaled to length 1 and with the sign of the estimate.
//! A single direction is identified only if its eigenvalue differs from those of the other directions. Otherwise only
//! the subspace spanned by the directions is identified; use the radius of the confidence region of the span then.

mod asymptotic;
mod bootstrap;
mod intervals;

pub use asymptotic::{DirectionIntervals, sir_intervals};
pub use bootstrap::{BootstrapDirections, BootstrapSettings, bootstrap};
