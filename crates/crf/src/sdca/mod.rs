//! Stochastic dual coordinate ascent (SDCA) on clique marginals.
//!
//! The dual variables are the marginals `m_i` of one distribution over labellings per sequence. The variables of one sequence
//! are a block. The weights are `w(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_m F(x_i, .)]` at all times. A step on block `i`
//! computes:
//!
//! | symbol | what | where |
//! |---|---|---|
//! | `p` | the model's own marginals at `w`: one oracle call | [`Chain::marginals`](fenchel_graphical::chain::Chain::marginals) |
//! | `d = p - m_i` | direction on the marginals | |
//! | `v = -1/(l2 n) F d` | direction on the weights | |
//! | `s` | step that maximises the dual along both directions | [`SdcaStep`] |
//! | `m_i + s d`, `w + s v` | the new marginals and weights | |
//! | `g_i = KL(m_i, p)` | the gap of the block; `P(w) - D(m)` is the mean of all `g_i` | [`SdcaSettings::order`] |

mod block;
mod init;
pub(crate) mod line_search;
pub(crate) mod sampling;

use fenchel_graphical::chain::{ChainMarginals, Probability, stride};
use fenchel_linalg::Invalid;
use fenchel_optim::random::Order;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, MAX_MEMORY, Observer, Refusal, Solution, Status, Stop,
    run,
};
use serde::{Deserialize, Serialize};

pub use init::Init;
pub use line_search::{NewtonStart, SdcaStep};

use crate::objective::{Objective, each};
use crate::{Dataset, Error, Problem, Weights, radius_heuristic, radius_upper};
use block::{Block, Known};
use sampling::{Sampler, needs_radii};

/// Number of passes after which `w` is computed anew from the marginals, to remove accumulated rounding errors.
const REFRESH: usize = 50;

/// Settings of [`sdca`](fn@sdca).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `order` | `Gap` | order of the sequences: see below |
/// | `non_uniformity` | 0.8 | fraction of adaptive draws; the others are uniform |
/// | `step` | `SingleNewton` | line search of a block |
/// | `init` | `Smoothed { smoothing: 1e-3 }` | marginals of a cold start |
/// | `batch` | 1, as in Le Priol et al. (2018) | number of blocks that compute their directions in parallel |
/// | `refresh` | none | passes between two updates of all gaps, each of which costs a pass |
/// | `max_memory` | 4 GiB | bytes that the marginals may take |
/// | `seed` | 0 | seed of the order |
/// | `stop` | see [`Stop`] | when to end |
///
/// Orders that use gaps store the gap of every sequence from its last visit. With probability `1 - non_uniformity` a sequence
/// is drawn uniformly instead, so that no stored gap becomes too old. For the orders of [`Order`], `L_i` is the squared radius
/// `R_i` of the features and `mu` is `l2`. In Le Priol et al. (2018) the order `Lipschitz` is called Importance, `LipschitzGap`
/// is Gap x importance, and `LargestGap` is Max. `Mixed` and `Residual` are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SdcaSettings {
    /// Which sequence is next.
    pub order: Order,
    /// Fraction of adaptive draws, in `[0, 1]`.
    pub non_uniformity: f64,
    /// Line search of a block.
    pub step: SdcaStep,
    /// Marginals of a cold start.
    pub init: Init,
    /// Number of blocks that compute their directions at the same weights on all cores. They then take their steps one after
    /// the other. Results do not depend on the number of threads. The value 1 is the method of Le Priol et al. (2018).
    pub batch: usize,
    /// Passes between two updates of all gaps.
    pub refresh: Option<usize>,
    /// Bytes that the marginals may take; `None` for no limit.
    pub max_memory: Option<u64>,
    /// Seed of the visits.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for SdcaSettings {
    fn default() -> Self {
        SdcaSettings {
            order: Order::Gap,
            non_uniformity: 0.8,
            step: SdcaStep::default(),
            init: Init::default(),
            batch: 1,
            refresh: None,
            max_memory: MAX_MEMORY,
            seed: 0,
            stop: Stop::default(),
        }
    }
}

impl SdcaSettings {
    /// Checks the ranges, and the combinations that are not possible at a cold start.
    fn check(&self, cold: bool) -> Result<(), Error> {
        self.stop.check()?;
        self.step.check()?;
        if self.batch == 0 {
            let expected = "at least 1";
            return Err(Invalid::Parameter { name: "batch", value: 0.0, expected }.into());
        }
        if self.init == Init::Empirical && cold && !self.step.starts_anywhere() {
            let (name, value) = ("init.smoothing", 0.0);
            let expected = "more than 0, or a step of the kind Fixed or Brent";
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        Ok(())
    }

    fn check_memory(&self, needed: u64) -> Result<(), Error> {
        let hint = "store pairs as f32, merge labels, or train with lbfgs";
        Ok(Refusal::check_memory("sdca", needed, self.max_memory, hint)?)
    }
}

/// The state of [`sdca`](fn@sdca): the marginals of every sequence, and their weights.
///
/// A warm start reads only the marginals, so that a state from another `l2` can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualState<T = f32> {
    /// The weights.
    pub weights: Weights,
    /// The dual variables, stored as `T`.
    pub marginals: Vec<ChainMarginals<T>>,
}

/// Number of bytes of the marginals of a data set if pairs are stored as `T`: `K^2 (T - 1)` entries per sequence of length `T`.
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
/// The method has no step size to tune, certifies a duality gap, and needs few passes on sparse text. It stores the marginals
/// of all pairs as the type `T`. `f32` takes half the memory of `f64`, and cannot prove a gap below `1.2e-7 (1 + log K)` per
/// token. `LogF64` serves for cross-checks. A step costs one oracle call, which is O(entries K + T K^2) for a sequence of
/// length `T`, and two or three passes over the marginals of the block. If `K^2 N` numbers do not fit into memory, use
/// [`lbfgs`](fn@crate::lbfgs).
///
#[doc = include_str!("picture.svg")]
///
/// The picture shows a distribution over the labellings of one sequence as a point in two places. In the simplex of
/// distributions, the corner `y_i` is the true labelling. In the polygon with the corners `psi_i(y) / l2`, where `psi_i(y) =
/// F(x_i, y_i) - F(x_i, y)`, the true labelling is at 0. `w` is the mean of the `n` points in their polygons. At the optimum
/// every point equals its target, `p(. | x_i; w)`.
///
/// With batches, several cores compute directions at the same weights. Each block then takes the best step at the weights that
/// the earlier blocks have left. A batch of 8 costs at most one more pass on CoNLL-2000, and five more passes than the eleven
/// of a batch of 1 on the Dutch entities of CoNLL-2002. On two cores no gain in time was measured.
///
/// ```
/// use fenchel_crf::{Dataset, Features, Problem, SdcaSettings, Token, sdca};
///
/// let mut data = Dataset::new(3, 2);
/// for label in [0, 1, 1] {
///     let token = Token { attributes: &[(label, 1.0), (2, 1.0)], label };
///     data.push(&[token, token])?;
/// }
/// let problem = Problem::new(&data, 1.0 / 3.0, Features::default())?;
/// let solution = sdca::<f64, _>(&problem, &SdcaSettings::default(), None, &mut ())?;
/// assert!(solution.report.certificate.relative() <= 1e-4);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// If blocks are drawn uniformly, the expected dual suboptimality is multiplied by `1 - 1/(n + R/l2)` per step. It decreases
/// faster if blocks are drawn by their gaps.
///
/// Sources: R. Le Priol, A. Piche, S. Lacoste-Julien, "Adaptive stochastic dual coordinate ascent for conditional random
/// fields" (2018), algorithm 2; S. Shalev-Shwartz and T. Zhang, "Accelerated proximal stochastic dual coordinate ascent for
/// regularized loss minimization" (2014), option II.
///
/// # Errors
/// [`Error::Refused`] before anything is allocated; [`Error::Invalid`] for settings out of range or a start of another
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
    let mut method = Sdca::new(problem, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let weights = method.weights();
    Ok(Solution { state: DualState { weights, marginals: method.marginals }, report })
}

/// The running method: observers of [`sdca`](fn@sdca) receive it.
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
    /// One element per block of a batch.
    blocks: Vec<Block<T>>,
    /// A block that was drawn twice in a batch. It is the first of the next batch.
    waiting: Option<usize>,
    objective: Objective<'p, 'a>,
    visits: u64,
    oracle_calls: u64,
    evaluations: u64,
    step_sum: f64,
    cold: bool,
    broken: bool,
    /// The weights with the lowest certified objective.
    best: Option<Vec<f64>>,
}

impl<'p, 'a, T: Probability> Sdca<'p, 'a, T> {
    fn new(
        problem: &'p Problem<'a>,
        settings: &SdcaSettings,
        start: Option<DualState<T>>,
    ) -> Result<Self, Error> {
        let (n, data) = (problem.n(), problem.data());
        let cold = start.is_none();
        settings.check(cold)?;
        settings.check_memory(memory::<T>(data))?;
        let marginals = match start {
            Some(state) => checked(data, state.marginals)?,
            None => settings.init.marginals(problem)?,
        };
        let block = |_| Block::new(data.labels());
        let mut method = Sdca {
            problem,
            step: settings.step,
            refresh: settings.refresh.filter(|&period| period > 0),
            w: Vec::new(),
            sampler: sampler(problem, settings)?,
            entropies: Vec::new(),
            steps: vec![0.5; n],
            safe: safe_steps(problem, settings.step),
            dual: f64::NAN,
            blocks: (0..settings.batch.min(n)).map(block).collect::<Result<_, _>>()?,
            waiting: None,
            objective: Objective::new(problem),
            marginals,
            visits: 0,
            oracle_calls: 0,
            evaluations: 0,
            step_sum: 0.0,
            cold,
            broken: false,
            best: None,
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

    /// The last known gap of every block, or a large number for a block that has not been visited.
    pub fn gaps(&self) -> &[f64] {
        self.sampler.gaps()
    }

    /// The current dual value. All steps except `SingleNewton` compute it at no extra cost; with `SingleNewton` it is `None`.
    pub fn dual(&self) -> Option<f64> {
        Some(self.dual).filter(|dual| !dual.is_nan())
    }

    /// Mean step so far.
    pub fn mean_step(&self) -> f64 {
        self.step_sum / self.visits.max(1) as f64
    }

    /// Mean number of evaluations of a line search so far.
    pub fn mean_evaluations(&self) -> f64 {
        self.evaluations as f64 / self.visits.max(1) as f64
    }

    /// Computes `w`, the entropies and the dual value anew from the marginals.
    fn recompute(&mut self) {
        self.w = weights_of(self.problem, &mut self.objective, &self.marginals);
        if self.step.tracks() {
            self.entropies = entropies(&self.marginals);
            self.dual = mean(&self.entropies) - self.problem.penalty(&self.w);
        }
    }

    /// Draws a batch and returns its size. A batch ends early before a block that it already has, and at the end of a pass.
    fn draw(&mut self) -> usize {
        let n = self.problem.n();
        let room = self.blocks.len().min(n - (self.visits % n as u64) as usize);
        for count in 0..room {
            let i = self.waiting.take().unwrap_or_else(|| self.sampler.draw());
            if self.blocks[..count].iter().any(|block| block.index == i) {
                self.waiting = Some(i);
                return count;
            }
            if room > 1 {
                self.sampler.hold(i);
            }
            let block = &mut self.blocks[count];
            block.index = i;
            block.known = Known {
                entropy: self.entropies.get(i).copied(),
                previous: self.steps[i],
                safe: self.safe.get(i).copied().unwrap_or(0.0),
            };
            block.marginals = std::mem::take(&mut self.marginals[i]);
        }
        room
    }

    /// A step of algorithm 2 on a batch. Returns the number of blocks.
    fn climb(&mut self) -> usize {
        let count = self.draw();
        let (problem, rule, w) = (self.problem, self.step, &mut self.w);
        let blocks = &mut self.blocks[..count];
        each(blocks, |block| block.propose(problem, w, rule));
        let mut moved = false;
        for block in blocks.iter_mut() {
            let i = block.index;
            let Some((found, gain)) = block.land(problem, w, moved, rule) else {
                self.broken = true;
                continue;
            };
            moved = true;
            if let (Some(entropy), Some(known)) = (found.entropy, self.entropies.get_mut(i)) {
                *known = entropy;
                self.dual += gain / problem.n() as f64;
            }
            self.sampler.record(i, found.gap);
            self.steps[i] = found.step;
            self.step_sum += found.step;
            self.evaluations += u64::from(found.evaluations);
        }
        each(blocks, Block::mix);
        for block in blocks {
            self.marginals[block.index] = std::mem::take(&mut block.marginals);
        }
        self.oracle_calls += count as u64;
        self.visits += count as u64;
        count
    }

    /// Computes and stores the exact gap of every block, with n oracle calls.
    fn refresh_gaps(&mut self) {
        let entropies = entropies(&self.marginals);
        let block = &mut self.blocks[0];
        for (i, (marginals, entropy)) in self.marginals.iter().zip(entropies).enumerate() {
            if let Some(log_z) = block.infer(self.problem, &self.w, i) {
                self.sampler.record(i, block.gap_of(marginals, entropy, log_z));
            }
        }
        self.oracle_calls += self.problem.n() as u64;
    }
}

impl<T: Probability> Iterative for Sdca<'_, '_, T> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.cold = false;
        let n = self.problem.n();
        let wanted = (passes * n as f64).round().max(1.0) as usize;
        // A batch is not cut where somebody looks: the trajectory does not depend on it.
        let mut steps = 0;
        while steps < wanted && !self.broken {
            steps += self.climb();
            if self.visits.is_multiple_of(n as u64) {
                let pass = (self.visits / n as u64) as usize;
                if pass.is_multiple_of(REFRESH) {
                    self.recompute();
                }
                if self.refresh.is_some_and(|period| pass.is_multiple_of(period)) {
                    self.refresh_gaps();
                }
            }
        }
        steps as f64 / n as f64
    }

    /// The gap between `P` at the current weights and `D` at the marginals, whose weights are computed anew.
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

    /// Remembers the weights.
    fn keep(&mut self) {
        match &mut self.best {
            Some(best) => best.copy_from_slice(&self.w),
            None => self.best = Some(self.w.clone()),
        }
    }

    fn oracle_calls(&self) -> u64 {
        self.oracle_calls
    }

    /// The mean of the last known gaps. A cold start is not certified.
    fn certificate_cost(&self) -> CertificateCost {
        if self.cold {
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

/// Whether a relative gap can be reached with the marginals of pairs in single precision.
///
/// A visit rounds the pairs of a sequence by a relative error of `2^-24`, and weights are sums of marginals over `l2 n`. The
/// scores of a labelling of mean length `T` are then wrong by about `2^-24 T / (l2 n)` nats, and so is the objective.
pub fn single_precision_suffices(data: &Dataset, l2: f64, relative: f64) -> bool {
    let n = data.sequences() as f64;
    let length = data.tokens() as f64 / n;
    <f32 as Probability>::ROUNDING * length <= relative * l2 * n
}

/// The sampler for the settings. All gaps are large at first.
fn sampler(problem: &Problem<'_>, settings: &SdcaSettings) -> Result<Sampler, Error> {
    let (n, data) = (problem.n(), problem.data());
    let scale = 1.0 / (problem.l2() * n as f64);
    let importance = match needs_radii(&settings.order) {
        true => (0..n).map(|i| 1.0 + scale * radius_heuristic(data, i)).collect(),
        false => Vec::new(),
    };
    // More than any block can have: P(0) is their mean at the true labels.
    let first = 10.0 * data.tokens() as f64 / n as f64 * (data.labels() as f64).ln();
    let SdcaSettings { order, non_uniformity, seed, .. } = settings;
    Sampler::new(order, n, *non_uniformity, importance, first.max(100.0), *seed)
}

/// The step sizes `1 / (1 + R_i / (l2 n))` of the theory, if the rule needs them.
fn safe_steps(problem: &Problem<'_>, step: SdcaStep) -> Vec<f64> {
    if step != SdcaStep::Safe {
        return Vec::new();
    }
    let scale = 1.0 / (problem.l2() * problem.n() as f64);
    let step = |i| 1.0 / (1.0 + scale * radius_upper(problem.data(), i));
    (0..problem.n()).map(step).collect()
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

/// Checks that marginals fit the data.
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
