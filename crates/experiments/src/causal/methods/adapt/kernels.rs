//! Scores padded to whole vector lanes, and the inner loops of the categorical learners over them.
//!
//! Every row of scores is padded to a multiple of eight numbers. The padding value is so negative that it contributes
//! exactly zero to a softmax. So no loop needs a special case for the last few numbers, whatever the width of the
//! vector instructions.

use fenchel_linalg::lanes::{Kernel, exp, ln};

use super::Average;

const LANES: usize = 8;
pub(super) type Lanes = [f64; LANES];

/// The padding: `e^-1e6` is 0.
const NOWHERE: f64 = -1e6;

/// Rows of a given width, each padded to whole lanes.
fn padded(values: impl Iterator<Item = f64>, width: usize, padding: f64) -> Vec<Lanes> {
    let chunks = width.div_ceil(LANES);
    let mut out = Vec::new();
    for (k, value) in values.enumerate() {
        let at = k % width;
        if at == 0 {
            out.resize(out.len() + chunks, [padding; LANES]);
        }
        let first = out.len() - chunks;
        out[first + at / LANES][at % LANES] = value;
    }
    out
}

/// Rows of scores with the running sums of their iterates. Each sum lags behind by `now - last` terms.
#[derive(Debug, Clone)]
pub(super) struct Scores {
    width: usize,
    /// Lanes of a row.
    chunks: usize,
    scores: Vec<Lanes>,
    sums: Vec<Lanes>,
    /// One entry per row.
    last: Vec<usize>,
    /// Empty without momentum.
    velocity: Vec<Lanes>,
}

impl Scores {
    pub(super) fn new(
        values: impl Iterator<Item = f64>,
        width: usize,
        with_velocity: bool,
    ) -> Scores {
        let scores = padded(values, width, NOWHERE);
        let chunks = width.div_ceil(LANES);
        Scores {
            width,
            chunks,
            sums: vec![[0.0; LANES]; scores.len()],
            last: vec![0; scores.len() / chunks.max(1)],
            velocity: vec![[0.0; LANES]; if with_velocity { scores.len() } else { 0 }],
            scores,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.last.len()
    }

    /// The averages of all rows, one behind the other.
    pub(super) fn averages(&self, now: usize, average: Average) -> Vec<f64> {
        let mut out = vec![[0.0; LANES]; self.chunks];
        let count = average.count(now);
        let one = |r: usize| {
            self.average(r, now, count, &mut out);
            out.as_flattened()[..self.width].to_vec()
        };
        (0..self.rows()).flat_map(one).collect()
    }

    pub(super) fn forget(&mut self, now: usize) {
        self.sums.fill([0.0; LANES]);
        self.last.fill(now);
    }

    /// `(sum + missed scores) / count`, or the scores themselves for a count of 0.
    #[inline(always)]
    fn average(&self, r: usize, now: usize, count: usize, out: &mut [Lanes]) {
        let cells = r * self.chunks..(r + 1) * self.chunks;
        let (scores, sums) = (&self.scores[cells.clone()], &self.sums[cells]);
        let out = &mut out[..scores.len()];
        if count == 0 {
            out.copy_from_slice(scores);
            return;
        }
        let (missed, scale) = ((now - self.last[r]) as f64, 1.0 / count as f64);
        for k in 0..scores.len() {
            for l in 0..LANES {
                out[k][l] = (sums[k][l] + missed * scores[k][l]) * scale;
            }
        }
    }

    /// Adds the missed iterates of a row to its sum, then steps on `-log softmax(scores)[seen]`.
    #[inline(always)]
    fn descend(&mut self, r: usize, seen: usize, step: f64, now: usize, scratch: &mut [Lanes]) {
        let cells = r * self.chunks..(r + 1) * self.chunks;
        let (scores, sums) = (&mut self.scores[cells.clone()], &mut self.sums[cells]);
        let scratch = &mut scratch[..scores.len()];
        let sums = &mut sums[..scores.len()];
        let (_, total) = exponentials(scores, scratch);
        let (missed, share) = ((now - self.last[r]) as f64, step / total);
        self.last[r] = now;
        let (scores, sums) = (scores.as_flattened_mut(), sums.as_flattened_mut());
        let n = scores.len();
        let (sums, scratch) = (&mut sums[..n], &scratch.as_flattened()[..n]);
        for i in 0..n {
            sums[i] += missed * scores[i];
            scores[i] -= share * scratch[i];
        }
        scores[seen] += step;
    }

    /// The same step with momentum. Without `seen`, the row only moves by its velocity. The gradient is evaluated
    /// `ahead` velocities further on.
    #[inline(always)]
    fn glide(&mut self, r: usize, seen: Option<usize>, pace: &Pace, scratch: &mut [Lanes]) {
        let cells = r * self.chunks..(r + 1) * self.chunks;
        let (scores, sums) = (&mut self.scores[cells.clone()], &mut self.sums[cells.clone()]);
        let velocity = &mut self.velocity[cells][..scores.len()];
        let (ahead, rest) = scratch.split_at_mut(scores.len());
        let sums = &mut sums[..scores.len()];
        let mut share = 0.0;
        if seen.is_some() {
            for k in 0..scores.len() {
                for l in 0..LANES {
                    ahead[k][l] = scores[k][l] + pace.ahead * velocity[k][l];
                }
            }
            let (_, total) = exponentials(ahead, rest);
            share = pace.step / total;
        }
        let missed = (pace.now - self.last[r]) as f64;
        self.last[r] = pace.now;
        for k in 0..scores.len() {
            for l in 0..LANES {
                sums[k][l] += missed * scores[k][l];
                let pull = if share == 0.0 { 0.0 } else { share * rest[k][l] };
                velocity[k][l] = pace.beta * velocity[k][l] - pull;
            }
        }
        if let Some(seen) = seen {
            velocity[seen / LANES][seen % LANES] += pace.step;
        }
        for k in 0..scores.len() {
            for l in 0..LANES {
                scores[k][l] += velocity[k][l];
            }
        }
    }
}

/// One step with momentum.
#[derive(Clone, Copy)]
struct Pace {
    step: f64,
    beta: f64,
    ahead: f64,
    now: usize,
}

/// The row and the cell of a sample `(x, y)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    Causal,
    Anticausal,
    /// One row for all pairs of states; so many states of Y.
    Joint(usize),
}

impl Place {
    #[inline(always)]
    pub(super) fn of(self, (x, y): (usize, usize)) -> (usize, usize) {
        match self {
            Place::Causal => (x, y),
            Place::Anticausal => (y, x),
            Place::Joint(ys) => (0, x * ys + y),
        }
    }
}

/// Learns samples one after the other: the marginal, and one row of the conditional.
pub(super) struct Walk<'a> {
    /// None for a model that is one row.
    pub(super) marginal: Option<&'a mut Scores>,
    pub(super) rows: &'a mut Scores,
    /// States of X and Y.
    pub(super) samples: &'a [(usize, usize)],
    pub(super) place: Place,
    pub(super) step: f64,
    /// `beta`, and how many velocities ahead gradients are taken.
    pub(super) momentum: Option<(f64, f64)>,
    pub(super) average: Average,
    /// Samples learned before.
    pub(super) now: usize,
    pub(super) scratch: &'a mut [Lanes],
}

impl Kernel for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Walk { mut marginal, rows, samples, place, step, momentum, average, now, scratch } =
            self;
        for t in 0..samples.len() {
            let (row, cell) = place.of(samples[t]);
            if average == (Average::Tail { from: now + t }) {
                rows.forget(now + t);
                if let Some(marginal) = &mut marginal {
                    marginal.forget(now + t);
                }
            }
            let now = now + t + 1;
            if let Some((beta, ahead)) = momentum {
                let pace = Pace { step, beta, ahead, now };
                if let Some(marginal) = &mut marginal {
                    marginal.glide(0, Some(row), &pace, scratch);
                }
                for r in 0..rows.rows() {
                    rows.glide(r, (r == row).then_some(cell), &pace, scratch);
                }
                continue;
            }
            if let Some(marginal) = &mut marginal {
                marginal.descend(0, row, step, now, scratch);
            }
            rows.descend(row, cell, step, now, scratch);
        }
    }
}

/// A distribution that averages are compared with: `log p` and `p`, row by row, padded with zeros.
#[derive(Debug, Clone)]
pub(super) struct Goal {
    log: Vec<Lanes>,
    p: Vec<Lanes>,
}

impl Goal {
    pub(super) fn new(log: impl Iterator<Item = f64>, width: usize) -> Goal {
        let log: Vec<f64> = log.collect();
        Goal {
            p: padded(log.iter().map(|l| l.exp()), width, 0.0),
            log: padded(log.into_iter(), width, 0.0),
        }
    }
}

/// `KL(goal || q)`, where each row of `q` is the softmax of one averaged row of scores. Row `a` of `q` is weighted by
/// entry `a` of the softmax of the averaged `weights`. Without weights there is only one row.
pub(super) struct Divergence<'a> {
    pub(super) goal: &'a Goal,
    pub(super) weights: Option<&'a Scores>,
    pub(super) rows: &'a Scores,
    pub(super) average: Average,
    pub(super) now: usize,
    pub(super) scratch: &'a mut [Lanes],
}

/// The lanes that learners and divergences of so many rows need.
pub(super) fn scratch_lanes(rows: usize, width: usize) -> usize {
    let (rows_chunks, chunks) = (rows.div_ceil(LANES), width.div_ceil(LANES));
    2 * rows_chunks + 2 * chunks * rows.min(LANES)
}

impl Kernel for Divergence<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Divergence { goal, weights, rows, average, now, scratch } = self;
        let (count, chunks) = (average.count(now), rows.chunks);
        let (log_weights, rest) = scratch.split_at_mut(rows.rows().div_ceil(LANES));
        let (spare, rest) = rest.split_at_mut(log_weights.len());
        let (means, exps) = rest.split_at_mut(rest.len() / 2);
        log_weights.fill([0.0; LANES]);
        if let Some(weights) = weights {
            weights.average(0, now, count, log_weights);
            let (top, total) = exponentials(log_weights, spare);
            let partition = top + ln(total);
            for k in 0..log_weights.len() {
                for l in 0..LANES {
                    log_weights[k][l] -= partition;
                }
            }
        }
        let mut sums = [0.0; LANES];
        // Eight rows at a time, whose partitions make a vector.
        for (group, weights) in log_weights.iter().enumerate() {
            let first = group * LANES;
            let size = (rows.rows() - first).min(LANES);
            let (mut tops, mut totals) = ([0.0; LANES], [1.0; LANES]);
            for r in 0..size {
                let cells = r * chunks..(r + 1) * chunks;
                let means = &mut means[cells.clone()];
                rows.average(first + r, now, count, means);
                (tops[r], totals[r]) = exponentials(means, &mut exps[cells]);
            }
            let (mut shifts, mut scales) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                shifts[l] = weights[l] - tops[l] - ln(totals[l]);
                scales[l] = exp(weights[l]) / totals[l];
            }
            let cells = first * chunks..(first + size) * chunks;
            let (log, p) = (&goal.log[cells.clone()], &goal.p[cells]);
            for r in 0..size {
                let (shift, scale) = (shifts[r], scales[r]);
                let cells = r * chunks * LANES..(r + 1) * chunks * LANES;
                let log = &log.as_flattened()[cells.clone()];
                let p = &p.as_flattened()[cells.clone()];
                let means = &means.as_flattened()[cells.clone()];
                let terms = &mut exps.as_flattened_mut()[cells];
                let n = terms.len();
                let (log, p, means) = (&log[..n], &p[..n], &means[..n]);
                for i in 0..n {
                    let (d, q) = (log[i] - (means[i] + shift), terms[i] * scale);
                    // As in `kl_of_logs`: the cells' corrections q - p sum to zero, and where both are close a series has no
                    // cancellation.
                    let tail = 1.0 / 6.0
                        - d * (1.0 / 24.0
                            - d * (1.0 / 120.0 - d * (1.0 / 720.0 - d * (1.0 / 5040.0))));
                    let near = p[i] * (d * d) * (0.5 - d * tail);
                    let far = p[i] * d + (q - p[i]);
                    terms[i] = if d.abs() < 1e-2 { near } else { far };
                }
                for chunk in &exps[r * chunks..(r + 1) * chunks] {
                    for l in 0..LANES {
                        sums[l] += chunk[l];
                    }
                }
            }
        }
        let divergence = join(sums);
        if divergence > 0.0 { divergence } else { 0.0 }
    }
}

/// `e^(x - max)`; the largest entry, and the sum.
#[inline(always)]
fn exponentials(x: &[Lanes], out: &mut [Lanes]) -> (f64, f64) {
    let out = &mut out[..x.len()];
    let mut tops = [f64::NEG_INFINITY; LANES];
    for k in 0..x.len() {
        for l in 0..LANES {
            tops[l] = if x[k][l] > tops[l] { x[k][l] } else { tops[l] };
        }
    }
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let low = larger(larger(tops[0], tops[4]), larger(tops[2], tops[6]));
    let high = larger(larger(tops[1], tops[5]), larger(tops[3], tops[7]));
    let top = larger(low, high);
    let mut sums = [0.0; LANES];
    let (to, from) = (out.as_flattened_mut(), x.as_flattened());
    let to = &mut to[..from.len()];
    for i in 0..from.len() {
        to[i] = exp(from[i] - top);
    }
    for k in 0..x.len() {
        for l in 0..LANES {
            sums[l] += out[k][l];
        }
    }
    (top, join(sums))
}

#[inline(always)]
fn join(l: Lanes) -> f64 {
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}
