//! What can go wrong.

use fenchel_linalg::Invalid;

use crate::VarId;

/// Why a model could not be built, a query not be answered or a file not be read.
///
/// An iterative method that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A log-potential that is NaN or `+inf`, or a potential that is negative, NaN or infinite.
    #[error("potential {index} of factor {factor} is {value}; expected {expected}")]
    Potential {
        /// The number of the factor; of the next one while it is being added, 0 for a table alone.
        factor: usize,
        /// The position among the values as they were given.
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
        /// How many variables there are.
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
    /// Two tables, or a table and a model, that disagree about a variable.
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
    /// A directed graph with a cycle.
    #[error("the arcs form a cycle: {}", path.join(" -> "))]
    Cycle {
        /// Names of the nodes along the cycle; the first is repeated at the end.
        path: Vec<String>,
    },
    /// A file that does not have the promised form.
    #[error("line {line}: {reason}")]
    Format {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A table of the result would be larger than allowed. Nothing was allocated.
    #[error("{what} needs {needed} bytes, the limit is {limit}: {hint}")]
    MemoryLimit {
        /// What would be allocated.
        what: &'static str,
        /// Bytes that would be needed; `u64::MAX` where the number overflows.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
        /// What to do instead.
        hint: &'static str,
    },
}
