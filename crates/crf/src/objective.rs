//! Value and gradient of the objective, on all cores.

use fenchel_graphical::chain::{Chain, ChainMarginals, Probability, stride};
use fenchel_linalg::lanes;
use fenchel_optim::Certificate;
use fenchel_optim::lbfgs::Smooth;

use crate::Problem;
use crate::layout::Rows;

/// Parts that the sequences are cut into: each has its own sums, added up in order, so that no bit depends on threads.
const PARTS: usize = 8;

/// `P` as a smooth function of the flat weights, with the gradient `l2 w + 1/n sum_i [E_p F(x_i, .) - F(x_i, y_i)]`.
pub(crate) struct Objective<'p, 'a> {
    problem: &'p Problem<'a>,
    parts: Vec<Part>,
}

/// The memory of one part of the sequences.
struct Part {
    range: std::ops::Range<usize>,
    chain: Chain,
    rows: Rows,
    scores: Vec<f64>,
    nodes: Vec<f64>,
    sums: Vec<f64>,
    pairs: Vec<f64>,
    dense_pairs: Vec<f64>,
    /// Expected counts; empty until a gradient is asked for.
    counts: Vec<f64>,
    log_partitions: f64,
}

impl<'p, 'a> Objective<'p, 'a> {
    pub(crate) fn new(problem: &'p Problem<'a>) -> Self {
        let (n, labels) = (problem.n(), problem.data().labels());
        let parts = PARTS.min(n);
        let part = |p: usize| {
            let chain = Chain::shared(labels, 1).ok()?;
            Some(Part {
                range: p * n / parts..(p + 1) * n / parts,
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
        Objective { problem, parts: (0..parts).filter_map(part).collect() }
    }

    /// `P(w)`, NaN where a score overflows.
    pub(crate) fn value(&mut self, w: &[f64]) -> f64 {
        let problem = self.problem;
        each(&mut self.parts, |part| part.log_partitions(problem, w));
        self.finish(w)
    }

    fn finish(&self, w: &[f64]) -> f64 {
        let logs: f64 = self.parts.iter().map(|part| part.log_partitions).sum();
        let scores = lanes::dispatch(|| lanes::dot(w, &self.problem.counts));
        (logs - scores) / self.problem.n() as f64 + self.problem.penalty(w)
    }

    /// `sum_i E_(m_i) F(x_i, .)`, for `w(m)`.
    pub(crate) fn expected<T: Probability>(&mut self, marginals: &[ChainMarginals<T>]) -> &[f64] {
        let problem = self.problem;
        each(&mut self.parts, |part| part.expected(problem, marginals));
        self.join();
        &self.parts[0].counts
    }

    /// Adds the counts of all parts to those of the first, in order.
    fn join(&mut self) {
        let Some((first, others)) = self.parts.split_first_mut() else { return };
        for part in others {
            for (sum, count) in first.counts.iter_mut().zip(&part.counts) {
                *sum += count;
            }
        }
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

    fn expected<T: Probability>(&mut self, problem: &Problem<'_>, marginals: &[ChainMarginals<T>]) {
        let labels = problem.data().labels();
        self.counts.clear();
        self.counts.resize(problem.layout.dimension(), 0.0);
        self.dense_pairs.clear();
        self.dense_pairs.resize(labels * labels, 0.0);
        for i in self.range.clone() {
            let sequence = problem.data().sequence(i);
            problem.layout.locate(&sequence, &mut self.rows);
            let nodes = marginals[i].padded_nodes();
            problem.layout.sums(nodes, &sequence, &self.rows, &mut self.sums);
            problem.layout.scatter(1.0, &self.rows, &self.sums, &mut self.counts);
            marginals[i].add_pairs(&mut self.dense_pairs);
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
        each(&mut self.parts, |part| part.gradient(problem, w));
        self.join();
        let (l2, scale) = (problem.l2(), 1.0 / problem.n() as f64);
        for (((g, w), expected), count) in
            gradient.iter_mut().zip(w).zip(&self.parts[0].counts).zip(&problem.counts)
        {
            *g = l2 * w + scale * (expected - count);
        }
        self.finish(w)
    }

    /// `P(w) - P* <= norm(gradient)^2 / (2 l2)`: the duality gap between `w` and the model's own marginals.
    fn certify(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let square = lanes::dispatch(|| lanes::dot(gradient, gradient));
        Certificate::gap(value, value - square / (2.0 * self.problem.l2()))
    }
}

/// Does the work on every item: this thread and those of the pool take one after the other.
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

/// Does the work on every item.
#[cfg(not(feature = "parallel"))]
pub(crate) fn each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
    items.iter_mut().for_each(work);
}
