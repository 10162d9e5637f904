//! The errors of this crate.

use fenchel_linalg::Invalid;
use fenchel_linalg::text::{exact, number, short};
use fenchel_optim::Refusal;

/// Why an estimator could not be fitted.
///
/// An iterative method that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN, labels.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// All responses are equal.
    #[error("response: one unique response value ({}) in all rows; expected at least two", exact(*value))]
    ConstantResponse {
        /// The value.
        value: f64,
    },
    /// More slices than half the samples: a slice needs two samples for its covariance.
    #[error(
        "{slices} slices for {samples} samples; every slice needs at least 2: use at most {most} slices"
    )]
    TooManySlices {
        /// The slices asked for.
        slices: usize,
        /// The samples.
        samples: usize,
        /// The largest number that works.
        most: usize,
    },
    /// The method cannot find as many directions.
    #[error("{method} finds at most {most} directions here, {asked} were asked for: {hint}")]
    TooManyComponents {
        /// The method.
        method: &'static str,
        /// The directions asked for.
        asked: usize,
        /// The largest number that can be found.
        most: usize,
        /// What to do instead.
        hint: &'static str,
    },
    /// Columns of the features (or of the scores) with a single value.
    #[error("{what} is singular: columns {} are constant; leave them out", Columns(columns))]
    Constant {
        /// The matrix.
        what: &'static str,
        /// The columns.
        columns: Vec<usize>,
    },
    /// A column whose variance is not a normal floating-point number.
    #[error(
        "{what}: column {column} varies by {}, and the square of that leaves the range of floating-point numbers; \
         use a unit in which columns vary by 1e-150 to 1e150",
        number(*size, 2)
    )]
    Size {
        /// The matrix.
        what: &'static str,
        /// The column.
        column: usize,
        /// How far the column goes from its mean.
        size: f64,
    },
    /// Not more samples than features: every covariance is singular.
    #[error(
        "{samples} samples of {features} features: {what} is singular; expected more samples than features: leave \
         features out, or use `LassoSir`"
    )]
    FewSamples {
        /// The matrix.
        what: &'static str,
        /// The samples.
        samples: usize,
        /// The features.
        features: usize,
    },
    /// The covariance of the features (or the second moment of the scores) cannot be inverted.
    #[error(
        "{what} is singular: columns {} depend on one another (smallest eigenvalue {} times the largest); \
         leave at least one of them out, or use `LassoSir`",
        Columns(columns),
        number(*smallest, 2)
    )]
    Singular {
        /// The matrix.
        what: &'static str,
        /// Smallest eigenvalue of the correlation matrix relative to the largest.
        smallest: f64,
        /// The columns that take part in the dependence.
        columns: Vec<usize>,
    },
    /// The error when a fold was left out.
    #[error("without fold {fold} of {folds}: {source}")]
    Fold {
        /// The fold, counted from 0.
        fold: usize,
        /// The number of folds.
        folds: usize,
        /// The error of the rest.
        source: Box<Error>,
    },
    /// The basis functions vanish at the data.
    #[error(
        "bandwidth {bandwidth} is too small: the mean kernel sum is {}; take one near {}",
        short(*mean),
        short(*suggested)
    )]
    BandwidthTooSmall {
        /// The bandwidth.
        bandwidth: f64,
        /// Mean over the samples of the sum of all kernels.
        mean: f64,
        /// Square root of the dimension, in whitened units.
        suggested: f64,
    },
    /// All eigenvalues are 0: no direction is better than another.
    #[error(
        "all eigenvalues of {method} are 0: the response has no such moment with these features or scores, or it is so small that \
         its squares vanish"
    )]
    NoDirection {
        /// The method.
        method: &'static str,
    },
    /// Most resamples were degenerate: a constant response, dependent features, a class with a single sample.
    #[error(
        "{kept} of {repeats} resamples could be fitted, at least {least} are needed; the first that failed: {reason}"
    )]
    TooFewResamples {
        /// Resamples with a fit.
        kept: usize,
        /// Resamples drawn.
        repeats: usize,
        /// The smallest number that is enough.
        least: usize,
        /// The error of the first one left out.
        reason: String,
    },
    /// Newton's method found no solution of the moment equations.
    #[error(
        "the moment equations were not solved after {iterations} iterations: largest difference {}",
        short(*residual)
    )]
    NoSolution {
        /// Iterations done.
        iterations: usize,
        /// Largest absolute difference of the moments.
        residual: f64,
    },
    /// A combination that the method cannot treat, or more memory than it may use.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A metric refused its arguments.
    #[error(transparent)]
    Metric(#[from] fenchel_metrics::Error),
}

impl Error {
    /// Says which fold was left out: `map_err(Error::without(fold, folds))`.
    pub(crate) fn without(fold: usize, folds: usize) -> impl FnOnce(Error) -> Error {
        move |source| Error::Fold { fold, folds, source: Box::new(source) }
    }
}

/// An [`Invalid`] of a matrix under its own name.
pub(crate) fn named(what: &'static str) -> impl FnOnce(Invalid) -> Invalid {
    move |invalid| match invalid {
        Invalid::NotPositiveDefinite { pivot, value, .. } => {
            Invalid::NotPositiveDefinite { what, pivot, value }
        }
        Invalid::NonFinite { row, column, value, .. } => {
            Invalid::NonFinite { what, row, column, value }
        }
        Invalid::Layout { reason, .. } => Invalid::Layout { what, reason },
        other => other,
    }
}

/// Columns, the first twenty of them.
struct Columns<'a>(&'a [usize]);

impl std::fmt::Display for Columns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 20;
        match self.0.len() {
            n if n > SHOWN => write!(f, "{:?} and {} more", &self.0[..SHOWN], n - SHOWN),
            _ => write!(f, "{:?}", self.0),
        }
    }
}
