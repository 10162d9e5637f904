//! Numerical evaluation of estimands.

use std::collections::HashMap;

use super::{Estimand, Expr};
use crate::{Error, NodeSet, ProbabilityTable};

impl Estimand {
    /// The value of the formula for all values of outcome, treatment and what is given, from the joint table of the
    /// observed variables (nodes in the order of the graph).
    ///
    /// Cells that condition on an event of probability zero are undefined, and [`ProbabilityTable::at`] returns an
    /// error for them. Variables in [`Estimand::arbitrary`] are set to their most probable values. The cost is the
    /// number of cells of the joint table, times the number of nodes of the formula.
    ///
    /// ```
    /// use fenchel_causal::{Admg, ProbabilityTable, identify};
    ///
    /// let g = Admg::parse("X -> Y")?;
    /// let joint = ProbabilityTable::joint(&[2, 2], &[0.1, 0.3, 0.4, 0.2])?;
    /// let effect = identify(&g, g.query("P(Y | do(X))")?)?.evaluate(&joint)?;
    /// assert!((effect.at(&[(0, 1), (1, 1)])? - 0.2 / 0.6).abs() < 1e-15);
    /// # Ok::<(), fenchel_causal::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the table lacks a variable of the formula.
    pub fn evaluate(&self, joint: &ProbabilityTable) -> Result<ProbabilityTable, Error> {
        let at = joint.marginal(self.arbitrary).most_probable();
        self.evaluate_at(joint, &at)
    }

    /// As [`evaluate`](Self::evaluate), with chosen values `(node, state)` of the arbitrary variables.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`Error::Invalid`] for a node with two values or without one, [`Error::Category`] for a state
    /// that does not exist.
    pub fn evaluate_at(
        &self,
        joint: &ProbabilityTable,
        arbitrary: &[(u32, usize)],
    ) -> Result<ProbabilityTable, Error> {
        let asked = self.query.outcome | self.query.treatment | self.query.given;
        let missing = (asked | self.expr.variables()).iter().find(|&v| joint.card(v).is_none());
        if let Some(node) = missing {
            let reason = format!("node {node} is missing; expected all nodes of the formula");
            return Err(fenchel_linalg::Invalid::Layout { what: "the joint table", reason }.into());
        }
        let mut table = Evaluation { joint, marginals: HashMap::new() }.value(&self.expr)?;
        for (k, &(node, value)) in arbitrary.iter().enumerate() {
            if arbitrary[..k].iter().any(|(v, _)| *v == node) {
                let reason = format!("two values for node {node}; expected one");
                return Err(fenchel_linalg::Invalid::Layout { what: "arbitrary", reason }.into());
            }
            if let Some(categories) = table.card(node).filter(|_| self.arbitrary.contains(node)) {
                if value >= categories {
                    return Err(Error::Category {
                        what: "an arbitrary variable",
                        value,
                        categories,
                    });
                }
                table.fix(node, value)?;
            }
        }
        let left = table.scope().into_iter().find(|v| !asked.contains(*v));
        if let Some(node) = left {
            let reason = format!("no value for the arbitrary node {node}");
            return Err(fenchel_linalg::Invalid::Layout { what: "arbitrary", reason }.into());
        }
        table.widen(asked, |v| joint.card(v).unwrap_or(1))
    }

    /// The average causal effect of one treatment on one outcome, `E[Y | do(X = to)] - E[Y | do(X = from)]`, where state k of the
    /// outcome counts `values[k]`.
    ///
    /// ```
    /// use fenchel_causal::{Admg, ProbabilityTable, identify};
    ///
    /// // Success of treatments A and B by the size of a kidney stone: stone, treatment, outcome, the last fastest.
    /// let counts = [6.0, 81.0, 36.0, 234.0, 71.0, 192.0, 25.0, 55.0];
    /// let joint = ProbabilityTable::joint(&[2, 2, 2], &counts.map(|n| n / 700.0))?;
    /// let g = Admg::parse("Z -> X -> Y; Z -> Y")?;
    /// let effect = identify(&g, g.query("P(Y | do(X))")?)?;
    /// let gain = effect.average_effect(&joint, &[0.0, 1.0], 1, 0)?;
    /// assert!((gain - (0.8325 - 0.7789)).abs() < 1e-4);
    /// # Ok::<(), fenchel_causal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`Error::Invalid`] for a query with conditions or with more than one treatment or outcome, and for
    /// a number of values that differs from the number of states of the outcome; [`Error::Category`]; [`Error::Positivity`].
    pub fn average_effect(
        &self,
        joint: &ProbabilityTable,
        values: &[f64],
        from: usize,
        to: usize,
    ) -> Result<f64, Error> {
        let single = |s: NodeSet| s.smallest().filter(|_| s.len() == 1);
        let (y, x) = match (single(self.query.outcome), single(self.query.treatment)) {
            (Some(y), Some(x)) if self.query.given.is_empty() => (y, x),
            _ => {
                let reason = "expected one treatment, one outcome and no condition".into();
                return Err(fenchel_linalg::Invalid::Layout { what: "the query", reason }.into());
            }
        };
        let table = self.evaluate(joint)?;
        fenchel_linalg::Invalid::check_length("values", table.card(y).unwrap_or(1), values.len())?;
        fenchel_linalg::Invalid::check_finite("values", values)?;
        let mean = |state: usize| -> Result<f64, Error> {
            let term = |(k, v): (usize, &f64)| Ok(v * table.at(&[(x, state), (y, k)])?);
            values.iter().enumerate().map(term).sum()
        };
        Ok(mean(to)? - mean(from)?)
    }

    /// The table of the formula over all its free variables, the arbitrary ones among them.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_everywhere(&self, joint: &ProbabilityTable) -> Result<ProbabilityTable, Error> {
        let whole = Estimand { arbitrary: NodeSet::EMPTY, ..self.clone() };
        let query = crate::Query { given: self.query.given | self.arbitrary, ..self.query };
        Estimand { query, ..whole }.evaluate_at(joint, &[])
    }
}

impl Expr {
    /// All variables, free or bound.
    pub(super) fn variables(&self) -> NodeSet {
        match self {
            Expr::One => NodeSet::EMPTY,
            Expr::Probability { of, given } => *of | *given,
            Expr::Product(f) => f.iter().fold(NodeSet::EMPTY, |all, f| all | f.variables()),
            Expr::Sum { over, body } => body.variables() | *over,
            Expr::Quotient(a, b) => a.variables() | b.variables(),
        }
    }
}

struct Evaluation<'a> {
    joint: &'a ProbabilityTable,
    marginals: HashMap<NodeSet, ProbabilityTable>,
}

impl Evaluation<'_> {
    fn marginal(&mut self, of: NodeSet) -> ProbabilityTable {
        self.marginals.entry(of).or_insert_with(|| self.joint.marginal(of)).clone()
    }

    fn value(&mut self, expr: &Expr) -> Result<ProbabilityTable, Error> {
        match expr {
            Expr::One => Ok(ProbabilityTable::constant(1.0)),
            Expr::Probability { of, given } if given.is_empty() => Ok(self.marginal(*of)),
            Expr::Probability { of, given } => {
                self.marginal(*of | *given).over(&self.marginal(*given))
            }
            Expr::Product(factors) => {
                let one = ProbabilityTable::constant(1.0);
                factors.iter().try_fold(one, |all, f| all.times(&self.value(f)?))
            }
            Expr::Sum { over, body } => {
                let body = self.value(body)?;
                // A variable that the body lost by simplification still counts its values.
                let lost: usize = over
                    .iter()
                    .filter(|&v| body.card(v).is_none())
                    .filter_map(|v| self.joint.card(v))
                    .product();
                let sum = body.marginal(body.scope().into_iter().collect::<NodeSet>() - *over);
                if lost == 1 {
                    Ok(sum)
                } else {
                    sum.times(&ProbabilityTable::constant(lost as f64))
                }
            }
            Expr::Quotient(a, b) => self.value(a)?.over(&self.value(b)?),
        }
    }
}
