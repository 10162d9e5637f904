//! A builder of Bayesian networks.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal};

use super::cpt::{self, ROW_TOLERANCE};
use super::names::Names;
use super::{BayesNet, Cpt, cells};
use crate::table::table_bytes;
use crate::{Dag, Error, VarId};

/// Collects variables and tables; [`build`](BayesNetBuilder::build) checks them all.
///
/// Calls may come in any order: a table may name variables that are defined later.
#[derive(Debug, Clone, Default)]
pub struct BayesNetBuilder {
    name: String,
    variables: Vec<(String, Vec<String>)>,
    /// Child, parents and numbers. A table without numbers is uniform.
    tables: Vec<(String, Vec<String>, Option<Vec<f64>>)>,
    renormalise: bool,
}

impl BayesNetBuilder {
    /// Names the network.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a variable with the names of its states.
    #[must_use]
    pub fn variable(mut self, name: &str, states: &[&str]) -> Self {
        self.variables.push((name.into(), states.iter().map(|s| (*s).into()).collect()));
        self
    }

    /// Adds `P(child | parents)`. The numbers come in one row per configuration of the parents, where the last parent varies
    /// fastest. Each row has one number per state of the child.
    #[must_use]
    pub fn cpt(mut self, child: &str, parents: &[&str], table: &[f64]) -> Self {
        let parents = parents.iter().map(|p| (*p).into()).collect();
        self.tables.push((child.into(), parents, Some(table.to_vec())));
        self
    }

    /// Adds the arcs into a child, with a uniform table. Use it for a graph whose tables are filled later by
    /// [`BayesNet::fit_cpts`] or [`BayesNet::with_cpt`].
    #[must_use]
    pub fn arcs(mut self, child: &str, parents: &[&str]) -> Self {
        let parents = parents.iter().map(|p| (*p).into()).collect();
        self.tables.push((child.into(), parents, None));
        self
    }

    /// Divides every row by its sum, once the sums are checked. Without it, tables are kept as given.
    #[must_use]
    pub fn renormalise(mut self) -> Self {
        self.renormalise = true;
        self
    }

    /// Checks everything and builds the network.
    ///
    /// # Errors
    /// [`Error::Duplicate`] for a variable, a state, a parent or a table that is given twice;
    /// [`Error::Invalid`] for a variable without states; [`Error::UnknownName`]; [`Error::NoCpt`];
    /// [`Error::CptLength`], [`Error::CptEntry`] for a negative, infinite or NaN entry,
    /// [`Error::CptRowSum`] for a row that does not sum to 1 within 1e-3; [`Error::Refused`] for a uniform
    /// table beyond [`MAX_MEMORY`]; [`Error::Cycle`].
    pub fn build(self) -> Result<BayesNet, Error> {
        let mut parts = Parts::default();
        for (name, states) in &self.variables {
            let mut known = Names::default();
            for state in states {
                known.add(state, || format!("state of {name:?}"))?;
            }
            parts.variable(name, known)?;
        }
        for (child, parents, values) in self.tables {
            let child = parts.find(&child)?;
            let parents: Vec<VarId> =
                parents.iter().map(|p| parts.find(p)).collect::<Result<_, _>>()?;
            parts.check_parents(child, &parents)?;
            let values = match values {
                Some(values) => values,
                None => parts.uniform(child, &parents)?,
            };
            let states = parts.states[child.index()].len();
            let mut cpt = Cpt::new(parents, values, states);
            cpt::check(child, &cpt, &parts.names, &parts.states, ROW_TOLERANCE)?;
            if self.renormalise {
                let values = cpt.probabilities(states).into_owned();
                cpt = Cpt::new(cpt.parents, values, states);
            }
            parts.cpts[child.index()] = Some(cpt);
        }
        parts.build(self.name)
    }
}

/// Variables, and checked tables of some of them.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) names: Names,
    pub(crate) states: Vec<Names>,
    pub(crate) cpts: Vec<Option<Cpt>>,
}

impl Parts {
    pub(crate) fn variable(&mut self, name: &str, states: Names) -> Result<(), Error> {
        if states.len() == 0 {
            return Err(fenchel_linalg::Invalid::Empty { what: "the list of states" }.into());
        }
        crate::graph::check_nodes(self.names.len() + 1)?;
        self.names.add(name, || "variable".into())?;
        self.states.push(states);
        self.cpts.push(None);
        Ok(())
    }

    pub(crate) fn find(&self, name: &str) -> Result<VarId, Error> {
        let unknown = || self.names.unknown("variable".into(), name);
        self.names.find(name).map(|i| VarId(i as u32)).ok_or_else(unknown)
    }

    /// A table in which all numbers are equal.
    fn uniform(&self, child: VarId, parents: &[VarId]) -> Result<Vec<f64>, Error> {
        let card = self.states[child.index()].len();
        let scope = parents.iter().map(|p| self.states[p.index()].len()).chain([card]);
        let size = cpt::cells(scope);
        uniform(card, size)
    }

    /// Checks that the child has no table yet, and that its parents are distinct and do not include it.
    pub(crate) fn check_parents(&self, child: VarId, parents: &[VarId]) -> Result<(), Error> {
        let name = self.names.get(child.index());
        if self.cpts[child.index()].is_some() {
            return Err(Error::Duplicate { what: "table of variable".into(), name: name.into() });
        }
        if parents.contains(&child) {
            return Err(Error::Cycle { path: vec![name.into(), name.into()] });
        }
        let twice = (1..parents.len()).find(|&i| parents[..i].contains(&parents[i]));
        if let Some(i) = twice {
            let parent = self.names.get(parents[i].index()).into();
            return Err(Error::Duplicate { what: format!("parent of {name:?}"), name: parent });
        }
        Ok(())
    }

    pub(crate) fn build(self, name: String) -> Result<BayesNet, Error> {
        let names = &self.names;
        let missing = |i: usize| Error::NoCpt { variable: names.get(i).into() };
        let cpts = self.cpts.into_iter().enumerate();
        let cpts = cpts.map(|(i, cpt)| cpt.ok_or_else(|| missing(i))).collect::<Result<_, _>>()?;
        BayesNet::assemble(name, self.names, self.states, cpts)
    }
}

impl BayesNet {
    /// Starts an empty network.
    pub fn builder() -> BayesNetBuilder {
        BayesNetBuilder::default()
    }

    /// Returns a network of the same variables with another graph and uniform tables, to be filled by
    /// [`fit_cpts`](Self::fit_cpts).
    ///
    /// # Errors
    /// [`Error::Invalid`] for another number of nodes; [`Error::Refused`] for a table beyond
    /// [`MAX_MEMORY`].
    pub fn with_graph(&self, graph: &Dag) -> Result<BayesNet, Error> {
        Invalid::check_length("nodes of the graph", self.len(), graph.nodes())?;
        let table = |v: VarId| {
            let parents: Vec<VarId> = graph.parents(v.0).iter().map(|&p| VarId(p)).collect();
            let states = self.cards[v.index()];
            let scope = parents.iter().map(|p| self.cards[p.index()]).chain([states]);
            let values = uniform(states, cells(scope))?;
            Ok(Cpt::new(parents, values, states))
        };
        let cpts: Vec<Cpt> = self.variables().map(table).collect::<Result<_, Error>>()?;
        Ok(BayesNet { cpts, dag: graph.clone(), ..self.clone() })
    }
}

/// A table of the given size with equal numbers. It is refused if it does not fit into memory.
fn uniform(states: usize, cells: Option<usize>) -> Result<Vec<f64>, Error> {
    let (what, hint) = ("a conditional probability table", "give the variable fewer parents");
    Refusal::check_memory(what, table_bytes(cells), MAX_MEMORY, hint)?;
    Ok(vec![1.0 / states as f64; cells.unwrap_or(0)])
}
