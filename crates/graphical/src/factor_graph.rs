//! Factor graphs: models as products of tables.
//!
//! ```text
//! P(x) = exp(score(x)) / Z,   score(x) = sum_f log psi_f(x_f),   x_v in 0..card(v)
//! ```

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::table::{Table, check_log_potentials};
use crate::{Error, Evidence, FactorId, VarId};

/// A factor graph: variables with their numbers of states, and factors over them.
///
/// A factor may have any scope: no variable (a constant), one, or many. Several factors may have the same scope, and a variable
/// may be in no factor.
///
/// ```
/// use fenchel_graphical::{FactorGraph, VarId};
///
/// let mut model = FactorGraph::new(&[2, 2])?;
/// model.add(&[VarId(0)], &[0.0, 1.0])?;
/// model.add(&[VarId(0), VarId(1)], &[1.0, -1.0, -1.0, 1.0])?;
/// assert_eq!(model.log_score(&[1, 1])?, 2.0);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// A model that is read from a file is checked as by [`new`](Self::new) and [`add_table`](Self::add_table).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct FactorGraph {
    cards: Vec<usize>,
    factors: Vec<Table>,
}

/// A [`FactorGraph`] as a file holds it, before it is checked.
#[derive(Deserialize)]
struct Parts {
    cards: Vec<usize>,
    factors: Vec<Table>,
}

impl TryFrom<Parts> for FactorGraph {
    type Error = Error;

    fn try_from(parts: Parts) -> Result<Self, Error> {
        let mut model = FactorGraph::new(&parts.cards)?;
        for table in parts.factors {
            model.add_table(table)?;
        }
        Ok(model)
    }
}

impl FactorGraph {
    /// A model without factors, in which variable `v` has `cards[v]` states.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a cardinality of 0, [`Invalid::Length`] for 2^32 variables and more.
    pub fn new(cards: &[usize]) -> Result<Self, Error> {
        if cards.contains(&0) {
            let zero = Invalid::Parameter { name: "cardinality", value: 0.0, expected: ">= 1" };
            return Err(zero.into());
        }
        if u32::try_from(cards.len()).is_err() {
            Invalid::check_length("cards", u32::MAX as usize, cards.len())?;
        }
        Ok(FactorGraph { cards: cards.to_vec(), factors: Vec::new() })
    }

    /// Adds a factor given by log-potentials. The last variable of `scope` varies fastest.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], and what [`Table::new`] refuses.
    pub fn add(&mut self, scope: &[VarId], log_values: &[f64]) -> Result<FactorId, Error> {
        let cards = self.cards_of(scope)?;
        check_log_potentials(self.factors.len(), log_values)?;
        self.push(Table::new(scope, &cards, log_values)?)
    }

    /// Adds a factor of potentials that are not logarithms, each at least 0.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_values(&mut self, scope: &[VarId], values: &[f64]) -> Result<FactorId, Error> {
        let cards = self.cards_of(scope)?;
        let table = Table::from_values(scope, &cards, values).map_err(|error| match error {
            Error::Potential { index, value, expected, .. } => {
                Error::Potential { factor: self.factors.len(), index, value, expected }
            }
            other => other,
        })?;
        self.push(table)
    }

    /// Adds a table.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], [`Error::Cardinality`].
    pub fn add_table(&mut self, table: Table) -> Result<FactorId, Error> {
        let cards = self.cards_of(table.scope())?;
        for ((&variable, &expected), &found) in table.scope().iter().zip(&cards).zip(table.cards())
        {
            if expected != found {
                return Err(Error::Cardinality { variable, expected, found });
            }
        }
        self.push(table)
    }

    /// Replaces the log-potentials of a factor, in the order of its *sorted* scope. The structure does not change, so that
    /// compiled junction trees stay valid. Nothing is allocated.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Error::Potential`]; [`Invalid::Parameter`] for a factor that does not exist.
    pub fn set(&mut self, factor: FactorId, log_values: &[f64]) -> Result<(), Error> {
        match self.factors.get_mut(factor.index()) {
            Some(table) => table.replace(factor.index(), log_values),
            None => Err(unknown_factor(factor)),
        }
    }

    /// The numbers of states.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        self.cards.len()
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }

    /// All variables.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = VarId> + use<> {
        (0..self.cards.len() as u32).map(VarId)
    }

    /// All factors, by [`FactorId`].
    pub fn factors(&self) -> &[Table] {
        &self.factors
    }

    /// The log-score `sum_f log psi_f(x_f)`; `-inf` for a configuration of probability zero.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Error::State`].
    pub fn log_score(&self, configuration: &[usize]) -> Result<f64, Error> {
        Invalid::check_length("configuration", self.cards.len(), configuration.len())?;
        for (variable, (&cardinality, &state)) in
            self.variables().zip(self.cards.iter().zip(configuration))
        {
            if state >= cardinality {
                return Err(Error::State { variable, state, cardinality });
            }
        }
        Ok(self.factors.iter().map(|factor| factor.at(configuration)).sum())
    }

    /// The model given evidence. An observed variable keeps its number, is removed from all scopes, and has one remaining
    /// state. So log Z of the result is `log Z + log P(evidence)`. Soft evidence becomes an additional factor.
    ///
    /// # Errors
    /// What [`Evidence::check`] refuses.
    pub fn condition(&self, evidence: &Evidence) -> Result<FactorGraph, Error> {
        evidence.check(&self.cards)?;
        let mut cards = self.cards.clone();
        let mut states = Evidence::new();
        let mut factors = Vec::with_capacity(self.factors.len() + evidence.len());
        for (variable, finding) in evidence.iter() {
            match finding {
                crate::Finding::State(_) => {
                    cards[variable.index()] = 1;
                    states.set(variable, finding.clone());
                }
                crate::Finding::Likelihood(values) => {
                    factors.push(Table::from_values(&[variable], &[values.len()], values)?);
                }
            }
        }
        let reduced: Result<Vec<Table>, Error> =
            self.factors.iter().map(|factor| factor.reduce(&states)).collect();
        factors.splice(0..0, reduced?);
        Ok(FactorGraph { cards, factors })
    }

    /// For every variable, the variables that share a factor with it, ascending.
    pub fn neighbours(&self) -> Vec<Vec<VarId>> {
        neighbours(self.len(), self.factors.iter().map(Table::scope))
    }

    /// For every variable, the factors that contain it, ascending.
    pub fn factors_of_variables(&self) -> Vec<Vec<FactorId>> {
        let mut factors = vec![Vec::new(); self.cards.len()];
        for (f, factor) in self.factors.iter().enumerate() {
            for v in factor.scope() {
                factors[v.index()].push(FactorId(f as u32));
            }
        }
        factors
    }

    /// The connected components, each ascending, ordered by their first variables.
    pub fn components(&self) -> Vec<Vec<VarId>> {
        let neighbours = self.neighbours();
        let mut seen = vec![false; self.cards.len()];
        let mut components = Vec::new();
        for first in self.variables() {
            if seen[first.index()] {
                continue;
            }
            seen[first.index()] = true;
            let mut component = vec![first];
            let mut next = 0;
            while next < component.len() {
                for &w in &neighbours[component[next].index()] {
                    if !std::mem::replace(&mut seen[w.index()], true) {
                        component.push(w);
                    }
                }
                next += 1;
            }
            component.sort_unstable();
            components.push(component);
        }
        components
    }

    /// The factor with a given id.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a factor that does not exist.
    pub fn factor(&self, factor: FactorId) -> Result<&Table, Error> {
        self.factors.get(factor.index()).ok_or_else(|| unknown_factor(factor))
    }

    /// The cardinalities of a scope.
    pub(crate) fn cards_of(&self, scope: &[VarId]) -> Result<SmallVec<[usize; 8]>, Error> {
        let card = |&variable: &VarId| {
            let variables = self.cards.len();
            let unknown = Error::UnknownVariable { variable, variables };
            self.cards.get(variable.index()).copied().ok_or(unknown)
        };
        scope.iter().map(card).collect()
    }

    /// Refuses log-potentials whose sums may overflow, for methods that take differences of such sums. Returns the sum of the
    /// largest sizes.
    pub(crate) fn check_sums(&self) -> Result<f64, Error> {
        let mut sum = 0.0;
        for (factor, table) in self.factors.iter().enumerate() {
            let sizes =
                table.log_values().iter().map(|v| if v.is_finite() { v.abs() } else { 0.0 });
            let (index, size) =
                sizes.enumerate().fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
            sum += size;
            if sum > LARGEST {
                let (value, expected) = (table.log_values()[index], "a sum of at most 1e300");
                return Err(Error::Potential { factor, index, value, expected });
            }
        }
        Ok(sum)
    }

    fn push(&mut self, table: Table) -> Result<FactorId, Error> {
        let id = FactorId(self.factors.len() as u32);
        self.factors.push(table);
        Ok(id)
    }
}

/// The sum of the largest sizes of log-potentials that [`FactorGraph::check_sums`] accepts.
pub(crate) const LARGEST: f64 = 1e300;

pub(crate) fn unknown_factor(factor: FactorId) -> Error {
    let value = f64::from(factor.0);
    Invalid::Parameter { name: "factor", value, expected: "the number of a factor" }.into()
}

/// For every variable, the variables that share a scope with it, ascending.
pub(crate) fn neighbours<'a>(
    variables: usize,
    scopes: impl Iterator<Item = &'a [VarId]>,
) -> Vec<Vec<VarId>> {
    let mut neighbours = vec![Vec::new(); variables];
    for scope in scopes {
        for &v in scope {
            neighbours[v.index()].extend(scope.iter().filter(|&&w| w != v));
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}
