//! SDCA on the marginals of junction trees: algorithm 2 of Le Priol, Piche and Lacoste-Julien (2018), for any decomposable
//! model.

use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::random::Order;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, MAX_MEMORY, Observer, Refusal, Solution, Status, Stop,
    run, settings,
};

use super::oracle::{Oracle, TreeMarginals};
use super::problem::GraphProblem;
use crate::Error;
use crate::methods::sdca::SdcaStep;
use crate::methods::sdca::line_search::Line;
use crate::methods::sdca::mean;
use crate::methods::sdca::sampling::{Sampler, needs_radii};

/// Number of passes after which `w` is computed anew from the marginals, to remove accumulated rounding errors.
const REFRESH: u64 = 50;

/// What to do if the marginals need too much memory.
const NARROW: &str = "narrow the graphs, or train with L-BFGS";

settings! {
    /// Settings of [`graph_sdca`].
    ///
    /// The radii that `Lipschitz`, `LipschitzGap` and [`SdcaStep::Safe`] use are upper bounds here.
    pub struct GraphSdcaSettings {
        /// Order of the graphs, as for [`SdcaSettings`](crate::methods::SdcaSettings).
        order: Order = Order::Gap,
        /// Fraction of adaptive draws, in `[0, 1]`; the others are uniform.
        non_uniformity: f64 = 0.8,
        /// Line search of a graph's marginals.
        step: SdcaStep = SdcaStep::default(),
        /// Fraction of the uniform distribution in a cold start, in (0, 1].
        smoothing: f64 = 1e-3,
        /// Bytes that the marginals may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visits.
        seed: u64 = 0,
        /// When to end.
        stop: Stop = Stop::default(),
    }
}

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
        let mut oracle = Oracle::new(&problem.structures);
        let mut marginals = Vec::with_capacity(problem.n());
        for item in &problem.items {
            let log_z = oracle.infer(problem, item, &weights).unwrap_or(f64::NAN);
            Invalid::check_finite("log-partition function at the start", &[log_z])?;
            marginals.push(oracle.target.clone());
        }
        Ok(GraphDualState { weights, marginals })
    }
}

/// Stochastic dual coordinate ascent with adaptive sampling, for graphs.
///
/// A step calibrates the junction tree of one graph, and takes two or three passes over its marginals. The method needs
/// [`GraphProblem::memory`] bytes; if that is too much, use [`graph_lbfgs`](fn@crate::graph::graph_lbfgs). The certificate is the
/// duality gap, which is the mean over the graphs of `KL(m_i, p(. | x_i; w))`.
///
/// ```
/// use fenchel_crf::{GraphDataset, GraphInstance, CliqueTemplate};
/// use fenchel_crf::graph::{GraphProblem, GraphSdcaSettings, graph_sdca};
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
/// let solution = graph_sdca(&problem, &GraphSdcaSettings::default(), None, &mut ())?;
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
    settings: &GraphSdcaSettings,
    start: Option<GraphDualState>,
    observer: &mut O,
) -> Result<Solution<GraphDualState>, Error> {
    let mut method = GraphSdca::new(problem, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let GraphSdca { w: weights, marginals, .. } = method;
    Ok(Solution { state: GraphDualState { weights, marginals }, report })
}

/// The running method: observers of [`graph_sdca`] receive it.
pub struct GraphSdca<'p, 'a> {
    problem: &'p GraphProblem<'a>,
    step: SdcaStep,
    w: Vec<f64>,
    marginals: Vec<TreeMarginals>,
    sampler: Sampler,
    /// `H(m_i)`; empty unless the step tracks them.
    entropies: Vec<f64>,
    /// The last step of every graph.
    steps: Vec<f64>,
    /// `1 / (1 + R_i / (l2 n))`; empty unless the step needs it.
    safe: Vec<f64>,
    oracle: Oracle,
    /// The marginals `m_i`, then `d = p - m_i`, on the cells of the current graph.
    direction: Vec<f64>,
    /// The features `F d` on the rows of the graph.
    sums: Vec<f64>,
    visits: u64,
    oracle_calls: u64,
    broken: bool,
    /// The weights with the lowest certified objective.
    best: Option<Vec<f64>>,
}

impl<'p, 'a> GraphSdca<'p, 'a> {
    fn new(
        problem: &'p GraphProblem<'a>,
        settings: &GraphSdcaSettings,
        start: Option<GraphDualState>,
    ) -> Result<Self, Error> {
        settings.stop.check()?;
        settings.step.check()?;
        let smoothing = settings.smoothing;
        if !(smoothing > 0.0 && smoothing <= 1.0) {
            let (name, expected) = ("smoothing", "a number in (0, 1]");
            return Err(Invalid::Parameter { name, value: smoothing, expected }.into());
        }
        Refusal::check_memory("sdca", problem.memory(), settings.max_memory, NARROW)?;
        let graphs = problem.items.iter().zip(&problem.data.truths);
        let marginals: Vec<TreeMarginals> = match start {
            Some(state) => checked(problem, state.marginals)?,
            None => graphs
                .map(|(item, truth)| TreeMarginals::smoothed(problem.tree(item), truth, smoothing))
                .collect::<Result<_, _>>()?,
        };
        let conditions = |needed: bool| if needed { problem.conditions() } else { Vec::new() };
        let GraphSdcaSettings { order, non_uniformity, seed, .. } = settings;
        // More than any graph can have: P(0) is their mean at the true labels.
        let first = (10.0 * problem.uniform_objective()).max(100.0);
        let importance = conditions(needs_radii(order));
        let n = problem.n();
        let mut method = GraphSdca {
            problem,
            step: settings.step,
            w: Vec::new(),
            sampler: Sampler::new(order, n, *non_uniformity, importance, first, *seed)?,
            entropies: Vec::new(),
            steps: vec![0.5; n],
            safe: conditions(settings.step == SdcaStep::Safe).iter().map(|c| 1.0 / c).collect(),
            oracle: Oracle::new(&problem.structures),
            direction: Vec::new(),
            sums: Vec::new(),
            marginals,
            visits: 0,
            oracle_calls: 0,
            broken: false,
            best: None,
        };
        method.recompute();
        Ok(method)
    }

    /// The current weights.
    pub fn weights(&self) -> &[f64] {
        &self.w
    }

    /// The marginals of every graph.
    pub fn marginals(&self) -> &[TreeMarginals] {
        &self.marginals
    }

    /// The last known gap of every graph, or a large number for a graph that has not been visited. The gaps are exact for all
    /// steps except `SingleNewton`, which estimates them.
    pub fn gaps(&self) -> &[f64] {
        self.sampler.gaps()
    }

    /// `1 / (l2 n)`
    fn scale(&self) -> f64 {
        1.0 / (self.problem.l2 * self.problem.n() as f64)
    }

    /// Computes `w` and the entropies anew from the marginals.
    fn recompute(&mut self) {
        self.w = self.weights_of();
        if self.step.tracks() {
            self.entropies = self.marginals.iter().map(TreeMarginals::entropy).collect();
        }
    }

    /// The weights `w(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_m F(x_i, .)]`.
    fn weights_of(&mut self) -> Vec<f64> {
        let scale = self.scale();
        let mut w: Vec<f64> = self.problem.counts.iter().map(|count| scale * count).collect();
        for (item, m) in self.problem.items.iter().zip(&self.marginals) {
            self.oracle.cells(self.problem, item, m, &mut self.direction);
            item.sums(&self.direction, &mut self.sums);
            item.scatter(-scale, &self.sums, &mut w);
        }
        w
    }

    /// A step of algorithm 2 on one graph: call the oracle, compute the directions of marginals and weights, search the line,
    /// update.
    fn climb(&mut self) {
        let (problem, scale) = (self.problem, self.scale());
        let i = self.sampler.draw();
        let item = &problem.items[i];
        self.oracle_calls += 1;
        let Some(log_z) = self.oracle.infer(problem, item, &self.w) else {
            self.broken = true;
            return;
        };
        self.oracle.cells(problem, item, &self.marginals[i], &mut self.direction);
        let score = self.oracle.expected_score(&self.direction);
        let gap = |entropy: &f64| (*entropy, (log_z - entropy - score).max(0.0));
        let tracked = self.entropies.get(i).map(gap);
        let expected = self.oracle.expected.iter();
        self.direction.iter_mut().zip(expected).for_each(|(d, p)| *d = p - *d);
        item.sums(&self.direction, &mut self.sums);
        let line = Line {
            from: &self.marginals[i],
            target: &self.oracle.target,
            linear: self.oracle.expected_score(&self.direction),
            quadratic: scale * lanes::dot(&self.sums, &self.sums),
            bend: None,
            tracked,
            previous: self.steps[i],
            safe: self.safe.get(i).copied().unwrap_or(0.0),
        };
        let found = line.search(self.step);
        item.scatter(-scale * found.step, &self.sums, &mut self.w);
        self.marginals[i].mix(&self.oracle.target, found.step);
        if let (Some(entropy), Some(known)) = (found.entropy, self.entropies.get_mut(i)) {
            *known = entropy;
        }
        self.sampler.record(i, found.gap);
        self.steps[i] = found.step;
        self.visits += 1;
    }
}

impl Iterative for GraphSdca<'_, '_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.problem.n();
        let wanted = (passes * n as f64).round().max(1.0) as usize;
        for _ in 0..wanted {
            self.climb();
            if self.broken {
                break;
            }
            if self.visits.is_multiple_of(REFRESH * n as u64) {
                self.recompute();
            }
        }
        wanted as f64 / n as f64
    }

    /// The gap between `P` at the current weights and `D` at the marginals, whose weights are computed anew.
    fn certify(&mut self) -> Certificate {
        let objective = self.problem.value(&self.w, &mut self.oracle);
        let w = self.weights_of();
        let entropies: Vec<f64> = self.marginals.iter().map(TreeMarginals::entropy).collect();
        Certificate::gap(objective, mean(&entropies) - 0.5 * self.problem.l2 * lanes::dot(&w, &w))
    }

    /// The primal objective may increase while the dual increases.
    fn returns_best(&self) -> bool {
        true
    }

    /// Restores the weights only. The marginals stay, because the dual value never decreases.
    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.w = best;
        }
    }

    fn keep(&mut self) {
        self.best = Some(self.w.clone());
    }

    fn oracle_calls(&self) -> u64 {
        self.oracle_calls
    }

    /// The mean of the last known gaps. A cold start is not certified.
    fn certificate_cost(&self) -> CertificateCost {
        if self.visits == 0 {
            CertificateCost::Uninformative
        } else {
            CertificateCost::Estimated(mean(self.sampler.gaps()))
        }
    }

    /// If scores overflow, the marginals are undefined.
    fn verdict(&self) -> Option<Status> {
        self.broken.then_some(Status::Diverged)
    }
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
