//! Spanning trees by Kruskal's method.

use fenchel_linalg::Invalid;

use super::{check_edge, check_nodes};
use crate::Error;

/// A spanning forest of least total weight: it has the same components as the graph of the edges `(a, b, weight)`. The result
/// is a list of ascending indices into `edges`. Of equal weights the edge listed first is taken. O(E log E).
///
/// Source: Kruskal, Proc. AMS 7, 1956.
///
/// ```
/// use fenchel_graphical::graph::minimum_spanning_forest;
///
/// let edges = [(0, 1, 3.0), (1, 2, 1.0), (0, 2, 2.0)];
/// assert_eq!(minimum_spanning_forest(3, &edges)?, [1, 2]);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for a node beyond `0..nodes`, an edge from a node to itself, a weight that is NaN.
pub fn minimum_spanning_forest(
    nodes: usize,
    edges: &[(u32, u32, f64)],
) -> Result<Vec<usize>, Error> {
    forest(nodes, edges, |weight| weight)
}

/// A spanning forest of greatest total weight. It is the Chow-Liu tree if the weights are mutual informations, and a junction
/// tree if the weights are sizes of intersections of cliques.
///
/// # Errors
/// As [`minimum_spanning_forest`].
pub fn maximum_spanning_forest(
    nodes: usize,
    edges: &[(u32, u32, f64)],
) -> Result<Vec<usize>, Error> {
    forest(nodes, edges, |weight| -weight)
}

fn forest(
    nodes: usize,
    edges: &[(u32, u32, f64)],
    cost: impl Fn(f64) -> f64,
) -> Result<Vec<usize>, Error> {
    check_nodes(nodes)?;
    for (row, &(a, b, value)) in edges.iter().enumerate() {
        check_edge(nodes, a, b)?;
        if value.is_nan() {
            return Err(Invalid::NonFinite { what: "edges", row, column: 2, value }.into());
        }
    }
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by(|&i, &j| cost(edges[i].2).total_cmp(&cost(edges[j].2)));
    let mut sets = DisjointSets::new(nodes);
    order.retain(|&i| sets.join(edges[i].0, edges[i].1));
    order.sort_unstable();
    Ok(order)
}

/// Disjoint sets with union by size and path halving.
#[derive(Debug, Clone)]
pub(crate) struct DisjointSets {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl DisjointSets {
    pub(crate) fn new(n: usize) -> DisjointSets {
        DisjointSets { parent: (0..n as u32).collect(), size: vec![1; n] }
    }

    pub(crate) fn find(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let grandparent = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = grandparent;
            i = grandparent;
        }
        i
    }

    /// Merges the sets of two elements. Returns `false` if they were in the same set already.
    pub(crate) fn join(&mut self, a: u32, b: u32) -> bool {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        if self.size[a as usize] < self.size[b as usize] {
            std::mem::swap(&mut a, &mut b);
        }
        self.parent[b as usize] = a;
        self.size[a as usize] += self.size[b as usize];
        true
    }
}
