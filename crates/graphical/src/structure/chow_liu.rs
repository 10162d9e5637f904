//! The tree of maximum likelihood (Chow-Liu).

use ndarray::ArrayView2;

use super::Columns;
use crate::graph::maximum_spanning_forest;
use crate::{Dag, Error, Graph};

/// Pairs with less mutual information are not joined. Rounding alone can cause this much.
const NONE: f64 = 1e-12;

/// What [`chow_liu`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct ChowLiuTree {
    /// The undirected tree. It is a forest if some columns are constant.
    pub graph: Graph,
    /// The same forest with directed edges, away from the root, and in every other component away from its first column.
    pub dag: Dag,
    /// The edges `(a, b, information)`, `a < b`, with the mutual information of the pair in nats.
    pub edges: Vec<(u32, u32, f64)>,
}

/// Finds the tree of highest likelihood, which is the spanning tree with the largest sum of mutual informations.
///
/// Kruskal's algorithm gives the exact optimum. Of trees with equal sums, the pair that comes first is preferred. O(n^2
/// records).
///
/// Source: Chow and Liu, IEEE Trans. Information Theory 14 (1968).
///
/// # Errors
/// [`Error::Cell`] for a value that is missing or no state; [`Error::Invalid`] for no records, a root that does not exist and
/// another number of columns.
pub fn chow_liu(
    data: ArrayView2<'_, usize>,
    cards: &[usize],
    root: u32,
) -> Result<ChowLiuTree, Error> {
    let columns = Columns::new(data, cards)?;
    let n = cards.len();
    if n > 0 {
        crate::graph::check_node(n, root)?;
    }
    let mut pairs = Vec::new();
    for a in 0..n as u32 {
        for b in a + 1..n as u32 {
            let information = mutual_information(&columns, a, b)?;
            if information > NONE {
                pairs.push((a, b, information));
            }
        }
    }
    let kept = maximum_spanning_forest(n, &pairs)?;
    let edges: Vec<(u32, u32, f64)> = kept.into_iter().map(|k| pairs[k]).collect();
    let graph = Graph::new(n, edges.iter().map(|&(a, b, _)| (a, b)))?;
    let mut arcs = Vec::with_capacity(edges.len());
    let mut seen = vec![false; n];
    for start in std::iter::once(root).chain(0..n as u32).take(if n > 0 { n + 1 } else { 0 }) {
        let mut stack = vec![start];
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        while let Some(a) = stack.pop() {
            for &b in graph.neighbours(a) {
                if !std::mem::replace(&mut seen[b as usize], true) {
                    arcs.push((a, b));
                    stack.push(b);
                }
            }
        }
    }
    Ok(ChowLiuTree { graph, dag: Dag::new(n, arcs)?, edges })
}

/// The mutual information `sum p_ab ln (p_ab / (p_a p_b))` of the empirical frequencies.
fn mutual_information(columns: &Columns, a: u32, b: u32) -> Result<f64, Error> {
    let counts = columns.counts(b, &[a])?;
    let total = columns.records() as f64;
    let mut of_b = vec![0.0; counts.states];
    for row in counts.seen() {
        of_b.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
    }
    let mut information = 0.0;
    for row in counts.seen() {
        let of_a: f64 = row.iter().sum();
        for (n, b) in row.iter().zip(&of_b).filter(|(n, _)| **n > 0.0) {
            information += n / total * (n * total / (of_a * b)).ln();
        }
    }
    Ok(information)
}
