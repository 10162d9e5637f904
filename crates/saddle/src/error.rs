//! The errors of this crate.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

/// The reason why a problem was not accepted or a method did not start.
///
/// A run that ends without convergence, or diverges, is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid argument: wrong shape, out of range, NaN, or bad labels.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A combination that the method cannot treat, or more memory than it may use.
    #[error(transparent)]
    Refused(#[from] Refusal),
}
