//! QUIC: a proximal Newton method for the graphical lasso.
//!
//! At a point `X` with inverse `W`, the direction `D` minimises the second-order model
//!
//! ```text
//! <C - W, D> + tr(W D W D) / 2 + sum_ij Lambda_ij |X_ij + D_ij|
//! ```
//!
//! The minimisation is over the free entries: those that are not 0, or whose gradient exceeds their weight. It uses coordinate descent.
//! A line search then keeps `X + a D` positive definite and decreases the objective. Convergence is quadratic near the optimum.
//!
//! The update of one coordinate needs `(W D W)_ij`. The implementation updates a row of coordinates at a time. It computes `v = w_i' D`
//! and the dot products `v . w_j` once per row; each change of a coordinate then updates both in O(free entries of the row). So a row
//! can be swept several times at little extra cost. Where covariances are close to singular, coordinate descent is slow, and it
//! alternates with conjugate gradients on the support (`support.rs`). A sweep costs O(p (|free| + |D|)). A step costs one Cholesky
//! factorisation per trial and one inverse, O(p^3).
//!
//! Source: Hsieh, Sustik, Dhillon and Ravikumar, "QUIC", JMLR 15, 2014; A. Defazio, PhD thesis 2014, section 6.3.1.

use fenchel_linalg::factor::InPlaceCholesky;
use fenchel_linalg::lanes;

use super::block::{Block, Lambda, soft};
use super::gradient::Gradients;
use super::support;

/// The state of QUIC on one block.
#[derive(Clone)]
pub(super) struct Quic {
    pub(super) x: Vec<f64>,
    /// `X^-1`.
    pub(super) w: Vec<f64>,
    pub(super) log_det: f64,
    /// `<C, X> + penalty(X)`.
    pub(super) linear: f64,
    /// An estimate of the gap.
    pub(super) estimate: f64,
    pub(super) stalled: bool,
    /// Newton steps in a row whose model was not minimised within its budget of sweeps.
    pub(super) unsolved: u32,
    pub(super) factorisations: u64,
    /// Off-diagonal entries only: the diagonal of `X` stays.
    pub(super) fixed_diagonal: bool,
    pub(super) gradients: Gradients,
    pub(super) room: Vec<f64>,
}

/// The free entries of the upper triangle by rows, and the direction there.
pub(super) struct Direction {
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl Quic {
    /// A start from a positive definite `x` with its inverse and log-determinant.
    pub(super) fn new(block: &Block, x: Vec<f64>, w: Vec<f64>, log_det: f64) -> Quic {
        let linear = block.linear(&x);
        Quic {
            x,
            w,
            log_det,
            linear,
            estimate: f64::INFINITY,
            stalled: false,
            unsolved: 0,
            factorisations: 0,
            fixed_diagonal: false,
            gradients: Gradients::new(),
            room: Vec::new(),
        }
    }

    /// One Newton step.
    pub(super) fn newton_step(&mut self, block: &Block) {
        let mut direction = self.free(block);
        let (total, last) = self.descend(block, &mut direction);
        self.unsolved = if last <= 1e-2 * total { 0 } else { self.unsolved + 1 };
        self.search(block, &direction, last);
    }

    fn free(&self, block: &Block) -> Direction {
        let k = block.k;
        let mut starts = Vec::with_capacity(k + 1);
        let mut columns = Vec::new();
        starts.push(0);
        for i in 0..k {
            if !self.fixed_diagonal {
                columns.push(i as u32);
            }
            let (x, w, c) = (&self.x[i * k..][..k], &self.w[i * k..][..k], &block.c[i * k..][..k]);
            for j in i + 1..k {
                if x[j] != 0.0 || (c[j] - w[j]).abs() > block.lambda.at(i, j) {
                    columns.push(j as u32);
                }
            }
            starts.push(columns.len());
        }
        let values = vec![0.0; columns.len()];
        Direction { starts, columns, values }
    }

    /// Minimises the model by coordinate descent, and by conjugate gradients on the support where that is slow. Returns the decrease of
    /// the model, and an estimate of the decrease that remains.
    fn descend(&self, block: &Block, direction: &mut Direction) -> (f64, f64) {
        let (mut total, mut last) = (0.0, 0.0);
        // Many free entries: the products `D W` are kept, since making `D w_i` from the entries would cost more than all else.
        let dense = direction.columns.len() > 4 * block.k;
        let mut products = if dense { vec![0.0; block.k * block.k] } else { Vec::new() };
        for round in 0..12 {
            if dense && round > 0 {
                lanes::run(Products { k: block.k, m: &self.w, direction, out: &mut products });
            }
            for sweep in 0..if round == 0 { 10 } else { 4 } {
                last = lanes::run(Sweep {
                    k: block.k,
                    c: &block.c,
                    x: &self.x,
                    w: &self.w,
                    lambda: &block.lambda,
                    direction,
                    products: &mut products,
                });
                total += last;
                // Near the solution the model is worth solving well: its error is squared by the next step.
                let share = (0.1 * total).clamp(1e-8, 1e-2);
                if last <= share * total && (sweep > 0 || round > 0) {
                    return (total, last);
                }
            }
            let gained = support::descend(block, &self.x, &self.w, direction);
            if !(gained > 0.0) {
                break;
            }
            total += gained;
        }
        (total, last)
    }

    fn search(&mut self, block: &Block, direction: &Direction, last: f64) {
        let k = block.k;
        // Sums over both triangles of the free entries: all others are 0 and stay 0.
        let entries = || {
            (0..k).flat_map(|i| {
                (direction.starts[i]..direction.starts[i + 1])
                    .map(move |at| (i, direction.columns[at] as usize, direction.values[at]))
            })
        };
        let (mut slope, mut size) = (0.0, 0.0);
        for (i, j, d) in entries() {
            let twice = if i == j { 1.0 } else { 2.0 };
            let x = self.x[i * k + j];
            slope += twice * (block.c[i * k + j] - self.w[i * k + j]) * d;
            if d != 0.0 {
                let more = block.lambda.at(i, j) * ((x + d).abs() - x.abs());
                slope += twice * more;
                size += twice * (block.c[i * k + j] * d).abs() + more.abs();
            }
        }
        let old = self.linear - self.log_det;
        let rounding = 4e-16 * (self.linear.abs() + self.log_det.abs() + size + k as f64);
        if !(slope < 0.0) || -slope <= 0.25 * rounding {
            self.stalled = true;
            self.estimate = 0.0;
            return;
        }
        let mut step = 1.0;
        for _ in 0..40 {
            self.room.clear();
            self.room.extend_from_slice(&self.x);
            let mut linear = self.linear;
            for (i, j, d) in entries() {
                if d == 0.0 {
                    continue;
                }
                let twice = if i == j { 1.0 } else { 2.0 };
                let (x, at) = (self.x[i * k + j], i * k + j);
                // A full step to 0 is exactly 0.
                let moved = if step == 1.0 && x + d == 0.0 { 0.0 } else { x + step * d };
                let penalty = block.lambda.at(i, j) * (moved.abs() - x.abs());
                linear += twice * (block.c[at] * (moved - x) + penalty);
                self.room[at] = moved;
                self.room[j * k + i] = moved;
            }
            self.factorisations += 1;
            match InPlaceCholesky::new(std::mem::take(&mut self.room), k) {
                Ok(factor) => {
                    let log_det = factor.log_det();
                    if linear - log_det <= old + 1e-3 * step * slope + rounding {
                        self.accept(block, direction, step, log_det, &factor);
                        self.room = factor.into_entries();
                        // The decrement of a Newton step is the square of the one before; what the sweeps left stays.
                        let undone = (1.0 - step) * -slope;
                        self.estimate = slope * slope + 2.0 * last + undone;
                        return;
                    }
                    self.room = factor.into_entries();
                }
                Err(memory) => self.room = memory,
            }
            step *= 0.5;
        }
        self.stalled = true;
        self.estimate = 0.0;
    }

    fn accept(
        &mut self,
        block: &Block,
        direction: &Direction,
        step: f64,
        log_det: f64,
        factor: &InPlaceCholesky,
    ) {
        let k = block.k;
        for i in 0..k {
            for at in direction.starts[i]..direction.starts[i + 1] {
                let (j, d) = (direction.columns[at] as usize, direction.values[at]);
                let x = self.x[i * k + j];
                let moved = if step == 1.0 && x + d == 0.0 { 0.0 } else { x + step * d };
                self.x[i * k + j] = moved;
                self.x[j * k + i] = moved;
            }
        }
        factor.inverse(&mut self.w);
        self.log_det = log_det;
        // Afresh: differences would add up their rounding.
        self.linear = block.linear(&self.x);
    }

    /// Objective and lower bound, both scaled.
    pub(super) fn bounds(&mut self, block: &Block) -> (f64, f64) {
        self.factorisations += 1;
        (self.linear - self.log_det, block.dual(&self.x, &self.w, &mut self.room))
    }
}

/// A sweep over all free entries, row by row; returns the decrease of the model.
struct Sweep<'a> {
    k: usize,
    c: &'a [f64],
    x: &'a [f64],
    w: &'a [f64],
    lambda: &'a Lambda,
    direction: &'a mut Direction,
    /// `D W` by rows, or empty.
    products: &'a mut [f64],
}

impl lanes::Kernel for Sweep<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Sweep { k, c, x, w, lambda, direction, products } = self;
        let Direction { starts, columns, values } = direction;
        let mut v = vec![0.0; k];
        let mut g = Vec::new();
        let mut before = Vec::new();
        let (mut own, mut among, mut gathered) = (Vec::new(), Vec::new(), Vec::new());
        let mut decrease = 0.0;
        for i in 0..k {
            let (from, to) = (starts[i], starts[i + 1]);
            if from == to {
                continue;
            }
            let wi = &w[i * k..][..k];
            if products.is_empty() {
                direction_times(k, starts, columns, values, wi, &mut v);
            } else {
                for l in 0..k {
                    v[l] = products[l * k + i];
                }
            }
            let row = &columns[from..to];
            before.clear();
            before.extend_from_slice(&values[from..to]);
            g.clear();
            for &j in row {
                g.push(lanes::dot(&w[j as usize * k..][..k], &v));
            }
            // Entries of `W` between the free columns of the row, gathered when they are first used: later rounds read them in order.
            own.clear();
            own.extend(row.iter().map(|&l| wi[l as usize]));
            among.resize(row.len() * row.len(), 0.0);
            gathered.clear();
            gathered.resize(row.len(), false);
            let mut first = 0.0;
            for inner in 0..4 {
                let mut gained = 0.0;
                for at in 0..row.len() {
                    let j = row[at] as usize;
                    let wij = wi[j];
                    let wjj = w[j * k + j];
                    let curvature = if i == j { wij * wij } else { wij * wij + wi[i] * wjj };
                    let slope = c[i * k + j] - wij + g[at];
                    let now = x[i * k + j] + values[from + at];
                    let t = lambda.at(i, j);
                    let mu = soft(now - slope / curvature, t / curvature) - now;
                    if mu == 0.0 {
                        continue;
                    }
                    values[from + at] += mu;
                    let twice = if i == j { 1.0 } else { 2.0 };
                    let change = t * ((now + mu).abs() - now.abs());
                    gained -= twice * (mu * (slope + 0.5 * curvature * mu) + change);
                    if i == j {
                        for (g, &l) in g.iter_mut().zip(&own) {
                            *g += mu * wi[i] * l;
                        }
                        continue;
                    }
                    let near = &mut among[at * row.len()..][..row.len()];
                    if !gathered[at] {
                        gathered[at] = true;
                        let wj = &w[j * k..][..k];
                        near.iter_mut().zip(row).for_each(|(n, &l)| *n = wj[l as usize]);
                    }
                    for ((g, &n), &l) in g.iter_mut().zip(&*near).zip(&own) {
                        *g += mu * (wi[i] * n + wij * l);
                    }
                }
                decrease += gained;
                if inner == 0 {
                    first = gained;
                }
                if gained <= 0.01 * first {
                    break;
                }
            }
            if !products.is_empty() {
                for at in 0..row.len() {
                    let change = values[from + at] - before[at];
                    add_entry(products, w, k, i, row[at] as usize, change);
                }
            }
        }
        decrease
    }
}

/// `D W` by rows.
pub(super) struct Products<'a> {
    pub(super) k: usize,
    pub(super) m: &'a [f64],
    pub(super) direction: &'a Direction,
    pub(super) out: &'a mut [f64],
}

impl lanes::Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Products { k, m, direction, out } = self;
        out.fill(0.0);
        for i in 0..k {
            for at in direction.starts[i]..direction.starts[i + 1] {
                add_entry(out, m, k, i, direction.columns[at] as usize, direction.values[at]);
            }
        }
    }
}

/// Adds the contribution of an entry of `D`, and of its mirror entry, to `D M`.
#[inline(always)]
fn add_entry(products: &mut [f64], m: &[f64], k: usize, i: usize, j: usize, by: f64) {
    if by == 0.0 {
        return;
    }
    let (mi, mj) = (&m[i * k..][..k], &m[j * k..][..k]);
    for (p, v) in products[i * k..][..k].iter_mut().zip(mj) {
        *p += by * v;
    }
    if i != j {
        for (p, v) in products[j * k..][..k].iter_mut().zip(mi) {
            *p += by * v;
        }
    }
}

/// `v = D w` for the symmetric `D` of which the upper triangle is stored.
#[inline(always)]
pub(super) fn direction_times(
    k: usize,
    starts: &[usize],
    columns: &[u32],
    values: &[f64],
    w: &[f64],
    v: &mut [f64],
) {
    v[..k].fill(0.0);
    for l in 0..k {
        let (from, to) = (starts[l], starts[l + 1]);
        let mut sum = 0.0;
        let own = w[l];
        for at in from..to {
            let (m, d) = (columns[at] as usize, values[at]);
            sum += d * w[m];
            if m != l {
                v[m] += d * own;
            }
        }
        v[l] += sum;
    }
}
