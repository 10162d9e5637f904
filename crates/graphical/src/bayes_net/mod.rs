//! Bayesian networks: a directed acyclic graph, and a conditional probability table for every variable given its parents.
//!
//! ```text
//! P(x_1, ..., x_n) = prod_i P(x_i | x_parents(i))
//! ```
//!
//! | task | function |
//! |---|---|
//! | build a network in code | [`BayesNet::builder`] |
//! | read and write files | [`bif`](crate::bif), [`uai`](crate::uai) |
//! | query and print by names | [`BayesNet::query`], [`BayesNet::cpt_text`], [`Explanation::named`] |
//! | evidence by names | [`BayesNet::evidence`], [`BayesNet::soft_evidence`], [`Findings`] |
//! | posteriors, `P(e)` | [`BayesNet::posterior`], [`BayesNet::posteriors`], [`BayesNet::log_evidence`] |
//! | most probable states: of all variables, the k best, of some variables | [`BayesNet::most_probable`], [`BayesNet::most_probable_k`], [`BayesNet::marginal_map`] |
//! | queries with another elimination order or memory limit | [`BayesNet::with_ordering`] |
//! | interventions (the do-operator) | [`BayesNet::intervene`] |
//! | draws, with or without evidence | [`BayesNet::sample`], [`BayesNet::likelihood_weighting`] |
//! | tables from data, scores of graphs | [`BayesNetBuilder::arcs`], [`BayesNet::fit_csv_file`], [`BayesNet::fit_cpts`], [`StructureScore`] |
//! | variables from the columns of a file, another graph | [`BayesNet::from_csv_file`], [`BayesNet::with_graph`] |
//! | a graph from data | [`structure`](crate::structure) |
//! | tables from records with missing values | [`Em`] |
//! | conversion for other methods | [`BayesNet::factor_graph`] |
//!
//! Sources: R. Le Priol, PhD thesis 2021, definition 2.3.4 and equations 2.36-2.37; Koller and Friedman, Probabilistic
//! Graphical Models, 2009, chapter 3.

mod build;
mod cpt;
mod em;
mod findings;
mod learn;
mod named;
mod names;
mod query;
mod records;
mod sample;

use std::borrow::Cow;

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

use crate::{Dag, Error, FactorGraph, Finding, OrderingOptions, VarId};

pub use build::BayesNetBuilder;
pub(crate) use build::Parts;
pub(crate) use cpt::{Cpt, ROW_TOLERANCE, Row, cells, parents_in, renormalise};
pub use em::{Em, EmFit};
pub use findings::Findings;
pub use learn::{Prior, StructureScore};
pub use named::Answer;
pub(crate) use names::Names;
pub use query::Explanation;
pub use records::MISSING;
pub(crate) use records::unusable;
pub use sample::WeightedSample;

/// A Bayesian network over named variables with named states.
///
/// Tables are stored as they were given, so that writing a file again gives the same numbers. A row whose sum differs from 1 by
/// rounding counts as divided by its sum wherever a probability is computed. So all methods give the same probability, whether
/// they use the whole network or only the tables that matter for the query.
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
    /// Settings of its queries.
    ordering: OrderingOptions,
}

impl BayesNet {
    /// Makes a network from checked tables, whose parents are in range.
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
        Ok(BayesNet { name, names, states, cards, cpts, dag, ordering: OrderingOptions::default() })
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

    /// Finds a variable by its name.
    ///
    /// # Errors
    /// [`Error::UnknownName`], which lists known names, nearest first.
    pub fn variable(&self, name: &str) -> Result<VarId, Error> {
        let unknown = || self.names.unknown("variable".into(), name);
        self.names.find(name).map(|i| VarId(i as u32)).ok_or_else(unknown)
    }

    /// Finds a state by its name.
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

    /// `P(variable | parents)`, with one row per configuration of the parents, where the last parent varies fastest, and one
    /// column per state of the variable.
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

    /// `P(x_v | x_parents)` for a valid configuration of all variables.
    pub(crate) fn entry(&self, variable: VarId, configuration: &[usize]) -> f64 {
        let (row, sum) = self.row(variable, configuration);
        row[configuration[variable.index()]] / sum
    }

    /// `P(. | x_parents)`, and the sum to divide it by.
    pub(crate) fn row(&self, variable: VarId, configuration: &[usize]) -> (&[f64], f64) {
        let cpt = &self.cpts[variable.index()];
        let add = |row, p: &VarId| row * self.cards[p.index()] + configuration[p.index()];
        let row = cpt.parents.iter().fold(0, add);
        let k = self.cards[variable.index()];
        (&cpt.values[row * k..(row + 1) * k], cpt.sum(row))
    }

    /// `P(variable | parents)` with rows that sum to 1 up to rounding.
    pub(crate) fn probabilities(&self, variable: VarId) -> Cow<'_, [f64]> {
        self.cpts[variable.index()].probabilities(self.cards[variable.index()])
    }

    /// The network as a product of its tables. Factor `i` is `P(x_i | x_parents(i))` with rows that sum to 1, so that `log Z =
    /// 0` up to rounding.
    ///
    /// # Errors
    /// [`Error::Refused`] for a table beyond [`MAX_MEMORY`](fenchel_optim::MAX_MEMORY).
    pub fn factor_graph(&self) -> Result<FactorGraph, Error> {
        let mut model = FactorGraph::new(&self.cards)?;
        for variable in self.variables() {
            model.add_values(&self.scope(variable), &self.probabilities(variable))?;
        }
        Ok(model)
    }

    /// The parents and the variable itself, in the order of the table.
    pub(crate) fn scope(&self, variable: VarId) -> Vec<VarId> {
        self.parents_of(variable).iter().copied().chain([variable]).collect()
    }

    /// Returns the network after an intervention: `do(x_v = state)` removes the arcs into `v` and makes its state certain.
    ///
    /// Unlike evidence, an intervention does not change the distribution of the causes of `v`. The result is the truncated
    /// factorisation `P(x | do(x_v = s)) = 1[x_v = s] prod_{i != v} P(x_i | x_parents(i))`.
    ///
    /// ```
    /// let net = fenchel_graphical::networks::asia();
    /// let ban = net.intervene(&[("smoke", "no")])?;
    /// assert!((ban.query(&["lung"], &[])?.probability(&["yes"])? - 0.01).abs() < 1e-15);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of unknown names and of [`Evidence::check`](crate::Evidence::check). [`Error::Refused`] for soft evidence,
    /// because an intervention sets a single state.
    pub fn intervene<F: Findings + ?Sized>(&self, settings: &F) -> Result<BayesNet, Error> {
        let settings = settings.evidence(self)?;
        settings.check(&self.cards)?;
        let mut cpts = self.cpts.clone();
        for (variable, finding) in settings.iter() {
            let &Finding::State(state) = finding else {
                let what = "likelihoods: name one state, or change the table by with_cpt";
                return Err(Refusal::unsupported("intervene", what).into());
            };
            let states = self.cards[variable.index()];
            let mut values = vec![0.0; states];
            values[state] = 1.0;
            cpts[variable.index()] = Cpt::new(Vec::new(), values, states);
        }
        let (name, names) = (self.name.clone(), self.names.clone());
        let changed = BayesNet::assemble(name, names, self.states.clone(), cpts)?;
        Ok(changed.with_ordering(self.ordering.clone()))
    }

    /// Returns the network with another `P(variable | parents)` over the same parents, which is a soft intervention.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`]; [`Error::CptLength`], [`Error::CptEntry`], [`Error::CptRowSum`].
    pub fn with_cpt(&self, variable: VarId, values: &[f64]) -> Result<BayesNet, Error> {
        self.check(variable)?;
        let parents = self.parents_of(variable).to_vec();
        let cpt = Cpt::new(parents, values.to_vec(), self.cards[variable.index()]);
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
