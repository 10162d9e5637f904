//! The step that SAG, SAGA and SVRG share.

use fenchel_linalg::{Design, Invalid, multiply_transposed};
use fenchel_optim::Loss;
use fenchel_optim::random::{Order, Visits};

use crate::lag::{Lagged, Powers};
use crate::{Error, Point, Problem};

/// Point, table and averaged gradient, with the coordinates of sparse data caught up with lazily.
#[derive(Debug, Clone)]
pub(super) struct Kernel<'p, 'a, D, L, R> {
    pub(super) problem: &'p Problem<'a, D, L, R>,
    /// Up to date after [`flush`](Kernel::flush) only.
    pub(super) point: Point,
    /// `s_i`, one number a term.
    pub(super) table: Vec<f64>,
    /// `gbar = (1/n) sum_i s_i a_i`
    average: Vec<f64>,
    /// `(1/n) sum_i s_i`
    average_intercept: f64,
    step: f64,
    powers: Powers,
    /// Steps done by coordinate `c`, out of `now` since the last flush.
    done: Vec<u32>,
    now: u32,
    visits: Visits,
}

impl<'p, 'a, D: Design, L: Loss, R: Lagged> Kernel<'p, 'a, D, L, R> {
    /// A kernel at a point, with a given table. O(nnz) for the average.
    pub(super) fn new(
        method: &'static str,
        problem: &'p Problem<'a, D, L, R>,
        mut point: Point,
        table: Vec<f64>,
        step: f64,
        order: &Order,
        seed: u64,
    ) -> Result<Self, Error> {
        problem.check_smooth(method)?;
        if let Order::Weighted(_) = order {
            let what = "weighted draws; use an unweighted order".into();
            return Err(Error::Unsupported { method, what });
        }
        problem.check_point(&point)?;
        Invalid::check_length("table", problem.n(), table.len())?;
        Invalid::check_finite("table", &table)?;
        // A point outside the domain of the regulariser is moved into it.
        if problem.regulariser().value(&point.weights).is_infinite() {
            problem.regulariser().prox(&mut point.weights, step);
        }
        let (n, d) = (problem.n(), problem.d());
        let capacity = if D::DENSE { 0 } else { n.min(u32::MAX as usize - 1) as u32 };
        let powers = Powers::new(step, problem.l2(), problem.regulariser().shrink(step), capacity);
        let mut kernel = Kernel {
            problem,
            point,
            table,
            average: vec![0.0; d],
            average_intercept: 0.0,
            step,
            powers,
            done: vec![0; if D::DENSE { 0 } else { d }],
            now: 0,
            visits: Visits::new(order, n, seed)?,
        };
        kernel.refresh_average();
        Ok(kernel)
    }

    /// One step on the next term. `weight` is `w` of the module's table; with `STORES` the table and the
    /// average follow.
    #[inline]
    pub(super) fn step<const STORES: bool>(&mut self, weight: f64) {
        let j = self.visits.draw();
        if D::DENSE {
            self.step_dense::<STORES>(j, weight);
        } else {
            self.step_sparse::<STORES>(j, weight);
        }
    }

    fn step_dense<const STORES: bool>(&mut self, j: usize, weight: f64) {
        let problem = self.problem;
        let design = problem.design();
        let margin = design.row_dot(j, &self.point.weights) + self.point.intercept;
        let delta = renew::<STORES, _, _, _>(problem, &mut self.table[j], j, margin);
        let (step, rho) = (self.step, 1.0 - self.step * problem.l2());
        for (x, g) in self.point.weights.iter_mut().zip(&self.average) {
            *x = rho * *x - step * g;
        }
        design.row_axpy(j, -step * weight * delta, &mut self.point.weights);
        problem.regulariser().prox(&mut self.point.weights, step);
        if STORES {
            design.row_axpy(j, delta / problem.n() as f64, &mut self.average);
        }
        self.step_intercept::<STORES>(weight, delta);
    }

    fn step_sparse<const STORES: bool>(&mut self, j: usize, weight: f64) {
        if self.now == self.powers.capacity() {
            self.flush();
        }
        let problem = self.problem;
        let (design, regulariser) = (problem.design(), problem.regulariser());
        let (powers, now) = (&self.powers, self.now);
        let d = self.average.len();
        let (x, average, done) =
            (&mut self.point.weights[..d], &mut self.average[..d], &mut self.done[..d]);
        let mut margin = self.point.intercept;
        design.row_entries(j, |c, a| {
            let missed = now - done[c];
            if missed > 0 {
                x[c] = regulariser.catch_up(c, x[c], average[c], missed, powers);
            }
            margin += a * x[c];
        });
        let delta = renew::<STORES, _, _, _>(problem, &mut self.table[j], j, margin);
        let (step, rho) = (self.step, 1.0 - self.step * problem.l2());
        let (move_by, share) = (weight * delta, delta / problem.n() as f64);
        design.row_entries(j, |c, a| {
            let forward = rho * x[c] - step * (move_by * a + average[c]);
            x[c] = regulariser.prox_coordinate(c, forward, step);
            if STORES {
                average[c] += share * a;
            }
            done[c] = now + 1;
        });
        self.now += 1;
        self.step_intercept::<STORES>(weight, delta);
    }

    /// The intercept is one dense coordinate, neither penalised nor lagged.
    fn step_intercept<const STORES: bool>(&mut self, weight: f64, delta: f64) {
        if self.problem.intercept() {
            self.point.intercept -= self.step * (weight * delta + self.average_intercept);
            if STORES {
                self.average_intercept += delta / self.problem.n() as f64;
            }
        }
    }

    /// Catches up with every coordinate. O(d).
    pub(super) fn flush(&mut self) {
        let regulariser = self.problem.regulariser();
        for (c, done) in self.done.iter_mut().enumerate() {
            let missed = self.now - *done;
            if missed > 0 {
                let x = self.point.weights[c];
                self.point.weights[c] =
                    regulariser.catch_up(c, x, self.average[c], missed, &self.powers);
            }
            *done = 0;
        }
        self.now = 0;
    }

    /// Recomputes the average from the table: removes the rounding of many small updates. O(nnz).
    pub(super) fn refresh_average(&mut self) {
        self.flush();
        let n = self.problem.n() as f64;
        multiply_transposed(self.problem.design(), &self.table, &mut self.average);
        self.average.iter_mut().for_each(|g| *g /= n);
        self.average_intercept = self.table.iter().sum::<f64>() / n;
    }

    /// Sets the table to the derivatives at the current point, and the average to its gradient. One pass.
    pub(super) fn fill_table(&mut self) {
        self.flush();
        self.problem.margins(&self.point, &mut self.table);
        self.problem.differentiate(&mut self.table, 1.0);
        self.refresh_average();
    }
}

/// `phi'(t; y_j) - s_j`, remembering the new derivative where the method does.
#[inline(always)]
fn renew<const STORES: bool, D: Design, L: Loss, R: Lagged>(
    problem: &Problem<'_, D, L, R>,
    remembered: &mut f64,
    j: usize,
    margin: f64,
) -> f64 {
    let derivative = problem.derivative(j, margin);
    let delta = derivative - *remembered;
    if STORES {
        *remembered = derivative;
    }
    delta
}
