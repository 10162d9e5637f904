//! A graph seen with some nodes left out and some edges cut, without a copy.

use super::Admg;
use crate::node_set::NodeSet;

/// The subgraph on `nodes`, without edges into `no_in` and without directed edges out of `no_out`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) graph: &'a Admg,
    pub(crate) nodes: NodeSet,
    pub(crate) no_in: NodeSet,
    pub(crate) no_out: NodeSet,
}

impl Admg {
    /// The nodes themselves and everything that has a directed path to them. Nodes that the graph does not have are left
    /// out. O(V + E).
    pub fn ancestors(&self, of: NodeSet) -> NodeSet {
        self.view().ancestors(of & self.all())
    }

    /// The nodes themselves and everything that they have a directed path to. Nodes that the graph does not have are left
    /// out. O(V + E).
    pub fn descendants(&self, of: NodeSet) -> NodeSet {
        self.view().descendants(of & self.all())
    }

    /// The districts (c-components): the sets of nodes that are connected by paths of bidirected edges, sorted by their smallest node.
    /// O(V + E).
    pub fn districts(&self) -> Vec<NodeSet> {
        self.view().districts()
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { graph: self, nodes: self.all(), no_in: NodeSet::EMPTY, no_out: NodeSet::EMPTY }
    }
}

impl<'a> View<'a> {
    pub(crate) fn on(self, nodes: NodeSet) -> View<'a> {
        View { nodes, ..self }
    }

    pub(crate) fn cut_in(self, no_in: NodeSet) -> View<'a> {
        View { no_in, ..self }
    }

    pub(crate) fn cut_out(self, no_out: NodeSet) -> View<'a> {
        View { no_out, ..self }
    }

    pub(crate) fn parents(self, v: u32) -> NodeSet {
        if self.no_in.contains(v) {
            return NodeSet::EMPTY;
        }
        (self.graph.parents(v) & self.nodes) - self.no_out
    }

    pub(crate) fn children(self, v: u32) -> NodeSet {
        if self.no_out.contains(v) {
            return NodeSet::EMPTY;
        }
        (self.graph.children(v) & self.nodes) - self.no_in
    }

    pub(crate) fn spouses(self, v: u32) -> NodeSet {
        if self.no_in.contains(v) {
            return NodeSet::EMPTY;
        }
        (self.graph.spouses(v) & self.nodes) - self.no_in
    }

    /// `of`, and all that `next` leads to.
    fn closure(self, of: NodeSet, next: impl Fn(u32) -> NodeSet) -> NodeSet {
        let (mut found, mut fresh) = (of, of);
        while let Some(v) = fresh.smallest() {
            let more = next(v) - found;
            found |= more;
            fresh = (fresh - NodeSet::one(v)) | more;
        }
        found
    }

    pub(crate) fn ancestors(self, of: NodeSet) -> NodeSet {
        self.closure(of & self.nodes, |v| self.parents(v))
    }

    pub(crate) fn descendants(self, of: NodeSet) -> NodeSet {
        self.closure(of & self.nodes, |v| self.children(v))
    }

    /// The nodes that bidirected paths join to `of`.
    pub(crate) fn district(self, of: u32) -> NodeSet {
        self.closure(NodeSet::one(of), |v| self.spouses(v))
    }

    pub(crate) fn districts(self) -> Vec<NodeSet> {
        let mut rest = self.nodes;
        let mut found = Vec::new();
        while let Some(v) = rest.smallest() {
            let district = self.district(v);
            rest = rest - district;
            found.push(district);
        }
        found
    }

    /// Causes first.
    pub(crate) fn order(self) -> impl Iterator<Item = u32> + 'a {
        let nodes = self.nodes;
        self.graph.order.iter().copied().filter(move |&v| nodes.contains(v))
    }
}
