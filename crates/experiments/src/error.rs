//! Errors of finding an experiment, of storing its outcome and of drawing its figures.

use std::path::PathBuf;

/// An error of the framework. An error inside an experiment is a [`crate::Failure`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No registered experiment has this id or starts with it.
    #[error("no experiment is called `{id}`; {}", suggestion(.near))]
    UnknownId {
        /// The id that was asked for.
        id: String,
        /// Registered ids that look similar, most similar first.
        near: Vec<String>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A CSV or JSON text could not be made.
    #[error("{what}: {reason}")]
    Encode {
        /// What was being written.
        what: String,
        /// The error of the encoder.
        reason: String,
    },
    /// The counts of claims cannot be written into a README.
    #[error("no counts are written: {reason}")]
    Counts {
        /// What is missing.
        reason: String,
    },
}

fn suggestion(near: &[String]) -> String {
    if near.is_empty() {
        "`--list` shows all of them".into()
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}
