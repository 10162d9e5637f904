//! Queries: which distribution is asked of a causal graph.

use serde::{Deserialize, Serialize};

use super::Admg;
use super::GraphError;
use super::error::near;
use crate::node_set::NodeSet;

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
    pub(crate) fn check(&self, graph: &Admg) -> Result<(), GraphError> {
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
    /// # Ok::<(), fenchel_causal::admg::GraphError>(())
    /// ```
    ///
    /// # Errors
    /// [`GraphError::Format`], also for a comma without a name; [`GraphError::UnknownNode`]; [`GraphError::Duplicate`] and [`GraphError::Overlap`]
    /// for a name given twice; [`GraphError::Invalid`] without an outcome.
    pub fn query(&self, text: &str) -> Result<Query, GraphError> {
        let fail = |at: usize, reason: &str| GraphError::Format {
            text: near(text, at),
            at,
            reason: format!("{reason}; expected `P(Y | do(X), Z)`"),
        };
        let body = text.trim();
        let open = body.strip_prefix('P').map(str::trim_start).and_then(|s| s.strip_prefix('('));
        let open = open.ok_or_else(|| fail(0, "no `P(` at the beginning"))?;
        let inner = open.strip_suffix(')').ok_or_else(|| fail(text.len(), "no `)` at the end"))?;
        let at = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let add = |to: &mut NodeSet, names: &str| -> Result<(), GraphError> {
            for part in names.split(',') {
                let name = part.trim();
                if name.is_empty() {
                    return Err(fail(at(part), "a name is missing"));
                }
                let node = NodeSet::one(self.node(name)?);
                if to.meets(node) {
                    return Err(GraphError::Duplicate { what: "node", name: name.into() });
                }
                *to |= node;
            }
            Ok(())
        };
        let mut query = Query::default();
        let (outcomes, conditions) = match inner.split_once('|') {
            Some((outcomes, conditions)) => (outcomes, Some(conditions)),
            None => (inner, None),
        };
        // Without any outcome, the check below says so.
        if !outcomes.trim().is_empty() {
            add(&mut query.outcome, outcomes)?;
        }
        let mut next = conditions;
        while let Some(part) = next {
            let part = part.trim_start();
            let rest = if let Some(inside) = part.strip_prefix("do(") {
                let (names, rest) =
                    inside.split_once(')').ok_or_else(|| fail(text.len(), "`do(` without `)`"))?;
                add(&mut query.treatment, names)?;
                rest.trim_start()
            } else {
                let end = part.find(',').unwrap_or(part.len());
                add(&mut query.given, &part[..end])?;
                &part[end..]
            };
            next = rest.strip_prefix(',');
            if next.is_none() && !rest.is_empty() {
                return Err(fail(at(rest), "no comma after `do(..)`"));
            }
        }
        query.check(self)?;
        Ok(query)
    }
}
