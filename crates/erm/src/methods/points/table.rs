//! The table of points.

use fenchel_linalg::Design;
use fenchel_optim::Refusal;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, Place, Visits};
use fenchel_optim::{Certificate, Iterative, Loss};
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
use crate::methods::REFRESH;
use crate::{Error, Point, Problem};

/// The state of Finito and MISO: a point, and the table.
///
/// It can be the start of another run on the same problem or a similar one. If `l2` differs, the table is filled
/// at the point, which costs a pass and may at first increase the objective. The same holds for another step, unless the
/// table contains gradients. The table contains `n d` numbers, so keep only the point if you do not need more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointTableState {
    /// The point.
    pub point: Point,
    /// The table. It is absent in a state that was made from a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    behind: Option<Box<Behind>>,
}

impl From<Point> for PointTableState {
    fn from(point: Point) -> Self {
        PointTableState { point, behind: None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Behind {
    /// The inverse step for which the table was made.
    inverse_step: f64,
    l2: f64,
    #[serde(default)]
    gradients: bool,
    table: Vec<f64>,
    seen: Vec<bool>,
    place: Place,
}

/// The differences between the two methods.
pub(super) struct Plan<'s> {
    pub(super) method: &'static str,
    pub(super) inverse_step: f64,
    pub(super) order: &'s Order,
    pub(super) seed: u64,
    pub(super) max_memory: Option<u64>,
    /// Whether a cold start fills the table at the origin.
    pub(super) fill: bool,
    /// Whether the table contains the gradients `f_i'(phi_i)` instead of the `p_i`.
    pub(super) gradients: bool,
}

/// Finito or MISO, as an observer of [`finito`](super::finito()) or [`miso`](super::miso()) receives it.
#[derive(Debug, Clone)]
pub struct PointTable<'p, 'a, D, L> {
    problem: &'p Problem<'a, D, L, Zero>,
    /// `lambda`
    inverse_step: f64,
    point: Point,
    /// `p_i`, or the gradients `f_i'(phi_i)`, row by row.
    table: Vec<f64>,
    gradients: bool,
    seen: Vec<bool>,
    count: usize,
    /// `sum_i p_i` over the terms seen.
    sum: Vec<f64>,
    /// Whether all terms still have to be set to the starting point. `advance` does this first.
    fill: bool,
    visits: Visits,
    steps: usize,
    gap: Gap,
    best: Point,
    /// Whether the point was replaced by the best one, so that it does not match the table.
    restored: bool,
}

impl<'p, 'a, D: Design, L: Loss> PointTable<'p, 'a, D, L> {
    pub(super) fn new(
        problem: &'p Problem<'a, D, L, Zero>,
        plan: &Plan<'_>,
        start: Option<PointTableState>,
    ) -> Result<Self, Error> {
        let (method, n, d) = (plan.method, problem.n(), problem.d());
        if problem.intercept() {
            let what = "an intercept; add a column of ones, or use sdca";
            return Err(Refusal::unsupported(method, what).into());
        }
        let needed = 8u64.saturating_mul(n as u64).saturating_mul(d as u64);
        let hint = "use saga or sdca, which keep n numbers";
        Refusal::check_memory(method, needed, plan.max_memory, hint)?;
        let visits = Visits::new(plan.order, n, plan.seed)?;
        let fill = start.is_some() || plan.fill;
        let PointTableState { point, behind } = start.unwrap_or_else(|| Point::zero(d).into());
        problem.check_start(&point)?;
        let mut new = PointTable {
            problem,
            inverse_step: plan.inverse_step,
            best: point.clone(),
            point,
            table: vec![0.0; n * d],
            gradients: plan.gradients,
            seen: vec![false; n],
            count: 0,
            sum: vec![0.0; d],
            fill,
            visits,
            steps: 0,
            gap: Gap::new(problem),
            restored: false,
        };
        if let Some(behind) = behind {
            new.take(*behind);
        }
        Ok(new)
    }

    /// Uses the table of a former run, if it was made for this step and `l2`.
    fn take(&mut self, behind: Behind) {
        let (n, d) = (self.problem.n(), self.problem.d());
        let fits = (self.gradients || behind.inverse_step == self.inverse_step)
            && behind.gradients == self.gradients
            && behind.l2 == self.problem.l2()
            && behind.table.len() == n * d
            && behind.table.iter().all(|p| p.is_finite())
            && behind.seen.len() == n;
        if fits {
            self.table = behind.table;
            self.count = behind.seen.iter().filter(|seen| **seen).count();
            self.seen = behind.seen;
            self.fill = false;
            self.refresh_sum();
            // What another order or seed has left begins anew.
            let _ = self.visits.go_to(&behind.place);
        }
    }

    pub(super) fn into_state(self) -> PointTableState {
        let behind = Behind {
            inverse_step: self.inverse_step,
            l2: self.problem.l2(),
            gradients: self.gradients,
            place: self.visits.place(),
            table: self.table,
            seen: self.seen,
        };
        let kept = !self.restored && !self.fill;
        PointTableState { point: self.point, behind: kept.then(|| Box::new(behind)) }
    }

    /// The point `w` of the last step.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Sets `phi_j <- at`, which replaces `p_j` and its share of the sum. O(d).
    fn visit(&mut self, j: usize, at: &[f64]) {
        let (problem, d) = (self.problem, self.problem.d());
        let design = problem.design();
        let margin = design.row_dot(j, at);
        let derivative = problem.derivative(j, margin);
        if self.gradients {
            if self.seen[j] {
                self.add(j, -1.0, margin);
            }
            let gradient = &mut self.table[j * d..(j + 1) * d];
            gradient.iter_mut().zip(at).for_each(|(g, x)| *g = problem.l2() * x);
            design.row_axpy(j, derivative, gradient);
            for ((sum, g), x) in self.sum.iter_mut().zip(&*gradient).zip(at) {
                *sum += g - self.inverse_step * x;
            }
            self.see(j);
            return;
        }
        let stay = problem.l2() - self.inverse_step;
        let p = &mut self.table[j * d..(j + 1) * d];
        for ((sum, p), x) in self.sum.iter_mut().zip(p.iter_mut()).zip(at) {
            let new = stay * x;
            *sum += new - *p;
            *p = new;
        }
        design.row_axpy(j, derivative, p);
        design.row_axpy(j, derivative, &mut self.sum);
        self.see(j);
    }

    /// Adds `factor p_j` to the sum, computed from the stored gradient `g` and the point that belongs to it: `phi_j = (g - u
    /// a_j) / l2` with `u = phi_j'(a_j.phi_j)`, which is the gradient of `f_j*` at `g`. O(d).
    fn add(&mut self, j: usize, factor: f64, guess: f64) {
        let (problem, d) = (self.problem, self.problem.d());
        let (gradient, per_l2) = (&self.table[j * d..(j + 1) * d], 1.0 / problem.l2());
        let (m, q) =
            (problem.design().row_dot(j, gradient) * per_l2, problem.norm_squared(j) * per_l2);
        let u = problem.dual_step(j, m, q, guess);
        let of_point = factor * self.inverse_step * per_l2;
        for (sum, g) in self.sum.iter_mut().zip(gradient) {
            *sum += (factor - of_point) * g;
        }
        problem.design().row_axpy(j, of_point * u, &mut self.sum);
    }

    fn see(&mut self, j: usize) {
        if !self.seen[j] {
            self.seen[j] = true;
            self.count += 1;
        }
    }

    /// Computes `w` from the sum over the terms visited so far.
    fn read_point(&mut self) {
        if self.count > 0 {
            let scale = -1.0 / (self.inverse_step * self.count as f64);
            for (w, p) in self.point.weights.iter_mut().zip(&self.sum) {
                *w = scale * p;
            }
        }
    }

    /// Recomputes the sum from the table, to remove the rounding errors of many small updates. O(nd).
    fn refresh_sum(&mut self) {
        self.sum.fill(0.0);
        if self.gradients {
            for j in (0..self.problem.n()).filter(|&j| self.seen[j]).collect::<Vec<_>>() {
                let margin = self.problem.design().row_dot(j, &self.point.weights);
                self.add(j, 1.0, margin);
            }
            return;
        }
        for p in self.table.chunks_exact(self.problem.d()) {
            for (sum, p) in self.sum.iter_mut().zip(p) {
                *sum += p;
            }
        }
    }
}

impl<D: Design, L: Loss> Iterative for PointTable<'_, '_, D, L> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.problem.n();
        let start = if std::mem::take(&mut self.fill) {
            let at = self.point.weights.clone();
            (0..n).for_each(|j| self.visit(j, &at));
            self.read_point();
            1.0
        } else {
            0.0
        };
        let steps = ((passes - start) * n as f64).round();
        let steps = if steps >= 1.0 { steps as usize } else { usize::from(start == 0.0) };
        for _ in 0..steps {
            let j = self.visits.draw();
            let at = std::mem::take(&mut self.point.weights);
            self.visit(j, &at);
            self.point.weights = at;
            self.steps += 1;
            if self.steps == REFRESH * n {
                self.steps = 0;
                self.refresh_sum();
            }
            self.read_point();
        }
        start + steps as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        self.gap.at(self.problem, &self.point)
    }

    fn keep(&mut self) {
        self.best.clone_from(&self.point);
    }

    fn restore(&mut self) {
        self.point.clone_from(&self.best);
        self.restored = true;
    }
}
