//! Evidence: observations of variables.

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::{Error, VarId};

/// An observation of one variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Finding {
    /// Hard evidence: the variable is in this state, counted from 0.
    State(usize),
    /// Soft evidence: `P(observation | state)` for every state. Its scale matters, because `log P(e)` contains it.
    Likelihood(Vec<f64>),
}

/// Observations of variables, hard or soft, with at most one per variable.
///
/// ```
/// use fenchel_graphical::{Evidence, VarId};
///
/// let evidence = Evidence::new().observe(VarId(3), 1).likelihood(VarId(0), vec![0.2, 0.9]);
/// assert_eq!(evidence.state(VarId(3)), Some(1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Evidence {
    /// Sorted by variable.
    findings: Vec<(VarId, Finding)>,
}

/// An [`Evidence`] as a file holds it, before it is checked.
#[derive(Deserialize)]
struct Parts {
    findings: Vec<(VarId, Finding)>,
}

impl TryFrom<Parts> for Evidence {
    type Error = Error;

    fn try_from(Parts { mut findings }: Parts) -> Result<Self, Error> {
        findings.sort_by_key(|(variable, _)| *variable);
        match findings.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Error::RepeatedVariable { variable: pair[0].0 }),
            None => Ok(Evidence { findings }),
        }
    }
}

impl Evidence {
    /// Nothing is known.
    pub fn new() -> Self {
        Evidence::default()
    }

    /// Adds hard evidence. It replaces an earlier finding about the variable.
    #[must_use]
    pub fn observe(mut self, variable: VarId, state: usize) -> Self {
        self.set(variable, Finding::State(state));
        self
    }

    /// Adds soft evidence, non-negative numbers `P(observation | state)`. It replaces an earlier finding about the variable.
    #[must_use]
    pub fn likelihood(mut self, variable: VarId, likelihood: impl Into<Vec<f64>>) -> Self {
        self.set(variable, Finding::Likelihood(likelihood.into()));
        self
    }

    /// The findings of `self` and `other`. If both have one about the same variable, that of `other` is taken.
    #[must_use]
    pub fn with(mut self, other: &Evidence) -> Self {
        other.iter().for_each(|(variable, finding)| self.set(variable, finding.clone()));
        self
    }

    /// Adds a finding, or replaces an earlier one, in place.
    pub fn set(&mut self, variable: VarId, finding: Finding) {
        match self.position(variable) {
            Ok(at) => self.findings[at].1 = finding,
            Err(at) => self.findings.insert(at, (variable, finding)),
        }
    }

    /// Removes the finding about a variable.
    pub fn forget(&mut self, variable: VarId) -> Option<Finding> {
        self.position(variable).ok().map(|at| self.findings.remove(at).1)
    }

    /// The finding about a variable.
    pub fn get(&self, variable: VarId) -> Option<&Finding> {
        self.position(variable).ok().map(|at| &self.findings[at].1)
    }

    /// The observed state of a variable with hard evidence.
    pub fn state(&self, variable: VarId) -> Option<usize> {
        match self.get(variable) {
            Some(Finding::State(state)) => Some(*state),
            _ => None,
        }
    }

    /// All findings, by ascending variable.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (VarId, &Finding)> {
        self.findings.iter().map(|(variable, finding)| (*variable, finding))
    }

    /// The observed states, by ascending variable.
    pub fn states(&self) -> impl Iterator<Item = (VarId, usize)> {
        self.iter().filter_map(|(variable, _)| Some((variable, self.state(variable)?)))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The number of variables with a finding.
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Checks every finding against the cardinalities of a model.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], [`Error::State`], [`Invalid::Length`] for a likelihood of the wrong length,
    /// [`Invalid::Parameter`] for an entry that is negative or not finite.
    pub fn check(&self, cards: &[usize]) -> Result<(), Error> {
        for (variable, finding) in self.iter() {
            let Some(&cardinality) = cards.get(variable.index()) else {
                return Err(Error::UnknownVariable { variable, variables: cards.len() });
            };
            match finding {
                &Finding::State(state) if state >= cardinality => {
                    return Err(Error::State { variable, state, cardinality });
                }
                Finding::State(_) => {}
                Finding::Likelihood(values) => {
                    Invalid::check_length("likelihood", cardinality, values.len())?;
                    for &value in values {
                        Invalid::check_nonnegative("likelihood", value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn position(&self, variable: VarId) -> Result<usize, usize> {
        self.findings.binary_search_by_key(&variable, |(v, _)| *v)
    }
}

impl FromIterator<(VarId, usize)> for Evidence {
    fn from_iter<I: IntoIterator<Item = (VarId, usize)>>(states: I) -> Self {
        states.into_iter().fold(Evidence::new(), |e, (variable, state)| e.observe(variable, state))
    }
}
