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

pub use asymptotic::{DirectionIntervals, sir_intervals};
pub(crate) use bootstrap::kept;
pub use bootstrap::{BootstrapDirections, BootstrapSettings, bootstrap};

use fenchel_linalg::Invalid;
use ndarray::Array2;

use crate::components::check_level;
use crate::transform::normal_quantile;

/// The ends of normal confidence intervals.
fn normal_intervals(
    loadings: &Array2<f64>,
    errors: &Array2<f64>,
    level: f64,
) -> Result<(Array2<f64>, Array2<f64>), Invalid> {
    check_level(level)?;
    let width = errors * normal_quantile(0.5 + 0.5 * level);
    Ok((loadings - &width, loadings + &width))
}
