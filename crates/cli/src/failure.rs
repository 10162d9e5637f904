//! Errors that end a command, as messages for users.

use std::io;

use fenchel_linalg::Invalid;
use fenchel_optim::model::ModelError;

/// Why a command ended without its result. The message is for the user.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A text with an error of format. The message has the form that editors can jump to.
    #[error("{file}:{line}:{column}: {reason}")]
    Text {
        /// The file, or `standard input`.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// Place in the line, counted from 1.
        column: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// A file that cannot be read or used.
    #[error("{file}: {reason}")]
    File {
        /// The file, or `standard input`.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that cannot be written; the error names it.
    #[error("{0}")]
    Write(io::Error),
    /// A model that cannot be loaded.
    #[error("{file}: {source}")]
    Model {
        /// The file of the model.
        file: String,
        /// What is wrong with it.
        source: ModelError,
    },
    /// A fit that diverged.
    #[error("{report}; nothing was saved")]
    Diverged {
        /// How the fit ended.
        report: String,
    },
    /// A training that ended with useless weights.
    #[error("{report}; the objective without weights is {without:.3}, so nothing was saved")]
    Useless {
        /// How the training ended.
        report: String,
        /// The objective at weights of 0.
        without: f64,
    },
    /// Options that cannot be combined, or a value out of range.
    #[error("{0}")]
    Usage(String),
    /// A failure of a conditional random field.
    #[error(transparent)]
    Crf(#[from] fenchel_crf::Error),
    /// A causal graph or query that cannot be used.
    #[error(transparent)]
    Causal(#[from] fenchel_causal::Error),
    /// A query that a network cannot answer.
    #[error(transparent)]
    Graphical(#[from] fenchel_graphical::Error),
    /// Standard output that cannot be written.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

impl From<Invalid> for Failure {
    fn from(error: Invalid) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl Failure {
    /// A failure of a file.
    pub fn file(file: impl Into<String>, reason: impl ToString) -> Self {
        Failure::File { file: file.into(), reason: reason.to_string() }
    }

    /// An error of `fenchel-crf` in a file, with its name.
    pub fn crf(file: &str, error: fenchel_crf::Error) -> Self {
        match error {
            fenchel_crf::Error::Format { line, column, reason } => {
                Failure::Text { file: file.to_owned(), line, column, reason }
            }
            other => Failure::file(file, other),
        }
    }

    /// An error of a reader of data, with the name of the file.
    pub fn data(file: &str, error: fenchel_datasets::Error) -> Self {
        match error {
            fenchel_datasets::Error::Format { line, column, reason, .. } => {
                Failure::Text { file: file.to_owned(), line, column, reason }
            }
            fenchel_datasets::Error::Io { source, .. } => Failure::file(file, source),
            other => Failure::file(file, other),
        }
    }

    /// An error of a reader of networks, with the name of the file.
    pub fn network(file: &str, error: fenchel_graphical::Error) -> Self {
        match error {
            fenchel_graphical::Error::Format { line, column, reason } => {
                Failure::Text { file: file.to_owned(), line, column, reason }
            }
            other => Failure::file(file, other),
        }
    }
}
