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

use fenchel_linalg::{factor, lanes};

use super::admm::BlockAdmm;
use super::bcd::Bcd;
use super::block::{Block, Lambda};
use super::direction::{Direction, add_entry, direction_times};
use super::gradient::Gradients;
use super::point::Point;
use super::solver::{Solution, Solver};
use super::support;
use crate::penalty::soft;

/// Newton steps in a row with an unsolved model, and iterations in any case, after which another method takes over, unless the last one
/// divided the estimate of the gap by ten.
struct Patience {
    unsolved: u32,
    iterations: u32,
}

/// Blocks of at most this order are handed to ADMM. Larger ones were not measured, and ADMM keeps more matrices.
pub(super) const SMALL: usize = 100;
/// That of small blocks. On odd data with a penalty of 0.001 the 27 fits take 0.14 s with 10 iterations and 0.70 s with 25, both with up to
/// 1000 iterations of ADMM, and 1.80 s where block coordinate descent follows after 25. Three unsolved steps in place of one take 1.7 times
/// the time on ordinary data.
const IMPATIENT: Patience = Patience { unsolved: 1, iterations: 10 };
/// That of large blocks, which block coordinate descent takes over. Problems that suit QUIC need fewer iterations.
const PATIENT: Patience = Patience { unsolved: 3, iterations: 25 };
/// Iterations of ADMM, before block coordinate descent takes over: with 100 the fits on odd data take 2.1 s, with 200 0.18 s. With 1000,
/// 25 variables and 5 samples miss a gap of 1e-6 within 300 iterations.
const OF_ADMM: u32 = 200;

/// The state of QUIC on one block.
#[derive(Clone)]
pub(super) struct Quic {
    pub(super) point: Point,
    pub(super) stalled: bool,
    /// Off-diagonal entries only: the diagonal of `X` stays.
    pub(super) fixed_diagonal: bool,
    /// Newton steps in a row whose model was not minimised within its budget of sweeps.
    unsolved: u32,
    iterations: u32,
    /// Whether the last one divided the estimate by ten: nothing else is as quick then.
    fast: bool,
    gradients: Gradients,
}

impl Quic {
    /// A start from a positive definite `x` with its inverse and log-determinant.
    pub(super) fn new(block: &Block, x: Vec<f64>, w: Vec<f64>, log_det: f64) -> Quic {
        Quic {
            point: Point::new(block, x, w, log_det),
            stalled: false,
            fixed_diagonal: false,
            unsolved: 0,
            iterations: 0,
            fast: false,
            gradients: Gradients::new(),
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
            let free = (i + 1..k).filter(|&j| self.point.is_free(block, i, j));
            columns.extend(free.map(|j| j as u32));
            starts.push(columns.len());
        }
        Direction::new(starts, columns)
    }

    /// Minimises the model by coordinate descent, and by conjugate gradients on the support where that is slow. Returns the decrease of
    /// the model, and an estimate of the decrease that remains.
    fn descend(&self, block: &Block, direction: &mut Direction) -> (f64, f64) {
        let (mut total, mut last) = (0.0, 0.0);
        // Many free entries: the products `D W` are kept, since making `D w_i` from the entries would cost more than all else.
        let dense = direction.dense();
        let mut products = if dense { vec![0.0; block.k * block.k] } else { Vec::new() };
        for round in 0..12 {
            if dense && round > 0 {
                direction.times(&self.point.w, &mut products);
            }
            for sweep in 0..if round == 0 { 10 } else { 4 } {
                last = lanes::run(Sweep {
                    k: block.k,
                    c: &block.c,
                    x: &self.point.x,
                    w: &self.point.w,
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
            let gained = support::descend(block, &self.point.x, &self.point.w, direction);
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
        let point = &mut self.point;
        let (mut slope, mut size) = (0.0, 0.0);
        for (i, j, d) in entries() {
            let twice = if i == j { 1.0 } else { 2.0 };
            let x = point.x[i * k + j];
            slope += twice * (block.c[i * k + j] - point.w[i * k + j]) * d;
            if d != 0.0 {
                let more = block.lambda.at(i, j) * ((x + d).abs() - x.abs());
                slope += twice * more;
                size += twice * (block.c[i * k + j] * d).abs() + more.abs();
            }
        }
        let old = point.objective();
        let rounding = 4e-16 * (point.linear.abs() + point.log_det.abs() + size + k as f64);
        let mut step = 1.0;
        let trials = if !(slope < 0.0) || -slope <= 0.25 * rounding { 0 } else { 40 };
        for _ in 0..trials {
            point.workspace.clear();
            point.workspace.extend_from_slice(&point.x);
            let mut linear = point.linear;
            for (i, j, d) in entries() {
                if d == 0.0 {
                    continue;
                }
                let twice = if i == j { 1.0 } else { 2.0 };
                let (x, at) = (point.x[i * k + j], i * k + j);
                // A full step to 0 is exactly 0.
                let moved = if step == 1.0 && x + d == 0.0 { 0.0 } else { x + step * d };
                let penalty = block.lambda.at(i, j) * (moved.abs() - x.abs());
                linear += twice * (block.c[at] * (moved - x) + penalty);
                point.workspace[at] = moved;
                point.workspace[j * k + i] = moved;
            }
            if let Some(factor) = point.factor(k) {
                let log_det = factor.log_det();
                let accepted = linear - log_det <= old + 1e-3 * step * slope + rounding;
                if accepted {
                    factor::inverse_into(&factor, &mut point.w);
                    point.log_det = log_det;
                }
                point.workspace = factor.into_entries();
                if accepted {
                    for (i, j, d) in entries() {
                        let x = point.x[i * k + j];
                        let moved = if step == 1.0 && x + d == 0.0 { 0.0 } else { x + step * d };
                        point.x[i * k + j] = moved;
                        point.x[j * k + i] = moved;
                    }
                    // Afresh: differences would add up their rounding.
                    point.linear = block.linear(&point.x);
                    // The decrement of a Newton step is the square of the one before; what the sweeps left stays.
                    let undone = (1.0 - step) * -slope;
                    point.estimate = slope * slope + 2.0 * last + undone;
                    return;
                }
            }
            step *= 0.5;
        }
        self.stalled = true;
        self.point.estimate = 0.0;
    }
}

impl Solver for Quic {
    /// A Newton step, or the gradient steps before it.
    fn step(&mut self, block: &Block, tolerance: f64) -> bool {
        let (before, estimate) = (self.point.objective(), self.point.estimate);
        if !self.gradients.steps(block, &mut self.point, tolerance) {
            self.newton_step(block);
            self.gradients.compare(before - self.point.objective());
        }
        self.iterations += 1;
        self.fast = self.point.estimate <= 0.1 * estimate;
        self.stalled || self.point.estimate <= tolerance
    }

    fn bounds(&mut self, block: &Block) -> (f64, f64) {
        let Point { x, w, workspace, .. } = &mut self.point;
        let lower = block.dual(x, w, workspace);
        self.point.factorisations += 1;
        (self.point.objective(), lower)
    }

    fn learn(&mut self, gap: f64) {
        self.gradients.correct(gap, self.point.estimate);
    }

    fn point(&self) -> &[f64] {
        &self.point.x
    }

    fn stalled(&self) -> bool {
        self.stalled
    }

    fn factorisations(&self) -> u64 {
        self.point.factorisations
    }

    /// With few samples and a small penalty, the inverse is nearly singular, and the sweeps do not minimise the model of a Newton step.
    fn successor(&mut self, block: &Block) -> Option<Box<dyn Solver>> {
        let small = block.k <= SMALL;
        let Patience { unsolved, iterations } = if small { IMPATIENT } else { PATIENT };
        if self.unsolved < unsolved && (self.iterations < iterations || self.fast) {
            return None;
        }
        let (x, w) = (std::mem::take(&mut self.point.x), &self.point.w);
        if small {
            let mut admm = BlockAdmm::new(block, x, w);
            admm.factorisations = self.point.factorisations;
            admm.left = Some(OF_ADMM);
            return Some(Box::new(admm));
        }
        let mut bcd = Bcd::new(block, x, w);
        bcd.factorisations = self.point.factorisations;
        Some(Box::new(bcd))
    }

    fn finish(self: Box<Self>, _k: usize) -> Solution {
        (self.point.x, self.point.w, self.point.log_det)
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
        let Direction { starts, columns, values, .. } = direction;
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
