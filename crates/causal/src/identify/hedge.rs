//! Hedges: the proof that an effect is not identifiable, and its words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::admg::{Admg, Query};
use crate::node_set::NodeSet;

/// Two forests that a recursion ended with: `inner` inside `outer`, and the treatments and outcomes of the
/// unconditional query that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) outer: NodeSet,
    pub(super) inner: NodeSet,
    pub(super) asked: Query,
}

/// A hedge: two nested sets of nodes, each connected by bidirected edges, whose nodes all lead to the same roots. The
/// treatment meets only the outer set.
///
/// The proof uses parities of bits. In the model of the outer set, every hidden cause enters the parity of the roots
/// twice, so the roots have even parity; a treatment inside the set breaks this. In the model of the inner set, the
/// parity of the roots is even whatever the treatment. Both models have the same observed distribution, so that
/// distribution cannot determine the effect of the treatment. [`Hedge::witness`] builds the two models.
///
/// Source: Shpitser and Pearl, AAAI 2006, theorem 4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hedge {
    graph: Admg,
    /// The query that was asked.
    pub query: Query,
    /// The unconditional query `P(outcome | do(treatment))` that has no formula. For a conditional query it is the
    /// query after two changes: conditions that act like interventions have become treatments, and the other conditions
    /// have become outcomes.
    pub failed: Query,
    /// The larger forest, which the treatment meets.
    pub outer: NodeSet,
    /// The smaller forest, which it does not.
    pub inner: NodeSet,
    /// The nodes of the inner forest without children in it.
    pub roots: NodeSet,
}

impl Hedge {
    pub(super) fn new(graph: &Admg, query: Query, found: Found) -> Hedge {
        let Found { outer, inner, asked } = found;
        let view = graph.view().on(inner);
        let roots = inner.iter().filter(|&v| view.children(v).is_empty()).collect();
        Hedge { graph: graph.clone(), query, failed: asked, outer, inner, roots }
    }

    /// The graph of the query.
    pub(super) fn graph(&self) -> &Admg {
        &self.graph
    }
}

impl fmt::Display for Hedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |s| self.graph.show(s);
        let (outer, inner, roots) = (show(self.outer), show(self.inner), show(self.roots));
        let cut = show((self.outer - self.inner) & self.failed.treatment);
        let (y, x) = (show(self.failed.outcome), show(self.failed.treatment));
        if self.query != self.failed {
            let (asked, z) = (show(self.query.outcome), show(self.query.given));
            let x = show(self.query.treatment);
            write!(f, "P({asked} | do({x}), {z}) needs ")?;
        }
        write!(
            f,
            "P({y} | do({x})): what is seen may come from hidden causes that join {{{outer}}}, which setting {cut} cuts, or from \
             hidden causes within {{{inner}}}, which it does not (hedge {{{outer}}} over {{{inner}}} with roots {{{roots}}})"
        )
    }
}
