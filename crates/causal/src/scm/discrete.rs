//! Structural causal models with discrete variables and discrete noise.

use fenchel_graphical::elimination::sum_out;
use fenchel_graphical::table::Dense;
use fenchel_graphical::{BayesNet, VarId};
use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::admg::GraphError;
use crate::table::{check_probabilities, elimination, size, variables};
use crate::{Admg, Error, NodeSet};

/// A discrete structural causal model over a directed acyclic graph.
///
/// ```
/// use fenchel_causal::Admg;
/// use fenchel_causal::scm::DiscreteScm;
///
/// // The drug (X) helps some (U = 0), harms some (U = 1), and does nothing for the rest.
/// let g = Admg::parse("X -> Y")?;
/// let scm = DiscreteScm::new(
///     g,
///     vec![2, 2],
///     vec![vec![0.5, 0.5], vec![0.3, 0.1, 0.4, 0.2]],
///     vec![vec![0, 1], vec![0, 1, 0, 1, 1, 0, 0, 1]],
/// )?;
/// // Somebody took the drug and recovered: would they have without it?
/// let (x, y) = (0, 1);
/// let law = scm.counterfactual(&[(x, 1), (y, 1)], &[(x, 0)], y)?;
/// assert!((law[1] - 0.2 / 0.5).abs() < 1e-15);
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct DiscreteScm {
    graph: Admg,
    cards: Vec<usize>,
    noise: Vec<Vec<f64>>,
    functions: Vec<Vec<usize>>,
}

#[derive(Deserialize)]
struct Parts {
    graph: Admg,
    cards: Vec<usize>,
    noise: Vec<Vec<f64>>,
    functions: Vec<Vec<usize>>,
}

impl TryFrom<Parts> for DiscreteScm {
    type Error = Error;
    fn try_from(p: Parts) -> Result<DiscreteScm, Error> {
        DiscreteScm::new(p.graph, p.cards, p.noise, p.functions)
    }
}

impl DiscreteScm {
    /// Builds the model from numbers of states, a noise distribution per node, and a function per node. A function is a
    /// table with the state of the node for every configuration of its parents (in rising order, the last varying
    /// fastest) and of its noise (varying fastest of all).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a graph with bidirected edges, lengths that do not fit; [`Error::NotADistribution`];
    /// [`Error::Category`] for a value that is no state.
    pub fn new(
        graph: Admg,
        cards: Vec<usize>,
        noise: Vec<Vec<f64>>,
        functions: Vec<Vec<usize>>,
    ) -> Result<DiscreteScm, Error> {
        let n = graph.len();
        if !graph.is_dag() {
            let reason = "bidirected edges: expected a node for every hidden cause".into();
            return Err(Invalid::Layout { what: "the graph", reason }.into());
        }
        Invalid::check_length("cards", n, cards.len())?;
        Invalid::check_length("laws of the noise", n, noise.len())?;
        Invalid::check_length("functions", n, functions.len())?;
        for v in 0..n {
            check_probabilities("probability", &noise[v])?;
            let sum: f64 = noise[v].iter().sum();
            if (sum - 1.0).abs() > 1e-9 {
                return Err(Error::NotADistribution { what: "the noise of a node", row: v, sum });
            }
            let scope = graph.parents(v as u32).iter().map(|p| cards[p as usize]);
            let cells = size(&scope.chain([noise[v].len()]).collect::<Vec<_>>())?;
            Invalid::check_length("values of a function", cells, functions[v].len())?;
            if let Some(&value) = functions[v].iter().find(|&&s| s >= cards[v]) {
                return Err(Error::Category { what: "a function", value, categories: cards[v] });
            }
        }
        Ok(DiscreteScm { graph, cards, noise, functions })
    }

    /// A structural model with the tables of a Bayesian network, in which every node is a monotone function of one
    /// uniform noise variable: its state is the quantile of its conditional distribution. Monotonicity is an
    /// assumption, not a consequence of the network: it says that no unit moves down when a change of the parents
    /// shifts the distribution up.
    ///
    /// # Errors
    /// [`GraphError::TooManyNodes`], [`Error::Refused`].
    pub fn monotone(net: &BayesNet) -> Result<DiscreteScm, Error> {
        let graph = Admg::from_bayes_net(net)?;
        let (mut noise, mut functions) = (Vec::new(), Vec::new());
        for v in net.variables() {
            let own = [VarId(u32::MAX)];
            let scope: Vec<VarId> = net.parents_of(v).iter().chain(&own).copied().collect();
            let card = net.cards()[v.index()];
            let cards = net.parents_of(v).iter().map(|p| net.cards()[p.index()]).chain([card]);
            // Rows by rising parents, the node itself last.
            let table = Dense::new(&scope, &cards.collect::<Vec<_>>(), net.cpt_of(v))?;
            let rows: Vec<Vec<f64>> = table.values().chunks(card).map(cumulative).collect();
            let mut cuts: Vec<f64> = rows.iter().flatten().copied().chain([1.0]).collect();
            cuts.sort_by(f64::total_cmp);
            cuts.dedup_by(|a, b| *a - *b < 1e-15);
            let mut low = 0.0;
            let mut law = Vec::new();
            let mut middles = Vec::new();
            for &cut in &cuts {
                if cut > low {
                    law.push(cut - low);
                    middles.push((cut + low) / 2.0);
                    low = cut;
                }
            }
            let total: f64 = law.iter().sum();
            law.iter_mut().for_each(|p| *p /= total);
            let state = |row: &Vec<f64>, u: f64| row[..card - 1].partition_point(|c| *c <= u);
            functions
                .push(rows.iter().flat_map(|r| middles.iter().map(|&u| state(r, u))).collect());
            noise.push(law);
        }
        DiscreteScm::new(graph, net.cards().to_vec(), noise, functions)
    }

    /// The causal graph.
    pub fn graph(&self) -> &Admg {
        &self.graph
    }

    /// Draws the noise of all nodes.
    pub fn sample_noise(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
        let draw = |law: &Vec<f64>| {
            let cumulative = cumulative(law);
            let u: f64 = rng.random();
            cumulative[..law.len() - 1].partition_point(|c| *c <= u)
        };
        self.noise.iter().map(draw).collect()
    }

    /// The states of all nodes for this noise, with some nodes set from outside. Two runs with the same noise, one
    /// without and one with set nodes, give the factual and the counterfactual states of one unit.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a wrong number of noises; [`Error::Category`]; [`GraphError::UnknownNode`]; [`GraphError::Duplicate`].
    pub fn run(&self, noise: &[usize], set: &[(u32, usize)]) -> Result<Vec<usize>, Error> {
        Invalid::check_length("noise", self.cards.len(), noise.len())?;
        self.check_states("an intervention on", set)?;
        let mut states = vec![0; self.cards.len()];
        for &v in self.graph.topological_order() {
            let i = v as usize;
            if noise[i] >= self.noise[i].len() {
                let categories = self.noise[i].len();
                return Err(Error::Category { what: "the noise", value: noise[i], categories });
            }
            states[i] = match set.iter().find(|(w, _)| *w == v) {
                Some(&(_, state)) => state,
                None => {
                    let row = self
                        .graph
                        .parents(v)
                        .iter()
                        .fold(0, |row, p| row * self.cards[p as usize] + states[p as usize]);
                    self.functions[i][row * self.noise[i].len() + noise[i]]
                }
            };
        }
        Ok(states)
    }

    fn check_states(&self, what: &'static str, states: &[(u32, usize)]) -> Result<(), Error> {
        for (k, &(v, value)) in states.iter().enumerate() {
            self.graph.check_set(if (v as usize) < NodeSet::CAPACITY {
                NodeSet::one(v)
            } else {
                return Err(self.graph.unknown(&v.to_string()).into());
            })?;
            let categories = self.cards[v as usize];
            if value >= categories {
                return Err(Error::Category { what: "a node", value, categories });
            }
            if states[..k].iter().any(|(u, _)| *u == v) {
                return Err(GraphError::Duplicate { what, name: self.graph.name(v).into() }.into());
            }
        }
        Ok(())
    }

    /// `P(outcome = . | do(set), evidence)`: the distribution of the outcome if `set` had been done to a unit for which
    /// `evidence` was observed without the intervention.
    ///
    /// The method is the twin network: two copies of the model share their noise, and the other variables are
    /// eliminated, smallest table first.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`]; [`Error::Category`], [`GraphError::UnknownNode`], [`GraphError::Duplicate`], [`Error::Refused`].
    pub fn counterfactual(
        &self,
        evidence: &[(u32, usize)],
        set: &[(u32, usize)],
        outcome: u32,
    ) -> Result<Vec<f64>, Error> {
        self.check_states("evidence on", evidence)?;
        self.check_states("an intervention on", set)?;
        self.check_states("the outcome", &[(outcome, 0)])?;
        let n = self.cards.len() as u32;
        let mut factors = Vec::new();
        for v in 0..n {
            let i = v as usize;
            let noises = self.noise[i].len();
            factors.push(Dense::new(&[VarId(n + v)], &[noises], &self.noise[i])?);
            // World 0 is what is, world 1 what would have been.
            for world in [0, 2 * n] {
                if world > 0 && set.iter().any(|(w, _)| *w == v) {
                    continue;
                }
                let parents = self.graph.parents(v);
                let scope = parents.iter().map(|p| world + p).chain([n + v, world + v]);
                let cards = parents.iter().map(|p| self.cards[p as usize]);
                let cards: Vec<usize> = cards.chain([noises, self.cards[i]]).collect();
                size(&cards)?;
                let one_hot =
                    |&s: &usize| (0..self.cards[i]).map(move |k| f64::from(u8::from(k == s)));
                let values: Vec<f64> = self.functions[i].iter().flat_map(one_hot).collect();
                factors.push(Dense::new(&variables(scope), &cards, &values)?);
            }
        }
        let fixed = evidence.iter().copied().chain(set.iter().map(|&(v, s)| (2 * n + v, s)));
        for (v, state) in fixed {
            factors.iter_mut().try_for_each(|f| f.fix(VarId(v), state))?;
        }
        let law = sum_out(factors, &[VarId(2 * n + outcome)], &elimination())?;
        let total: f64 = law.values().iter().sum();
        if !(total > 0.0) {
            return Err(Error::ImpossibleEvidence);
        }
        if let Some(&(_, state)) = set.iter().find(|(v, _)| *v == outcome) {
            let states = 0..self.cards[outcome as usize];
            return Ok(states.map(|k| f64::from(u8::from(k == state))).collect());
        }
        Ok(law.values().iter().map(|p| p / total).collect())
    }
}

fn cumulative(row: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    row.iter()
        .map(|p| {
            sum += p;
            sum
        })
        .collect()
}
