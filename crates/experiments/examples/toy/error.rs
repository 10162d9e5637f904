//! What can go wrong.

/// Why a problem could not be posed or a method not be started.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit.
    #[error(transparent)]
    Invalid(#[from] fenchel_linalg::Invalid),
    /// A problem that the method does not take.
    #[error(transparent)]
    Refused(#[from] fenchel_optim::Refusal),
}

pub type Result<T> = std::result::Result<T, Error>;
