//! Value and gradient of the objective, computed on all cores.

use std::ops::Range;

use fenchel_linalg::parallel;
use fenchel_linalg::vectors::{dot, in_runs};
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
    workers: Vec<Worker<P::Work>>,
    /// Expected features of all parts.
    counts: Vec<f64>,
}

/// The memory for a part of the terms.
struct Worker<W> {
    work: W,
    /// Expected features; empty until they are needed.
    counts: Vec<f64>,
}

impl<'p, P: Terms> Likelihood<'p, P> {
    /// `P` and its gradient.
    pub fn new(problem: &'p P) -> Self {
        let n = if problem.shards().is_some() { 0 } else { problem.common().n };
        let parts = PARTS.min(n);
        let worker = |_| Some(Worker { work: problem.work().ok()?, counts: Vec::new() });
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

    /// Adds up the counts, of which there are so many, and the log-partition functions of all parts, which `work` adds to zeros and
    /// returns for the terms of a part. Returns the sum of the latter.
    fn in_parts(
        &mut self,
        counts: usize,
        work: impl Fn(Range<usize>, &mut P::Work, &mut [f64]) -> f64 + Send + Sync,
    ) -> f64 {
        let problem = self.problem;
        self.counts.clear();
        self.counts.resize(counts, 0.0);
        if let Some(shards) = problem.shards() {
            return shards.sum(&mut self.counts, &|_, range, sum| {
                problem.work().map_or(f64::NAN, |mut memory| work(range, &mut memory, sum))
            });
        }
        let mut log_partitions = 0.0;
        for ranges in self.parts.chunks(self.workers.len()) {
            let of_part = |(worker, range): (&mut Worker<P::Work>, &Range<usize>)| {
                worker.counts.clear();
                worker.counts.resize(counts, 0.0);
                work(range.clone(), &mut worker.work, &mut worker.counts)
            };
            for part in parallel::map(self.workers.iter_mut().zip(ranges), of_part) {
                log_partitions += part;
            }
            let counts: Vec<_> =
                self.workers[..ranges.len()].iter().map(|worker| &worker.counts).collect();
            in_runs(&mut self.counts, |run, sums| {
                for counts in &counts {
                    let counts = sums.iter_mut().zip(&counts[run.clone()]);
                    counts.for_each(|(sum, count)| *sum += count);
                }
            });
        }
        log_partitions
    }

    /// The objective `P(w)`; NaN if a score overflows.
    pub(crate) fn value(&mut self, w: &[f64]) -> f64 {
        let problem = self.problem;
        let logs = self.in_parts(0, |range, work, _| {
            problem.begin(Some(w), work);
            let log_z = |i| problem.log_partition(w, work, i).unwrap_or(f64::NAN);
            range.map(log_z).fold(0.0, |sum, log_z| sum + log_z)
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
        self.in_parts(common.counts.len(), |mut range, work, counts| {
            problem.begin(None, work);
            let add = |i: usize| problem.add_marginals(work, i, &marginals[i], agree, counts);
            match range.try_for_each(add) {
                Some(()) => problem.finish(work, counts),
                None => counts.fill(f64::NAN),
            }
            0.0
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
        let logs = self.in_parts(w.len(), |range, work, counts| {
            let mut log_partitions = 0.0;
            problem.begin(Some(w), work);
            for i in range {
                log_partitions += problem.add_model(w, work, i, counts).unwrap_or(f64::NAN);
            }
            problem.finish(work, counts);
            log_partitions
        });
        let common = problem.common();
        let (l2, scale) = (common.l2, 1.0 / common.n as f64);
        in_runs(gradient, |run, gradient| {
            let (w, expected) = (&w[run.clone()], &self.counts[run.clone()]);
            let terms = gradient.iter_mut().zip(w).zip(expected.iter().zip(&common.counts[run]));
            terms.for_each(|((g, w), (expected, count))| *g = l2 * w + scale * (expected - count));
        });
        common.objective(w, logs)
    }

    fn value_only(&mut self, w: &[f64]) -> f64 {
        self.value(w)
    }

    /// By strong convexity `P(w) - P* <= norm(gradient)^2 / (2 l2)`, which is the duality gap between `w` and the marginals of
    /// the model.
    fn certify(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let square = dot(gradient, gradient);
        Certificate::gap(value, value - square / (2.0 * self.problem.common().l2))
    }
}

/// Entropies; `agree`: those of marginals that agree exactly.
pub(crate) fn entropies<M: Marginals>(marginals: &[M], agree: bool) -> Vec<f64> {
    parallel::map(marginals, |m| m.entropy(agree))
}
