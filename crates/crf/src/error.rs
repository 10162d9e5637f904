//! Errors of this crate.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

/// The reason why a data set could not be built, a model not be trained, or a file not be read.
///
/// A run that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A bad argument: a wrong shape, a value out of range, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Inference on a chain failed: no labelling is allowed, or a score is not a number.
    #[error("{}", chain_text(.0))]
    Chain(#[from] fenchel_graphical::Error),
    /// A sequence without tokens.
    #[error("sequence {sequence} has no tokens")]
    EmptySequence {
        /// Its number, from 0.
        sequence: usize,
    },
    /// An error of one of several sequences.
    #[error("sequence {sequence}: {error}")]
    InSequence {
        /// Its number, from 0.
        sequence: usize,
        /// The error of the sequence.
        error: Box<Error>,
    },
    /// An error of one of several graphs.
    #[error("graph {graph}: {error}")]
    InGraph {
        /// Its number, from 0.
        graph: usize,
        /// The error of the graph.
        error: Box<Error>,
    },
    /// A clique that does not fit its graph or its template.
    #[error("clique {clique}: {reason}")]
    Clique {
        /// Its number in the graph, from 0.
        clique: usize,
        /// What was found and what was expected.
        reason: String,
    },
    /// A combination that the method does not support, or a need of more memory than it may use. Nothing was allocated.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A text with an error of format.
    #[error("line {line}, column {column}: {reason}")]
    Format {
        /// Line, counted from 1.
        line: u64,
        /// The position in the line, counted from 1.
        column: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("{0}")]
    Read(String),
}

/// In a chain only a scheme makes labellings impossible.
fn chain_text(error: &fenchel_graphical::Error) -> String {
    match error {
        fenchel_graphical::Error::ImpossibleEvidence => {
            "the scheme allows no labelling of this sequence with the labels of the model".into()
        }
        other => other.to_string(),
    }
}

impl Error {
    pub(crate) fn read(error: std::io::Error) -> Self {
        Error::Read(error.to_string())
    }

    /// The error of one graph with its number among others.
    pub(crate) fn in_graph(self, graph: usize) -> Self {
        Error::InGraph { graph, error: Box::new(self) }
    }

    /// The error of one sequence with its number among others.
    pub(crate) fn in_sequence(self, sequence: usize) -> Self {
        match self {
            Error::EmptySequence { .. } => Error::EmptySequence { sequence },
            error => Error::InSequence { sequence, error: Box::new(error) },
        }
    }
}
