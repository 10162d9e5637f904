//! Elimination orders. The order in which variables are summed out determines the cost of exact inference.
//!
//! To eliminate a variable `v`, all factors that contain it are multiplied, and `v` is summed out. This joins the neighbours
//! `N(v)` of `v` in the graph to a clique. The cost is the size of the table over `v` and `N(v)`. Finding the best order is
//! NP-hard. Greedy rules give good orders:
//!
//! | [`Heuristic`] | next variable: the one with the least | good for |
//! |---|---|---|
//! | `MinFill` | number of edges to add | variables with equal numbers of states |
//! | `WeightedMinFill` | `sum (ln card u + ln card w)` over edges to add | mixed numbers of states |
//! | `MinWeight` | `sum ln card` over the clique, which is the log of its table size | very uneven numbers of states |
//! | `MinNeighbours` | number of neighbours | speed |
//! | `MaximumCardinality` | (reverse of maximum cardinality search) | graphs that are chordal already |
//! | `Portfolio` | the first three in turn, one per restart | the default |
//!
//! A vertex is *simplicial* if its neighbours form a clique. It is *almost simplicial* if all its neighbours but one do, that
//! one has no more states than the vertex, and the degree is at most a lower bound of the treewidth. Both kinds are eliminated
//! first, which never makes the order worse. After an elimination, costs are updated only near the eliminated vertex. Ties are
//! broken by the seed, and restarts keep the order of the smallest total table size. The restarts end early when they have cost
//! as much as one calibration, or after eight when they have cost a twentieth of one.
//!
//! Sources: Kjaerulff (1990); Bodlaender, Koster and van den Eijkhof (2005) for the reductions; Tarjan and Yannakakis (1984)
//! for maximum cardinality search.

mod greedy;
mod sums;

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, settings};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::{Error, FactorGraph, VarId};
pub(crate) use greedy::Elimination;
use greedy::{Graph, Rule};
pub use sums::sum_out;
pub(crate) use sums::{eliminate, margin, order_of};

/// The rule for the next variable; see the module.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Heuristic {
    /// Fewest edges to add.
    MinFill,
    /// Least weight of the edges to add, by numbers of states.
    WeightedMinFill,
    /// Smallest table.
    MinWeight,
    /// Fewest neighbours.
    MinNeighbours,
    /// The reverse of a maximum cardinality search. It adds no edges to a chordal graph.
    MaximumCardinality,
    /// The first three in turn.
    #[default]
    Portfolio,
}

settings! {
    /// Settings of the search for an elimination order.
    pub struct OrderingOptions {
        /// Rule for the next variable.
        heuristic: Heuristic = Heuristic::default(),
        /// Largest number of orders that are tried, at least 1.
        restarts: usize = 32,
        /// Seed for breaking ties.
        seed: u64 = 0,
        /// Bytes that tables may take. A larger need is refused before anything is allocated. `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

/// An elimination order and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EliminationReport {
    /// The variables in the order of their elimination.
    pub order: Vec<VarId>,
    /// The size of the largest clique minus 1: an upper bound of the treewidth.
    pub induced_width: usize,
    /// `log2` of the number of cells of all tables; `-inf` for no variables.
    pub log2_total_table: f64,
    /// `log2` of the number of cells of the largest table.
    pub log2_max_table: f64,
    /// Bytes of all tables; `u64::MAX` where the number overflows.
    pub bytes: u64,
}

/// Searches for a good elimination order.
///
/// # Errors
/// [`Invalid::Parameter`] for no restarts.
///
/// A restart costs about O((edges + fill) x degree).
pub fn elimination_order(
    model: &FactorGraph,
    options: &OrderingOptions,
) -> Result<EliminationReport, Error> {
    Ok(report(&search(model, options)?))
}

/// Computes the cost of a given order.
///
/// # Errors
/// [`Error::UnknownVariable`], [`Error::RepeatedVariable`], [`Invalid::Length`] where `order` is not a permutation of the
/// variables.
pub fn evaluate_order(model: &FactorGraph, order: &[VarId]) -> Result<EliminationReport, Error> {
    Ok(report(&along(model, order)?))
}

/// The elimination along a given order, checked.
pub(crate) fn along(model: &FactorGraph, order: &[VarId]) -> Result<Elimination, Error> {
    Invalid::check_length("order", model.len(), order.len())?;
    let mut seen = vec![false; model.len()];
    for &variable in order {
        match seen.get_mut(variable.index()) {
            None => return Err(Error::UnknownVariable { variable, variables: model.len() }),
            Some(true) => return Err(Error::RepeatedVariable { variable }),
            Some(unseen) => *unseen = true,
        }
    }
    let mut ranks = vec![0; order.len()];
    for (k, v) in order.iter().enumerate() {
        ranks[v.index()] = k as u32;
    }
    Ok(graph_of(model).eliminate(Rule::Given, &ranks, f64::INFINITY).unwrap_or_default())
}

/// Searches for the best elimination over all restarts.
pub(crate) fn search(model: &FactorGraph, options: &OrderingOptions) -> Result<Elimination, Error> {
    best(&graph_of(model), options)
}

fn graph_of(model: &FactorGraph) -> Graph {
    Graph::new(model.cards(), &model.neighbours(), &[])
}

fn best(graph: &Graph, options: &OrderingOptions) -> Result<Elimination, Error> {
    if options.restarts == 0 {
        let none = Invalid::Parameter { name: "restarts", value: 0.0, expected: ">= 1" };
        return Err(none.into());
    }
    let mut best: Option<Elimination> = None;
    let mut work = 0.0;
    for restart in 0..options.restarts {
        let mut ranks: Vec<u32> = (0..graph.len() as u32).collect();
        let mut rng = stream(options.seed, restart as u64);
        for k in (1..ranks.len()).rev() {
            ranks.swap(k, rng.random_range(0..=k));
        }
        let rule = match options.heuristic {
            Heuristic::MinFill => Rule::Fill,
            Heuristic::WeightedMinFill => Rule::WeightedFill,
            Heuristic::MinWeight => Rule::Weight,
            Heuristic::MinNeighbours => Rule::Neighbours,
            Heuristic::MaximumCardinality => {
                ranks = graph.maximum_cardinality(&ranks);
                Rule::Given
            }
            Heuristic::Portfolio => PORTFOLIO[restart % PORTFOLIO.len()],
        };
        let limit = best.as_ref().map_or(f64::INFINITY, |b| b.log2_total());
        if let Some(found) = graph.eliminate(rule, &ranks, limit) {
            work += found.work as f64;
            best = Some(found);
        } else {
            work += best.as_ref().map_or(0.0, |b| b.work as f64);
        }
        let total = best.as_ref().map_or(0.0, |b| b.log2_total().exp2());
        let share = if restart + 1 < FEW { 1.0 } else { LATER_SHARE };
        if work * WORK_PER_CELL > share * total {
            break;
        }
    }
    Ok(best.unwrap_or_default())
}

const PORTFOLIO: [Rule; 3] = [Rule::WeightedFill, Rule::Fill, Rule::Weight];

/// This many orders may together cost as much as a calibration, and further ones this fraction of it.
const FEW: usize = 8;
const LATER_SHARE: f64 = 0.05;

/// One step of the search costs about as much time as calibrating this many cells.
const WORK_PER_CELL: f64 = 2.0;

fn report(elimination: &Elimination) -> EliminationReport {
    let total = elimination.log2_total();
    EliminationReport {
        order: elimination.order.iter().copied().map(VarId).collect(),
        induced_width: elimination.cliques.iter().map(Vec::len).max().map_or(0, |size| size - 1),
        log2_total_table: total,
        log2_max_table: elimination.log2_cells.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        // A cast saturates, which is what is wanted.
        bytes: (total.exp2() * 8.0).round() as u64,
    }
}
