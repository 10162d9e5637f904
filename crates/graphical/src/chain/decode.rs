//! Best labellings.

use fenchel_linalg::{Invalid, lanes};

use super::{Chain, stride};
use crate::Error;

impl Chain {
    /// A labelling of largest score, and the score. Of equal ones, the one whose last differing state is the lowest.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] if every labelling is forbidden, [`Error::Invalid`] for a score that is NaN or `+inf`.
    pub fn viterbi(&mut self) -> Result<(Vec<usize>, f64), Error> {
        let mut path = Vec::new();
        let score = self.viterbi_into(&mut path)?;
        Ok((path, score))
    }

    /// As [`viterbi`](Chain::viterbi), with the labelling written to `path`.
    ///
    /// # Errors
    /// Those of [`viterbi`](Chain::viterbi).
    pub fn viterbi_into(&mut self, path: &mut Vec<usize>) -> Result<f64, Error> {
        self.check_scores()?;
        let (states, length, stride) = (self.states, self.length, stride(self.states));
        let best = &mut self.best;
        best.from.resize(length * stride, 0);
        best.scores.clear();
        best.scores.extend_from_slice(&self.unary[..stride]);
        best.next.resize(stride, 0.0);
        let (unary, pairwise, shared) = (&self.unary[..], &self.pairwise[..], self.shared);
        lanes::run(Forward { best, unary, pairwise, shared, states, length });
        let best = &self.best;
        let (mut state, mut score) = (0, f64::NEG_INFINITY);
        for (k, &candidate) in best.scores[..states].iter().enumerate() {
            if candidate > score {
                (state, score) = (k, candidate);
            }
        }
        if score == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        path.clear();
        path.resize(length, 0);
        for t in (0..length).rev() {
            path[t] = state;
            state = best.from[t * stride + state] as usize;
        }
        Ok(score)
    }

    /// The `count` labellings of largest score, best first, with their scores; fewer if no more are allowed.
    ///
    /// Exact: the list version of Viterbi's algorithm keeps the best `count` ways to every state.
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

/// The memory of Viterbi's algorithm.
#[derive(Debug, Clone, Default)]
pub(super) struct Best {
    /// Best predecessor, rows of `stride`.
    from: Vec<u32>,
    scores: Vec<f64>,
    next: Vec<f64>,
}

/// The forward pass of Viterbi's algorithm: the best score of every state at the last position, and where each came from.
struct Forward<'a> {
    best: &'a mut Best,
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
        for t in 1..length {
            let matrix = &pairwise[if shared { 0 } else { (t - 1) * size }..][..size];
            let (unary, from) =
                (&unary[t * stride..][..stride], &mut best.from[t * stride..][..stride]);
            for block in (0..stride).step_by(8) {
                let mut next = [f64::NEG_INFINITY; 8];
                let mut came = [0; 8];
                for (j, &score) in best.scores[..states].iter().enumerate() {
                    let row = &matrix[j * stride + block..][..8];
                    for l in 0..8 {
                        let candidate = score + row[l];
                        // Strictly: the first of equal ones stays.
                        let better = candidate > next[l];
                        next[l] = if better { candidate } else { next[l] };
                        came[l] = if better { j as u32 } else { came[l] };
                    }
                }
                for l in 0..8 {
                    best.next[block + l] = next[l] + unary[block + l];
                }
                from[block..block + 8].copy_from_slice(&came);
            }
            std::mem::swap(&mut best.scores, &mut best.next);
        }
    }
}
