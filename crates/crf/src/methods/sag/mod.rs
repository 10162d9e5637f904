//! Stochastic average gradient (SAG) on the primal problem: with uniform sampling, with adaptive non-uniform sampling
//! (SAG-NUS), and with skipped line searches (SAG-NUS*).
//!
//! A step on sequence `i` replaces its stored gradient, and then moves along the mean of all stored gradients. The l2 term is
//! applied exactly: `w <- (1 - s l2) w - s/m d`, with the sum `d` of the stored gradients and the number `m` of sequences seen
//! so far.
//!
//! | symbol | what | stored as |
//! |---|---|---|
//! | `f_i` | `log Z_i(w) - s_w(x_i, y_i)` | |
//! | `f_i'` | its gradient | `p - 1{y}` on positions and one `K x K` matrix of pairs |
//! | `L_i` | estimate of the curvature of `f_i` | found by the search described below |
//! | `s` | step, `(1/L_max + 1/L_mean) / 2` with `l2` added to both, or `1/L` with uniform draws | |
//!
//! At every visit `L_i` is first decreased a little. Then it is doubled while `f_i(w - f_i'/L_i) > f_i(w) - norm(f_i')^2 / (2
//! L_i)`. A trial of this search needs no gradient, but counts as an oracle call.
//!
//! The weights are stored as `w = c v` with a scalar `c`. A row of `v` receives the updates that it has missed when it is next
//! read. So a step costs O(entries K + T K^2) and not O(d).

mod curvature;
mod lazy;

use fenchel_graphical::chain::stride;
use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::random::Order;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, MAX_MEMORY, Observer, Refusal, Solution, Status, Stop,
    run, settings,
};

use crate::Error;
use crate::dataset::Dataset;
use crate::likelihood::Likelihood;
use crate::problem::Problem;
use crate::sequences::Work;
use crate::terms::Terms;
use crate::weights::Weights;
use curvature::{Curvature, Draws};
use lazy::Lazy;

/// For gradients of a smaller squared norm no search is made.
const FLAT: f64 = 1e-8;

settings! {
    /// Settings of [`sag`](fn@sag).
    ///
    /// | order | draws | steps |
    /// |---|---|---|
    /// | `Uniform`: SAG | uniform | `1 / (L + l2)`, one curvature `L` for all |
    /// | `Lipschitz`: SAG-NUS | a fraction in proportion to the curvatures `L_i` of the sequences seen so far | between `1 / max L_i` and `1 / mean L_i` |
    ///
    /// Other orders are refused.
    pub struct SagSettings {
        /// Order of the sequences and rule of the step size: see above.
        order: Order = Order::Lipschitz,
        /// Whether searches that keep succeeding at the first trial are skipped (SAG-NUS*). The number of skipped visits doubles each time.
        skip: bool = false,
        /// Fraction of the draws in proportion to curvature, in `[0, 1]`.
        non_uniformity: f64 = 0.5,
        /// Curvature of the first sequence.
        first: f64 = 1.0,
        /// Factor of a curvature before its search, in (0, 1].
        decrease: f64 = 0.9,
        /// Bytes that the stored gradients may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visits.
        seed: u64 = 0,
        /// When to end.
        stop: Stop = Stop::default(),
    }
}

impl SagSettings {
    fn check(&self) -> Result<(), Error> {
        let taken = matches!(self.order, Order::Uniform | Order::Lipschitz);
        self.order.check("sag", taken, "Uniform or Lipschitz")?;
        let expected = "a number in [0, 1]";
        if !(0.0..=1.0).contains(&self.non_uniformity) {
            let (name, value) = ("non_uniformity", self.non_uniformity);
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        if !(self.decrease > 0.0 && self.decrease <= 1.0) {
            let (name, expected) = ("decrease", "a number in (0, 1]");
            return Err(Invalid::Parameter { name, value: self.decrease, expected }.into());
        }
        Invalid::check_positive("first", self.first)?;
        Ok(self.stop.check()?)
    }

    fn check_memory(&self, data: &Dataset) -> Result<(), Error> {
        let (n, labels) = (data.sequences() as u64, data.labels());
        let entries = data.tokens() as u64 * stride(labels) as u64 + n * (labels as u64).pow(2);
        let needed = entries.saturating_mul(8);
        Ok(Refusal::check_memory("sag", needed, self.max_memory, "train with lbfgs")?)
    }

    /// The factor of a curvature before its search. A common curvature decreases over a pass instead.
    fn decrease(&self) -> f64 {
        if self.order == Order::Uniform { 1.0 } else { self.decrease }
    }
}

/// Stochastic average gradient with a line search for the curvature of every sequence, from zero or from given weights.
///
/// This is the best primal method for dense attributes and many sequences, where it needs fewer passes than
/// [`sdca`](fn@crate::methods::sdca). On sparse text it needs about twice as many passes, and two oracle calls per step (1.3 with
/// `skip`). It stores `K N + n K^2` numbers, about `K` times fewer than the dual methods. The certificate is the duality gap
/// `norm(grad P)^2 / (2 l2)`, which costs one pass.
///
/// Source: M. Schmidt, R. Babanezhad, M. Ahmed, A. Defazio, A. Clifton, A. Sarkar, "Non-uniform stochastic average gradient
/// method for training conditional random fields" (2015), algorithm 3, and section 5.5 for the skipped searches.
///
/// # Errors
/// [`Error::Refused`] before anything is allocated; [`Error::Invalid`] for settings out of range or a start of another
/// shape or not finite.
pub fn sag<'p, 'a, O: Observer<Sag<'p, 'a>>>(
    problem: &'p Problem<'a>,
    settings: &SagSettings,
    start: Option<Weights>,
    observer: &mut O,
) -> Result<Solution<Weights>, Error> {
    settings.check()?;
    let mut method = Sag::new(problem, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.weights(), report })
}

/// The running method: observers of [`sag`](fn@sag) receive it.
pub struct Sag<'p, 'a> {
    problem: &'p Problem<'a>,
    skip: bool,
    decrease: f64,
    draws: Draws,
    curvature: Curvature,
    point: Lazy,
    /// Stored gradients on positions, rows of `stride`, sequence after sequence.
    nodes: Vec<f64>,
    /// Stored gradients on pairs, one `K x K` matrix per sequence.
    pairs: Vec<f64>,
    /// The start of each sequence among the positions.
    starts: Vec<usize>,
    seen: Vec<bool>,
    met: usize,
    /// For each sequence, the number of successive searches that succeeded at once, and the number of visits to skip.
    streaks: Vec<(u32, u64)>,
    block: Block,
    likelihood: Likelihood<'p, Problem<'a>>,
    steps: u64,
    oracle_calls: u64,
    broken: bool,
}

/// The memory of one step. Its `nodes` and `pairs` are the gradient `p - 1{y}`.
struct Block {
    work: Work,
    /// A single gradient as a dense vector, zero between steps, and its scores on the sequence.
    gradient: Vec<f64>,
    slopes: Vec<f64>,
    changes: Vec<f64>,
    change_sums: Vec<f64>,
}

impl<'p, 'a> Sag<'p, 'a> {
    fn new(
        problem: &'p Problem<'a>,
        settings: &SagSettings,
        start: Option<Weights>,
    ) -> Result<Self, Error> {
        let (n, data) = (problem.n(), problem.data());
        let (labels, stride) = (data.labels(), stride(data.labels()));
        settings.check_memory(data)?;
        let common = settings.order == Order::Uniform;
        let share = if common { 0.0 } else { settings.non_uniformity };
        let dimension = problem.layout.dimension();
        let start = match start {
            Some(weights) => problem.layout.pack(&weights)?,
            None => vec![0.0; dimension],
        };
        let mut starts = vec![0];
        starts.extend(data.iter().scan(0, |end, sequence| {
            *end += sequence.len() * stride;
            Some(*end)
        }));
        Ok(Sag {
            problem,
            skip: settings.skip,
            decrease: settings.decrease(),
            draws: Draws::new(share, settings.seed),
            curvature: Curvature::new(settings.first, common, n)?,
            point: Lazy::new(start, data.attributes() + 3),
            nodes: vec![0.0; data.tokens() * stride],
            pairs: vec![0.0; n * labels * labels],
            starts,
            seen: vec![false; n],
            met: 0,
            streaks: vec![(0, 0); n],
            block: Block {
                work: problem.work()?,
                gradient: vec![0.0; dimension],
                slopes: Vec::new(),
                changes: Vec::new(),
                change_sums: Vec::new(),
            },
            likelihood: Likelihood::new(problem),
            steps: 0,
            oracle_calls: 0,
            broken: false,
        })
    }

    /// The current weights.
    pub fn weights(&self) -> Weights {
        self.problem.unpack(&self.flat())
    }

    /// Sequences that have been visited.
    pub fn seen(&self) -> usize {
        self.met
    }

    /// Mean and maximum of the curvatures of the sequences seen so far.
    pub fn curvatures(&self) -> (f64, f64) {
        (self.curvature.mean(self.met), self.curvature.largest())
    }

    /// The current weights, without a change of the state.
    fn flat(&self) -> Vec<f64> {
        let layout = &self.problem.layout;
        let mut w = self.point.v.clone();
        for row in 0..self.problem.data().attributes() + 3 {
            self.point.value(row, layout.row(row), &mut w);
        }
        let transitions = layout.transitions()..layout.dimension();
        self.point.value(self.point.transitions(), transitions, &mut w);
        w
    }

    /// Writes `w(x_i)` and the transitions to the chain, after updating the rows.
    fn read(&mut self, i: usize) {
        let sequence = self.problem.data().sequence(i);
        let (layout, work, point) = (&self.problem.layout, &mut self.block.work, &mut self.point);
        layout.locate(&sequence, &mut work.rows);
        let attributes = self.problem.data().attributes();
        let places = sequence.distinct().iter().map(|&id| id as usize);
        let places = places.chain(attributes..attributes + 3);
        for (row, range) in places.zip(work.rows.ranges()) {
            point.catch_up(row, range);
        }
        point.catch_up(point.transitions(), layout.transitions()..layout.dimension());
        layout.scores(&point.v, &sequence, &work.rows, &mut work.scores);
        work.scores.iter_mut().for_each(|score| *score *= point.scale);
    }

    /// Writes the scores minus `step` times those of the gradient to the chain. Returns the score of the true labels.
    fn write(&mut self, i: usize, step: f64) -> Option<f64> {
        let (problem, point) = (self.problem, &self.point);
        let (layout, labels) = (&problem.layout, problem.data().labels());
        let block = &mut self.block;
        let Work { chain, scores, pairs, .. } = &mut block.work;
        chain.resize(problem.data().sequence(i).len()).ok()?;
        let unary = chain.padded_unary_mut();
        unary.copy_from_slice(scores);
        if step > 0.0 {
            unary.iter_mut().zip(&block.slopes).for_each(|(u, slope)| *u -= step * slope);
        }
        chain.seal();
        let rows = point.v[layout.transitions()..].chunks_exact(stride(labels));
        for (j, (row, slopes)) in rows.zip(pairs.chunks_exact(labels)).enumerate() {
            let slopes = slopes.iter().map(|slope| if step > 0.0 { step * slope } else { 0.0 });
            let scores = row.iter().map(|v| point.scale * v);
            chain
                .pairwise_mut(0, j)
                .iter_mut()
                .zip(scores.zip(slopes))
                .for_each(|(score, (w, slope))| *score = w - slope);
        }
        Some(block.work.true_score(problem, i))
    }

    /// Computes `f_i(w)`, and its gradient in the block, with one oracle call.
    fn gradient(&mut self, i: usize) -> Option<f64> {
        self.write(i, 0.0)?;
        self.oracle_calls += 1;
        let loss = self.block.work.loss(self.problem, i)?;
        self.problem.layout.mask_pairs(&mut self.block.work.pairs);
        Some(loss).filter(|loss| loss.is_finite())
    }

    /// Searches the curvature of `f_i`: it is doubled until a step of its inverse lowers `f_i` by enough.
    fn search(&mut self, i: usize, loss: f64) -> Option<()> {
        if self.streaks[i].1 > 0 {
            self.streaks[i].1 -= 1;
            return Some(());
        }
        let sequence = self.problem.data().sequence(i);
        let (layout, block) = (&self.problem.layout, &mut self.block);
        let Work { rows, nodes, sums, pairs, .. } = &mut block.work;
        layout.sums(nodes, &sequence, rows, sums);
        let square = lanes::dot(sums, sums) + lanes::dot(pairs, pairs);
        if square <= FLAT {
            return Some(());
        }
        layout.scatter(1.0, rows, sums, &mut block.gradient);
        layout.scores(&block.gradient, &sequence, rows, &mut block.slopes);
        rows.ranges().for_each(|range| block.gradient[range].fill(0.0));
        let mut curvature = self.curvature.get(i) * self.decrease;
        let mut doubled = false;
        loop {
            let truth = self.write(i, 1.0 / curvature)?;
            self.oracle_calls += 1;
            let there = self.block.work.chain.log_partition().ok()? - truth;
            if there <= loss - square / (2.0 * curvature) || !curvature.is_finite() {
                break;
            }
            curvature *= 2.0;
            doubled = true;
        }
        self.curvature.set(i, curvature).then_some(())?;
        if self.skip {
            let streak = if doubled { 0 } else { self.streaks[i].0 + 1 };
            let pause = if doubled { 0 } else { 1 << (streak - 1).min(60) };
            self.streaks[i] = (streak, pause);
        }
        Some(())
    }

    fn descend(&mut self) -> Option<()> {
        let i = self.draws.next(&self.curvature);
        if !std::mem::replace(&mut self.seen[i], true) {
            self.curvature.introduce(i, self.met);
            self.met += 1;
        }
        self.read(i);
        let loss = self.gradient(i)?;
        self.search(i, loss)?;
        let problem = self.problem;
        let (layout, labels) = (&problem.layout, problem.data().labels());
        let sequence = problem.data().sequence(i);
        let block = &mut self.block;
        let Work { rows, nodes, pairs, .. } = &mut block.work;
        let stored = &mut self.nodes[self.starts[i]..self.starts[i + 1]];
        block.changes.clear();
        block.changes.extend(nodes.iter().zip(&*stored).map(|(new, old)| new - old));
        stored.copy_from_slice(nodes);
        layout.sums(&block.changes, &sequence, rows, &mut block.change_sums);
        layout.scatter(1.0, rows, &block.change_sums, &mut self.point.direction);
        let stored = &mut self.pairs[i * labels * labels..][..labels * labels];
        for (old, new) in stored.iter_mut().zip(&mut *pairs) {
            (*old, *new) = (*new, *new - *old);
        }
        layout.scatter_pairs(1.0, pairs, &mut self.point.direction);
        let step = self.curvature.step(problem.l2(), self.met);
        self.curvature.relax();
        self.point.advance(step, problem.l2(), self.met);
        if self.point.scale < 1e-100 {
            self.flush();
        }
        Some(())
    }

    /// Brings all weights up to date.
    fn flush(&mut self) {
        self.point.v = self.flat();
        self.point.rebase();
    }
}

impl Iterative for Sag<'_, '_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.problem.n();
        let steps = (passes * n as f64).round().max(1.0);
        for _ in 0..steps as u64 {
            if self.descend().is_none() {
                self.broken = true;
                break;
            }
            self.steps += 1;
            if self.steps.is_multiple_of(n as u64) {
                self.flush();
            }
        }
        steps / n as f64
    }

    /// The objective `P`, with the gap between the weights and the marginals of the model, `norm(grad P)^2 / (2 l2)`. One pass.
    fn certify(&mut self) -> Certificate {
        let w = self.flat();
        let mut gradient = vec![0.0; w.len()];
        let value = self.likelihood.value_gradient(&w, &mut gradient);
        self.likelihood.certify(&w, value, &gradient)
    }

    fn oracle_calls(&self) -> u64 {
        self.oracle_calls
    }

    /// The gap if all stored gradients were up to date. It is an estimate, and available once every sequence has been visited.
    fn certificate_cost(&self) -> CertificateCost {
        if self.met < self.problem.n() {
            return CertificateCost::Uninformative;
        }
        let (w, l2) = (self.flat(), self.problem.l2());
        let scale = 1.0 / self.met as f64;
        let gradient = self.point.direction.iter().zip(&w).map(|(d, w)| scale * d + l2 * w);
        CertificateCost::Estimated(gradient.map(|g| g * g).sum::<f64>() / (2.0 * l2))
    }

    /// If scores overflow, the marginals are undefined.
    fn verdict(&self) -> Option<Status> {
        self.broken.then_some(Status::Diverged)
    }
}
