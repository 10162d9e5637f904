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
pub(crate) use bootstrap::kept;
pub use bootstrap::{BootstrapDirections, BootstrapSettings, bootstrap};

use fenchel_linalg::Invalid;
use ndarray::Array2;

use crate::components::check_level;
use crate::transform::normal_quantile;

/// Ends of normal intervals.
fn normal_intervals(
    loadings: &Array2<f64>,
    errors: &Array2<f64>,
    level: f64,
) -> Result<(Array2<f64>, Array2<f64>), Invalid> {
    check_level(level)?;
    let width = errors * normal_quantile(0.5 + 0.5 * level);
    Ok((loadings - &width, loadings + &width))
}
