//! Errors of finding an experiment, of storing its outcome and of drawing its figures.

use std::fmt;
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

/// The reason why an experiment has no outcome.
///
/// The operator `?` converts any error of any crate to this type. For this conversion the type must not implement
/// `std::error::Error` itself: two blanket implementations of `From` would overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    message: String,
    stopped: bool,
}

impl Failure {
    /// A failure with the given message.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), stopped: false }
    }

    /// The failure of an experiment that the user stopped.
    pub fn stopped() -> Self {
        Failure { message: "stopped".into(), stopped: true }
    }

    /// Whether the user stopped the experiment. Then nothing is wrong.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Puts a description of the current work in front of the message: `.map_err(|f| f.during("w8a"))`.
    #[must_use]
    pub fn during(self, what: impl fmt::Display) -> Self {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors already print their source.
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = cause.source();
        }
        Failure::new(message)
    }
}
