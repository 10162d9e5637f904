//! The errors of this crate.

use fenchel_linalg::Invalid;
use fenchel_linalg::text::short;
use fenchel_optim::{Refusal, Report, Status};

/// Why a model could not be fitted, or a query not be answered.
///
/// A method that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Variables with variance 0 that no penalty regularises.
    #[error(
        "columns {columns:?} have variance 0, or one too small to divide by, and no penalty on the diagonal: the likelihood is unbounded; \
         leave them out, take larger units, or penalise the diagonal"
    )]
    ZeroVariance {
        /// The columns, ascending, counted from 0.
        columns: Vec<usize>,
    },
    /// A covariance matrix with a negative eigenvalue.
    #[error(
        "the covariance matrix has the eigenvalue {}; expected none below 0 (see `nearest_correlation`)",
        short(*value)
    )]
    NotPositiveSemidefinite {
        /// The smallest eigenvalue.
        value: f64,
    },
    /// The likelihood has no maximum, because there are too few samples for the unpenalised parameters.
    #[error("{what} has no optimum: {reason}")]
    Unbounded {
        /// The problem.
        what: &'static str,
        /// Why, and what to do.
        reason: &'static str,
    },
    /// A method that needs a matrix of full rank.
    #[error("{what} needs a covariance matrix of full rank: {hint}")]
    RankDeficient {
        /// The method.
        what: &'static str,
        /// What to do instead.
        hint: &'static str,
    },
    /// The method refuses the problem, for example because it needs more memory than allowed. Nothing was allocated.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Messages of Gaussian belief propagation with a variance that is not positive.
    #[error("belief propagation left the domain at node {node}: the model is not walk-summable")]
    NotWalkSummable {
        /// The node whose message has no positive variance.
        node: usize,
    },
    /// Folds that the rows cannot be divided into.
    #[error(transparent)]
    Metrics(#[from] fenchel_metrics::Error),
    /// An error of a graph.
    #[error("{0}")]
    Graph(String),
}

impl From<fenchel_graphical::Error> for Error {
    fn from(error: fenchel_graphical::Error) -> Self {
        Error::Graph(error.to_string())
    }
}

/// Returns an error if a run diverged.
pub(crate) fn check_bounded(what: &'static str, report: &Report) -> Result<(), Error> {
    let objective = report.certificate.objective();
    if report.status != Status::Diverged && objective.is_none_or(f64::is_finite) {
        return Ok(());
    }
    let reason = "the covariance matrix is singular or has negative eigenvalues where the penalty is too small, or its variances are of very \
                  different sizes; raise the penalty, or take `Scale::Correlation`";
    Err(Error::Unbounded { what, reason })
}

/// Refuses what would not fit; `numbers` of eight bytes.
pub(crate) fn check_memory(
    what: &'static str,
    numbers: u64,
    limit: Option<u64>,
    hint: &'static str,
) -> Result<(), Error> {
    Ok(Refusal::check_memory(what, numbers.saturating_mul(8), limit, hint)?)
}
