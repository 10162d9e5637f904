//! Hedges: the proof that an effect is not identifiable, and two models that demonstrate it.

use std::fmt;

use fenchel_optim::random::stream;
use serde::{Deserialize, Serialize};

use super::Found;
use crate::admg::View;
use crate::latent::{LatentModel, Mechanism};
use crate::{Admg, Error, NodeSet, ProbabilityTable, Query};

/// The search for models ends when two conditionals differ by this much. With this value, eight nodes take milliseconds.
const ENOUGH: f64 = 0.002;
/// The number of further pairs of models to try if the first pair does not differ on a conditional.
const ATTEMPTS: u64 = 17;

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

/// Two models of one graph that agree on the observed law and differ on an effect.
#[derive(Debug, Clone)]
pub struct Witness {
    /// The model in which the outer forest is at work.
    pub first: LatentModel,
    /// The model in which the inner forest is at work.
    pub second: LatentModel,
}

/// What [`Witness::check`] measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disagreement {
    /// The largest difference of the two observed laws: 0 up to rounding.
    pub observed: f64,
    /// The largest difference of the two effects.
    pub effect: f64,
}

impl Hedge {
    pub(super) fn new(graph: &Admg, query: Query, found: Found) -> Hedge {
        let Found { outer, inner, asked } = found;
        let view = graph.view().on(inner);
        let roots = inner.iter().filter(|&v| view.children(v).is_empty()).collect();
        Hedge { graph: graph.clone(), query, failed: asked, outer, inner, roots }
    }

    /// Two models of the graph with the same observed distribution and different effects. The observed distribution is
    /// strictly positive on the states that its variables have. The models differ on the query that
    /// [`failed`](Self::failed), and on the conditional query that was [asked](Self::query).
    ///
    /// Each variable of the hedge is the parity of its hidden causes and its parents. The roots have a little noise.
    /// The variables on the way from the roots to the outcome pass the parity of the roots on in a second bit. All
    /// other variables are constant.
    ///
    /// Such a pair of models may differ only in the distribution of the conditions, so that the conditional query has
    /// the same answer in both. Then the noise of the roots and all variables outside the hedge get random mechanisms.
    /// These mechanisms are the same in both models and may use all edges of the graph. They depend on the hedge only
    /// through observed variables, so the observed distributions stay equal. A few such pairs are tried until the
    /// conditionals differ by 0.002. Dense random graphs with up to eight nodes need this for a third of the
    /// conditional queries.
    ///
    /// # Errors
    /// None for a hedge that [`identify`](super::identify) returned; [`Error::Invalid`] for one with altered sets.
    pub fn witness(&self) -> Result<Witness, Error> {
        let graph = &self.graph;
        for q in [self.failed, self.query] {
            graph.check_set(q.outcome | q.treatment | q.given)?;
        }
        graph.check_set(self.outer | self.inner | self.roots)?;
        let tree = bidirected_tree(graph.view(), self.inner, self.outer);
        let next = self.forest();
        let road = self.road();
        let model = |inner_only: bool| self.model(&tree, &next, &road, inner_only);
        let mut best = Witness { first: model(false)?, second: model(true)? };
        if self.query.given.is_empty() {
            return Ok(best);
        }
        // A graph whose joint table would be too large is left with the first pair.
        let Ok(Disagreement { effect: mut apart, .. }) = best.check(self.query) else {
            return Ok(best);
        };
        for attempt in 0..ATTEMPTS {
            if apart >= ENOUGH {
                break;
            }
            // First with binary variables, which is cheap; then with second bits at some, at last at all inner nodes.
            let some = |v: &u32| attempt >= 4 && attempt >> (v % 4) & 1 == 1;
            let all = attempt + 1 == ATTEMPTS;
            let wide = (0..graph.len() as u32).filter(|v| all || some(v)).collect();
            let model = |inner_only: bool| {
                self.noisy_model(&tree, &next, inner_only, wide, &mut stream(1, attempt))
            };
            // Tables that would be too large are passed over.
            let (Ok(first), Ok(second)) = (model(false), model(true)) else { continue };
            let witness = Witness { first, second };
            match witness.check(self.query) {
                Ok(found) if found.effect > apart && found.effect.is_finite() => {
                    (best, apart) = (witness, found.effect);
                }
                _ => {}
            }
        }
        Ok(best)
    }

    /// The one child inside the hedge that every node but a root hands its value to.
    fn forest(&self) -> Vec<Option<u32>> {
        let child = |v: u32| {
            let inside = if self.inner.contains(v) { self.inner } else { self.outer };
            self.graph.view().on(inside | NodeSet::one(v)).children(v).smallest()
        };
        (0..self.graph.len() as u32)
            .map(|v| if self.outer.contains(v) { child(v) } else { None })
            .collect()
    }

    /// Whether u hands its value to v within the hedge of a model.
    pub(super) fn hands_on(&self, next: &[Option<u32>], u: u32, v: u32, inner_only: bool) -> bool {
        next[u as usize] == Some(v)
            && self.outer.contains(v)
            && (!inner_only || !self.inner.contains(v) || self.inner.contains(u))
    }

    /// The hidden causes of v within the hedge of a model, as numbers of edges of the tree.
    pub(super) fn hidden(&self, tree: &[(u32, u32)], v: u32, inner_only: bool) -> Vec<u32> {
        let ours = |edge: &(u32, u32)| {
            let (a, b) = *edge;
            let apart = inner_only
                && self.inner.contains(v)
                && !(self.inner.contains(a) && self.inner.contains(b));
            (a == v || b == v) && !apart
        };
        (0..tree.len() as u32).filter(|&k| ours(&tree[k as usize])).collect()
    }

    /// The graph of the query.
    pub(super) fn graph(&self) -> &Admg {
        &self.graph
    }

    /// From every root the next node on a shortest directed path to the outcome that avoids the treatment.
    fn road(&self) -> Vec<Option<u32>> {
        let view = self.graph.view().cut_in(self.failed.treatment);
        let mut next = vec![None; self.graph.len()];
        let mut reached = self.failed.outcome;
        let mut front = reached;
        while !front.is_empty() {
            let mut wider = NodeSet::EMPTY;
            for v in front.iter() {
                for p in (view.parents(v) - reached).iter() {
                    next[p as usize] = Some(v);
                    reached |= NodeSet::one(p);
                    wider |= NodeSet::one(p);
                }
            }
            front = wider;
        }
        next
    }

    fn model(
        &self,
        tree: &[(u32, u32)],
        next: &[Option<u32>],
        road: &[Option<u32>],
        inner_only: bool,
    ) -> Result<LatentModel, Error> {
        let n = self.graph.len();
        // Nodes that carry the parity of the roots, as a bit above the bit of the hedge if there is one.
        let mut carries = NodeSet::EMPTY;
        for root in self.roots.iter() {
            let mut at = root;
            while let Some(to) = road[at as usize].filter(|_| !self.failed.outcome.contains(at)) {
                carries |= NodeSet::one(to);
                at = to;
            }
        }
        let card = |v: u32| {
            (1 + usize::from(self.outer.contains(v))) * (1 + usize::from(carries.contains(v)))
        };
        let cards: Vec<usize> = (0..n as u32).map(card).collect();
        let mut mechanisms = Vec::with_capacity(n);
        for v in 0..n as u32 {
            let in_hedge = |u: u32| self.hands_on(next, u, v, inner_only);
            let on_road = |u: u32| {
                carries.contains(v)
                    && road[u as usize] == Some(v)
                    && !self.failed.outcome.contains(u)
                    && (carries.contains(u) || self.roots.contains(u))
            };
            let parents: Vec<u32> =
                self.graph.parents(v).iter().filter(|&u| in_hedge(u) || on_road(u)).collect();
            let latents = self.hidden(tree, v, inner_only);
            let value = |states: &[usize]| -> (usize, usize) {
                let (mut hedge, mut carried) = (0, 0);
                for (&u, &s) in parents.iter().zip(states) {
                    let (low, high) = (s & 1, s >> usize::from(self.outer.contains(u)));
                    if in_hedge(u) {
                        hedge ^= low;
                    }
                    if on_road(u) {
                        carried ^= if carries.contains(u) { high } else { 0 };
                        carried ^= if self.roots.contains(u) { low } else { 0 };
                    }
                }
                (states[parents.len()..].iter().fold(hedge, |h, u| h ^ u), carried)
            };
            let sizes: Vec<usize> = parents
                .iter()
                .map(|&u| cards[u as usize])
                .chain(latents.iter().map(|_| 2))
                .collect();
            let hedge_noise = if self.roots.contains(v) { 0.125 } else { 0.0 };
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
                    let low = if self.outer.contains(v) { state & 1 } else { 0 };
                    let high = if carries.contains(v) {
                        state >> usize::from(self.outer.contains(v))
                    } else {
                        0
                    };
                    let bit = |want: usize, is: usize, noise: f64| {
                        if want == is { 1.0 - noise } else { noise }
                    };
                    let p = if self.outer.contains(v) { bit(hedge, low, hedge_noise) } else { 1.0 };
                    let q = if carries.contains(v) { bit(carried, high, 0.125) } else { 1.0 };
                    table.push(p * q);
                }
            }
            mechanisms.push(Mechanism { parents, latents, table });
        }
        LatentModel::new(self.graph.clone(), cards, vec![vec![0.5, 0.5]; tree.len()], mechanisms)
    }
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

impl Witness {
    /// How far the two models are apart on the observed law, and on the effect `P(outcome | do(treatment))` of a query.
    ///
    /// # Errors
    /// [`Error::Refused`]; the errors of [`LatentModel::effect`].
    pub fn check(&self, query: Query) -> Result<Disagreement, Error> {
        let law = |m: &LatentModel| -> Result<(ProbabilityTable, ProbabilityTable), Error> {
            Ok((m.observed()?, m.effect(query)?))
        };
        let ((first, one), (second, two)) = (law(&self.first)?, law(&self.second)?);
        Ok(Disagreement { observed: first.distance(&second), effect: one.distance(&two) })
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
