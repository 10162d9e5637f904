//! Value and gradient of the objective, computed on all cores.

use std::ops::Range;

use fenchel_graphical::chain::{Chain, ChainMarginals, Probability, stride};
use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::Certificate;
use fenchel_optim::lbfgs::Smooth;

use crate::Error;
use crate::layout::Rows;
use crate::methods::sdca::agreeing;
use crate::problem::Problem;
use crate::weights::Weights;

/// Number of parts into which the sequences are divided. Each part has its own sums, which are added in order, so that results
/// do not depend on threads. At any time at most as many parts as threads are processed, and only these need memory.
const PARTS: usize = 8;

/// `P` as a smooth function of the flat weights, with the gradient `l2 w + 1/n sum_i [E_p F(x_i, .) - F(x_i, y_i)]`.
pub(crate) struct Objective<'p, 'a> {
    problem: &'p Problem<'a>,
    parts: Vec<Range<usize>>,
    workers: Vec<Part>,
    /// Expected counts of all parts.
    counts: Vec<f64>,
}

/// The memory of one part of the sequences.
struct Part {
    range: Range<usize>,
    chain: Chain,
    rows: Rows,
    scores: Vec<f64>,
    nodes: Vec<f64>,
    sums: Vec<f64>,
    pairs: Vec<f64>,
    dense_pairs: Vec<f64>,
    /// Expected counts; empty until a gradient is needed.
    counts: Vec<f64>,
    log_partitions: f64,
}

impl<'p, 'a> Objective<'p, 'a> {
    pub(crate) fn new(problem: &'p Problem<'a>) -> Self {
        let (n, labels) = (problem.n(), problem.data().labels());
        let parts = PARTS.min(n);
        let worker = |_| {
            let chain = Chain::shared(labels, 1).ok()?;
            Some(Part {
                range: 0..0,
                chain,
                rows: Rows::default(),
                scores: Vec::new(),
                nodes: Vec::new(),
                sums: Vec::new(),
                pairs: vec![0.0; labels * stride(labels)],
                dense_pairs: Vec::new(),
                counts: Vec::new(),
                log_partitions: 0.0,
            })
        };
        Objective {
            problem,
            parts: (0..parts).map(|p| p * n / parts..(p + 1) * n / parts).collect(),
            workers: (0..threads().min(parts)).filter_map(worker).collect(),
            counts: Vec::new(),
        }
    }

    /// Processes every part, and adds up its counts and log-partition functions. Returns the sum of the latter.
    fn in_parts(&mut self, work: impl Fn(&mut Part) + Send + Sync) -> f64 {
        self.counts.clear();
        let mut log_partitions = 0.0;
        for ranges in self.parts.chunks(self.workers.len()) {
            let wave = &mut self.workers[..ranges.len()];
            wave.iter_mut().zip(ranges).for_each(|(part, range)| part.range = range.clone());
            each(wave, &work);
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
        let logs = self.in_parts(|part| part.log_partitions(problem, w));
        self.finish(w, logs)
    }

    fn finish(&self, w: &[f64], log_partitions: f64) -> f64 {
        let scores = lanes::dispatch(|| lanes::dot(w, &self.problem.counts));
        (log_partitions - scores) / self.problem.n() as f64 + self.problem.penalty(w)
    }

    /// `sum_i E_(m_i) F(x_i, .)`, for `w(m)`. `agree`: of the marginals of [`agreeing`] instead.
    pub(crate) fn expected<T: Probability>(
        &mut self,
        marginals: &[ChainMarginals<T>],
        agree: bool,
    ) -> &[f64] {
        let problem = self.problem;
        self.in_parts(|part| part.expected(problem, marginals, agree));
        &self.counts
    }
}

impl Part {
    fn read(&mut self, problem: &Problem<'_>, w: &[f64], i: usize) -> bool {
        let sequence = problem.data().sequence(i);
        problem.layout.locate(&sequence, &mut self.rows);
        problem.layout.scores(w, &sequence, &self.rows, &mut self.scores);
        let fits = self.chain.resize(sequence.len()).is_ok();
        self.chain.padded_unary_mut().copy_from_slice(&self.scores);
        self.chain.seal();
        fits
    }

    fn log_partitions(&mut self, problem: &Problem<'_>, w: &[f64]) {
        problem.layout.write_transitions(w, &mut self.chain);
        self.log_partitions = 0.0;
        self.counts.clear();
        for i in self.range.clone() {
            self.read(problem, w, i);
            self.log_partitions += self.chain.log_partition().unwrap_or(f64::NAN);
        }
    }

    fn gradient(&mut self, problem: &Problem<'_>, w: &[f64]) {
        problem.layout.write_transitions(w, &mut self.chain);
        self.log_partitions = 0.0;
        self.counts.clear();
        self.counts.resize(w.len(), 0.0);
        self.pairs.fill(0.0);
        for i in self.range.clone() {
            self.read(problem, w, i);
            self.nodes.resize(self.scores.len(), 0.0);
            let log_partition = self.chain.expectations(&mut self.nodes, &mut self.pairs);
            self.log_partitions += log_partition.unwrap_or(f64::NAN);
            let sequence = problem.data().sequence(i);
            problem.layout.sums(&self.nodes, &sequence, &self.rows, &mut self.sums);
            problem.layout.scatter(1.0, &self.rows, &self.sums, &mut self.counts);
        }
        let labels = problem.data().labels();
        self.dense_pairs.clear();
        for row in self.pairs.chunks_exact(stride(labels)) {
            self.dense_pairs.extend_from_slice(&row[..labels]);
        }
        self.scatter_pairs(problem);
    }

    fn expected<T: Probability>(
        &mut self,
        problem: &Problem<'_>,
        marginals: &[ChainMarginals<T>],
        agree: bool,
    ) {
        let labels = problem.data().labels();
        self.counts.clear();
        self.counts.resize(problem.layout.dimension(), 0.0);
        self.dense_pairs.clear();
        self.dense_pairs.resize(labels * labels, 0.0);
        for i in self.range.clone() {
            let sequence = problem.data().sequence(i);
            problem.layout.locate(&sequence, &mut self.rows);
            let own = agree.then(|| agreeing::<f64>(&marginals[i]));
            let nodes = match &own {
                None => marginals[i].padded_nodes(),
                Some(Some(own)) => own.padded_nodes(),
                Some(None) => return self.counts.fill(f64::NAN),
            };
            problem.layout.sums(nodes, &sequence, &self.rows, &mut self.sums);
            problem.layout.scatter(1.0, &self.rows, &self.sums, &mut self.counts);
            match own.flatten() {
                None => marginals[i].add_pairs(&mut self.dense_pairs),
                Some(own) => own.add_pairs(&mut self.dense_pairs),
            }
        }
        self.scatter_pairs(problem);
    }

    fn scatter_pairs(&mut self, problem: &Problem<'_>) {
        problem.layout.mask_pairs(&mut self.dense_pairs);
        problem.layout.scatter_pairs(1.0, &self.dense_pairs, &mut self.counts);
    }
}

impl Smooth for Objective<'_, '_> {
    fn dimension(&self) -> usize {
        self.problem.layout.dimension()
    }

    fn value_gradient(&mut self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let problem = self.problem;
        let logs = self.in_parts(|part| part.gradient(problem, w));
        let (l2, scale) = (problem.l2(), 1.0 / problem.n() as f64);
        for (((g, w), expected), count) in
            gradient.iter_mut().zip(w).zip(&self.counts).zip(&problem.counts)
        {
            *g = l2 * w + scale * (expected - count);
        }
        self.finish(w, logs)
    }

    /// By strong convexity `P(w) - P* <= norm(gradient)^2 / (2 l2)`, which is the duality gap between `w` and the marginals of
    /// the model.
    fn certify(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let square = lanes::dispatch(|| lanes::dot(gradient, gradient));
        Certificate::gap(value, value - square / (2.0 * self.problem.l2()))
    }
}

impl Problem<'_> {
    /// The objective `P(w)`; weights outside the support count as 0. One pass, which takes n oracle calls.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights of another shape or not finite; [`Error::Chain`] if a score overflows.
    pub fn objective(&self, weights: &Weights) -> Result<f64, Error> {
        let w = self.layout.pack(weights)?;
        let value = Objective::new(self).value(&w);
        if value.is_finite() {
            return Ok(value);
        }
        Err(Invalid::NonFinite { what: "objective", row: 0, column: 0, value }.into())
    }
}

/// Threads that [`each`] has.
fn threads() -> usize {
    #[cfg(feature = "parallel")]
    let threads = rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    let threads = 1;
    threads
}

/// Applies `work` to every item. This thread and those of the pool take one item after the other.
#[cfg(feature = "parallel")]
pub(crate) fn each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
    let helpers = rayon::current_num_threads().min(items.len()).saturating_sub(1);
    let queue = std::sync::Mutex::new(items.iter_mut());
    let next = || queue.lock().ok()?.next();
    let serve = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    rayon::in_place_scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| serve()));
        serve();
    });
}

/// Applies `work` to every item.
#[cfg(not(feature = "parallel"))]
pub(crate) fn each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
    items.iter_mut().for_each(work);
}
