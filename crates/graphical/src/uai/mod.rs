//! UAI: the text format of the UAI inference competitions, in which tokens are separated by white space.
//!
//! ```text
//! MARKOV | BAYES
//! n    card_1 ... card_n    m
//! k v_1 ... v_k             m times: the scopes, variables from 0
//! size value ... value      m times: the tables, last variable as listed fastest, not in logs
//! ```
//!
//! In a `BAYES` file the last variable of each scope is the child of the others. Evidence is `n v_1 x_1 ...`. In older files a
//! number of samples precedes it, which must be 1. Results are written with [`write_marginals`] (`MAR`),
//! [`write_log_partition`] (`PR`, **base 10**) and [`write_states`] (`MPE`). Numbers are written as the shortest decimals that
//! are read back to the same bits.

mod read;
mod write;

use crate::{BayesNet, Error, FactorGraph, VarId};

pub use read::{read, read_evidence, read_evidence_file, read_file};
pub use write::{
    write, write_evidence, write_evidence_file, write_file, write_log_partition, write_marginals,
    write_states,
};

/// The kind of a model, which is the first word of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any potentials.
    Markov,
    /// One table `P(last | others)` for every variable.
    Bayes,
}

/// A model as it is in a file: scopes in their order, and potentials that are not logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Potentials or conditional probabilities.
    pub kind: Kind,
    /// The numbers of states.
    pub cards: Vec<usize>,
    /// Scopes with their potentials, last variable fastest.
    pub factors: Vec<(Vec<VarId>, Vec<f64>)>,
}

impl Model {
    /// The product of the tables.
    ///
    /// # Errors
    /// What [`FactorGraph::add_values`] refuses. A model that [`read`] returned has no such error.
    pub fn factor_graph(&self) -> Result<FactorGraph, Error> {
        let mut model = FactorGraph::new(&self.cards)?;
        for (scope, values) in &self.factors {
            model.add_values(scope, values)?;
        }
        Ok(model)
    }

    /// The Bayesian network of a `BAYES` model; variables are called `x0, x1, ...`, states `0, 1, ...`.
    ///
    /// # Errors
    /// What [`BayesNetBuilder::build`](crate::bayes_net::BayesNetBuilder::build) refuses: rows that do not sum to 1, two
    /// tables for one child, cycles; [`fenchel_linalg::Invalid::Empty`] for an empty scope.
    pub fn bayes_net(&self) -> Result<BayesNet, Error> {
        let names: Vec<String> = (0..self.cards.len()).map(|v| format!("x{v}")).collect();
        let mut net = BayesNet::builder();
        for (name, &card) in names.iter().zip(&self.cards) {
            let states: Vec<String> = (0..card).map(|s| s.to_string()).collect();
            net = net.variable(name, &states.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let name = |v: &VarId| {
            let unknown = Error::UnknownVariable { variable: *v, variables: names.len() };
            names.get(v.index()).map(String::as_str).ok_or(unknown)
        };
        for (scope, values) in &self.factors {
            let Some((child, parents)) = scope.split_last() else {
                return Err(fenchel_linalg::Invalid::Empty { what: "the scope of a table" }.into());
            };
            let parents: Vec<&str> = parents.iter().map(name).collect::<Result<_, _>>()?;
            net = net.cpt(name(child)?, &parents, values);
        }
        net.build()
    }
}

impl From<&BayesNet> for Model {
    fn from(net: &BayesNet) -> Model {
        let table = |v| (net.scope(v), net.cpt_of(v).to_vec());
        let factors = net.variables().map(table).collect();
        Model { kind: Kind::Bayes, cards: net.cards().to_vec(), factors }
    }
}

impl From<&FactorGraph> for Model {
    fn from(model: &FactorGraph) -> Model {
        let factors = model.factors().iter().map(|t| (t.scope().to_vec(), t.values())).collect();
        Model { kind: Kind::Markov, cards: model.cards().to_vec(), factors }
    }
}
