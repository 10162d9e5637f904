//! Probability tables over nodes: the input and the output of the evaluation of estimands.
//!
//! Tables store probabilities, not their logarithms. A cell can be *undefined*: this happens to a conditional
//! probability given an event of probability zero. Zero times an undefined cell is zero, as in `sum_z P(y | x, z) P(z)`
//! where a stratum z is empty; the result of every other operation on an undefined cell is undefined. So the result of
//! an estimand is refused ([`Error::Positivity`]) only if it depends on an undefined conditional probability.

use fenchel_graphical::table::Dense;
use fenchel_graphical::{BayesNet, OrderingOptions, VarId};
use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::{Error, NodeSet};

/// The most cells of a table.
const CELLS: usize = 1 << 27;

/// Numbers over the states of some nodes, the last node of the rising scope fastest.
///
/// Undefined cells are saved as `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct ProbabilityTable {
    dense: Dense,
}

#[derive(Serialize, Deserialize)]
struct Parts {
    scope: Vec<u32>,
    cards: Vec<usize>,
    values: Vec<Option<f64>>,
}

impl TryFrom<Parts> for ProbabilityTable {
    type Error = Error;
    fn try_from(p: Parts) -> Result<ProbabilityTable, Error> {
        Invalid::check_length("cards", p.scope.len(), p.cards.len())?;
        if let Some(pair) = p.scope.windows(2).find(|pair| pair[0] >= pair[1]) {
            let reason = format!("node {} after node {}; expected them rising", pair[1], pair[0]);
            return Err(Invalid::Layout { what: "scope", reason }.into());
        }
        Invalid::check_length("values", size(&p.cards)?, p.values.len())?;
        let known: Vec<f64> = p.values.iter().flatten().copied().collect();
        check_probabilities("probability", &known)?;
        let values: Vec<f64> = p.values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        Ok(Dense::new(&variables(p.scope), &p.cards, &values)?.into())
    }
}

impl From<ProbabilityTable> for Parts {
    fn from(table: ProbabilityTable) -> Parts {
        let values = table.values().iter().map(|v| Some(*v).filter(|v| !v.is_nan())).collect();
        Parts { scope: table.scope(), cards: table.cards().to_vec(), values }
    }
}

impl From<Dense> for ProbabilityTable {
    fn from(dense: Dense) -> ProbabilityTable {
        ProbabilityTable { dense }
    }
}

/// Nodes as the variables of `fenchel-graphical`.
pub(crate) fn variables(nodes: impl IntoIterator<Item = u32>) -> Vec<VarId> {
    nodes.into_iter().map(VarId).collect()
}

/// No elimination makes a table of more than [`CELLS`].
pub(crate) fn elimination() -> OrderingOptions {
    OrderingOptions { max_memory: Some(8 * CELLS as u64), ..OrderingOptions::default() }
}

impl ProbabilityTable {
    /// A joint distribution of the nodes `0..cards.len()`, the last fastest.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a wrong number of cells, a node without states, a number that is negative or not finite;
    /// [`Error::NotADistribution`] for a sum that is not 1 up to 1e-9; [`Error::Refused`].
    pub fn joint(cards: &[usize], values: &[f64]) -> Result<ProbabilityTable, Error> {
        let size = size(cards)?;
        Invalid::check_length("the joint distribution", size, values.len())?;
        check_probabilities("probability", values)?;
        let sum: f64 = values.iter().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(Error::NotADistribution { what: "the joint distribution", row: 0, sum });
        }
        Ok(Dense::new(&variables(0..cards.len() as u32), cards, values)?.into())
    }

    /// The relative frequencies of complete data, with one sample per row and one node per column. States are counted
    /// from 0. A pseudo-count is added to every cell.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no rows, different numbers of columns and cards, a negative pseudo-count, a state that a column does
    /// not have; [`Error::Refused`].
    pub fn from_data(
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        pseudo_count: f64,
    ) -> Result<ProbabilityTable, Error> {
        Invalid::check_length("columns of data", cards.len(), data.ncols())?;
        Invalid::check_nonnegative("pseudo_count", pseudo_count)?;
        if data.nrows() == 0 {
            return Err(Invalid::Empty { what: "data" }.into());
        }
        let size = size(cards)?;
        let mut values = vec![pseudo_count; size];
        for (i, row) in data.rows().into_iter().enumerate() {
            let mut cell = 0;
            for (c, (&value, &categories)) in row.iter().zip(cards).enumerate() {
                if value >= categories {
                    let reason = format!(
                        "state {value} at row {i}, column {c}; expected 0 to {}",
                        categories - 1
                    );
                    return Err(Invalid::Layout { what: "data", reason }.into());
                }
                cell = cell * categories + value;
            }
            values[cell] += 1.0;
        }
        let total = data.nrows() as f64 + pseudo_count * size as f64;
        Invalid::check_finite("the sum of all counts", &[total])?;
        values.iter_mut().for_each(|v| *v /= total);
        Ok(Dense::new(&variables(0..cards.len() as u32), cards, &values)?.into())
    }

    /// The joint distribution of all variables of a Bayesian network.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn from_bayes_net(net: &BayesNet) -> Result<ProbabilityTable, Error> {
        size(net.cards())?;
        let mut product = ProbabilityTable::constant(1.0);
        for v in net.variables() {
            let scope: Vec<VarId> = net.parents_of(v).iter().chain([&v]).copied().collect();
            let cards: Vec<usize> = scope.iter().map(|p| net.cards()[p.index()]).collect();
            product = product.times(&Dense::new(&scope, &cards, net.cpt_of(v))?.into())?;
        }
        Ok(product)
    }

    pub(crate) fn constant(value: f64) -> ProbabilityTable {
        Dense::constant(value).into()
    }

    /// The nodes, rising.
    pub fn scope(&self) -> Vec<u32> {
        self.dense.scope().iter().map(|v| v.0).collect()
    }

    /// The numbers of states, in the order of the scope.
    pub fn cards(&self) -> &[usize] {
        self.dense.cards()
    }

    /// The numbers, the last node of the scope fastest; NaN where undefined.
    pub fn values(&self) -> &[f64] {
        self.dense.values()
    }

    /// The number at these states, given as pairs `(node, state)` in any order. Every node of the scope needs one pair;
    /// pairs for other nodes are ignored.
    ///
    /// # Errors
    /// [`Error::Positivity`] where the number is undefined; [`Error::Invalid`] for a node of the scope without a state, with one
    /// that it does not have, or with two.
    pub fn at(&self, states: &[(u32, usize)]) -> Result<f64, Error> {
        let mut cell = 0;
        for (&VarId(node), &categories) in self.dense.scope().iter().zip(self.cards()) {
            if states.iter().filter(|(v, _)| *v == node).count() > 1 {
                let reason = format!("two states for node {node}; expected one");
                return Err(Invalid::Layout { what: "states", reason }.into());
            }
            let state = states.iter().find(|(v, _)| *v == node);
            let Some(&(_, value)) = state else {
                let reason =
                    format!("no state for node {node}; expected one for every node of the table");
                return Err(Invalid::Layout { what: "states", reason }.into());
            };
            if value >= categories {
                let reason =
                    format!("state {value} of node {node}; expected 0 to {}", categories - 1);
                return Err(Invalid::Layout { what: "states", reason }.into());
            }
            cell = cell * categories + value;
        }
        let value = self.values()[cell];
        if value.is_nan() {
            let at: Vec<String> = states.iter().map(|(v, s)| format!("node {v}={s}")).collect();
            return Err(Error::Positivity { at: at.join(", ") });
        }
        Ok(value)
    }

    /// Sums out all nodes but those in `keep`. O(cells).
    pub fn marginal(&self, keep: NodeSet) -> ProbabilityTable {
        let kept: Vec<VarId> =
            self.dense.scope().iter().copied().filter(|v| keep.contains(v.0)).collect();
        let sum = self.dense.sum(&kept);
        sum.unwrap_or_else(|_| unreachable!("all are in the scope, once")).into()
    }

    pub(crate) fn times(&self, other: &ProbabilityTable) -> Result<ProbabilityTable, Error> {
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        Ok(self.dense.combine(&other.dense, product)?.into())
    }

    pub(crate) fn over(&self, other: &ProbabilityTable) -> Result<ProbabilityTable, Error> {
        let ratio = |a: f64, b: f64| if b == 0.0 { f64::NAN } else { a / b };
        Ok(self.dense.combine(&other.dense, ratio)?.into())
    }

    pub(crate) fn card(&self, node: u32) -> Option<usize> {
        self.dense.scope().binary_search(&VarId(node)).ok().map(|k| self.cards()[k])
    }

    /// The part of the table where a node has the given state. The node is removed from the scope.
    pub(crate) fn fix(&mut self, node: u32, state: usize) -> Result<(), Error> {
        Ok(self.dense.fix(VarId(node), state)?)
    }

    /// The same numbers over a larger scope.
    pub(crate) fn widen(
        &self,
        scope: NodeSet,
        card: impl Fn(u32) -> usize,
    ) -> Result<ProbabilityTable, Error> {
        let cards: Vec<usize> = scope.iter().map(card).collect();
        let ones = vec![1.0; size(&cards)?];
        self.times(&Dense::new(&variables(scope.iter()), &cards, &ones)?.into())
    }

    /// The states of the largest cell, by node; of equal ones the first.
    pub(crate) fn most_probable(&self) -> Vec<(u32, usize)> {
        self.scope().into_iter().zip(self.dense.argmax()).collect()
    }

    /// The largest difference to a table over the same scope; infinite if only one is undefined somewhere.
    pub fn distance(&self, other: &ProbabilityTable) -> f64 {
        if self.dense.scope() != other.dense.scope() || self.cards() != other.cards() {
            return f64::INFINITY;
        }
        let apart = |(a, b): (&f64, &f64)| match (a.is_nan(), b.is_nan()) {
            (true, true) => 0.0,
            (false, false) => (a - b).abs(),
            _ => f64::INFINITY,
        };
        self.values().iter().zip(other.values()).map(apart).fold(0.0, f64::max)
    }
}

pub(crate) fn check_probabilities(name: &'static str, values: &[f64]) -> Result<(), Invalid> {
    match values.iter().find(|v| !(**v >= 0.0 && v.is_finite())) {
        None => Ok(()),
        Some(&value) => Err(Invalid::Parameter { name, value, expected: "a finite number >= 0" }),
    }
}

/// The number of cells, if there are not too many.
pub(crate) fn size(cards: &[usize]) -> Result<usize, Error> {
    if cards.contains(&0) {
        return Err(Invalid::Parameter {
            name: "number of states",
            value: 0.0,
            expected: "at least 1",
        }
        .into());
    }
    let size = cards.iter().try_fold(1_usize, |n, &c| n.checked_mul(c));
    size.filter(|&n| n <= CELLS).ok_or(
        Refusal::MemoryLimit {
            what: "the joint table",
            needed: size.map_or(u64::MAX, |n| (n as u64).saturating_mul(8)),
            limit: 8 * CELLS as u64,
            hint: "leave out variables that the query does not need, or merge states",
        }
        .into(),
    )
}
