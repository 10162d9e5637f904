//! The iterate, and the line search that moves it.

use fenchel_linalg::Design;
use fenchel_optim::prox::L1L2;
use fenchel_optim::{Certificate, Loss, Regulariser};

use crate::gap::Gap;
use crate::methods::newton::model::{Model, Step};
use crate::{Point, Problem};

/// A step is shortened to the minimum of the model along it, if that lies before this fraction of the step. By judgement.
const SHORT: f64 = 0.9;
/// Margins are updated for this many steps and then computed from the point again, because rounding errors add up. By judgement.
const DRIFT: u32 = 10;
/// Margins are also computed again after a step that lowers the objective by this factor: their rounding errors are those of the
/// large start, four digits of sixteen.
const FALL: f64 = 1e4;

/// The point, and what is known there.
#[derive(Debug, Clone)]
pub(super) struct Iterate {
    pub(super) point: Point,
    /// Margins, dual point and correlations.
    pub(super) gap: Gap,
    /// `None` after a step.
    pub(super) certificate: Option<Certificate>,
    /// Of the smooth part, l2 included; it belongs to the certificate.
    pub(super) gradient: Vec<f64>,
    /// Steps since the margins were read from the point.
    pub(super) drift: u32,
    /// The largest objective since then.
    highest: f64,
}

impl Iterate {
    /// A point whose margins stand in `gap`.
    pub(super) fn new(point: Point, gap: Gap) -> Self {
        let gradient = vec![0.0; point.weights.len()];
        Iterate { point, gap, certificate: None, gradient, drift: 0, highest: 0.0 }
    }

    /// Reads the margins from the point after some steps.
    pub(super) fn correct_margins<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
    ) {
        if self.drift >= DRIFT {
            problem.margins(&self.point, &mut self.gap.margins);
            (self.drift, self.highest) = (0, 0.0);
        }
    }

    /// Keeps a certificate, and the gradient that belongs to it.
    pub(super) fn remember(&mut self, certificate: Certificate, l2: f64) {
        // The dual point is phi' at the margins, balanced: with the intercept at its optimum, phi' itself.
        let correlations = self.gap.correlation.iter().zip(&self.point.weights);
        for (g, (v, x)) in self.gradient.iter_mut().zip(correlations) {
            *g = l2 * x - v;
        }
        self.certificate = Some(certificate);
    }

    /// `phi''(t_i) / n`
    pub(super) fn second_derivatives<D: Design, L: Loss, R: Regulariser>(
        &self,
        problem: &Problem<'_, D, L, R>,
    ) -> Vec<f64> {
        let mut h = vec![0.0; problem.n()];
        problem.seconds(&self.gap.margins, 1.0 / problem.n() as f64, &mut h);
        h
    }

    /// The model around this point, over a working set.
    pub(super) fn model<'m, D: Design, L: Loss, R: Regulariser>(
        &'m self,
        problem: &Problem<'_, D, L, R>,
        &L1L2 { l1, l2 }: &L1L2,
        set: &'m [usize],
        h: &'m [f64],
    ) -> Model<'m> {
        let slope = || problem.sum_derivatives(&self.gap.margins) / problem.n() as f64;
        let intercept = problem.intercept().then(slope);
        Model { h, x: &self.point.weights, gradient: &self.gradient, intercept, l1, l2, set }
    }

    /// Continues along a full step, twice as far each time, while the objective falls. Works on the margins alone.
    pub(super) fn go_on<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        set: &[usize],
        step: &Step,
    ) {
        let mut before = problem.objective_at(&self.gap.margins, &self.point.weights);
        let mut scale = 1.0;
        loop {
            let (point, margins) = (self.point.clone(), self.gap.margins.clone());
            set.iter().zip(&step.d).for_each(|(&c, d)| self.point.weights[c] += scale * d);
            self.point.intercept += scale * step.intercept;
            let ends = self.gap.margins.iter_mut().zip(&step.direction);
            ends.for_each(|(t, a)| *t += scale * a);
            let value = problem.objective_at(&self.gap.margins, &self.point.weights);
            if !(value < before) {
                (self.point, self.gap.margins) = (point, margins);
                break;
            }
            (before, scale) = (value, 2.0 * scale);
        }
        self.drift = DRIFT;
    }

    /// What a decrease of the objective must exceed to be seen beside the rounding of a sum of `n` terms.
    pub(super) fn rounding(&self, n: usize) -> f64 {
        let objective = self.certificate.and_then(|c| c.objective()).unwrap_or(f64::INFINITY);
        16.0 * f64::EPSILON * (4.0 + (n as f64).sqrt()) * objective.abs()
    }

    /// Halves the step until the objective falls by a hundredth of what the slope of the model promises. Works on the margins
    /// alone. False, and the iterate as it was, where no step does.
    pub(super) fn search<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        set: &[usize],
        step: &Step,
        slope: f64,
        curvature: f64,
    ) -> bool {
        let before = self.certificate.and_then(|c| c.objective()).unwrap_or(f64::INFINITY);
        let old: Vec<f64> = set.iter().map(|&c| self.point.weights[c]).collect();
        let old_intercept = self.point.intercept;
        let margins = self.gap.margins.clone();
        // Full, or where the model is least along the step, which its tolerance may put before its end.
        let least = -slope / curvature;
        let mut scale = if least < SHORT { least } else { 1.0 };
        while slope < 0.0 && scale > 1e-12 {
            for ((&c, &d), &x) in set.iter().zip(&step.d).zip(&old) {
                // A coordinate that the full step sends to 0 gets there exactly.
                self.point.weights[c] = if scale == 1.0 && d == -x { 0.0 } else { x + scale * d };
            }
            self.point.intercept = old_intercept + scale * step.intercept;
            for ((t, &from), &a) in self.gap.margins.iter_mut().zip(&margins).zip(&step.direction) {
                *t = from + scale * a;
            }
            let value = problem.objective_at(&self.gap.margins, &self.point.weights);
            // A sum of n terms is known up to eps sqrt(n) or so. Below that the objective cannot tell steps
            // apart; the model, whose gradient is still accurate, is trusted.
            let rounding = f64::EPSILON * (4.0 + (problem.n() as f64).sqrt());
            if value - before <= 0.01 * scale * slope + rounding * before.abs() {
                self.certificate = None;
                self.highest = self.highest.max(before);
                if self.highest > FALL * value.abs() {
                    self.drift = DRIFT;
                }
                return true;
            }
            scale *= 0.5;
            self.drift += 1;
        }
        for (&c, &x) in set.iter().zip(&old) {
            self.point.weights[c] = x;
        }
        self.point.intercept = old_intercept;
        self.gap.margins = margins;
        false
    }
}
