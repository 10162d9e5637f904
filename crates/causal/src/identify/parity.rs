//! Models of parities: each node of a hedge is the parity of some parents and of some hidden causes.

use super::Hedge;
use crate::admg::View;
use crate::latent::{LatentModel, Mechanism};
use crate::{Error, NodeSet};

/// Which bits each node of the hedge counts, in one of the two models.
pub(super) struct Parity<'a> {
    pub(super) hedge: &'a Hedge,
    /// The hidden causes: edges of a tree of bidirected edges.
    pub(super) tree: Vec<(u32, u32)>,
    /// The one child inside the hedge that counts the bit of a node.
    child: Vec<Option<u32>>,
    /// Whether only the inner forest is at work.
    inner_only: bool,
}

impl<'a> Parity<'a> {
    pub(super) fn new(hedge: &'a Hedge, inner_only: bool) -> Parity<'a> {
        let tree = bidirected_tree(hedge.graph().view(), hedge.inner, hedge.outer);
        Parity { hedge, tree, child: forest(hedge), inner_only }
    }

    /// Whether the parity of v counts the bit of u.
    pub(super) fn counts(&self, u: u32, v: u32) -> bool {
        let Hedge { outer, inner, .. } = self.hedge;
        self.child[u as usize] == Some(v)
            && outer.contains(v)
            && (!self.inner_only || !inner.contains(v) || inner.contains(u))
    }

    /// The hidden causes that the parity of v counts, as numbers of edges of the tree.
    pub(super) fn hidden(&self, v: u32) -> Vec<u32> {
        let inner = self.hedge.inner;
        let ours = |edge: &(u32, u32)| {
            let (a, b) = *edge;
            let apart =
                self.inner_only && inner.contains(v) && !(inner.contains(a) && inner.contains(b));
            (a == v || b == v) && !apart
        };
        (0..self.tree.len() as u32).filter(|&k| ours(&self.tree[k as usize])).collect()
    }

    /// The model without further noise. Along `road` the parity of the roots is passed on to the outcome.
    pub(super) fn model(&self, road: &[Option<u32>]) -> Result<LatentModel, Error> {
        let Hedge { outer, roots, failed, .. } = self.hedge;
        let graph = self.hedge.graph();
        let n = graph.len();
        // Nodes that carry the parity of the roots, as a bit above the bit of the hedge if there is one.
        let mut carries = NodeSet::EMPTY;
        for root in roots.iter() {
            let mut at = root;
            while let Some(to) = road[at as usize].filter(|_| !failed.outcome.contains(at)) {
                carries |= NodeSet::one(to);
                at = to;
            }
        }
        let card =
            |v: u32| (1 + usize::from(outer.contains(v))) * (1 + usize::from(carries.contains(v)));
        let cards: Vec<usize> = (0..n as u32).map(card).collect();
        let mut mechanisms = Vec::with_capacity(n);
        for v in 0..n as u32 {
            let in_hedge = |u: u32| self.counts(u, v);
            let on_road = |u: u32| {
                carries.contains(v)
                    && road[u as usize] == Some(v)
                    && !failed.outcome.contains(u)
                    && (carries.contains(u) || roots.contains(u))
            };
            let parents: Vec<u32> =
                graph.parents(v).iter().filter(|&u| in_hedge(u) || on_road(u)).collect();
            let latents = self.hidden(v);
            let value = |states: &[usize]| -> (usize, usize) {
                let (mut hedge, mut carried) = (0, 0);
                for (&u, &s) in parents.iter().zip(states) {
                    let (low, high) = (s & 1, s >> usize::from(outer.contains(u)));
                    if in_hedge(u) {
                        hedge ^= low;
                    }
                    if on_road(u) {
                        carried ^= if carries.contains(u) { high } else { 0 };
                        carried ^= if roots.contains(u) { low } else { 0 };
                    }
                }
                (states[parents.len()..].iter().fold(hedge, |h, u| h ^ u), carried)
            };
            let sizes: Vec<usize> = parents
                .iter()
                .map(|&u| cards[u as usize])
                .chain(latents.iter().map(|_| 2))
                .collect();
            let hedge_noise = if roots.contains(v) { 0.125 } else { 0.0 };
            let mut table = Vec::new();
            for row in 0..sizes.iter().product::<usize>() {
                let mut rest = row;
                let mut states = vec![0; sizes.len()];
                for k in (0..sizes.len()).rev() {
                    states[k] = rest % sizes[k];
                    rest /= sizes[k];
                }
                let (hedge, carried) = value(&states);
                for state in 0..cards[v as usize] {
                    let low = if outer.contains(v) { state & 1 } else { 0 };
                    let high = if carries.contains(v) {
                        state >> usize::from(outer.contains(v))
                    } else {
                        0
                    };
                    let bit = |want: usize, is: usize, noise: f64| {
                        if want == is { 1.0 - noise } else { noise }
                    };
                    let p = if outer.contains(v) { bit(hedge, low, hedge_noise) } else { 1.0 };
                    let q = if carries.contains(v) { bit(carried, high, 0.125) } else { 1.0 };
                    table.push(p * q);
                }
            }
            mechanisms.push(Mechanism { parents, latents, table });
        }
        LatentModel::new(graph.clone(), cards, vec![vec![0.5, 0.5]; self.tree.len()], mechanisms)
    }
}

/// The one child inside the hedge that every node but a root hands its value to.
fn forest(hedge: &Hedge) -> Vec<Option<u32>> {
    let child = |v: u32| {
        let inside = if hedge.inner.contains(v) { hedge.inner } else { hedge.outer };
        hedge.graph().view().on(inside | NodeSet::one(v)).children(v).smallest()
    };
    (0..hedge.graph().len() as u32)
        .map(|v| if hedge.outer.contains(v) { child(v) } else { None })
        .collect()
}

/// A spanning tree of the bidirected edges of `outer` that contains one of `inner`.
fn bidirected_tree(view: View<'_>, inner: NodeSet, outer: NodeSet) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    let Some(start) = inner.smallest() else { return edges };
    let mut joined = NodeSet::one(start);
    for part in [inner, outer] {
        let mut front = joined;
        while let Some(v) = front.smallest() {
            front = front - NodeSet::one(v);
            for w in ((view.spouses(v) & part) - joined).iter() {
                edges.push((v, w));
                joined |= NodeSet::one(w);
                front |= NodeSet::one(w);
            }
        }
    }
    edges
}
