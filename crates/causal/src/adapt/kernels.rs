//! The inner loops of the categorical learners, compiled for the vector instructions of the machine.

use fenchel_linalg::lanes::{Kernel, exp, ln, sum};

/// `scores -= step (softmax(scores) - e_seen)`; `scratch` has the same length.
pub(super) struct Descend<'a> {
    pub(super) scores: &'a mut [f64],
    pub(super) scratch: &'a mut [f64],
    pub(super) seen: usize,
    pub(super) step: f64,
}

impl Kernel for Descend<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Descend { scores, scratch, seen, step } = self;
        let (_, total) = exponentials(scores, scratch);
        let share = step / total;
        for (s, e) in scores.iter_mut().zip(&*scratch) {
            *s -= share * e;
        }
        scores[seen] += step;
    }
}

/// Scores that are a mean over iterates: `(sum + missed scores) / count`, or the scores themselves for a count of 0.
#[derive(Clone, Copy)]
pub(super) struct Mean<'a> {
    pub(super) sum: &'a [f64],
    pub(super) scores: &'a [f64],
    pub(super) missed: f64,
    pub(super) count: f64,
}

impl Mean<'_> {
    #[inline(always)]
    pub(super) fn write(self, out: &mut [f64]) {
        if self.count == 0.0 {
            out.copy_from_slice(self.scores);
            return;
        }
        for ((o, s), t) in out.iter_mut().zip(self.sum).zip(self.scores) {
            *o = (s + self.missed * t) / self.count;
        }
    }
}

/// `KL(p || q)` for a target p in rows, and q a softmax of one vector of scores after the other: row a of q has the weight that
/// `weights` gives it, a softmax of scores too; without weights there is one row.
pub(super) struct Divergence<'a, R> {
    /// `log p` and `p`, row after row.
    pub(super) target: (&'a [f64], &'a [f64]),
    pub(super) weights: Option<Mean<'a>>,
    pub(super) rows: R,
    /// Twice the length of a row.
    pub(super) scratch: &'a mut [f64],
    /// Twice the number of rows.
    pub(super) weight_scratch: &'a mut [f64],
}

impl<'a, R: Iterator<Item = Mean<'a>>> Kernel for Divergence<'a, R> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Divergence { target: (log_p, p), weights, rows, scratch, weight_scratch } = self;
        let width = scratch.len() / 2;
        let (scores, exps) = scratch.split_at_mut(width);
        let (marginal, marginal_exps) = weight_scratch.split_at_mut(weight_scratch.len() / 2);
        let mut partition = 0.0;
        if let Some(weights) = weights {
            weights.write(marginal);
            let (top, total) = exponentials(marginal, marginal_exps);
            partition = top + ln(total);
        }
        let mut divergence = 0.0;
        for (a, mean) in rows.enumerate() {
            mean.write(scores);
            let (top, total) = exponentials(scores, exps);
            let log_weight = if weights.is_some() { marginal[a] - partition } else { 0.0 };
            let (shift, scale) = (log_weight - top - ln(total), exp(log_weight) / total);
            let cells = a * width..(a + 1) * width;
            let (log_p, p) = (&log_p[cells.clone()], &p[cells]);
            for k in 0..width {
                let (d, q) = (log_p[k] - (scores[k] + shift), exps[k] * scale);
                // As in `kl_of_logs`: the cells' corrections q - p sum to zero, and where both are close a series has no cancellation.
                let tail = 1.0 / 6.0
                    - d * (1.0 / 24.0 - d * (1.0 / 120.0 - d * (1.0 / 720.0 - d * (1.0 / 5040.0))));
                let near = p[k] * (d * d) * (0.5 - d * tail);
                let far = p[k] * d + (q - p[k]);
                exps[k] = if d.abs() < 1e-2 { near } else { far };
            }
            divergence += sum(exps);
        }
        if divergence > 0.0 { divergence } else { 0.0 }
    }
}

/// `e^(x - max)`; the largest entry, and the sum.
#[inline(always)]
fn exponentials(x: &[f64], out: &mut [f64]) -> (f64, f64) {
    let (blocks, rest) = x.as_chunks::<4>();
    let mut tops = [f64::NEG_INFINITY; 4];
    for block in blocks {
        for l in 0..4 {
            tops[l] = if block[l] > tops[l] { block[l] } else { tops[l] };
        }
    }
    for &v in rest {
        tops[0] = if v > tops[0] { v } else { tops[0] };
    }
    let pair = |a: f64, b: f64| if a > b { a } else { b };
    let top = pair(pair(tops[0], tops[1]), pair(tops[2], tops[3]));
    for (o, v) in out.iter_mut().zip(x) {
        *o = exp(v - top);
    }
    (top, sum(out))
}
