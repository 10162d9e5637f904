//! What can go wrong.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

/// Why a problem could not be posed or a method not be started.
///
/// A run that ends without convergence, or diverges, is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN, labels.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A problem that the method does not take: a combination it cannot treat, no strong convexity where it divides by it, or
    /// more memory than it may use.
    #[error(transparent)]
    Refused(#[from] Refusal),
}
