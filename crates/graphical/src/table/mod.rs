//! Dense tables over a few discrete variables, stored as logarithms.
//!
//! ```text
//! psi(x_1, ..., x_k) = exp(log_values[...]),   -inf is probability zero
//! ```
//!
//! The scope is sorted by variable, and the last variable varies fastest (row-major). A table without variables is a constant.
//! Entries `+inf` and NaN are refused.

mod algebra;
mod dense;
pub(crate) mod semiring;

use fenchel_linalg::Invalid;
use fenchel_optim::MAX_MEMORY;
use serde::{Deserialize, Serialize};

use crate::{Error, VarId};
pub use dense::Dense;
pub(crate) use dense::{Dimensions, size_of, table_bytes};

const LOG_POTENTIAL: &str = "a finite number or -inf";
const POTENTIAL: &str = "a finite number >= 0";

/// A potential over a sorted scope, stored as logarithms; see the module.
///
/// ```
/// use fenchel_graphical::{Table, VarId};
///
/// // The scope may come in any order; the last variable listed is the fastest.
/// let t = Table::from_values(&[VarId(5), VarId(2)], &[2, 3], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])?;
/// assert_eq!(t.scope(), [VarId(2), VarId(5)]);
/// assert!((t.log_value(&[2, 0])? - 0.3_f64.ln()).abs() < 1e-15);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// A table that is read from a file is checked as by [`Table::new`]. In the file `-inf` is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Table {
    dense: Dense,
}

/// A [`Table`] as a file holds it, before it is checked.
#[derive(Serialize, Deserialize)]
struct Parts {
    scope: Vec<VarId>,
    cards: Vec<usize>,
    #[serde(with = "logs")]
    log_values: Vec<f64>,
}

impl TryFrom<Parts> for Table {
    type Error = Error;

    fn try_from(parts: Parts) -> Result<Self, Error> {
        Table::new(&parts.scope, &parts.cards, &parts.log_values)
    }
}

impl From<Table> for Parts {
    fn from(Table { dense }: Table) -> Parts {
        Parts {
            scope: dense.scope().to_vec(),
            cards: dense.cards().to_vec(),
            log_values: dense.values,
        }
    }
}

impl From<Dense> for Table {
    fn from(dense: Dense) -> Table {
        Table { dense }
    }
}

/// Logarithms in files: formats such as JSON have no infinity.
pub(crate) mod logs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(x: &[f64], to: S) -> Result<S::Ok, S::Error> {
        let finite = |x: &f64| Some(*x).filter(|x| *x != f64::NEG_INFINITY);
        x.iter().map(finite).collect::<Vec<Option<f64>>>().serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<f64>, D::Error> {
        let list = Vec::<Option<f64>>::deserialize(from)?;
        Ok(list.into_iter().map(|x| x.unwrap_or(f64::NEG_INFINITY)).collect())
    }
}

impl Table {
    /// Makes a table from log-potentials. Variable `scope[k]` has `cards[k]` states, and the last variable in the given order
    /// varies fastest.
    ///
    /// # Errors
    /// [`Error::RepeatedVariable`], [`Error::Potential`] for NaN and `+inf`, [`Error::Refused`] for a size beyond
    /// [`MAX_MEMORY`](fenchel_optim::MAX_MEMORY), [`Invalid`] for lengths that disagree and a cardinality of 0.
    pub fn new(scope: &[VarId], cards: &[usize], log_values: &[f64]) -> Result<Self, Error> {
        let dense = Dense::new(scope, cards, log_values)?;
        check_log_potentials(0, log_values)?;
        Ok(Table { dense })
    }

    /// Makes a table from potentials that are not logarithms, each at least 0. All else is as for [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_values(scope: &[VarId], cards: &[usize], values: &[f64]) -> Result<Self, Error> {
        let mut dense = Dense::new(scope, cards, values)?;
        if let Some(index) = values.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            let value = values[index];
            return Err(Error::Potential { factor: 0, index, value, expected: POTENTIAL });
        }
        dense.values.iter_mut().for_each(|v| *v = v.ln());
        Ok(Table { dense })
    }

    /// A table of no variables.
    ///
    /// # Errors
    /// [`Error::Potential`] for NaN and `+inf`.
    pub fn constant(log_value: f64) -> Result<Self, Error> {
        Table::new(&[], &[], &[log_value])
    }

    /// All log-values 0.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn ones(scope: &[VarId], cards: &[usize]) -> Result<Self, Error> {
        let size = size_of(cards, MAX_MEMORY)?;
        Ok(Table { dense: Dense::new(scope, cards, &vec![0.0; size])? })
    }

    /// The variables, rising.
    pub fn scope(&self) -> &[VarId] {
        self.dense.scope()
    }

    /// The numbers of states, in the order of the scope.
    pub fn cards(&self) -> &[usize] {
        self.dense.cards()
    }

    /// The log-potentials, last variable of the scope fastest.
    pub fn log_values(&self) -> &[f64] {
        self.dense.values()
    }

    /// The potentials themselves, `exp` of the log-values.
    pub fn values(&self) -> Vec<f64> {
        self.log_values().iter().map(|v| v.exp()).collect()
    }

    /// The number of cells, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a table is never empty")]
    pub fn len(&self) -> usize {
        self.dense.values.len()
    }

    /// The log-value of states that are given in the order of the scope.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Error::State`].
    pub fn log_value(&self, states: &[usize]) -> Result<f64, Error> {
        Ok(self.dense.values[self.dense.cell(states)?])
    }

    /// The log-value at a configuration of all variables of the model, which has been checked.
    pub(crate) fn at(&self, configuration: &[usize]) -> f64 {
        let position = |at, (v, card): (&VarId, &usize)| at * card + configuration[v.index()];
        self.log_values()[self.scope().iter().zip(self.cards()).fold(0, position)]
    }

    /// Replaces the log-values, in the order of the sorted scope.
    pub(crate) fn replace(&mut self, factor: usize, log_values: &[f64]) -> Result<(), Error> {
        Invalid::check_length("log_values", self.len(), log_values.len())?;
        check_log_potentials(factor, log_values)?;
        self.dense.values.copy_from_slice(log_values);
        Ok(())
    }

    /// (variable, cardinality), outermost first.
    pub(crate) fn dimensions(&self) -> Dimensions {
        self.dense.dimensions()
    }

    pub(crate) fn dense(&self) -> &Dense {
        &self.dense
    }
}

pub(crate) fn check_log_potentials(factor: usize, log_values: &[f64]) -> Result<(), Error> {
    // Refused are +inf and NaN, and nothing else.
    match log_values.iter().position(|v| !(*v < f64::INFINITY)) {
        None => Ok(()),
        Some(index) => {
            let value = log_values[index];
            Err(Error::Potential { factor, index, value, expected: LOG_POTENTIAL })
        }
    }
}
