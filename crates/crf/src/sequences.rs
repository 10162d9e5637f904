//! Chains as the models of a [`Problem`]: the oracle is forward-backward.

use std::ops::Range;

use fenchel_graphical::chain::{Chain, ChainMarginals, LineTerms, Probability, stride};
use fenchel_linalg::spread::Shards;
use fenchel_linalg::{Invalid, lanes};

use crate::Error;
use crate::layout::Rows;
use crate::likelihood::Likelihood;
use crate::methods::radius::{radius_heuristic, radius_upper};
use crate::problem::Problem;
use crate::terms::{Common, Marginals, Oracle, Terms};
use crate::weights::Weights;

/// The memory of one thread.
pub struct Work {
    pub(crate) chain: Chain,
    pub(crate) rows: Rows,
    /// The score of every label at every position, rows of `stride`.
    pub(crate) scores: Vec<f64>,
    /// Numbers on the positions, rows of `stride`.
    pub(crate) nodes: Vec<f64>,
    /// Sums over the pairs of a sequence or of several, rows of `stride`.
    pub(crate) padded_pairs: Vec<f64>,
    /// Sums over pairs, `K x K`.
    pub(crate) pairs: Vec<f64>,
    /// The features of `nodes`, on the rows that the sequence uses.
    pub(crate) sums: Vec<f64>,
}

impl Work {
    /// Memory with a chain of one position.
    pub(crate) fn new(chain: Chain) -> Self {
        let labels = chain.states();
        Work {
            chain,
            rows: Rows::default(),
            scores: Vec::new(),
            nodes: Vec::new(),
            padded_pairs: vec![0.0; labels * stride(labels)],
            pairs: vec![0.0; labels * labels],
            sums: Vec::new(),
        }
    }

    /// Computes the rows and the scores of a sequence.
    pub(crate) fn read(&mut self, problem: &Problem<'_>, w: &[f64], i: usize) {
        let sequence = problem.data().sequence(i);
        problem.layout.locate(&sequence, &mut self.rows);
        problem.layout.scores(w, &sequence, &self.rows, &mut self.scores);
    }

    /// Writes the scores of the positions to the chain.
    pub(crate) fn write(&mut self, length: usize) -> Option<()> {
        self.chain.resize(length).ok()?;
        self.chain.padded_unary_mut().copy_from_slice(&self.scores);
        self.chain.seal();
        Some(())
    }

    /// Expected positions, and pairs, which are added to `padded_pairs`. Returns `log Z`.
    fn expect(&mut self) -> Option<f64> {
        self.nodes.resize(self.scores.len(), 0.0);
        self.chain.expectations(&mut self.nodes, &mut self.padded_pairs).ok()
    }

    /// The term `log Z - s(x_i, y_i)` at the scores of the chain. Leaves `p - 1{y_i}` in `nodes` and `pairs`.
    pub(crate) fn loss(&mut self, problem: &Problem<'_>, i: usize) -> Option<f64> {
        let truth = self.true_score(problem, i);
        self.padded_pairs.fill(0.0);
        let log_z = self.expect()?;
        let (labels, y) = (self.chain.states(), problem.data().sequence(i).labels());
        for (t, &label) in y.iter().enumerate() {
            self.nodes[t * stride(labels) + label as usize] -= 1.0;
        }
        self.pairs.clear();
        for row in self.padded_pairs.chunks_exact(stride(labels)) {
            self.pairs.extend_from_slice(&row[..labels]);
        }
        for pair in y.windows(2) {
            self.pairs[pair[0] as usize * labels + pair[1] as usize] -= 1.0;
        }
        Some(log_z - truth)
    }

    /// The score of the true labels.
    pub(crate) fn true_score(&self, problem: &Problem<'_>, i: usize) -> f64 {
        let y = problem.data().sequence(i).labels();
        let unary: f64 = y.iter().enumerate().map(|(t, &k)| self.chain.unary(t)[k as usize]).sum();
        let pairs = y.windows(2).map(|p| self.chain.pairwise(0, p[0] as usize)[p[1] as usize]);
        unary + pairs.sum::<f64>()
    }

    /// Computes the features of `nodes` and `pairs`: sums over the positions, and pairs that have a weight.
    pub(crate) fn features_of(&mut self, problem: &Problem<'_>, i: usize) {
        let sequence = problem.data().sequence(i);
        problem.layout.sums(&self.nodes, &sequence, &self.rows, &mut self.sums);
        problem.layout.mask_pairs(&mut self.pairs);
    }

    /// Computes `d = p - m` in `nodes` and `pairs`, and the features `F d`. Returns `norm(F d)^2`.
    pub(crate) fn difference<T: Probability>(
        &mut self,
        problem: &Problem<'_>,
        i: usize,
        m: &ChainMarginals<T>,
        p: &ChainMarginals<T>,
    ) -> f64 {
        self.nodes.clear();
        let positions = p.padded_nodes().iter().zip(m.padded_nodes());
        self.nodes.extend(positions.map(|(p, m)| p - m));
        self.pairs.fill(0.0);
        m.add_pair_differences(p, &mut self.pairs);
        self.features_of(problem, i);
        let (sums, pairs) = (&self.sums, &self.pairs);
        lanes::dispatch(|| lanes::dot(sums, sums) + lanes::dot(pairs, pairs))
    }

    /// The score of expected features under the weights of the chain: `<u, nodes> + <M, pairs>`.
    fn expected_score(&self, nodes: &[f64]) -> f64 {
        let transitions: f64 = self
            .pairs
            .chunks_exact(self.chain.states())
            .enumerate()
            .map(|(j, row)| lanes::dot(self.chain.pairwise(0, j), row))
            .sum();
        lanes::dot(&self.scores, nodes) + transitions
    }
}

impl Terms for Problem<'_> {
    type Work = Work;

    fn common(&self) -> &Common {
        &self.common
    }

    fn work(&self) -> Result<Work, Error> {
        Ok(Work::new(Chain::shared(self.data().labels(), 1)?))
    }

    fn shards(&self) -> Option<&Shards<'_>> {
        self.shards
    }

    fn uniform_objective(&self) -> f64 {
        let data = self.data();
        let tokens = self.shards.map_or(data.tokens() as f64, |shards| {
            shards.sum(&mut [], &|_, own, _| own.map(|i| data.sequence(i).len() as f64).sum())
        });
        tokens / self.common.n as f64 * (data.labels() as f64).ln()
    }

    fn radius(&self, i: usize) -> f64 {
        radius_heuristic(self.data(), i)
    }

    fn radius_bound(&self, i: usize) -> f64 {
        radius_upper(self.data(), i)
    }

    fn begin(&self, w: Option<&[f64]>, work: &mut Work) {
        if let Some(w) = w {
            self.layout.write_transitions(w, &mut work.chain);
        }
        work.padded_pairs.fill(0.0);
        work.pairs.fill(0.0);
    }

    fn log_partition(&self, w: &[f64], work: &mut Work, i: usize) -> Option<f64> {
        work.read(self, w, i);
        work.write(self.data().sequence(i).len())?;
        work.chain.log_partition().ok()
    }

    /// The pairs are left to `finish`: all sequences have the same weights of transitions.
    fn add_model(&self, w: &[f64], work: &mut Work, i: usize, counts: &mut [f64]) -> Option<f64> {
        let sequence = self.data().sequence(i);
        work.read(self, w, i);
        work.write(sequence.len())?;
        let log_z = work.expect()?;
        self.layout.sums(&work.nodes, &sequence, &work.rows, &mut work.sums);
        self.layout.scatter(1.0, &work.rows, &work.sums, counts);
        Some(log_z)
    }

    fn finish(&self, work: &mut Work, counts: &mut [f64]) {
        // One of the two is 0.
        let labels = work.chain.states();
        let padded = work.padded_pairs.chunks_exact(stride(labels));
        for (pairs, padded) in work.pairs.chunks_exact_mut(labels).zip(padded) {
            pairs.iter_mut().zip(padded).for_each(|(pair, more)| *pair += more);
        }
        self.layout.mask_pairs(&mut work.pairs);
        self.layout.scatter_pairs(1.0, &work.pairs, counts);
    }

    fn features<'w>(&self, work: &'w Work) -> (&'w [f64], &'w [f64]) {
        (&work.sums, &work.pairs)
    }

    fn gather(&self, work: &Work, _: usize, w: &[f64], out: &mut Vec<f64>) {
        work.rows.ranges().for_each(|range| out.extend_from_slice(&w[range]));
        self.layout.extend_with_transitions(w, out);
    }

    fn scatter(&self, work: &Work, _: usize, scale: f64, w: &mut [f64]) {
        self.layout.scatter(scale, &work.rows, &work.sums, w);
        self.layout.scatter_pairs(scale, &work.pairs, w);
    }

    fn dot(&self, work: &Work, _: usize, w: &[f64]) -> f64 {
        self.layout.dot(&work.rows, &work.sums, w) + self.layout.dot_pairs(&work.pairs, w)
    }

    fn ranges(&self, work: &Work, _: usize) -> impl Iterator<Item = Range<usize>> {
        let transitions = self.layout.transitions()..self.layout.dimension();
        work.rows.ranges().chain([transitions])
    }
}

impl<T: Probability> Oracle<ChainMarginals<T>> for Problem<'_> {
    fn infer(
        &self,
        w: &[f64],
        work: &mut Work,
        i: usize,
        p: &mut ChainMarginals<T>,
    ) -> Option<f64> {
        work.read(self, w, i);
        self.layout.write_transitions(w, &mut work.chain);
        work.write(self.data().sequence(i).len())?;
        work.chain.marginals(p).ok().filter(|log_z| log_z.is_finite())
    }

    fn expected_score(&self, work: &mut Work, _: usize, m: &ChainMarginals<T>) -> f64 {
        work.pairs.fill(0.0);
        m.add_pairs(&mut work.pairs);
        work.expected_score(m.padded_nodes())
    }

    fn direction(
        &self,
        work: &mut Work,
        i: usize,
        m: &ChainMarginals<T>,
        p: &ChainMarginals<T>,
    ) -> (f64, f64) {
        let square = work.difference(self, i, m, p);
        (work.expected_score(&work.nodes), square)
    }

    fn add_marginals(
        &self,
        work: &mut Work,
        i: usize,
        m: &ChainMarginals<T>,
        agree: bool,
        counts: &mut [f64],
    ) -> Option<()> {
        match agree {
            true => self.add_chain(work, i, &agreeing::<f64>(m)?, counts),
            false => self.add_chain(work, i, m, counts),
        }
        Some(())
    }
}

impl Problem<'_> {
    /// The objective `P(w)`; weights outside the support count as 0. One pass, which takes n oracle calls.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights of another shape or not finite; [`Error::Chain`] if a score overflows.
    pub fn objective(&self, weights: &Weights) -> Result<f64, Error> {
        let w = self.layout.pack(weights)?;
        let value = Likelihood::new(self).value(&w);
        if value.is_finite() {
            return Ok(value);
        }
        Err(Invalid::NonFinite { what: "objective", row: 0, column: 0, value }.into())
    }

    fn add_chain<T: Probability>(
        &self,
        work: &mut Work,
        i: usize,
        m: &ChainMarginals<T>,
        counts: &mut [f64],
    ) {
        let sequence = self.data().sequence(i);
        self.layout.locate(&sequence, &mut work.rows);
        self.layout.sums(m.padded_nodes(), &sequence, &work.rows, &mut work.sums);
        self.layout.scatter(1.0, &work.rows, &work.sums, counts);
        m.add_pairs(&mut work.pairs);
    }
}

impl<T: Probability> Marginals for ChainMarginals<T> {
    const ROUNDED: bool = T::ROUNDING > 0.0;

    fn entropy(&self, agree: bool) -> f64 {
        match agree {
            true => agreeing::<f64>(self).map_or(f64::NAN, |own| ChainMarginals::entropy(&own)),
            false => ChainMarginals::entropy(self),
        }
    }

    fn line_terms(&self, target: &Self, step: f64) -> LineTerms {
        ChainMarginals::line_terms(self, target, step)
    }

    fn mix(&mut self, target: &Self, step: f64) {
        ChainMarginals::mix(self, target, step);
    }
}

/// The marginals of the Markov chain that begins like `m` and has its transitions, or `None` if they are not numbers. Those of
/// `m` agree with each other up to rounding only, which adds up over many visits in single precision: a dual value at them may
/// exceed the optimum. At these it cannot. O(T K^2).
pub(crate) fn agreeing<U: Probability>(
    m: &ChainMarginals<impl Probability>,
) -> Option<ChainMarginals<U>> {
    let states = m.states();
    let law = |row: &mut Vec<f64>| {
        let sum: f64 = row.iter().sum();
        let flat = 1.0 / states as f64;
        row.iter_mut().for_each(|p| *p = if sum > 0.0 { *p / sum } else { flat });
    };
    let mut node: Vec<f64> = m.node(0).iter().map(|p| p.max(0.0)).collect();
    law(&mut node);
    let (mut nodes, mut edges) = (node.clone(), Vec::with_capacity(m.length() * states * states));
    let mut row = Vec::with_capacity(states);
    for t in 1..m.length() {
        let mut next = vec![0.0; states];
        for (from, pairs) in node.iter().zip(m.edge(t - 1).chunks_exact(states)) {
            row.clear();
            row.extend(pairs.iter().map(|p| p.linear().max(0.0)));
            law(&mut row);
            for (to, p) in next.iter_mut().zip(&row) {
                *to += from * p;
                edges.push(U::from_linear(from * p));
            }
        }
        nodes.extend(&next);
        node = next;
    }
    ChainMarginals::from_parts(states, &nodes, &edges).ok()
}
