//! The state of [`sdca`](fn@super::sdca): marginals, and what is computed from them.

use std::ops::Range;

use fenchel_graphical::chain::{ChainMarginals, Probability, stride};
use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::dataset::Dataset;
use crate::problem::Problem;
use crate::sequences::agreeing;
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
    suffices(data.tokens() as f64, data.sequences() as f64, l2, relative)
}

/// The same for a problem, whose sequences may lie with several processes.
pub(crate) fn single_precision_suffices_for(problem: &Problem<'_>, relative: f64) -> bool {
    let data = problem.data();
    let length = |rows: Range<usize>| rows.map(|i| data.sequence(i).len() as f64).sum();
    let tokens = match problem.shards {
        None => data.tokens() as f64,
        Some(shards) => shards.sum(&mut [], &|_, rows, _| length(rows)),
    };
    suffices(tokens, problem.n() as f64, problem.l2(), relative)
}

fn suffices(tokens: f64, n: f64, l2: f64, relative: f64) -> bool {
    <f32 as Probability>::ROUNDING * (tokens / n) <= relative * l2 * n
}

/// The mean of numbers.
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
