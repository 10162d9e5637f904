//! Value and gradient of the objective, computed on all cores.

use std::ops::Range;

use fenchel_linalg::{lanes, parallel};
use fenchel_optim::Certificate;
use fenchel_optim::lbfgs::Smooth;

use crate::terms::{Marginals, Oracle, Terms};

/// Number of parts into which the terms are divided. Each part has its own sums, which are added in order, so that results do
/// not depend on threads. At any time at most as many parts as threads are processed, and only these need memory. Of terms that
/// are spread over processes the parts are the [shards](fenchel_linalg::spread), whose sums are added to those of all others.
const PARTS: usize = 8;

/// The objective `P` of a problem as a smooth function of the flat weights, with the gradient
/// `l2 w + 1/n sum_i [E_p F(x_i, .) - F(x_i, y_i)]`, on all cores.
///
/// Any method for [`Smooth`] functions can use it to train conditional random fields. The bits of its results do not depend on
/// the number of threads.
pub struct Likelihood<'p, P: Terms> {
    problem: &'p P,
    parts: Vec<Range<usize>>,
    workers: Vec<Part<P::Work>>,
    /// Expected features of all parts.
    counts: Vec<f64>,
}

/// The memory of one part of the terms.
struct Part<W> {
    range: Range<usize>,
    work: W,
    /// Expected features; empty until they are needed.
    counts: Vec<f64>,
    log_partitions: f64,
}

impl<'p, P: Terms> Likelihood<'p, P> {
    /// `P` and its gradient.
    pub fn new(problem: &'p P) -> Self {
        let n = if problem.shards().is_some() { 0 } else { problem.common().n };
        let parts = PARTS.min(n);
        let worker = |_| {
            let work = problem.work().ok()?;
            Some(Part { range: 0..0, work, counts: Vec::new(), log_partitions: 0.0 })
        };
        Likelihood {
            problem,
            parts: (0..parts).map(|p| p * n / parts..(p + 1) * n / parts).collect(),
            workers: (0..parallel::threads().min(parts)).filter_map(worker).collect(),
            counts: Vec::new(),
        }
    }

    /// The problem.
    pub(crate) fn problem(&self) -> &'p P {
        self.problem
    }

    /// Processes every part, and adds up its counts, of which there are so many, and log-partition functions. Returns the sum of the
    /// latter.
    fn in_parts(&mut self, counts: usize, work: impl Fn(&mut Part<P::Work>) + Send + Sync) -> f64 {
        self.counts.clear();
        if let Some(shards) = self.problem.shards() {
            let problem = self.problem;
            self.counts.resize(counts, 0.0);
            let own = vec![(); shards.own().len()];
            return shards.sum(own, &mut self.counts, |range, (), sum| {
                let Ok(memory) = problem.work() else { return f64::NAN };
                let mut part = Part { range, work: memory, counts: vec![], log_partitions: 0.0 };
                work(&mut part);
                sum.copy_from_slice(&part.counts);
                part.log_partitions
            });
        }
        let mut log_partitions = 0.0;
        for ranges in self.parts.chunks(self.workers.len()) {
            let wave = &mut self.workers[..ranges.len()];
            wave.iter_mut().zip(ranges).for_each(|(part, range)| part.range = range.clone());
            parallel::map(&mut *wave, &work);
            for part in wave {
                log_partitions += part.log_partitions;
                self.counts.resize(part.counts.len(), 0.0);
                lanes::dispatch(|| {
                    self.counts.iter_mut().zip(&part.counts).for_each(|(sum, count)| *sum += count);
                });
            }
        }
        log_partitions
    }

    /// The objective `P(w)`; NaN if a score overflows.
    pub(crate) fn value(&mut self, w: &[f64]) -> f64 {
        let problem = self.problem;
        let logs = self.in_parts(0, |Part { range, work, counts, log_partitions }| {
            counts.clear();
            problem.begin(Some(w), work);
            let log_z = |i| problem.log_partition(w, work, i).unwrap_or(f64::NAN);
            *log_partitions = range.clone().map(log_z).fold(0.0, |sum, log_z| sum + log_z);
        });
        problem.common().objective(w, logs)
    }

    /// `nu(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_(m_i) F(x_i, .)]`, which without an l1 penalty are the weights `w(m)`. `agree`:
    /// those of marginals that agree exactly.
    pub(crate) fn weights_of<M: Marginals>(&mut self, marginals: &[M], agree: bool) -> Vec<f64>
    where
        P: Oracle<M>,
    {
        let problem = self.problem;
        let common = problem.common();
        self.in_parts(common.counts.len(), |Part { range, work, counts, .. }| {
            counts.clear();
            counts.resize(common.counts.len(), 0.0);
            problem.begin(None, work);
            let mut add = |i: usize| problem.add_marginals(work, i, &marginals[i], agree, counts);
            match range.clone().try_for_each(&mut add) {
                Some(()) => problem.finish(work, counts),
                None => counts.fill(f64::NAN),
            }
        });
        let scale = 1.0 / (common.l2 * common.n as f64);
        common.counts.iter().zip(&self.counts).map(|(count, e)| scale * (count - e)).collect()
    }
}

impl<P: Terms> Smooth for Likelihood<'_, P> {
    fn dimension(&self) -> usize {
        self.problem.common().counts.len()
    }

    fn value_gradient(&mut self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let problem = self.problem;
        let logs = self.in_parts(w.len(), |Part { range, work, counts, log_partitions }| {
            counts.clear();
            counts.resize(w.len(), 0.0);
            *log_partitions = 0.0;
            problem.begin(Some(w), work);
            for i in range.clone() {
                *log_partitions += problem.add_model(w, work, i, counts).unwrap_or(f64::NAN);
            }
            problem.finish(work, counts);
        });
        let common = problem.common();
        let (l2, scale) = (common.l2, 1.0 / common.n as f64);
        for (((g, w), expected), count) in
            gradient.iter_mut().zip(w).zip(&self.counts).zip(&common.counts)
        {
            *g = l2 * w + scale * (expected - count);
        }
        common.objective(w, logs)
    }

    fn value_only(&mut self, w: &[f64]) -> f64 {
        self.value(w)
    }

    /// By strong convexity `P(w) - P* <= norm(gradient)^2 / (2 l2)`, which is the duality gap between `w` and the marginals of
    /// the model.
    fn certify(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let square = lanes::dispatch(|| lanes::dot(gradient, gradient));
        Certificate::gap(value, value - square / (2.0 * self.problem.common().l2))
    }
}

/// Entropies; `agree`: those of marginals that agree exactly.
pub(crate) fn entropies<M: Marginals>(marginals: &[M], agree: bool) -> Vec<f64> {
    parallel::map(marginals, |m| m.entropy(agree))
}
