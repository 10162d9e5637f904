//! The forward-backward algorithm with probabilities that are scaled at every position.
//!
//! Let `e_t = exp(u_t - max u_t)` and `E = exp(m - max m)`, whose entries are all within `[0, 1]`. Then
//!
//! ```text
//! forward    a_0 ~ e_0,  a_t ~ (a_(t-1) E) . e_t,  scaled to sum 1 by c_t
//! backward   b_(T-1) = 1,  b_(t-1) = E x_t  with  x_t = e_t . b_t / c_t
//! marginals  m_t = a_t . b_t,  m_t(j, k) = a_t(j) E(j, k) x_(t+1)(k)
//! log Z      sum_t log c_t + max u_t, and max m a pair
//! ```
//!
//! The results are used only if no probability mass can have been lost. For the forward pass, the smallest positive `a` times
//! the smallest positive `E` times the smallest positive `e` must be above 1e-290, so that no product underflows. For the
//! backward pass no `x` may exceed 1e280, so that an entry of `b` that underflows, below 1e-308, weighs less than 1e-28 of the
//! total. (Both passes could lose the same labellings, and a comparison of the two would not detect it. So the forward test
//! asks whether anything is lost, not how much.)

use fenchel_linalg::lanes;

use super::marginals::ChainMarginals;
use super::{Probability, stride};

/// Largest entry of a backward message for which the result is used.
const LARGEST: f64 = 1e280;

/// Smallest product in a forward message for which the result is used.
const SMALLEST: f64 = 1e-290;

#[derive(Debug, Clone, Default)]
pub(super) struct Scaled {
    /// `E` as one matrix, or one per pair, in rows of `stride`.
    pairs: Vec<f64>,
    /// The transpose of a shared `E`.
    transposed: Vec<f64>,
    /// `e_t` after the forward pass, `x_t` after the backward pass. Like all fields below, it has rows of `stride`.
    potentials: Vec<f64>,
    /// `a_t`
    forward: Vec<f64>,
    /// `m_t`
    nodes: Vec<f64>,
    /// `c_t`
    norms: Vec<f64>,
    /// `max u_t`, then `max m` of each matrix.
    tops: Vec<f64>,
    shared: bool,
}

impl Scaled {
    /// The forward pass. Returns `None` if the mass of a row is too small, or a score is not a number.
    pub(super) fn forward(
        &mut self,
        unary: &[f64],
        pairwise: &[f64],
        states: usize,
        shared: bool,
    ) -> Option<()> {
        let stride = stride(states);
        let length = unary.len() / stride;
        self.potentials.resize(unary.len(), 0.0);
        self.forward.resize(unary.len(), 0.0);
        self.nodes.resize(unary.len(), 0.0);
        self.norms.resize(length, 0.0);
        self.pairs.resize(pairwise.len(), 0.0);
        self.tops.clear();
        self.shared = shared;
        lanes::run(Forward { scaled: self, unary, pairwise, states, stride })
    }

    #[inline(always)]
    fn forward_pass(
        &mut self,
        unary: &[f64],
        pairwise: &[f64],
        states: usize,
        stride: usize,
    ) -> Option<()> {
        // Running minima in eight lanes: of `u - max u`, of `m - max m`, of the positive `a`.
        let (mut low_unary, mut low_pair, mut least) = ([0.0; 8], [0.0; 8], [1.0; 8]);
        for (scores, e) in unary.chunks_exact(stride).zip(self.potentials.chunks_exact_mut(stride))
        {
            self.tops.push(subtract_top(scores, e, &mut low_unary));
        }
        if unary.len() > stride {
            let size = states * stride;
            for (scores, e) in pairwise.chunks_exact(size).zip(self.pairs.chunks_exact_mut(size)) {
                self.tops.push(subtract_top(scores, e, &mut low_pair));
            }
        }
        if self.tops.contains(&f64::NEG_INFINITY) {
            return None;
        }
        exponentiate(&mut self.potentials);
        if unary.len() > stride {
            exponentiate(&mut self.pairs);
        }
        let size = states * stride;
        let rows = self.forward.chunks_exact_mut(stride).zip(self.potentials.chunks_exact(stride));
        let mut before: &[f64] = &[];
        for (t, (a, e)) in rows.enumerate() {
            if t == 0 {
                a.copy_from_slice(e);
            } else {
                let matrix = if self.shared { 0 } else { (t - 1) * size };
                vector_matrix(&before[..states], &self.pairs[matrix..][..size], a);
                for (a, e) in a.as_chunks_mut::<8>().0.iter_mut().zip(e.as_chunks::<8>().0) {
                    for l in 0..8 {
                        a[l] *= e[l];
                    }
                }
            }
            let norm = lanes::sum(a);
            if !(1.0 / LARGEST..f64::INFINITY).contains(&norm) {
                return None;
            }
            self.norms[t] = norm;
            let scale = 1.0 / norm;
            for a in a.as_chunks_mut::<8>().0 {
                for l in 0..8 {
                    a[l] *= scale;
                    let positive = if a[l] > 0.0 { a[l] } else { 1.0 };
                    least[l] = if positive < least[l] { positive } else { least[l] };
                }
            }
            before = a;
        }
        let smallest = lowest(&least) * lanes::exp(lowest(&low_unary) + lowest(&low_pair));
        (smallest >= SMALLEST).then_some(())
    }

    /// The backward pass. Returns whether both passes lost no mass.
    pub(super) fn backward(&mut self, states: usize) -> bool {
        let stride = stride(states);
        let size = states * stride;
        if self.shared {
            self.transposed.clear();
            self.transposed.resize(size, 0.0);
            for (j, row) in self.pairs.chunks_exact(stride).enumerate() {
                for (k, &value) in row[..states].iter().enumerate() {
                    self.transposed[k * stride + j] = value;
                }
            }
        }
        lanes::run(Backward { scaled: self, states, stride })
    }

    #[inline(always)]
    fn backward_pass(&mut self, states: usize, stride: usize) -> bool {
        let size = states * stride;
        let last = self.norms.len() - 1;
        // The padding of `b` is never read: `e` and `a` are 0 there.
        self.nodes[last * stride..].fill(1.0);
        let mut largest = 0.0;
        for t in (0..=last).rev() {
            let (before, here) = self.nodes.split_at_mut(t * stride);
            let b = &mut here[..stride];
            if t > 0 {
                let x = &mut self.potentials[t * stride..][..stride];
                let scale = 1.0 / self.norms[t];
                for (x, b) in x.iter_mut().zip(&*b) {
                    // In this order 0 stays 0, and what overflows is seen below.
                    *x = (*x * *b) * scale;
                }
                largest = largest_entry(x, largest);
                let out = &mut before[(t - 1) * stride..];
                if self.shared {
                    vector_matrix(&x[..states], &self.transposed, out);
                } else {
                    let matrix = &self.pairs[(t - 1) * size..][..size];
                    for (out, row) in out.iter_mut().zip(matrix.chunks_exact(stride)) {
                        *out = lanes::dot(row, x);
                    }
                    out[states..].fill(0.0);
                }
            }
            for (b, a) in b.iter_mut().zip(&self.forward[t * stride..]) {
                *b *= a;
            }
        }
        largest <= LARGEST
    }

    /// `log Z` after the forward pass.
    pub(super) fn log_partition(&self) -> f64 {
        let length = self.norms.len();
        lanes::dispatch(|| {
            let mut logs = [0.0; 8];
            let (blocks, rest) = self.norms.as_chunks::<8>();
            for block in blocks {
                for l in 0..8 {
                    logs[l] += lanes::ln(block[l]);
                }
            }
            for (log, &norm) in logs.iter_mut().zip(rest) {
                *log += lanes::ln(norm);
            }
            let tops = lanes::sum(&self.tops);
            // A shared matrix has counted once.
            let again = if self.shared && length > 1 {
                (length - 2) as f64 * self.tops[length]
            } else {
                0.0
            };
            lanes::sum(&logs) + tops + again
        })
    }

    /// `a_t` after the forward pass.
    pub(super) fn filtered(&self, t: usize, stride: usize) -> &[f64] {
        &self.forward[t * stride..][..stride]
    }

    /// `m_t`, row by row, after the backward pass.
    pub(super) fn nodes(&self) -> &[f64] {
        &self.nodes
    }

    /// Positions and pairs after the backward pass.
    pub(super) fn write<T: Probability>(&self, states: usize, out: &mut ChainMarginals<T>) {
        let stride = stride(states);
        out.nodes.copy_from_slice(&self.nodes);
        lanes::run(Write { scaled: self, states, stride, edges: &mut out.edges });
    }

    #[inline(always)]
    fn write_edges<T: Probability>(&self, states: usize, stride: usize, edges: &mut [T]) {
        for t in 0..self.norms.len() - 1 {
            let a = &self.forward[t * stride..][..states];
            let x = self.potentials[(t + 1) * stride..][..stride].as_chunks::<8>().0;
            let matrix = self.matrix(t, states);
            let edge = &mut edges[t * states * states..];
            for j in 0..states {
                // Rows are written with their padding, which the next row overwrites.
                let to = edge[j * states..][..stride].as_chunks_mut::<8>().0;
                let row = matrix[j * stride..][..stride].as_chunks::<8>().0;
                for b in 0..to.len() {
                    for l in 0..8 {
                        to[b][l] = T::from_linear(a[j] * row[b][l] * x[b][l]);
                    }
                }
            }
        }
    }

    /// `out(j, k) += sum_t m_t(j, k)`, rows of `stride`, after the backward pass.
    pub(super) fn add_pairs(&self, states: usize, out: &mut [f64]) {
        let stride = stride(states);
        let edges = self.norms.len() - 1;
        if edges == 0 {
            return;
        }
        lanes::run(AddPairs { scaled: self, states, stride, out });
    }

    #[inline(always)]
    fn add_all_pairs(&self, states: usize, stride: usize, out: &mut [f64]) {
        for j in 0..states {
            let out = &mut out[j * stride..][..stride];
            if self.shared {
                self.add_shared_pairs(j, &self.pairs[j * stride..][..stride], out);
                continue;
            }
            for t in 0..self.norms.len() - 1 {
                let a = self.forward[t * stride + j];
                let row = &self.matrix(t, states)[j * stride..][..stride];
                let x = &self.potentials[(t + 1) * stride..][..stride];
                for k in 0..stride {
                    out[k] += a * row[k] * x[k];
                }
            }
        }
    }

    /// `out += row . sum_t a_t(j) x_(t+1)`, eight columns at a time.
    #[inline(always)]
    fn add_shared_pairs(&self, j: usize, row: &[f64], out: &mut [f64]) {
        let stride = row.len();
        for (block, (out, row)) in
            out.as_chunks_mut::<8>().0.iter_mut().zip(row.as_chunks::<8>().0).enumerate()
        {
            let mut sum = [0.0; 8];
            let x = self.potentials[stride..].chunks_exact(stride);
            for (a, x) in self.forward.chunks_exact(stride).zip(x) {
                let x = &x.as_chunks::<8>().0[block];
                for l in 0..8 {
                    sum[l] += a[j] * x[l];
                }
            }
            for l in 0..8 {
                out[l] += row[l] * sum[l];
            }
        }
    }

    #[inline(always)]
    fn matrix(&self, edge: usize, states: usize) -> &[f64] {
        let size = states * stride(states);
        let edge = if self.shared { 0 } else { edge };
        &self.pairs[edge * size..][..size]
    }
}

struct Forward<'a> {
    scaled: &'a mut Scaled,
    unary: &'a [f64],
    pairwise: &'a [f64],
    states: usize,
    stride: usize,
}

impl lanes::Kernel for Forward<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn compute(self) -> Option<()> {
        self.scaled.forward_pass(self.unary, self.pairwise, self.states, self.stride)
    }
}

struct Backward<'a> {
    scaled: &'a mut Scaled,
    states: usize,
    stride: usize,
}

impl lanes::Kernel for Backward<'_> {
    type Output = bool;

    #[inline(always)]
    fn compute(self) -> bool {
        self.scaled.backward_pass(self.states, self.stride)
    }
}

struct Write<'a, T> {
    scaled: &'a Scaled,
    states: usize,
    stride: usize,
    edges: &'a mut [T],
}

impl<T: Probability> lanes::Kernel for Write<'_, T> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        self.scaled.write_edges(self.states, self.stride, self.edges);
    }
}

struct AddPairs<'a> {
    scaled: &'a Scaled,
    states: usize,
    stride: usize,
    out: &'a mut [f64],
}

impl lanes::Kernel for AddPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        self.scaled.add_all_pairs(self.states, self.stride, self.out);
    }
}

/// Writes `scores - top` to `out` and returns `top`, the largest score. `low` receives the lowest finite difference.
#[inline(always)]
fn subtract_top(scores: &[f64], out: &mut [f64], low: &mut [f64; 8]) -> f64 {
    let top = largest_entry(scores, f64::NEG_INFINITY);
    for (out, score) in out.as_chunks_mut::<8>().0.iter_mut().zip(scores.as_chunks::<8>().0) {
        for l in 0..8 {
            let below = score[l] - top;
            out[l] = below;
            let finite = if below > f64::NEG_INFINITY { below } else { 0.0 };
            low[l] = if finite < low[l] { finite } else { low[l] };
        }
    }
    top
}

/// Exponentiates all rows at once, because one long loop vectorises better than many short ones.
#[inline(always)]
fn exponentiate(x: &mut [f64]) {
    for x in x {
        *x = lanes::exp(*x);
    }
}

#[inline(always)]
fn lowest(lanes: &[f64; 8]) -> f64 {
    lanes.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The largest of `least` and the entries that are not NaN.
#[inline(always)]
fn largest_entry(x: &[f64], least: f64) -> f64 {
    let mut lanes = [least; 8];
    for block in x.as_chunks::<8>().0 {
        for l in 0..8 {
            lanes[l] = if block[l] > lanes[l] { block[l] } else { lanes[l] };
        }
    }
    lanes.iter().fold(least, |top, &lane| if lane > top { lane } else { top })
}

/// `out = sum_j weights(j) row_j` for rows as long as `out`, a multiple of 8.
#[inline(always)]
fn vector_matrix(weights: &[f64], matrix: &[f64], out: &mut [f64]) {
    let stride = out.len();
    let mut start = 0;
    while start < stride {
        let width = (stride - start).min(32);
        match width {
            8 => columns::<1>(weights, matrix, start, stride, out),
            16 => columns::<2>(weights, matrix, start, stride, out),
            24 => columns::<3>(weights, matrix, start, stride, out),
            _ => columns::<4>(weights, matrix, start, stride, out),
        }
        start += width;
    }
}

/// Computes the `8 B` columns from `start` of [`vector_matrix`]. Even and odd rows have separate sums, which are computed in
/// parallel.
#[inline(always)]
fn columns<const B: usize>(
    weights: &[f64],
    matrix: &[f64],
    start: usize,
    stride: usize,
    out: &mut [f64],
) {
    let mut even = [[0.0; 8]; B];
    let mut odd = [[0.0; 8]; B];
    let count = weights.len();
    let mut j = 0;
    while j + 1 < count {
        let first = matrix[j * stride + start..][..8 * B].as_chunks::<8>().0;
        let second = matrix[(j + 1) * stride + start..][..8 * B].as_chunks::<8>().0;
        for b in 0..B {
            for l in 0..8 {
                even[b][l] += weights[j] * first[b][l];
                odd[b][l] += weights[j + 1] * second[b][l];
            }
        }
        j += 2;
    }
    if j < count {
        let row = matrix[j * stride + start..][..8 * B].as_chunks::<8>().0;
        for b in 0..B {
            for l in 0..8 {
                even[b][l] += weights[j] * row[b][l];
            }
        }
    }
    let out = out[start..][..8 * B].as_chunks_mut::<8>().0;
    for b in 0..B {
        for l in 0..8 {
            out[b][l] = even[b][l] + odd[b][l];
        }
    }
}
