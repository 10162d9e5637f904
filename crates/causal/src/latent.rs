//! Discrete causal models with hidden causes: the ground truth that formulas are checked against.
//!
//! ```text
//! P(v | do(x)) = sum_u prod_k P(u_k) prod_{i not in x} P(v_i | v_parents(i), u_latents(i))
//! ```
//!
//! A [`LatentModel`] of an [`Admg`] gives every hidden cause a distribution and every observed variable a table.
//! [`observed`](LatentModel::observed) is the distribution of observational data, [`effect`](LatentModel::effect) that
//! of data from an experiment.
//!
//! Sources: R. Le Priol, PhD thesis 2021, section 2.3.3, equation (2.39); J. Pearl, *Causality*, 2009, section 3.2
//! (truncated factorisation).

use fenchel_graphical::VarId;
use fenchel_graphical::elimination::sum_out;
use fenchel_graphical::table::Dense;
use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::table::{check_probabilities, elimination, size, variables};
use crate::{Admg, Error, NodeSet, ProbabilityTable, Query};

/// `P(v | parents, latents)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mechanism {
    /// Observed causes that the table uses: some or all parents of the node.
    pub parents: Vec<u32>,
    /// Hidden causes that it uses, by number.
    pub latents: Vec<u32>,
    /// One row per configuration of parents and latents, with the last of them varying fastest; one column per state.
    pub table: Vec<f64>,
}

/// A fully specified model of a causal graph, including the distributions of the hidden causes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct LatentModel {
    graph: Admg,
    cards: Vec<usize>,
    latents: Vec<Vec<f64>>,
    mechanisms: Vec<Mechanism>,
}

#[derive(Deserialize)]
struct Parts {
    graph: Admg,
    cards: Vec<usize>,
    latents: Vec<Vec<f64>>,
    mechanisms: Vec<Mechanism>,
}

impl TryFrom<Parts> for LatentModel {
    type Error = Error;
    fn try_from(p: Parts) -> Result<LatentModel, Error> {
        LatentModel::new(p.graph, p.cards, p.latents, p.mechanisms)
    }
}

impl LatentModel {
    /// The model with these numbers of states, distributions of the hidden causes, and mechanisms (one per node).
    ///
    /// # Errors
    /// [`Error::Invalid`] for wrong lengths, for an empty law, for a parent or a hidden cause given twice, for parents that are not parents in the graph, and for a hidden cause of two
    /// nodes that no bidirected
    /// edge joins; [`Error::NotADistribution`]; [`Error::Refused`].
    pub fn new(
        graph: Admg,
        cards: Vec<usize>,
        latents: Vec<Vec<f64>>,
        mechanisms: Vec<Mechanism>,
    ) -> Result<LatentModel, Error> {
        Invalid::check_length("cards", graph.len(), cards.len())?;
        Invalid::check_length("mechanisms", graph.len(), mechanisms.len())?;
        size(&cards)?;
        for (k, law) in latents.iter().enumerate() {
            if law.is_empty() {
                return Err(Invalid::Empty { what: "the law of a hidden cause" }.into());
            }
            check_rows("the law of a hidden cause", law, law.len())?;
            let having: Vec<u32> = (0..graph.len() as u32)
                .filter(|&v| mechanisms[v as usize].latents.contains(&(k as u32)))
                .collect();
            for (i, &a) in having.iter().enumerate() {
                if let Some(&b) = having[..i].iter().find(|&&b| !graph.spouses(a).contains(b)) {
                    let reason = format!(
                        "hidden cause {k} acts on {} and {}, which no bidirected edge joins",
                        graph.name(b),
                        graph.name(a)
                    );
                    return Err(Invalid::Layout { what: "mechanisms", reason }.into());
                }
            }
        }
        for (v, m) in mechanisms.iter().enumerate() {
            for list in [&m.parents, &m.latents] {
                if let Some(k) = (1..list.len()).find(|&k| list[..k].contains(&list[k])) {
                    let reason = format!("{} is given twice to {}", list[k], graph.name(v as u32));
                    return Err(Invalid::Layout { what: "mechanisms", reason }.into());
                }
            }
            let alien = m.parents.iter().find(|&&p| !graph.parents(v as u32).contains(p));
            if let Some(p) = alien {
                let reason = format!("node {p} is no parent of {}", graph.name(v as u32));
                return Err(Invalid::Layout { what: "mechanisms", reason }.into());
            }
            let alien = m.latents.iter().find(|&&k| k as usize >= latents.len());
            if let Some(k) = alien {
                let reason = format!("there is no hidden cause {k}");
                return Err(Invalid::Layout { what: "mechanisms", reason }.into());
            }
            let mut scope: Vec<usize> = m.parents.iter().map(|&p| cards[p as usize]).collect();
            scope.extend(m.latents.iter().map(|&k| latents[k as usize].len()));
            scope.push(cards[v]);
            Invalid::check_length("the table of a mechanism", size(&scope)?, m.table.len())?;
            check_rows("the table of a mechanism", &m.table, cards[v])?;
        }
        Ok(LatentModel { graph, cards, latents, mechanisms })
    }

    /// A random model whose table rows are uniform on the simplex. The bidirected edges are covered by cliques, and
    /// every clique gets one hidden cause with two states.
    ///
    /// # Errors
    /// [`Error::Invalid`] for different numbers of cards and nodes, or a node without states; [`Error::Refused`].
    pub fn random(
        graph: &Admg,
        cards: &[usize],
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<LatentModel, Error> {
        Invalid::check_length("cards", graph.len(), cards.len())?;
        size(cards)?;
        let cliques = clique_cover(graph);
        let latents = cliques.iter().map(|_| row(2, rng)).collect();
        let mut mechanisms = Vec::with_capacity(graph.len());
        for v in 0..graph.len() as u32 {
            let parents: Vec<u32> = graph.parents(v).iter().collect();
            let having: Vec<u32> =
                (0..cliques.len() as u32).filter(|&k| cliques[k as usize].contains(v)).collect();
            let scope: Vec<usize> = parents
                .iter()
                .map(|&p| cards[p as usize])
                .chain(having.iter().map(|_| 2))
                .collect();
            let rows = size(&scope)?;
            let table = (0..rows).flat_map(|_| row(cards[v as usize], rng)).collect();
            mechanisms.push(Mechanism { parents, latents: having, table });
        }
        LatentModel::new(graph.clone(), cards.to_vec(), latents, mechanisms)
    }

    /// The causal graph.
    pub fn graph(&self) -> &Admg {
        &self.graph
    }

    /// The numbers of states.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// The joint law of the observed variables.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn observed(&self) -> Result<ProbabilityTable, Error> {
        self.intervened(NodeSet::EMPTY)
    }

    /// `P(all others | do(x))` for all values of `x`: a table over all nodes that sums to 1 for every value of x.
    ///
    /// # Errors
    /// [`UnknownNode`](crate::admg::GraphError::UnknownNode); [`Error::Refused`].
    pub fn intervened(&self, x: NodeSet) -> Result<ProbabilityTable, Error> {
        self.graph.check_set(x)?;
        let hidden = |k: u32| VarId(self.graph.len() as u32 + k);
        let mut factors = Vec::new();
        for (v, m) in (0u32..).zip(&self.mechanisms).filter(|(v, _)| !x.contains(*v)) {
            let latents = m.latents.iter().map(|&k| (hidden(k), self.latents[k as usize].len()));
            let observed = |v: u32| (VarId(v), self.cards[v as usize]);
            let parents = m.parents.iter().map(|&p| observed(p));
            let (scope, cards): (Vec<VarId>, Vec<usize>) =
                parents.chain(latents).chain([observed(v)]).unzip();
            factors.push(Dense::new(&scope, &cards, &m.table)?);
        }
        for (k, law) in (0u32..).zip(&self.latents) {
            factors.push(Dense::new(&[hidden(k)], &[law.len()], law)?);
        }
        let nodes = self.graph.all();
        let law = sum_out(factors, &variables(nodes.iter()), &elimination())?;
        ProbabilityTable::from(law).widen(nodes, |v| self.cards[v as usize])
    }

    /// `P(outcome | do(treatment), given)` for all values of all three, by the truncated factorisation.
    ///
    /// # Errors
    /// [`Error::Refused`]; [`UnknownNode`](crate::admg::GraphError::UnknownNode), [`Overlap`](crate::admg::GraphError::Overlap), [`Error::Invalid`] for a query that does not fit.
    pub fn effect(&self, query: Query) -> Result<ProbabilityTable, Error> {
        query.check(&self.graph)?;
        let Query { outcome: y, treatment: x, given: z } = query;
        let joint = self.intervened(x)?.marginal(x | y | z);
        if z.is_empty() { Ok(joint) } else { joint.over(&joint.marginal(x | z)) }
    }
}

fn check_rows(what: &'static str, values: &[f64], width: usize) -> Result<(), Error> {
    check_probabilities("probability", values)?;
    for (row, cells) in values.chunks(width).enumerate() {
        let sum: f64 = cells.iter().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(Error::NotADistribution { what, row, sum });
        }
    }
    Ok(())
}

/// A point of the simplex, uniformly.
fn row(states: usize, rng: &mut (impl Rng + ?Sized)) -> Vec<f64> {
    let mut row: Vec<f64> = (0..states).map(|_| -(1.0 - rng.random::<f64>()).ln()).collect();
    let sum: f64 = row.iter().sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|p| *p /= sum);
    } else {
        row.fill(1.0 / states as f64);
    }
    row
}

/// Cliques of the bidirected edges that contain every edge, each grown greedily from an edge that is not yet covered.
pub(crate) fn clique_cover(graph: &Admg) -> Vec<NodeSet> {
    let mut cover: Vec<NodeSet> = Vec::new();
    for (a, b) in graph.bidirected() {
        let edge = NodeSet::from_iter([a, b]);
        if cover.iter().any(|c| edge.is_subset(*c)) {
            continue;
        }
        let mut clique = edge;
        let mut open = graph.spouses(a) & graph.spouses(b);
        while let Some(v) = open.smallest() {
            clique |= NodeSet::one(v);
            open = open & graph.spouses(v);
        }
        cover.push(clique);
    }
    cover
}
