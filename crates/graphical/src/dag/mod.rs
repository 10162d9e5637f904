//! Directed acyclic graphs: d-separation and other properties of the graph alone.
//!
//! | question | function | cost |
//! |---|---|---|
//! | order with parents first | [`Dag::topological_order`] | O((V + E) log V), once |
//! | X and Y independent given Z in every distribution of the graph | [`Dag::d_separated`] | O(V + E) |
//! | which nodes a query needs | [`Dag::requisite`] | O(V + E) |
//! | the undirected graph that junction trees start from | [`Dag::moralise`] | O(sum of squared in-degrees) |
//! | other graphs with the same independences | [`Dag::is_equivalent`], [`Dag::cpdag`] | polynomial |
//! | a graph after an intervention | [`Dag::without_incoming`], [`Dag::without_outgoing`] | O(V + E) |
//!
//! Sources: R. Le Priol, PhD thesis 2021, section 2.3.2; Koller and Friedman, Probabilistic Graphical Models, 2009, chapter 3.

mod equivalence;
mod separation;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::{check_edge, check_node, check_nodes};
use crate::{Error, Graph};

pub use equivalence::Cpdag;
pub(crate) use equivalence::direct;

/// A directed graph without cycles over the nodes `0..nodes`.
///
/// ```
/// use fenchel_graphical::Dag;
///
/// // Rain and sprinkler wet the grass: independent, until the grass is seen.
/// let garden = Dag::new(3, [(0, 2), (1, 2)])?;
/// assert!(garden.d_separated(&[0], &[1], &[])?);
/// assert!(!garden.d_separated(&[0], &[1], &[2])?);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dag {
    parents: Vec<Vec<u32>>,
    children: Vec<Vec<u32>>,
    order: Vec<u32>,
}

impl Dag {
    /// The graph with these arcs `(parent, child)`.
    ///
    /// # Errors
    /// [`Error::Cycle`] with its nodes; [`Error::Duplicate`] for an arc that is listed twice;
    /// [`Error::Invalid`] for a node beyond `0..nodes`, an arc from a node to itself, and for more than
    /// `u32::MAX` nodes.
    pub fn new(nodes: usize, arcs: impl IntoIterator<Item = (u32, u32)>) -> Result<Dag, Error> {
        check_nodes(nodes)?;
        let mut parents = vec![Vec::new(); nodes];
        for (parent, child) in arcs {
            check_edge(nodes, parent, child)?;
            parents[child as usize].push(parent);
        }
        for (child, list) in parents.iter_mut().enumerate() {
            list.sort_unstable();
            if let Some(pair) = list.windows(2).find(|pair| pair[0] == pair[1]) {
                let name = format!("{} -> {child}", pair[0]);
                return Err(Error::Duplicate { what: "arc".into(), name });
            }
        }
        Dag::from_parents(parents)
            .map_err(|cycle| Error::Cycle { path: cycle.iter().map(u32::to_string).collect() })
    }

    /// A graph from lists of distinct parents, all in range. The error is a cycle, with its first node repeated at the end.
    pub(crate) fn from_parents(mut parents: Vec<Vec<u32>>) -> Result<Dag, Vec<u32>> {
        let mut children = vec![Vec::new(); parents.len()];
        for (child, list) in (0u32..).zip(&mut parents) {
            list.sort_unstable();
            for &parent in list.iter() {
                children[parent as usize].push(child);
            }
        }
        let order = order(&parents, &children)?;
        Ok(Dag { parents, children, order })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.parents.len()
    }

    /// The number of arcs.
    pub fn arc_count(&self) -> usize {
        self.parents.iter().map(Vec::len).sum()
    }

    /// The parents of a node, ascending.
    ///
    /// # Panics
    /// If `node` is not in `0..nodes`, as indexing does.
    pub fn parents(&self, node: u32) -> &[u32] {
        &self.parents[node as usize]
    }

    /// The children of a node, ascending.
    ///
    /// # Panics
    /// If `node` is not in `0..nodes`, as indexing does.
    pub fn children(&self, node: u32) -> &[u32] {
        &self.children[node as usize]
    }

    /// Whether there is an arc from `parent` to `child`; `false` for nodes that do not exist.
    pub fn has_arc(&self, parent: u32, child: u32) -> bool {
        self.children.get(parent as usize).is_some_and(|list| list.binary_search(&child).is_ok())
    }

    /// Whether there is an arc between two nodes, in either direction.
    pub fn is_adjacent(&self, a: u32, b: u32) -> bool {
        self.has_arc(a, b) || self.has_arc(b, a)
    }

    /// The arcs `(parent, child)`, ordered by parent and child.
    pub fn arcs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0u32..).zip(&self.children).flat_map(|(a, list)| list.iter().map(move |&b| (a, b)))
    }

    /// A topological order: every node comes after its parents. Of the nodes that could come next the smallest is taken.
    ///
    /// Source: Kahn, Comm. ACM 5, 1962.
    pub fn topological_order(&self) -> &[u32] {
        &self.order
    }

    /// A mask of the given nodes and all their ancestors. O(V + E).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node that does not exist.
    pub fn ancestors(&self, of: &[u32]) -> Result<Vec<bool>, Error> {
        self.closure(of, &self.parents)
    }

    /// A mask of the given nodes and all their descendants. O(V + E).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node that does not exist.
    pub fn descendants(&self, of: &[u32]) -> Result<Vec<bool>, Error> {
        self.closure(of, &self.children)
    }

    fn closure(&self, of: &[u32], next: &[Vec<u32>]) -> Result<Vec<bool>, Error> {
        let mut inside = self.mask(of)?;
        let mut stack: Vec<u32> = of.to_vec();
        while let Some(v) = stack.pop() {
            for &u in &next[v as usize] {
                if !std::mem::replace(&mut inside[u as usize], true) {
                    stack.push(u);
                }
            }
        }
        Ok(inside)
    }

    pub(crate) fn mask(&self, of: &[u32]) -> Result<Vec<bool>, Error> {
        let mut mask = vec![false; self.nodes()];
        for &v in of {
            check_node(self.nodes(), v)?;
            mask[v as usize] = true;
        }
        Ok(mask)
    }

    /// The graph without directions.
    pub fn skeleton(&self) -> Graph {
        let joined = self.parents.iter().zip(&self.children);
        Graph::from_lists(joined.map(|(p, c)| p.iter().chain(c).copied().collect()).collect())
    }

    /// The moral graph: the skeleton with an edge between any two parents of a common child.
    ///
    /// Every conditional probability table fits into a clique of the moral graph. Nodes that are separated in the moral graph
    /// are d-separated in the directed graph.
    pub fn moralise(&self) -> Graph {
        let mut lists = vec![Vec::new(); self.nodes()];
        for (child, parents) in (0u32..).zip(&self.parents) {
            for &a in parents {
                lists[a as usize].push(child);
                lists[child as usize].push(a);
                lists[a as usize].extend(parents.iter().copied().filter(|&b| b != a));
            }
        }
        Graph::from_lists(lists)
    }

    /// The graph without the arcs into these nodes, which represents an intervention on them.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node that does not exist.
    pub fn without_incoming(&self, nodes: &[u32]) -> Result<Dag, Error> {
        let cut = self.mask(nodes)?;
        Dag::new(self.nodes(), self.arcs().filter(|&(_, child)| !cut[child as usize]))
    }

    /// The graph without the arcs out of these nodes, which the back-door criterion uses.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node that does not exist.
    pub fn without_outgoing(&self, nodes: &[u32]) -> Result<Dag, Error> {
        let cut = self.mask(nodes)?;
        Dag::new(self.nodes(), self.arcs().filter(|&(parent, _)| !cut[parent as usize]))
    }
}

fn order(parents: &[Vec<u32>], children: &[Vec<u32>]) -> Result<Vec<u32>, Vec<u32>> {
    let mut missing: Vec<usize> = parents.iter().map(Vec::len).collect();
    let ready = |v: &u32| parents[*v as usize].is_empty();
    let mut heap: BinaryHeap<_> = (0..parents.len() as u32).filter(ready).map(Reverse).collect();
    let mut order = Vec::with_capacity(parents.len());
    while let Some(Reverse(v)) = heap.pop() {
        order.push(v);
        for &child in &children[v as usize] {
            missing[child as usize] -= 1;
            if missing[child as usize] == 0 {
                heap.push(Reverse(child));
            }
        }
    }
    if order.len() < parents.len() { Err(cycle(parents, &missing)) } else { Ok(order) }
}

/// Finds a cycle among the nodes that still miss a parent. Each of these nodes has such a parent, so that a walk from child to
/// parent returns to a visited node.
fn cycle(parents: &[Vec<u32>], missing: &[usize]) -> Vec<u32> {
    let stuck = |v: u32| missing[v as usize] > 0;
    let mut step = vec![usize::MAX; parents.len()];
    let mut path: Vec<u32> = Vec::new();
    let mut next = (0..parents.len() as u32).find(|&v| stuck(v));
    while let Some(v) = next {
        if step[v as usize] != usize::MAX {
            path.drain(..step[v as usize]);
            path.push(v);
            break;
        }
        step[v as usize] = path.len();
        path.push(v);
        next = parents[v as usize].iter().copied().find(|&p| stuck(p));
    }
    path.reverse();
    path
}
