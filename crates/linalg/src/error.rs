//! What can be wrong with an argument, in one vocabulary for every crate.

/// An argument that does not fit.
///
/// Every message names the argument, the value that was found and what was expected; positions
/// count from 0. The crates above wrap this in their own `Error` with `#[from]`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Nothing to work on.
    #[error("{what} is empty")]
    Empty {
        /// The argument.
        what: &'static str,
    },
    /// Two shapes that must agree do not.
    #[error("{what}: expected length {expected}, found {found}")]
    Length {
        /// The argument.
        what: &'static str,
        /// The length that the other arguments ask for.
        expected: usize,
        /// The length that was found.
        found: usize,
    },
    /// A NaN or an infinity where numbers are needed.
    #[error("{what}: {value} at row {row}, column {column}; every entry must be finite")]
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
    #[error("{name} = {value}; expected {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value that was found.
        value: f64,
        /// The range that is accepted.
        expected: &'static str,
    },
    /// A label or target that the loss or the estimator cannot use.
    #[error("label of row {row} is {value}; expected {expected}")]
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
    #[error("{what} is not positive definite: pivot {pivot} is {value}")]
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
    /// A matrix whose columns depend on one another where they must not.
    #[error("{what} has rank {rank}; expected {columns} independent columns")]
    RankDeficient {
        /// The argument.
        what: &'static str,
        /// The numerical rank.
        rank: usize,
        /// The number of columns.
        columns: usize,
    },
    /// A matrix whose eigenvalue or singular value iteration ran out of steps.
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
    /// A label that was not among those the classes were made from.
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

    /// Checks that a vector has the expected length.
    pub fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), Invalid> {
        if expected == found { Ok(()) } else { Err(Invalid::Length { what, expected, found }) }
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
