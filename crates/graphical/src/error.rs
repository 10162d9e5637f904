//! Errors of this crate.

use std::io;

use fenchel_linalg::Invalid;
use fenchel_linalg::text::exact;
use fenchel_optim::Refusal;

use crate::VarId;

/// `there is no variable "a"`, and of a state `"a" has no state "x"`.
fn unknown(what: &str, name: &str) -> String {
    match what.strip_prefix("state of ") {
        Some(variable) => format!("{variable} has no state {name:?}; it has "),
        None => format!("there is no {what} {name:?}; known, nearest first: "),
    }
}

/// The reason why a model could not be built, a query not be answered, or a file not be read.
///
/// An iterative method that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A bad argument: a wrong shape, a value out of range, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A log-potential that is NaN or `+inf`, or a potential that is negative, NaN or infinite.
    #[error("potential {index} of factor {factor} is {}; expected {expected}", exact(*value))]
    Potential {
        /// The number of the factor. While a factor is being added it is the number that the factor would get; for a table
        /// alone it is 0.
        factor: usize,
        /// Index of the value in the order given.
        index: usize,
        /// The offending value.
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// A variable that the model, or the table, does not have.
    #[error("{variable} is unknown; expected one of {variables} variables")]
    UnknownVariable {
        /// The variable.
        variable: VarId,
        /// The number of variables.
        variables: usize,
    },
    /// A variable that occurs twice in one scope.
    #[error("{variable} occurs twice in a scope")]
    RepeatedVariable {
        /// The variable.
        variable: VarId,
    },
    /// A state that the variable does not have.
    #[error("state {state} of {variable} does not exist: it has {cardinality} states")]
    State {
        /// The variable.
        variable: VarId,
        /// The state that was asked for, counted from 0.
        state: usize,
        /// The number of states.
        cardinality: usize,
    },
    /// Two tables, or a table and a model, with different numbers of states for a variable.
    #[error("{variable} has {expected} states; a table gives it {found}")]
    Cardinality {
        /// The variable.
        variable: VarId,
        /// The number of states in the model, or in the first table.
        expected: usize,
        /// The number of states found.
        found: usize,
    },
    /// The evidence, or the model itself, has probability zero.
    #[error("the evidence has probability zero")]
    ImpossibleEvidence,
    /// A model whose graph has a cycle, given to a method for trees.
    #[error("the model is not a tree: {variable} lies on a cycle")]
    NotATree {
        /// A variable on the cycle.
        variable: VarId,
    },
    /// The method does not support the problem, though the arguments are valid. In most cases tables would need more than
    /// `max_memory`. Nothing was allocated.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A need of more memory than the system provides. Nothing was allocated.
    #[error("{count} {what} need {needed} bytes, which cannot be allocated: ask for fewer")]
    Memory {
        /// What would be allocated.
        what: &'static str,
        /// How many of them.
        count: usize,
        /// Bytes that would be needed; `u64::MAX` where the number overflows.
        needed: u64,
    },
    /// More results than the limit of the caller.
    #[error("more than {limit} {what}")]
    TooMany {
        /// What is enumerated.
        what: &'static str,
        /// How many were allowed.
        limit: usize,
    },
    /// Arcs that form a cycle where there must be none.
    #[error("the arcs form a cycle: {}", path.join(" -> "))]
    Cycle {
        /// The nodes of the cycle in the direction of the arcs; the first is repeated at the end.
        path: Vec<String>,
    },
    /// An unknown name.
    #[error("{}{}", unknown(.what, .name), known.join(", "))]
    UnknownName {
        /// The kind of name: a variable, a state of a variable.
        what: String,
        /// The unknown name.
        name: String,
        /// Some names that exist, nearest spelling first.
        known: Vec<String>,
    },
    /// Something that was given twice.
    #[error("{what} {name:?} is given twice")]
    Duplicate {
        /// What was given: a variable, a state, an arc, a table.
        what: String,
        /// Its name.
        name: String,
    },
    /// A variable of a Bayesian network that has no conditional probability table.
    #[error("variable {variable:?} has no conditional probability table")]
    NoCpt {
        /// The variable.
        variable: String,
    },
    /// A conditional probability table that does not have one number for every cell.
    #[error("the table of {variable:?} has {found} numbers; expected {expected} ({shape})")]
    CptLength {
        /// The child.
        variable: String,
        /// Parent configurations x states.
        expected: usize,
        /// The numbers that were given.
        found: usize,
        /// The cardinalities behind `expected`.
        shape: String,
    },
    /// An entry of a conditional probability table that is negative, infinite or NaN.
    #[error("P({variable:?} = {state} | {given}) is {}; expected a number >= 0", exact(*value))]
    CptEntry {
        /// The child.
        variable: String,
        /// The parents' states.
        given: String,
        /// The child's state.
        state: String,
        /// The offending value.
        value: f64,
    },
    /// A row of a conditional probability table that does not sum to 1.
    #[error("P({variable:?} | {given}) sums to {}; expected 1 up to {tolerance}", exact(*sum))]
    CptRowSum {
        /// The child.
        variable: String,
        /// The parents' states.
        given: String,
        /// The sum that was found.
        sum: f64,
        /// What was allowed.
        tolerance: f64,
    },
    /// A text with an error of format.
    #[error("line {line}, column {column}: {reason}")]
    Format {
        /// Line, counted from 1.
        line: u64,
        /// Byte of the line, counted from 1.
        column: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// A cell of a data set that cannot be used.
    #[error("row {row}, column {column}: {source}")]
    Cell {
        /// The record, counted from 0.
        row: usize,
        /// The name of the variable, or its number if names are not known.
        column: String,
        /// The error of the cell.
        source: Box<Error>,
    },
    /// A missing value, given to a method that needs complete data.
    #[error("the value is missing; leave the record out, or use Em, which takes such records")]
    Missing,
    /// An error of a file.
    #[error("{path}: {source}")]
    File {
        /// The path, as it was given.
        path: String,
        /// What went wrong.
        source: Box<Error>,
    },
    /// A name that a format cannot express.
    #[error("{format} has no way to write the name {name:?}")]
    Unwritable {
        /// The format.
        format: &'static str,
        /// The name.
        name: String,
    },
    /// Reading or writing failed.
    #[error("{reason}")]
    Io {
        /// The class of the failure.
        kind: io::ErrorKind,
        /// The system's reason.
        reason: String,
    },
}

impl Error {
    /// Makes the error of a cell of a data set.
    pub(crate) fn cell(row: usize, column: impl std::fmt::Display, source: Error) -> Error {
        Error::Cell { row, column: column.to_string(), source: Box::new(source) }
    }

    /// Refuses `count` objects of `each` bytes if the system cannot provide the memory. Without this check, many small
    /// allocations would end in an abort and not in an error.
    pub(crate) fn check_memory(what: &'static str, count: usize, each: usize) -> Result<(), Error> {
        let mut probe: Vec<u8> = Vec::new();
        let bytes = count.checked_mul(each);
        let fits = bytes.is_some_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
        // Used, or else the compiler may leave the allocation out and take it for granted.
        std::hint::black_box(&probe);
        if fits {
            return Ok(());
        }
        let needed = (count as u64).saturating_mul(each as u64);
        Err(Error::Memory { what, count, needed })
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io { kind: error.kind(), reason: error.to_string() }
    }
}
