//! The error type for bad arguments that all crates share.

use crate::text::exact;

/// The error for a bad argument.
///
/// Every message names the argument, the value that was found, and what was expected. Positions count from 0. The other crates
/// of the workspace include this type in their own `Error` with `#[from]`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Nothing to work on.
    #[error("{what} is empty")]
    Empty {
        /// The argument.
        what: &'static str,
    },
    /// Two shapes that must agree, but differ.
    #[error("{what}: expected length {expected}, found {found}")]
    Length {
        /// The argument.
        what: &'static str,
        /// The length that the other arguments ask for.
        expected: usize,
        /// The length that was found.
        found: usize,
    },
    /// A NaN or an infinity where a finite number is needed.
    #[error("{what}: {} at row {row}, column {column}; every entry must be finite", exact(*value))]
    NonFinite {
        /// The argument.
        what: &'static str,
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0 (0 for a vector).
        column: usize,
        /// The offending value.
        value: f64,
    },
    /// A number outside its range.
    #[error("{name} = {}; expected {expected}", exact(*value))]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value that was found.
        value: f64,
        /// The range that is accepted.
        expected: &'static str,
    },
    /// A number that the loss of a regression cannot use.
    #[error("target of row {row} is {}; expected {expected}", exact(*value))]
    Target {
        /// Row, counted from 0.
        row: usize,
        /// The value that was found.
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// A label of a class, a sign or a code, that the loss or the estimator cannot use.
    #[error("label of row {row} is {}; expected {expected}", exact(*value))]
    Label {
        /// Row, counted from 0.
        row: usize,
        /// The value that was found.
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// A matrix whose storage does not have the promised form.
    #[error("{what}: {reason}")]
    Layout {
        /// The argument.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A matrix that should be symmetric positive definite and is not.
    #[error("{what} is not positive definite: pivot {pivot} is {}", exact(*value))]
    NotPositiveDefinite {
        /// The argument.
        what: &'static str,
        /// The first pivot that is not positive, counted from 0.
        pivot: usize,
        /// Its value.
        value: f64,
    },
    /// A triangular matrix that cannot be inverted.
    #[error("{what} is singular: entry {pivot} of the diagonal is 0")]
    Singular {
        /// The argument.
        what: &'static str,
        /// The first zero of the diagonal, counted from 0.
        pivot: usize,
    },
    /// A matrix whose columns are linearly dependent where they must be independent.
    #[error("{what} has rank {rank}; expected {columns} independent columns{}", dependent(*column))]
    RankDeficient {
        /// The argument.
        what: &'static str,
        /// The numerical rank.
        rank: usize,
        /// The number of columns.
        columns: usize,
        /// The first column that depends on others, counted from 0, and in words how, where it is known.
        column: Option<(usize, &'static str)>,
    },
    /// A matrix for which the iteration for eigenvalues or singular values did not converge.
    #[error("{what}: the iteration for its eigenvalues or singular values did not converge")]
    NotConverged {
        /// The argument.
        what: &'static str,
    },
    /// A class label that the estimator cannot use.
    #[error("label of row {row} is {label}; expected {expected}")]
    Class {
        /// Row, counted from 0.
        row: usize,
        /// The label, as `Debug` writes it.
        label: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// A label that is not one of the known classes.
    #[error("label of row {row} is {label}; expected one of the {classes} known classes")]
    UnknownLabel {
        /// Row, counted from 0.
        row: usize,
        /// The label, as `Debug` writes it.
        label: String,
        /// The number of known classes.
        classes: usize,
    },
}

fn dependent(column: Option<(usize, &str)>) -> String {
    column.map_or(String::new(), |(column, how)| format!("; column {column} {how}"))
}

impl Invalid {
    /// Checks `value >= 0` and finite.
    pub fn check_nonnegative(name: &'static str, value: f64) -> Result<(), Invalid> {
        if value >= 0.0 && value.is_finite() {
            Ok(())
        } else {
            Err(Invalid::Parameter { name, value, expected: "a finite number >= 0" })
        }
    }

    /// Checks `value > 0` and finite.
    pub fn check_positive(name: &'static str, value: f64) -> Result<(), Invalid> {
        if value > 0.0 && value.is_finite() {
            Ok(())
        } else {
            Err(Invalid::Parameter { name, value, expected: "a finite number > 0" })
        }
    }

    /// Checks that a count is not 0.
    pub fn check_count(name: &'static str, count: usize) -> Result<(), Invalid> {
        match count {
            0 => Err(Invalid::Parameter { name, value: 0.0, expected: "at least 1" }),
            _ => Ok(()),
        }
    }

    /// Checks that a vector has the expected length.
    pub fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), Invalid> {
        if expected == found { Ok(()) } else { Err(Invalid::Length { what, expected, found }) }
    }

    /// Checks weights: `expected` numbers, each finite and not negative. All may be 0.
    pub fn check_weights<'w>(
        what: &'static str,
        expected: usize,
        mut weights: impl ExactSizeIterator<Item = &'w f64>,
    ) -> Result<(), Invalid> {
        Invalid::check_length(what, expected, weights.len())?;
        let bad = weights.by_ref().enumerate().find(|(_, w)| !(**w >= 0.0 && w.is_finite()));
        let Some((place, &weight)) = bad else { return Ok(()) };
        let reason = format!("entry {place} is {}; expected a finite number >= 0", exact(weight));
        Err(Invalid::Layout { what, reason })
    }

    /// Checks that a matrix is square and not empty, and returns its order.
    pub fn check_square(
        what: &'static str,
        (rows, columns): (usize, usize),
    ) -> Result<usize, Invalid> {
        if rows != columns {
            let reason = format!("{rows} x {columns}; expected a square matrix");
            return Err(Invalid::Layout { what, reason });
        }
        if rows == 0 { Err(Invalid::Empty { what }) } else { Ok(rows) }
    }

    /// Checks that every entry of a vector is finite; the position is reported as a row.
    pub fn check_finite(what: &'static str, values: &[f64]) -> Result<(), Invalid> {
        match values.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(row) => Err(Invalid::NonFinite { what, row, column: 0, value: values[row] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_weight_is_named_with_its_place() {
        let message = |weights: &[f64]| {
            Invalid::check_weights("weights", 3, weights.iter()).unwrap_err().to_string()
        };
        assert!(Invalid::check_weights("weights", 3, [0.0; 3].iter()).is_ok());
        assert_eq!(message(&[1.0]), "weights: expected length 3, found 1");
        let expected = "weights: entry 2 is -0.5; expected a finite number >= 0";
        assert_eq!(message(&[1.0, 0.0, -0.5]), expected);
        assert!(message(&[1.0, f64::NAN, 1.0]).contains("entry 1 is NaN"));
        assert!(message(&[f64::INFINITY, 1.0, 1.0]).contains("entry 0 is inf"));
    }

    #[test]
    fn tiny_and_huge_values_are_short() {
        let message = |value| Invalid::check_positive("l2", value).unwrap_err().to_string();
        assert_eq!(message(-1e-300), "l2 = -1e-300; expected a finite number > 0");
        assert_eq!(message(-1e200), "l2 = -1e200; expected a finite number > 0");
        assert_eq!(message(-0.25), "l2 = -0.25; expected a finite number > 0");
        assert_eq!(message(0.0), "l2 = 0; expected a finite number > 0");
        assert_eq!(message(f64::NAN), "l2 = NaN; expected a finite number > 0");
        assert_eq!(message(f64::INFINITY), "l2 = inf; expected a finite number > 0");
        let count = |k| Invalid::check_count("k", k).map_err(|error| error.to_string());
        assert_eq!((count(0), count(1)), (Err("k = 0; expected at least 1".into()), Ok(())));
    }
}
