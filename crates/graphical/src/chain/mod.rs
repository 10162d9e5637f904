//! Exact inference in chains, in O(T K^2) for `T` positions with `K` states each.
//!
//! The distribution is `p(y) = exp(sum_t u_t(y_t) + sum_t m_t(y_t, y_t+1)) / Z`. `u` are the unary scores (`T x K`), and `m`
//! the pair scores. There is one `K x K` matrix of pair scores for all pairs, or one per pair. A score of `-inf` forbids a
//! state or a transition.
//!
//! ```
//! use fenchel_graphical::chain::{Chain, ChainMarginals};
//!
//! // Two states, three positions; staying is worth 1 nat, and the first position prefers state 1.
//! let mut chain = Chain::shared(2, 3)?;
//! chain.pairwise_mut(0, 0).copy_from_slice(&[1.0, 0.0]);
//! chain.pairwise_mut(0, 1).copy_from_slice(&[0.0, 1.0]);
//! chain.unary_mut(0)[1] = 2.0;
//! let mut marginals: ChainMarginals = ChainMarginals::new();
//! let log_partition = chain.marginals(&mut marginals)?;
//! assert!(marginals.node(2)[1] > 0.55);
//! assert_eq!(chain.viterbi()?.0, [1, 1, 1]);
//!
//! // The same when the last position is known to be in state 0.
//! chain.fix(2, 0)?;
//! assert!(chain.marginals(&mut marginals)? < log_partition);
//! assert_eq!(marginals.node(2), [1.0, 0.0]);
//! # Ok::<(), fenchel_graphical::Error>(())
//! ```
//!
//! | question | method | cost |
//! |---|---|---|
//! | `log Z` | [`Chain::log_partition`] | `T K^2` products |
//! | marginals of positions and pairs | [`Chain::marginals`] | `3 T K^2` products, `T K` exponentials |
//! | expected counts only | [`Chain::expectations`] | the same, without storage for the pairs |
//! | best labelling, best `n` | [`Chain::viterbi`], [`Chain::k_best`] | `T K^2`, `T K^2 n` |
//! | a random labelling | [`Chain::sample`] | `T K^2` once |
//! | entropy, relative entropy, mixtures, line searches | [`ChainMarginals`] | `T K^2` logarithms |
//!
//! Inference works with probabilities that are scaled at every position. If the pair scores are shared, it needs no exponential
//! per pair. If scores are so far apart that probability mass could be lost by underflow, which a rigorous test detects, it is
//! repeated in logarithms. Rows are padded to a multiple of eight entries, and loops use the widest vector instructions of the
//! machine. The bits of the results do not depend on these instructions.
//!
//! Reference: L. R. Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition",
//! Proceedings of the IEEE 77 (1989), section III and the scaling of section V.A.

mod decode;
mod layout;
mod log_domain;
mod marginals;
mod probability;
mod sample;
mod scaled;

use layout::check_path;
pub use layout::stride;
pub use marginals::ChainMarginals;
pub use probability::{LineTerms, LogF64, Probability};

use fenchel_linalg::{Invalid, lanes};

use crate::Error;

/// The scores of a chain, and the working memory for inference. One object can be reused for many chains by changing its
/// scores.
///
/// Scores start at 0. `-inf` forbids a state or transition; NaN and `+inf` are refused when inference runs. Memory is allocated
/// only when the shape grows beyond earlier ones.
#[derive(Debug, Clone)]
pub struct Chain {
    states: usize,
    length: usize,
    shared: bool,
    /// `length` rows of `stride(states)` scores. The padding beyond `states` is `-inf`, a forbidden state.
    unary: Vec<f64>,
    /// One matrix, or `length - 1` of them. Each has `states` rows of `stride(states)` scores with the same padding.
    pairwise: Vec<f64>,
    scaled: scaled::Scaled,
    log: log_domain::LogDomain,
    /// The largest score of a labelling that ends in each state, in rows of `stride(states)`.
    best: Vec<f64>,
}

impl Chain {
    /// A chain whose pairs share one `K x K` matrix of scores.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no states or no positions.
    pub fn shared(states: usize, length: usize) -> Result<Self, Error> {
        Self::new(states, length, true)
    }

    /// A chain with one `K x K` matrix of scores per pair.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no states or no positions.
    pub fn per_edge(states: usize, length: usize) -> Result<Self, Error> {
        Self::new(states, length, false)
    }

    fn new(states: usize, length: usize, shared: bool) -> Result<Self, Error> {
        if states == 0 {
            return Err(Invalid::Empty { what: "set of states" }.into());
        }
        let mut chain = Chain {
            states,
            length: 0,
            shared,
            unary: Vec::new(),
            pairwise: Vec::new(),
            scaled: scaled::Scaled::default(),
            log: log_domain::LogDomain::default(),
            best: Vec::new(),
        };
        let matrices = if shared { 1 } else { 0 };
        chain.grow_pairwise(matrices);
        chain.resize(length)?;
        Ok(chain)
    }

    /// Changes the number of positions. Unary scores become 0, shared pair scores are kept, and the scores of additional pairs
    /// are 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no positions.
    pub fn resize(&mut self, length: usize) -> Result<(), Error> {
        if length == 0 {
            return Err(Invalid::Empty { what: "chain" }.into());
        }
        let stride = stride(self.states);
        if length != self.length {
            self.length = length;
            self.unary.resize(length * stride, f64::NEG_INFINITY);
            if !self.shared {
                self.grow_pairwise(length - 1);
            }
        }
        for row in self.unary.chunks_exact_mut(stride) {
            row[..self.states].fill(0.0);
            row[self.states..].fill(f64::NEG_INFINITY);
        }
        Ok(())
    }

    fn grow_pairwise(&mut self, matrices: usize) {
        let stride = stride(self.states);
        let old = self.pairwise.len() / stride;
        self.pairwise.resize(matrices * self.states * stride, 0.0);
        for row in self.pairwise.chunks_exact_mut(stride).skip(old) {
            row[self.states..].fill(f64::NEG_INFINITY);
        }
    }

    /// Number of states `K`.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Number of positions `T`.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The `K` scores of position `t`.
    ///
    /// # Panics
    /// If there is no position `t`.
    pub fn unary(&self, t: usize) -> &[f64] {
        &self.unary[t * stride(self.states)..][..self.states]
    }

    /// The `K` scores of position `t`, mutable.
    ///
    /// # Panics
    /// If there is no position `t`.
    pub fn unary_mut(&mut self, t: usize) -> &mut [f64] {
        &mut self.unary[t * stride(self.states)..][..self.states]
    }

    /// All unary scores in rows of [`stride`] entries, for inner loops. A caller who writes whole rows must write a finite
    /// number or `-inf` to the padding. [`seal`](Chain::seal) then sets the padding to `-inf`.
    pub fn padded_unary_mut(&mut self) -> &mut [f64] {
        &mut self.unary
    }

    /// Sets the padding to `-inf` again after [`padded_unary_mut`](Chain::padded_unary_mut).
    pub fn seal(&mut self) {
        let stride = stride(self.states);
        if stride > self.states {
            for row in self.unary.chunks_exact_mut(stride) {
                row[self.states..].fill(f64::NEG_INFINITY);
            }
        }
    }

    /// The `K` scores of the transitions from state `from` at position `edge` to each state at `edge + 1`. Shared scores are
    /// the same for every edge.
    ///
    /// # Panics
    /// If there is no such pair or state.
    pub fn pairwise(&self, edge: usize, from: usize) -> &[f64] {
        let at = self.pairwise_row(edge, from);
        &self.pairwise[at..][..self.states]
    }

    /// The scores of [`pairwise`](Chain::pairwise), mutable. Shared scores change for every edge.
    ///
    /// # Panics
    /// If there is no such pair or state.
    pub fn pairwise_mut(&mut self, edge: usize, from: usize) -> &mut [f64] {
        let at = self.pairwise_row(edge, from);
        &mut self.pairwise[at..][..self.states]
    }

    fn pairwise_row(&self, edge: usize, from: usize) -> usize {
        assert!(from < self.states, "state {from} of {}", self.states);
        let matrix = if self.shared { 0 } else { edge };
        (matrix * self.states + from) * stride(self.states)
    }

    /// Allows only the states `k` with `allowed[k]` at position `t`; their scores do not change.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a position that does not exist or a mask of another length.
    pub fn allow(&mut self, t: usize, allowed: &[bool]) -> Result<(), Error> {
        self.check_position(t)?;
        Invalid::check_length("mask of allowed states", self.states, allowed.len())?;
        for (score, &allowed) in self.unary_mut(t).iter_mut().zip(allowed) {
            if !allowed {
                *score = f64::NEG_INFINITY;
            }
        }
        Ok(())
    }

    /// Allows only `state` at position `t`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a position or a state that does not exist.
    pub fn fix(&mut self, t: usize, state: usize) -> Result<(), Error> {
        self.check_position(t)?;
        check_path(self.states, &[state])?;
        for (k, score) in self.unary_mut(t).iter_mut().enumerate() {
            if k != state {
                *score = f64::NEG_INFINITY;
            }
        }
        Ok(())
    }

    /// Forbids the transition `from -> to` at `edge`, or at every edge if the pairs share their scores.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a pair or a state that does not exist.
    pub fn forbid(&mut self, edge: usize, from: usize, to: usize) -> Result<(), Error> {
        self.check_position(edge + 1)?;
        check_path(self.states, &[from, to])?;
        self.pairwise_mut(edge, from)[to] = f64::NEG_INFINITY;
        Ok(())
    }

    fn check_position(&self, t: usize) -> Result<(), Error> {
        if t < self.length {
            return Ok(());
        }
        let expected = "a position of the chain";
        Err(Invalid::Parameter { name: "position", value: t as f64, expected }.into())
    }

    /// The score of a labelling, the exponent of `p(y)`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path of another length or with a state out of range.
    pub fn score(&self, path: &[usize]) -> Result<f64, Error> {
        Invalid::check_length("path", self.length, path.len())?;
        check_path(self.states, path)?;
        let unary: f64 = path.iter().enumerate().map(|(t, &k)| self.unary(t)[k]).sum();
        let pairs: f64 =
            path.windows(2).enumerate().map(|(t, p)| self.pairwise(t, p[0])[p[1]]).sum();
        Ok(unary + pairs)
    }

    /// `log Z`.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] if every labelling is forbidden, [`Error::Invalid`] for a score that is NaN or `+inf`.
    pub fn log_partition(&mut self) -> Result<f64, Error> {
        match self.filter()? {
            Filter::Scaled(log_partition) | Filter::Log(log_partition) => Ok(log_partition),
        }
    }

    /// The log-probability `log p(y)` of a labelling.
    ///
    /// # Errors
    /// Those of [`score`](Chain::score) and [`log_partition`](Chain::log_partition).
    pub fn log_probability(&mut self, path: &[usize]) -> Result<f64, Error> {
        Ok(self.score(path)? - self.log_partition()?)
    }

    /// Marginals of all positions and pairs, written to `out`; returns `log Z`.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] if every labelling is forbidden, [`Error::Invalid`] for a score that is NaN or `+inf`, and where
    /// `log Z` overflows.
    pub fn marginals<T: Probability>(&mut self, out: &mut ChainMarginals<T>) -> Result<f64, Error> {
        if !T::LOG
            && let Some(log_partition) = self.scaled_pass()
        {
            out.shape(self.states, self.length);
            self.scaled.write(self.states, out);
            return Ok(log_partition);
        }
        self.marginals_in_logs(out)
    }

    /// Does the same as [`marginals`](Chain::marginals), in logarithms from the start. It is the reference for tests, and takes more than
    /// ten times as long. Every marginal adds up to 1; beyond scores of 1e9 those of positions and pairs agree up to the rounding
    /// of the scores.
    ///
    /// # Errors
    /// Those of [`marginals`](Chain::marginals).
    pub fn marginals_in_logs<T: Probability>(
        &mut self,
        out: &mut ChainMarginals<T>,
    ) -> Result<f64, Error> {
        self.check_scores()?;
        let log_partition =
            self.log.forward(&self.unary, &self.pairwise, self.states, self.shared)?;
        Invalid::check_finite("log-partition function", &[log_partition])?;
        self.log.backward(&self.unary, &self.pairwise, self.states, self.shared);
        out.shape(self.states, self.length);
        let scores = (&self.unary[..], &self.pairwise[..]);
        self.log.write(scores, self.states, self.shared, out);
        Ok(log_partition)
    }

    /// Expected counts. `nodes` (rows of [`stride`] entries) receives the marginals of the positions, and `sum_t m_t(j, k)` is
    /// added to `pairs` (`K` rows of [`stride`] entries). Returns `log Z`.
    ///
    /// # Errors
    /// Those of [`marginals`](Chain::marginals), and [`Error::Invalid`] for buffers of another length.
    pub fn expectations(&mut self, nodes: &mut [f64], pairs: &mut [f64]) -> Result<f64, Error> {
        let stride = stride(self.states);
        Invalid::check_length("nodes", self.length * stride, nodes.len())?;
        Invalid::check_length("pairs", self.states * stride, pairs.len())?;
        if let Some(log_partition) = self.scaled_pass() {
            nodes.copy_from_slice(self.scaled.nodes());
            self.scaled.add_pairs(self.states, pairs);
            return Ok(log_partition);
        }
        let mut marginals = ChainMarginals::<f64>::new();
        let log_partition = self.marginals_in_logs(&mut marginals)?;
        nodes.copy_from_slice(marginals.padded_nodes());
        for t in 1..self.length {
            for (row, edge) in
                pairs.chunks_exact_mut(stride).zip(marginals.edge(t - 1).chunks_exact(self.states))
            {
                row.iter_mut().zip(edge).for_each(|(sum, p)| *sum += p);
            }
        }
        Ok(log_partition)
    }

    fn scaled_pass(&mut self) -> Option<f64> {
        self.scaled.forward(&self.unary, &self.pairwise, self.states, self.shared)?;
        self.scaled.backward(self.states).then(|| self.scaled.log_partition())
    }

    /// Runs a forward pass that lost no mass, scaled if possible, else in logarithms.
    fn filter(&mut self) -> Result<Filter, Error> {
        if self.scaled.forward(&self.unary, &self.pairwise, self.states, self.shared).is_some() {
            return Ok(Filter::Scaled(self.scaled.log_partition()));
        }
        self.check_scores()?;
        self.log.forward(&self.unary, &self.pairwise, self.states, self.shared).map(Filter::Log)
    }

    /// Refuses NaN and `+inf`.
    fn check_scores(&self) -> Result<(), Error> {
        let stride = stride(self.states);
        for (what, scores) in [("unary scores", &self.unary), ("pair scores", &self.pairwise)] {
            if lanes::dispatch(|| all_below_infinity(scores)) {
                continue;
            }
            let bad = scores.iter().position(|s| s.is_nan() || *s == f64::INFINITY);
            if let Some(at) = bad {
                let (row, column, value) = (at / stride, at % stride, scores[at]);
                return Err(Invalid::NonFinite { what, row, column, value }.into());
            }
        }
        Ok(())
    }
}

/// Whether no entry is NaN or `+inf`. The length is a multiple of 8. The loop has no early exit, so that it vectorises.
#[inline(always)]
fn all_below_infinity(scores: &[f64]) -> bool {
    let mut wrong = [0.0; 8];
    for block in scores.as_chunks::<8>().0 {
        for l in 0..8 {
            wrong[l] = if block[l] < f64::INFINITY { wrong[l] } else { 1.0 };
        }
    }
    wrong == [0.0; 8]
}

/// The kind of the forward messages, with `log Z`.
enum Filter {
    Scaled(f64),
    Log(f64),
}
