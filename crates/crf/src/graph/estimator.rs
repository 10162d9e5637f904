//! The estimator [`GraphCrf`]: from graphs to a model in one call.

use std::ops::ControlFlow;

use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings};
use fenchel_optim::{Certificate, Progress, Report, Status, Stop};
use serde::{Deserialize, Serialize};

use super::data::GraphDataset;
use super::lbfgs::{GraphLikelihood, graph_lbfgs};
use super::model::GraphModel;
use super::problem::GraphProblem;
use super::sdca::{GraphSdca, GraphSdcaSettings, graph_sdca};
use crate::estimator::check_finite;
use crate::training::{DUAL_PASSES, left_of, pairs, whole};
use crate::{Error, Method};

/// A conditional random field on graphs of any shape whose junction trees fit into memory, such as trees, skip chains and
/// narrow grids.
///
/// ```text
/// min_w  (1/n) sum_i -log p(y_i | x_i; w) + (l2/2) ||w||^2,   p(y | x; w) = exp(sum_C <W_t(C)' x_C, y_C>) / Z(x; w)
/// ```
///
/// over `n` graphs, with one matrix of weights per [`CliqueTemplate`](crate::CliqueTemplate).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `l2` | 1/n | weight of the squared norm |
/// | `method` | `Auto` | SDCA if the marginals fit into `max_memory`, with L-BFGS after 50 passes; otherwise L-BFGS |
/// | `max_memory` | 4 GiB | bytes of each junction tree, and of all marginals of SDCA |
/// | `stop` | relative gap 1e-4, 10,000 passes | when to end, see [`Stop`] |
/// | `seed` | 0 | seed of the random order of SDCA |
///
/// ```
/// use fenchel_crf::{GraphCrf, GraphDataset, GraphInstance, CliqueTemplate};
///
/// // Roots with two children; attribute 0 or 1 shows a label, attribute 2 does not.
/// let tree = |shown: &[u32]| {
///     let mut tree = GraphInstance::new(&[2, 2, 2]);
///     shown.iter().enumerate().for_each(|(v, &a)| _ = tree.clique(0, &[v], &[(a, 1.0)]));
///     tree.clique(1, &[0, 1], &[(0, 1.0)]).clique(1, &[0, 2], &[(0, 1.0)]);
///     tree
/// };
/// let mut data = GraphDataset::new(vec![CliqueTemplate::new(&[2], 3), CliqueTemplate::new(&[2, 2], 1)])?;
/// data.push(tree(&[0, 0, 0]), &[0, 0, 0])?;
/// data.push(tree(&[1, 1, 1]), &[1, 1, 1])?;
/// let model = GraphCrf::default().fit(&data)?;
/// assert_eq!(model.predict(&tree(&[2, 1, 2]))?, [1, 1, 1]);
/// println!("{}", model.report.expect("trained here")); // how far from the optimum, proved
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphCrf {
    /// Weight of `||w||^2 / 2`; `None` for one over the number of graphs.
    pub l2: Option<f64>,
    /// What trains.
    pub method: Method,
    /// Bytes of each junction tree, and of all marginals of SDCA; `None` for no limit.
    pub max_memory: Option<u64>,
    /// When to end.
    pub stop: Stop,
    /// Seed of the random order of SDCA.
    pub seed: u64,
}

impl Default for GraphCrf {
    fn default() -> Self {
        let crate::Crf { l2, method, max_memory, stop, seed, .. } = crate::Crf::default();
        GraphCrf { l2, method, max_memory, stop, seed }
    }
}

impl GraphCrf {
    /// Trains a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no graphs, parameters out of range, or an `l2` so small that the training overflows; [`Error::InGraph`] for a graph whose junction tree does not
    /// fit into `max_memory`; [`Error::Refused`] for method SDCA if all marginals together do not fit.
    pub fn fit(&self, data: &GraphDataset) -> Result<GraphModel, Error> {
        self.fit_watched(data, |_| ControlFlow::Continue(()))
    }

    /// Trains a model and calls `watch` at every check. `Break` ends the training with the best certified weights.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn fit_watched(
        &self,
        data: &GraphDataset,
        mut watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<GraphModel, Error> {
        let l2 = self.l2.unwrap_or(1.0 / data.len().max(1) as f64);
        let problem = GraphProblem::new(data, l2, self.max_memory)?;
        let (weights, report) = self.train(&problem, &mut watch)?;
        check_finite(l2, weights.iter(), &report)?;
        GraphModel::new(data.templates().to_vec(), weights, Some(report))
    }

    fn train(
        &self,
        problem: &GraphProblem<'_>,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let fits = self.max_memory.is_none_or(|limit| problem.memory() <= limit);
        match self.method {
            Method::Sdca => self.ascend(problem, self.stop, watch),
            Method::Auto if fits => {
                let max_passes = self.stop.max_passes.min(DUAL_PASSES);
                let (weights, before) =
                    self.ascend(problem, Stop { max_passes, ..self.stop }, watch)?;
                let left = left_of(&self.stop, &before);
                let (Status::PassLimit, Some(stop)) = (before.status, left) else {
                    return Ok((weights, before));
                };
                // Under a weak penalty the weights of the dual variables may be worse than none.
                let none = problem.uniform_objective();
                let better = before.certificate.objective().is_some_and(|found| found <= none);
                descend(problem, stop, better.then_some(weights), Some(before), watch)
            }
            Method::Auto | Method::Lbfgs => descend(problem, self.stop, None, None, watch),
        }
    }

    fn ascend(
        &self,
        problem: &GraphProblem<'_>,
        stop: Stop,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let (max_memory, seed) = (self.max_memory, self.seed);
        let settings = GraphSdcaSettings { max_memory, seed, stop, ..GraphSdcaSettings::default() };
        let mut look = |progress: &Progress, _: &GraphSdca<'_, '_>| watch(progress);
        let found = graph_sdca(problem, &settings, None, &mut look)?;
        Ok((found.state.weights, found.report))
    }
}

/// Runs L-BFGS from given weights. The report and the lower bound of the earlier method are included.
fn descend(
    problem: &GraphProblem<'_>,
    stop: Stop,
    start: Option<Vec<f64>>,
    before: Option<Report>,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(Vec<f64>, Report), Error> {
    let (passes, calls, seconds) =
        before.map_or((0.0, 0, 0.0), |r| (r.passes, r.oracle_calls, r.seconds));
    let proved = |now: Certificate| whole(before, now);
    let mut look = |now: &Progress, _: &Lbfgs<GraphLikelihood<'_, '_>>| {
        watch(&Progress {
            passes: passes + now.passes,
            oracle_calls: calls + now.oracle_calls,
            seconds: seconds + now.seconds,
            certificate: proved(now.certificate),
        })
    };
    let settings = LbfgsSettings { memory: pairs(problem.weights()), stop };
    let found = graph_lbfgs(problem, &settings, start, &mut look)?;
    let now = found.report;
    let certificate = proved(now.certificate);
    let status = if stop.met_by(&certificate) { Status::Converged } else { now.status };
    let (passes, seconds) = (passes + now.passes, seconds + now.seconds);
    let oracle_calls = calls + now.oracle_calls;
    Ok((found.state, Report { status, certificate, passes, oracle_calls, seconds }))
}
