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

use fenchel_optim::Refusal;

use crate::elimination::elimination_order;
use crate::stride::cells;
use crate::table::table_bytes;
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
    let mut small = FactorGraph::new(given.cards())?;
    for factor in given.factors() {
        // Where everything is observed a number is left.
        if factor.scope().is_empty() || factor.scope().iter().any(|v| relevant[v.index()]) {
            small.add_table(factor.clone())?;
        }
    }
    // The heuristic decides the order of the others; the query stays to the end.
    let order = elimination_order(&small, options)?.order;
    let hidden = order.into_iter().filter(|v| relevant[v.index()] && !query.contains(v));
    let hidden: Vec<VarId> = hidden.collect();
    let tables = small.factors().to_vec();
    let free: Vec<VarId> = query.iter().copied().filter(|&v| evidence.state(v).is_none()).collect();
    let mut joint = eliminate(tables, &hidden, &free, options.max_memory)?;
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

/// Sums out all variables except `keep`, in the order of [`elimination_order`].
pub(crate) fn sum_out(
    tables: Vec<Table>,
    keep: &[VarId],
    max_memory: Option<u64>,
) -> Result<Table, Error> {
    let size = tables.iter().flat_map(|t| t.scope()).map(|v| v.index() + 1).max().unwrap_or(0);
    let mut cards = vec![1; size];
    for table in &tables {
        table.dimensions().into_iter().for_each(|(v, card)| cards[v.index()] = card);
    }
    let mut model = FactorGraph::new(&cards)?;
    for table in tables {
        model.add_table(table)?;
    }
    let order = elimination_order(&model, &OrderingOptions::default())?.order;
    let hidden: Vec<VarId> = order.into_iter().filter(|v| !keep.contains(v)).collect();
    eliminate(model.factors().to_vec(), &hidden, keep, max_memory)
}

fn eliminate(
    mut tables: Vec<Table>,
    hidden: &[VarId],
    keep: &[VarId],
    max_memory: Option<u64>,
) -> Result<Table, Error> {
    for &v in hidden {
        let (mine, rest): (Vec<Table>, Vec<Table>) =
            tables.into_iter().partition(|table| table.scope().contains(&v));
        tables = rest;
        if mine.is_empty() {
            continue;
        }
        let product = multiply(mine, max_memory)?;
        let others: Vec<VarId> = product.scope().iter().copied().filter(|w| *w != v).collect();
        tables.push(product.marginalize_sum(&others)?);
    }
    let product = multiply(tables, max_memory)?;
    let scope: Vec<VarId> = product.scope().iter().copied().filter(|v| keep.contains(v)).collect();
    product.marginalize_sum(&scope)
}

/// The product of all tables, small ones first. Its size is checked before anything is allocated.
fn multiply(mut tables: Vec<Table>, max_memory: Option<u64>) -> Result<Table, Error> {
    let mut union: Vec<(VarId, usize)> = tables.iter().flat_map(Table::dimensions).collect();
    union.sort_unstable();
    union.dedup();
    let hint = "try another heuristic, more restarts, or approximate inference";
    let needed = table_bytes(cells(union.iter().map(|s| s.1)));
    Refusal::check_memory("a table of variable elimination", needed, max_memory, hint)?;
    tables.sort_by_key(|table| std::cmp::Reverse(table.len()));
    let mut product = tables.pop().map_or_else(|| Table::constant(0.0), Ok)?;
    let mut spare = Table::constant(0.0)?;
    while let Some(next) = tables.pop() {
        product.product_into(&next, &mut spare)?;
        std::mem::swap(&mut product, &mut spare);
    }
    Ok(product)
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
