//! The state of [`sdca`](fn@super::sdca): marginals, and what is computed from them.

use fenchel_graphical::chain::{ChainMarginals, Probability, stride};
use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::dataset::Dataset;
use crate::objective::{Objective, each};
use crate::problem::Problem;
use crate::weights::Weights;

/// The state of [`sdca`](fn@super::sdca): the marginals of every sequence, and their weights.
///
/// A warm start reads only the marginals, so that a state from another `l2` can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Probability + Deserialize<'de>"))]
pub struct DualState<T = f32> {
    /// The weights.
    pub weights: Weights,
    /// The dual variables, stored as `T`.
    pub marginals: Vec<ChainMarginals<T>>,
}

/// Number of bytes of the marginals of a data set if pairs are stored as `T`: `K^2 (T - 1)` entries per sequence of length `T`.
pub fn memory<T>(data: &Dataset) -> u64 {
    let (n, tokens, labels) = (data.sequences(), data.tokens(), data.labels());
    let padding = stride(labels) - labels;
    let pairs = (tokens - n) as u128 * (labels as u128).pow(2) + (n * padding) as u128;
    let nodes = tokens as u128 * stride(labels) as u128;
    let buffers = n as u128 * size_of::<ChainMarginals<T>>() as u128;
    u64::try_from(pairs * size_of::<T>() as u128 + 8 * nodes + buffers).unwrap_or(u64::MAX)
}

/// Whether a relative gap can be reached with the marginals of pairs in single precision.
///
/// A visit rounds the pairs of a sequence by a relative error of `2^-24`, and weights are sums of marginals over `l2 n`. The
/// scores of a labelling of mean length `T` are then wrong by about `2^-24 T / (l2 n)` nats, and so is the objective.
pub fn single_precision_suffices(data: &Dataset, l2: f64, relative: f64) -> bool {
    let n = data.sequences() as f64;
    let length = data.tokens() as f64 / n;
    <f32 as Probability>::ROUNDING * length <= relative * l2 * n
}

/// `nu(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_m F(x_i, .)]`, which without an l1 penalty are the weights `w(m)`. `agree`: those
/// of the marginals of [`agreeing`].
pub(crate) fn weights_of<T: Probability>(
    problem: &Problem<'_>,
    objective: &mut Objective<'_, '_>,
    marginals: &[ChainMarginals<T>],
    agree: bool,
) -> Vec<f64> {
    let scale = 1.0 / (problem.l2() * problem.n() as f64);
    let expected = objective.expected(marginals, agree);
    problem.counts.iter().zip(expected).map(|(count, e)| scale * (count - e)).collect()
}

/// The entropies of marginals, or of those of [`agreeing`].
pub(crate) fn entropies<T: Probability>(marginals: &[ChainMarginals<T>], agree: bool) -> Vec<f64> {
    let of = |m: &ChainMarginals<T>| match agree {
        true => agreeing::<f64>(m).map_or(f64::NAN, |own| own.entropy()),
        false => m.entropy(),
    };
    let mut entropies: Vec<(&ChainMarginals<T>, f64)> =
        marginals.iter().map(|m| (m, 0.0)).collect();
    each(&mut entropies, |(m, entropy)| *entropy = of(m));
    entropies.into_iter().map(|(_, entropy)| entropy).collect()
}

/// The marginals of the Markov chain that begins like `m` and has its transitions, or `None` if they are not numbers. Those of
/// `m` agree with each other up to rounding only, which adds up over many visits in single precision: a dual value at them may
/// exceed the optimum. At these it cannot. O(T K^2).
pub(crate) fn agreeing<U: Probability>(
    m: &ChainMarginals<impl Probability>,
) -> Option<ChainMarginals<U>> {
    let states = m.states();
    let law = |row: &mut Vec<f64>| {
        let sum: f64 = row.iter().sum();
        let flat = 1.0 / states as f64;
        row.iter_mut().for_each(|p| *p = if sum > 0.0 { *p / sum } else { flat });
    };
    let mut node: Vec<f64> = m.node(0).iter().map(|p| p.max(0.0)).collect();
    law(&mut node);
    let (mut nodes, mut edges) = (node.clone(), Vec::with_capacity(m.length() * states * states));
    let mut row = Vec::with_capacity(states);
    for t in 1..m.length() {
        let mut next = vec![0.0; states];
        for (from, pairs) in node.iter().zip(m.edge(t - 1).chunks_exact(states)) {
            row.clear();
            row.extend(pairs.iter().map(|p| p.linear().max(0.0)));
            law(&mut row);
            for (to, p) in next.iter_mut().zip(&row) {
                *to += from * p;
                edges.push(U::from_linear(from * p));
            }
        }
        nodes.extend(&next);
        node = next;
    }
    ChainMarginals::from_parts(states, &nodes, &edges).ok()
}

pub(crate) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Checks that marginals fit the data. Where they contradict each other by more than rounding, they are replaced by those of
/// [`agreeing`].
pub(crate) fn checked<T: Probability>(
    data: &Dataset,
    mut marginals: Vec<ChainMarginals<T>>,
) -> Result<Vec<ChainMarginals<T>>, Error> {
    Invalid::check_length("start.marginals", data.sequences(), marginals.len())?;
    for (sequence, m) in data.iter().zip(&mut marginals) {
        Invalid::check_length("length of a start's marginals", sequence.len(), m.length())?;
        Invalid::check_length("labels of a start's marginals", data.labels(), m.states())?;
        let pairs = (1..m.length()).flat_map(|t| m.edge(t - 1)).map(|p| p.linear());
        let negative =
            pairs.chain((0..m.length()).flat_map(|t| m.node(t)).copied()).any(|p| p < 0.0);
        if negative || !m.is_consistent(1e-3) {
            let reason = "are negative, do not sum to 1 or contradict each other".to_string();
            return Err(Invalid::Layout { what: "start.marginals", reason }.into());
        }
        if T::ROUNDING == 0.0
            && !m.is_consistent(1e-9)
            && let Some(own) = agreeing(m)
        {
            *m = own;
        }
    }
    Ok(marginals)
}
