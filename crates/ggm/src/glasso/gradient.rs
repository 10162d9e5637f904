//! Proximal gradient steps, used before a Newton step of [QUIC](super::quic) if many entries are free:
//!
//! ```text
//! X+ = S(X - t (C - W), t Lambda)
//! ```
//!
//! A gradient step costs one inverse, and one Cholesky factorisation per trial of the line search, whatever the number
//! of free entries. A Newton step costs sweeps over all free entries. So before each Newton step come as many gradient
//! steps as cost the same time. Once a Newton step gains more than the gradient steps before it, only Newton steps
//! follow. This rule wastes at most about half of the time. In sparse problems the number of gradient steps is 0, and
//! all steps are Newton steps.
//!
//! The step sizes alternate between the two of Barzilai and Borwein. A step size is halved until `-log det` at the new
//! point is below its quadratic model with curvature `1 / t`, so no step increases the objective.
//!
//! Source: Guillot, Rajaratnam, Rolfs, Maleki and Wong, "Iterative thresholding algorithm for sparse inverse covariance estimation", NIPS 2012.

use std::ops::Range;

use fenchel_linalg::{factor, lanes, parallel};

use super::block::Block;
use super::point::Point;

/// The state that is kept between rounds of steps.
#[derive(Clone)]
pub(super) struct Gradients {
    /// Steps until the next Newton step; `None` after it.
    left: Option<usize>,
    size: f64,
    /// By how much the steps since the last Newton step lowered the objective.
    gained: f64,
    /// Whether a Newton step gained more than the gradient steps before it. From then on there are only Newton steps.
    outdone: bool,
    /// Which of the two step sizes is used next.
    short: bool,
    /// The ratio of the gap to the last decrease, at the last computation of the gap.
    gap_by_decrease: f64,
    next: Vec<f64>,
    inverse: Vec<f64>,
}

/// Blocks of lower order use only Newton steps: their sweeps stay in the cache, and blocked factorisations gain
/// nothing.
const SMALL: usize = 100;
/// Rows that a thread takes at a time.
const ROWS: usize = 64;

/// The number of gradient steps that cost as much as one Newton step with this many free entries on or above the
/// diagonal. It is 0 if the number is too small to be useful.
///
/// A Newton step has about twenty sweeps of `8 k free` operations. A gradient step has `4 k^3 / 3` operations, which
/// blocked products compute four times as fast.
fn affordable(k: usize, free: usize) -> usize {
    let steps = 480 * free / (k * k);
    if k < SMALL || steps < 10 { 0 } else { steps.min(100) }
}

/// A proximal step `D`; sums over both triangles.
#[derive(Default)]
struct Trial {
    /// `<W, D>`
    inverse: f64,
    /// `||D||^2`
    square: f64,
    /// `<C, X> + penalty(X)` at the new point
    linear: f64,
}

impl Gradients {
    pub(super) fn new() -> Gradients {
        Gradients {
            left: None,
            size: 1.0,
            gained: 0.0,
            outdone: false,
            short: false,
            gap_by_decrease: 2.0,
            next: Vec::new(),
            inverse: Vec::new(),
        }
    }

    /// Takes gradient steps until they have cost as much as a Newton step, or until the estimated gap reaches `enough`.
    /// False if a Newton step is due instead.
    pub(super) fn steps(&mut self, block: &Block, point: &mut Point, enough: f64) -> bool {
        let before = point.objective();
        let left = match self.left.take() {
            Some(left) => left,
            None if self.outdone => 0,
            None => {
                self.gained = 0.0;
                let k = block.k;
                let free = |i: usize| (i + 1..k).filter(|&j| point.is_free(block, i, j)).count();
                affordable(k, k + (0..k).map(free).sum::<usize>())
            }
        };
        for done in 1..=left {
            if !self.step(block, point) {
                // As far as rounding lets them.
                self.left = Some(0);
                break;
            }
            self.left = Some(left - done);
            if point.estimate <= enough {
                break;
            }
        }
        if left > 0 {
            mirror(&mut point.x, block.k);
            self.gained += before - point.objective();
        }
        left > 0
    }

    /// Compares a Newton step, by what it gained, with the gradient steps before it.
    pub(super) fn compare(&mut self, gained: f64) {
        self.outdone |= gained > self.gained;
    }

    /// Corrects the estimate of the gap, after the computed gap was larger.
    pub(super) fn correct(&mut self, gap: f64, estimate: f64) {
        if estimate > 0.0 && gap > estimate && gap.is_finite() {
            self.gap_by_decrease *= (gap / estimate).clamp(1.5, 10.0);
        }
    }

    /// One step; false if its gain is below rounding. Only the upper triangle of `x` is read and written.
    fn step(&mut self, block: &Block, point: &mut Point) -> bool {
        let k = block.k;
        for _ in 0..40 {
            let size = self.size;
            let trial = self.try_step(block, point, size);
            let quadratic = 0.5 * trial.square / size;
            let decrease = point.linear - trial.linear + trial.inverse - quadratic;
            let rounding = 4e-16 * (point.linear.abs() + point.log_det.abs() + k as f64);
            if !(decrease > rounding) {
                return false;
            }
            point.workspace.clear();
            point.workspace.extend_from_slice(&self.next);
            if let Some(factor) = point.factor(k) {
                let log_det = factor.log_det();
                let gained = point.linear - trial.linear + log_det - point.log_det;
                let accepted = point.log_det - log_det <= quadratic - trial.inverse + rounding;
                if accepted && gained > 0.0 {
                    std::mem::swap(&mut point.w, &mut self.inverse);
                    point.w.resize(k * k, 0.0);
                    factor::inverse_into(&factor, &mut point.w);
                }
                point.workspace = factor.into_entries();
                if accepted && !(gained > 0.0) {
                    // The factorisation of a nearly singular matrix knows its determinant less well.
                    return false;
                }
                if accepted {
                    point.log_det = log_det;
                    point.linear = trial.linear;
                    point.estimate = self.gap_by_decrease * decrease;
                    self.next_size(k, point, trial.square);
                    std::mem::swap(&mut point.x, &mut self.next);
                    return true;
                }
            }
            self.size *= 0.5;
        }
        false
    }

    /// Puts the upper triangle of the new point into `next`.
    fn try_step(&mut self, block: &Block, point: &Point, size: f64) -> Trial {
        let k = block.k;
        self.next.resize(k * k, 0.0);
        let parts = self.next.chunks_mut(ROWS * k).enumerate();
        let of_rows = |(part, next): (usize, &mut [f64])| {
            lanes::run(Step { block, point, size, first: part * ROWS, next })
        };
        parallel::map(parts, of_rows).into_iter().fold(Trial::default(), |sum, part| Trial {
            inverse: sum.inverse + part.inverse,
            square: sum.square + part.square,
            linear: sum.linear + part.linear,
        })
    }

    /// The size of the next step, from the changes of point and inverse in the last one. At this time `next` and
    /// `inverse` are not yet swapped in.
    fn next_size(&mut self, k: usize, point: &Point, square: f64) {
        let of_rows = |from: usize| {
            lanes::run(Changes {
                k,
                rows: from..k.min(from + ROWS),
                x: [&point.x, &self.next],
                w: [&self.inverse, &point.w],
            })
        };
        let sums = parallel::map((0..k).step_by(ROWS), of_rows);
        let (along, change) = sums.into_iter().fold((0.0, 0.0), |(a, c), (b, d)| (a + b, c + d));
        let size = if self.short { along / change } else { square / along };
        self.short = !self.short;
        if size > 0.0 && size.is_finite() {
            self.size = size;
        }
    }
}

/// A proximal step of some rows, whose upper triangle goes to `next`.
struct Step<'a> {
    block: &'a Block,
    point: &'a Point,
    size: f64,
    first: usize,
    next: &'a mut [f64],
}

impl lanes::Kernel for Step<'_> {
    type Output = Trial;

    #[inline(always)]
    fn compute(self) -> Trial {
        let Step { block, point, size, first, next } = self;
        let k = block.k;
        let mut trial = Trial::default();
        let (mut weights, mut change) = (vec![0.0; k], vec![0.0; k]);
        for (i, next) in (first..k).zip(next.chunks_exact_mut(k)) {
            let row = i * k + i..(i + 1) * k;
            let (x, w, c) = (&point.x[row.clone()], &point.w[row.clone()], &block.c[row]);
            let n = x.len();
            let (next, weights, d) = (&mut next[i..][..n], &mut weights[..n], &mut change[..n]);
            let (w, c) = (&w[..n], &c[..n]);
            block.lambda.row(i, weights);
            for j in 0..n {
                let z = x[j] - size * (c[j] - w[j]);
                let t = size * weights[j];
                next[j] = z - z.max(-t).min(t);
                d[j] = next[j] - x[j];
                // An infinite weight times 0 is no penalty.
                weights[j] = if next[j] != 0.0 { weights[j] * next[j].abs() } else { 0.0 };
            }
            // Both triangles; the diagonal counts once.
            trial.inverse += 2.0 * lanes::dot(w, d) - w[0] * d[0];
            trial.square += 2.0 * lanes::dot(d, d) - d[0] * d[0];
            let linear = lanes::dot(c, next) + lanes::sum(weights);
            trial.linear += 2.0 * linear - (c[0] * next[0] + weights[0]);
        }
        trial
    }
}

/// The inner product of the changes of point and inverse over some rows, and the square of the latter.
struct Changes<'a> {
    k: usize,
    rows: Range<usize>,
    x: [&'a [f64]; 2],
    w: [&'a [f64]; 2],
}

impl lanes::Kernel for Changes<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn compute(self) -> (f64, f64) {
        let Changes { k, rows, x, w } = self;
        let (mut of_x, mut of_w) = (vec![0.0; k], vec![0.0; k]);
        let (mut along, mut change) = (0.0, 0.0);
        for i in rows {
            let row = i * k + i..(i + 1) * k;
            let n = row.len();
            let ([x, next], [old, w]) = (x.map(|x| &x[row.clone()]), w.map(|w| &w[row.clone()]));
            let (d, y) = (&mut of_x[..n], &mut of_w[..n]);
            for j in 0..n {
                d[j] = next[j] - x[j];
                y[j] = old[j] - w[j];
            }
            along += 2.0 * lanes::dot(d, y) - d[0] * y[0];
            change += 2.0 * lanes::dot(y, y) - y[0] * y[0];
        }
        (along, change)
    }
}

fn mirror(x: &mut [f64], k: usize) {
    for i in 0..k {
        for j in 0..i {
            x[i * k + j] = x[j * k + i];
        }
    }
}
