//! SDCA on clique marginals.
//!
//! The dual variables are the marginals `m_i` of one distribution over labellings a sequence; the weights are
//! `w(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_m F(x_i, .)]` at all times. A step on block `i`:
//!
//! | symbol | what | where |
//! |---|---|---|
//! | `p` | the model's own marginals at `w`: one oracle call | [`Chain::marginals`](fenchel_graphical::chain::Chain::marginals) |
//! | `d = p - m_i` | direction on the marginals | |
//! | `v = -1/(l2 n) F d` | direction on the weights | |
//! | `s` | step that maximises the dual along the two | [`SdcaStep`] |
//! | `m_i + s d`, `w + s v` | the move | |
//! | `g_i = KL(m_i, p)` | the block's gap; `P(w) - D(m)` is their mean | [`Sampling`] |

mod init;
mod line_search;
mod sampling;

use fenchel_graphical::chain::{Chain, ChainMarginals, Probability, stride};
use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::{Certificate, Iterative, Observer, Solution, Status, Stop, run};
use serde::{Deserialize, Serialize};

pub use init::Init;
pub use line_search::{NewtonStart, SdcaStep};
pub use sampling::Sampling;

use crate::layout::Rows;
use crate::objective::{Objective, each};
use crate::{Dataset, Error, Problem, Weights, radius_heuristic, radius_upper};
use line_search::Line;
use sampling::Sampler;

/// Passes between two computations of `w` from the marginals, which remove what rounding has added up.
const REFRESH: usize = 50;

/// Settings of [`sdca`](fn@sdca).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `sampling` | `Gap` | which sequence is next |
/// | `non_uniformity` | 0.8 | share of the adaptive draws; the others are uniform |
/// | `step` | `SingleNewton` | how far a block moves |
/// | `init` | `Smoothed { smoothing: 1e-3 }` | where a cold start starts |
/// | `refresh` | none | passes between two looks at all gaps, each worth a pass |
/// | `max_memory` | none | bytes that the marginals may take |
/// | `seed` | 0 | of the visits |
/// | `stop` | see [`Stop`] | when to end |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SdcaSettings {
    /// Which sequence is next.
    pub sampling: Sampling,
    /// Share of the adaptive draws, in `[0, 1]`.
    pub non_uniformity: f64,
    /// How far a block moves.
    pub step: SdcaStep,
    /// Where a cold start starts.
    pub init: Init,
    /// Passes between two looks at all gaps.
    pub refresh: Option<usize>,
    /// Bytes that the marginals may take.
    pub max_memory: Option<u64>,
    /// Seed of the visits.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for SdcaSettings {
    fn default() -> Self {
        SdcaSettings {
            sampling: Sampling::default(),
            non_uniformity: 0.8,
            step: SdcaStep::default(),
            init: Init::default(),
            refresh: None,
            max_memory: None,
            seed: 0,
            stop: Stop::default(),
        }
    }
}

/// The state of [`sdca`](fn@sdca): marginals a sequence, and their weights.
///
/// A warm start reads the marginals only, so that the state of another `l2` will do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualState<T = f32> {
    /// The weights.
    pub weights: Weights,
    /// The dual variables, stored as `T`.
    pub marginals: Vec<ChainMarginals<T>>,
}

/// Bytes that the marginals of a data set take when pairs are stored as `T`: `K^2 (T - 1)` entries a sequence.
pub fn memory<T>(data: &Dataset) -> u64 {
    let (n, tokens, labels) = (data.sequences(), data.tokens(), data.labels());
    let padding = stride(labels) - labels;
    let pairs = (tokens - n) as u128 * (labels as u128).pow(2) + (n * padding) as u128;
    let nodes = tokens as u128 * stride(labels) as u128;
    let buffers = n as u128 * size_of::<ChainMarginals<T>>() as u128;
    u64::try_from(pairs * size_of::<T>() as u128 + 8 * nodes + buffers).unwrap_or(u64::MAX)
}

/// Stochastic dual coordinate ascent for conditional random fields with adaptive sampling.
///
/// No step size, a duality gap as the certificate, and few passes on sparse text. Stores the marginals of all pairs as `T`:
/// `f32` takes half the memory of `f64` and cannot prove a gap below `1.2e-7 (1 + log K)` a token; `LogF64` is for cross-checks. A step costs
/// one oracle call, O(entries K + T K^2), and two or three passes over the block's marginals. Where `K^2 N` numbers are too
/// many, use [`lbfgs`](fn@crate::lbfgs).
///
/// The dual suboptimality falls in expectation by the factor `1 - 1/(n + R/l2)` a step when blocks are drawn uniformly, and
/// faster when they are drawn by their gaps.
///
/// Source: R. Le Priol, A. Piche, S. Lacoste-Julien, "Adaptive stochastic dual coordinate ascent for conditional random
/// fields" (2018), algorithm 2; S. Shalev-Shwartz and T. Zhang, "Accelerated proximal stochastic dual coordinate ascent for
/// regularized loss minimization" (2014), option II.
///
/// # Errors
/// [`Error::MemoryLimit`] before anything is allocated; [`Error::Invalid`] for settings out of range or a start of another
/// shape.
pub fn sdca<'p, 'a, T, O>(
    problem: &'p Problem<'a>,
    settings: &SdcaSettings,
    start: Option<DualState<T>>,
    observer: &mut O,
) -> Result<Solution<DualState<T>>, Error>
where
    T: Probability,
    O: Observer<Sdca<'p, 'a, T>>,
{
    settings.stop.check()?;
    let mut method = Sdca::new(problem, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let weights = method.weights();
    Ok(Solution { state: DualState { weights, marginals: method.marginals }, report })
}

/// SDCA on one problem: what an observer of [`sdca`](fn@sdca) sees.
pub struct Sdca<'p, 'a, T> {
    problem: &'p Problem<'a>,
    step: SdcaStep,
    refresh: Option<usize>,
    w: Vec<f64>,
    marginals: Vec<ChainMarginals<T>>,
    sampler: Sampler,
    /// `H(m_i)`; empty unless the step tracks them.
    entropies: Vec<f64>,
    /// The last step of every block.
    steps: Vec<f64>,
    /// `1 / (1 + R_i / (l2 n))`; empty unless the step needs it.
    safe: Vec<f64>,
    dual: f64,
    block: Block<T>,
    objective: Objective<'p, 'a>,
    visits: u64,
    oracle_calls: u64,
    evaluations: u64,
    step_sum: f64,
    cold: bool,
    broken: bool,
}

/// The memory of one step.
struct Block<T> {
    chain: Chain,
    rows: Rows,
    scores: Vec<f64>,
    /// `p`
    target: ChainMarginals<T>,
    /// `d` on positions, rows of `stride`.
    nodes: Vec<f64>,
    /// `sum_t d_t` on pairs, `K x K`.
    pairs: Vec<f64>,
    /// `F d` on the rows that the sequence touches.
    sums: Vec<f64>,
}

impl<'p, 'a, T: Probability> Sdca<'p, 'a, T> {
    fn new(
        problem: &'p Problem<'a>,
        settings: &SdcaSettings,
        start: Option<DualState<T>>,
    ) -> Result<Self, Error> {
        let (n, data) = (problem.n(), problem.data());
        let needed = memory::<T>(data);
        if let Some(limit) = settings.max_memory.filter(|&limit| limit < needed) {
            let hint = "store pairs as f32, merge labels, or train with lbfgs";
            return Err(Error::MemoryLimit { method: "sdca", needed, limit, hint });
        }
        settings.step.check()?;
        let cold = start.is_none();
        if settings.init == Init::Empirical && cold && !settings.step.starts_anywhere() {
            let (name, value) = ("init.smoothing", 0.0);
            let expected = "more than 0, or a step of the kind Fixed or Brent";
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        let marginals = match start {
            Some(state) => checked(data, state.marginals)?,
            None => settings.init.marginals(problem)?,
        };
        let scale = 1.0 / (problem.l2() * n as f64);
        let importance = if settings.sampling.needs_radii() {
            (0..n).map(|i| 1.0 + scale * radius_heuristic(data, i)).collect()
        } else {
            Vec::new()
        };
        let safe = if settings.step == SdcaStep::Safe {
            (0..n).map(|i| 1.0 / (1.0 + scale * radius_upper(data, i))).collect()
        } else {
            Vec::new()
        };
        // More than any block can have at first: P(0) is their mean at the true labels.
        let first = 10.0 * data.tokens() as f64 / n as f64 * (data.labels() as f64).ln();
        let sampler = Sampler::new(
            &settings.sampling,
            n,
            settings.non_uniformity,
            importance,
            first.max(100.0),
            settings.seed,
        )?;
        let labels = data.labels();
        let mut method = Sdca {
            problem,
            step: settings.step,
            refresh: settings.refresh.filter(|&period| period > 0),
            w: Vec::new(),
            sampler,
            entropies: Vec::new(),
            steps: vec![0.5; n],
            safe,
            dual: f64::NAN,
            block: Block {
                chain: Chain::shared(labels, 1)?,
                rows: Rows::default(),
                scores: Vec::new(),
                target: ChainMarginals::new(),
                nodes: Vec::new(),
                pairs: vec![0.0; labels * labels],
                sums: Vec::new(),
            },
            objective: Objective::new(problem),
            marginals,
            visits: 0,
            oracle_calls: 0,
            evaluations: 0,
            step_sum: 0.0,
            cold,
            broken: false,
        };
        method.recompute();
        Ok(method)
    }

    /// The current weights.
    pub fn weights(&self) -> Weights {
        self.problem.layout.unpack(&self.w)
    }

    /// The marginals of every sequence.
    pub fn marginals(&self) -> &[ChainMarginals<T>] {
        &self.marginals
    }

    /// The last known gap of every block; a large number for those that have not been visited.
    pub fn gaps(&self) -> &[f64] {
        self.sampler.gaps()
    }

    /// The dual value, kept up to date at no cost by all steps but `SingleNewton`, which does not know it.
    pub fn dual(&self) -> Option<f64> {
        Some(self.dual).filter(|dual| !dual.is_nan())
    }

    /// Mean step so far.
    pub fn mean_step(&self) -> f64 {
        self.step_sum / self.visits.max(1) as f64
    }

    /// Mean evaluations of a line search so far.
    pub fn mean_evaluations(&self) -> f64 {
        self.evaluations as f64 / self.visits.max(1) as f64
    }

    /// `w`, the entropies and the dual value from the marginals.
    fn recompute(&mut self) {
        self.w = weights_of(self.problem, &mut self.objective, &self.marginals);
        if self.step.tracks() {
            self.entropies = entropies(&self.marginals);
            self.dual = mean(&self.entropies) - self.problem.penalty(&self.w);
        }
    }

    /// Writes the model's marginals of sequence `i` to the target; returns `log Z`.
    fn infer(&mut self, i: usize) -> Option<f64> {
        let sequence = self.problem.data().sequence(i);
        let (layout, block) = (&self.problem.layout, &mut self.block);
        layout.locate(&sequence, &mut block.rows);
        layout.scores(&self.w, &sequence, &block.rows, &mut block.scores);
        layout.write_transitions(&self.w, &mut block.chain);
        block.chain.resize(sequence.len()).ok()?;
        block.chain.padded_unary_mut().copy_from_slice(&block.scores);
        block.chain.seal();
        self.oracle_calls += 1;
        block.chain.marginals(&mut block.target).ok().filter(|log_z| log_z.is_finite())
    }

    /// The scores of `w` against expected features: `<u, nodes> + <M, pairs>`, with `pairs` `K x K`.
    fn expected_score(&self, nodes: &[f64], pairs: &[f64]) -> f64 {
        let labels = self.problem.data().labels();
        let transitions: f64 = pairs
            .chunks_exact(labels)
            .enumerate()
            .map(|(j, row)| lanes::dot(self.block.chain.pairwise(0, j), row))
            .sum();
        lanes::dot(&self.block.scores, nodes) + transitions
    }

    /// `g_i` from `log Z - H(m_i) - E_m s`, which cancels to about 1e-13 of `log Z`.
    fn gap(&self, i: usize, log_partition: f64) -> f64 {
        let labels = self.problem.data().labels();
        let mut pairs = vec![0.0; labels * labels];
        let marginals = &self.marginals[i];
        marginals.add_pairs(&mut pairs);
        let score = self.expected_score(marginals.padded_nodes(), &pairs);
        (log_partition - self.entropies[i] - score).max(0.0)
    }

    /// Algorithm 2 on block `i`.
    fn climb(&mut self, i: usize) {
        let Some(log_partition) = self.infer(i) else {
            self.broken = true;
            return;
        };
        let problem = self.problem;
        let layout = &problem.layout;
        let sequence = problem.data().sequence(i);
        let tracked = self.step.tracks().then(|| (self.entropies[i], self.gap(i, log_partition)));
        let (block, from) = (&mut self.block, &self.marginals[i]);
        block.nodes.clear();
        let targets = block.target.padded_nodes().iter();
        block.nodes.extend(targets.zip(from.padded_nodes()).map(|(p, m)| p - m));
        block.pairs.fill(0.0);
        from.add_pair_differences(&block.target, &mut block.pairs);
        let linear = self.expected_score(&self.block.nodes, &self.block.pairs);
        let block = &mut self.block;
        layout.sums(&block.nodes, &sequence, &block.rows, &mut block.sums);
        layout.mask_pairs(&mut block.pairs);
        let square = lanes::dispatch(|| {
            lanes::dot(&block.sums, &block.sums) + lanes::dot(&block.pairs, &block.pairs)
        });
        let scale = 1.0 / (problem.l2() * problem.n() as f64);
        let line = Line {
            from,
            target: &block.target,
            linear,
            quadratic: scale * square,
            tracked,
            previous: self.steps[i],
            safe: self.safe.get(i).copied().unwrap_or(0.0),
        };
        let found = line.search(self.step);
        if let (Some((before, _)), Some(after)) = (tracked, found.entropy) {
            let gain =
                after - before + found.step * (line.linear - 0.5 * found.step * line.quadratic);
            self.dual += gain / problem.n() as f64;
            self.entropies[i] = after;
        }
        self.marginals[i].mix(&block.target, found.step);
        layout.scatter(-found.step * scale, &block.rows, &block.sums, &mut self.w);
        layout.scatter_pairs(-found.step * scale, &block.pairs, &mut self.w);
        self.sampler.record(i, found.gap);
        self.steps[i] = found.step;
        self.step_sum += found.step;
        self.evaluations += u64::from(found.evaluations);
    }

    /// Records the true gap of every block: n oracle calls.
    fn refresh_gaps(&mut self) {
        let known = std::mem::take(&mut self.entropies);
        self.entropies = entropies(&self.marginals);
        for i in 0..self.problem.n() {
            if let Some(log_partition) = self.infer(i) {
                let gap = self.gap(i, log_partition);
                self.sampler.record(i, gap);
            }
        }
        self.entropies = known;
    }
}

impl<T: Probability> Iterative for Sdca<'_, '_, T> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.cold = false;
        let n = self.problem.n();
        let steps = (passes * n as f64).round().max(1.0);
        for _ in 0..steps as u64 {
            let i = self.sampler.draw();
            self.climb(i);
            self.visits += 1;
            if self.visits.is_multiple_of(n as u64) {
                let pass = (self.visits / n as u64) as usize;
                if pass.is_multiple_of(REFRESH) {
                    self.recompute();
                }
                if self.refresh.is_some_and(|period| pass.is_multiple_of(period)) {
                    self.refresh_gaps();
                }
            }
            if self.broken {
                break;
            }
        }
        steps / n as f64
    }

    /// `P` at the current weights against `D` at the marginals, with their own weights computed afresh.
    fn certify(&mut self) -> Certificate {
        let objective = self.objective.value(&self.w);
        let w = weights_of(self.problem, &mut self.objective, &self.marginals);
        let dual = mean(&entropies(&self.marginals)) - self.problem.penalty(&w);
        // Marginals in single precision are consistent up to rounding only: the entropies of a token's pairs, each at most
        // log K or so, may be off by that, and the bound steps back by more.
        let data = self.problem.data();
        let length = data.tokens() as f64 / self.problem.n() as f64;
        let slack = 2.0 * T::ROUNDING * length * (1.0 + (data.labels() as f64).ln());
        Certificate::gap(objective, dual - slack)
    }

    fn oracle_calls(&self) -> u64 {
        self.oracle_calls
    }

    /// The mean of the last known gaps; a cold start is not worth a certificate.
    fn estimate(&self) -> Option<f64> {
        Some(if self.cold { f64::INFINITY } else { mean(self.sampler.gaps()) })
    }

    /// Scores that overflow have no marginals.
    fn verdict(&self) -> Option<Status> {
        self.broken.then_some(Status::Diverged)
    }
}

/// `w(m)`
pub(crate) fn weights_of<T: Probability>(
    problem: &Problem<'_>,
    objective: &mut Objective<'_, '_>,
    marginals: &[ChainMarginals<T>],
) -> Vec<f64> {
    let scale = 1.0 / (problem.l2() * problem.n() as f64);
    let expected = objective.expected(marginals);
    problem.counts.iter().zip(expected).map(|(count, e)| scale * (count - e)).collect()
}

pub(crate) fn entropies<T: Probability>(marginals: &[ChainMarginals<T>]) -> Vec<f64> {
    let mut entropies: Vec<(&ChainMarginals<T>, f64)> =
        marginals.iter().map(|m| (m, 0.0)).collect();
    each(&mut entropies, |(m, entropy)| *entropy = m.entropy());
    entropies.into_iter().map(|(_, entropy)| entropy).collect()
}

pub(crate) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Marginals that fit the data.
pub(crate) fn checked<T: Probability>(
    data: &Dataset,
    marginals: Vec<ChainMarginals<T>>,
) -> Result<Vec<ChainMarginals<T>>, Error> {
    Invalid::check_length("start.marginals", data.sequences(), marginals.len())?;
    for (sequence, m) in data.iter().zip(&marginals) {
        Invalid::check_length("length of a start's marginals", sequence.len(), m.length())?;
        Invalid::check_length("labels of a start's marginals", data.labels(), m.states())?;
        if !m.is_consistent(1e-3) {
            let reason = "do not sum to 1 or contradict each other".to_string();
            return Err(Invalid::Layout { what: "start.marginals", reason }.into());
        }
    }
    Ok(marginals)
}
