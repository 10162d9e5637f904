//! The step of the outer loop: its direction in the margins, and how far to go.

use fenchel_linalg::Design;
use fenchel_optim::Loss;

use super::super::model::Minimum;
use super::{ElasticNetForm, Newton};

/// Steps are shortened to where the model is least along them if that is at less than this fraction.
const SHORT: f64 = 0.9;

impl<D: Design, L: Loss, R: ElasticNetForm> Newton<'_, '_, D, L, R> {
    /// `A d + d_b`, by the columns of the set, or as the difference of the margins at the end of the step, read anew,
    /// and those at its start. Returns its cost in entries.
    pub(super) fn find_direction(&mut self, set: &[usize], minimum: &mut Minimum) -> f64 {
        if let Some(direction) = minimum.direction.take() {
            self.direction = direction;
            self.drift += 1;
            return 0.0;
        }
        if let Some(columns) = self.columns.as_ref().filter(|_| self.hessian.is_none()) {
            self.direction.fill(minimum.intercept);
            let mut entries = 0;
            for (&c, &d) in set.iter().zip(&minimum.d) {
                if d != 0.0 {
                    columns.axpy(c, d, &mut self.direction);
                    entries += columns.stored(c);
                }
            }
            self.drift += 1;
            return 0.5 * entries as f64;
        }
        let mut end = self.point.clone();
        end.intercept += minimum.intercept;
        for (&c, &d) in set.iter().zip(&minimum.d) {
            end.weights[c] += d;
        }
        // A full step on a true Hessian is likely to be accepted.
        let whole = self.hessian.as_ref().is_some_and(|hessian| !hessian.sampled);
        if whole && !self.forcing.last && !self.problem.intercept() && self.candidates.all() {
            self.looked = Some(self.ahead.look(self.problem, &end.weights));
            self.direction.copy_from_slice(&self.ahead.margins);
        } else {
            self.problem.margins(&end, &mut self.direction);
        }
        for (a, t) in self.direction.iter_mut().zip(&self.gap.margins) {
            *a -= t;
        }
        self.drift = 0;
        0.5 * self.problem.design().stored() as f64
    }

    /// Halves the step until the objective falls by a hundredth of what the model's slope promises. Works on
    /// the margins alone. Returns the objective at the end of a full step whose certificate is not known.
    pub(super) fn search(&mut self, set: &[usize], minimum: &Minimum) -> Option<f64> {
        let problem = self.problem;
        let old: Vec<f64> = set.iter().map(|&c| self.point.weights[c]).collect();
        let old_intercept = self.point.intercept;
        let mut promise = self.intercept_slope() * minimum.intercept;
        for ((&c, &d), &x) in set.iter().zip(&minimum.d).zip(&old) {
            // The slope first where the sign stays: close to the optimum its two parts are opposite.
            promise += if x * (x + d) > 0.0 {
                (self.gradient[c] + self.l1.copysign(x)) * d
            } else {
                self.gradient[c] * d + self.l1 * ((x + d).abs() - x.abs())
            };
        }
        let margins = self.gap.margins.clone();
        // Full, or where the model is least along the step, by the true Hessian: a sampled one may have less curvature.
        let bend: f64 = self.h.iter().zip(&self.direction).map(|(h, a)| h * a * a).sum();
        let ridge: f64 = self.l2 * minimum.d.iter().map(|d| d * d).sum::<f64>();
        let least = -promise / (bend + ridge);
        let mut ahead = self.looked.take();
        let mut scale = if least < SHORT { least } else { 1.0 };
        while promise < 0.0 && scale > 1e-12 {
            for ((&c, &d), &x) in set.iter().zip(&minimum.d).zip(&old) {
                // A coordinate that the full step sends to 0 gets there exactly.
                self.point.weights[c] = if scale == 1.0 && d == -x { 0.0 } else { x + scale * d };
            }
            self.point.intercept = old_intercept + scale * minimum.intercept;
            for ((t, &from), &a) in self.gap.margins.iter_mut().zip(&margins).zip(&self.direction) {
                *t = from + scale * a;
            }
            let looked = ahead.take().filter(|_| scale == 1.0);
            let value = looked
                .unwrap_or_else(|| problem.objective_at(&self.gap.margins, &self.point.weights));
            // A sum of n terms is known up to eps sqrt(n) or so. Below that the objective cannot tell steps
            // apart; the model, whose gradient is still accurate, is trusted.
            let rounding = f64::EPSILON * (4.0 + (problem.n() as f64).sqrt());
            let slack = rounding * self.objective.abs();
            if value - self.objective <= 0.01 * scale * promise + slack {
                self.certificate = None;
                if looked.is_some() {
                    std::mem::swap(&mut self.gap, &mut self.ahead);
                    let certificate = self.gap.conclude(problem, &self.point.weights, value);
                    self.remember(certificate);
                    self.by_look = true;
                    return None;
                }
                return (scale == 1.0).then_some(value);
            }
            scale *= 0.5;
            self.drift += 1;
        }
        for (&c, &x) in set.iter().zip(&old) {
            self.point.weights[c] = x;
        }
        self.point.intercept = old_intercept;
        self.gap.margins = margins;
        // An old or sampled Hessian is given up before the method is.
        let sampled = self.hessian.take().is_some_and(|h| h.sampled);
        self.stalled = !(self.reused || sampled);
        self.drawn = f64::INFINITY;
        None
    }

    /// The dual point at the end of the model, `u + H A d`: its correlations are the slopes of the model there, so that
    /// it is feasible up to the tolerance, and how far it is from `phi'` at the new margins is of second order. It may
    /// prove what `phi'` proves only after another step. Returns the cost in entries.
    pub(super) fn tangent(&mut self, objective: f64) -> f64 {
        if !(self.by_tangent && self.forcing.last)
            || self.hessian.as_ref().is_some_and(|hessian| hessian.sampled)
        {
            return 0.0;
        }
        let (problem, n) = (self.problem, self.problem.n() as f64);
        let h = self.hessian.as_ref().map_or(&self.h, |hessian| hessian.seconds());
        let moved =
            self.gap.dual().iter().zip(h).zip(&self.direction).map(|((u, h), a)| u + n * h * a);
        let place = (&self.gap.margins[..], &self.point.weights[..], objective);
        let tolerance = self.settings.stop.tolerance(Some(objective));
        let Some(proof) = self.ahead.prove(problem, moved, place, tolerance) else { return 0.0 };
        self.proof = Some(proof).filter(|proof| proof.value() <= tolerance);
        0.5 * problem.design().stored() as f64
    }
}
