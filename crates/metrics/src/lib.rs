//! Measures of the quality of predictions, and splits for cross-validation, as plain functions without dependencies.
//!
//! | predictions | functions |
//! |---|---|
//! | classes | [`accuracy`], [`binary_scores`] (precision, recall, F1), [`Confusion`] with micro and macro averages |
//! | labelled spans | [`chunks`], [`ChunkCounts`]: chunk F1 as `conlleval` counts it, for IOB1, IOB2 and IOBES |
//! | probabilities | [`log_loss`], [`log_loss_multiclass`], [`brier`], [`calibration`] |
//! | scores of any scale | [`roc_auc`], [`roc_curve`], [`precision_recall`] |
//! | numbers | [`mean_absolute_error`], [`mean_squared_error`], [`r2`], [`spearman`] |
//! | splits of the data, before any prediction | [`k_fold`], [`stratified_k_fold`], [`train_test_split`] |
//!
//! The truth is always the first argument. An argument is any collection whose references can be iterated: `&Vec<T>`, `&[T]`,
//! `&[T; N]`, or an `&Array1<T>` or view of the crate `ndarray`. Two-class labels may be `bool`, or 1 against -1 or 0 in any
//! number type ([`Binary`]). Classes are numbered from 0 in any integer type ([`Class`]), or are names. If a metric is not
//! defined for its arguments, it returns an [`Error`] that names the argument and the position, and never a NaN. Examples are
//! lengths that differ, NaN, no samples, or a single class where two are compared.
//!
//! ```
//! use fenchel_metrics::{accuracy, roc_auc, stratified_k_fold};
//!
//! let truth = [1.0, 1.0, -1.0, -1.0];
//! assert_eq!(accuracy(&truth, &[1.0, -1.0, -1.0, -1.0])?, 0.75);
//! assert_eq!(roc_auc(&truth, &[0.9, 0.4, 0.5, 0.1])?, 0.75);
//! for (train, test) in stratified_k_fold(&truth, 2, 42)? {
//!     // One positive and one negative sample on each side.
//!     assert_eq!(train.iter().map(|&i| truth[i]).sum::<f64>(), 0.0);
//!     assert_eq!(test.len(), 2);
//! }
//! # Ok::<(), fenchel_metrics::Error>(())
//! ```
#![forbid(unsafe_code)]

mod chunk;
mod confusion;
mod curves;
mod error;
mod folds;
mod label;
#[cfg(feature = "plot")]
mod plot;
mod probability;
mod rank;
mod regression;

pub use chunk::{Chunk, ChunkCounts, chunks, strict_chunks};
pub use confusion::{Confusion, Scores, accuracy, binary_scores};
pub use curves::{calibration, precision_recall, roc_curve};
pub use error::Error;
pub use folds::{Split, k_fold, stratified_k_fold, train_test_split};
pub use label::{Binary, Class};
#[cfg(feature = "plot")]
pub use plot::{calibration_figure, precision_recall_figure, roc_figure};
pub use probability::{LOG_LOSS_CLIP, brier, log_loss, log_loss_multiclass, roc_auc};
pub use regression::{mean_absolute_error, mean_squared_error, r2, spearman};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
