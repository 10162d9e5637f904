//! Adjustment: causal effects by stratification on covariates.
//!
//! ```text
//! P(y | do(x)) = sum_z P(y | x, z) P(z)                                      Z satisfies the back-door criterion
//! P(y | do(x)) = sum_m P(m | x) sum_x' P(y | x', m) P(x')                    M satisfies the front-door criterion
//! ```
//!
//! | you want | use |
//! |---|---|
//! | to check a set | [`is_back_door`], [`is_adjustment`], [`is_front_door`] |
//! | all minimal sets, among those you measured | [`back_door_sets`], [`adjustment_sets`] |
//! | the set with the smallest variance | [`optimal_adjustment`] |
//! | the formula | [`adjust`], [`front_door`] |
//! | any formula at all | [`identify`](fn@crate::identify) |
//!
//! The back-door criterion is the better known one, and it is sufficient. The adjustment criterion is necessary and
//! sufficient: the formula above holds in every model of the graph if and only if the set satisfies it. Only with
//! several treatments can such a set contain effects of one of the treatments.
//!
//! Sources for the adjustment formula and the back-door criterion: R. Le Priol, PhD thesis 2021, section 2.3.3,
//! equation (2.38); J. Pearl, *Causality*, 2009, section 3.3. Source for the adjustment criterion: Shpitser,
//! VanderWeele and Robins, UAI 2010. Source for listing all minimal sets: van der Zander, Liskiewicz and Textor,
//! Artificial Intelligence 270, 2019. Source for the set with the smallest variance: Henckel, Perkovic and Maathuis,
//! JRSS B 84, 2022.

mod front_door;
mod separators;

use fenchel_optim::settings;

use crate::{Admg, Error, Estimand, Expr, NodeSet, Query};

pub use front_door::{front_door, front_door_sets, is_front_door};

settings! {
    /// Options of the search for adjustment sets.
    #[derive(Copy)]
    pub struct SetSearch {
        /// Nodes that must not be used, say because they were not measured.
        forbidden: NodeSet = NodeSet::EMPTY,
        /// The most sets that are listed. More of them are an error.
        limit: usize = 10_000,
    }
}

fn check(graph: &Admg, x: NodeSet, y: NodeSet, z: NodeSet) -> Result<(), Error> {
    let query = Query::new(y, x).given(z);
    query.check(graph)?;
    if x.is_empty() {
        return Err(fenchel_linalg::Invalid::Empty { what: "the treatment of the query" }.into());
    }
    Ok(())
}

/// Whether `z` satisfies the back-door criterion for the effect of `x` on `y`: no node of `z` is a descendant of `x`, and `z` blocks
/// every path that begins with an edge into `x`. O(V + E).
///
/// # Errors
/// [`UnknownNode`](crate::admg::GraphError::UnknownNode), [`Overlap`](crate::admg::GraphError::Overlap), [`Error::Invalid`] for an empty treatment or outcome.
pub fn is_back_door(graph: &Admg, x: NodeSet, y: NodeSet, z: NodeSet) -> Result<bool, Error> {
    check(graph, x, y, z)?;
    let below = graph.view().descendants(x).meets(z);
    Ok(!below && graph.view().cut_out(x).separated(x, y, z))
}

/// All minimal sets that satisfy the back-door criterion, the smallest first: no node of one can be left out.
///
/// Cost: polynomial for each set (the minimal separators of an undirected graph, O(V E) each).
///
/// ```
/// use fenchel_causal::Admg;
/// use fenchel_causal::adjustment::{SetSearch, back_door_sets};
///
/// let g = Admg::parse("A -> X; A -> B -> Y; X -> Y; C -> X; C -> Y")?;
/// let (x, y) = (g.set(&["X"])?, g.set(&["Y"])?);
/// let sets = back_door_sets(&g, x, y, &SetSearch::default())?;
/// let shown: Vec<String> = sets.iter().map(|&z| g.show(z)).collect();
/// assert_eq!(shown, ["A, C", "B, C"]);
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
///
/// # Errors
/// As [`is_back_door`]; [`Error::TooMany`].
pub fn back_door_sets(
    graph: &Admg,
    x: NodeSet,
    y: NodeSet,
    search: &SetSearch,
) -> Result<Vec<NodeSet>, Error> {
    check(graph, x, y, NodeSet::EMPTY)?;
    let allowed = graph.all() - graph.view().descendants(x) - search.forbidden - y;
    separators::all_minimal(graph.view().cut_out(x), x, y, allowed, search.limit)
}

/// Nodes on directed paths from `x` to `y` that leave `x` at once, without `x`.
fn causal_nodes(graph: &Admg, x: NodeSet, y: NodeSet) -> NodeSet {
    let view = graph.view();
    (view.cut_in(x).descendants(x) - x) & view.cut_out(x).ancestors(y)
}

/// The nodes that no adjustment set may contain, and the graph without the first edges of causal paths.
fn parts(graph: &Admg, x: NodeSet, y: NodeSet) -> (NodeSet, Admg) {
    let causal = causal_nodes(graph, x, y);
    let cut = graph.without_edges(|a, b| x.contains(a) && causal.contains(b));
    (graph.view().descendants(causal), cut)
}

/// Whether `z` satisfies the adjustment criterion: the adjustment formula holds in every model of the graph. O(V + E).
///
/// # Errors
/// As [`is_back_door`].
pub fn is_adjustment(graph: &Admg, x: NodeSet, y: NodeSet, z: NodeSet) -> Result<bool, Error> {
    check(graph, x, y, z)?;
    let (forbidden, cut) = parts(graph, x, y);
    Ok(!forbidden.meets(z) && cut.view().separated(x, y, z))
}

/// All minimal sets that satisfy the adjustment criterion, the smallest first.
///
/// # Errors
/// As [`back_door_sets`].
pub fn adjustment_sets(
    graph: &Admg,
    x: NodeSet,
    y: NodeSet,
    search: &SetSearch,
) -> Result<Vec<NodeSet>, Error> {
    check(graph, x, y, NodeSet::EMPTY)?;
    let (forbidden, cut) = parts(graph, x, y);
    let allowed = graph.all() - forbidden - search.forbidden - x - y;
    separators::all_minimal(cut.view(), x, y, allowed, search.limit)
}

/// The adjustment set whose estimator has the smallest asymptotic variance among all adjustment sets, in linear models and
/// nonparametrically: the parents of the nodes on causal paths, without those nodes, their descendants and the treatment.
///
/// # Errors
/// As [`is_back_door`]; [`Error::NoSuchSet`] if no set can be adjusted for, which with one treatment happens only where x is an effect of y,
/// or has no effect on y; and for every graph with bidirected edges, where a best set need not exist.
pub fn optimal_adjustment(graph: &Admg, x: NodeSet, y: NodeSet) -> Result<NodeSet, Error> {
    check(graph, x, y, NodeSet::EMPTY)?;
    let causal = causal_nodes(graph, x, y);
    let parents = causal.iter().fold(NodeSet::EMPTY, |all, v| all | graph.parents(v));
    let z = parents - graph.view().descendants(causal) - x;
    if graph.is_dag() && !causal.is_empty() && is_adjustment(graph, x, y, z)? {
        Ok(z)
    } else {
        Err(Error::NoSuchSet { what: "optimal adjustment set" })
    }
}

/// The adjustment formula `sum_z P(y | x, z) P(z)`, once `z` is checked.
///
/// # Errors
/// As [`is_back_door`]; [`Error::NoSuchSet`] if `z` does not satisfy the adjustment criterion.
pub fn adjust(graph: &Admg, x: NodeSet, y: NodeSet, z: NodeSet) -> Result<Estimand, Error> {
    if !is_adjustment(graph, x, y, z)? {
        return Err(Error::NoSuchSet { what: "valid adjustment by this set" });
    }
    let factors = vec![Expr::probability(y, x | z), Expr::probability(z, NodeSet::EMPTY)];
    let expr = Expr::sum(z, Expr::Product(factors));
    Ok(Estimand::new(graph, Query::new(y, x), &expr))
}
