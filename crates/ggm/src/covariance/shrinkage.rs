//! Covariance matrices shrunk towards a multiple of the identity.

use fenchel_linalg::{AsDesign, Design, Invalid};

use crate::error::Error;
use crate::statistics::Statistics;

/// The result of [`ledoit_wolf`].
#[derive(Debug, Clone, PartialEq)]
pub struct Shrunk {
    /// Means and the shrunken covariances, of full rank unless all variances are 0.
    pub statistics: Statistics,
    /// The share of the identity, in `[0, 1]`.
    pub shrinkage: f64,
}

/// The linear shrinkage of Ledoit and Wolf:
///
/// ```text
/// (1 - s) C + s m I,   m = tr(C) / p,   s = min(1, b / d),
/// d = ||C - m I||^2,   b = (1/n^2) sum_i ||(x_i - mu)(x_i - mu)' - C||^2
/// ```
///
/// `s` estimates the share with the smallest expected squared error, as scikit-learn's `LedoitWolf` does. The target is
/// a multiple of the identity, so standardise columns in different units first. The cost is O(n p^2).
///
/// ```
/// use fenchel_ggm::covariance::shrinkage::ledoit_wolf;
/// use fenchel_ggm::threshold::inverse_scores;
/// use ndarray::array;
///
/// // Three samples of four variables: without shrinkage there is no inverse.
/// let x = array![[1.0, 0.9, 0.1, 0.3], [-0.5, -0.7, 0.4, -0.2], [0.2, 0.1, -0.6, 0.5]];
/// let found = ledoit_wolf(&x)?;
/// assert!(found.shrinkage > 0.0 && inverse_scores(&found.statistics).is_ok());
/// # Ok::<(), fenchel_ggm::Error>(())
/// ```
///
/// Source: Ledoit and Wolf, Journal of Multivariate Analysis 88, 2004.
///
/// # Errors
/// As [`Statistics::from_data`].
pub fn ledoit_wolf<X: AsDesign + ?Sized>(x: &X) -> Result<Shrunk, Error> {
    let mut statistics = Statistics::from_data(x)?;
    let x = x.as_design()?;
    let (n, p) = (x.rows(), x.columns());
    let target = statistics.covariance.diag().sum() / p as f64;
    Invalid::check_finite("covariance", &[target])?;
    // Fourth powers of the data: in units in which the mean variance is 1 they stay in range.
    let unit = if target > 0.0 { target } else { 1.0 };
    let square: f64 = statistics.covariance.iter().map(|c| (c / unit).powi(2)).sum();
    let distance = (square - p as f64 * (target / unit).powi(2)).max(0.0);
    let mut row = vec![0.0; p];
    let mut fourth = 0.0;
    for i in 0..n {
        row.iter_mut().zip(&statistics.mean).for_each(|(r, m)| *r = -m);
        x.row_axpy(i, 1.0, &mut row);
        fourth += row.iter().map(|r| (r / unit.sqrt()).powi(2)).sum::<f64>().powi(2);
    }
    let error = (fourth / n as f64 - square).max(0.0) / n as f64;
    let shrinkage = if distance > error { error / distance } else { 1.0 };
    statistics.covariance.mapv_inplace(|c| (1.0 - shrinkage) * c);
    statistics.covariance.diag_mut().mapv_inplace(|c| c + shrinkage * target);
    Ok(Shrunk { statistics, shrinkage })
}
