//! What can go wrong.

use fenchel_linalg::Invalid;

/// Why a model could not be built, a query not be answered or a file not be read.
///
/// An iterative method that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The evidence, or the model itself, has probability zero.
    #[error("the evidence has probability zero")]
    ImpossibleEvidence,
    /// A table of the result would be larger than allowed. Nothing was allocated.
    #[error("{what} needs {needed} bytes, the limit is {limit}: {hint}")]
    MemoryLimit {
        /// What would be allocated.
        what: &'static str,
        /// Bytes that would be needed; `u64::MAX` where the number overflows.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
        /// What to do instead.
        hint: &'static str,
    },
}
