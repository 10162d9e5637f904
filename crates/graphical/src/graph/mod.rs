//! Undirected graphs: the dependence structure of a Markov random field.
//!
//! | question | function | cost |
//! |---|---|---|
//! | adjacency | [`Graph::neighbours`], [`Graph::has_edge`] | O(1), O(log degree) |
//! | connected components | [`Graph::components`] | O(V + E) |
//! | all maximal cliques | [`Graph::maximal_cliques`] | O(d V 3^(d/3)), d the degeneracy |
//! | chordal (decomposable) or not | [`Graph::is_chordal`], [`Graph::perfect_elimination_order`] | O((V + E) log V) |
//! | a spanning forest of least or greatest weight | [`minimum_spanning_forest`], [`maximum_spanning_forest`] | O(E log E) |
//! | a picture, DOT, GraphML | `Graph::network` (feature `plot`) | O(V + E) |
//!
//! Source: R. Le Priol, PhD thesis 2021, definitions 2.3.1-2.3.2.

mod chordal;
mod cliques;
mod spanning;

use fenchel_linalg::Invalid;

use crate::Error;

pub(crate) use spanning::DisjointSets;
pub use spanning::{maximum_spanning_forest, minimum_spanning_forest};

/// An undirected graph without loops or parallel edges over the nodes `0..nodes`.
///
/// It is stored as one sorted list of neighbours per node.
///
/// ```
/// use fenchel_graphical::Graph;
///
/// let square = Graph::new(4, [(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// assert_eq!(square.neighbours(0), [1, 3]);
/// assert!(!square.is_chordal());
/// assert_eq!(square.maximal_cliques(10)?.len(), 4);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    neighbours: Vec<Vec<u32>>,
}

impl Graph {
    /// The graph with these edges. An edge may be listed more than once and in either direction.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node beyond `0..nodes`, for an edge from a node to itself, and for more
    /// than `u32::MAX` nodes.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Graph, Error> {
        check_nodes(nodes)?;
        let mut neighbours = vec![Vec::new(); nodes];
        for (a, b) in edges {
            check_edge(nodes, a, b)?;
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        Ok(Graph::from_lists(neighbours))
    }

    /// A graph from symmetric lists of neighbours, which may be unsorted and contain repetitions.
    pub(crate) fn from_lists(mut neighbours: Vec<Vec<u32>>) -> Graph {
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        Graph { neighbours }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.neighbours.len()
    }

    /// The number of edges.
    pub fn edge_count(&self) -> usize {
        self.neighbours.iter().map(Vec::len).sum::<usize>() / 2
    }

    /// The neighbours of a node, ascending.
    ///
    /// # Panics
    /// If `node` is not in `0..nodes`, as indexing does.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        &self.neighbours[node as usize]
    }

    /// Whether two nodes are adjacent; `false` for nodes that do not exist.
    pub fn has_edge(&self, a: u32, b: u32) -> bool {
        self.neighbours.get(a as usize).is_some_and(|list| list.binary_search(&b).is_ok())
    }

    /// The edges `(a, b)` with `a < b`, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0u32..)
            .zip(&self.neighbours)
            .flat_map(|(a, list)| list.iter().copied().filter(move |&b| a < b).map(move |b| (a, b)))
    }

    /// The connected components: each ascending, ordered by their smallest nodes.
    pub fn components(&self) -> Vec<Vec<u32>> {
        let mut seen = vec![false; self.nodes()];
        let mut components = Vec::new();
        for root in 0..self.nodes() as u32 {
            if std::mem::replace(&mut seen[root as usize], true) {
                continue;
            }
            let mut component = vec![root];
            let mut next = 0;
            while let Some(&node) = component.get(next) {
                next += 1;
                for &neighbour in self.neighbours(node) {
                    if !std::mem::replace(&mut seen[neighbour as usize], true) {
                        component.push(neighbour);
                    }
                }
            }
            component.sort_unstable();
            components.push(component);
        }
        components
    }

    /// Whether the graph has no cycles.
    pub fn is_forest(&self) -> bool {
        self.edge_count() + self.components().len() == self.nodes()
    }
}

pub(crate) fn check_nodes(nodes: usize) -> Result<(), Invalid> {
    if u32::try_from(nodes).is_ok() {
        return Ok(());
    }
    Err(Invalid::Parameter { name: "nodes", value: nodes as f64, expected: "at most 4294967295" })
}

pub(crate) fn check_node(nodes: usize, node: u32) -> Result<(), Invalid> {
    if (node as usize) < nodes {
        return Ok(());
    }
    Err(Invalid::Parameter {
        name: "node",
        value: f64::from(node),
        expected: "a node, counted from 0",
    })
}

pub(crate) fn check_edge(nodes: usize, a: u32, b: u32) -> Result<(), Invalid> {
    let reason = if a == b {
        format!("({a}, {b}) joins a node to itself")
    } else if a.max(b) as usize >= nodes {
        format!("({a}, {b}) in a graph of {nodes} nodes, which count from 0")
    } else {
        return Ok(());
    };
    Err(Invalid::Layout { what: "edges", reason })
}
