//! Belief propagation: messages between factors and variables, exact on trees, an approximation with cycles.
//!
//! ```text
//! m_{f->v}(x_v) ~ sum over the rest of psi_f(x_f) prod_{u in f, u != v} n_{u->f}(x_u)
//! n_{u->f}(x_u) = psi_u(x_u) prod_{g with u, g != f} m_{g->u}(x_u),     b_v ~ psi_v prod_f m_{f->v}
//! ```
//!
//! | you want | use | what is true |
//! |---|---|---|
//! | exact answers, small treewidth | [`JunctionTree`](crate::JunctionTree) | exact |
//! | marginals of a large sparse model | [`belief_propagation`] | exact on trees; often good, never a bound |
//! | an upper bound of log Z, and one answer whatever the start | [`tree_reweighted`] | convex: one optimum |
//! | a lower bound of log Z | [`mean_field`](fn@crate::mean_field) | always a bound; misses correlations |
//! | a likely configuration | [`max_product`] | optimal on trees (`exact`); a good guess else |
//! | log Z with an error bar | [`crate::ais`](mod@crate::ais) | an estimate, unbiased for Z |
//! | marginals with an error that shrinks with time | [`BinaryGibbs`](crate::BinaryGibbs), [`Gibbs`](crate::Gibbs) | consistent |
//! | a model with given marginals | [`moment_matching`] | its beliefs are these marginals |
//!
//! With cycles the iteration may not converge. That is no error: the [`Report`](fenchel_optim::Report) says `PassLimit` and the
//! residual, the largest change of a probability in any message if all were computed once more. Then try
//! [`Schedule::Residual`], more damping, or [`tree_reweighted`].
//!
//! | schedule | order | when |
//! |---|---|---|
//! | [`Schedule::Residual`] | the message that would change most is sent first | converges most often; the default |
//! | [`Schedule::Sequential`] | factors sorted by scope, forth and back | chains and trees given in order: two passes |
//! | [`Schedule::Parallel`] | all at once, damped by 1/2 | to compare with the literature |
//!
//! A pass computes as many messages as there are. Its cost for factors of two variables is one multiplication and addition a
//! cell in each direction and one `exp` and `ln` a state; a factor of `k > 2` variables costs `k^2` walks over its table.
//! Factors over the same variables are multiplied first, so that they form no cycle.
//!
//! The value of `log Z` is Bethe's, computed from the messages in the form that is stationary at a fixed point:
//!
//! ```text
//! log Z_B = sum_f E_b[log psi_f] + sum_f H(b_f) - sum_v (deg_v - 1) H(b_v)
//! ```
//!
//! with `deg_v` the number of factors of two variables or more. (The unary coefficient of Defazio's display for the complete
//! graph should be `N - 2`: there are `N - 1` pairs a variable.) Condition on evidence with
//! [`FactorGraph::condition`](crate::FactorGraph::condition).
//!
//! Sources: Defazio's thesis, 9.2.2 and 9.3 (GR-19, GR-20); R. Le Priol's thesis, 3.7 (GR-21); Pearl (1988); Yedidia, Freeman and
//! Weiss, IEEE Trans. Inf. Theory 51 (2005); Elidan, McGraw and Koller, "Residual belief propagation", UAI 2006 (GR-25).

mod appearance;
mod decode;
mod moment_matching;
mod network;
mod propagation;

use fenchel_linalg::special::{log_sum_exp, softmax};
use fenchel_optim::{Observer, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use crate::{Error, FactorGraph, FactorId, Table, VarId};

pub use appearance::{EdgeAppearance, TreeReweightedSettings, tree_reweighted};
pub use decode::{MaxBeliefs, max_product};
pub use moment_matching::{PairMarginal, moment_matching};
use network::{Home, Network};
pub use propagation::Propagation;

/// In which order messages are sent: see the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// All at once, from the messages of the pass before.
    Parallel,
    /// One after the other, forth and back.
    Sequential,
    /// Whichever would change most.
    #[default]
    Residual,
}

/// Settings of [`belief_propagation`] and [`max_product`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `schedule` | `Residual` | who sends next |
/// | `damping` | 1/2 if parallel, else 0 | `new = damping old + (1 - damping) computed`, of probabilities |
/// | `stop` | residual 1e-8, 1000 passes | when to end; `relative` is not used |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BeliefPropagationSettings {
    /// Who sends next.
    pub schedule: Schedule,
    /// The share of the old message, in `[0, 1)`.
    pub damping: Option<f64>,
    /// When to end.
    pub stop: Stop,
}

impl Default for BeliefPropagationSettings {
    fn default() -> Self {
        let stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 1000.0, ..Stop::default() };
        BeliefPropagationSettings { schedule: Schedule::default(), damping: None, stop }
    }
}

/// What belief propagation believes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beliefs {
    messages: Vec<f64>,
    variables: Vec<Vec<f64>>,
    factors: Vec<Table>,
    log_partition: f64,
}

impl Beliefs {
    /// `log Z` of Bethe: exact on trees, otherwise neither bound. From [`tree_reweighted`] an upper bound once converged.
    pub fn log_partition(&self) -> f64 {
        self.log_partition
    }

    /// The belief of a variable, an approximation of its marginal.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`].
    pub fn marginal(&self, variable: VarId) -> Result<&[f64], Error> {
        let unknown = Error::UnknownVariable { variable, variables: self.variables.len() };
        self.variables.get(variable.index()).map(Vec::as_slice).ok_or(unknown)
    }

    /// The beliefs of all variables.
    pub fn marginals(&self) -> &[Vec<f64>] {
        &self.variables
    }

    /// The belief of a factor, in logs, over its scope.
    ///
    /// # Errors
    /// [`Invalid::Parameter`](fenchel_linalg::Invalid::Parameter) for a factor that does not exist.
    pub fn factor_marginal(&self, factor: FactorId) -> Result<&Table, Error> {
        self.factors.get(factor.index()).ok_or_else(|| crate::factor_graph::unknown_factor(factor))
    }

    fn read(run: Propagation) -> Result<Self, Error> {
        let Propagation { network, messages, mut beliefs, .. } = run;
        network.gather_beliefs(&messages, &mut beliefs);
        let log_partition = network.log_partition(&messages, &beliefs);
        if log_partition == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        let belief = |cells: &std::ops::Range<usize>| {
            let mut out = vec![0.0; cells.len()];
            softmax(&beliefs[cells.clone()], &mut out);
            out
        };
        let variables: Vec<Vec<f64>> = network.cells.iter().map(belief).collect();
        let mut merged = Vec::with_capacity(network.factors.len());
        for (k, factor) in network.factors.iter().enumerate() {
            let mut values = network.factor_belief(k, &messages, &beliefs);
            let total = log_sum_exp(&values);
            values.iter_mut().for_each(|v| *v -= total);
            merged.push(Table::new(factor.table.scope(), factor.table.cards(), &values)?);
        }
        let table = |(home, scope): (&Home, &Vec<VarId>)| match *home {
            Home::Inside(k) => merged[k].marginalize_sum(scope),
            Home::Constant => Table::constant(0.0),
            Home::Variable(v) => {
                Table::from_values(&[VarId(v as u32)], &[variables[v].len()], &variables[v])
            }
            Home::Factor(k) => Ok(merged[k].clone()),
        };
        let factors =
            network.homes.iter().zip(&network.scopes).map(table).collect::<Result<_, _>>()?;
        Ok(Beliefs { messages, variables, factors, log_partition })
    }
}

/// Sum-product belief propagation.
///
/// `start` goes on from the messages of a run on a model with the same scopes: after a small change of the potentials that takes
/// fewer passes than from the beginning.
///
/// ```
/// use fenchel_graphical::bp::{BeliefPropagationSettings, belief_propagation};
/// use fenchel_graphical::{FactorGraph, VarId};
///
/// let mut model = FactorGraph::new(&[2, 2, 2])?;
/// model.add_values(&[VarId(0), VarId(1)], &[3.0, 1.0, 1.0, 3.0])?;
/// model.add_values(&[VarId(1), VarId(2)], &[3.0, 1.0, 1.0, 3.0])?;
/// model.add_values(&[VarId(0)], &[0.0, 1.0])?;
/// let solution = belief_propagation(&model, &BeliefPropagationSettings::default(), None, &mut ())?;
/// println!("{}", solution.report); // converged after 2 passes: residual 0.00e0
/// assert!((solution.state.log_partition() - 16.0_f64.ln()).abs() < 1e-12);
/// assert!((solution.state.marginal(VarId(2))?[1] - 0.625).abs() < 1e-12);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// # Errors
/// [`Error::ImpossibleEvidence`] where messages contradict one another; [`Error::Refused`] for factors over the same variables
/// whose product does not fit; [`Error::Invalid`] for settings out of range or a start of another model.
pub fn belief_propagation<O: Observer<Propagation>>(
    model: &FactorGraph,
    settings: &BeliefPropagationSettings,
    start: Option<Beliefs>,
    observer: &mut O,
) -> Result<Solution<Beliefs>, Error> {
    propagate(Network::new(model)?, settings, start, observer)
}

fn propagate<O: Observer<Propagation>>(
    network: Network,
    settings: &BeliefPropagationSettings,
    start: Option<Beliefs>,
    observer: &mut O,
) -> Result<Solution<Beliefs>, Error> {
    let messages = start.map(|beliefs| beliefs.messages);
    let mut method = Propagation::new(network, false, settings, messages)?;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: Beliefs::read(method)?, report })
}
