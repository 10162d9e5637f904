//! Distances between graphs.

use fenchel_linalg::Invalid;

use crate::{Cpdag, Dag, Error};

/// A graph in which a pair of nodes is joined by an arc, by an undirected edge, or not at all.
pub trait PartiallyDirected {
    /// The number of nodes.
    fn nodes(&self) -> usize;
    /// The arcs `(from, to)`, each once.
    fn directed(&self) -> Vec<(u32, u32)>;
    /// The edges without direction, each once.
    fn undirected(&self) -> Vec<(u32, u32)>;
}

impl PartiallyDirected for Dag {
    fn nodes(&self) -> usize {
        self.nodes()
    }

    fn directed(&self) -> Vec<(u32, u32)> {
        self.arcs().collect()
    }

    fn undirected(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }
}

impl PartiallyDirected for Cpdag {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn directed(&self) -> Vec<(u32, u32)> {
        self.directed.clone()
    }

    fn undirected(&self) -> Vec<(u32, u32)> {
        self.undirected.clone()
    }
}

/// The structural Hamming distance (SHD): the number of pairs of nodes that the two graphs join differently. A missing edge, an
/// extra edge, a reversed arc, and an edge that is directed in only one of the graphs count 1 each.
///
/// Two different graphs of one equivalence class have a positive distance. To compare what data can determine, compare the
/// CPDAGs of their classes.
///
/// Source: Tsamardinos, Brown and Aliferis, Machine Learning 65 (2006).
///
/// ```
/// use fenchel_graphical::{Dag, structure::shd};
///
/// let (chain, fork) = (Dag::new(3, [(0, 1), (1, 2)])?, Dag::new(3, [(1, 0), (1, 2)])?);
/// assert_eq!(shd(&chain, &fork)?, 1);
/// assert_eq!(shd(&chain.cpdag(), &fork.cpdag())?, 0);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for different numbers of nodes.
pub fn shd<G: PartiallyDirected>(truth: &G, estimate: &G) -> Result<usize, Error> {
    Invalid::check_length("nodes of the estimate", truth.nodes(), estimate.nodes())?;
    let pairs = |graph: &G| {
        let (arcs, edges) = (graph.directed(), graph.undirected());
        let arcs = arcs.into_iter().map(|(a, b)| ((a.min(b), a.max(b)), u8::from(a > b)));
        let edges = edges.into_iter().map(|(a, b)| ((a.min(b), a.max(b)), 2));
        arcs.chain(edges).collect::<std::collections::BTreeMap<(u32, u32), u8>>()
    };
    let (truth, estimate) = (pairs(truth), pairs(estimate));
    let lost = truth.iter().filter(|(pair, kind)| estimate.get(pair) != Some(kind)).count();
    let added = estimate.keys().filter(|pair| !truth.contains_key(pair)).count();
    Ok(lost + added)
}
