//! The estimator [`GraphCrf`]: from graphs to a model in one call.

use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{
    Certificate, Fit, MAX_MEMORY, Progress, Report, Status, Stop, Watch, settings,
};

use super::data::GraphDataset;
use super::lbfgs::graph_lbfgs;
use super::model::GraphModel;
use super::problem::GraphProblem;
use super::sdca::{GraphDualState, graph_sdca};
use crate::Error;
use crate::methods::sdca::SdcaSettings;
use crate::settings::{Method, check_finite, no_weights};
use crate::terms::Terms;
use crate::training::{DUAL_PASSES, left_of, pairs, whole};

settings! {
    /// A conditional random field on graphs of any shape whose junction trees fit into memory, such as trees, skip chains and
    /// narrow grids.
    ///
    /// ```text
    /// min_w  (1/n) sum_i -log p(y_i | x_i; w) + (l2/2) ||w||^2,   p(y | x; w) = exp(sum_C <W_t(C)' x_C, y_C>) / Z(x; w)
    /// ```
    ///
    /// over `n` graphs, with one matrix of weights per [`CliqueTemplate`](crate::CliqueTemplate).
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
    pub struct GraphCrf {
        /// Weight of `||w||^2 / 2`; `None` for one over the number of graphs.
        l2: Option<f64> = None,
        /// Training method. `Auto`: SDCA if the marginals fit into `max_memory`, with L-BFGS after 50 passes; otherwise L-BFGS.
        method: Method = Method::Auto,
        /// Bytes of each junction tree, and of all marginals of SDCA; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// When to end, see [`Stop`].
        stop: Stop = Stop { max_passes: 10_000.0, ..Stop::default() },
        /// Seed of the random order of SDCA.
        seed: u64 = 0,
    }
}

impl GraphCrf {
    /// Trains a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no graphs, parameters out of range, or an `l2` so small that the training overflows; [`Error::InGraph`] for a graph whose junction tree does not
    /// fit into `max_memory`; [`Error::Refused`] for method SDCA if all marginals together do not fit.
    pub fn fit(&self, data: &GraphDataset) -> Result<GraphModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with a former model of the same templates to start from and a closure that watches. `Break` ends
    /// the training with the best certified weights. From a start, `Auto` continues with L-BFGS; SDCA starts at the marginals
    /// of its weights. What is returned is never worse than the start.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), [`Error::Invalid`] for a start of other templates, and [`Error::Refused`] for weights: a graph
    /// counts as often as it is in the data.
    pub fn fit_with(
        &self,
        data: &GraphDataset,
        fit: Fit<'_, GraphModel>,
    ) -> Result<GraphModel, Error> {
        no_weights(fit.weights, "graphs; a graph counts as often as it is in the data")?;
        if fit.start.is_some_and(|start| start.templates() != data.templates()) {
            let reason = "expected the templates of the data".to_owned();
            return Err(Invalid::Layout { what: "start", reason }.into());
        }
        let l2 = self.l2.unwrap_or(1.0 / data.len().max(1) as f64);
        let problem = GraphProblem::new(data, l2, self.max_memory)?;
        let mut watch = fit.watch;
        let start = fit.start.map(|start| start.weights().to_vec());
        let (weights, report) = self.train(&problem, start, &mut watch)?;
        check_finite(l2, weights.iter(), &report)?;
        GraphModel::new(data.templates().to_vec(), weights, Some(report))
    }

    fn train(
        &self,
        problem: &GraphProblem<'_>,
        start: Option<Vec<f64>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let fits = self.max_memory.is_none_or(|limit| problem.memory() <= limit);
        match self.method {
            Method::Sdca => self.ascend(problem, self.stop, start, watch),
            Method::Auto if fits && start.is_none() => {
                let max_passes = self.stop.max_passes.min(DUAL_PASSES);
                let (weights, before) =
                    self.ascend(problem, Stop { max_passes, ..self.stop }, None, watch)?;
                let left = left_of(&self.stop, &before);
                let (Status::PassLimit, Some(stop)) = (before.status, left) else {
                    return Ok((weights, before));
                };
                // Under a weak penalty the weights of the dual variables may be worse than none.
                let none = problem.uniform_objective();
                let better = before.certificate.objective().is_some_and(|found| found <= none);
                descend(problem, stop, better.then_some(weights), Some(before), watch)
            }
            Method::Auto | Method::Lbfgs => descend(problem, self.stop, start, None, watch),
        }
    }

    fn ascend(
        &self,
        problem: &GraphProblem<'_>,
        stop: Stop,
        start: Option<Vec<f64>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let (max_memory, seed) = (self.max_memory, self.seed);
        let settings = SdcaSettings { max_memory, seed, stop, ..SdcaSettings::default() };
        let given = match start {
            None => None,
            Some(w) => Some((problem.objective(&w)?, GraphDualState::at(problem, w, max_memory)?)),
        };
        let (known, state) = given.unzip();
        let weights = state.as_ref().map(|state| state.weights.clone());
        let found = graph_sdca(problem, &settings, state, watch)?;
        let report = found.report;
        match (report.certificate, known, weights) {
            (Certificate::Gap { objective, lower_bound, rounding }, Some(known), Some(weights))
                if known < objective =>
            {
                let certificate = Certificate::gap_within(known, lower_bound, rounding);
                let met = stop.met_by(&certificate);
                let status = if met { Status::Converged } else { report.status };
                Ok((weights, Report { status, certificate, ..report }))
            }
            _ => Ok((found.state.weights, report)),
        }
    }
}

/// Runs L-BFGS from given weights. The report and the lower bound of the earlier method are included.
fn descend(
    problem: &GraphProblem<'_>,
    stop: Stop,
    start: Option<Vec<f64>>,
    before: Option<Report>,
    watch: &mut Watch<'_>,
) -> Result<(Vec<f64>, Report), Error> {
    let proved = |now: Certificate| whole(before, now);
    let mut show = |now: &Progress| {
        let certificate = proved(now.certificate);
        watch.show(&Progress { certificate, ..now.with_spent(before.as_ref()) })
    };
    let watches = Fit::<()>::new().watch(&mut show);
    let settings = LbfgsSettings { memory: pairs(problem.weights()), stop };
    let found = graph_lbfgs(problem, &settings, start, &mut { watches.watch })?;
    let all = found.report.with_spent(before.as_ref());
    let certificate = proved(all.certificate);
    let status = if stop.met_by(&certificate) { Status::Converged } else { all.status };
    Ok((found.state, Report { status, certificate, ..all }))
}
