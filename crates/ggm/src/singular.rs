//! What counts as singular. All estimators without a penalty use the same level, so that rounding decides nothing.

use fenchel_linalg::factor;
use ndarray::{ArrayView1, ArrayView2};

use crate::error::Error;

/// The level at which `1 - R^2` of one among `p` variables cannot be told from 0. Their sums of products and the division by square
/// roots leave a relative error of a few units in the last place for every variable.
fn level(p: usize) -> f64 {
    64.0 * f64::EPSILON * p.max(2) as f64
}

/// `1 - r^2`, or `None` if a correlation of two among `p` variables is perfect up to rounding.
pub(crate) fn unexplained(r: f64, p: usize) -> Option<f64> {
    Some((1.0 - r) * (1.0 + r)).filter(|&left| left > level(p))
}

/// Whether a covariance matrix has full rank beyond rounding: the variance of each variable given those before it is more than the
/// [`level`] times its variance in `total`. A chain of pairs may be far from perfect correlation, and the whole matrix singular.
pub(crate) fn is_regular(covariance: ArrayView2<f64>, total: ArrayView1<f64>) -> bool {
    let level = level(covariance.nrows());
    factor::cholesky(covariance).is_ok_and(|found| {
        found.lower().diag().iter().zip(total).all(|(pivot, total)| pivot * pivot > level * total)
    })
}

/// Refuses a likelihood without a penalty whose covariance matrix is singular.
pub(crate) fn check_regular(
    what: &'static str,
    covariance: ArrayView2<f64>,
    total: ArrayView1<f64>,
) -> Result<(), Error> {
    if is_regular(covariance, total) {
        return Ok(());
    }
    let reason = "nothing is penalised and the covariance matrix is singular; penalise it";
    Err(Error::Unbounded { what, reason })
}
