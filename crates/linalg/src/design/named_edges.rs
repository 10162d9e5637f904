//! Edges by the names of their ends, as text.

use std::fmt;

use super::names::Names;
use crate::text::fixed;

/// The edges of a network with a number each. It prints a line per edge, and at most a hundred of them.
///
/// ```
/// use fenchel_linalg::{NamedEdges, Names};
///
/// let names = Names::new(["alcohol", "hue", "proline"]);
/// let edges = NamedEdges { names: &names, edges: vec![(0, 2, 0.64), (1, 2, -0.5)] };
/// assert_eq!(edges.to_string(), " 0.640000  alcohol - proline\n-0.500000  hue - proline");
/// ```
#[derive(Debug, Clone)]
pub struct NamedEdges<'a> {
    /// The names of the nodes, or none.
    pub names: &'a Names,
    /// Two nodes and the number of their edge.
    pub edges: Vec<(usize, usize, f64)>,
}

/// The lines of a screen or two.
const LINES: usize = 100;

impl fmt::Display for NamedEdges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = self.edges.split_at(self.edges.len().min(LINES));
        for (k, &(i, j, value)) in shown.iter().enumerate() {
            let line = if k > 0 { "\n" } else { "" };
            write!(f, "{line}{:>9}  {} - {}", fixed(value, 6), self.names.of(i), self.names.of(j))?;
        }
        if rest.is_empty() { Ok(()) } else { write!(f, "\nand {} more", rest.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_network_is_cut() {
        let edges = (0..103).map(|k| (k, k + 1, 0.5)).collect();
        let text = NamedEdges { names: &Names::NONE, edges }.to_string();
        assert_eq!((text.lines().count(), text.lines().last()), (101, Some("and 3 more")));
        assert_eq!(text.lines().next(), Some(" 0.500000  x0 - x1"));
    }
}
