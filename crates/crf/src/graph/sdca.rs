//! SDCA on the marginals of junction trees: algorithm 2 of Le Priol, Piche and Lacoste-Julien (2018), for any decomposable
//! model.

use fenchel_linalg::Invalid;
use fenchel_optim::{Observer, Refusal, Solution};

use super::oracle::TreeMarginals;
use super::problem::GraphProblem;
use crate::Error;
use crate::methods::sdca::{DualAscent, Init, SdcaSettings, ascend};
use crate::terms::{Oracle, Terms};

/// What to do if the marginals need too much memory.
const NARROW: &str = "narrow the graphs, or train with L-BFGS";

/// The state of [`graph_sdca`]. A warm start reads only the marginals, so that a state from another `l2` can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphDualState {
    /// The flat weights, in the order of [`GraphProblem`].
    pub weights: Vec<f64>,
    /// The dual variables: one distribution per graph.
    pub marginals: Vec<TreeMarginals>,
}

impl GraphDualState {
    /// The marginals of the model with given weights. One pass.
    ///
    /// # Errors
    /// [`Error::Refused`] before anything is allocated; [`Error::Invalid`] for weights of another length, not finite, or with a
    /// score that overflows.
    pub fn at(
        problem: &GraphProblem<'_>,
        weights: Vec<f64>,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        Invalid::check_length("weights", problem.weights(), weights.len())?;
        Invalid::check_finite("weights", &weights)?;
        Refusal::check_memory("sdca", problem.memory(), max_memory, NARROW)?;
        let mut work = problem.work()?;
        let mut marginals = vec![TreeMarginals::default(); problem.n()];
        for (i, p) in marginals.iter_mut().enumerate() {
            let log_z = problem.infer(&weights, &mut work, i, p).unwrap_or(f64::NAN);
            Invalid::check_finite("log-partition function at the start", &[log_z])?;
        }
        Ok(GraphDualState { weights, marginals })
    }
}

/// Stochastic dual coordinate ascent with adaptive sampling, for graphs.
///
/// A step calibrates the junction tree of one graph, and takes two or three passes over its marginals. The method needs
/// [`GraphProblem::memory`] bytes; if that is too much, use [`graph_lbfgs`](fn@crate::graph::graph_lbfgs). The certificate is the
/// duality gap, which is the mean over the graphs of `KL(m_i, p(. | x_i; w))`. The settings are those of
/// [`sdca`](fn@crate::methods::sdca), with the same loop, sampling and line search. A cold start is `Smoothed`, `Uniform` or
/// `Empirical`. The radii that `Lipschitz`, `LipschitzGap` and `Safe` use are upper bounds here.
///
/// ```
/// use fenchel_crf::{GraphDataset, GraphInstance, CliqueTemplate};
/// use fenchel_crf::graph::{GraphProblem, graph_sdca};
/// use fenchel_crf::methods::SdcaSettings;
///
/// // A cycle of three variables: nodes with one attribute of three, edges with a constant one.
/// let mut data = GraphDataset::new(vec![CliqueTemplate::new(&[2], 3), CliqueTemplate::new(&[2, 2], 1)])?;
/// for label in [0, 1, 1] {
///     let mut cycle = GraphInstance::new(&[2, 2, 2]);
///     for v in 0..3 {
///         cycle.clique(0, &[v], &[(label as u32, 1.0), (2, 1.0)]).clique(1, &[v, (v + 1) % 3], &[(0, 1.0)]);
///     }
///     data.push(cycle, &[label; 3])?;
/// }
/// let problem = GraphProblem::new(&data, 1.0 / 3.0, None)?;
/// let solution = graph_sdca(&problem, &SdcaSettings::default(), None, &mut ())?;
/// assert!(solution.report.certificate.relative() <= 1e-4);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// Source: R. Le Priol, A. Piche, S. Lacoste-Julien, "Adaptive stochastic dual coordinate ascent for conditional random
/// fields" (2018), section 3.2 and algorithm 2.
///
/// # Errors
/// [`Error::Refused`] before anything is allocated; [`Error::Invalid`] for settings out of range or a start of other graphs.
pub fn graph_sdca<'p, 'a, O: Observer<GraphSdca<'p, 'a>>>(
    problem: &'p GraphProblem<'a>,
    settings: &SdcaSettings,
    start: Option<GraphDualState>,
    observer: &mut O,
) -> Result<Solution<GraphDualState>, Error> {
    let cold = start.is_none();
    settings.check(cold)?;
    Refusal::check_memory("sdca", problem.memory(), settings.max_memory, NARROW)?;
    let marginals = match start {
        Some(state) => checked(problem, state.marginals)?,
        None => cold_marginals(problem, &settings.init)?,
    };
    let (method, report) = ascend(problem, settings, marginals, cold, observer)?;
    let (weights, marginals) = method.into_state();
    Ok(Solution { state: GraphDualState { weights, marginals }, report })
}

/// The running method on graphs: observers of [`graph_sdca`] receive it.
pub type GraphSdca<'p, 'a> = DualAscent<'p, GraphProblem<'a>, TreeMarginals>;

impl GraphSdca<'_, '_> {
    /// The current weights.
    pub fn weights(&self) -> &[f64] {
        self.flat_weights()
    }
}

/// The marginals of a cold start.
fn cold_marginals(problem: &GraphProblem<'_>, init: &Init) -> Result<Vec<TreeMarginals>, Error> {
    let Some(smoothing) = init.smoothing()? else {
        let what =
            "a start at tilted marginals or at the weights of a chain: see GraphDualState::at";
        return Err(Refusal::unsupported("graph_sdca", what).into());
    };
    let graphs = problem.items.iter().zip(&problem.data.truths);
    graphs
        .map(|(item, truth)| TreeMarginals::smoothed(problem.tree(item), truth, smoothing))
        .collect()
}

/// Checks that marginals fit the graphs. Otherwise the computed bound would not be valid.
fn checked(
    problem: &GraphProblem<'_>,
    marginals: Vec<TreeMarginals>,
) -> Result<Vec<TreeMarginals>, Error> {
    Invalid::check_length("start.marginals", problem.n(), marginals.len())?;
    for (i, (item, m)) in problem.items.iter().zip(&marginals).enumerate() {
        let fits = problem.tree(item).marginals_of(&m.cliques, &m.separators);
        fits.map_err(|error| Error::from(error).in_graph(i))?;
    }
    Ok(marginals)
}
