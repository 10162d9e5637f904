//! Conjugate gradients on the support of a direction of [QUIC](super::quic).
//!
//! With the signs `s` of `X + D` fixed, the model is a quadratic in the entries of the support. Its minimiser satisfies
//!
//! ```text
//! (W P W)_ij = -(C - W + Lambda s + W D W)_ij      for (i, j) in the support
//! ```
//!
//! The map `R -> (X R X)` on the support is the preconditioner; it is the exact inverse if the support contains all
//! entries. If `W` is nearly singular, as with duplicate columns or few samples, coordinate descent on this quadratic
//! needs a number of sweeps proportional to the squared condition number. One iteration of conjugate gradients costs
//! about two sweeps.

use std::ops::Range;

use fenchel_linalg::{lanes, parallel};

use super::block::Block;
use super::direction::{Direction, direction_times};

/// Improves the direction without leaving its support; entries may become 0. Returns the decrease of the model, 0 if
/// there is none.
pub(super) fn descend(block: &Block, x: &[f64], w: &[f64], direction: &mut Direction) -> f64 {
    let mut total = 0.0;
    for _ in 0..ROUNDS {
        let (gained, blocked) = minimise(block, x, w, direction);
        total += gained;
        if !blocked {
            break;
        }
    }
    total
}

/// The number of entries that may become 0 one after the other.
const ROUNDS: usize = 10;
/// Iterations of one run. The support changes before a longer run pays.
const ITERATIONS: usize = 10;
/// The share of the residual's square at which a run ends.
const ACCURACY: f64 = 1e-2;

/// One run of conjugate gradients. Returns the decrease, and whether the step ended where an entry became 0.
fn minimise(block: &Block, x: &[f64], w: &[f64], direction: &mut Direction) -> (f64, bool) {
    let k = block.k;
    let entries: Vec<(usize, usize)> = (0..k)
        .flat_map(|i| {
            let columns = &direction.columns[direction.starts[i]..direction.starts[i + 1]];
            columns.iter().map(move |&j| (i, j as usize))
        })
        .collect();
    let count = entries.len();
    let now = |at: usize, d: f64| {
        let (i, j) = entries[at];
        x[i * k + j] + d
    };
    let twice = |at: usize| if entries[at].0 == entries[at].1 { 1.0 } else { 2.0 };
    let active: Vec<bool> = (0..count).map(|at| now(at, direction.values[at]) != 0.0).collect();
    let mut product = vec![0.0; count];
    congruence(k, w, direction, &mut product);
    // The residual is minus the gradient on the support.
    let mut residual = vec![0.0; count];
    for at in 0..count {
        if active[at] {
            let (i, j) = entries[at];
            let sign = now(at, direction.values[at]).signum();
            residual[at] =
                w[i * k + j] - block.c[i * k + j] - block.lambda.at(i, j) * sign - product[at];
        }
    }
    let inner = |a: &[f64], b: &[f64]| {
        (0..count).map(|at| if active[at] { twice(at) * a[at] * b[at] } else { 0.0 }).sum::<f64>()
    };
    let mut step = direction.clone();
    let mut move_by = vec![0.0; count];
    let precondition = |residual: &[f64], step: &mut Direction, out: &mut [f64]| {
        for at in 0..count {
            step.values[at] = if active[at] { residual[at] } else { 0.0 };
        }
        congruence(k, x, step, out);
    };
    let mut z = vec![0.0; count];
    precondition(&residual, &mut step, &mut z);
    let mut conjugate: Vec<f64> =
        (0..count).map(|at| if active[at] { z[at] } else { 0.0 }).collect();
    let first = inner(&residual, &z);
    let mut size = first;
    for _ in 0..ITERATIONS {
        if !(size > ACCURACY * first) || !size.is_finite() {
            break;
        }
        step.values.copy_from_slice(&conjugate);
        congruence(k, w, &step, &mut product);
        let curvature = inner(&conjugate, &product);
        if !(curvature > 0.0) {
            break;
        }
        let length = size / curvature;
        for at in 0..count {
            if active[at] {
                move_by[at] += length * conjugate[at];
                residual[at] -= length * product[at];
            }
        }
        precondition(&residual, &mut step, &mut z);
        let next = inner(&residual, &z);
        let share = next / size;
        size = next;
        for at in 0..count {
            if active[at] {
                conjugate[at] = z[at] + share * conjugate[at];
            }
        }
    }
    accept(block, x, w, &entries, &move_by, direction)
}

/// Moves along a direction until the model decreases: all of it, with entries that would change sign stopped at 0; as far as the first of
/// them changes sign; or shorter. Where `W` is nearly singular, entries are so closely tied that one that stops by itself raises the model.
fn accept(
    block: &Block,
    x: &[f64],
    w: &[f64],
    entries: &[(usize, usize)],
    move_by: &[f64],
    direction: &mut Direction,
) -> (f64, bool) {
    let k = block.k;
    let count = entries.len();
    let mut product = vec![0.0; count];
    let mut model = |direction: &Direction| {
        congruence(k, w, direction, &mut product);
        let mut value = 0.0;
        for (at, &(i, j)) in entries.iter().enumerate() {
            let (d, old) = (direction.values[at], x[i * k + j]);
            let linear = (block.c[i * k + j] - w[i * k + j] + 0.5 * product[at]) * d;
            let penalty = if old + d == old {
                0.0
            } else {
                block.lambda.at(i, j) * ((old + d).abs() - old.abs())
            };
            value += if i == j { linear + penalty } else { 2.0 * (linear + penalty) };
        }
        value
    };
    let before = model(direction);
    let start = direction.values.clone();
    let ends = |at: usize, length: f64| {
        let (i, j) = entries[at];
        let old = x[i * k + j] + start[at];
        move_by[at] != 0.0 && i != j && old * (old + length * move_by[at]) <= 0.0
    };
    let mut step = |direction: &mut Direction, length: f64| {
        for (at, &(i, j)) in entries.iter().enumerate() {
            direction.values[at] =
                if ends(at, length) { -x[i * k + j] } else { start[at] + length * move_by[at] };
        }
        before - model(direction)
    };
    let first = (0..count).filter(|&at| ends(at, 1.0));
    let first = first.map(|at| -(x[entries[at].0 * k + entries[at].1] + start[at]) / move_by[at]);
    let first = first.fold(f64::INFINITY, f64::min);
    let mut length = 1.0;
    for trial in 0..12 {
        let gained = step(direction, length);
        if gained > 0.0 {
            return (gained, false);
        }
        if trial == 0 && first < 1.0 {
            // A hair further, so that rounding does not keep the sign.
            let gained = step(direction, first * (1.0 + 4.0 * f64::EPSILON));
            if gained >= 0.0 {
                return (gained, true);
            }
        }
        length *= 0.5;
    }
    direction.values = start;
    (0.0, false)
}

/// `(M D M)_ij` on the stored entries of `D`, for symmetric `M`.
fn congruence(k: usize, m: &[f64], direction: &Direction, out: &mut [f64]) {
    let mut products = Vec::new();
    if direction.dense() {
        products.resize(k * k, 0.0);
        direction.times(m, &mut products);
    }
    let (products, mut rest) = (&products[..], out);
    let rows = direction.rows_together();
    let parts = (0..k).step_by(rows).map(|from| {
        let rows = from..k.min(from + rows);
        let entries = direction.starts[rows.end] - direction.starts[rows.start];
        let (out, others) = std::mem::take(&mut rest).split_at_mut(entries);
        rest = others;
        (rows, out)
    });
    parallel::map(parts.collect::<Vec<_>>(), |(rows, out)| {
        lanes::run(Congruence { k, m, direction, products, rows, out });
    });
}

/// The entries of some rows.
struct Congruence<'a> {
    k: usize,
    m: &'a [f64],
    direction: &'a Direction,
    /// `D M` by rows, or empty.
    products: &'a [f64],
    rows: Range<usize>,
    out: &'a mut [f64],
}

/// Columns of the products that are read together: they lie in a line of the cache.
const TOGETHER: usize = 8;

impl lanes::Kernel for Congruence<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Congruence { k, m, direction, products, rows, out } = self;
        let Direction { starts, columns, values, .. } = direction;
        let first = starts[rows.start];
        let mut columns_of = vec![0.0; TOGETHER * k];
        for from in rows.clone().step_by(TOGETHER) {
            let to = rows.end.min(from + TOGETHER);
            if products.is_empty() {
                for (i, v) in (from..to).zip(columns_of.chunks_exact_mut(k)) {
                    if starts[i] < starts[i + 1] {
                        direction_times(k, starts, columns, values, &m[i * k..][..k], v);
                    }
                }
            } else {
                for l in 0..k {
                    for i in from..to {
                        columns_of[(i - from) * k + l] = products[l * k + i];
                    }
                }
            }
            for (i, v) in (from..to).zip(columns_of.chunks_exact(k)) {
                for at in starts[i]..starts[i + 1] {
                    out[at - first] = lanes::dot(&m[columns[at] as usize * k..][..k], v);
                }
            }
        }
    }
}
