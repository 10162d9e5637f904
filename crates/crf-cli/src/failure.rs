//! Errors that end a command, as messages for users.

use std::io;

use fenchel_optim::model::ModelError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A text with an error of format. The message has the form that editors can jump to.
    #[error("{file}:{line}:{column}: {reason}")]
    Text { file: String, line: u64, column: u64, reason: String },
    /// A file that cannot be read or written.
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
    /// A file that cannot be written; the error names it.
    #[error("{0}")]
    Write(io::Error),
    /// A model that cannot be loaded.
    #[error("{file}: {source}")]
    Model { file: String, source: ModelError },
    /// A training that diverged.
    #[error("{report}; nothing was saved")]
    Diverged { report: String },
    /// A training that ended with useless weights.
    #[error("{report}; the objective without weights is {without:.3}, so nothing was saved")]
    Useless { report: String, without: f64 },
    /// Options that cannot be combined.
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Crf(#[from] fenchel_crf::Error),
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    pub(crate) fn file(file: impl Into<String>, reason: impl ToString) -> Self {
        Failure::File { file: file.into(), reason: reason.to_string() }
    }

    /// An error in a file, with its name.
    pub(crate) fn crf(file: &str, error: fenchel_crf::Error) -> Self {
        match error {
            fenchel_crf::Error::Format { line, column, reason } => {
                Failure::Text { file: file.to_owned(), line, column, reason }
            }
            other => Failure::file(file, other),
        }
    }

    pub(crate) fn data(file: &str, error: fenchel_datasets::Error) -> Self {
        match error {
            fenchel_datasets::Error::Format { line, column, reason, .. } => {
                Failure::Text { file: file.to_owned(), line, column, reason }
            }
            fenchel_datasets::Error::Io { source, .. } => Failure::file(file, source),
            other => Failure::file(file, other),
        }
    }
}
