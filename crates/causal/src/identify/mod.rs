//! Decides whether the observed distribution determines a causal effect, and by which formula.
//!
//! ```text
//! given:   a causal graph with hidden common causes, the law P(V) of the observed variables
//! asked:   P(y | do(x)), or P(y | do(x), z)
//! answer:  a formula in P(V) that holds in every model of the graph, or a hedge, the proof that there is none
//! ```
//!
//! The algorithm is complete: [`identify`] returns [`Error::NotIdentifiable`] only if two models of the graph agree on
//! `P(V)` and differ on the effect. [`Hedge::witness`](crate::identify::Hedge::witness) builds two such models.
//!
//! | what you know | use |
//! |---|---|
//! | a graph, and you want any formula | [`identify`] |
//! | a set to adjust for, or all of them | [`adjustment`](crate::adjustment) |
//! | a class of graphs that the data cannot tell apart | [`equivalence`](crate::equivalence) |
//!
//! The cost is polynomial in the number of nodes, except for the size of the formula, which can double with every
//! nested kernel.
//!
//! Sources: R. Le Priol, PhD thesis 2021, section 2.3.3; Tian and Pearl, AAAI 2002; Shpitser and Pearl,
//! Identification of joint interventional distributions, AAAI 2006, and Identification of conditional
//! interventional distributions, UAI 2006; Huang and Valtorta, UAI 2006.

mod hedge;
mod noisy;
mod parity;
mod witness;

use crate::admg::View;
use crate::estimand::{Estimand, Expr};
use crate::{Admg, Error, NodeSet, Query};

use hedge::Found;
pub use hedge::Hedge;
pub use witness::Witness;

/// The formula for a causal query, simplified.
///
/// The front door, where a hidden cause of treatment and outcome stands in the way of every adjustment:
///
/// ```
/// use fenchel_causal::{Admg, Error, identify};
///
/// let g = Admg::parse("X -> M -> Y; X <-> Y")?;
/// let effect = identify(&g, g.query("P(Y | do(X))")?)?;
/// assert_eq!(effect.to_string(), "P(Y | do(X)) = sum_{M} P(M | X) sum_{X'} P(X') P(Y | X', M)");
///
/// // Without the mediator nothing helps.
/// let bow = Admg::parse("X -> Y; X <-> Y")?;
/// let refused = identify(&bow, bow.query("P(Y | do(X))")?);
/// assert!(matches!(refused, Err(Error::NotIdentifiable(_))));
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotIdentifiable`] with a [`Hedge`]; [`UnknownNode`](crate::admg::GraphError::UnknownNode), [`Overlap`](crate::admg::GraphError::Overlap), [`Error::Invalid`] for a query
/// that does not fit the graph.
pub fn identify(graph: &Admg, query: Query) -> Result<Estimand, Error> {
    query.check(graph)?;
    let expr = conditional(graph, query)
        .map_err(|found| Error::NotIdentifiable(Box::new(Hedge::new(graph, query, found))))?;
    Ok(Estimand::new(graph, query, &expr))
}

/// `P(y | do(x), z)`. Conditions that act like interventions become interventions; the rest is a ratio.
fn conditional(graph: &Admg, query: Query) -> Result<Expr, Found> {
    let Query { outcome: y, treatment: mut x, given: mut z } = query;
    // Rule 2 of the do-calculus, as long as it applies.
    loop {
        let exchanged = z.iter().find(|&v| {
            let one = NodeSet::one(v);
            graph.view().cut_in(x).cut_out(one).separated(y, one, x | (z - one))
        });
        let Some(v) = exchanged else { break };
        x |= NodeSet::one(v);
        z = z - NodeSet::one(v);
    }
    let asked = Query::new(y | z, x);
    let view = graph.view();
    let found = Recursion { original: asked };
    let both = found.id(y | z, x, view, &Law::Observed)?;
    Ok(if z.is_empty() { both } else { Expr::quotient(both.clone(), Expr::sum(y, both)) })
}

/// The distribution that a step of the recursion works with, over the nodes of its view.
enum Law {
    /// A marginal of the observed law.
    Observed,
    /// A kernel: the distribution of the nodes given fixed values of the others.
    Kernel(Expr),
}

impl Law {
    /// The law of `of`, a subset of `nodes`.
    fn marginal(&self, of: NodeSet, nodes: NodeSet) -> Expr {
        match self {
            Law::Observed => Expr::probability(of, NodeSet::EMPTY),
            Law::Kernel(expr) => Expr::sum(nodes - of, expr.clone()),
        }
    }

    fn conditional(&self, v: u32, given: NodeSet, nodes: NodeSet) -> Expr {
        let one = NodeSet::one(v);
        match self {
            Law::Observed => Expr::probability(one, given),
            Law::Kernel(_) if given.is_empty() => self.marginal(one, nodes).simplify(),
            Law::Kernel(_) => {
                let (both, alone) =
                    (self.marginal(one | given, nodes), self.marginal(given, nodes));
                Expr::quotient(both, alone).simplify()
            }
        }
    }

    /// `prod_v P(v | nodes before v)` over a district. Each factor conditions only on the nodes that it depends on: the
    /// district of v among the nodes up to v, and the parents of that district.
    fn district(&self, of: NodeSet, view: View<'_>) -> Expr {
        let mut before = NodeSet::EMPTY;
        let mut factors = Vec::new();
        for v in view.order() {
            before |= NodeSet::one(v);
            if of.contains(v) {
                let near = view.on(before).district(v);
                let parents = near.iter().fold(near, |all, u| all | view.parents(u));
                let given = (parents & before) - NodeSet::one(v);
                factors.push(self.conditional(v, given, view.nodes));
            }
        }
        Expr::Product(factors)
    }
}

struct Recursion {
    original: Query,
}

impl Recursion {
    /// The ID algorithm. Its steps have the numbers of Shpitser and Pearl (AAAI 2006), figure 3.
    fn id(&self, y: NodeSet, x: NodeSet, view: View<'_>, law: &Law) -> Result<Expr, Found> {
        let nodes = view.nodes;
        // 1: nothing is set.
        if !x.meets(nodes) {
            return Ok(law.marginal(y, nodes));
        }
        // 2: only ancestors of the outcome matter.
        let ancestors = view.ancestors(y);
        if ancestors != nodes {
            let law = match law {
                Law::Observed => Law::Observed,
                Law::Kernel(_) => Law::Kernel(law.marginal(ancestors, nodes).simplify()),
            };
            return self.id(y, x & ancestors, view.on(ancestors), &law);
        }
        // 3: what has no effect on the outcome once x is set may be set as well.
        let useless = (nodes - x) - view.cut_in(x).ancestors(y);
        if !useless.is_empty() {
            return self.id(y, x | useless, view, law);
        }
        // 4: the districts that remain are independent mechanisms.
        let parts = view.on(nodes - x).districts();
        let &[part] = &parts[..] else {
            let factors: Result<Vec<Expr>, Found> =
                parts.iter().map(|&s| self.id(s, nodes - s, view, law)).collect();
            return Ok(Expr::sum(nodes - (y | x), Expr::Product(factors?)).simplify());
        };
        let whole = part.smallest().map_or(nodes, |v| view.district(v));
        // 5: a hedge.
        if whole == nodes {
            return Err(Found { outer: nodes, inner: part, asked: self.original });
        }
        // 6: the mechanism can be read off.
        if whole == part {
            return Ok(Expr::sum(part - y, law.district(part, view)));
        }
        // 7: everything happens within one district.
        let kernel = Law::Kernel(law.district(whole, view).simplify());
        self.id(y, x & whole, view.on(whole), &kernel)
    }
}
