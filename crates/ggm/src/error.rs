//! What can go wrong.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

/// Why a model could not be fitted or a question not be answered.
///
/// A method that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Variables that never vary, where nothing regularises their variance.
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
        "the covariance matrix has the eigenvalue {value:e}; expected none below 0 (see `nearest_correlation`)"
    )]
    NotPositiveSemidefinite {
        /// The smallest eigenvalue.
        value: f64,
    },
    /// The likelihood has no maximum: too few samples for what is left unpenalised.
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
    /// A method that does not take the problem: more memory than allowed, say. Nothing was allocated.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Messages of Gaussian belief propagation with a variance that is not positive.
    #[error("belief propagation left the domain at node {node}: the model is not walk-summable")]
    NotWalkSummable {
        /// The node whose message has no positive variance.
        node: usize,
    },
    /// An error of a graph.
    #[error("{0}")]
    Graph(String),
}

impl From<fenchel_graphical::Error> for Error {
    fn from(error: fenchel_graphical::Error) -> Self {
        Error::Graph(error.to_string())
    }
}

impl From<fenchel_metrics::Error> for Error {
    fn from(error: fenchel_metrics::Error) -> Self {
        Error::Invalid(Invalid::Layout { what: "folds", reason: error.to_string() })
    }
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
