//! The front door: a mediator that nothing hidden touches.

use super::{SetSearch, check};
use crate::{Admg, Error, Estimand, Expr, NodeSet, Query};

/// Whether `m` satisfies the front-door criterion for the effect of `x` on `y`: it meets every directed path from x to y; no path from
/// x that begins with an edge into x leads openly to m; and x blocks every path from m to y that begins with an edge into m. O(V + E).
///
/// # Errors
/// [`Error::UnknownNode`], [`Error::Overlap`], [`Error::Invalid`] for an empty treatment or outcome.
pub fn is_front_door(graph: &Admg, x: NodeSet, y: NodeSet, m: NodeSet) -> Result<bool, Error> {
    check(graph, x, y, m)?;
    let view = graph.view();
    let intercepts = !view.on(graph.all() - m).descendants(x).meets(y);
    Ok(intercepts
        && view.cut_out(x).separated(x, m, NodeSet::EMPTY)
        && view.cut_out(m).separated(m, y, x))
}

/// All front-door sets of which no node can be left out, the smallest first.
///
/// Candidates have no open back-door path from x; their subsets are tried by size. A set may need nodes that are on no directed path from x
/// to y: they close back doors of those that are.
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
