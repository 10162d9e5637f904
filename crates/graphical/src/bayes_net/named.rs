//! Queries and answers by names.

use std::fmt;

use fenchel_linalg::Invalid;
use fenchel_linalg::text::aligned;

use super::cpt::parents_in;
use super::{BayesNet, Explanation, Findings};
use crate::{Error, Table, VarId};

/// The result of [`BayesNet::query`]: `P(variables | evidence)` with the names of the network. It prints as a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'a> {
    net: &'a BayesNet,
    /// The variables in the order of the query.
    variables: Vec<VarId>,
    /// Over the variables sorted.
    table: Table,
    /// `x = a, y = b`, or nothing.
    given: String,
}

impl BayesNet {
    /// Computes `P(variables | findings)` by names. It gives the same numbers as [`posterior`](Self::posterior), with names and
    /// for printing.
    ///
    /// ```
    /// let net = fenchel_graphical::networks::asia();
    /// let answer = net.query(&["lung"], &[("smoke", "yes"), ("dysp", "yes")])?;
    /// assert_eq!(answer.to_string(), "\
    /// lung  P(lung | smoke = yes, dysp = yes)
    /// yes                            0.148334
    /// no                             0.851666
    /// ");
    /// assert!((answer.probability(&["yes"])? - 0.148334).abs() < 1e-6);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`evidence`](Self::evidence) and [`posterior`](Self::posterior); [`Error::Invalid`] for no variable; [`Error::Duplicate`] for
    /// a variable that is named twice.
    pub fn query<F: Findings + ?Sized>(
        &self,
        variables: &[&str],
        findings: &F,
    ) -> Result<Answer<'_>, Error> {
        if variables.is_empty() {
            let reason = "no variable; expected at least one (`log_evidence` has the probability of the findings)";
            return Err(Invalid::Layout { what: "the query", reason: reason.into() }.into());
        }
        if let Some(k) = (1..variables.len()).find(|&k| variables[..k].contains(&variables[k])) {
            let (what, name) = ("variable of the query".into(), variables[k].into());
            return Err(Error::Duplicate { what, name });
        }
        let variables: Vec<VarId> =
            variables.iter().map(|name| self.variable(name)).collect::<Result<_, _>>()?;
        let table = self.posterior(&variables, findings)?;
        Ok(Answer { net: self, variables, table, given: findings.text(self) })
    }

    /// The table `P(variable | parents)` as text, with the names of the states.
    ///
    /// ```
    /// let net = fenchel_graphical::networks::asia();
    /// assert_eq!(net.cpt_text("lung")?, "\
    /// P(lung | smoke)
    /// smoke   yes    no
    /// yes     0.1   0.9
    /// no     0.01  0.99
    /// ");
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn cpt_text(&self, variable: &str) -> Result<String, Error> {
        let variable = self.variable(variable)?;
        let parents = self.parents_of(variable);
        let names: Vec<String> = parents.iter().map(|&p| self.name_of(p).into()).collect();
        let head = names.iter().cloned().chain(self.states_of(variable).iter().cloned()).collect();
        let mut rows = vec![head];
        for (row, values) in
            self.cpt_of(variable).chunks_exact(self.cards[variable.index()]).enumerate()
        {
            let given = parents_in(row, parents, &self.names, &self.states);
            let states = given.into_iter().map(|(_, state)| state.to_string());
            rows.push(states.chain(values.iter().map(f64::to_string)).collect());
        }
        let title = title(self.name_of(variable), &names.join(", "));
        Ok(format!("{title}\n{}", aligned(&rows, parents.len())))
    }
}

impl Answer<'_> {
    /// The probability of a joint state, given by the names of the states in the order of the query.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Invalid`] for another number of states.
    pub fn probability(&self, states: &[&str]) -> Result<f64, Error> {
        fenchel_linalg::Invalid::check_length("states", self.variables.len(), states.len())?;
        let numbers: Vec<usize> = (self.variables.iter().zip(states))
            .map(|(&v, state)| self.net.state(v, state))
            .collect::<Result<_, _>>()?;
        self.at(&numbers)
    }

    /// The numbers, over the variables sorted by their number.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// States in the order of the query.
    fn at(&self, states: &[usize]) -> Result<f64, Error> {
        let of = |v: &VarId| self.variables.iter().position(|w| w == v).map_or(0, |at| states[at]);
        let sorted: Vec<usize> = self.table.scope().iter().map(of).collect();
        Ok(self.table.log_value(&sorted)?.exp())
    }
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            self.variables.iter().map(|&v| self.net.name_of(v).into()).collect();
        let mut head = names.clone();
        head.push(title(&names.join(", "), &self.given));
        let mut rows = vec![head];
        let cards: Vec<usize> = self.variables.iter().map(|v| self.net.cards[v.index()]).collect();
        for cell in 0..self.table.len() {
            // The last variable that was asked for runs fastest.
            let mut states = vec![0; cards.len()];
            let mut rest = cell;
            for (state, card) in states.iter_mut().zip(&cards).rev() {
                *state = rest % card;
                rest /= card;
            }
            let mut row: Vec<String> = (self.variables.iter().zip(&states))
                .map(|(&v, &state)| self.net.states_of(v)[state].clone())
                .collect();
            row.push(format!("{:.6}", self.at(&states).map_err(|_| fmt::Error)?));
            rows.push(row);
        }
        f.write_str(&aligned(&rows, names.len()))
    }
}

impl Explanation {
    /// The names of the variables and of their states, in the order of the query.
    ///
    /// ```
    /// let net = fenchel_graphical::networks::asia();
    /// let best = net.most_probable(&net.evidence(&[("xray", "yes")])?)?;
    /// assert!(best.named(&net)?.contains(&("either", "yes")));
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], [`Error::State`] for a network that this does not come from.
    pub fn named<'a>(&self, net: &'a BayesNet) -> Result<Vec<(&'a str, &'a str)>, Error> {
        let name = |(&variable, &state): (&VarId, &usize)| {
            net.check(variable)?;
            let cardinality = net.cards[variable.index()];
            match net.states_of(variable).get(state) {
                Some(name) => Ok((net.name_of(variable), name.as_str())),
                None => Err(Error::State { variable, state, cardinality }),
            }
        };
        self.variables.iter().zip(&self.states).map(name).collect()
    }
}

/// `P(x)` or `P(x | y)`.
fn title(of: &str, given: &str) -> String {
    if given.is_empty() { format!("P({of})") } else { format!("P({of} | {given})") }
}
