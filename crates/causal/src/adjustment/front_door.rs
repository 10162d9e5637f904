//! The front-door criterion: the effect is found through a mediator that has no hidden cause in common with treatment
//! or outcome.

use super::{SetSearch, check};
use crate::{Admg, Error, Estimand, Expr, NodeSet, Query};

/// Whether `m` satisfies the front-door criterion for the effect of `x` on `y`. The criterion has three conditions.
/// First, every directed path from `x` to `y` meets `m`. Second, there is no open path from `x` to `m` that begins with
/// an edge into `x`. Third, `x` blocks every path from `m` to `y` that begins with an edge into `m`. O(V + E).
///
/// # Errors
/// [`UnknownNode`](crate::admg::GraphError::UnknownNode), [`Overlap`](crate::admg::GraphError::Overlap), [`Error::Invalid`] for an empty treatment or outcome.
pub fn is_front_door(graph: &Admg, x: NodeSet, y: NodeSet, m: NodeSet) -> Result<bool, Error> {
    check(graph, x, y, m)?;
    let view = graph.view();
    let intercepts = !view.on(graph.all() - m).descendants(x).meets(y);
    Ok(intercepts
        && view.cut_out(x).separated(x, m, NodeSet::EMPTY)
        && view.cut_out(m).separated(m, y, x))
}

/// All minimal front-door sets, the smallest first. A set is minimal if no node can be left out of it.
///
/// The candidates are the nodes without an open back-door path from `x`. Their subsets are tried in the order of their
/// size. A minimal set may contain nodes that lie on no directed path from `x` to `y`: such nodes close back-door paths
/// of the mediators.
///
/// # Errors
/// As [`is_front_door`]; [`Error::TooMany`] if more than `search.limit` subsets would have to be tried.
pub fn front_door_sets(
    graph: &Admg,
    x: NodeSet,
    y: NodeSet,
    search: &SetSearch,
) -> Result<Vec<NodeSet>, Error> {
    check(graph, x, y, NodeSet::EMPTY)?;
    let view = graph.view();
    let open = graph.all() - x - y - search.forbidden;
    let clean = |v: &u32| view.cut_out(x).separated(x, NodeSet::one(*v), NodeSet::EMPTY);
    let candidates: Vec<u32> = open.iter().filter(clean).collect();
    let mut found: Vec<NodeSet> = Vec::new();
    let mut layer = vec![(NodeSet::EMPTY, 0)];
    let mut tried = 0;
    while !layer.is_empty() {
        let mut next = Vec::new();
        for (set, from) in layer {
            tried += 1;
            if tried > search.limit {
                return Err(Error::TooMany {
                    what: "candidates for a front-door set",
                    limit: search.limit,
                });
            }
            if found.iter().any(|f| f.is_subset(set)) {
                continue;
            }
            if is_front_door(graph, x, y, set)? {
                found.push(set);
                continue;
            }
            let grown =
                (from..candidates.len()).map(|k| (set | NodeSet::one(candidates[k]), k + 1));
            next.extend(grown);
        }
        layer = next;
    }
    Ok(found)
}

/// The front-door formula `sum_m P(m | x) sum_x' P(y | x', m) P(x')`, once `m` is checked.
///
/// # Errors
/// As [`is_front_door`]; [`Error::NoSuchSet`] if `m` does not satisfy the criterion.
pub fn front_door(graph: &Admg, x: NodeSet, y: NodeSet, m: NodeSet) -> Result<Estimand, Error> {
    if !is_front_door(graph, x, y, m)? {
        return Err(Error::NoSuchSet { what: "front door by this set" });
    }
    let inner =
        Expr::Product(vec![Expr::probability(y, x | m), Expr::probability(x, NodeSet::EMPTY)]);
    let outer = Expr::Product(vec![Expr::probability(m, x), Expr::sum(x, inner)]);
    Ok(Estimand::new(graph, Query::new(y, x), &Expr::sum(m, outer)))
}
