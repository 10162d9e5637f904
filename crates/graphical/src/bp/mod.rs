//! Belief propagation by messages between factors and variables: exact on trees, an approximation on graphs with cycles.
//!
//! ```text
//! m_{f->v}(x_v) ~ sum over the rest of psi_f(x_f) prod_{u in f, u != v} n_{u->f}(x_u)
//! n_{u->f}(x_u) = psi_u(x_u) prod_{g with u, g != f} m_{g->u}(x_u),     b_v ~ psi_v prod_f m_{f->v}
//! ```
//!
//! | you want | use | property |
//! |---|---|---|
//! | exact answers, small treewidth | [`JunctionTree`](crate::JunctionTree) | exact |
//! | marginals of a large sparse model | [`belief_propagation`] | exact on trees; often good, never a bound |
//! | an upper bound of log Z, and an answer that does not depend on the start | [`tree_reweighted`] | convex: one optimum |
//! | a lower bound of log Z | [`mean_field`](crate::mean_field::mean_field) | always a bound; ignores correlations |
//! | a configuration of high probability | [`max_product`] | optimal on trees (`is_exact`), else a heuristic |
//! | log Z with a standard error | [`crate::ais`] | an estimate, unbiased for Z |
//! | marginals with an error that shrinks with time | [`BinaryGibbs`](crate::binary::BinaryGibbs), [`Gibbs`](crate::gibbs::Gibbs) | consistent |
//! | a model with given marginals | [`moment_matching`] | its beliefs are the given marginals |
//!
//! On graphs with cycles the iteration may not converge. This is not an error: the [`Report`](fenchel_optim::Report) has the
//! status `PassLimit` and the residual. The residual is the largest change of a probability in any message if all messages were
//! computed once more. If it is large, try [`Schedule::Residual`], more damping, or [`tree_reweighted`].
//!
//! | schedule | order | when |
//! |---|---|---|
//! | [`Schedule::Residual`] | the message that would change most is sent first | the default; it converges most often |
//! | [`Schedule::Sequential`] | factors sorted by scope, forwards and backwards | chains and trees given in order: two passes |
//! | [`Schedule::Parallel`] | all messages at once, damped by 1/2 | comparison with the literature |
//!
//! Messages are normalised, so that every number is known up to `1e-15` times the sum of the largest log-potentials of the factors,
//! also of those that another factor makes impossible. A junction tree keeps the digits of the others.
//!
//! A pass computes every message once. For a factor of two variables, a message costs one multiplication and addition per cell
//! of its table, and one `exp` and one `ln` per state. A factor of `k > 2` variables costs `k^2` passes over its table. Factors
//! over the same variables are first multiplied, because two of them would form a cycle.
//!
//! The estimate of `log Z` is that of Bethe. It is computed from the messages in a form that is stationary at a fixed point:
//!
//! ```text
//! log Z_B = sum_f E_b[log psi_f] + sum_f H(b_f) - sum_v (deg_v - 1) H(b_v)
//! ```
//!
//! Here `b` are the beliefs, `H` is the entropy, and `deg_v` is the number of factors of two variables or more that contain
//! `v`. (A. Defazio, PhD thesis 2014, section 9.2.2, prints the Bethe entropy of a complete graph of `N` variables with the
//! coefficient `N - 1` of the unary entropies. It should be `N - 2`, because every variable is in `N - 1` pairs.) To include
//! evidence, call [`FactorGraph::condition`](crate::FactorGraph::condition) first.
//!
//! Sources: A. Defazio, PhD thesis 2014, sections 9.2.2 and 9.3; R. Le Priol, PhD thesis 2021, section 3.7; Pearl (1988);
//! Yedidia, Freeman and Weiss, IEEE Trans. Inf. Theory 51 (2005); Elidan, McGraw and Koller, "Residual belief propagation",
//! UAI 2006.

mod appearance;
mod decode;
mod moment_matching;
mod network;
mod propagation;
mod settings;

use fenchel_linalg::special::{log_softmax_in_place, softmax};
use fenchel_optim::{Observer, Solution, run};
use serde::{Deserialize, Serialize};

use crate::{Error, FactorGraph, FactorId, Table, VarId};

pub use appearance::{EdgeAppearance, TreeReweightedSettings, tree_reweighted};
pub use decode::{MaxBeliefs, max_product};
pub use moment_matching::{PairMarginal, moment_matching};
use network::{Home, Network};
pub use propagation::Propagation;
pub use settings::{BeliefPropagationSettings, Schedule};

/// What belief propagation believes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beliefs {
    #[serde(with = "crate::table::logs")]
    messages: Vec<f64>,
    variables: Vec<Vec<f64>>,
    factors: Vec<Table>,
    log_partition: f64,
}

impl Beliefs {
    /// The Bethe estimate of `log Z`. It is exact on trees, and otherwise neither an upper nor a lower bound. From
    /// [`tree_reweighted`] it is an upper bound.
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

    /// The belief of a factor over its scope, in logarithms.
    ///
    /// # Errors
    /// [`Invalid::Parameter`](fenchel_linalg::Invalid::Parameter) for a factor that does not exist.
    pub fn factor_marginal(&self, factor: FactorId) -> Result<&Table, Error> {
        self.factors.get(factor.index()).ok_or_else(|| crate::factor_graph::unknown_factor(factor))
    }

    fn read(run: Propagation) -> Result<Self, Error> {
        let Propagation { network, messages, mut beliefs, .. } = run;
        network.gather_beliefs(&messages, &mut beliefs);
        let mut log_partition = network.log_partition(&messages, &beliefs, false);
        if log_partition == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        if network.reweighted {
            log_partition += network.disagreement(&messages, &beliefs, false);
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
            log_softmax_in_place(&mut values);
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
/// `start` continues from the messages of a former run on a model with the same scopes. After a small change of the potentials
/// this takes fewer passes than a new start.
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
/// [`Error::ImpossibleEvidence`] if messages contradict each other; [`Error::Refused`] if the product of factors over the same
/// variables is too large; [`Error::Potential`] for log-potentials whose sum may exceed 1e300; [`Error::Invalid`] for settings
/// out of range, or a start from another model.
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
