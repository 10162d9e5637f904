//! LIBSVM text, with one sample per line: `label index:value index:value ...`.
//!
//! | part | accepted |
//! |---|---|
//! | label | one finite decimal number (`-1`, `+1`, `3.5e2`) |
//! | index | digits; strictly ascending within a line; counted from 0 or 1, see [`IndexBase`] |
//! | value | a finite decimal number; an explicit 0 is stored |
//! | separators | spaces and tabs; lines end with `\n` or `\r\n`, the last one need not |
//! | `#` | begins a comment that runs to the end of the line |
//! | blank lines | skipped; a sample without features is a line with a label only |
//! | `qid:...` | refused, or skipped if the options say so |
//!
//! The format does not say how many columns there are, nor whether indices count from 0 or 1. If the last columns are zero in
//! every sample, the file does not mention them, so that a test file may seem narrower than its training file. Pass
//! [`LibsvmOptions::columns`] to read both with the same `d`.
//!
//! The format has no end mark. A text that is cut off may therefore still be valid, and the reader cannot distinguish it from a
//! complete one: `1 3:0.25` may become `1 3:0.2` or `1`. The reader returns an error if the rest of the last token is not valid
//! (`3:`), or if a compressed stream is cut off.
//!
//! Reading is one pass with a buffer for one line, O(bytes). Only the matrix itself is allocated.

use fenchel_optim::settings;
use serde::{Deserialize, Serialize};

mod read;
mod token;
mod write;

pub use read::{libsvm, libsvm_file};
pub use write::write_libsvm;

/// The first index of a LIBSVM file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum IndexBase {
    /// From 0 if an index 0 occurs anywhere in the file, otherwise from 1.
    ///
    /// The decision is made at the end of the file. A file that counts from 0 but never uses feature 0 is read as counting from
    /// 1; if that can happen, use [`Zero`](IndexBase::Zero).
    #[default]
    Auto,
    /// From 0: index `j` is column `j`.
    Zero,
    /// From 1: index `j` is column `j - 1`, and index 0 is an error.
    One,
}

settings! {
    /// Options for reading a LIBSVM file.
    #[derive(Copy)]
    pub struct LibsvmOptions {
        /// Where indices begin.
        base: IndexBase = IndexBase::Auto,
        /// The number of columns of the matrix. An index beyond it is an error. `None`: the largest index of the file.
        columns: Option<usize> = None,
        /// Whether `qid:` tokens of ranking data are skipped instead of refused. The matrix cannot represent them.
        skip_query_ids: bool = false,
    }
}

impl LibsvmOptions {
    /// The defaults, with a fixed number of columns.
    pub fn with_columns(columns: usize) -> LibsvmOptions {
        LibsvmOptions { columns: Some(columns), ..LibsvmOptions::default() }
    }
}
