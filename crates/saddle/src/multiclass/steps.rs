//! Steps of PDHG for the hinge problem with the l1 norm, which skip the rows of `U` that stay 0.
//!
//! ```text
//! U+ = soft(U - tau S, tau lambda),  S = X'(V - Y)/n;     V+_j = simplex(V_j + (sigma/n) (x_j'(2 U+ - U) - w_j e_y))
//! ```
//!
//! Most rows of `U` are 0 and stay 0. A row `i` can change only if an entry of `S_i` exceeds `lambda`. Since row `i`
//! was last computed, `S_i` has changed by at most `norm(X_i)/n` times the length of the path of the columns of `V`.
//! Until that could be enough, the row *rests*: neither its gradient nor its entries are computed. The product with
//! `2 U+ - U` uses only its non-zero entries.

use fenchel_linalg::{lanes, project};

use super::problem::Multiclass;
use super::samples::{Rows, Samples};
use crate::methods::steps::{Pair, Steps};
use crate::setup::project_row;

/// If fewer than one in this number of entries is not 0, a sparse row is cheaper than a whole one, which uses wide
/// instructions.
const FEW: usize = 8;
/// The rounding error of a gradient, relative to its largest possible value.
const MARGIN: f64 = 1e-12;

pub(super) struct HingeSteps<'a> {
    problem: &'a Multiclass<'a>,
    /// The length of the path of `V`. It is the sum over the steps of the largest change of a column.
    path: f64,
    /// The path length at which a row of `U` has to be computed again.
    rests_until: Vec<f64>,
    awake: Vec<u32>,
    shifted: Vec<f64>,
    /// The gradients, later the previous weights, of the rows that do not rest.
    rows: Vec<f64>,
    thin: Thin,
    /// `2 U+ - U` as a whole and its scores, if it has too many non-zero entries.
    whole: Vec<f64>,
    scores: Vec<f64>,
    changes: Vec<f64>,
    operations: u64,
}

/// Multiply-adds per entry of `U` in a row that does not rest: shrinking, its norm, `2 U+ - U` and the sum.
const OF_WEIGHT: u64 = 8;
/// Multiply-adds per entry of `V`: the step, about four rounds of the projection, the change and the sum.
const OF_DUAL: u64 = 24;

/// Non-zero entries, by rows.
#[derive(Default)]
struct Thin {
    offsets: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f64>,
}

impl Thin {
    /// [`Samples::drift`] of these entries.
    fn drift(&self, s: &Samples) -> Vec<f64> {
        let mut drift = vec![0.0; if s.is_shifted() { s.classes() } else { 0 }];
        if s.is_shifted() {
            for (i, ends) in self.offsets.windows(2).enumerate() {
                for e in ends[0]..ends[1] {
                    drift[self.places[e] as usize] += s.shift_of(i) * self.values[e];
                }
            }
        }
        drift
    }
}

impl<'a> HingeSteps<'a> {
    pub(super) fn new(problem: &'a Multiclass<'a>) -> Self {
        let s = problem.samples();
        let (n, d, k) = (s.rows(), s.features(), s.classes());
        HingeSteps {
            problem,
            path: 0.0,
            rests_until: vec![0.0; d],
            awake: vec![],
            shifted: vec![0.0; n * k],
            rows: vec![],
            thin: Thin::default(),
            whole: vec![],
            scores: vec![0.0; k],
            changes: vec![0.0; k],
            operations: 0,
        }
    }

    /// Computes the new values of the rows that do not rest, and stores the previous ones in `rows`. Returns the
    /// number of non-zero entries of both together.
    fn primal(&mut self, x: &mut [f64], y: &[f64], tau: f64) -> usize {
        let s = self.problem.samples();
        let (n, k) = (s.rows() as f64, s.classes());
        let sparse = s.is_sparse();
        self.awake.clear();
        let rests = |i: &u32| sparse && self.path < self.rests_until[*i as usize];
        self.awake.extend((0..s.features() as u32).filter(|i| !rests(i)));
        self.shifted.copy_from_slice(y);
        self.problem.shift(&mut self.shifted);
        self.rows.resize(self.awake.len() * k, 0.0);
        s.some_transposed(&self.awake, &self.shifted, k, &mut self.rows);
        let penalty = self.problem.penalty();
        let stored: usize = self.awake.iter().map(|i| s.column_length(*i as usize)).sum();
        self.operations += (stored * k) as u64 + OF_WEIGHT * self.rows.len() as u64;
        let (mut norm, mut entries) = (0.0, 0);
        for (i, row) in self.awake.iter().zip(self.rows.chunks_exact_mut(k)) {
            let i = *i as usize;
            let row = RowStep { x: &mut x[i * k..][..k], row, tau, scale: tau / n, penalty };
            let done = lanes::run(row);
            norm += done.norm;
            entries += done.entries;
            self.rests_until[i] = self.path;
            if done.entries == 0 {
                let room = penalty * (1.0 - MARGIN) * n - done.steepest * (1.0 + MARGIN);
                self.rests_until[i] += (room / s.column_norms[i]).max(0.0);
            }
        }
        if !(norm <= self.problem.radius()) && project::l1_ball(x, self.problem.radius()).is_err() {
            x.fill(f64::NAN);
        }
        entries
    }

    /// Writes `2 U+ - U`, and adds `U+` to the sum.
    fn extrapolate(&mut self, x: &[f64], sum: &mut [f64], thin: bool) {
        let s = self.problem.samples();
        let (d, k) = (s.features(), s.classes());
        let Thin { offsets, places, values } = &mut self.thin;
        places.clear();
        values.clear();
        offsets.clear();
        if !thin {
            self.whole.clear();
            self.whole.resize(d * k, 0.0);
        }
        for (i, old) in self.awake.iter().zip(self.rows.chunks_exact(k)) {
            let at = *i as usize * k;
            let (new, sum) = (&x[at..][..k], &mut sum[at..][..k]);
            if thin {
                offsets.resize(*i as usize + 1, places.len());
            }
            for l in 0..k {
                sum[l] += new[l];
                let extra = 2.0 * new[l] - old[l];
                if !thin {
                    self.whole[at + l] = extra;
                } else if extra != 0.0 {
                    places.push(l as u32);
                    values.push(extra);
                }
            }
            if thin {
                let own = places.len() - offsets[*i as usize];
                self.operations += (own * s.column_length(*i as usize)) as u64;
            }
        }
        offsets.resize(d + 1, places.len());
    }
}

impl Steps for HingeSteps<'_> {
    fn step(&mut self, pair: Pair<'_>, tau: f64, sigma: f64) {
        let Pair { x, y, sum_x, sum_y } = pair;
        let s = self.problem.samples();
        let (n, k) = (s.rows(), s.classes());
        let entries = self.primal(x, y, tau);
        let thin = s.is_sparse() && entries * FEW <= s.features() * k;
        self.extrapolate(x, sum_x, thin);
        if !thin {
            self.scores.resize(n * k, 0.0);
            s.scores(&self.whole, k, &mut self.scores);
            self.operations += (s.stored() * k) as u64;
        }
        self.operations += OF_DUAL * (n * k) as u64;
        self.changes.fill(0.0);
        let HingeSteps { problem, thin: entries, scores, changes, .. } = self;
        let drift = if thin { entries.drift(s) } else { vec![] };
        let (sparse, drift) = (if thin { Some(&*entries) } else { None }, &drift[..]);
        lanes::run(DualStep {
            problem,
            sparse,
            drift,
            scores,
            y,
            sum_y,
            changes,
            step: sigma / n as f64,
        });
        self.path += self.changes.iter().fold(0.0_f64, |m, c| m.max(*c)).sqrt();
    }

    fn jumped(&mut self) {
        self.rests_until.fill(self.path);
    }

    fn operations(&self) -> Option<u64> {
        Some(self.operations)
    }
}

/// The result of a step for a row.
struct Stepped {
    norm: f64,
    /// The number of entries that are not 0 before or after the step.
    entries: usize,
    /// The largest absolute entry of the gradient times `n`.
    steepest: f64,
}

/// Replaces `U_i` by `soft(U_i - scale g, tau lambda)`. `row` contains `g` before, and the previous `U_i` after.
struct RowStep<'a> {
    x: &'a mut [f64],
    row: &'a mut [f64],
    tau: f64,
    scale: f64,
    penalty: f64,
}

impl lanes::Kernel for RowStep<'_> {
    type Output = Stepped;

    #[inline(always)]
    fn compute(self) -> Stepped {
        let RowStep { x, row, tau, scale, penalty } = self;
        let threshold = tau * penalty;
        let row = &mut row[..x.len()];
        let mut tops = [0.0_f64; 8];
        let (blocks, rest) = row.as_chunks::<8>();
        for block in blocks {
            for l in 0..8 {
                let size = block[l].abs();
                tops[l] = if size > tops[l] { size } else { tops[l] };
            }
        }
        let steepest = rest.iter().map(|g| g.abs()).chain(tops).fold(0.0, f64::max);
        let mut entries = 0;
        for l in 0..x.len() {
            let old = x[l];
            let moved = old - scale * row[l];
            // Not `clamp`: a gradient that overflowed must show.
            let kept = if moved > threshold {
                moved - threshold
            } else if moved < -threshold {
                moved + threshold
            } else {
                moved * 0.0
            };
            x[l] = kept;
            row[l] = old;
            entries += usize::from(kept != 0.0 || old != 0.0);
        }
        Stepped { norm: x.iter().map(|x| x.abs()).sum(), entries, steepest }
    }
}

/// A step of every row of `V`. It adds up the squares of the changes by columns.
struct DualStep<'a> {
    problem: &'a Multiclass<'a>,
    /// The non-zero entries of `2 U+ - U`. If it is `None`, `scores` contains all scores.
    sparse: Option<&'a Thin>,
    /// What implicit shifts of the columns subtract from the scores, times the margin. It is empty without them.
    drift: &'a [f64],
    scores: &'a mut [f64],
    y: &'a mut [f64],
    sum_y: &'a mut [f64],
    changes: &'a mut [f64],
    step: f64,
}

impl lanes::Kernel for DualStep<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let DualStep { problem, sparse, drift, scores, y, sum_y, changes, step } = self;
        let s = problem.samples();
        let k = s.classes();
        let changes = &mut changes[..k];
        let mut old = vec![0.0; k];
        for (j, (y, sum)) in y.chunks_exact_mut(k).zip(sum_y.chunks_exact_mut(k)).enumerate() {
            let scores = match (sparse, &s.rows) {
                (Some(thin), Rows::Sparse(x)) => {
                    let scores = &mut scores[..k];
                    scores.fill(0.0);
                    let (of, values) = x.part(j);
                    for (c, a) in of.iter().zip(values) {
                        let entries = thin.offsets[*c as usize]..thin.offsets[*c as usize + 1];
                        for e in entries {
                            scores[thin.places[e] as usize] += a * thin.values[e];
                        }
                    }
                    for l in 0..drift.len() {
                        scores[l] -= s.margins[j] * drift[l];
                    }
                    scores
                }
                _ => &mut scores[j * k..][..k],
            };
            scores[s.labels[j] as usize] -= s.margins[j];
            old.copy_from_slice(y);
            for l in 0..k {
                y[l] += step * scores[l];
            }
            project_row(y);
            for l in 0..k {
                let change = y[l] - old[l];
                changes[l] += change * change;
                sum[l] += y[l];
            }
        }
    }
}
