//! Duality gaps: what a dual point proves.
//!
//! For any `u` in the domain of the conjugates, with `v = -(1/n) A'u`,
//!
//! ```text
//! D(u) = -(1/n) sum_i phi_i*(u_i) - R*(v) <= F*,    R(x) = (l2/2) ||x||^2 + h(x).
//! ```
//!
//! Two repairs make any `u` feasible; both only shrink entries towards 0, which lies in every domain:
//! with an unpenalised intercept `sum_i u_i = 0` must hold, so the heavier sign is scaled down
//! ([`balance`]); where `R*` is an indicator (l1 without l2) the whole point is scaled onto it. Where 0 is the
//! only multiple that is sure to be feasible (no l2 term and a regulariser that is not coercive), or the
//! conjugate of the loss is not known, the certificate is the norm of the gradient mapping instead.

mod repair;
mod scale;

use fenchel_linalg::{Columns, Design, multiply_row_by_row, multiply_transposed};
use fenchel_optim::{Certificate, Loss, Regulariser};

use crate::origin::{best_shift, has_gap, origin};
use crate::{Error, Point, Problem};
use repair::{balance, concave_maximiser};
use scale::norm_of_rows;
pub(crate) use scale::{Scale, gradient_mapping, norm};

impl<D: Design, L: Loss, R: Regulariser> Problem<'_, D, L, R> {
    /// What can be proved at any point: the duality gap with the dual point `u_i = phi'(a_i.x + b; y_i)`,
    /// repaired where it is not feasible. Two passes.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a point of the wrong length or with non-finite entries.
    pub fn certify(&self, point: &Point) -> Result<Certificate, Error> {
        self.check_point(point)?;
        Ok(Gap::new(self).at(self, point))
    }
}

/// The relative gap below which the rounding of the terms is counted, which takes as long as their sum. By judgement.
const CLOSE: f64 = 1e-6;

/// Certificates of the points of a problem, and what they were computed from. Memory: `2 n + d` numbers, and `d` more while a dual point is scaled or where there is no gap.
#[derive(Debug, Clone)]
pub struct Gap {
    /// `t_i = a_i.x + b` of the point that was certified last.
    pub margins: Vec<f64>,
    pub(crate) dual: Vec<f64>,
    /// `v = -(1/n) A'u`
    pub correlation: Vec<f64>,
    /// What the dual point and `v` were multiplied by to become feasible.
    pub scale: f64,
    /// What gradients are measured by, once there was one.
    unit: Option<Scale>,
}

impl Gap {
    /// Memory for a problem of this size.
    pub fn new<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> Self {
        Gap {
            margins: vec![0.0; problem.n()],
            dual: vec![0.0; problem.n()],
            correlation: vec![0.0; problem.d()],
            scale: 1.0,
            unit: None,
        }
    }

    /// Certificate with `u = phi'` at the margins of the point. One pass.
    pub(crate) fn at<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &Point,
    ) -> Certificate {
        if problem.intercept() {
            problem.margins(point, &mut self.margins);
            return self.margins_certificate(problem, &point.weights);
        }
        let objective = self.margins_and_products(problem, &point.weights);
        self.conclude(problem, &point.weights, objective)
    }

    /// In a problem without intercept: margins, `u = phi'` and `v` at a point. Returns the objective. One pass.
    pub(crate) fn margins_and_products<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
    ) -> f64 {
        let Gap { margins, dual, correlation, .. } = self;
        let smooth = problem.value_and_products((weights, 0.0), margins, dual, 1.0, correlation);
        self.average(problem);
        smooth + problem.regulariser().value(weights)
    }

    /// Certificate of a point whose margins stand in [`margins`](Gap::margins), with the intercept moved to
    /// its optimum for these weights. One pass.
    pub(crate) fn at_margins<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &mut Point,
    ) -> Certificate {
        self.settle_intercept(problem, point);
        self.margins_certificate(problem, &point.weights)
    }

    /// As [`at_margins`](Gap::at_margins) for the problem without the features that are not in `alive`.
    pub(crate) fn at_margins_over<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &mut Point,
        columns: &Columns,
        alive: &[usize],
    ) -> Certificate {
        self.settle_intercept(problem, point);
        let objective = self.differentiate(problem, &point.weights);
        if problem.intercept() {
            balance(problem.design(), &mut self.dual);
        }
        self.correlation.fill(0.0);
        for (&c, dot) in alive.iter().zip(columns.dots(alive, &self.dual)) {
            self.correlation[c] = -dot / problem.terms();
        }
        self.correlated(problem, &point.weights, objective)
    }

    /// The certificate of the same point and dual point after a change of the regulariser. No pass.
    pub(crate) fn again<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
    ) -> Certificate {
        let objective = problem.objective_at(&self.margins, weights);
        self.correlated(problem, weights, objective)
    }

    /// Moves the intercept to its optimum for these weights, and computes the certificate of the point with `u_i = phi'(t_i)`.
    /// One pass.
    pub fn at_best_intercept<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &mut Point,
    ) -> Certificate {
        self.primal(problem, point);
        self.margins_certificate(problem, &point.weights)
    }

    /// Certificate of a point with a dual point of the method's own, or of another point with the objective `ceiling` if that is
    /// lower. One pass.
    pub(crate) fn with_dual<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &mut Point,
        dual: &[f64],
        ceiling: f64,
    ) -> Certificate {
        if !has_gap(problem) {
            self.primal(problem, point);
            return self.margins_certificate(problem, &point.weights);
        }
        self.dual.copy_from_slice(dual);
        if problem.intercept() {
            balance(problem.design(), &mut self.dual);
        }
        let Gap { margins, dual, correlation, .. } = self;
        let (design, weights) = (problem.design(), &point.weights);
        multiply_row_by_row(design, weights, margins, correlation, |i, _| dual[i]);
        self.average(problem);
        if point.intercept != 0.0 {
            self.margins.iter_mut().for_each(|t| *t += point.intercept);
        }
        self.settle_intercept(problem, point);
        let objective = problem.objective_at(&self.margins, &point.weights).min(ceiling);
        self.correlated(problem, &point.weights, objective)
    }

    /// Margins of the point, with the intercept at its optimum. Half a pass.
    pub(crate) fn primal<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &mut Point,
    ) {
        problem.margins(point, &mut self.margins);
        self.settle_intercept(problem, point);
    }

    /// Moves the intercept to its optimum for the margins, and them with it. No pass.
    pub(crate) fn settle_intercept<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &mut Point,
    ) {
        if problem.intercept() {
            let shift = best_shift(problem, &self.margins);
            point.intercept += shift;
            self.margins.iter_mut().for_each(|t| *t += shift);
        }
    }

    /// As [`at_margins`](Gap::at_margins), with the intercept where it is. Half a pass.
    pub(crate) fn margins_certificate<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
    ) -> Certificate {
        let objective = self.differentiate(problem, weights);
        if problem.intercept() && L::HAS_DUAL && has_gap(problem) {
            balance(problem.design(), &mut self.dual);
        }
        self.correlate(problem);
        self.conclude(problem, weights, objective)
    }

    /// The certificate of a point with this objective and a dual point whose correlation stands in
    /// [`correlation`](Gap::correlation). No pass.
    pub(crate) fn conclude_with<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
        objective: f64,
        dual: impl Iterator<Item = f64>,
    ) -> Certificate {
        self.dual.iter_mut().zip(dual).for_each(|(to, u)| *to = u);
        self.conclude(problem, weights, objective)
    }

    /// The multiple of dual variables of the method's own, from 0 to 1, at which the dual value is the largest, with the heavier
    /// sign scaled down where there is an intercept; `None` where that is no more than at 0. Half a pass.
    pub(crate) fn best_multiple<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        dual: &[f64],
    ) -> Option<Vec<f64>> {
        self.dual.copy_from_slice(dual);
        if problem.intercept() {
            balance(problem.design(), &mut self.dual);
        }
        self.correlate(problem);
        let (n, v) = (problem.terms(), &self.correlation);
        let mut scaled = v.clone();
        let mut value = |s: f64| {
            scaled.iter_mut().zip(v).for_each(|(to, v)| *to = s * v);
            let conjugates = problem.sum_conjugates(&self.dual, s) / n;
            -conjugates - problem.regulariser().conjugate(&scaled, problem.l2())
        };
        let nothing = value(0.0);
        let s = concave_maximiser(&mut value);
        (value(s) > nothing).then(|| self.dual.iter().map(|u| s * u).collect())
    }

    /// The certificate once `v` is known, of `u = phi'` at the point (balanced, where there is an intercept). No pass.
    ///
    /// Without regulariser and intercept `phi_i(t_i) + phi_i*(u_i) = u_i t_i` leaves of the gap what `l2` makes of the gradient,
    /// `||l2 x - v||^2 / (2 l2)`: no conjugate needs to be summed.
    pub(crate) fn conclude<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
        objective: f64,
    ) -> Certificate {
        let l2 = problem.l2();
        if problem.regulariser().is_zero() && l2 > 0.0 && !problem.intercept() {
            self.scale = 1.0;
            let gradient = self.correlation.iter().zip(weights).map(|(v, x)| l2 * x - v);
            // Divided before it is squared: the square of a tiny gradient underflows, and a gap of 0 would be no bound.
            let gap: f64 = gradient.map(|g| 0.5 * (g / l2) * g).sum();
            return Certificate::gap(objective, objective - gap);
        }
        if !L::HAS_DUAL || !has_gap(problem) {
            return self.gradient_mapping(problem, weights, objective);
        }
        self.correlated(problem, weights, objective)
    }

    /// `u = phi'` at the margins; returns the objective there.
    fn differentiate<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
    ) -> f64 {
        self.dual.copy_from_slice(&self.margins);
        problem.smooth_objective_through(&mut self.dual, weights, 1.0)
            + problem.regulariser().value(weights)
    }

    /// Where no dual point can be made feasible the gap says nothing; the norm of the gradient mapping at the
    /// step `1/L` (the gradient itself, without a regulariser) does. No pass but for its scale, a pass once.
    fn gradient_mapping<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
        objective: f64,
    ) -> Certificate {
        // A copy: Newton methods read the correlation afterwards.
        let slope =
            problem.intercept().then(|| problem.design().sum_numbers(&self.dual) / problem.terms());
        let correlation = self.correlation.iter().zip(weights);
        let gradient: Vec<f64> = correlation.map(|(v, x)| problem.l2() * x - v).collect();
        let step = 1.0 / problem.smoothness();
        let step = if step > 0.0 && step.is_finite() { step } else { 1.0 };
        let mapping = gradient_mapping(problem.regulariser(), weights, gradient, step);
        self.residual(problem, objective, &mapping, slope.as_slice())
    }

    /// The norm of a gradient in the weights and in the intercept, on its scale. No pass but for the latter, a pass once.
    pub(crate) fn residual<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        objective: f64,
        gradient: &[f64],
        slope: &[f64],
    ) -> Certificate {
        let unit = self.unit.get_or_insert_with(|| {
            let slopes = |t: f64| {
                let mut u = vec![t; problem.n()];
                problem.differentiate(&mut u, 1.0);
                u
            };
            let (u, plain) = (slopes(origin(problem).intercept), slopes(0.0));
            let weights: Vec<f64> = (0..problem.n()).map(|i| problem.term_weight(i)).collect();
            let l2 = problem.l2() / problem.loss().curvature();
            // Of targets that are all alike the intercept leaves the rounding errors.
            let rounding = 1e-10 * norm_of_rows(problem.design(), &plain) / problem.terms();
            Scale::new(problem.design(), &weights, l2, &u, problem.intercept()).at_least(rounding)
        });
        let length = norm(gradient.iter().chain(slope).copied());
        Certificate::residual(objective, length, 0.0).on_scale(unit.of_one(gradient, slope))
    }

    /// `v = -(1/n) A'u`
    fn correlate<D: Design, L: Loss, R: Regulariser>(&mut self, problem: &Problem<'_, D, L, R>) {
        multiply_transposed(problem.design(), &self.dual, &mut self.correlation);
        self.average(problem);
    }

    /// From `A'u` to `v`.
    fn average<D: Design, L: Loss, R: Regulariser>(&mut self, problem: &Problem<'_, D, L, R>) {
        let n = problem.terms();
        self.correlation.iter_mut().for_each(|v| *v /= -n);
    }

    /// The certificate of the dual point once `v` is known. No pass.
    fn correlated<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
        objective: f64,
    ) -> Certificate {
        let bound = self.correlated_bound(problem);
        self.bounded(problem, weights, (objective, bound))
    }

    /// The certificate of a point, whose margins stand in [`margins`](Gap::margins), with a lower bound. No pass.
    pub(crate) fn bounded<D: Design, L: Loss, R: Regulariser>(
        &self,
        problem: &Problem<'_, D, L, R>,
        weights: &[f64],
        (objective, bound): (f64, f64),
    ) -> Certificate {
        if objective - bound > CLOSE * objective.abs() {
            return Certificate::gap(objective, bound);
        }
        // The terms may be much larger than their sum: those of the Poisson loss have both signs.
        let [terms] = problem.design().sum_rows(|rows| {
            [rows.map(|i| problem.size_of_term(i, self.margins[i], self.dual[i])).sum()]
        });
        let products: f64 = weights.iter().zip(&self.correlation).map(|(x, v)| (x * v).abs()).sum();
        let terms = terms / problem.terms() + products;
        Certificate::gap_within(objective, bound, 256.0 * f64::EPSILON * terms)
    }

    /// `D(u)` once `v` is known.
    fn correlated_bound<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
    ) -> f64 {
        let n = problem.terms();
        let regulariser = problem.regulariser();
        let scale = regulariser.dual_scale(&self.correlation, problem.l2());
        self.scale = scale;
        let scaled;
        let correlation = if scale < 1.0 {
            scaled = self.correlation.iter().map(|v| scale * v).collect::<Vec<_>>();
            &scaled
        } else {
            &self.correlation
        };
        -problem.sum_conjugates(&self.dual, scale) / n
            - regulariser.conjugate(correlation, problem.l2())
    }
}

#[cfg(test)]
mod tests;
