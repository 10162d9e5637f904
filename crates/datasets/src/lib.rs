//! Data sets: readers of common formats, small embedded sets, and generators with known true parameters.
//!
//! All other crates of Fenchel take arrays; this crate makes them. Each reader of a stream (`impl BufRead`) has a companion
//! that takes a path. The companion decompresses gzip and bzip2, recognised by the first bytes of the file, and includes the
//! path in every error:
//!
//! | format | stream | path | returns |
//! |---|---|---|---|
//! | LIBSVM text | [`libsvm()`] | [`libsvm_file`] | `Dataset<CsrMatrix<f64>>` |
//! | CSV and similar formats | [`table()`] | [`table_file`] | [`Table`]: columns of numbers, dates and texts |
//! | Parquet, with the feature `parquet` | `parquet` | `parquet_file` | [`Table`], the same |
//! | IDX (MNIST) | [`idx()`], [`idx_rows`](idx::idx_rows), [`idx_labels`](idx::idx_labels) | [`idx_dataset`](idx::idx_dataset) | [`Images`](idx::Images): `Dataset<Array2<u8>, Array1<u8>>` |
//! | CoNLL columns, CoNLL-U | [`conll()`] | [`conll_file`] | `Vec<`[`Sentence`]`>` |
//! | handwritten words (OCR) | [`letters()`] | [`letters_file`] | `Vec<`[`Word`]`>` |
//! | FASTA, A3M, aligned lines | [`alignment()`] | [`alignment_file`] | [`Sequences`]: names, `Array2<u8>` |
//! | distances of alignment columns | [`column_distances`](alignment::column_distances) | [`column_distances_file`](alignment::column_distances_file) | [`ColumnDistances`](alignment::ColumnDistances) |
//! | roll calls | [`roll_calls()`] | [`roll_calls_file`] | [`RollCalls`]: names, `Array2<i8>` |
//! | a compressed file of any format | [`decompress`] | [`open()`] | `impl BufRead` |
//!
//! | data without a file | |
//! |---|---|
//! | [`embedded`] | small real sets that are part of the crate: breast cancer, wine, iris, digits |
//! | [`generate`] | sparse and dense tasks of any size from a seed, with the true weights |
//! | [`folder`] | larger public sets by name, if the user has them |
//!
//! An [`Encoder`] turns a table into a design with names: it scales numbers, fills missing cells and codes texts.
//!
//! [`transform`] scales rows and makes binary labels; [`write_libsvm`] writes what [`libsvm()`] reads.
//!
//! A malformed input gives an [`Error`] with the position and what was expected, and never a panic:
//!
//! ```
//! use fenchel_datasets::{LibsvmOptions, libsvm, transform::normalise_rows};
//!
//! let mut data = libsvm("+1 1:3 2:4\n-1 3:2\n".as_bytes(), &LibsvmOptions::default())?;
//! normalise_rows(&mut data.x);
//! assert_eq!(data.x.data(), [0.6, 0.8, 1.0]);
//!
//! let error = libsvm("+1 1:3 2:four".as_bytes(), &LibsvmOptions::default()).unwrap_err();
//! assert_eq!(error.to_string(), "line 1, column 10: index 2: expected a number, found \"four\"");
//! # Ok::<(), fenchel_datasets::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod alignment;
mod conll;
mod dataset;
pub mod embedded;
pub mod encoder;
mod error;
pub mod folder;
pub mod generate;
pub mod idx;
mod letters;
mod libsvm;
mod number;
mod open;
mod roll_calls;
pub mod sets;
pub mod table;
pub mod transform;

pub use alignment::{AlignmentFormat, Sequences, alignment, alignment_file};
pub use conll::{ConllOptions, ConllReader, Encoding, Sentence, Separator, conll, conll_file};
pub use dataset::Dataset;
pub use encoder::{Encoder, FittedEncoder};
pub use error::Error;
pub use folder::Folder;
pub use idx::idx;
pub use letters::{Word, letters, letters_file};
pub use libsvm::{IndexBase, LibsvmOptions, libsvm, libsvm_file, write_libsvm};
pub use open::{decompress, open};
pub use roll_calls::{RollCalls, roll_calls, roll_calls_file};
pub use table::{Header, Table, TableOptions, table, table_file};
#[cfg(feature = "parquet")]
pub use table::{parquet, parquet_file};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
