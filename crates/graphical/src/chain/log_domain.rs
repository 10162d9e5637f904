//! The forward-backward algorithm in logarithms. It is the reference, and the fallback where probabilities underflow.

use fenchel_linalg::lanes;
use fenchel_linalg::special::{log_softmax_in_place, log_sum_exp, softmax_in_place};

use super::marginals::ChainMarginals;
use super::{Probability, stride};
use crate::Error;

#[derive(Debug, Clone, Default)]
pub(super) struct LogDomain {
    /// `log a_t`, rows of `stride`.
    forward: Vec<f64>,
    /// `log b_t`
    backward: Vec<f64>,
    /// Largest term and sum of the row being computed.
    tops: Vec<f64>,
    sums: Vec<f64>,
}

impl LogDomain {
    /// Forward messages; returns `log Z`.
    pub(super) fn forward(
        &mut self,
        unary: &[f64],
        pairwise: &[f64],
        states: usize,
        shared: bool,
    ) -> Result<f64, Error> {
        let stride = stride(states);
        self.forward.resize(unary.len(), 0.0);
        self.tops.resize(stride, 0.0);
        self.sums.resize(stride, 0.0);
        self.forward[..stride].copy_from_slice(&unary[..stride]);
        for t in 1..unary.len() / stride {
            let matrix = matrix(pairwise, t - 1, states, shared);
            let (before, here) = self.forward.split_at_mut(t * stride);
            let from = &before[(t - 1) * stride..][..states];
            let terms = |j: usize| (from[j], &matrix[j * stride..][..stride]);
            let out = &mut here[..stride];
            log_sum_rows(states, terms, &mut self.tops, &mut self.sums, out);
            for (out, u) in out.iter_mut().zip(&unary[t * stride..]) {
                *out += u;
            }
        }
        let last = &self.forward[unary.len() - stride..][..states];
        let log_partition = log_sum_exp(last);
        if log_partition == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        Ok(log_partition)
    }

    /// Backward messages `log b_t(j) = log sum_k exp(m(j, k) + u_(t+1)(k) + log b_(t+1)(k))`.
    pub(super) fn backward(
        &mut self,
        unary: &[f64],
        pairwise: &[f64],
        states: usize,
        shared: bool,
    ) {
        let stride = stride(states);
        self.backward.resize(unary.len(), 0.0);
        let last = unary.len() - stride;
        self.backward[last..].fill(0.0);
        for t in (1..unary.len() / stride).rev() {
            let matrix = matrix(pairwise, t - 1, states, shared);
            let (before, here) = self.backward.split_at_mut(t * stride);
            let row = &unary[t * stride..][..states];
            for j in 0..states {
                let score = |k: usize| matrix[j * stride + k] + row[k] + here[k];
                before[(t - 1) * stride + j] = log_sum(states, score);
            }
        }
    }

    /// `log a_t`
    pub(super) fn filtered(&self, t: usize, stride: usize) -> &[f64] {
        &self.forward[t * stride..][..stride]
    }

    /// Writes the marginals of positions and pairs, after both passes. Each is divided by its own sum: with huge scores `log Z` has
    /// few digits behind the point.
    pub(super) fn write<T: Probability>(
        &self,
        (unary, pairwise): (&[f64], &[f64]),
        states: usize,
        shared: bool,
        out: &mut ChainMarginals<T>,
    ) {
        let stride = stride(states);
        let length = unary.len() / stride;
        for t in 0..length {
            let (a, b) = (&self.forward[t * stride..], &self.backward[t * stride..]);
            let node = out.node_mut(t);
            node.iter_mut().zip(a).zip(b).for_each(|((node, a), b)| *node = a + b);
            softmax_in_place(node);
        }
        let mut logs = vec![0.0; states * states];
        for t in 1..length {
            let matrix = matrix(pairwise, t - 1, states, shared);
            let a = &self.forward[(t - 1) * stride..];
            let (u, b) = (&unary[t * stride..], &self.backward[t * stride..]);
            for (j, row) in logs.chunks_exact_mut(states).enumerate() {
                for (k, log) in row.iter_mut().enumerate() {
                    *log = a[j] + matrix[j * stride + k] + (u[k] + b[k]);
                }
            }
            log_softmax_in_place(&mut logs);
            for (p, &log) in out.edge_mut(t - 1).iter_mut().zip(&logs) {
                *p = T::from_log(log);
            }
        }
    }
}

fn matrix(pairwise: &[f64], edge: usize, states: usize, shared: bool) -> &[f64] {
    let size = states * stride(states);
    &pairwise[if shared { 0 } else { edge * size }..][..size]
}

/// `out(k) = log sum_j exp(weight_j + row_j(k))`, with `-inf` for an empty sum.
fn log_sum_rows<'a>(
    rows: usize,
    terms: impl Fn(usize) -> (f64, &'a [f64]) + Copy,
    tops: &mut [f64],
    sums: &mut [f64],
    out: &mut [f64],
) {
    lanes::dispatch(|| {
        tops.fill(f64::NEG_INFINITY);
        for j in 0..rows {
            let (weight, row) = terms(j);
            for (top, score) in tops.iter_mut().zip(row) {
                let term = weight + score;
                *top = if term > *top { term } else { *top };
            }
        }
        sums.fill(0.0);
        for j in 0..rows {
            let (weight, row) = terms(j);
            for ((sum, top), score) in sums.iter_mut().zip(&*tops).zip(row) {
                // Without a finite term the sum is not used: `top - top` would be NaN.
                let top = if *top > f64::NEG_INFINITY { *top } else { 0.0 };
                *sum += lanes::exp(weight + score - top);
            }
        }
        for ((out, top), sum) in out.iter_mut().zip(&*tops).zip(&*sums) {
            *out = *top + lanes::ln(*sum);
        }
    });
}

/// `log sum_k exp(score(k))`.
fn log_sum(count: usize, score: impl Fn(usize) -> f64) -> f64 {
    let top = (0..count).map(&score).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + lanes::ln((0..count).map(|k| lanes::exp(score(k) - top)).sum())
}
