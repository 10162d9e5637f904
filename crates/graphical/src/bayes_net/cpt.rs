//! Checks of conditional probability tables.

use std::borrow::Cow;

use super::names::Names;
use crate::{Error, VarId};

/// `P(child | parents)`, with one row per configuration of the parents, where the last parent varies fastest, and one column
/// per state of the child.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cpt {
    pub(super) parents: Vec<VarId>,
    /// As they were given.
    pub(super) values: Vec<f64>,
    /// The sums of the rows, if one of them differs from 1 by more than rounding.
    sums: Option<Vec<f64>>,
}

impl Cpt {
    pub(crate) fn new(parents: Vec<VarId>, values: Vec<f64>, states: usize) -> Cpt {
        let rows = || values.chunks_exact(states).map(|row| row.iter().sum::<f64>());
        let rounding = states as f64 * f64::EPSILON;
        let off = rows().any(|sum| (sum - 1.0).abs() > rounding);
        let sums = off.then(|| rows().collect());
        Cpt { parents, values, sums }
    }

    /// The divisor of a row.
    pub(super) fn sum(&self, row: usize) -> f64 {
        self.sums.as_ref().map_or(1.0, |sums| sums[row])
    }

    /// The table with rows that sum to 1.
    pub(super) fn probabilities(&self, states: usize) -> Cow<'_, [f64]> {
        let Some(sums) = &self.sums else { return Cow::Borrowed(&self.values) };
        let rows = self.values.chunks_exact(states).zip(sums);
        Cow::Owned(rows.flat_map(|(row, sum)| row.iter().map(move |value| value / sum)).collect())
    }
}

/// Largest difference of the sum of a row from 1. Published networks have rounded numbers.
pub(crate) const ROW_TOLERANCE: f64 = 1e-3;

/// Parent configurations x states, or `None` where the product overflows.
pub(crate) fn cells(cards: impl IntoIterator<Item = usize>) -> Option<usize> {
    cards.into_iter().try_fold(1usize, usize::checked_mul)
}

/// One row of a table, with its description in errors.
pub(crate) struct Row<'a> {
    pub(crate) variable: &'a str,
    pub(crate) states: &'a [String],
    /// `(parent, state)`.
    pub(crate) given: &'a dyn Fn() -> Vec<(&'a str, &'a str)>,
}

impl Row<'_> {
    pub(crate) fn check(&self, values: &[f64], tolerance: f64) -> Result<(), Error> {
        let mut sum = 0.0;
        for (value, state) in values.iter().zip(self.states) {
            if !(*value >= 0.0 && value.is_finite()) {
                let (variable, given) = (self.variable.into(), self.given());
                return Err(Error::CptEntry {
                    variable,
                    given,
                    state: state.clone(),
                    value: *value,
                });
            }
            sum += value;
        }
        // Not `>`: a sum may overflow.
        if !((sum - 1.0).abs() <= tolerance) {
            let (variable, given) = (self.variable.into(), self.given());
            return Err(Error::CptRowSum { variable, given, sum, tolerance });
        }
        Ok(())
    }

    fn given(&self) -> String {
        let pairs: Vec<String> =
            (self.given)().iter().map(|(parent, state)| format!("{parent} = {state}")).collect();
        if pairs.is_empty() { "no parents".into() } else { pairs.join(", ") }
    }
}

/// Checks the size of a table and all its rows.
pub(super) fn check(
    variable: VarId,
    cpt: &Cpt,
    names: &Names,
    states: &[Names],
    tolerance: f64,
) -> Result<(), Error> {
    let scope = || cpt.parents.iter().chain([&variable]).map(|v| states[v.index()].len());
    if cells(scope()) != Some(cpt.values.len()) {
        return Err(Error::CptLength {
            variable: names.get(variable.index()).into(),
            expected: cells(scope()).unwrap_or(usize::MAX),
            found: cpt.values.len(),
            shape: scope().map(|card| card.to_string()).collect::<Vec<_>>().join(" x "),
        });
    }
    let own = &states[variable.index()];
    for (row, values) in cpt.values.chunks_exact(own.len()).enumerate() {
        let given = || parents_in(row, &cpt.parents, names, states);
        let row = Row { variable: names.get(variable.index()), states: own.list(), given: &given };
        row.check(values, tolerance)?;
    }
    Ok(())
}

/// The parents and their states of a row.
pub(crate) fn parents_in<'a>(
    row: usize,
    parents: &[VarId],
    names: &'a Names,
    states: &'a [Names],
) -> Vec<(&'a str, &'a str)> {
    let mut rest = row;
    let mut pairs = Vec::new();
    for parent in parents.iter().rev() {
        let known = &states[parent.index()];
        pairs.push((names.get(parent.index()), known.get(rest % known.len())));
        rest /= known.len();
    }
    pairs.reverse();
    pairs
}

/// Divides every row by its sum.
pub(crate) fn renormalise(values: &mut [f64], states: usize) {
    for row in values.chunks_exact_mut(states) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
}
