//! Marginals of single positions and of pairs of neighbouring positions.

use fenchel_linalg::{Invalid, lanes};
use serde::{Deserialize, Serialize};

use super::layout::{check_path, stride};
use super::{LineTerms, Probability};
use crate::Error;

/// Marginals `m_t(k)` of the positions and `m_t(j, k)` of neighbouring pairs of a chain with `length` positions and
/// `states` states.
///
/// The marginals represent the Markov distribution `prod_t m_t(j, k) / prod_(interior t) m_t(k)`, which has the largest entropy
/// of all distributions with these marginals. All entropies are in nats. Pairs are stored as `T` (see [`Probability`]),
/// positions always as `f64`.
///
/// | symbol | field |
/// |---|---|
/// | `m_t(k)`, `t = 0..T-1` | [`node`](Self::node) |
/// | `m_t(j, k)`, `t = 0..T-2`, pair of `t` and `t + 1` | [`edge`](Self::edge) |
///
/// Marginals that are read from a file are checked as by [`from_parts`](Self::from_parts).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(
    try_from = "Parts<T>",
    bound(deserialize = "T: Probability + Deserialize<'de>", serialize = "T: Serialize")
)]
pub struct ChainMarginals<T = f64> {
    states: usize,
    length: usize,
    /// `length` rows of `stride(states)`, zero beyond `states`.
    pub(super) nodes: Vec<f64>,
    /// `length - 1` blocks of `states * states` without gaps, then zeros for one additional row.
    pub(super) edges: Vec<T>,
}

/// A [`ChainMarginals`] as a file holds it, before it is checked.
#[derive(Deserialize)]
struct Parts<T> {
    states: usize,
    length: usize,
    nodes: Vec<f64>,
    edges: Vec<T>,
}

impl<T: Probability> TryFrom<Parts<T>> for ChainMarginals<T> {
    type Error = Error;

    fn try_from(parts: Parts<T>) -> Result<Self, Error> {
        let Parts { states, length, nodes, edges } = parts;
        if (states, length, nodes.len(), edges.len()) == (0, 0, 0, 0) {
            return Ok(ChainMarginals::new());
        }
        // Every state has a number in the file, so that no shape is larger than the file.
        if states == 0 || states > nodes.len() {
            return Err(inconsistent());
        }
        let wide = stride(states);
        if length == 0 || length.checked_mul(wide) != Some(nodes.len()) {
            return Err(inconsistent());
        }
        let rows: Vec<f64> =
            nodes.chunks_exact(wide).flat_map(|row| &row[..states]).copied().collect();
        let pairs = states.checked_mul(states).and_then(|s| s.checked_mul(length - 1));
        match pairs.filter(|pairs| pairs.checked_add(wide - states) == Some(edges.len())) {
            Some(pairs) => ChainMarginals::from_parts(states, &rows, &edges[..pairs]),
            None => Err(inconsistent()),
        }
    }
}

fn inconsistent() -> Error {
    let reason = "do not sum to 1 or contradict each other".to_owned();
    Invalid::Layout { what: "marginals", reason }.into()
}

impl<T: Probability> ChainMarginals<T> {
    /// An empty buffer, to be shaped and filled by inference.
    pub fn new() -> Self {
        ChainMarginals { states: 0, length: 0, nodes: Vec::new(), edges: Vec::new() }
    }

    /// The uniform distribution.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty chain or no states.
    pub fn uniform(states: usize, length: usize) -> Result<Self, Error> {
        Self::smoothed(states, &vec![0; length], 1.0)
    }

    /// A labelling mixed with the uniform distribution in every clique: `smoothing / K + (1 - smoothing) 1{k = y_t}`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty chain, a state out of range, or `smoothing` outside `[0, 1]`.
    pub fn smoothed(states: usize, path: &[usize], smoothing: f64) -> Result<Self, Error> {
        if states == 0 || path.is_empty() {
            return Err(Invalid::Empty { what: "chain" }.into());
        }
        if !(0.0..=1.0).contains(&smoothing) {
            let expected = "a number in [0, 1]";
            return Err(Invalid::Parameter { name: "smoothing", value: smoothing, expected }.into());
        }
        check_path(states, path)?;
        let mut marginals = Self::new();
        marginals.shape(states, path.len());
        let flat = smoothing / states as f64;
        for (t, &state) in path.iter().enumerate() {
            let node = marginals.node_mut(t);
            node.fill(flat);
            node[state] += 1.0 - smoothing;
        }
        let flat = flat / states as f64;
        let peak = T::from_linear(flat + (1.0 - smoothing));
        for (t, pair) in path.windows(2).enumerate() {
            let edge = marginals.edge_mut(t);
            edge.fill(T::from_linear(flat));
            edge[pair[0] * states + pair[1]] = peak;
        }
        Ok(marginals)
    }

    /// Builds marginals from their entries: `length * states` for the positions, row by row, and `(length - 1) * states^2` for
    /// the pairs, in the order of [`node`](Self::node) and [`edge`](Self::edge).
    ///
    /// # Errors
    /// [`Error::Invalid`] for other counts, and for negative entries, and for entries that do not sum to 1 or contradict each other by more than 1e-3.
    pub fn from_parts(states: usize, nodes: &[f64], edges: &[T]) -> Result<Self, Error> {
        if states == 0 || nodes.is_empty() {
            return Err(Invalid::Empty { what: "chain" }.into());
        }
        let length = nodes.len() / states;
        Invalid::check_length("marginals of the positions", length * states, nodes.len())?;
        let pairs = (length - 1) * states * states;
        Invalid::check_length("marginals of the pairs", pairs, edges.len())?;
        let mut marginals = Self::new();
        marginals.shape(states, length);
        for (t, row) in nodes.chunks_exact(states).enumerate() {
            marginals.node_mut(t).copy_from_slice(row);
        }
        marginals.edges[..pairs].copy_from_slice(edges);
        let whole = nodes.iter().all(|&p| p >= 0.0) && edges.iter().all(|p| p.linear() >= 0.0);
        if !(whole && marginals.is_consistent(1e-3)) {
            return Err(inconsistent());
        }
        Ok(marginals)
    }

    /// Takes the shape of a chain. Entries are undefined, except for the padding. Memory is allocated only to grow.
    pub(super) fn shape(&mut self, states: usize, length: usize) {
        if (self.states, self.length) == (states, length) {
            return;
        }
        (self.states, self.length) = (states, length);
        self.nodes.clear();
        self.nodes.resize(length * stride(states), 0.0);
        self.edges.clear();
        let padding = stride(states) - states;
        self.edges.resize((length - 1) * states * states + padding, T::default());
    }

    /// Number of states `K`.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Number of positions `T`; 0 for a fresh buffer.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The marginal of position `t`, `K` entries.
    ///
    /// # Panics
    /// If there is no position `t`.
    pub fn node(&self, t: usize) -> &[f64] {
        &self.nodes[t * stride(self.states)..][..self.states]
    }

    /// The marginal of the pair `(t, t + 1)`, `K x K` entries, row by row.
    ///
    /// # Panics
    /// If there is no such pair.
    pub fn edge(&self, t: usize) -> &[T] {
        &self.edges[..self.edge_entries()][t * self.states * self.states..]
            [..self.states * self.states]
    }

    pub(super) fn node_mut(&mut self, t: usize) -> &mut [f64] {
        &mut self.nodes[t * stride(self.states)..][..self.states]
    }

    pub(super) fn edge_mut(&mut self, t: usize) -> &mut [T] {
        let size = self.states * self.states;
        &mut self.edges[t * size..][..size]
    }

    /// All positions in rows of [`stride`](super::stride) entries, with zeros after the `K` used ones, for inner loops.
    pub fn padded_nodes(&self) -> &[f64] {
        &self.nodes
    }

    fn edge_entries(&self) -> usize {
        self.length.saturating_sub(1) * self.states * self.states
    }

    /// The rows of the separators: the interior positions.
    fn separators(&self) -> std::ops::Range<usize> {
        let stride = stride(self.states);
        if self.length > 2 { stride..(self.length - 1) * stride } else { 0..0 }
    }

    /// The entropy `sum_C H(m_C) - sum_S H(m_S)` in nats.
    pub fn entropy(&self) -> f64 {
        if self.length < 2 {
            return f64::entropy(&self.nodes);
        }
        T::entropy(&self.edges) - f64::entropy(&self.nodes[self.separators()])
    }

    /// The relative entropy `sum_C KL(m_C || n_C) - sum_S KL(m_S || n_S)` of `self` (`m`) from `other` (`n`) in nats. The
    /// cliques `C` are the pairs, and the separators `S` the interior positions. It is infinite if some entry of `n` is 0
    /// where that of `m` is not.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn kl(&self, other: &Self) -> f64 {
        self.check_same_shape(other);
        if self.length < 2 {
            return f64::divergence(&self.nodes, &other.nodes);
        }
        let cliques = T::divergence(&self.edges, &other.edges);
        let range = self.separators();
        // A separator diverges only where its cliques do.
        if cliques == f64::INFINITY {
            return cliques;
        }
        cliques - f64::divergence(&self.nodes[range.clone()], &other.nodes[range])
    }

    /// Replaces `m` by `(1 - step) m + step other`, for `step` in `[0, 1]`.
    ///
    /// The marginals of the result are exactly the mixture. The Markov distribution that they represent has at least the
    /// entropy of the mixture.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn mix(&mut self, other: &Self, step: f64) {
        self.check_same_shape(other);
        f64::mix(&mut self.nodes, &other.nodes, step);
        T::mix(&mut self.edges, &other.edges, step);
    }

    /// Derivatives of the entropy along the segment to `target`, computed in one pass.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn line_terms(&self, target: &Self, step: f64) -> LineTerms {
        self.check_same_shape(target);
        if self.length < 2 {
            return f64::line_terms(&self.nodes, &target.nodes, step);
        }
        let cliques = T::line_terms(&self.edges, &target.edges, step);
        let range = self.separators();
        cliques.minus(f64::line_terms(&self.nodes[range.clone()], &target.nodes[range], step))
    }

    /// Adds `sum_t (target_t(j, k) - m_t(j, k))` to `out(j, k)`, which has `K x K` entries.
    ///
    /// # Panics
    /// If the shapes differ or `out` has fewer than `K * K` entries.
    pub fn add_pair_differences(&self, target: &Self, out: &mut [f64]) {
        self.check_same_shape(target);
        let size = self.states * self.states;
        let out = &mut out[..size];
        let (p, q) = (&self.edges[..self.edge_entries()], &target.edges[..self.edge_entries()]);
        lanes::run(Differences { p, q, out });
    }

    /// Adds `sum_t m_t(j, k)` to `out(j, k)`, which has `K x K` entries.
    ///
    /// # Panics
    /// If `out` has fewer than `K * K` entries.
    pub fn add_pairs(&self, out: &mut [f64]) {
        let size = self.states * self.states;
        let out = &mut out[..size];
        for edge in self.edges[..self.edge_entries()].chunks_exact(size) {
            out.iter_mut().zip(edge).for_each(|(out, p)| *out += p.linear());
        }
    }

    /// The log-probability `log prod m_t(y_t, y_t+1) / prod m_t(y_t)` of a labelling.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path of another length or with a state out of range.
    pub fn log_probability(&self, path: &[usize]) -> Result<f64, Error> {
        Invalid::check_length("path", self.length, path.len())?;
        check_path(self.states, path)?;
        if let [only] = path {
            return Ok(self.node(0)[*only].ln());
        }
        let cliques: f64 = path
            .windows(2)
            .enumerate()
            .map(|(t, pair)| self.edge(t)[pair[0] * self.states + pair[1]].log())
            .sum();
        if cliques == f64::NEG_INFINITY {
            return Ok(cliques);
        }
        let separators: f64 = (1..self.length.max(1) - 1).map(|t| self.node(t)[path[t]].ln()).sum();
        Ok(cliques - separators)
    }

    /// Whether every marginal sums to 1 and the pairs agree with the positions, up to `tolerance`.
    pub fn is_consistent(&self, tolerance: f64) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= tolerance;
        let k = self.states;
        let nodes = (0..self.length).all(|t| close(self.node(t).iter().sum(), 1.0));
        nodes
            && (1..self.length).all(|t| {
                let edge = self.edge(t - 1);
                let at = |j: usize, k2: usize| edge[j * k + k2].linear();
                (0..k).all(|j| close((0..k).map(|k2| at(j, k2)).sum(), self.node(t - 1)[j]))
                    && (0..k).all(|k2| close((0..k).map(|j| at(j, k2)).sum(), self.node(t)[k2]))
            })
    }

    fn check_same_shape(&self, other: &Self) {
        assert_eq!(
            (self.states, self.length),
            (other.states, other.length),
            "marginals of two different shapes"
        );
    }
}

/// Sums of `q - p` over blocks as long as `out`.
struct Differences<'a, T> {
    p: &'a [T],
    q: &'a [T],
    out: &'a mut [f64],
}

impl<T: Probability> lanes::Kernel for Differences<'_, T> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let size = self.out.len();
        for t in 0..self.p.len() / size {
            let (p, q) = (&self.p[t * size..][..size], &self.q[t * size..][..size]);
            T::add_difference(p, q, self.out);
        }
    }
}
