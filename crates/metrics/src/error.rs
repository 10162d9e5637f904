//! Errors of the metrics.

use std::fmt;

/// An argument for which a metric is not defined.
///
/// The implementation is by hand, so that the crate has no dependencies.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to measure.
    Empty {
        /// The argument.
        what: &'static str,
    },
    /// Two arguments that must have the same length, but differ.
    Length {
        /// The argument.
        what: &'static str,
        /// The length that the other argument asks for.
        expected: usize,
        /// The length that was found.
        found: usize,
    },
    /// A number outside its range, or NaN.
    Value {
        /// The argument.
        what: &'static str,
        /// Position, counted from 0.
        index: usize,
        /// The value that was found.
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// A class that is not below the number of classes.
    Class {
        /// The argument.
        what: &'static str,
        /// Position, counted from 0.
        index: usize,
        /// The class that was found.
        class: usize,
        /// The number of classes.
        classes: usize,
    },
    /// A number of folds that the samples cannot be divided into.
    Folds {
        /// The number of folds.
        folds: usize,
        /// The number of samples.
        samples: usize,
    },
    /// A label with the type of a chunk and a mark that no scheme of chunks has.
    Mark {
        /// The label.
        label: String,
    },
    /// All labels are of one class, but the metric compares two.
    SingleClass {
        /// Whether that class is the positive one.
        positive: bool,
    },
    /// All values are equal, but the metric divides by their variance.
    Constant {
        /// The argument.
        what: &'static str,
        /// The value of all its entries.
        value: f64,
    },
    /// A parameter outside its range.
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value that was found.
        value: usize,
        /// The range that is accepted.
        expected: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Empty { what } => write!(f, "{what} is empty"),
            Error::Length { what, expected, found } => {
                write!(f, "{what}: expected length {expected}, found {found}")
            }
            Error::Value { what, index, value, expected } => {
                write!(f, "{what}[{index}] = {value}; expected {expected}")
            }
            Error::Class { what, index, class, classes } => {
                write!(f, "{what}[{index}] = {class}; expected a class below {classes}")
            }
            Error::Folds { folds, samples: samples @ 0..2 } => {
                write!(f, "folds = {folds}, samples = {samples}; expected at least 2 samples")
            }
            Error::Folds { folds, samples } => write!(
                f,
                "folds = {folds}; expected at least 2 and at most {samples}, the number of samples"
            ),
            Error::Mark { label } => {
                write!(
                    f,
                    "label {label:?}: unknown mark; expected O, or B, I, E, S, L or U of a chunk"
                )
            }
            Error::SingleClass { positive } => write!(
                f,
                "all labels are {}; expected both classes to occur",
                if *positive { "positive" } else { "negative" }
            ),
            Error::Constant { what, value } => {
                write!(f, "all entries of {what} are {value}; expected at least two values")
            }
            Error::Parameter { name, value, expected } => {
                write!(f, "{name} = {value}; expected {expected}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// A copy of the elements of an argument.
pub(crate) fn copied<'a, T: Copy + 'a>(values: impl IntoIterator<Item = &'a T>) -> Vec<T> {
    values.into_iter().copied().collect()
}

/// Checks that two arguments have the same length and are not empty.
pub(crate) fn check_pair<A, B>(truth: &[A], other: &[B], what: &'static str) -> Result<(), Error> {
    if truth.is_empty() {
        return Err(Error::Empty { what: "truth" });
    }
    if truth.len() != other.len() {
        return Err(Error::Length { what, expected: truth.len(), found: other.len() });
    }
    Ok(())
}

pub(crate) fn check_finite(what: &'static str, values: &[f64]) -> Result<(), Error> {
    check_values(what, values, "a finite number", |value| value.is_finite())
}

pub(crate) fn check_values(
    what: &'static str,
    values: &[f64],
    expected: &'static str,
    accepted: impl Fn(f64) -> bool,
) -> Result<(), Error> {
    match values.iter().position(|&value| !accepted(value)) {
        None => Ok(()),
        Some(index) => Err(Error::Value { what, index, value: values[index], expected }),
    }
}
