//! CoCoA: dual ascent in every shard at once, and one sum a round.

use std::ops::Range;

use fenchel_graphical::chain::{ChainMarginals, Probability};
use fenchel_linalg::parallel;
use fenchel_linalg::spread::Shards;
use fenchel_optim::random::Order;
use fenchel_optim::{Certificate, Iterative, Observer, Refusal, Solution, Status, run};

use super::block::{Block, Known};
use super::point::Point;
use super::sampling::Sampler;
use super::{DualState, LESS_MEMORY, REFRESH, SdcaSettings, checked, gap_of, memory, of_all};
use crate::Error;
use crate::likelihood::{Likelihood, entropies};
use crate::problem::Problem;
use crate::terms::{Marginals, Terms};
use crate::weights::Weights;

/// A shorter share of the changes leads nowhere.
const LEAST_SHARE: f64 = 1e-12;

/// Dual ascent on sequences in shards (CoCoA+). In a round every shard takes as many steps of [`sdca`](super::sdca()) as it has sequences,
/// drawn by their gaps, as if the other shards stood still; then the changes of `nu` are summed, with one sum of `d` numbers for all
/// processes.
///
/// The steps of a shard are those at the weights `w + sigma dv`, where `dv` is the change of the shard so far, under the penalty
/// `l2 / sigma`. With `sigma` equal to the number of shards the sum of all changes never lowers the dual. Sequences of different shards
/// share few attributes, so that `sigma` starts at 1. The sum is scaled by 1, 1/2, 1/4, ... to the best of these, and `sigma` doubles if
/// that is less than 1, and else falls by a tenth. It stores the marginals twice, before and after a round.
///
/// The order of the settings is that by gaps, in each shard. The bits of a run do not depend on the number of processes or threads.
/// The certificate is the gap of all sequences.
///
/// Source: Ma, Smith, Jaggi, Jordan, Richtarik and Takac, "Adding vs. averaging in distributed primal-dual optimization", ICML 2015, with
/// the blocks of [`sdca`](super::sdca()).
pub(crate) fn cocoa<'p, 'a, T, O>(
    problem: &'p Problem<'a>,
    shards: &'p Shards<'a>,
    settings: &SdcaSettings,
    observer: &mut O,
) -> Result<Solution<DualState<T>>, Error>
where
    T: Probability,
    O: Observer<Cocoa<'p, 'a, T>>,
{
    let data = problem.data();
    settings.check(true)?;
    let needed = memory::<T>(data).saturating_mul(2);
    Refusal::check_memory("sdca", needed, settings.max_memory, LESS_MEMORY)?;
    let labels = data.labels() as f64;
    let sampler = |rows: Range<usize>| {
        // More than any block can have, by the sequences of the shard alone.
        let tokens: usize = rows.clone().map(|i| data.sequence(i).len()).sum();
        let first = (10.0 * tokens as f64 * labels.ln() / rows.len() as f64).max(100.0);
        let seed = settings.seed.wrapping_add((shards.before() + rows.start) as u64);
        let share = settings.non_uniformity;
        let one = || Sampler::new(&Order::Gap, rows.len(), share, Vec::new(), first, seed);
        (!rows.is_empty()).then(one).transpose()
    };
    let mut at = Cocoa {
        problem,
        shards,
        settings: settings.clone(),
        point: Point::new(problem.l2(), settings.l1),
        marginals: checked(data, settings.init.marginals(problem)?)?,
        entropies: Vec::new(),
        steps: vec![0.5; data.sequences()],
        samplers: shards.own().map(sampler).collect::<Result<_, Error>>()?,
        dual: f64::NAN,
        sigma: 1.0,
        rounds: 0,
        likelihood: Likelihood::new(problem),
        best: None,
        ended: None,
    };
    at.recompute();
    let report = run(&mut at, &settings.stop, observer)?;
    let weights = at.weights();
    Ok(Solution { state: DualState { weights, marginals: at.marginals }, report })
}

/// The running method.
pub(crate) struct Cocoa<'p, 'a, T> {
    problem: &'p Problem<'a>,
    shards: &'p Shards<'a>,
    settings: SdcaSettings,
    point: Point,
    /// Of the own sequences.
    marginals: Vec<ChainMarginals<T>>,
    /// `H(m_i)`
    entropies: Vec<f64>,
    /// The last step of every block.
    steps: Vec<f64>,
    /// Of every own shard with sequences.
    samplers: Vec<Option<Sampler>>,
    dual: f64,
    sigma: f64,
    rounds: u64,
    likelihood: Likelihood<'p, Problem<'a>>,
    /// The weights with the lowest certified objective.
    best: Option<Vec<f64>>,
    ended: Option<Status>,
}

/// What a shard works on.
struct Part<'s, T> {
    marginals: &'s mut [ChainMarginals<T>],
    entropies: &'s mut [f64],
    steps: &'s mut [f64],
    sampler: &'s mut Option<Sampler>,
}

/// The dual along the changes of a round.
struct Along {
    entropies: Vec<f64>,
    nu: Vec<f64>,
    value: f64,
    slope: f64,
}

impl<T: Probability> Cocoa<'_, '_, T> {
    pub(crate) fn weights(&self) -> Weights {
        self.problem.unpack(self.point.weights())
    }

    /// Computes `nu`, the entropies and the dual value anew from the marginals.
    fn recompute(&mut self) {
        let nu = self.likelihood.weights_of(&self.marginals, false);
        self.entropies = entropies(&self.marginals, false);
        let conjugate = self.point.conjugate(&self.problem.common, &nu);
        self.dual = of_all(self.problem, &self.entropies) - conjugate;
        self.point.set(nu);
    }

    /// The steps of a shard. Adds its change of `nu`, and returns whether a score overflowed.
    fn visit(&self, rows: Range<usize>, part: Part<'_, T>, out: &mut [f64]) -> f64 {
        let Part { marginals, entropies, steps, sampler } = part;
        let Some(sampler) = sampler else { return 0.0 };
        let (problem, rule, w) = (self.problem, self.settings.step, self.point.weights());
        let mut local = Point::new(problem.l2() / self.sigma, 0.0);
        local.set(w.to_vec());
        let Ok(work) = problem.work() else { return 1.0 };
        let mut block = Block::new(work, &local);
        for _ in 0..rows.len() {
            let k = sampler.draw();
            block.index = rows.start + k;
            block.known = Known { entropy: Some(entropies[k]), previous: steps[k], safe: 0.0 };
            block.marginals = std::mem::take(&mut marginals[k]);
            block.propose(problem, &local, rule);
            let Some((found, _)) = block.take(problem, &mut local, false, rule) else { return 1.0 };
            block.mix();
            marginals[k] = std::mem::take(&mut block.marginals);
            entropies[k] = found.entropy.unwrap_or(entropies[k]);
            steps[k] = found.step;
            sampler.record(k, found.gap);
        }
        for ((out, to), from) in out.iter_mut().zip(local.weights()).zip(w) {
            *out += (to - from) / self.sigma;
        }
        0.0
    }

    /// The dual at a share of the way to `goal`, with `change` as that of `nu`. A pass over the marginals.
    fn along(&self, goal: &[ChainMarginals<T>], change: &[f64], share: f64) -> Along {
        let pairs = self.marginals.iter().zip(goal);
        let terms = parallel::map(pairs, |(from, to)| from.line_terms(to, share));
        let entropies: Vec<f64> = terms.iter().map(|terms| terms.entropy).collect();
        let slopes: Vec<f64> = terms.iter().map(|terms| -terms.slope).collect();
        let common = &self.problem.common;
        let nu = self.point.moved(change, share);
        let w = self.point.shrunk_of(&nu);
        let uphill: f64 = w.iter().zip(change).map(|(w, change)| w * change).sum();
        let value = of_all(self.problem, &entropies) - common.penalty(&w);
        let slope = of_all(self.problem, &slopes) - common.l2 * uphill;
        Along { entropies, nu, value, slope }
    }

    /// A round: a pass, and a sum.
    fn round(&mut self) {
        if self.rounds > 0 && self.rounds.is_multiple_of(REFRESH as u64) {
            self.recompute();
        }
        let (mut goal, mut entropies) = (self.marginals.clone(), self.entropies.clone());
        let (mut steps, mut samplers) =
            (std::mem::take(&mut self.steps), std::mem::take(&mut self.samplers));
        let split = self.shards.split(&mut goal).into_iter();
        let split = split.zip(self.shards.split(&mut entropies)).zip(self.shards.split(&mut steps));
        let part = |(((marginals, entropies), steps), sampler)| Part {
            marginals,
            entropies,
            steps,
            sampler,
        };
        let parts = split.zip(&mut samplers).map(part).collect();
        let mut change = vec![0.0; self.point.weights().len()];
        let broken =
            self.shards.sum_of(parts, &mut change, |rows, part, out| self.visit(rows, part, out));
        (self.steps, self.samplers) = (steps, samplers);
        self.rounds += 1;
        if broken > 0.0 {
            self.ended = Some(Status::Diverged);
            return;
        }
        let (mut share, mut found) = (1.0, self.along(&goal, &change, 1.0));
        // The dual is concave along the changes: where it still rises, all shorter shares are worse.
        while found.slope < 0.0 && share > LEAST_SHARE {
            let half = self.along(&goal, &change, 0.5 * share);
            if found.value >= half.value && found.value >= self.dual {
                break;
            }
            (share, found) = (0.5 * share, half);
        }
        self.sigma = match share < 1.0 {
            true => (2.0 * self.sigma).min(self.shards.count() as f64),
            false => (0.9 * self.sigma).max(1.0),
        };
        // At the maximum nothing changes, or what changes is rounding.
        if !(found.value >= self.dual) {
            self.ended = Some(Status::Stalled);
            return;
        }
        if share < 1.0 {
            let pairs = self.marginals.iter_mut().zip(&goal);
            parallel::map(pairs, |(from, to)| Marginals::mix(from, to, share));
        } else {
            self.marginals = goal;
        }
        self.entropies = found.entropies;
        self.point.set(found.nu);
        self.dual = found.value;
    }
}

impl<T: Probability> Iterative for Cocoa<'_, '_, T> {
    fn advance(&mut self, passes: f64) -> f64 {
        let wanted = passes.min(1e6).round().max(1.0);
        let mut done = 0.0;
        while done < wanted && self.ended.is_none() {
            self.round();
            done += 1.0;
        }
        done.max(1.0)
    }

    fn certify(&mut self) -> Certificate {
        gap_of(&mut self.likelihood, &self.point, &self.marginals)
    }

    /// One a visit.
    fn oracle_calls(&self) -> u64 {
        self.rounds * self.problem.common.n as u64
    }

    /// The primal objective may increase while the dual increases.
    fn returns_best(&self) -> bool {
        true
    }

    fn keep(&mut self) {
        self.best = Some(self.point.weights().to_vec());
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.point.put(best);
        }
    }

    fn verdict(&self) -> Option<Status> {
        self.ended
    }
}
