//! Queries: which distribution is asked of a causal graph.

use serde::{Deserialize, Serialize};

use super::Admg;
use crate::{Error, NodeSet};

/// `P(outcome | do(treatment), given)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Query {
    /// The variables whose distribution is asked for; at least one.
    pub outcome: NodeSet,
    /// The variables that are set from outside. If there are none, the query is an ordinary conditional.
    pub treatment: NodeSet,
    /// The variables that are observed after the treatment.
    pub given: NodeSet,
}

impl Query {
    /// `P(outcome | do(treatment))`.
    pub fn new(outcome: NodeSet, treatment: NodeSet) -> Query {
        Query { outcome, treatment, given: NodeSet::EMPTY }
    }

    /// The same query, conditional on `given`.
    #[must_use]
    pub fn given(self, given: NodeSet) -> Query {
        Query { given, ..self }
    }

    /// Returns an error for queries that are invalid for every graph.
    pub(crate) fn check(&self, graph: &Admg) -> Result<(), Error> {
        graph.check_set(self.outcome | self.treatment | self.given)?;
        if self.outcome.is_empty() {
            return Err(fenchel_linalg::Invalid::Empty { what: "the outcome of the query" }.into());
        }
        let (y, x, z) =
            (("outcome", self.outcome), ("treatment", self.treatment), ("given", self.given));
        graph.check_apart(y, x)?;
        graph.check_apart(y, z)?;
        graph.check_apart(x, z)
    }
}

impl Admg {
    /// Reads a query such as `P(Y | do(X), Z)`. Outcomes come first, then treatments in `do(..)`, then observed
    /// variables. All are separated by commas.
    ///
    /// ```
    /// # use fenchel_causal::Admg;
    /// let g = Admg::parse("Z -> X -> Y; Z -> Y")?;
    /// let q = g.query("P(Y | do(X), Z)")?;
    /// assert_eq!(g.show(q.treatment), "X");
    /// assert_eq!(g.show(q.given), "Z");
    /// # Ok::<(), fenchel_causal::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::UnknownNode`], [`Error::Overlap`], [`Error::Invalid`] without an outcome.
    pub fn query(&self, text: &str) -> Result<Query, Error> {
        let fail = |at: usize, reason: &str| Error::Format {
            text: text.into(),
            at,
            reason: format!("{reason}; expected `P(Y | do(X), Z)`"),
        };
        let body = text.trim();
        let open = body.strip_prefix('P').map(str::trim_start).and_then(|s| s.strip_prefix('('));
        let open = open.ok_or_else(|| fail(0, "no `P(` at the beginning"))?;
        let inner = open.strip_suffix(')').ok_or_else(|| fail(text.len(), "no `)` at the end"))?;
        let (outcomes, rest) = inner.split_once('|').unwrap_or((inner, ""));
        let list = |names: &str| -> Result<NodeSet, Error> {
            let names = names.split(',').map(str::trim).filter(|s| !s.is_empty());
            names.map(|name| self.node(name)).collect()
        };
        let mut query = Query { outcome: list(outcomes)?, ..Query::default() };
        let mut rest = rest.trim();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("do(") {
                let close = after.find(')').ok_or_else(|| fail(text.len(), "`do(` without `)`"))?;
                query.treatment |= list(&after[..close])?;
                rest = after[close + 1..].trim_start();
                if !rest.is_empty() && !rest.starts_with(',') {
                    return Err(fail(text.len() - rest.len() - 1, "no comma after `do(..)`"));
                }
            } else {
                let end = rest.find(',').unwrap_or(rest.len());
                query.given |= list(&rest[..end])?;
                rest = &rest[end..];
            }
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        query.check(self)?;
        Ok(query)
    }
}
