//! m-separation: d-separation where hidden common causes are edges with two arrowheads.

use super::GraphError;
use super::{Admg, View};
use crate::node_set::NodeSet;

impl Admg {
    /// Whether `given` blocks every path between a node of `x` and a node of `y`. If so, `x` and `y` are independent
    /// given `given` in every distribution of the graph.
    ///
    /// A path is open if each of its colliders (`-> c <-`, where `<->` has an arrowhead at both ends) is an ancestor of
    /// `given` and no other node of it is in `given`. In a graph without bidirected edges this is d-separation. A node
    /// of `given` that is also in `x` or `y` counts as a constant, so it is separated from everything. A node that is
    /// in both `x` and `y`, and not in `given`, is not separated from itself. O(V + E).
    ///
    /// Source: Richardson, Scandinavian Journal of Statistics 30, 2003.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`].
    pub fn m_separated(&self, x: NodeSet, y: NodeSet, given: NodeSet) -> Result<bool, GraphError> {
        self.check_set(x | y | given)?;
        Ok(self.view().separated(x, y, given))
    }

    /// All nodes outside `given` that an open path joins to `x`, those of `x` itself among them. O(V + E).
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`].
    pub fn m_connected(&self, x: NodeSet, given: NodeSet) -> Result<NodeSet, GraphError> {
        self.check_set(x | given)?;
        Ok(self.view().connected(x, given))
    }
}

impl View<'_> {
    pub(crate) fn separated(self, x: NodeSet, y: NodeSet, given: NodeSet) -> bool {
        !(self.connected(x, given)).meets(y)
    }

    /// Walks over states (node, whether the last edge has its arrowhead here).
    pub(crate) fn connected(self, x: NodeSet, given: NodeSet) -> NodeSet {
        let opens = self.ancestors(given);
        // Reached by a tail or as a start; reached by an arrowhead.
        let (mut by_tail, mut by_head) = (NodeSet::EMPTY, NodeSet::EMPTY);
        let (mut tails, mut heads) = ((x & self.nodes) - given, NodeSet::EMPTY);
        loop {
            if let Some(v) = tails.smallest() {
                tails = tails - NodeSet::one(v);
                by_tail |= NodeSet::one(v);
                // Never a collider, so it must not be given: it goes on everywhere.
                if !given.contains(v) {
                    tails |= self.parents(v) - by_tail;
                    heads |= (self.children(v) | self.spouses(v)) - by_head;
                }
            } else if let Some(v) = heads.smallest() {
                heads = heads - NodeSet::one(v);
                by_head |= NodeSet::one(v);
                if !given.contains(v) {
                    heads |= self.children(v) - by_head;
                }
                // A collider on the way to another arrowhead here.
                if opens.contains(v) {
                    tails |= self.parents(v) - by_tail;
                    heads |= self.spouses(v) - by_head;
                }
            } else {
                return (by_tail | by_head) - given;
            }
        }
    }
}
