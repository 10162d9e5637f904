//! The step that SAG, SAGA, SVRG and SGD share.

use fenchel_linalg::{Design, Invalid, multiply_transposed};
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Loss, StepSize};

use super::search::Search;
use crate::methods::lag::{Composite, Lagged, Powers};
use crate::methods::order::incremental_visits;
use crate::{Error, Point, Problem};

/// The point, the table of derivatives and the averaged gradient. For sparse data, coordinates are updated lazily.
#[derive(Debug, Clone)]
pub(super) struct Kernel<'p, 'a, D, L, R> {
    pub(super) problem: &'p Problem<'a, D, L, R>,
    /// The point. All its coordinates are up to date only after [`flush`](Kernel::flush); see
    /// [`write_point`](Kernel::write_point).
    pub(super) point: Point,
    /// `s_i`, one number per term.
    pub(super) table: Vec<f64>,
    /// `gbar = (1/n) sum_i s_i a_i`
    average: Vec<f64>,
    /// `(1/n) sum_i s_i`
    average_intercept: f64,
    pub(super) step: f64,
    search: Option<Search>,
    powers: Powers,
    /// The number of steps that coordinate `c` has received, out of `now` since the last flush.
    done: Vec<u32>,
    now: u32,
    visits: Visits,
    /// `1 / (n p_j)`, if terms are drawn with probabilities `p_j`.
    importance: Option<Vec<f64>>,
}

/// The steps and the visiting order of a method.
pub(super) struct Plan {
    pub(super) method: &'static str,
    /// The current step size, or the first of a decaying sequence.
    pub(super) step: f64,
    /// The `multiple`, if there is a line search. The step is `1 / (multiple (Lhat + l2))`.
    pub(super) search: Option<f64>,
    /// Whether the step size changes from step to step.
    pub(super) varies: bool,
    pub(super) order: Order,
    pub(super) seed: u64,
}

impl Plan {
    /// Makes a plan with a constant step or a line search. The step is `theory` unless the settings say otherwise.
    /// With a line search it is `1 / (multiple L)`, with an estimate in place of `L`.
    pub(super) fn new(
        method: &'static str,
        step: StepSize,
        theory: f64,
        search: Option<f64>,
        order: Order,
        seed: u64,
    ) -> Result<Self, Error> {
        let search = search.filter(|_| step == StepSize::Backtracking);
        let step = if search.is_some() { theory } else { step.resolve(theory)? };
        Ok(Plan { method, step, search, varies: search.is_some(), order, seed })
    }
}

impl<'p, 'a, D: Design, L: Loss, R: Composite> Kernel<'p, 'a, D, L, R> {
    /// Makes the state for a point and a table. The average costs O(nnz).
    pub(super) fn new(
        problem: &'p Problem<'a, D, L, R>,
        mut point: Point,
        table: Vec<f64>,
        plan: &Plan,
    ) -> Result<Self, Error> {
        let Plan { method, step, .. } = *plan;
        problem.check_smooth(method)?;
        problem.check_start(&point)?;
        Invalid::check_length("table", problem.n(), table.len())?;
        Invalid::check_finite("table", &table)?;
        // A point outside the domain of the regulariser is moved into it.
        if problem.regulariser().value(&point.weights).is_infinite() {
            problem.regulariser().prox(&mut point.weights, step);
        }
        let (n, d) = (problem.n(), problem.d());
        let lagged = Self::lagged(problem);
        let capacity = if lagged.is_some() { n.min(u32::MAX as usize - 1) as u32 } else { 0 };
        let powers = if plan.varies && lagged.is_some() {
            Powers::listed(problem.l2(), capacity)
        } else {
            let shrink = lagged.map_or(1.0, |h| h.shrink(step));
            Powers::new(step, problem.l2(), shrink, capacity)
        };
        let (visits, importance) = incremental_visits(&plan.order, method, problem, plan.seed)?;
        let mut kernel = Kernel {
            problem,
            point,
            table,
            average: vec![0.0; d],
            average_intercept: 0.0,
            step,
            search: plan.search.map(|multiple| Search::new(problem, multiple)),
            powers,
            done: vec![0; if lagged.is_some() { d } else { 0 }],
            now: 0,
            visits,
            importance,
        };
        kernel.refresh_average();
        Ok(kernel)
    }

    /// The separable regulariser, if rows are sparse. Otherwise `None`, and every step updates all coordinates.
    #[inline(always)]
    fn lagged(problem: &'p Problem<'a, D, L, R>) -> Option<&'p impl Lagged> {
        if D::DENSE { None } else { problem.regulariser().coordinates() }
    }

    /// Makes one step on the next term. `weight` is the `w` of the table in the module's documentation. With
    /// `STORES`, the table and the average are updated.
    #[inline]
    pub(super) fn step<const STORES: bool>(&mut self, weight: f64) {
        let j = self.visits.draw();
        let weight = match &self.importance {
            None => weight,
            Some(importance) => weight * importance[j],
        };
        self.visit::<STORES>(j, weight, 1.0);
    }

    /// Draws the next term of the visiting order.
    pub(super) fn draw(&mut self) -> usize {
        self.visits.draw()
    }

    /// From here on all steps have the same size, unless there is a line search.
    pub(super) fn settle(&mut self) {
        self.flush();
        if let Some(regulariser) = Self::lagged(self.problem).filter(|_| self.search.is_none()) {
            let (l2, capacity) = (self.problem.l2(), self.powers.capacity());
            self.powers = Powers::new(self.step, l2, regulariser.shrink(self.step), capacity);
        }
    }

    /// Makes one step on term `j`. The averaged gradient is multiplied by `scale`.
    #[inline]
    pub(super) fn visit<const STORES: bool>(&mut self, j: usize, weight: f64, scale: f64) {
        match Self::lagged(self.problem) {
            None => self.visit_dense::<STORES>(j, weight, scale),
            Some(regulariser) => self.visit_sparse::<STORES>(regulariser, j, weight, scale),
        }
    }

    /// Makes a step in all coordinates, O(d).
    pub(super) fn visit_dense<const STORES: bool>(&mut self, j: usize, weight: f64, scale: f64) {
        let problem = self.problem;
        let design = problem.design();
        let margin = design.row_dot(j, &self.point.weights) + self.point.intercept;
        let delta = self.renew::<STORES>(j, margin);
        let (step, rho) = (self.step, 1.0 - self.step * problem.l2());
        let pull = step * scale;
        for (x, g) in self.point.weights.iter_mut().zip(&self.average) {
            *x = rho * *x - pull * g;
        }
        design.row_axpy(j, -step * weight * delta, &mut self.point.weights);
        problem.regulariser().prox(&mut self.point.weights, step);
        if STORES {
            design.row_axpy(j, delta / problem.n() as f64, &mut self.average);
        }
        self.move_intercept::<STORES>(weight, scale, delta);
    }

    #[inline]
    fn visit_sparse<const STORES: bool>(
        &mut self,
        regulariser: &impl Lagged,
        j: usize,
        weight: f64,
        scale: f64,
    ) {
        if self.powers.full(self.now) {
            self.flush();
        }
        let problem = self.problem;
        let design = problem.design();
        let (powers, now, d) = (&self.powers, self.now, self.average.len());
        let (x, average, done) =
            (&mut self.point.weights[..d], &self.average[..d], &self.done[..d]);
        let mut margin = self.point.intercept;
        design.row_entries(j, |c, a| {
            let missed = now - done[c];
            if missed > 0 {
                x[c] = regulariser.catch_up(c, x[c], average[c], missed, powers);
            }
            margin += a * x[c];
        });
        let delta = self.renew::<STORES>(j, margin);
        let (step, rho) = (self.step, 1.0 - self.step * problem.l2());
        let (push, pull) = (step * (weight * delta), step * scale);
        let share = delta / problem.n() as f64;
        let (x, average, done) =
            (&mut self.point.weights[..d], &mut self.average[..d], &mut self.done[..d]);
        design.row_entries(j, |c, a| {
            let forward = rho * x[c] - (push * a + pull * average[c]);
            x[c] = regulariser.prox_coordinate(c, forward, step);
            if STORES {
                average[c] += share * a;
            }
            done[c] = now + 1;
        });
        self.now += 1;
        self.powers.push(step, regulariser.shrink(step), scale);
        self.move_intercept::<STORES>(weight, scale, delta);
    }

    /// Returns `phi_j'(t) - s_j`. It stores the new derivative if the method has a table, and adapts the step size if
    /// there is a line search.
    #[inline(always)]
    fn renew<const STORES: bool>(&mut self, j: usize, margin: f64) -> f64 {
        let derivative = self.problem.derivative(j, margin);
        if let Some(search) = &mut self.search {
            self.step = search.step(self.problem, j, margin, derivative);
        }
        let delta = derivative - self.table[j];
        if STORES {
            self.table[j] = derivative;
        }
        delta
    }

    /// Updates the intercept. It is neither penalised nor updated lazily.
    #[inline(always)]
    fn move_intercept<const STORES: bool>(&mut self, weight: f64, scale: f64, delta: f64) {
        if self.problem.intercept() {
            self.point.intercept -= self.step * (weight * delta + scale * self.average_intercept);
            if STORES {
                self.average_intercept += delta / self.problem.n() as f64;
            }
        }
    }

    /// Writes the current point, with all coordinates up to date. Changes nothing else. O(d).
    pub(super) fn write_point(&self, out: &mut Point) {
        out.clone_from(&self.point);
        let Some(regulariser) = Self::lagged(self.problem) else { return };
        for (c, (done, x)) in self.done.iter().zip(&mut out.weights).enumerate() {
            let missed = self.now - done;
            if missed > 0 {
                *x = regulariser.catch_up(c, *x, self.average[c], missed, &self.powers);
            }
        }
    }

    /// Applies all delayed steps, so that every coordinate is up to date. O(d).
    pub(super) fn flush(&mut self) {
        let Some(regulariser) = Self::lagged(self.problem) else { return };
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
        self.powers.clear();
    }

    /// Continues from another point.
    pub(super) fn move_to(&mut self, point: &Point) {
        self.flush();
        self.point.clone_from(point);
    }

    /// Recomputes the average from the table, to remove the rounding errors of many small updates. O(nnz).
    pub(super) fn refresh_average(&mut self) {
        self.flush();
        let n = self.problem.n() as f64;
        multiply_transposed(self.problem.design(), &self.table, &mut self.average);
        self.average.iter_mut().for_each(|g| *g /= n);
        self.average_intercept = self.table.iter().sum::<f64>() / n;
    }

    /// Fills the table with the derivatives at the current point, and sets the average to the gradient. One pass.
    pub(super) fn fill_table(&mut self) {
        self.flush();
        self.problem.margins(&self.point, &mut self.table);
        self.problem.differentiate(&mut self.table, 1.0);
        self.refresh_average();
    }

    /// The visiting order and the position in it.
    pub(super) fn visits(&mut self) -> &mut Visits {
        &mut self.visits
    }
}
