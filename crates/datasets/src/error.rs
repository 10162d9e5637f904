//! Errors of readers, writers and generators.

use std::io;
use std::path::{Path, PathBuf};

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

/// An error of a reader, a writer or a generator.
///
/// Readers that take a path include it in the message: `train.svm:17:23: expected index:value, found "3;1"`. Readers that take
/// a stream say `line 17, column 23: ...`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text with an error of format.
    #[error("{}{reason}", text_place(file.as_deref(), *line, *column))]
    Format {
        /// The file, if a path was given.
        file: Option<PathBuf>,
        /// Line, counted from 1.
        line: u64,
        /// The position in the line, counted from 1: a byte for LIBSVM text, a cell for tables.
        column: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// A binary file with an error of format.
    #[error("{}{reason}", binary_place(file.as_deref(), *offset))]
    Binary {
        /// The file, if a path was given.
        file: Option<PathBuf>,
        /// Byte of the uncompressed content, counted from 0.
        offset: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// A column of a binary table that cannot be read.
    #[error("{}column {column:?} {reason}", io_place(file.as_deref()))]
    Column {
        /// The file, if a path was given.
        file: Option<PathBuf>,
        /// The name of the column.
        column: String,
        /// What was found, in which row (they count from 0), and what was expected.
        reason: String,
    },
    /// Reading or writing failed; a truncated or damaged gzip or bzip2 stream is reported here.
    #[error("{}{source}", io_place(file.as_deref()))]
    Io {
        /// The file, if a path was given.
        file: Option<PathBuf>,
        /// The error of the system or the decompressor.
        source: io::Error,
    },
    /// A bad argument.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// More memory than is allowed.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Error {
    /// The same error with the name of its file. A name that is already there stays.
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Error {
        match &mut self {
            Error::Format { file, .. }
            | Error::Binary { file, .. }
            | Error::Column { file, .. }
            | Error::Io { file, .. } => {
                file.get_or_insert_with(|| path.as_ref().to_path_buf());
            }
            Error::Invalid(_) | Error::Refused(_) => {}
        }
        self
    }

    pub(crate) fn format(line: u64, column: usize, reason: impl Into<String>) -> Error {
        Error::Format { file: None, line, column: column as u64, reason: reason.into() }
    }

    pub(crate) fn binary(offset: u64, reason: impl Into<String>) -> Error {
        Error::Binary { file: None, offset, reason: reason.into() }
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Error {
        Error::Io { file: None, source }
    }
}

fn text_place(file: Option<&Path>, line: u64, column: u64) -> String {
    match file {
        Some(file) => format!("{}:{line}:{column}: ", file.display()),
        None => format!("line {line}, column {column}: "),
    }
}

fn binary_place(file: Option<&Path>, offset: u64) -> String {
    match file {
        Some(file) => format!("{}: byte {offset}: ", file.display()),
        None => format!("byte {offset}: "),
    }
}

fn io_place(file: Option<&Path>) -> String {
    file.map(|file| format!("{}: ", file.display())).unwrap_or_default()
}

/// A piece of input for an error message: quoted, escaped and shortened.
pub(crate) fn quoted(token: &[u8]) -> String {
    const LONGEST: usize = 40;
    if token.len() > LONGEST {
        format!("\"{}...\"", token[..LONGEST].escape_ascii())
    } else {
        format!("\"{}\"", token.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_file_the_place_and_the_reason() {
        let error = Error::format(17, 23, "expected index:value, found \"3;1\"");
        assert_eq!(error.to_string(), "line 17, column 23: expected index:value, found \"3;1\"");
        let error = error.in_file("train.svm").in_file("other.svm");
        assert_eq!(error.to_string(), "train.svm:17:23: expected index:value, found \"3;1\"");
        let error = Error::binary(4, "truncated").in_file("digits.idx");
        assert_eq!(error.to_string(), "digits.idx: byte 4: truncated");
        let error = Error::from(io::Error::other("disk on fire")).in_file("a.gz");
        assert_eq!(error.to_string(), "a.gz: disk on fire");
    }

    #[test]
    fn shown_input_is_short_and_printable() {
        assert_eq!(quoted(b"3;1"), "\"3;1\"");
        assert_eq!(quoted(b"\xff\n"), "\"\\xff\\n\"");
        assert_eq!(quoted(&[b'x'; 1000]), format!("\"{}...\"", "x".repeat(40)));
    }
}
