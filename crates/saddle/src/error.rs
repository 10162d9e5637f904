//! What can go wrong.

use fenchel_linalg::Invalid;

/// Why a problem could not be posed or a method not be started.
///
/// A run that ends without convergence, or diverges, is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN, labels.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A combination that the method cannot treat.
    #[error("{method} does not support {what}")]
    Unsupported {
        /// The method.
        method: &'static str,
        /// The part of the problem or of the settings, and what to use instead.
        what: String,
    },
    /// The method would need more memory than it may use. Nothing was allocated.
    #[error("{method} needs {needed} bytes, the limit is {limit}: {hint}")]
    MemoryLimit {
        /// The method.
        method: &'static str,
        /// Bytes that would be needed.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
        /// What to do instead.
        hint: &'static str,
    },
}
