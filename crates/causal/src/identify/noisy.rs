//! Models of a hedge whose other mechanisms are random.

use fenchel_optim::random::Generator;
use rand::RngExt;

use super::Hedge;
use crate::latent::{LatentModel, Mechanism, clique_cover};
use crate::{Error, NodeSet};

/// The largest number of parents and hidden causes of a random mechanism, counted in bits.
const BITS: usize = 20;

impl Hedge {
    /// The parity mechanisms of the hedge, with noise at the roots. Variables outside the hedge depend on all nodes
    /// that the graph allows. Inner nodes in `wide` get a second bit above the parity bit, which also depends on all
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
        tree: &[(u32, u32)],
        next: &[Option<u32>],
        inner_only: bool,
        wide: NodeSet,
        rng: &mut Generator,
    ) -> Result<LatentModel, Error> {
        let graph = self.graph();
        let cliques = clique_cover(graph);
        let wide = wide & (self.outer - self.roots);
        let width = |v: u32| 1 + usize::from(wide.contains(v));
        let mut mechanisms = Vec::with_capacity(graph.len());
        for v in 0..graph.len() as u32 {
            let root = self.roots.contains(v);
            let free = root || !self.outer.contains(v) || wide.contains(v);
            let in_hedge = |u: u32| self.hands_on(next, u, v, inner_only);
            let parents: Vec<u32> =
                graph.parents(v).iter().filter(|&u| free || in_hedge(u)).collect();
            let hidden = self.hidden(tree, v, inner_only);
            let shared: Vec<u32> = (0..cliques.len())
                .filter(|&k| free && cliques[k].contains(v))
                .map(|k| (tree.len() + k) as u32)
                .collect();
            // A row has the parents in its upper bits, then the hidden causes of the hedge, then the others.
            let (low, middle) = (shared.len(), hidden.len());
            let bits = parents.iter().map(|&u| width(u)).sum::<usize>() + middle + low;
            if bits > BITS {
                return Err(Error::TooMany { what: "bits of a mechanism", limit: BITS });
            }
            // A parent's bit of the hedge is its lowest.
            let mut handed = Vec::new();
            let mut place = bits;
            for &u in &parents {
                place -= width(u);
                if in_hedge(u) {
                    handed.push(place);
                }
            }
            handed.extend(low..low + middle);
            let range = if root { 0.02..0.4 } else { 0.1..0.9 };
            let draws = if free { 1_usize << (bits - middle) } else { 0 };
            let random: Vec<f64> = (0..draws).map(|_| rng.random_range(range.clone())).collect();
            let mut table = Vec::with_capacity(1 << (bits + width(v)));
            for row in 0..1_usize << bits {
                let number = (row >> (middle + low)) << low | row & ((1 << low) - 1);
                let parity = handed.iter().fold(0, |p, &k| p ^ (row >> k) & 1);
                if wide.contains(v) {
                    for second in [1.0 - random[number], random[number]] {
                        table.extend([second * (1 - parity) as f64, second * parity as f64]);
                    }
                    continue;
                }
                let one = match (free, root, parity) {
                    (false, _, parity) => parity as f64,
                    (true, true, 1) => 1.0 - random[number],
                    _ => random[number],
                };
                table.extend([1.0 - one, one]);
            }
            let latents = hidden.into_iter().chain(shared).collect();
            mechanisms.push(Mechanism { parents, latents, table });
        }
        let laws = vec![vec![0.5, 0.5]; tree.len() + cliques.len()];
        let cards = (0..graph.len() as u32).map(|v| 1 << width(v)).collect();
        LatentModel::new(graph.clone(), cards, laws, mechanisms)
    }
}
