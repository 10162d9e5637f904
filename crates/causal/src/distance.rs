//! How far an estimated graph is from the true one.
//!
//! | distance | counts | zero means |
//! |---|---|---|
//! | [`shd`] | pairs of nodes joined differently | the same graph |
//! | [`sid`] | ordered pairs whose effect the estimate gets wrong by adjusting for parents | all effects right, the estimate may have more edges |
//! | [`adjustment_distance`] | the same for parents, ancestors or the optimal set | |
//!
//! The structural Hamming distance counts wrong edges, but a graph with many wrong edges can give all effects right,
//! and one reversed edge can make many effects wrong. The other two distances count wrong effects.
//!
//! Sources: Peters and Buehlmann, Neural Computation 27, 2015 (SID); Henckel, Wuertzen and Weichwald, Adjustment
//! identification distance, UAI 2024.

use fenchel_graphical::Dag;
use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::adjustment::{is_adjustment, optimal_adjustment};
use crate::{Admg, Error, NodeSet};

/// How effects are computed from the estimated graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// Adjust for the parents of the treatment. The treatment has no effect on its parents.
    Parents,
    /// Adjust for the ancestors of the treatment. The treatment affects only its descendants.
    Ancestors,
    /// Adjust for the optimal set. The treatment affects only its descendants.
    Optimal,
}

/// The structural Hamming distance: the number of pairs of nodes that the two graphs join differently. A reversed edge counts once.
///
/// # Errors
/// [`Error::Invalid`] for different numbers of nodes.
pub fn shd(truth: &Dag, estimate: &Dag) -> Result<usize, Error> {
    Invalid::check_length("nodes of the estimate", truth.nodes(), estimate.nodes())?;
    Ok(fenchel_graphical::structure::shd(truth, estimate)?)
}

/// The structural intervention distance: the number of ordered pairs `(i, j)` for which adjusting for the parents of i in the estimate
/// does not give the effect of i on j. At most n (n - 1).
///
/// # Errors
/// As [`adjustment_distance`].
pub fn sid(truth: &Dag, estimate: &Dag) -> Result<usize, Error> {
    adjustment_distance(truth, estimate, Strategy::Parents)
}

/// The number of ordered pairs `(i, j)` whose effect the estimate gets wrong. This is so if the estimate claims no
/// effect where the true graph has one, or if it adjusts for a set that is not valid in the true graph. O(n^2 (V + E)).
///
/// # Errors
/// [`Error::Invalid`] for different numbers of nodes, [`TooManyNodes`](crate::admg::GraphError::TooManyNodes).
pub fn adjustment_distance(
    truth: &Dag,
    estimate: &Dag,
    strategy: Strategy,
) -> Result<usize, Error> {
    Invalid::check_length("nodes of the estimate", truth.nodes(), estimate.nodes())?;
    let names: Vec<String> = (0..truth.nodes()).map(|v| v.to_string()).collect();
    let (truth, estimate) = (Admg::from_dag(truth, &names)?, Admg::from_dag(estimate, &names)?);
    let mut wrong = 0;
    for i in 0..truth.len() as u32 {
        let x = NodeSet::one(i);
        let (below, claimed_below) = (truth.descendants(x), estimate.descendants(x));
        for j in (0..truth.len() as u32).filter(|&j| j != i) {
            let y = NodeSet::one(j);
            let set = match strategy {
                Strategy::Parents => Some(estimate.parents(i)).filter(|z| !z.contains(j)),
                _ if !claimed_below.contains(j) => None,
                Strategy::Ancestors => Some(estimate.ancestors(x) - x),
                Strategy::Optimal => Some(optimal_adjustment(&estimate, x, y)?),
            };
            let right = match set {
                None => !below.contains(j),
                Some(z) => is_adjustment(&truth, x, y, z)?,
            };
            wrong += usize::from(!right);
        }
    }
    Ok(wrong)
}
