//! Variable elimination: a single posterior without a compiled tree.
//!
//! ```text
//! P(x_Q | e) ∝ sum over the others of prod_f psi_f(x_f, e)
//! ```
//!
//! Use it for a single query. For all marginals, or for repeated queries, use a [`JunctionTree`](crate::JunctionTree).
//! Components that contain neither the query nor evidence are not processed.
//!
//! Source: Zhang and Poole (1994); Dechter (1999).

use std::collections::VecDeque;

use crate::elimination::margin;
use crate::table::semiring::LogSum;
use crate::{Error, Evidence, FactorGraph, OrderingOptions, Table, VarId};

/// Computes the normalised `log P(x_query | evidence)` as a table over the sorted query.
///
/// # Errors
/// [`Error::UnknownVariable`], [`Error::RepeatedVariable`]; what [`Evidence::check`] refuses; [`Error::ImpossibleEvidence`] if
/// the evidence has probability zero anywhere in the model; [`Error::Refused`] before an intermediate table of more than
/// `options.max_memory` bytes is made; [`Error::Potential`] for log-potentials whose sum may exceed 1e300.
///
/// A query variable with hard evidence has a posterior of 1 for the observed state.
pub fn variable_elimination(
    model: &FactorGraph,
    query: &[VarId],
    evidence: &Evidence,
    options: &OrderingOptions,
) -> Result<Table, Error> {
    let cards = model.cards_of(query)?;
    model.check_sums()?;
    let shape = Table::ones(query, &cards)?;
    let given = model.condition(evidence)?;
    // The evidence may cut the model into parts. Those that it touches must be possible.
    let mut touched: Vec<VarId> = query.to_vec();
    for factor in model.factors() {
        let scope = factor.scope();
        if scope.iter().any(|&v| evidence.get(v).is_some()) {
            touched.extend(scope.iter().filter(|&&v| evidence.state(v).is_none()));
        }
    }
    touched.extend(evidence.iter().map(|(v, _)| v));
    let relevant = reachable(&given, &touched);
    // Where everything is observed a number is left.
    let matters = |scope: &[VarId]| scope.is_empty() || scope.iter().any(|v| relevant[v.index()]);
    let tables = given.factors().iter().filter(|factor| matters(factor.scope()));
    let free: Vec<VarId> = query.iter().copied().filter(|&v| evidence.state(v).is_none()).collect();
    let tables = tables.map(|factor| factor.dense().clone()).collect();
    let mut joint = Table::from(margin::<LogSum>(tables, &free, options)?);
    // Observed variables come back, with all probability at the observed state.
    let observed: Vec<VarId> = query.iter().copied().filter(|v| !free.contains(v)).collect();
    for v in observed {
        let card = model.cards()[v.index()];
        let state = evidence.state(v);
        let certain: Vec<f64> = (0..card).map(|s| f64::from(u8::from(Some(s) == state))).collect();
        joint = joint.product(&Table::from_values(&[v], &[card], &certain)?)?;
    }
    // A queried variable may be in no factor at all.
    joint = joint.product(&shape.reduce(&Evidence::new())?)?;
    joint.normalize()?;
    Ok(joint)
}

/// A mask of the variables that are connected to the given ones.
fn reachable(model: &FactorGraph, some: &[VarId]) -> Vec<bool> {
    let neighbours = model.neighbours();
    let mut seen = vec![false; model.len()];
    let mut queue: VecDeque<VarId> = some.iter().copied().collect();
    queue.iter().for_each(|v| seen[v.index()] = true);
    while let Some(v) = queue.pop_front() {
        for &w in &neighbours[v.index()] {
            if !std::mem::replace(&mut seen[w.index()], true) {
                queue.push_back(w);
            }
        }
    }
    seen
}
