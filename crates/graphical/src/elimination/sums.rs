//! Elimination itself: the tables that contain a variable are multiplied, and their product replaced by its margin.

use fenchel_optim::Refusal;

use super::greedy::Graph;
use super::{OrderingOptions, best};
use crate::factor_graph::neighbours;
use crate::stride::cells;
use crate::table::semiring::{Linear, Semiring};
use crate::table::{Dense, table_bytes};
use crate::{Error, VarId};

/// The product of some tables, summed over all variables but `keep`.
///
/// ```
/// use fenchel_graphical::elimination::{OrderingOptions, sum_out};
/// use fenchel_graphical::{VarId, table::Dense};
///
/// let (x, y) = (VarId(0), VarId(1));
/// let prior = Dense::new(&[x], &[2], &[0.25, 0.75])?;
/// let given = Dense::new(&[x, y], &[2, 2], &[1.0, 0.0, 0.5, 0.5])?;
/// let law = sum_out(vec![prior, given], &[y], &OrderingOptions::default())?;
/// assert_eq!(law.values(), [0.625, 0.375]);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// The numbers are multiplied and added as they are, so that they must not underflow: for products of very many, use a
/// [`JunctionTree`](crate::JunctionTree) or [`variable_elimination`](fn@crate::variable_elimination).
///
/// # Errors
/// [`Error::Cardinality`] where tables disagree about a variable; [`Error::Refused`] before a table of more than
/// `options.max_memory` bytes is made.
pub fn sum_out(
    tables: Vec<Dense>,
    keep: &[VarId],
    options: &OrderingOptions,
) -> Result<Dense, Error> {
    margin::<Linear>(tables, keep, options)
}

/// The same in any semiring.
pub(crate) fn margin<S: Semiring>(
    mut tables: Vec<Dense>,
    keep: &[VarId],
    options: &OrderingOptions,
) -> Result<Dense, Error> {
    let mut order = order_of(&tables, keep, options)?;
    order.retain(|v| !keep.contains(v));
    eliminate::<S>(&mut tables, &order, |_, _| {})?;
    let mut left: Vec<(VarId, usize)> = tables.iter().flat_map(Dense::dimensions).collect();
    left.sort_unstable();
    left.dedup();
    check_memory(left.iter().map(|d| d.1), options)?;
    multiply::<S>(tables)
}

/// The order in which the variables of some tables are eliminated, those of `last` after all others.
///
/// # Errors
/// [`Error::Refused`] if a product on the way takes more than `max_memory`.
pub(crate) fn order_of(
    tables: &[Dense],
    last: &[VarId],
    options: &OrderingOptions,
) -> Result<Vec<VarId>, Error> {
    let dimensions = || tables.iter().flat_map(Dense::dimensions);
    let mut cards = vec![1; dimensions().map(|(v, _)| v.index() + 1).max().unwrap_or(0)];
    dimensions().for_each(|(v, card)| cards[v.index()] = card);
    let edges = neighbours(cards.len(), tables.iter().map(Dense::scope));
    let found = best(&Graph::new(&cards, &edges, last), options)?;
    for clique in &found.cliques {
        check_memory(clique.iter().map(|&v| cards[v as usize]), options)?;
    }
    Ok(found.order.into_iter().map(VarId).collect())
}

/// Eliminates variables in this order. `see` receives each of them with the product from which it was eliminated.
pub(crate) fn eliminate<S: Semiring>(
    tables: &mut Vec<Dense>,
    order: &[VarId],
    mut see: impl FnMut(VarId, Dense),
) -> Result<(), Error> {
    for &v in order {
        let (with, without): (Vec<Dense>, Vec<Dense>) =
            tables.drain(..).partition(|table| table.scope().contains(&v));
        *tables = without;
        if with.is_empty() {
            continue;
        }
        let product = multiply::<S>(with)?;
        let others: Vec<VarId> = product.scope().iter().copied().filter(|w| *w != v).collect();
        tables.push(product.margin::<S>(&others)?);
        see(v, product);
    }
    Ok(())
}

/// The product of all tables, small ones first. Its size has been checked.
fn multiply<S: Semiring>(mut tables: Vec<Dense>) -> Result<Dense, Error> {
    tables.sort_by_key(|table| std::cmp::Reverse(table.values().len()));
    let Some(mut product) = tables.pop() else { return Ok(Dense::constant(S::ONE)) };
    let mut spare = Dense::constant(S::ONE);
    while let Some(next) = tables.pop() {
        product.combine_within(&next, &mut spare, S::times, None)?;
        std::mem::swap(&mut product, &mut spare);
    }
    Ok(product)
}

fn check_memory(
    cards: impl IntoIterator<Item = usize>,
    options: &OrderingOptions,
) -> Result<(), Refusal> {
    let hint = "ask for fewer variables; or try another heuristic, more restarts, or approximate inference";
    let needed = table_bytes(cells(cards));
    Refusal::check_memory("a table of the elimination", needed, options.max_memory, hint)
}
