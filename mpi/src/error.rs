//! What can go wrong.

use std::path::Path;

use fenchel_linalg::Invalid;

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
