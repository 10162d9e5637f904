//! The errors of graphs and queries.

use fenchel_linalg::Invalid;

/// The most characters of a text that an error repeats on either side of a position.
const MOST: usize = 60;

/// What a text has near a byte, with `...` for the rest of a long one.
pub(super) fn near(text: &str, at: usize) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.char_indices().rev().nth(MOST - 1).map_or(0, |(i, _)| i);
    let end = after.char_indices().nth(MOST).map_or(after.len(), |(i, _)| i);
    let dots = |cut: bool| if cut { "..." } else { "" };
    let (left, right) = (dots(start > 0), dots(end < after.len()));
    format!("{left}{}{}{right}", &before[start..], &after[..end])
}

/// Why names, edges or sets make no graph or no query.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// An argument that does not fit.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Edges or tables that make no directed graph of `fenchel-graphical`.
    #[error(transparent)]
    Graphical(#[from] fenchel_graphical::Error),
    /// Directed edges that form a cycle.
    #[error("the directed edges form a cycle: {}", path.join(" -> "))]
    Cycle {
        /// The nodes of the cycle in the direction of the edges; the first is repeated at the end.
        path: Vec<String>,
    },
    /// A name, or the number of a node, that the graph does not have.
    #[error("there is no node {name:?}; known: {}", known.join(", "))]
    UnknownNode {
        /// What was asked for; of a long name the first 60 characters and "...".
        name: String,
        /// The names of the graph, the first twenty.
        known: Vec<String>,
    },
    /// A node name or an edge that was given twice.
    #[error("{what} {name:?} is given twice")]
    Duplicate {
        /// What was given.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An edge from a node to itself.
    #[error("an edge joins {node:?} to itself")]
    SelfLoop {
        /// The node.
        node: String,
    },
    /// More nodes than a [`NodeSet`](crate::NodeSet) holds.
    #[error("{found} nodes; a graph has at most {limit}")]
    TooManyNodes {
        /// The number that was given.
        found: usize,
        /// The largest number.
        limit: usize,
    },
    /// Two sets of a query that share a node.
    #[error("{node:?} is both {first} and {second}")]
    Overlap {
        /// The shared node.
        node: String,
        /// The role of the first set.
        first: &'static str,
        /// The role of the second set.
        second: &'static str,
    },
    /// A text that cannot be read as a graph or a query.
    #[error("at byte {at} of {text:?}: {reason}")]
    Format {
        /// The text; of a long one, what is near the error, with `...` for the rest.
        text: String,
        /// Where it goes wrong in the whole text, counted from 0.
        at: usize,
        /// What was found and what was expected.
        reason: String,
    },
}
