//! Tree-reweighted belief propagation.

use fenchel_optim::random::stream;
use fenchel_optim::{Observer, Refusal, Solution, Stop, settings};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::network::Network;
use super::propagation::Propagation;
use super::{BeliefPropagationSettings, Beliefs, Schedule, propagate};
use crate::graph::DisjointSets;
use crate::{Error, FactorGraph};

/// The appearance probabilities: how often each factor occurs in the random forests whose mixture gives the bound. A factor of
/// two variables is an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EdgeAppearance {
    /// Uses at least this many random forests, each built from the factors used least so far, until every factor has been used.
    /// The value 0 means 8 more than twice the number of factors per variable. The resulting bound is always valid.
    SpanningTrees(usize),
    /// Uses the same probability, (variables - components) / edges, for all edges. It is valid only for graphs in which all
    /// edges are equivalent by symmetry, such as a cycle, a complete graph or a torus.
    Uniform,
}

settings! {
    /// Settings of [`tree_reweighted`].
    pub struct TreeReweightedSettings {
        /// Appearance probabilities of the edges.
        appearance: EdgeAppearance = EdgeAppearance::SpanningTrees(0),
        /// Seed of the spanning trees.
        seed: u64 = 0,
        /// Order of the messages.
        schedule: Schedule = Schedule::Parallel,
        /// As in [`BeliefPropagationSettings`].
        damping: Option<f64> = None,
        /// When to end.
        stop: Stop = BeliefPropagationSettings::default().stop,
    }
}

/// Tree-reweighted belief propagation (TRW): an upper bound of log Z, and marginals that are the optimum of a convex problem.
///
/// ```text
/// m_{f->v}(x_v) ~ sum over the rest of psi_f^(1/rho_f) prod_{u in f, u != v} b_u(x_u) / m_{f->u}(x_u)
/// b_v ~ psi_v prod_f m_{f->v}^{rho_f}
/// log Z <= E_b[theta] + sum_v H(b_v) - sum_f rho_f I(b_f),   I(b_f) = sum_{v in f} H(b_v) - H(b_f)      at the fixed point
/// ```
///
/// A forest here is a set of factors that form no cycle. In a mixture of forests, `rho_f` is the probability that factor `f`
/// belongs to the drawn forest. The entropy of each forest is at least that of the model, and it is concave. So the expression
/// above is an upper bound with a single optimum. If all factors have two variables, the forests are spanning trees of the
/// graph. Larger factors are used as a whole: two of them that share two variables form a cycle. A factor whose variables are a
/// subset of those of another factor is merged into that one. The bound is exact if all factors together form no cycle. The
/// value of [`Beliefs::log_partition`] holds after any number of passes, up to the rounding of the log-potentials: it is charged with the disagreement
/// `sum_f rho_f max_{v in f, x} log(b_f(x_v) / b_v(x_v))`, which is 0 at the fixed point. The residual is the largest change of
/// a logarithm in a message, or the disagreement if that is larger.
///
/// Source: Wainwright, Jaakkola and Willsky, IEEE Trans. Inf. Theory 51 (2005), section V for factors of more variables
/// (hypertrees). R. Le Priol, PhD thesis 2021, section 3.7, names it as an oracle.
///
/// # Errors
/// [`Error::Refused`] for [`EdgeAppearance::Uniform`] and a factor of more than two variables; as
/// [`belief_propagation`](super::belief_propagation()).
pub fn tree_reweighted<O: Observer<Propagation>>(
    model: &FactorGraph,
    settings: &TreeReweightedSettings,
    start: Option<Beliefs>,
    observer: &mut O,
) -> Result<Solution<Beliefs>, Error> {
    let TreeReweightedSettings { appearance, seed, schedule, damping, stop } = settings.clone();
    let mut network = Network::absorbed(model)?;
    let weights = weights(&network, appearance, seed)?;
    network.set_weights(&weights)?;
    let settings = BeliefPropagationSettings { schedule, damping, stop };
    propagate(network, &settings, start, observer)
}

/// The appearance probability of every factor.
fn weights(network: &Network, appearance: EdgeAppearance, seed: u64) -> Result<Vec<f64>, Error> {
    let nodes = network.cells.len();
    let factors = network.factors.len();
    let scope = |k: usize| {
        let slots = &network.slots[network.factors[k].slots.clone()];
        slots.iter().map(|slot| slot.variable as u32)
    };
    let trees = match appearance {
        EdgeAppearance::Uniform => {
            if let Some(k) = (0..factors).find(|&k| scope(k).len() > 2) {
                let what = format!(
                    "uniform probabilities with a factor of {} variables; use EdgeAppearance::SpanningTrees",
                    scope(k).len()
                );
                return Err(Refusal::unsupported("tree_reweighted", what).into());
            }
            let used = forest(nodes, 0..factors, scope).len();
            return Ok(vec![used as f64 / factors as f64; factors]);
        }
        EdgeAppearance::SpanningTrees(0) => (2 * factors).div_ceil(nodes.max(1)) + 8,
        EdgeAppearance::SpanningTrees(trees) => trees,
    };
    let mut rng = stream(seed, 0);
    let mut used = vec![0_u32; factors];
    let mut drawn = 0;
    while drawn < trees || used.contains(&0) {
        // The factors used least come first, in a random order.
        let mut order: Vec<(f64, usize)> =
            used.iter().map(|&used| f64::from(used) - rng.random::<f64>()).zip(0..).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for k in forest(nodes, order.into_iter().map(|(_, k)| k), scope) {
            used[k] += 1;
        }
        drawn += 1;
    }
    Ok(used.iter().map(|&used| f64::from(used) / drawn as f64).collect())
}

/// Builds a forest greedily: each factor, in the given order, is added if it forms no cycle with those before.
fn forest<I: Iterator<Item = u32> + Clone>(
    nodes: usize,
    order: impl Iterator<Item = usize>,
    scope: impl Fn(usize) -> I,
) -> Vec<usize> {
    let mut sets = DisjointSets::new(nodes);
    let mut roots = Vec::new();
    let mut kept = Vec::new();
    for k in order {
        roots.clear();
        roots.extend(scope(k).map(|v| sets.find(v)));
        let variables = roots.len();
        roots.sort_unstable();
        roots.dedup();
        if roots.len() == variables {
            for pair in roots.windows(2) {
                sets.join(pair[0], pair[1]);
            }
            kept.push(k);
        }
    }
    kept
}
