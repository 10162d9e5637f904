//! Labellings of largest score.

use fenchel_linalg::{Invalid, lanes};

use super::{Chain, stride};
use crate::Error;

impl Chain {
    /// A labelling of largest score, and the score. Of labellings with equal scores it is the one whose state is lower at the
    /// last position where they differ.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] if every labelling is forbidden, [`Error::Invalid`] for a score that is NaN or `+inf`.
    pub fn viterbi(&mut self) -> Result<(Vec<usize>, f64), Error> {
        let mut path = Vec::new();
        let score = self.viterbi_into(&mut path)?;
        Ok((path, score))
    }

    /// Does the same as [`viterbi`](Chain::viterbi), and writes the labelling to `path`.
    ///
    /// # Errors
    /// Those of [`viterbi`](Chain::viterbi).
    pub fn viterbi_into(&mut self, path: &mut Vec<usize>) -> Result<f64, Error> {
        self.check_scores()?;
        let (states, length, stride) = (self.states, self.length, stride(self.states));
        let best = &mut self.best;
        best.resize(length * stride, 0.0);
        let (unary, pairwise, shared) = (&self.unary[..], &self.pairwise[..], self.shared);
        lanes::run(Forward { best, unary, pairwise, shared, states, length });
        let last = &self.best[(length - 1) * stride..][..states];
        let (mut state, score) = first_largest(last.iter().copied());
        if score == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        path.clear();
        path.resize(length, 0);
        path[length - 1] = state;
        for t in (1..length).rev() {
            let matrix = self.pairwise_row(t - 1, 0);
            let steps = self.pairwise[matrix..].iter().skip(state).step_by(stride);
            let before = &self.best[(t - 1) * stride..][..states];
            (state, _) = first_largest(before.iter().zip(steps).map(|(best, step)| best + step));
            path[t - 1] = state;
        }
        Ok(score)
    }

    /// The `count` labellings of largest score, best first, with their scores; fewer if no more are allowed.
    ///
    /// The result is exact: the list version of Viterbi's algorithm keeps the best `count` partial labellings that end in each
    /// state.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] if every labelling is forbidden, [`Error::Invalid`] for a score that is NaN or `+inf`,
    /// or `count = 0`.
    pub fn k_best(&mut self, count: usize) -> Result<Vec<(Vec<usize>, f64)>, Error> {
        self.check_scores()?;
        if count == 0 {
            let expected = "at least 1";
            return Err(Invalid::Parameter { name: "count", value: 0.0, expected }.into());
        }
        // A way to a state: its score, and the state before with the rank of the way there.
        type Way = (f64, u32, u32);
        let (states, length) = (self.states, self.length);
        let mut ways: Vec<Vec<Vec<Way>>> = Vec::with_capacity(length);
        let start = |&u: &f64| if u > f64::NEG_INFINITY { vec![(u, 0, 0)] } else { Vec::new() };
        ways.push(self.unary(0).iter().map(start).collect());
        let mut candidates: Vec<Way> = Vec::new();
        // Scores are never NaN here; the sort is stable, so that equal ones stay in order of states and ranks.
        let sort = |ways: &mut Vec<Way>| {
            ways.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
            ways.truncate(count);
        };
        for t in 1..length {
            let before = &ways[t - 1];
            let mut here = Vec::with_capacity(states);
            for k in 0..states {
                candidates.clear();
                for (j, list) in before.iter().enumerate() {
                    let step = self.pairwise(t - 1, j)[k] + self.unary(t)[k];
                    if step > f64::NEG_INFINITY {
                        let to = |(rank, way): (usize, &Way)| (way.0 + step, j as u32, rank as u32);
                        candidates.extend(list.iter().enumerate().map(to));
                    }
                }
                sort(&mut candidates);
                here.push(candidates.clone());
            }
            ways.push(here);
        }
        candidates.clear();
        for (k, list) in ways[length - 1].iter().enumerate() {
            candidates
                .extend(list.iter().enumerate().map(|(rank, way)| (way.0, k as u32, rank as u32)));
        }
        sort(&mut candidates);
        if candidates.is_empty() {
            return Err(Error::ImpossibleEvidence);
        }
        let trace = |&(score, state, rank): &Way| {
            let (mut state, mut rank) = (state as usize, rank as usize);
            let mut path = vec![0; length];
            for t in (0..length).rev() {
                path[t] = state;
                let (_, from, from_rank) = ways[t][state][rank];
                (state, rank) = (from as usize, from_rank as usize);
            }
            (path, score)
        };
        Ok(candidates.iter().map(trace).collect())
    }
}

/// The largest value and the first position that has it. If all values are `-inf` it is position 0.
fn first_largest(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let mut found = (0, f64::NEG_INFINITY);
    for (k, value) in values.enumerate() {
        if value > found.1 {
            found = (k, value);
        }
    }
    found
}

/// The forward pass of Viterbi's algorithm. `best`, in rows of `stride`, receives for every position and state the largest
/// score of a labelling that ends in that state. No back pointers are stored: the backward pass computes one column of sums
/// again, which costs `K` sums per position, while storing the pointers would cost `K^2` comparisons.
struct Forward<'a> {
    best: &'a mut [f64],
    unary: &'a [f64],
    pairwise: &'a [f64],
    shared: bool,
    states: usize,
    length: usize,
}

impl lanes::Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Forward { best, unary, pairwise, shared, states, length } = self;
        let stride = stride(states);
        let size = states * stride;
        best[..stride].copy_from_slice(&unary[..stride]);
        for t in 1..length {
            let matrix = &pairwise[if shared { 0 } else { (t - 1) * size }..][..size];
            let (before, here) = best.split_at_mut(t * stride);
            let before = &before[(t - 1) * stride..][..states];
            let (unary, here) = (&unary[t * stride..][..stride], &mut here[..stride]);
            let wide = stride - stride % 16;
            for first in (0..wide).step_by(16) {
                step::<16>(before, matrix, unary, first, here);
            }
            for first in (wide..stride).step_by(8) {
                step::<8>(before, matrix, unary, first, here);
            }
        }
    }
}

/// Computes one position for the `W` states from `first` on. `W` independent sums at a time hide the latency of the additions.
#[inline(always)]
fn step<const W: usize>(
    before: &[f64],
    matrix: &[f64],
    unary: &[f64],
    first: usize,
    here: &mut [f64],
) {
    let stride = here.len();
    let mut next = [f64::NEG_INFINITY; W];
    for (j, &score) in before.iter().enumerate() {
        let row = &matrix[j * stride + first..][..W];
        for l in 0..W {
            let candidate = score + row[l];
            next[l] = if candidate > next[l] { candidate } else { next[l] };
        }
    }
    let (unary, here) = (&unary[first..][..W], &mut here[first..][..W]);
    for l in 0..W {
        here[l] = next[l] + unary[l];
    }
}
