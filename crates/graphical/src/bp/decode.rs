//! Max-product belief propagation.

use fenchel_optim::{Observer, Solution, run};
use serde::{Deserialize, Serialize};

use super::BeliefPropagationSettings;
use super::network::Network;
use super::propagation::Propagation;
use crate::stride::larger;
use crate::{Error, FactorGraph};

/// The result of max-product: the beliefs, and a configuration made from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MaxBeliefs {
    #[serde(with = "crate::table::logs")]
    messages: Vec<f64>,
    max_marginals: Vec<Vec<f64>>,
    configuration: Vec<usize>,
    log_score: f64,
    exact: bool,
}

impl MaxBeliefs {
    /// For every variable and state, the largest log-score of a configuration with that state. The scores are relative to the
    /// best one, so that the largest entry is 0. They are exact on trees.
    pub fn max_marginals(&self) -> &[Vec<f64>] {
        &self.max_marginals
    }

    /// A configuration of high probability. Each state is chosen given the states chosen before. Then single variables are
    /// changed as long as that improves the score.
    pub fn configuration(&self) -> &[usize] {
        &self.configuration
    }

    /// The log-score `sum_f log psi_f` of the configuration.
    pub fn log_score(&self) -> f64 {
        self.log_score
    }

    /// Whether the configuration is proved to be a most probable one, up to rounding: the graph has no cycles, and the score is
    /// the upper bound that the messages give then.
    pub fn is_exact(&self) -> bool {
        self.exact
    }
}

/// Max-product belief propagation. It gives a configuration of high probability; on trees it is the most probable one.
///
/// On a graph without cycles messages are not damped unless the settings say so.
///
/// Sources: Pearl (1988); Kolmogorov, IEEE Trans. PAMI 28 (2006), for choosing the states one after the other.
///
/// # Errors
/// As [`belief_propagation`](super::belief_propagation()).
pub fn max_product<O: Observer<Propagation>>(
    model: &FactorGraph,
    settings: &BeliefPropagationSettings,
    start: Option<MaxBeliefs>,
    observer: &mut O,
) -> Result<Solution<MaxBeliefs>, Error> {
    let network = Network::new(model)?;
    let forest = network.is_forest()?;
    let messages = start.map(|beliefs| beliefs.messages);
    let damping = settings.damping.or(forest.then_some(0.0));
    let settings = &BeliefPropagationSettings { damping, ..settings.clone() };
    let mut method = Propagation::new(network, true, settings, messages)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let Propagation { network, messages, mut beliefs, .. } = method;
    network.gather_beliefs(&messages, &mut beliefs);
    let mut max_marginals = Vec::with_capacity(network.cells.len());
    for cells in &network.cells {
        let own = &beliefs[cells.clone()];
        let top = own.iter().copied().fold(f64::NEG_INFINITY, larger);
        if top == f64::NEG_INFINITY || network.constant == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        max_marginals.push(own.iter().map(|b| b - top).collect());
    }
    let mut configuration = choose(model, &network, &beliefs, &messages);
    improve(model, &network, &mut configuration);
    let log_score = model.log_score(&configuration)?;
    let bound = network.log_partition(&messages, &beliefs, true)
        + network.disagreement(&messages, &beliefs, true);
    let terms = 8 * (model.len() + model.factors().len());
    let rounding = terms as f64 * f64::EPSILON * model.check_sums()?;
    let exact = forest && bound <= log_score + rounding;
    let state = MaxBeliefs { messages, max_marginals, configuration, log_score, exact };
    Ok(Solution { state, report })
}

/// Chooses the states one variable after the other, neighbours first, each given the states chosen before.
fn choose(model: &FactorGraph, network: &Network, beliefs: &[f64], messages: &[f64]) -> Vec<usize> {
    let n = network.cells.len();
    let neighbours = model.neighbours();
    let mut chosen = vec![false; n];
    let mut x = vec![0; n];
    let mut queued = vec![false; n];
    for root in 0..n {
        if std::mem::replace(&mut queued[root], true) {
            continue;
        }
        let mut order = vec![root];
        let mut next = 0;
        while let Some(&v) = order.get(next) {
            next += 1;
            let mut scores = network.potentials[network.cells[v].clone()].to_vec();
            for &s in &network.into[v] {
                let factor = &network.factors[network.slots[s].factor];
                // What the factor says, its chosen variables fixed: the best of its belief without v's own part.
                let table = network.factor_belief(network.slots[s].factor, messages, beliefs);
                let mut best = vec![f64::NEG_INFINITY; scores.len()];
                let at = s - factor.slots.start;
                for (cell, &value) in table.iter().enumerate() {
                    let states = factor.table.dense().states_of(cell);
                    let fits = factor
                        .table
                        .scope()
                        .iter()
                        .zip(&states)
                        .all(|(u, &state)| !chosen[u.index()] || x[u.index()] == state);
                    if fits {
                        best[states[at]] = larger(best[states[at]], value);
                    }
                }
                let own = &beliefs[network.cells[v].clone()];
                let message = &messages[network.slots[s].cells.clone()];
                for (state, score) in scores.iter_mut().enumerate() {
                    *score += if own[state] == f64::NEG_INFINITY {
                        f64::NEG_INFINITY
                    } else {
                        best[state] - (own[state] - message[state])
                    };
                }
            }
            x[v] = first_largest(&scores);
            chosen[v] = true;
            for w in &neighbours[v] {
                if !std::mem::replace(&mut queued[w.index()], true) {
                    order.push(w.index());
                }
            }
        }
    }
    x
}

/// Changes one variable at a time as long as that improves the score (iterated conditional modes).
fn improve(model: &FactorGraph, network: &Network, x: &mut [usize]) {
    let factors = model.factors_of_variables();
    let score = |v: usize, x: &[usize]| -> f64 {
        factors[v].iter().map(|f| model.factors()[f.index()].at(x)).sum()
    };
    let mut improved = true;
    while improved {
        improved = false;
        for v in 0..x.len() {
            let (before, present) = (x[v], score(v, x));
            let scores: Vec<f64> = (0..network.cells[v].len())
                .map(|state| {
                    x[v] = state;
                    score(v, x)
                })
                .collect();
            let best = first_largest(&scores);
            // Rounding must not send it round in circles.
            let better = scores[best] > present + 1e-12 * present.abs().max(1.0);
            x[v] = if better { best } else { before };
            improved |= better;
        }
    }
}

fn first_largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (k, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = k;
        }
    }
    best
}
