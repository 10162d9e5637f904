//! The three rules of the do-calculus, as tests on a graph.
//!
//! | rule | if | then |
//! |---|---|---|
//! | [`observation`] | Y and Z are separated given X, W, once X is set | `P(y given do(x), z, w) = P(y given do(x), w)` |
//! | [`exchange`] | the same without the edges out of Z | `P(y given do(x), do(z), w) = P(y given do(x), z, w)` |
//! | [`action`] | the same without the edges into those Z that are no ancestors of W | `P(y given do(x), do(z), w) = P(y given do(x), w)` |
//!
//! The three rules are complete: every identifiable effect follows from them. [`identify`](fn@crate::identify) applies
//! them in the right order.
//!
//! Source: R. Le Priol, PhD thesis 2021, section 2.3.3; Pearl, Causality, 2009, section 3.4.

use crate::{Admg, Error, NodeSet};

fn check(graph: &Admg, y: NodeSet, x: NodeSet, z: NodeSet, w: NodeSet) -> Result<(), Error> {
    graph.check_set(x | y | z | w)?;
    let sets = [("outcome", y), ("set before", x), ("moved", z), ("given", w)];
    for (i, a) in sets.iter().enumerate() {
        for b in &sets[..i] {
            graph.check_apart(*b, *a)?;
        }
    }
    Ok(())
}

/// Rule 1: whether the observation of `z` may be inserted or deleted.
///
/// # Errors
/// [`UnknownNode`](crate::admg::GraphError::UnknownNode); [`Overlap`](crate::admg::GraphError::Overlap) if the four sets are not disjoint.
pub fn observation(
    graph: &Admg,
    y: NodeSet,
    x: NodeSet,
    z: NodeSet,
    w: NodeSet,
) -> Result<bool, Error> {
    check(graph, y, x, z, w)?;
    Ok(graph.view().cut_in(x).separated(y, z, x | w))
}

/// Rule 2: whether setting `z` and observing it are the same.
///
/// # Errors
/// As [`observation`].
pub fn exchange(
    graph: &Admg,
    y: NodeSet,
    x: NodeSet,
    z: NodeSet,
    w: NodeSet,
) -> Result<bool, Error> {
    check(graph, y, x, z, w)?;
    Ok(graph.view().cut_in(x).cut_out(z).separated(y, z, x | w))
}

/// Rule 3: whether setting `z` may be inserted or deleted.
///
/// # Errors
/// As [`observation`].
pub fn action(graph: &Admg, y: NodeSet, x: NodeSet, z: NodeSet, w: NodeSet) -> Result<bool, Error> {
    check(graph, y, x, z, w)?;
    let set = graph.view().cut_in(x);
    let cut = z - set.ancestors(w);
    Ok(graph.view().cut_in(x | cut).separated(y, z, x | w))
}
