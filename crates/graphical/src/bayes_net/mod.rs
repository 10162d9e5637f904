//! Bayesian networks: a directed acyclic graph, and for every variable a table given its parents.
//!
//! ```text
//! P(x_1, ..., x_n) = prod_i P(x_i | x_parents(i))
//! ```
//!
//! | task | function |
//! |---|---|
//! | write a network down | [`BayesNet::builder`] |
//! | read and write files | [`bif`](crate::bif), [`uai`](crate::uai) |
//! | ask by names, print with names | [`BayesNet::query`], [`BayesNet::cpt_text`], [`Explanation::named`] |
//! | say what was seen | [`BayesNet::evidence`], by names |
//! | ask: posteriors, `P(e)`, most probable states | [`BayesNet::posterior`], [`BayesNet::posteriors`], [`BayesNet::log_evidence`], [`BayesNet::most_probable`], [`BayesNet::marginal_map`] |
//! | set variables from outside (the do-operator) | [`BayesNet::intervene`] |
//! | draw from it, with or without evidence | [`BayesNet::sample`], [`BayesNet::likelihood_weighting`] |
//! | tables from data, the worth of a graph | [`BayesNetBuilder::arcs`], [`BayesNet::encode`], [`BayesNet::fit_cpts`], [`Score`] |
//! | hand over to other methods | [`BayesNet::factor_graph`] |
//!
//! Sources: Le Priol, definition 2.3.4, (2.36)-(2.37) (GR-04); Koller and Friedman, Probabilistic Graphical
//! Models, 2009, chapter 3.

mod build;
mod cpt;
mod learn;
mod named;
mod names;
mod query;
mod sample;

use fenchel_linalg::Invalid;

use crate::{Dag, Error, Evidence, FactorGraph, VarId};

pub use build::BayesNetBuilder;
pub(crate) use build::Parts;
pub(crate) use cpt::{ROW_TOLERANCE, Row, cells, parents_in, renormalise};
pub use learn::{Prior, Score};
pub use named::Answer;
pub(crate) use names::Names;
pub use query::Explanation;
pub use sample::WeightedSample;

/// A Bayesian network over named variables with named states.
///
/// Tables are stored as they were given: the rounding of a file is not smoothed over (see
/// [`BayesNetBuilder::renormalise`]).
///
/// ```
/// use fenchel_graphical::BayesNet;
///
/// let garden = BayesNet::builder()
///     .variable("rain", &["yes", "no"])
///     .variable("grass", &["wet", "dry"])
///     .cpt("rain", &[], &[0.2, 0.8])
///     .cpt("grass", &["rain"], &[0.9, 0.1, 0.05, 0.95])
///     .build()?;
/// let seen = garden.evidence(&[("grass", "wet"), ("rain", "no")])?;
/// assert_eq!(seen.state(garden.variable("rain")?), Some(1));
///
/// let error = garden.evidence(&[("gras", "wet")]).unwrap_err();
/// assert_eq!(error.to_string(), "there is no variable \"gras\"; known, nearest first: grass, rain");
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BayesNet {
    name: String,
    names: Names,
    states: Vec<Names>,
    cards: Vec<usize>,
    cpts: Vec<Cpt>,
    dag: Dag,
}

/// `P(child | parents)`: a row for every configuration of the parents, the last of them fastest; a
/// column for every state of the child.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cpt {
    pub(crate) parents: Vec<VarId>,
    pub(crate) values: Vec<f64>,
}

impl BayesNet {
    /// Starts an empty network.
    pub fn builder() -> BayesNetBuilder {
        BayesNetBuilder::default()
    }

    /// From parts whose tables are checked and whose parents are in range.
    pub(crate) fn assemble(
        name: String,
        names: Names,
        states: Vec<Names>,
        cpts: Vec<Cpt>,
    ) -> Result<BayesNet, Error> {
        let cards = states.iter().map(Names::len).collect();
        let parents = cpts.iter().map(|cpt| cpt.parents.iter().map(|p| p.0).collect()).collect();
        let dag = Dag::from_parents(parents).map_err(|cycle| Error::Cycle {
            path: cycle.iter().map(|&v| names.get(v as usize).to_string()).collect(),
        })?;
        Ok(BayesNet { name, names, states, cards, cpts, dag })
    }

    /// The name of the network, as its file gives it; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        self.cards.len()
    }

    /// Whether there is no variable.
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }

    /// All variables, in the order of their definition.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = VarId> + use<> {
        (0..self.len() as u32).map(VarId)
    }

    /// The numbers of states.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// Looks a variable up by name.
    ///
    /// # Errors
    /// [`Error::UnknownName`], which lists known names, nearest first.
    pub fn variable(&self, name: &str) -> Result<VarId, Error> {
        let unknown = || self.names.unknown("variable".into(), name);
        self.names.find(name).map(|i| VarId(i as u32)).ok_or_else(unknown)
    }

    /// Looks a state up by name.
    ///
    /// # Errors
    /// [`Error::UnknownName`], which lists the states; [`Error::UnknownVariable`].
    pub fn state(&self, variable: VarId, name: &str) -> Result<usize, Error> {
        self.check(variable)?;
        let states = &self.states[variable.index()];
        let unknown = || states.unknown(format!("state of {:?}", self.name_of(variable)), name);
        states.find(name).ok_or_else(unknown)
    }

    /// The name of a variable.
    ///
    /// # Panics
    /// If the network has no such variable, as indexing does.
    pub fn name_of(&self, variable: VarId) -> &str {
        self.names.get(variable.index())
    }

    /// The names of a variable's states.
    ///
    /// # Panics
    /// If the network has no such variable, as indexing does.
    pub fn states_of(&self, variable: VarId) -> &[String] {
        self.states[variable.index()].list()
    }

    /// The parents of a variable, in the order of its table.
    ///
    /// # Panics
    /// If the network has no such variable, as indexing does.
    pub fn parents_of(&self, variable: VarId) -> &[VarId] {
        &self.cpts[variable.index()].parents
    }

    /// `P(variable | parents)`: a row for every configuration of the parents, the last one fastest, a
    /// column for every state of the variable.
    ///
    /// # Panics
    /// If the network has no such variable, as indexing does.
    pub fn cpt_of(&self, variable: VarId) -> &[f64] {
        &self.cpts[variable.index()].values
    }

    /// The graph; node `i` is `VarId(i)`.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Hard evidence from names `(variable, state)`; soft evidence is added with
    /// [`Evidence::likelihood`].
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Duplicate`] for a variable that is listed twice.
    pub fn evidence(&self, findings: &[(&str, &str)]) -> Result<Evidence, Error> {
        let mut evidence = Evidence::new();
        for &(variable, state) in findings {
            let id = self.variable(variable)?;
            if evidence.get(id).is_some() {
                let what = "evidence for variable".to_string();
                return Err(Error::Duplicate { what, name: variable.into() });
            }
            evidence = evidence.observe(id, self.state(id, state)?);
        }
        Ok(evidence)
    }

    /// `log P(x)`; `-inf` for an impossible configuration.
    ///
    /// # Errors
    /// [`Error::State`]; [`Error::Invalid`] for a configuration of the wrong length.
    pub fn log_probability(&self, configuration: &[usize]) -> Result<f64, Error> {
        Invalid::check_length("configuration", self.len(), configuration.len())?;
        for (variable, (&state, &cardinality)) in
            self.variables().zip(configuration.iter().zip(&self.cards))
        {
            if state >= cardinality {
                return Err(Error::State { variable, state, cardinality });
            }
        }
        Ok(self.variables().map(|v| self.entry(v, configuration).ln()).sum())
    }

    /// `P(x_v | x_parents)` for a configuration of all variables that fits.
    pub(crate) fn entry(&self, variable: VarId, configuration: &[usize]) -> f64 {
        self.row(variable, configuration)[configuration[variable.index()]]
    }

    /// `P(. | x_parents)`.
    pub(crate) fn row(&self, variable: VarId, configuration: &[usize]) -> &[f64] {
        let Cpt { parents, values } = &self.cpts[variable.index()];
        let row =
            parents.iter().fold(0, |row, p| row * self.cards[p.index()] + configuration[p.index()]);
        let k = self.cards[variable.index()];
        &values[row * k..(row + 1) * k]
    }

    /// The network as a product of its tables: factor `i` is `P(x_i | x_parents(i))`, so `log Z = 0` up to
    /// the rounding of the tables.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`] for a table beyond [`TABLE_BYTES`](crate::TABLE_BYTES).
    pub fn factor_graph(&self) -> Result<FactorGraph, Error> {
        let mut model = FactorGraph::new(&self.cards)?;
        for variable in self.variables() {
            model.add_values(&self.scope(variable), self.cpt_of(variable))?;
        }
        Ok(model)
    }

    /// The parents and the variable itself, in the order of the table.
    pub(crate) fn scope(&self, variable: VarId) -> Vec<VarId> {
        self.parents_of(variable).iter().copied().chain([variable]).collect()
    }

    /// The network in which variables are set from outside: `do(x_v = state)` cuts the arcs into `v` and
    /// makes its state certain.
    ///
    /// Unlike evidence, an intervention says nothing about the causes of `v`:
    /// `P(x | do(x_v = s)) = 1[x_v = s] prod_{i != v} P(x_i | x_parents(i))`, the truncated factorisation.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], [`Error::State`]; [`Error::Duplicate`] for a variable that is set twice.
    pub fn intervene(&self, settings: &[(VarId, usize)]) -> Result<BayesNet, Error> {
        let mut cpts = self.cpts.clone();
        for (i, &(variable, state)) in settings.iter().enumerate() {
            self.check(variable)?;
            let cardinality = self.cards[variable.index()];
            if state >= cardinality {
                return Err(Error::State { variable, state, cardinality });
            }
            if settings[..i].iter().any(|(earlier, _)| *earlier == variable) {
                let what = "intervention on variable".to_string();
                return Err(Error::Duplicate { what, name: self.name_of(variable).into() });
            }
            let mut values = vec![0.0; cardinality];
            values[state] = 1.0;
            cpts[variable.index()] = Cpt { parents: Vec::new(), values };
        }
        let (name, names) = (self.name.clone(), self.names.clone());
        BayesNet::assemble(name, names, self.states.clone(), cpts)
    }

    /// The network with another `P(variable | parents)`, over the same parents: a soft intervention.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`]; [`Error::CptLength`], [`Error::CptEntry`], [`Error::CptRowSum`].
    pub fn with_cpt(&self, variable: VarId, values: &[f64]) -> Result<BayesNet, Error> {
        self.check(variable)?;
        let parents = self.parents_of(variable).to_vec();
        let cpt = Cpt { parents, values: values.to_vec() };
        cpt::check(variable, &cpt, &self.names, &self.states, ROW_TOLERANCE)?;
        let mut changed = self.clone();
        changed.cpts[variable.index()] = cpt;
        Ok(changed)
    }

    pub(crate) fn check(&self, variable: VarId) -> Result<(), Error> {
        if variable.index() < self.len() {
            return Ok(());
        }
        Err(Error::UnknownVariable { variable, variables: self.len() })
    }
}
