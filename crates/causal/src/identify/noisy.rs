//! Models of a hedge whose other mechanisms are random.

use fenchel_optim::random::Generator;
use rand::RngExt;

use super::parity::Parity;
use crate::latent::{LatentModel, Mechanism, clique_cover};
use crate::{Error, NodeSet};

/// The largest number of parents and hidden causes of a random mechanism, counted in bits.
const BITS: usize = 20;

/// How the state of a node follows from the bits that its mechanism reads.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// An inner node of the hedge: the parity of the bits that count.
    Parity,
    /// An inner node with a random second bit above its parity bit.
    ParityAndRandom,
    /// A root of the hedge: the parity, which is flipped with a small random probability.
    NoisyParity,
    /// A node outside the hedge: random.
    Random,
}

/// What the mechanism of a node reads. A row of its table is a number whose bits are, from the highest to the lowest, those
/// of the parents (a random second bit above the parity bit), of the hidden causes of the hedge, and of the other hidden
/// causes.
struct Inputs {
    parents: Vec<u32>,
    of_hedge: Vec<u32>,
    others: Vec<u32>,
    bits: usize,
    /// The positions of the bits that the parity counts.
    counted: Vec<usize>,
}

impl Parity<'_> {
    /// The parity mechanisms of the hedge, with noise at the roots. Variables outside the hedge depend on all nodes
    /// that the graph allows. Inner nodes in `two_bits` get a second bit above the parity bit, which also depends on all
    /// nodes that the graph allows.
    ///
    /// The noise, the second bits and the outside variables depend on the hedge through observed variables only, and
    /// both models use the same random numbers for them. The two hedges without noise have equal observed
    /// distributions, hence so do the models with noise.
    ///
    /// # Errors
    /// [`Error::TooMany`] for a mechanism of more than 20 bits.
    pub(super) fn noisy_model(
        &self,
        two_bits: NodeSet,
        rng: &mut Generator,
    ) -> Result<LatentModel, Error> {
        let graph = self.hedge.graph();
        let two_bits = two_bits & (self.hedge.outer - self.hedge.roots);
        let cliques = clique_cover(graph);
        let mut mechanisms = Vec::with_capacity(graph.len());
        for v in 0..graph.len() as u32 {
            let role = self.role(v, two_bits);
            let inputs = self.inputs(v, role, two_bits, &cliques)?;
            let table = inputs.table(role, rng);
            let latents = inputs.of_hedge.into_iter().chain(inputs.others).collect();
            mechanisms.push(Mechanism { parents: inputs.parents, latents, table });
        }
        let laws = vec![vec![0.5, 0.5]; self.tree.len() + cliques.len()];
        let cards = (0..graph.len() as u32).map(|v| 1 << width(v, two_bits)).collect();
        LatentModel::new(graph.clone(), cards, laws, mechanisms)
    }

    fn role(&self, v: u32, two_bits: NodeSet) -> Role {
        if self.hedge.roots.contains(v) {
            Role::NoisyParity
        } else if two_bits.contains(v) {
            Role::ParityAndRandom
        } else if self.hedge.outer.contains(v) {
            Role::Parity
        } else {
            Role::Random
        }
    }

    fn inputs(
        &self,
        v: u32,
        role: Role,
        two_bits: NodeSet,
        cliques: &[NodeSet],
    ) -> Result<Inputs, Error> {
        // What has a random part may depend on all that the graph allows.
        let has_random_part = role != Role::Parity;
        let parents = self.hedge.graph().parents(v).iter();
        let parents: Vec<u32> = parents.filter(|&u| has_random_part || self.counts(u, v)).collect();
        let of_hedge = self.hidden(v);
        let others: Vec<u32> = (0..cliques.len())
            .filter(|&k| has_random_part && cliques[k].contains(v))
            .map(|k| (self.tree.len() + k) as u32)
            .collect();
        let bits = parents.iter().map(|&u| width(u, two_bits)).sum::<usize>()
            + of_hedge.len()
            + others.len();
        if bits > BITS {
            return Err(Error::TooMany { what: "bits of a mechanism", limit: BITS });
        }
        let mut counted = Vec::new();
        let mut lowest = bits;
        for &u in &parents {
            lowest -= width(u, two_bits);
            if self.counts(u, v) {
                counted.push(lowest);
            }
        }
        counted.extend(others.len()..others.len() + of_hedge.len());
        Ok(Inputs { parents, of_hedge, others, bits, counted })
    }
}

impl Inputs {
    /// The table of the mechanism, by rows.
    fn table(&self, role: Role, rng: &mut Generator) -> Vec<f64> {
        let range = if role == Role::NoisyParity { 0.02..0.4 } else { 0.1..0.9 };
        // One number for every configuration of what is not a hidden cause of the hedge.
        let numbers = if role == Role::Parity { 0 } else { 1 << (self.bits - self.of_hedge.len()) };
        let random: Vec<f64> = (0..numbers).map(|_| rng.random_range(range.clone())).collect();
        let mut table = Vec::new();
        for row in 0..1_usize << self.bits {
            let parity = self.counted.iter().fold(0, |parity, &bit| parity ^ (row >> bit) & 1);
            let at_random = || random[self.without_hedge(row)];
            let one = match role {
                Role::Parity => parity as f64,
                Role::NoisyParity if parity == 1 => 1.0 - at_random(),
                Role::NoisyParity | Role::Random => at_random(),
                Role::ParityAndRandom => {
                    for second in [1.0 - at_random(), at_random()] {
                        table.extend([second * (1 - parity) as f64, second * parity as f64]);
                    }
                    continue;
                }
            };
            table.extend([1.0 - one, one]);
        }
        table
    }

    /// The number of a row without the bits of the hidden causes of the hedge.
    fn without_hedge(&self, row: usize) -> usize {
        let low = self.others.len();
        (row >> (self.of_hedge.len() + low)) << low | row & ((1 << low) - 1)
    }
}

/// The bits of a node.
fn width(v: u32, two_bits: NodeSet) -> usize {
    1 + usize::from(two_bits.contains(v))
}
