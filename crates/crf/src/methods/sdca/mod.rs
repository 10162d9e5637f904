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
//!
//! With an l1 penalty the sum above is `nu`, and the weights are `w = S(nu)`: each coordinate of `nu`, moved towards 0 by
//! `l1 / l2`, and exactly 0 up to there. A step moves `nu` by `s v`. The objectives are
//!
//! ```text
//! P(w) = 1/n sum_i -log p(y_i | x_i; w) + l2/2 norm(w)^2 + l1 norm(w)_1,   D(m) = 1/n sum_i H(m_i) - l2/2 norm(S(nu(m)))^2
//! ```
//!
//! and all other formulas stay as they are.
//!
//! [`DualAscent`] asks a model for marginals, entropies and features only, so that chains and junction trees have the same
//! loop, sampling, line search and certificate.

mod block;
mod catalyst;
pub(crate) mod cocoa;
mod init;
mod line_search;
mod point;
pub(crate) mod sampling;
mod settings;
mod state;

use fenchel_graphical::chain::{ChainMarginals, Probability};
use fenchel_linalg::parallel;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Observer, Refusal, Report, Solution, Status, run,
};

pub use catalyst::{Catalyst, CatalystSettings, catalyst};
pub use init::Init;
pub use line_search::{NewtonStart, SdcaStep};
pub use settings::SdcaSettings;
pub use state::{DualState, memory, single_precision_suffices};

pub(crate) use settings::sampler;
pub(crate) use state::{checked, mean, single_precision_suffices_for};

use crate::Error;
use crate::likelihood::{Likelihood, entropies};
use crate::problem::Problem;
use crate::terms::{Marginals, Oracle, Terms};
use crate::weights::Weights;
use block::{Block, Known};
use point::Point;
use sampling::Sampler;

/// Number of passes after which `w` is computed anew from the marginals, to remove accumulated rounding errors.
const REFRESH: usize = 50;

/// Stochastic dual coordinate ascent for conditional random fields with adaptive sampling.
///
/// The method has no step size to tune, certifies a duality gap, and needs few passes on sparse text. It stores the marginals
/// of all pairs as the type `T`. `f32` takes half the memory of `f64`, and cannot prove gaps near its rounding
/// ([`single_precision_suffices`]). `LogF64` serves for cross-checks. A step costs one oracle call, which is O(entries K + T K^2) for a sequence of
/// length `T`, and two or three passes over the marginals of the block. If `K^2 N` numbers do not fit into memory, use
/// [`lbfgs`](fn@crate::methods::lbfgs).
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
/// use fenchel_crf::{Dataset, Features, Problem, Token};
/// use fenchel_crf::methods::{SdcaSettings, sdca};
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
/// With [`SdcaSettings::l1`] the penalty is an elastic net, and many weights are exactly 0. The certificate is then the gap of the
/// objective with that penalty.
///
/// If blocks are drawn uniformly, the expected dual suboptimality is multiplied by `1 - 1/(n + R/l2)` per step. It decreases
/// faster if blocks are drawn by their gaps.
///
/// Sources: R. Le Priol, A. Piche, S. Lacoste-Julien, "Adaptive stochastic dual coordinate ascent for conditional random
/// fields" (2018), algorithm 2, with an l1 penalty in the setting of appendix F; S. Shalev-Shwartz and T. Zhang, "Accelerated proximal stochastic dual coordinate ascent for
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
    let data = problem.data();
    let cold = start.is_none();
    settings.check(cold)?;
    Refusal::check_memory("sdca", memory::<T>(data), settings.max_memory, LESS_MEMORY)?;
    let marginals = match start {
        Some(state) => checked(data, state.marginals)?,
        None => settings.init.marginals(problem)?,
    };
    let (method, report) = ascend(problem, settings, marginals, cold, observer)?;
    let weights = method.weights();
    Ok(Solution { state: DualState { weights, marginals: method.marginals }, report })
}

/// Runs dual ascent from given marginals.
pub(crate) fn ascend<'p, M: Marginals, P: Oracle<M>>(
    problem: &'p P,
    settings: &SdcaSettings,
    marginals: Vec<M>,
    cold: bool,
    observer: &mut impl Observer<DualAscent<'p, P, M>>,
) -> Result<(DualAscent<'p, P, M>, Report), Error> {
    let point = Point::new(problem.common().l2, settings.l1);
    let mut method = DualAscent::new(problem, settings, marginals, point, cold)?;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok((method, report))
}

/// What to do if the marginals need too much memory.
const LESS_MEMORY: &str = "store pairs as f32, merge labels, or train with lbfgs";

/// The running method on chains: observers of [`sdca`](fn@sdca) receive it.
pub type Sdca<'p, 'a, T> = DualAscent<'p, Problem<'a>, ChainMarginals<T>>;

impl<T: Probability> Sdca<'_, '_, T> {
    /// The current weights.
    pub fn weights(&self) -> Weights {
        self.problem.unpack(self.point.weights())
    }
}

/// Dual ascent, while it runs. Its models are chains ([`Sdca`]) or junction trees ([`GraphSdca`](crate::graph::GraphSdca)),
/// and `M` are the marginals of one of them. A *block* is a sequence or a graph.
pub struct DualAscent<'p, P: Terms, M> {
    problem: &'p P,
    step: SdcaStep,
    refresh: Option<usize>,
    /// The weights of the marginals.
    point: Point,
    marginals: Vec<M>,
    sampler: Sampler,
    /// `H(m_i)`; empty unless the step tracks them.
    entropies: Vec<f64>,
    /// The last step of every block.
    steps: Vec<f64>,
    /// `1 / (1 + R_i / (l2 n))`; empty unless the step needs it.
    safe: Vec<f64>,
    dual: f64,
    /// One element per block of a batch.
    blocks: Vec<Block<P::Work, M>>,
    /// A block that was drawn twice in a batch. It is the first of the next batch.
    waiting: Option<usize>,
    likelihood: Likelihood<'p, P>,
    visits: u64,
    oracle_calls: u64,
    evaluations: u64,
    step_sum: f64,
    cold: bool,
    broken: bool,
    /// The weights with the lowest certified objective.
    best: Option<Vec<f64>>,
}

impl<'p, M: Marginals, P: Oracle<M>> DualAscent<'p, P, M> {
    /// The method at given marginals; `point` has no weights yet.
    fn new(
        problem: &'p P,
        settings: &SdcaSettings,
        marginals: Vec<M>,
        point: Point,
        cold: bool,
    ) -> Result<Self, Error> {
        let (n, curvature) = (problem.common().n, point.curvature);
        let block = |_| Ok(Block::new(problem.work()?, &point));
        let blocks = (0..settings.batch.min(n)).map(block).collect::<Result<_, Error>>()?;
        let SdcaSettings { order, non_uniformity, seed, .. } = settings;
        let mut method = DualAscent {
            problem,
            step: settings.step,
            refresh: settings.refresh,
            point,
            sampler: sampler(problem, order, *non_uniformity, *seed, curvature)?,
            entropies: Vec::new(),
            steps: vec![0.5; n],
            safe: settings::safe_steps(problem, settings.step, curvature),
            dual: f64::NAN,
            blocks,
            waiting: None,
            likelihood: Likelihood::new(problem),
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

    /// The current weights, flat.
    pub(crate) fn flat_weights(&self) -> &[f64] {
        self.point.weights()
    }

    /// The flat weights and the marginals.
    pub(crate) fn into_state(self) -> (Vec<f64>, Vec<M>) {
        (self.flat_weights().to_vec(), self.marginals)
    }

    /// The marginals of every block.
    pub fn marginals(&self) -> &[M] {
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
        self.point.set(self.likelihood.weights_of(&self.marginals, false));
        if self.step.tracks() {
            self.entropies = entropies(&self.marginals, false);
            self.dual = mean(&self.entropies) - self.problem.common().penalty(self.point.weights());
        }
    }

    /// Draws a batch and returns its size. A batch ends early before a block that it already has, and at the end of a pass.
    fn draw(&mut self) -> usize {
        let n = self.steps.len();
        let size = self.blocks.len().min(n - (self.visits % n as u64) as usize);
        for count in 0..size {
            let i = self.waiting.take().unwrap_or_else(|| self.sampler.draw());
            if self.blocks[..count].iter().any(|block| block.index == i) {
                self.waiting = Some(i);
                return count;
            }
            if size > 1 {
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
        size
    }

    /// A step of algorithm 2 on every block of a batch. Returns the number of blocks.
    fn ascend(&mut self) -> usize {
        let count = self.draw();
        let (problem, rule, point) = (self.problem, self.step, &mut self.point);
        let blocks = &mut self.blocks[..count];
        // p, d, v, and s along them, all at the same weights.
        parallel::map(&mut *blocks, |block| block.propose(problem, point, rule));
        // w + s v, one block after the other.
        let mut moved = false;
        for block in blocks.iter_mut() {
            let i = block.index;
            let Some((found, gain)) = block.take(problem, point, moved, rule) else {
                self.broken = true;
                continue;
            };
            moved = true;
            if let (Some(entropy), Some(known)) = (found.entropy, self.entropies.get_mut(i)) {
                *known = entropy;
                self.dual += gain / problem.common().n as f64;
            }
            self.sampler.record(i, found.gap);
            self.steps[i] = found.step;
            self.step_sum += found.step;
            self.evaluations += u64::from(found.evaluations);
        }
        // m_i + s d
        parallel::map(&mut *blocks, Block::mix);
        for block in blocks {
            self.marginals[block.index] = std::mem::take(&mut block.marginals);
        }
        self.oracle_calls += count as u64;
        self.visits += count as u64;
        count
    }

    /// Computes and stores the exact gap of every block, with n oracle calls.
    fn refresh_gaps(&mut self) {
        let entropies = entropies(&self.marginals, false);
        let block = &mut self.blocks[0];
        for (i, (marginals, entropy)) in self.marginals.iter().zip(entropies).enumerate() {
            let w = self.point.weights();
            if let Some(gap) = block.gap(self.problem, w, i, marginals, entropy) {
                self.sampler.record(i, gap);
            }
        }
        self.oracle_calls += self.steps.len() as u64;
    }
}

/// The gap between `P` at the weights of the point and `D` at the marginals, whose weights are computed anew. Two passes.
fn gap_of<M: Marginals, P: Oracle<M>>(
    likelihood: &mut Likelihood<'_, P>,
    point: &Point,
    marginals: &[M],
) -> Certificate {
    let problem = likelihood.problem();
    let objective = likelihood.value(point.weights()) + point.l1_penalty();
    // Marginals in single precision contradict each other by rounding, which adds up.
    let nu = likelihood.weights_of(marginals, M::ROUNDED);
    let entropy = of_all(problem, &entropies(marginals, M::ROUNDED));
    let dual = entropy - point.conjugate(problem.common(), &nu);
    problem.common().gap(point.weights(), objective, dual)
}

/// The mean over all terms, of which others may lie with other processes, of numbers of the own ones.
fn of_all<P: Terms>(problem: &P, numbers: &[f64]) -> f64 {
    match problem.shards() {
        None => mean(numbers),
        Some(shards) => {
            let sum = shards.sum(&mut [], &|_, rows, _| numbers[rows].iter().sum());
            sum / problem.common().n as f64
        }
    }
}

impl<M: Marginals, P: Oracle<M>> Iterative for DualAscent<'_, P, M> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.cold = false;
        let n = self.steps.len();
        let wanted = (passes * n as f64).round().max(1.0) as usize;
        // Certificates do not cut a batch: the trajectory does not depend on them.
        let mut steps = 0;
        while steps < wanted && !self.broken {
            steps += self.ascend();
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

    fn certify(&mut self) -> Certificate {
        gap_of(&mut self.likelihood, &self.point, &self.marginals)
    }

    /// The primal objective may increase while the dual increases.
    fn returns_best(&self) -> bool {
        true
    }

    /// Restores the weights only. The marginals stay, because the dual value never decreases.
    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.point.put(best);
        }
    }

    /// Remembers the weights.
    fn keep(&mut self) {
        let w = self.point.weights();
        match &mut self.best {
            Some(best) => best.copy_from_slice(w),
            None => self.best = Some(w.to_vec()),
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
