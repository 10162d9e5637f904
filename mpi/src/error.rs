//! What can go wrong.

use std::path::Path;

use fenchel_linalg::Invalid;
use fenchel_optim::spread::Communicator;

/// Why a fit ended without a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read, or whose content is wrong. The message names the line where there is one.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Options that cannot be combined, or a value out of range.
    #[error("{0}")]
    Usage(String),
    /// An argument that does not fit.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A linear model.
    #[error(transparent)]
    Linear(#[from] fenchel_erm::Error),
    /// A generalised linear model.
    #[error(transparent)]
    Glm(#[from] fenchel_expfam::Error),
    /// A conditional random field.
    #[error(transparent)]
    Crf(#[from] fenchel_crf::Error),
    /// A model file.
    #[error(transparent)]
    Model(#[from] fenchel_optim::model::ModelError),
}

impl Error {
    /// An error of a file.
    pub fn file(path: &Path, reason: impl ToString) -> Self {
        Error::File { file: path.display().to_string(), reason: reason.to_string() }
    }
}

/// Refuses processes that were given other arguments, or are of another version; `what` is what is compared, for the message. All
/// processes call it together.
///
/// # Errors
/// [`Error::Usage`] that names the first rank which differs from rank 0.
pub fn check_alike(communicator: &dyn Communicator, what: &str, own: &str) -> Result<(), Error> {
    let all = communicator.gather(own.as_bytes());
    let Some(rank) = all.iter().position(|other| *other != all[0]) else { return Ok(()) };
    let said = |rank: usize| String::from_utf8_lossy(&all[rank]).into_owned();
    let reason = format!(
        "{what} of rank {rank} are not those of rank 0: {:?} and {:?}",
        said(rank),
        said(0)
    );
    Err(Error::Usage(reason))
}
