//! Online exponentiated gradient (OEG): dual ascent that averages the scores of a block instead of its probabilities.
//!
//! A step on block `i` with rate `r` replaces its distribution by `m_i(y)^(1-r) exp(r s_w(x_i, y))`, normalised. This is the
//! geometric mixture of the distribution of the block and that of the model. Both are chains, and so is the mixture. With the
//! unary scores `u` and the pair scores `M` of the model, its potentials are
//!
//! | potential | value |
//! |---|---|
//! | pair `(0, 1)` | `r M(j, k) + (1 - r) log m_0(j, k)` |
//! | pair `(t, t + 1)` | `r M(j, k) + (1 - r) (log m_t(j, k) - log m_t(j))` |
//! | position `t` | `r u_t(k)`, and `(1 - r) log m_0(k)` if it is the only one |
//!
//! Pairs enter as conditional probabilities, so that no potential is large. One run of forward-backward gives the new
//! marginals `m_i^+`, which replace the old ones. Adding a difference instead would lose entries that decrease by many orders of
//! magnitude.
//!
//! For draws by gaps, the gap `g_i = KL(m_i, p)` to the distribution `p` of the model is estimated by `KL(m_i, m_i^+) / r^2`. The two
//! agree to second order, and exactly if `r = 1`. As in SDCA, half the curvature of the entropy half the way from `m_i` to `m_i^+`
//! stands for the divergence. So the estimate costs no oracle call, and a pass over the marginals.

use fenchel_graphical::chain::{Chain, ChainMarginals, stride};
use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::random::Order;
use fenchel_optim::{
    Certificate, Iterative, MAX_MEMORY, Observer, Refusal, Solution, Status, Stop, run, settings,
};

use crate::Error;
use crate::likelihood::{Likelihood, entropies};
use crate::methods::sdca::sampling::Sampler;
use crate::methods::sdca::{DualState, Init, memory};
use crate::methods::sdca::{checked, mean, sampler};
use crate::problem::Problem;
use crate::sequences::Work;
use crate::terms::Terms;
use crate::weights::Weights;

/// Number of passes after which `w` is computed anew from the marginals, to remove accumulated rounding errors.
const REFRESH: u64 = 50;

settings! {
    /// Settings of [`oeg`](fn@oeg).
    pub struct OegSettings {
        /// First rate of every block, in (0, 1]; a small rate makes the first passes slow.
        rate: f64 = 0.5,
        /// Factor of the rate after a step that raised the dual.
        growth: f64 = 1.05,
        /// Factor of the rate after a step that lowered the dual; the step is tried again.
        shrink: f64 = 0.5,
        /// Smaller rates tried before the block is left unchanged; each trial costs an oracle call.
        retries: u32 = 40,
        /// Change of the dual, relative to its terms, that is taken for rounding.
        tolerance: f64 = 1e-12,
        /// Marginals of a cold start.
        init: Init = Init::default(),
        /// Order of the sequences, with the choices of [`SdcaSettings`](crate::methods::SdcaSettings).
        order: Order = Order::Uniform,
        /// Fraction of adaptive draws, if the order is adaptive; the others are uniform.
        non_uniformity: f64 = 0.8,
        /// Bytes that the marginals may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visits.
        seed: u64 = 0,
        /// When to end.
        stop: Stop = Stop::default(),
    }
}

impl OegSettings {
    fn check(&self) -> Result<(), Invalid> {
        let range = |name, value: f64, holds: bool, expected| match holds {
            true => Ok(()),
            false => Err(Invalid::Parameter { name, value, expected }),
        };
        let unit = "a number in (0, 1]";
        range("rate", self.rate, self.rate > 0.0 && self.rate <= 1.0, unit)?;
        let growing = self.growth >= 1.0 && self.growth.is_finite();
        range("growth", self.growth, growing, "a finite number >= 1")?;
        let shrinking = self.shrink > 0.0 && self.shrink < 1.0;
        range("shrink", self.shrink, shrinking, "a number in (0, 1)")?;
        let small = self.tolerance >= 0.0 && self.tolerance < 1.0;
        range("tolerance", self.tolerance, small, "a number in [0, 1)")?;
        if matches!(self.init, Init::Empirical) {
            let (name, value) = ("init.smoothing", 0.0);
            return Err(Invalid::Parameter { name, value, expected: "more than 0" });
        }
        self.stop.check()
    }
}

/// Online exponentiated gradient on the dual. It updates one block at a time, with a rate per block that grows and shrinks.
///
/// This method is the classical competitor of [`sdca`](fn@crate::methods::sdca), and is here for comparisons. It needs the same memory
/// as `sdca` in `f64`, an exponential and a logarithm per pair, and about 1.1 to 1.2 oracle calls per step. It takes several
/// times more passes. The dual never decreases; `P` may increase between passes. If `n l2` is tiny it takes thousands of
/// passes.
///
/// Sources: M. Collins, A. Globerson, T. Koo, X. Carreras, P. Bartlett, "Exponentiated gradient algorithms for conditional
/// random fields and max-margin Markov networks" (2008); the comparison in Le Priol, Piche and Lacoste-Julien (2018), section
/// 6.4.
///
/// # Errors
/// [`Error::Refused`] before anything is allocated; [`Error::Invalid`] for settings out of range or a start of another
/// shape.
pub fn oeg<'p, 'a, O: Observer<Oeg<'p, 'a>>>(
    problem: &'p Problem<'a>,
    settings: &OegSettings,
    start: Option<DualState<f64>>,
    observer: &mut O,
) -> Result<Solution<DualState<f64>>, Error> {
    settings.check()?;
    let mut method = Oeg::new(problem, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let weights = method.weights();
    Ok(Solution { state: DualState { weights, marginals: method.marginals }, report })
}

/// The running method: observers of [`oeg`](fn@oeg) receive it.
pub struct Oeg<'p, 'a> {
    problem: &'p Problem<'a>,
    growth: f64,
    shrink: f64,
    retries: u32,
    tolerance: f64,
    w: Vec<f64>,
    marginals: Vec<ChainMarginals<f64>>,
    entropies: Vec<f64>,
    rates: Vec<f64>,
    sampler: Sampler,
    dual: f64,
    block: Block,
    likelihood: Likelihood<'p, Problem<'a>>,
    steps: u64,
    oracle_calls: u64,
    broken: bool,
}

/// The memory of one step.
struct Block {
    work: Work,
    /// `log m_t(j, k) - log m_t(j)` for each pair, without the second term in the first pair. If there is only one position,
    /// its log-marginals.
    logs: Vec<f64>,
    target: ChainMarginals<f64>,
}

/// The gain of an update of a block: `n` times the change of the dual.
struct Gain {
    value: f64,
    rounding: f64,
    entropy: f64,
}

impl<'p, 'a> Oeg<'p, 'a> {
    fn new(
        problem: &'p Problem<'a>,
        settings: &OegSettings,
        start: Option<DualState<f64>>,
    ) -> Result<Self, Error> {
        let (n, data) = (problem.n(), problem.data());
        let needed = memory::<f64>(data);
        let hint = "train with sdca, which can store pairs as f32, with sag or with lbfgs";
        Refusal::check_memory("oeg", needed, settings.max_memory, hint)?;
        let marginals = match start {
            Some(state) => checked(data, state.marginals)?,
            None => settings.init.marginals(problem)?,
        };
        let labels = data.labels();
        let mut method = Oeg {
            problem,
            growth: settings.growth,
            shrink: settings.shrink,
            retries: settings.retries,
            tolerance: settings.tolerance,
            w: Vec::new(),
            entropies: Vec::new(),
            rates: vec![settings.rate; n],
            sampler: sampler(
                problem,
                &settings.order,
                settings.non_uniformity,
                settings.seed,
                problem.l2(),
            )?,
            dual: f64::NAN,
            block: Block {
                work: Work::new(Chain::per_edge(labels, 1)?),
                logs: Vec::new(),
                target: ChainMarginals::new(),
            },
            likelihood: Likelihood::new(problem),
            marginals,
            steps: 0,
            oracle_calls: 0,
            broken: false,
        };
        method.recompute();
        Ok(method)
    }

    /// The current weights.
    pub fn weights(&self) -> Weights {
        self.problem.unpack(&self.w)
    }

    /// The marginals of every sequence.
    pub fn marginals(&self) -> &[ChainMarginals<f64>] {
        &self.marginals
    }

    /// The current dual value, computed at no extra cost.
    pub fn dual(&self) -> f64 {
        self.dual
    }

    /// The rate of every block.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// The gap of every block as its last visit estimated it, or a large number for a block that has not been visited. Orders that
    /// do not use gaps estimate none.
    pub fn gaps(&self) -> &[f64] {
        self.sampler.gaps()
    }

    fn recompute(&mut self) {
        self.w = self.likelihood.weights_of(&self.marginals, false);
        self.entropies = entropies(&self.marginals, false);
        self.dual = mean(&self.entropies) - self.problem.common().penalty(&self.w);
    }

    fn ascend(&mut self, i: usize) {
        self.read(i);
        for trial in 0..=self.retries {
            let Some(gain) = self.attempt(i) else {
                self.broken = true;
                return;
            };
            if trial == 0 && self.sampler.adapts() {
                let terms = self.marginals[i].line_terms(&self.block.target, 0.5);
                self.sampler.record(i, 0.5 * terms.curvature / self.rates[i].powi(2));
            }
            if gain.value >= -gain.rounding {
                if gain.value > gain.rounding {
                    self.rates[i] = (self.rates[i] * self.growth).min(1.0);
                }
                self.accept(i, &gain);
                return;
            }
            self.rates[i] *= self.shrink;
        }
    }

    /// The scores of sequence `i`, and the logarithms of its marginals.
    fn read(&mut self, i: usize) {
        let (block, m) = (&mut self.block, &self.marginals[i]);
        block.work.read(self.problem, &self.w, i);
        block.logs.clear();
        lanes::dispatch(|| {
            if m.length() == 1 {
                block.logs.extend(m.node(0).iter().map(|&p| lanes::ln(p)));
            }
            for t in 1..m.length() {
                block.logs.extend(m.edge(t - 1).iter().map(|&p| lanes::ln(p)));
            }
        });
        let labels = m.states();
        for t in 1..m.length().max(1) - 1 {
            let rows = block.logs[t * labels * labels..].chunks_exact_mut(labels);
            for (row, &p) in rows.zip(m.node(t)) {
                let log = lanes::ln(p);
                row.iter_mut().for_each(|x| *x -= log);
            }
        }
    }

    /// Computes the marginals at the rate of the block, with one oracle call. Stores what [`accept`](Self::accept) needs in the
    /// block.
    fn attempt(&mut self, i: usize) -> Option<Gain> {
        let (problem, rate) = (self.problem, self.rates[i]);
        let (labels, length) = (problem.data().labels(), problem.data().sequence(i).len());
        let (Block { work, logs, target }, from) = (&mut self.block, &self.marginals[i]);
        let transitions = &self.w[problem.layout.transitions()..];
        let chain = &mut work.chain;
        chain.resize(length).ok()?;
        let unary = chain.padded_unary_mut();
        unary.iter_mut().zip(&work.scores).for_each(|(u, score)| *u = rate * score);
        chain.seal();
        if length == 1 {
            let unary = chain.unary_mut(0).iter_mut();
            unary.zip(&*logs).for_each(|(u, log)| *u += (1.0 - rate) * log);
        }
        for t in 1..length {
            for j in 0..labels {
                let logs = &logs[((t - 1) * labels + j) * labels..][..labels];
                let scores = &transitions[j * stride(labels)..][..labels];
                let pair = chain.pairwise_mut(t - 1, j).iter_mut();
                pair.zip(logs.iter().zip(scores))
                    .for_each(|(x, (log, score))| *x = rate * score + (1.0 - rate) * log);
            }
        }
        self.oracle_calls += 1;
        chain.marginals(target).ok().filter(|log_z| log_z.is_finite())?;

        let square = work.difference(problem, i, from, target);
        let linear =
            lanes::dot(&work.scores, &work.nodes) + problem.layout.dot_pairs(&work.pairs, &self.w);
        let scale = 1.0 / (problem.l2() * problem.n() as f64);
        let (before, entropy) = (self.entropies[i], target.entropy());
        let value = entropy - before + linear - 0.5 * scale * square;
        let rounding = self.tolerance * (1.0 + before.abs() + linear.abs());
        value.is_finite().then_some(Gain { value, rounding, entropy })
    }

    fn accept(&mut self, i: usize, gain: &Gain) {
        let scale = 1.0 / (self.problem.l2() * self.problem.n() as f64);
        let block = &mut self.block;
        self.problem.scatter(&block.work, i, -scale, &mut self.w);
        std::mem::swap(&mut self.marginals[i], &mut block.target);
        self.entropies[i] = gain.entropy;
        self.dual += gain.value / self.problem.n() as f64;
    }
}

impl Iterative for Oeg<'_, '_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.problem.n();
        let steps = (passes * n as f64).round().max(1.0);
        for _ in 0..steps as u64 {
            let i = self.sampler.draw();
            self.ascend(i);
            if self.broken {
                break;
            }
            self.steps += 1;
            if self.steps.is_multiple_of(REFRESH * n as u64) {
                self.recompute();
            }
        }
        steps / n as f64
    }

    /// The gap between `P` at the current weights and `D` at the marginals, whose weights are computed anew.
    fn certify(&mut self) -> Certificate {
        let objective = self.likelihood.value(&self.w);
        let w = self.likelihood.weights_of(&self.marginals, false);
        let common = self.problem.common();
        let dual = mean(&entropies(&self.marginals, false)) - common.penalty(&w);
        common.gap(&self.w, objective, dual)
    }

    fn oracle_calls(&self) -> u64 {
        self.oracle_calls
    }

    /// If scores overflow, the marginals are undefined.
    fn verdict(&self) -> Option<Status> {
        self.broken.then_some(Status::Diverged)
    }
}
