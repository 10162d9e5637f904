//! Networks from files: Bayesian networks with names, and Markov networks whose variables are numbers.

use fenchel_cli::Failure;
use fenchel_cli::files::{file_name, read_text};
use fenchel_graphical::uai::{self, Kind};
use fenchel_graphical::{
    BayesNet, Error, Evidence, FactorGraph, Finding, JunctionTree, OrderingOptions, Table, VarId,
    bif, variable_elimination,
};

/// A network that can be asked. In a UAI file the variables are called `x0, x1, ...` and their states `0, 1, ...`.
pub(super) enum Net {
    Bayes(Box<BayesNet>),
    Markov(FactorGraph),
}

/// A most probable configuration.
pub(super) struct Best {
    pub(super) states: Vec<(VarId, usize)>,
    /// `ln P(states | evidence)`, in nats.
    pub(super) log_probability: f64,
}

impl Net {
    /// Reads a BIF or a UAI file; the first word tells which.
    pub(super) fn read(file: &str) -> Result<Net, Failure> {
        let name = file_name(file);
        let text = read_text(file)?;
        let word = text.trim_ascii_start().split(u8::is_ascii_whitespace).next();
        let net = match word {
            Some(b"MARKOV" | b"BAYES") => uai::read(&text[..]).and_then(|model| {
                Ok(match model.kind {
                    Kind::Bayes => Net::Bayes(Box::new(model.bayes_net()?)),
                    Kind::Markov => Net::Markov(model.factor_graph()?),
                })
            }),
            _ => bif::read(&text[..]).map(|net| Net::Bayes(Box::new(net))),
        };
        net.map_err(|error| Failure::network(&name, error))
    }

    pub(super) fn cards(&self) -> &[usize] {
        match self {
            Net::Bayes(net) => net.cards(),
            Net::Markov(model) => model.cards(),
        }
    }

    pub(super) fn variables(&self) -> Vec<VarId> {
        (0..self.cards().len() as u32).map(VarId).collect()
    }

    pub(super) fn variable(&self, name: &str) -> Result<VarId, Error> {
        match self {
            Net::Bayes(net) => net.variable(name),
            Net::Markov(model) => {
                let number = name.strip_prefix('x').and_then(|digits| digits.parse().ok());
                let found = number.filter(|&v: &u32| (v as usize) < model.cards().len());
                found
                    .map(VarId)
                    .ok_or_else(|| unknown("variable".into(), name, "x", model.cards().len()))
            }
        }
    }

    pub(super) fn state(&self, variable: VarId, name: &str) -> Result<usize, Error> {
        match self {
            Net::Bayes(net) => net.state(variable, name),
            Net::Markov(model) => {
                let card = model.cards()[variable.index()];
                let found = name.parse().ok().filter(|&state: &usize| state < card);
                found.ok_or_else(|| {
                    unknown(format!("state of {:?}", self.name(variable)), name, "", card)
                })
            }
        }
    }

    pub(super) fn name(&self, variable: VarId) -> String {
        match self {
            Net::Bayes(net) => net.name_of(variable).to_owned(),
            Net::Markov(_) => format!("x{}", variable.0),
        }
    }

    pub(super) fn state_name(&self, variable: VarId, state: usize) -> String {
        match self {
            Net::Bayes(net) => net.states_of(variable)[state].clone(),
            Net::Markov(_) => state.to_string(),
        }
    }

    /// The network in which variables are set from outside.
    pub(super) fn intervene(self, set: &[(String, String)]) -> Result<Net, Failure> {
        if set.is_empty() {
            return Ok(self);
        }
        match self {
            Net::Bayes(net) => {
                let set: Vec<(&str, &str)> =
                    set.iter().map(|(name, state)| (name.as_str(), state.as_str())).collect();
                Ok(Net::Bayes(Box::new(net.intervene(&set)?)))
            }
            Net::Markov(_) => {
                let reason = "do(..) needs a network with directions: a BIF file, or a UAI file of the kind BAYES";
                Err(Failure::Usage(reason.to_owned()))
            }
        }
    }

    /// `P(query | evidence)`, over the sorted query.
    pub(super) fn posterior(&self, query: &[VarId], evidence: &Evidence) -> Result<Table, Error> {
        match self {
            Net::Bayes(net) => net.posterior(query, evidence),
            Net::Markov(model) => {
                variable_elimination(model, query, evidence, &OrderingOptions::default())
            }
        }
    }

    /// The posterior of every variable.
    pub(super) fn posteriors(&self, evidence: &Evidence) -> Result<Vec<Vec<f64>>, Error> {
        match self {
            Net::Bayes(net) => net.posteriors(evidence),
            Net::Markov(model) => {
                let tree = JunctionTree::compile(model, &OrderingOptions::default())?;
                Ok(tree.calibrate(model, evidence, &mut tree.workspace())?.marginals())
            }
        }
    }

    /// The most probable states of some variables, with the others summed out; of all variables if `query` is empty.
    pub(super) fn most_probable(
        &self,
        query: &[VarId],
        evidence: &Evidence,
    ) -> Result<Best, Failure> {
        match self {
            Net::Bayes(net) => {
                let found = match query {
                    [] => net.most_probable(evidence)?,
                    _ => net.marginal_map(query, evidence)?,
                };
                Ok(Best {
                    states: found.variables.into_iter().zip(found.states).collect(),
                    log_probability: found.log_joint - net.log_evidence(evidence)?,
                })
            }
            Net::Markov(_) if !query.is_empty() => {
                let reason = "--map with a query needs a network with directions; without a query it finds the states of \
                              all variables";
                Err(Failure::Usage(reason.to_owned()))
            }
            Net::Markov(model) => {
                let tree = JunctionTree::compile(model, &OrderingOptions::default())?;
                let mut workspace = tree.workspace();
                let all = tree.calibrate(model, evidence, &mut workspace)?.log_partition();
                let best = tree.calibrate_max(model, evidence, &mut workspace)?;
                let mut states = best.map();
                for (v, finding) in evidence.iter() {
                    if let &Finding::State(state) = finding {
                        states[v.index()] = state;
                    }
                }
                let log_probability = best.best_score() - all;
                Ok(Best {
                    states: self.variables().into_iter().zip(states).collect(),
                    log_probability,
                })
            }
        }
    }
}

/// The error of a name among `prefix0, prefix1, ...`.
fn unknown(what: String, name: &str, prefix: &str, count: usize) -> Error {
    let known = match count {
        0 => Vec::new(),
        1 => vec![format!("{prefix}0")],
        _ => vec![format!("{prefix}0 to {prefix}{}", count - 1)],
    };
    Error::UnknownName { what, name: name.into(), known }
}
