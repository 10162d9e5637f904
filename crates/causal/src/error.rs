//! The errors of this crate.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

use crate::admg::GraphError;
use crate::identify::Hedge;

/// Why a graph or a model could not be built, or a query not be answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Names, edges or sets that make no graph or no query.
    #[error(transparent)]
    Graph(GraphError),
    /// An error of a Bayesian network or a table in `fenchel-graphical`.
    #[error(transparent)]
    Graphical(#[from] fenchel_graphical::Error),
    /// A regression of an effect that could not be fitted.
    #[error(transparent)]
    FiniteSum(#[from] fenchel_finite_sum::Error),
    /// The observed distribution does not determine the effect. The hedge is the proof.
    #[error("not identifiable: {0}")]
    NotIdentifiable(Box<Hedge>),
    /// No set of nodes has the property that was asked for.
    #[error("no {what} for this pair of sets")]
    NoSuchSet {
        /// The property.
        what: &'static str,
    },
    /// The estimand contains a conditional given an event of probability zero, and its value affects the result.
    #[error("the estimand is not defined at {at}: it conditions on an event of probability zero")]
    Positivity {
        /// The states of the variables where it is undefined, as `name=state`.
        at: String,
    },
    /// Treated and untreated people who can be told apart without error: no propensity model has a largest likelihood.
    #[error(
        "the columns of x tell treated and untreated people apart without error: there is no propensity to weight by"
    )]
    Separated,
    /// A treatment that the columns of x tell exactly: every effect of it can be written as an effect of theirs.
    #[error(
        "the treatment is a linear combination of the columns of x, of its interactions and a constant: its effect is not determined"
    )]
    Spanned,
    /// Evidence that has probability zero.
    #[error("the evidence has probability zero")]
    ImpossibleEvidence,
    /// Numbers that are not a probability distribution.
    #[error("{what}, row {row}, sums to {sum}; expected 1 up to 1e-9")]
    NotADistribution {
        /// The argument.
        what: &'static str,
        /// The row, counted from 0.
        row: usize,
        /// Its sum.
        sum: f64,
    },
    /// A probability of zero, which has no finite logit.
    #[error("{what} is zero at row {row}, column {column}; give a floor or a pseudo-count")]
    ZeroProbability {
        /// The argument.
        what: &'static str,
        /// The row, counted from 0.
        row: usize,
        /// The column, counted from 0.
        column: usize,
    },
    /// A category that the variable does not have.
    #[error("category {value} of {what}: there are {categories}, counted from 0")]
    Category {
        /// The variable.
        what: &'static str,
        /// What was found.
        value: usize,
        /// The number of categories.
        categories: usize,
    },
    /// More results than allowed.
    #[error("more than {limit} {what}")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// What this build or this limit does not allow: a table that would be too large, an option that does not fit.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Invalid(invalid) => Error::Invalid(invalid),
            GraphError::Graphical(error) => Error::Graphical(error),
            error => Error::Graph(error),
        }
    }
}
