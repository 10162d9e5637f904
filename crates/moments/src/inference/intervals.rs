//! Normal intervals.

use fenchel_linalg::Invalid;
use ndarray::Array2;

use crate::components::check_level;
use crate::transform::normal_quantile;

/// The ends of normal confidence intervals.
pub(super) fn normal_intervals(
    loadings: &Array2<f64>,
    errors: &Array2<f64>,
    level: f64,
) -> Result<(Array2<f64>, Array2<f64>), Invalid> {
    check_level(level)?;
    let width = errors * normal_quantile(0.5 + 0.5 * level);
    Ok((loadings - &width, loadings + &width))
}
