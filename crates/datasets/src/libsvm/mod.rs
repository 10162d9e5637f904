//! LIBSVM text: one sample a line, `label index:value index:value ...`.
//!
//! | part | what is accepted |
//! |---|---|
//! | label | one finite decimal number (`-1`, `+1`, `3.5e2`) |
//! | index | digits; ascending within a line, none twice; counted from 0 or 1, see [`IndexBase`] |
//! | value | a finite decimal number; a stored 0 stays stored |
//! | between | spaces and tabs; lines end with `\n` or `\r\n`, the last one need not |
//! | `#` | begins a comment that runs to the end of the line |
//! | blank lines | skipped (they are not samples without features: those are a label alone) |
//! | `qid:...` | refused, or skipped where the options say so |
//!
//! The format says neither how many columns there are nor where its indices begin. A column that is
//! zero in every sample leaves no trace at the end of the range, so a test file may seem narrower
//! than its training file: pass [`LibsvmOptions::columns`] to read both with the same `d`.
//!
//! A text that breaks off between two tokens is still valid LIBSVM text and cannot be told from a
//! whole one; one that breaks off inside a token, or inside a compressed stream, is an error.
//!
//! Reading is one pass over a buffer of one line, O(bytes), with no allocation but the matrix's own.

mod read;
mod token;
mod write;

pub use read::{libsvm, libsvm_file};
pub use write::write_libsvm;

/// Where the indices of a LIBSVM file begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexBase {
    /// From 0 if an index 0 occurs anywhere in the file, else from 1.
    ///
    /// The decision falls at the end of the file. A file that counts from 0 but never uses feature
    /// 0 is read as counting from 1; where that can happen, say [`Zero`](IndexBase::Zero).
    #[default]
    Auto,
    /// From 0: index `j` is column `j`.
    Zero,
    /// From 1: index `j` is column `j - 1`, and index 0 is an error.
    One,
}

/// How to read a LIBSVM file.
///
/// | name | default | purpose |
/// |---|---|---|
/// | `base` | `Auto` | where indices begin |
/// | `columns` | `None` | the number of columns `d`; without it, the largest index of the file decides |
/// | `skip_query_ids` | `false` | pass over `qid:` tokens of ranking data instead of refusing them |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LibsvmOptions {
    /// Where indices begin.
    pub base: IndexBase,
    /// The number of columns of the matrix; an index beyond it is an error.
    pub columns: Option<usize>,
    /// Whether `qid:` tokens are passed over; the matrix has no place for them.
    pub skip_query_ids: bool,
}

impl LibsvmOptions {
    /// The defaults, with a fixed number of columns.
    pub fn with_columns(columns: usize) -> LibsvmOptions {
        LibsvmOptions { columns: Some(columns), ..LibsvmOptions::default() }
    }
}
