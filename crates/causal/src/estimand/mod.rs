//! Estimands: formulas in the observed law that equal a causal effect.
//!
//! ```text
//! P(y | do(x)) = sum_z P(y | x, z) P(z)
//! ```
//!
//! An [`Estimand`] is a query together with an expression tree ([`Expr`]) of conditional probabilities, sums, products
//! and quotients. It can be printed ([`std::fmt::Display`], [`Estimand::latex`]), simplified ([`Expr::simplify`]), and
//! evaluated ([`Estimand::evaluate`]). It is evaluated on the joint table of the observed variables, which may be exact
//! or consist of relative frequencies.
//!
//! Some formulas contain a variable whose value does not matter. In the napkin graph
//! `W -> R -> X -> Y, W <-> X, W <-> Y`, for example, the formula for the effect of X on Y contains `R`, and every
//! value of `R` gives the same result. [`Estimand::arbitrary`] lists such variables.
//!
//! Source: R. Le Priol, PhD thesis 2021, section 2.3.3.

mod evaluate;
mod show;
mod simplify;

use serde::{Deserialize, Serialize};

use crate::{Admg, Error, NodeSet, Query};

/// A formula in the observed law. A node in it stands for the value of the variable; a sum binds its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    /// The number 1.
    One,
    /// `P(of | given)` of the observed law.
    Probability {
        /// The variables; never empty.
        of: NodeSet,
        /// What is conditioned on.
        given: NodeSet,
    },
    /// The product of all.
    Product(Vec<Expr>),
    /// The sum over all values of some variables.
    Sum {
        /// The variables that are bound.
        over: NodeSet,
        /// What is added up.
        body: Box<Expr>,
    },
    /// One divided by the other.
    Quotient(Box<Expr>, Box<Expr>),
}

impl Expr {
    /// `P(of | given)`; 1 if `of` is empty.
    pub fn probability(of: NodeSet, given: NodeSet) -> Expr {
        if of.is_empty() { Expr::One } else { Expr::Probability { of, given } }
    }

    /// The sum over `over`; the body itself if that is empty.
    #[must_use]
    pub fn sum(over: NodeSet, body: Expr) -> Expr {
        if over.is_empty() { body } else { Expr::Sum { over, body: Box::new(body) } }
    }

    /// `numerator / denominator`.
    pub fn quotient(numerator: Expr, denominator: Expr) -> Expr {
        Expr::Quotient(Box::new(numerator), Box::new(denominator))
    }

    /// The variables that are not bound by a sum.
    pub fn free(&self) -> NodeSet {
        match self {
            Expr::One => NodeSet::EMPTY,
            Expr::Probability { of, given } => *of | *given,
            Expr::Product(factors) => factors.iter().fold(NodeSet::EMPTY, |all, f| all | f.free()),
            Expr::Sum { over, body } => body.free() - *over,
            Expr::Quotient(a, b) => a.free() | b.free(),
        }
    }

    /// The number of nodes of the tree.
    pub fn size(&self) -> usize {
        match self {
            Expr::One | Expr::Probability { .. } => 1,
            Expr::Product(factors) => 1 + factors.iter().map(Expr::size).sum::<usize>(),
            Expr::Sum { body, .. } => 1 + body.size(),
            Expr::Quotient(a, b) => 1 + a.size() + b.size(),
        }
    }
}

/// A causal query and the formula that answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Estimand {
    /// The names of the nodes.
    pub names: Vec<String>,
    /// The query.
    pub query: Query,
    /// Variables of the formula that are not part of the query. Every value of them gives the same result.
    pub arbitrary: NodeSet,
    /// The formula.
    pub expr: Expr,
}

#[derive(Deserialize)]
struct Parts {
    names: Vec<String>,
    query: Query,
    arbitrary: NodeSet,
    expr: Expr,
}

impl TryFrom<Parts> for Estimand {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Estimand, Error> {
        let Parts { names, query, arbitrary, expr } = p;
        let asked = query.outcome | query.treatment | query.given;
        let nameless = (asked | expr.variables()).iter().find(|&v| v as usize >= names.len());
        let reason = match nameless {
            Some(v) => format!("node {v} has no name; there are {}", names.len()),
            None if arbitrary != expr.free() - asked => {
                "other arbitrary nodes than the formula has".into()
            }
            None => return Ok(Estimand { names, query, arbitrary, expr }),
        };
        Err(fenchel_linalg::Invalid::Layout { what: "the estimand", reason }.into())
    }
}

impl Estimand {
    /// An estimand for a query on a graph, simplified.
    pub(crate) fn new(graph: &Admg, query: Query, expr: &Expr) -> Estimand {
        let expr = expr.simplify();
        let arbitrary = expr.free() - query.outcome - query.treatment - query.given;
        Estimand { names: graph.names().to_vec(), query, arbitrary, expr }
    }
}
