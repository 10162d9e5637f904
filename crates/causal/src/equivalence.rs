//! Queries on a Markov equivalence class: a set of graphs that data alone cannot tell apart.
//!
//! A completed partially directed graph ([`Cpdag`]) stands for all directed acyclic graphs with the same independences.
//! The class determines an effect if all its members give the same formula. This holds if and only if no proper,
//! possibly causal path from the treatment to the outcome begins with an undirected edge.
//!
//! Sources: Perkovic, Identifying causal effects in maximally oriented partially directed acyclic graphs, UAI 2020;
//! Meek, UAI 1995.

use fenchel_graphical::{Cpdag, Dag};
use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;

use crate::admg::GraphError;
use crate::{Admg, Error, Estimand, LatentModel, NodeSet, Query, identify};

/// A partially directed graph, closed under Meek's rules after each orientation.
#[derive(Debug, Clone)]
struct Partial {
    parents: Vec<NodeSet>,
    children: Vec<NodeSet>,
    open: Vec<NodeSet>,
}

impl Partial {
    fn new(class: &Cpdag) -> Result<Partial, Error> {
        let n = class.nodes;
        if n > NodeSet::CAPACITY {
            return Err(GraphError::TooManyNodes { found: n, limit: NodeSet::CAPACITY }.into());
        }
        let empty = vec![NodeSet::EMPTY; n];
        let mut graph = Partial { parents: empty.clone(), children: empty.clone(), open: empty };
        let edges = class.directed.iter().chain(&class.undirected);
        if let Some((a, b)) =
            edges.clone().find(|(a, b)| *a as usize >= n || *b as usize >= n || a == b)
        {
            let reason = format!("no edge can join {a} and {b} among {n} nodes");
            return Err(Invalid::Layout { what: "the class", reason }.into());
        }
        for &(a, b) in &class.directed {
            graph.children[a as usize] |= NodeSet::one(b);
            graph.parents[b as usize] |= NodeSet::one(a);
        }
        for &(a, b) in &class.undirected {
            graph.open[a as usize] |= NodeSet::one(b);
            graph.open[b as usize] |= NodeSet::one(a);
        }
        Ok(graph)
    }

    fn adjacent(&self, v: u32) -> NodeSet {
        self.parents[v as usize] | self.children[v as usize] | self.open[v as usize]
    }

    /// Directs `a -> b`, and all that follows from it without a new v-structure or a cycle.
    fn orient(&mut self, a: u32, b: u32) {
        let mut fresh = vec![(a, b)];
        while let Some((a, b)) = fresh.pop() {
            if !self.open[a as usize].contains(b) {
                continue;
            }
            self.open[a as usize] = self.open[a as usize] - NodeSet::one(b);
            self.open[b as usize] = self.open[b as usize] - NodeSet::one(a);
            self.children[a as usize] |= NodeSet::one(b);
            self.parents[b as usize] |= NodeSet::one(a);
            for v in 0..self.open.len() as u32 {
                for w in self.open[v as usize].iter() {
                    if self.compelled(v, w) {
                        fresh.push((v, w));
                    }
                }
            }
        }
    }

    /// Meek's four rules for `v - w` to become `v -> w`.
    fn compelled(&self, v: u32, w: u32) -> bool {
        let (i, j) = (v as usize, w as usize);
        let beside = self.open[i] & self.parents[j];
        !(self.parents[i] - self.adjacent(w) - NodeSet::one(w)).is_empty()
            || self.children[i].meets(self.parents[j])
            || beside.iter().any(|c| !(beside - self.adjacent(c) - NodeSet::one(c)).is_empty())
            || (self.open[i] | self.children[i] | self.parents[i]).iter().any(|c| {
                // v - d -> c -> w with d and w not joined.
                self.parents[j].contains(c)
                    && !((self.open[i] & self.parents[c as usize]) - self.adjacent(w)).is_empty()
            })
    }

    fn dag(&self) -> Result<Dag, Error> {
        let arcs = (0u32..).zip(&self.children).flat_map(|(a, c)| c.iter().map(move |b| (a, b)));
        Ok(Dag::new(self.children.len(), arcs)?)
    }
}

/// All graphs of the class, at most `limit`.
///
/// # Errors
/// [`Error::TooMany`]; [`GraphError::TooManyNodes`], [`Error::Invalid`], [`Error::Graphical`] for edges that do not form a class.
pub fn members(class: &Cpdag, limit: usize) -> Result<Vec<Dag>, Error> {
    checked(class)?;
    let mut found = Vec::new();
    let mut open = vec![Partial::new(class)?];
    while let Some(graph) = open.pop() {
        let edge = graph.open.iter().zip(0u32..).find_map(|(o, a)| Some((a, o.smallest()?)));
        let Some((a, b)) = edge else {
            if found.len() == limit {
                return Err(Error::TooMany { what: "graphs of the class", limit });
            }
            found.push(graph.dag()?);
            continue;
        };
        for (from, to) in [(b, a), (a, b)] {
            let mut next = graph.clone();
            next.orient(from, to);
            open.push(next);
        }
    }
    Ok(found)
}

/// One graph of the class, once it is known to be a class.
fn checked(class: &Cpdag) -> Result<Dag, Error> {
    let sorted = |edges: &[(u32, u32)]| {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        edges
    };
    let dag = member(class)?;
    let whole = dag.cpdag();
    let undirected: Vec<(u32, u32)> =
        class.undirected.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    if sorted(&class.directed) != whole.directed || sorted(&undirected) != whole.undirected {
        let reason =
            "expected all graphs that are equivalent to some directed acyclic graph".into();
        return Err(Invalid::Layout { what: "the class", reason }.into());
    }
    Ok(dag)
}

/// One graph with these edges.
fn member(class: &Cpdag) -> Result<Dag, Error> {
    let mut graph = Partial::new(class)?;
    while let Some((a, b)) =
        graph.open.iter().zip(0u32..).find_map(|(o, a)| Some((a, o.smallest()?)))
    {
        graph.orient(a, b);
    }
    graph.dag()
}

/// Whether all graphs of the class give the same effect of `treatment` on `outcome`. A possibly causal path is one
/// whose edges can all be directed away from the treatment, and it is proper if it leaves the treatment once. The
/// answer is yes if no such path to the outcome begins with an undirected edge.
///
/// # Errors
/// [`GraphError::TooManyNodes`]; [`Error::Invalid`] for edges that do not form a class, a node that it does not have, or no outcome;
/// [`Error::Graphical`] for a cycle; [`GraphError::Overlap`] for a node that is both.
pub fn is_identifiable(class: &Cpdag, outcome: NodeSet, treatment: NodeSet) -> Result<bool, Error> {
    checked(class)?;
    let graph = Partial::new(class)?;
    if let Some(v) = (outcome & treatment).smallest() {
        let node = v.to_string();
        return Err(GraphError::Overlap { node, first: "outcome", second: "treatment" }.into());
    }
    if outcome.is_empty() {
        return Err(Invalid::Empty { what: "the outcome of the query" }.into());
    }
    if let Some(v) = ((outcome | treatment) - NodeSet::first(class.nodes)).smallest() {
        let value = f64::from(v);
        return Err(
            Invalid::Parameter { name: "node", value, expected: "a node of the class" }.into()
        );
    }
    let starts: NodeSet =
        treatment.iter().fold(NodeSet::EMPTY, |all, x| all | graph.open[x as usize]) - treatment;
    // Any walk along arcs and open edges shortens to a possibly causal path in a class that is closed under the rules.
    let (mut found, mut fresh) = (starts, starts);
    while let Some(v) = fresh.smallest() {
        let next = (graph.children[v as usize] | graph.open[v as usize]) - treatment - found;
        found |= next;
        fresh = (fresh - NodeSet::one(v)) | next;
    }
    Ok(!found.meets(outcome))
}

/// The most graphs of a class that are compared for a conditional query.
const COMPARED: usize = 512;
/// Conditionals of random laws that differ by less are the same.
const SAME: f64 = 1e-9;

/// The formula for a query on which all graphs of the class agree, or `None` where they do not.
///
/// If the effect on outcome and conditions together is the same in all graphs, the conditional effect follows from it.
/// Otherwise the conditional effect may still be the same in all graphs. Then all graphs of the class, at most 512, are
/// compared on two random distributions of the class. This test is exact with probability one, because conditionals are
/// ratios of polynomials in the table entries.
///
/// # Errors
/// As [`is_identifiable`] and [`identify`](fn@crate::identify). For conditional queries [`Error::TooMany`] graphs, and
/// [`Error::Refused`] for more nodes than a joint table holds.
pub fn identify_in_class<S: AsRef<str>>(
    class: &Cpdag,
    names: &[S],
    query: Query,
) -> Result<Option<Estimand>, Error> {
    let graph = Admg::from_dag(&checked(class)?, names)?;
    let found = identify(&graph, query)?;
    if is_identifiable(class, query.outcome | query.given, query.treatment)? {
        return Ok(Some(found));
    }
    if query.given.is_empty() {
        return Ok(None);
    }
    let others = members(class, COMPARED)?
        .iter()
        .map(|dag| identify(&Admg::from_dag(dag, names)?, query))
        .collect::<Result<Vec<_>, Error>>()?;
    let cards: Vec<usize> = (0..graph.len()).map(|v| 2 + v % 2).collect();
    for law in 0..2 {
        let law = LatentModel::random(&graph, &cards, &mut stream(law, 0))?.observed()?;
        let first = found.evaluate(&law)?;
        for other in &others {
            if other.evaluate(&law)?.distance(&first) > SAME {
                return Ok(None);
            }
        }
    }
    Ok(Some(found))
}
