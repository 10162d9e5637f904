//! All minimal sets that separate two sets of nodes.
//!
//! Every minimal m-separator of two sets consists of ancestors of these sets. Restricted to the ancestors, m-separation
//! equals ordinary separation in the undirected graph that joins all nodes of every district and its parents. In an
//! undirected graph the minimal separators correspond one to one to certain connected sets `A` around `x`: the
//! separator is the neighbourhood `N(A)`, and `A` is everything on the side of `x`. The search branches on one node of
//! `N(A)`: either the node stays in the separator, or it joins `A`.
//!
//! Source: Takata, Discrete Applied Mathematics 158, 2010; van der Zander, Liskiewicz and Textor, 2019.

use crate::admg::View;
use crate::{Error, NodeSet};

struct Undirected {
    near: Vec<NodeSet>,
    x: NodeSet,
    y: NodeSet,
}

/// All minimal subsets of `allowed` that m-separate `x` from `y` in the view, by size.
pub(super) fn all_minimal(
    view: View<'_>,
    x: NodeSet,
    y: NodeSet,
    allowed: NodeSet,
    limit: usize,
) -> Result<Vec<NodeSet>, Error> {
    let view = view.on(view.ancestors(x | y));
    let graph = Undirected { near: joined(view, view.nodes - x - y - allowed), x, y };
    let mut found = Vec::new();
    // A full set around x, and the nodes that must stay in the separator.
    let mut open: Vec<(NodeSet, NodeSet)> =
        graph.full(x).map(|a| (a, NodeSet::EMPTY)).into_iter().collect();
    while let Some((a, stays)) = open.pop() {
        let border = graph.border(a);
        let Some(v) = (border - stays).smallest() else {
            if found.len() == limit {
                return Err(Error::TooMany { what: "minimal sets", limit });
            }
            found.push(border);
            continue;
        };
        let one = NodeSet::one(v);
        open.push((a, stays | one));
        if let Some(wider) = graph.full(a | one).filter(|w| !w.meets(stays)) {
            open.push((wider, stays));
        }
    }
    found.sort_by_key(|z| (z.len(), z.iter().collect::<Vec<_>>()));
    Ok(found)
}

/// Neighbours after districts and their parents are joined and the nodes `out` are eliminated.
fn joined(view: View<'_>, out: NodeSet) -> Vec<NodeSet> {
    let mut near = vec![NodeSet::EMPTY; view.graph.len()];
    let mut join = |clique: NodeSet| {
        for v in clique.iter() {
            near[v as usize] |= clique - NodeSet::one(v);
        }
    };
    for district in view.districts() {
        join(district.iter().fold(district, |all, v| all | view.parents(v)));
    }
    // Nodes whose incoming edges are cut stand alone in their district, but their children know them.
    for v in out.iter() {
        let around = near[v as usize];
        near[v as usize] = NodeSet::EMPTY;
        for u in around.iter() {
            near[u as usize] = (near[u as usize] | around) - NodeSet::one(u) - NodeSet::one(v);
        }
    }
    near
}

impl Undirected {
    fn border(&self, of: NodeSet) -> NodeSet {
        of.iter().fold(NodeSet::EMPTY, |all, v| all | self.near[v as usize]) - of
    }

    /// All that `from` reaches without `wall`.
    fn reach(&self, from: NodeSet, wall: NodeSet) -> NodeSet {
        let (mut found, mut fresh) = (from, from);
        while let Some(v) = fresh.smallest() {
            let more = self.near[v as usize] - wall - found;
            found |= more;
            fresh = (fresh - NodeSet::one(v)) | more;
        }
        found
    }

    /// The smallest full set that contains `a`: the side of x of the separator closest to it; `None` if y touches it.
    fn full(&self, a: NodeSet) -> Option<NodeSet> {
        let border = self.border(a);
        if (border | a).meets(self.y) {
            return None;
        }
        let other_side = self.reach(self.y, border);
        Some(self.reach(self.x, self.border(other_side)))
    }
}
