//! Causal graphs with hidden common causes.
//!
//! An acyclic directed mixed graph (ADMG) has two kinds of edges over the observed variables:
//!
//! ```text
//! a -> b     a is a direct cause of b
//! a <-> b    a and b have a common cause that is not observed
//! ```
//!
//! A graph without bidirected edges is a directed acyclic graph in which no common cause is hidden. [`Admg::project`] turns any causal
//! graph with hidden variables into an ADMG over the observed ones. The same effects are identifiable in both graphs.
//!
//! | question | function | cost |
//! |---|---|---|
//! | write a graph down | [`Admg::parse`], [`Admg::new`], [`Admg::project`] | O(V + E) |
//! | X and Y independent given Z in every distribution of the graph | [`Admg::m_separated`] | O(V + E) |
//! | the graph after an intervention, or for the back-door criterion | [`Admg::without_incoming`], [`Admg::without_outgoing`] | O(V) |
//! | sets of nodes joined by hidden causes | [`Admg::districts`] | O(V + E) |
//!
//! Sources: R. Le Priol, PhD thesis 2021, sections 2.3.2 and 2.3.3; Richardson, Markov properties for acyclic
//! directed mixed graphs, Scandinavian Journal of Statistics 30, 2003; Pearl, Causality, 2009.

mod error;
mod parse;
mod query;
mod separation;
mod view;

use std::fmt;

use fenchel_graphical::{BayesNet, Dag};
use serde::{Deserialize, Serialize};

use crate::node_set::NodeSet;

use error::near;

pub use error::GraphError;
pub use query::Query;
pub(crate) use view::View;

/// A causal graph over named, observed variables: directed edges without cycles, and bidirected edges for
/// hidden common causes. At most [`NodeSet::CAPACITY`] nodes.
///
/// ```
/// use fenchel_causal::Admg;
///
/// let g = Admg::parse("smoking -> tar -> cancer; smoking <-> cancer")?;
/// let (s, t, c) = (g.set(&["smoking"])?, g.set(&["tar"])?, g.set(&["cancer"])?);
/// assert!(!g.m_separated(s, c, t)?); // the hidden cause stays
/// assert_eq!(g.to_string(), "smoking -> tar; tar -> cancer; smoking <-> cancer");
/// # Ok::<(), fenchel_causal::admg::GraphError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Admg {
    names: Vec<String>,
    parents: Vec<NodeSet>,
    children: Vec<NodeSet>,
    spouses: Vec<NodeSet>,
    order: Vec<u32>,
}

/// The contents of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Parts {
    names: Vec<String>,
    directed: Vec<(u32, u32)>,
    bidirected: Vec<(u32, u32)>,
}

impl TryFrom<Parts> for Admg {
    type Error = GraphError;
    fn try_from(parts: Parts) -> Result<Admg, GraphError> {
        Admg::new(&parts.names, &parts.directed, &parts.bidirected)
    }
}

impl From<Admg> for Parts {
    fn from(graph: Admg) -> Parts {
        let (directed, bidirected) = (graph.directed().collect(), graph.bidirected().collect());
        Parts { names: graph.names, directed, bidirected }
    }
}

impl Admg {
    /// The graph with these names, directed edges `(cause, effect)` and bidirected edges, by the positions of
    /// the names.
    ///
    /// # Errors
    /// [`GraphError::TooManyNodes`], [`GraphError::Duplicate`] for a name or an edge, [`GraphError::UnknownNode`],
    /// [`GraphError::SelfLoop`], [`GraphError::Cycle`]; [`GraphError::Invalid`] for a name that [`Admg::parse`]
    /// could not read.
    pub fn new<S: AsRef<str>>(
        names: &[S],
        directed: &[(u32, u32)],
        bidirected: &[(u32, u32)],
    ) -> Result<Admg, GraphError> {
        let n = names.len();
        if n > NodeSet::CAPACITY {
            return Err(GraphError::TooManyNodes { found: n, limit: NodeSet::CAPACITY });
        }
        let names: Vec<String> = names.iter().map(|s| s.as_ref().to_owned()).collect();
        for (i, name) in names.iter().enumerate() {
            if let Some(reason) = unreadable(name) {
                return Err(fenchel_linalg::Invalid::Layout { what: "names", reason }.into());
            }
            if names[..i].contains(name) {
                return Err(GraphError::Duplicate { what: "node", name: name.clone() });
            }
        }
        let mut graph = Admg {
            names,
            parents: vec![NodeSet::EMPTY; n],
            children: vec![NodeSet::EMPTY; n],
            spouses: vec![NodeSet::EMPTY; n],
            order: Vec::new(),
        };
        for &(a, b) in directed {
            graph.check_edge(a, b)?;
            if graph.children[a as usize].contains(b) {
                let name = format!("{} -> {}", graph.name(a), graph.name(b));
                return Err(GraphError::Duplicate { what: "edge", name });
            }
            graph.children[a as usize] |= NodeSet::one(b);
            graph.parents[b as usize] |= NodeSet::one(a);
        }
        for &(a, b) in bidirected {
            graph.check_edge(a, b)?;
            if graph.spouses[a as usize].contains(b) {
                let name = format!("{} <-> {}", graph.name(a), graph.name(b));
                return Err(GraphError::Duplicate { what: "edge", name });
            }
            graph.spouses[a as usize] |= NodeSet::one(b);
            graph.spouses[b as usize] |= NodeSet::one(a);
        }
        match Dag::new(n, directed.iter().copied()) {
            Ok(dag) => graph.order = dag.topological_order().to_vec(),
            Err(fenchel_graphical::Error::Cycle { path }) => {
                let name = |v: &String| v.parse().map_or(v.clone(), |v: u32| graph.name(v).into());
                return Err(GraphError::Cycle { path: path.iter().map(name).collect() });
            }
            Err(other) => return Err(other.into()),
        }
        Ok(graph)
    }

    /// A directed acyclic graph in which everything is observed.
    ///
    /// # Errors
    /// As [`Admg::new`]; [`GraphError::Invalid`] also for different numbers of names and nodes.
    pub fn from_dag<S: AsRef<str>>(dag: &Dag, names: &[S]) -> Result<Admg, GraphError> {
        fenchel_linalg::Invalid::check_length("names", dag.nodes(), names.len())?;
        let arcs: Vec<_> = dag.arcs().collect();
        Admg::new(names, &arcs, &[])
    }

    /// The graph of a Bayesian network whose variables are all observed.
    ///
    /// # Errors
    /// [`GraphError::TooManyNodes`]; [`GraphError::Invalid`] for a name that [`Admg::parse`] could not read.
    pub fn from_bayes_net(net: &BayesNet) -> Result<Admg, GraphError> {
        let names: Vec<&str> = net.variables().map(|v| net.name_of(v)).collect();
        Admg::from_dag(net.dag(), &names)
    }

    /// The latent projection: the graph over the observed variables that a graph with hidden variables implies. It has `a -> b` if a
    /// directed path leads from `a` to `b` through hidden nodes only. It has `a <-> b` if some hidden node has such paths to both, or
    /// if such paths lead to both from the two ends of a bidirected edge.
    ///
    /// Separations among observed nodes and identifiable effects stay the same. The cost is O(V E).
    ///
    /// Source: Verma and Pearl, UAI 1990; Tian and Pearl, On the identification of causal effects, 2002.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`].
    pub fn project(&self, hidden: NodeSet) -> Result<Admg, GraphError> {
        self.check_set(hidden)?;
        let seen = self.all() - hidden;
        // What a node reaches at the end of directed paths whose inner nodes are hidden.
        let mut reach = vec![NodeSet::EMPTY; self.len()];
        for &v in self.order.iter().rev() {
            for c in self.children[v as usize].iter() {
                let to = if hidden.contains(c) { reach[c as usize] } else { NodeSet::one(c) };
                reach[v as usize] |= to;
            }
        }
        let keep: Vec<u32> = seen.iter().collect();
        let place = |v: u32| keep.iter().position(|&k| k == v).unwrap_or_default() as u32;
        let names: Vec<&str> = keep.iter().map(|&v| self.name(v)).collect();
        let mut directed = Vec::new();
        for &v in &keep {
            directed.extend(reach[v as usize].iter().map(|c| (place(v), place(c))));
        }
        let ends = |v: u32| if hidden.contains(v) { reach[v as usize] } else { NodeSet::one(v) };
        let mut joined = vec![NodeSet::EMPTY; self.len()];
        let mut join = |left: NodeSet, right: NodeSet| {
            for a in left.iter() {
                joined[a as usize] |= right - NodeSet::one(a);
            }
            for b in right.iter() {
                joined[b as usize] |= left - NodeSet::one(b);
            }
        };
        for h in hidden.iter() {
            join(reach[h as usize], reach[h as usize]);
        }
        for (a, b) in self.bidirected() {
            join(ends(a), ends(b));
        }
        let mut bidirected = Vec::new();
        for &v in &keep {
            let later = joined[v as usize].iter().filter(|&b| b > v);
            bidirected.extend(later.map(|b| (place(v), place(b))));
        }
        Admg::new(&names, &directed, &bidirected)
    }

    fn check_edge(&self, a: u32, b: u32) -> Result<(), GraphError> {
        for v in [a, b] {
            if v as usize >= self.len() {
                return Err(self.unknown(&v.to_string()));
            }
        }
        if a == b { Err(GraphError::SelfLoop { node: self.name(a).into() }) } else { Ok(()) }
    }

    pub(crate) fn unknown(&self, name: &str) -> GraphError {
        GraphError::UnknownNode {
            name: near(name, 0),
            known: self.names.iter().take(20).cloned().collect(),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All nodes.
    pub fn all(&self) -> NodeSet {
        NodeSet::first(self.len())
    }

    /// The names, in the order of the nodes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a node.
    ///
    /// # Panics
    /// If the graph does not have the node, as indexing does.
    pub fn name(&self, node: u32) -> &str {
        &self.names[node as usize]
    }

    /// The node of a name.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`].
    pub fn node(&self, name: &str) -> Result<u32, GraphError> {
        let found = self.names.iter().position(|known| known == name);
        found.map(|v| v as u32).ok_or_else(|| self.unknown(name))
    }

    /// The set of the nodes with these names.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`].
    pub fn set(&self, names: &[&str]) -> Result<NodeSet, GraphError> {
        names.iter().map(|name| self.node(name)).collect()
    }

    /// Names of a set, separated by commas. Nodes that the graph does not have are left out.
    pub fn show(&self, set: NodeSet) -> String {
        let names: Vec<&str> = (set & self.all()).iter().map(|v| self.name(v)).collect();
        names.join(", ")
    }

    /// The direct causes of a node.
    ///
    /// # Panics
    /// If the graph does not have the node, as indexing does.
    pub fn parents(&self, node: u32) -> NodeSet {
        self.parents[node as usize]
    }

    /// The direct effects of a node.
    ///
    /// # Panics
    /// If the graph does not have the node, as indexing does.
    pub fn children(&self, node: u32) -> NodeSet {
        self.children[node as usize]
    }

    /// The nodes that share a hidden cause with a node.
    ///
    /// # Panics
    /// If the graph does not have the node, as indexing does.
    pub fn spouses(&self, node: u32) -> NodeSet {
        self.spouses[node as usize]
    }

    /// The directed edges, by cause and effect.
    pub fn directed(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0u32..).zip(&self.children).flat_map(|(a, list)| list.iter().map(move |b| (a, b)))
    }

    /// The bidirected edges, each once with the smaller node first.
    pub fn bidirected(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let later = |(a, list): (u32, &NodeSet)| {
            list.iter().filter(move |&b| b > a).map(move |b| (a, b)).collect::<Vec<_>>()
        };
        (0u32..).zip(&self.spouses).flat_map(later)
    }

    /// Whether no variable is hidden.
    pub fn is_dag(&self) -> bool {
        self.spouses.iter().all(|s| s.is_empty())
    }

    /// All nodes in topological order, causes first. Among the nodes that could come next, the smallest comes first.
    pub fn topological_order(&self) -> &[u32] {
        &self.order
    }

    /// The graph without the edges that point into these nodes. This is the graph after an intervention on them. Bidirected edges at
    /// these nodes are removed too, because they have an arrowhead there.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`].
    pub fn without_incoming(&self, nodes: NodeSet) -> Result<Admg, GraphError> {
        self.check_set(nodes)?;
        Ok(self.cut(nodes, NodeSet::EMPTY))
    }

    /// The graph without the directed edges out of these nodes, as the back-door criterion asks for.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`].
    pub fn without_outgoing(&self, nodes: NodeSet) -> Result<Admg, GraphError> {
        self.check_set(nodes)?;
        Ok(self.cut(NodeSet::EMPTY, nodes))
    }

    fn cut(&self, incoming: NodeSet, outgoing: NodeSet) -> Admg {
        let mut cut = self.clone();
        for v in 0..self.len() as u32 {
            let i = v as usize;
            cut.parents[i] =
                if incoming.contains(v) { NodeSet::EMPTY } else { cut.parents[i] - outgoing };
            cut.children[i] =
                if outgoing.contains(v) { NodeSet::EMPTY } else { cut.children[i] - incoming };
            cut.spouses[i] =
                if incoming.contains(v) { NodeSet::EMPTY } else { cut.spouses[i] - incoming };
        }
        cut
    }

    /// A copy with other directed edges removed, those in `gone`.
    pub(crate) fn without_edges(&self, gone: impl Fn(u32, u32) -> bool) -> Admg {
        let mut cut = self.clone();
        for (a, b) in self.directed() {
            if gone(a, b) {
                cut.children[a as usize] = cut.children[a as usize] - NodeSet::one(b);
                cut.parents[b as usize] = cut.parents[b as usize] - NodeSet::one(a);
            }
        }
        cut
    }

    pub(crate) fn check_set(&self, set: NodeSet) -> Result<(), GraphError> {
        match (set - self.all()).smallest() {
            None => Ok(()),
            Some(node) => Err(self.unknown(&node.to_string())),
        }
    }

    /// Refuses two sets of a query that share a node.
    pub(crate) fn check_apart(
        &self,
        (first, a): (&'static str, NodeSet),
        (second, b): (&'static str, NodeSet),
    ) -> Result<(), GraphError> {
        match (a & b).smallest() {
            None => Ok(()),
            Some(node) => Err(GraphError::Overlap { node: self.name(node).into(), first, second }),
        }
    }
}

impl fmt::Display for Admg {
    /// Writes the graph in the notation of [`Admg::parse`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let touched: NodeSet =
            self.directed().chain(self.bidirected()).flat_map(|(a, b)| [a, b]).collect();
        let alone = (self.all() - touched).iter().map(|v| self.name(v).to_owned());
        let directed =
            self.directed().map(|(a, b)| format!("{} -> {}", self.name(a), self.name(b)));
        let both = self.bidirected().map(|(a, b)| format!("{} <-> {}", self.name(a), self.name(b)));
        f.write_str(&directed.chain(both).chain(alone).collect::<Vec<_>>().join("; "))
    }
}

/// Why the text of a graph or of a query cannot hold this name.
fn unreadable(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a node has an empty name".into());
    }
    let shown = near(name, 0);
    if let Some(hidden) = invisible(name) {
        return Some(format!("the name {shown:?} holds {hidden}"));
    }
    if name.ends_with('-') || name.contains("--") || name.contains(['<', '>', '→', '←', '↔'])
    {
        return Some(format!(
            "the name {shown:?} looks like an arrow, which is `->`, `<-` or `<->`"
        ));
    }
    let separates = |c: char| c.is_whitespace() || matches!(c, ';' | ',' | '(' | ')' | '|');
    let found = match name.chars().find(|&c| separates(c))? {
        c if c.is_whitespace() => "a blank".into(),
        c => format!("`{c}`"),
    };
    Some(format!(
        "the name {shown:?} holds {found}, which separates names in the text of a graph or a query; take `_`"
    ))
}

/// What a name holds that nobody sees: two names that look alike would be different nodes.
fn invisible(name: &str) -> Option<&'static str> {
    name.chars().find_map(|c| match c {
        '\0' => Some("a NUL"),
        '\u{feff}' => Some("a byte order mark"),
        '\u{200b}' => Some("a zero-width space"),
        '\u{2060}' => Some("a word joiner"),
        '\u{ad}' => Some("a soft hyphen"),
        _ => None,
    })
}
