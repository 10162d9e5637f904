//! The step of the outer loop: its direction in the margins, and how far to go.

use fenchel_linalg::Design;
use fenchel_optim::Loss;

use super::super::model::Minimum;
use super::{AsElasticNet, Newton};

/// Steps are shortened to where the model is least along them if that is at less than this fraction.
const SHORT: f64 = 0.9;

impl<D: Design, L: Loss, R: AsElasticNet> Newton<'_, '_, D, L, R> {
    /// `A d + d_b`, by the columns of the set, or as the difference of the margins at the end of the step, read anew,
    /// and those at its start. Returns its cost in entries.
    pub(super) fn find_direction(
        &mut self,
        set: &[usize],
        minimum: &Minimum,
        by_columns: bool,
    ) -> f64 {
        if let Some(columns) = self.columns.as_ref().filter(|_| by_columns) {
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
        self.problem.margins(&end, &mut self.direction);
        for (a, t) in self.direction.iter_mut().zip(&self.gap.margins) {
            *a -= t;
        }
        self.drift = 0;
        0.5 * self.problem.design().stored() as f64
    }

    /// Halves the step until the objective falls by a hundredth of what the model's slope promises. Works on
    /// the margins alone.
    pub(super) fn search(&mut self, set: &[usize], minimum: &Minimum) {
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
        // Full, or where the model is least along the step, which its tolerance may put before its end.
        let bend: f64 = self.h.iter().zip(&self.direction).map(|(h, a)| h * a * a).sum();
        let ridge: f64 = self.l2 * minimum.d.iter().map(|d| d * d).sum::<f64>();
        let least = -promise / (bend + ridge);
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
            let value = problem.objective_at(&self.gap.margins, &self.point.weights);
            // A sum of n terms is known up to eps sqrt(n) or so. Below that the objective cannot tell steps
            // apart; the model, whose gradient is still accurate, is trusted.
            let rounding = f64::EPSILON * (4.0 + (problem.n() as f64).sqrt());
            let slack = rounding * self.objective.abs();
            if value - self.objective <= 0.01 * scale * promise + slack {
                self.certificate = None;
                return;
            }
            scale *= 0.5;
            self.drift += 1;
        }
        for (&c, &x) in set.iter().zip(&old) {
            self.point.weights[c] = x;
        }
        self.point.intercept = old_intercept;
        self.gap.margins = margins;
        self.stalled = true;
    }
}
