//! What can go wrong.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

/// Why a problem could not be posed or a method not be started.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A problem that the method does not take.
    #[error(transparent)]
    Refused(#[from] Refusal),
}
