//! Tree-reweighted belief propagation.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{Observer, Solution, Stop};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::network::Network;
use super::propagation::Propagation;
use super::{BeliefPropagationSettings, Beliefs, Schedule, propagate};
use crate::graph::maximum_spanning_forest;
use crate::{Error, FactorGraph};

/// How often each edge appears in the spanning trees that the bound is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EdgeAppearance {
    /// At least this many random spanning forests, each made of the edges used least so far, until every edge has been used;
    /// 0 means twice the mean degree and 8 more. Always valid.
    SpanningTrees(usize),
    /// The same for all edges, (variables - components) / edges. Valid only where the graph looks the same from every edge
    /// (a cycle, a complete graph, a torus).
    Uniform,
}

/// Settings of [`tree_reweighted`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `appearance` | `SpanningTrees(0)` | probabilities of the edges |
/// | `seed` | 0 | of the spanning trees |
/// | `schedule` | `Parallel` | who sends next |
/// | `damping` | 1/2 if parallel, else 0 | as in [`BeliefPropagationSettings`] |
/// | `stop` | residual 1e-8, 1000 passes | when to end |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeReweightedSettings {
    /// Probabilities of the edges.
    pub appearance: EdgeAppearance,
    /// Seed of the spanning trees.
    pub seed: u64,
    /// Who sends next.
    pub schedule: Schedule,
    /// The share of the old message, in `[0, 1)`.
    pub damping: Option<f64>,
    /// When to end.
    pub stop: Stop,
}

impl Default for TreeReweightedSettings {
    fn default() -> Self {
        let BeliefPropagationSettings { damping, stop, .. } = BeliefPropagationSettings::default();
        TreeReweightedSettings {
            appearance: EdgeAppearance::SpanningTrees(0),
            seed: 0,
            schedule: Schedule::Parallel,
            damping,
            stop,
        }
    }
}

/// Tree-reweighted belief propagation: an upper bound of log Z, and marginals that are the optimum of a convex problem.
///
/// ```text
/// m_{i->j}(x_j) ~ sum_{x_i} psi_ij^(1/rho_ij) psi_i prod_{k != j} m_{k->i}^{rho_ki} / m_{j->i}^(1 - rho_ij)
/// log Z <= E_b[theta] + sum_i H(b_i) - sum_ij rho_ij I(b_ij)      at the fixed point
/// ```
///
/// The bound is that of a mixture of spanning trees with edge probabilities `rho`; it is exact on trees. Only a run that
/// `Converged` gives a bound, up to second order in the residual. Factors of two variables at most.
///
/// Source: Wainwright, Jaakkola and Willsky, IEEE Trans. Inf. Theory 51 (2005); named as an oracle in R. Le Priol's thesis, 3.7.
///
/// # Errors
/// [`Invalid::Layout`] for a factor of more than two variables; as [`belief_propagation`](super::belief_propagation()).
pub fn tree_reweighted<O: Observer<Propagation>>(
    model: &FactorGraph,
    settings: &TreeReweightedSettings,
    start: Option<Beliefs>,
    observer: &mut O,
) -> Result<Solution<Beliefs>, Error> {
    let TreeReweightedSettings { appearance, seed, schedule, damping, stop } = settings.clone();
    if let Some(k) = model.factors().iter().position(|factor| factor.scope().len() > 2) {
        let variables = model.factors()[k].scope().len();
        let reason =
            format!("factor {k} has {variables} variables; tree-reweighting needs at most 2");
        return Err(Invalid::Layout { what: "model", reason }.into());
    }
    let mut network = Network::new(model)?;
    let weights = weights(&network, appearance, seed)?;
    network.set_weights(&weights)?;
    let settings = BeliefPropagationSettings { schedule, damping, stop };
    propagate(network, &settings, start, observer)
}

/// The appearance probability of every edge.
fn weights(network: &Network, appearance: EdgeAppearance, seed: u64) -> Result<Vec<f64>, Error> {
    let nodes = network.cells.len();
    let ends = |k: usize| {
        let slots = &network.slots[network.factors[k].slots.clone()];
        (slots[0].variable as u32, slots[1].variable as u32)
    };
    let edges = network.factors.len();
    let mut weighted: Vec<(u32, u32, f64)> =
        (0..edges).map(|k| (ends(k).0, ends(k).1, 0.0)).collect();
    let trees = match appearance {
        EdgeAppearance::Uniform => {
            let used = maximum_spanning_forest(nodes, &weighted)?.len();
            return Ok(vec![used as f64 / edges as f64; edges]);
        }
        EdgeAppearance::SpanningTrees(0) => (2 * edges).div_ceil(nodes.max(1)) + 8,
        EdgeAppearance::SpanningTrees(trees) => trees,
    };
    let mut rng = stream(seed, 0);
    let mut used = vec![0_u32; edges];
    let mut drawn = 0;
    while drawn < trees || used.contains(&0) {
        for (edge, &used) in weighted.iter_mut().zip(&used) {
            edge.2 = rng.random::<f64>() - f64::from(used);
        }
        for k in maximum_spanning_forest(nodes, &weighted)? {
            used[k] += 1;
        }
        drawn += 1;
    }
    Ok(used.iter().map(|&used| f64::from(used) / drawn as f64).collect())
}
