//! The best weights and bounds that the estimator keeps from the iterates of a method.

use fenchel_optim::{Certificate, Iterative, Stop};

use super::method::Method;
use super::weights::{Columns, by_rows, objective, within};
use crate::multiclass::{Multiclass, Primal};

/// Weights below one of these shares of the largest weight are set to 0 if the objective hardly increases. This is
/// needed because iterates of entropy methods have no zeros.
const CUTS: [f64; 3] = [0.1, 0.03, 0.01];
/// The least share that is tried for the returned weights. If the gap is small, only small weights may be removed,
/// which are many.
const LEAST: f64 = 1e-3;
/// The largest increase of the objective that zeros may cause, as a part of the gap.
const PRICE: f64 = 0.05;

/// A method, and the best weights that it has returned. The zero weights are the first candidate.
pub(super) struct Fitting<'a> {
    problem: &'a Multiclass<'a>,
    pub(super) method: Box<dyn Method + 'a>,
    objective: f64,
    pub(super) best: Columns,
    lower_bound: f64,
}

impl<'a> Fitting<'a> {
    pub(super) fn new(problem: &'a Multiclass<'a>, method: Box<dyn Method + 'a>) -> Self {
        let objective = objective(problem, &vec![]);
        Fitting { problem, method, objective, best: vec![], lower_bound: f64::NEG_INFINITY }
    }

    /// Keeps weights that are better than the best so far, or the same weights without the smallest.
    pub(super) fn consider(&mut self, mut columns: Columns) {
        contain(self.problem, &mut columns);
        let value = objective(self.problem, &columns);
        let tops = columns.iter().flat_map(|(_, c)| c).fold(0.0_f64, |m, u| m.max(u.abs()));
        let allowance = PRICE * (value - self.lower_bound).max(0.0);
        let allowance = if allowance.is_finite() { allowance } else { 0.0 };
        let mut chosen = (value, columns);
        for share in CUTS {
            let mut pruned = chosen.1.clone();
            cut(&mut pruned, share * tops);
            let without = objective(self.problem, &pruned);
            if without <= value + allowance {
                chosen = (without, pruned);
                break;
            }
        }
        if chosen.0 < self.objective {
            (self.objective, self.best) = chosen;
        }
    }
}

impl Fitting<'_> {
    /// Returns the best weights after small ones have been removed. The objective may increase by a twentieth of the
    /// gap at most, and the tolerance stays met. If the gap is large, the increase is also at most a twentieth of the
    /// objective, and a twentieth of the improvement over zero weights.
    pub(super) fn thinned(self, stop: &Stop) -> Columns {
        let gap = self.objective - self.lower_bound;
        let gain = (objective(self.problem, &vec![]) - self.objective).max(0.0);
        let tolerance = stop.tolerance(Some(self.objective));
        let allowance = if gap <= tolerance { tolerance - gap } else { f64::INFINITY };
        let paid = PRICE * gap.min(self.objective.abs()).min(gain);
        let ceiling = self.objective + allowance.min(paid);
        let tops = self.best.iter().flat_map(|(_, c)| c).fold(0.0_f64, |m, u| m.max(u.abs()));
        let shares = std::iter::successors(Some(0.3), |share| Some(share / 1.4));
        for share in shares.take_while(|share| *share > LEAST) {
            let mut columns = self.best.clone();
            cut(&mut columns, share * tops);
            if objective(self.problem, &columns) <= ceiling {
                return columns;
            }
        }
        self.best
    }
}

/// Shrinks weights that rounding has put outside of the ball: there the objective may be below the optimum.
fn contain(problem: &Multiclass, columns: &mut Columns) {
    let (bound, s) = (problem.radius(), problem.samples());
    let norm = |columns: &Columns| match problem.geometry().primal {
        Primal::Entries => columns.iter().flat_map(|(_, c)| c).map(|u| u.abs()).sum(),
        Primal::Rows => problem.norm(&by_rows(columns, s.features(), s.classes())),
    };
    let mut size: f64 = norm(columns);
    let mut factor = bound / size;
    while size > bound && factor > 0.0 {
        columns.iter_mut().flat_map(|(_, c)| c).for_each(|u| *u *= factor);
        (size, factor) = (norm(columns), 1.0 - f64::EPSILON);
    }
}

/// Sets entries below the threshold to 0, and removes columns of zeros.
pub(super) fn cut(columns: &mut Columns, threshold: f64) {
    for (_, column) in columns.iter_mut() {
        column.iter_mut().filter(|u| u.abs() < threshold).for_each(|u| *u = 0.0);
    }
    columns.retain(|(_, column)| column.iter().any(|u| *u != 0.0));
}

impl Iterative for Fitting<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.method.advance(passes)
    }

    fn certify(&mut self) -> Certificate {
        let (radius, penalty) = (self.problem.radius(), self.problem.penalty());
        for (columns, parts) in self.method.candidates() {
            if let Some(columns) = columns {
                self.consider(columns);
            }
            let within = within(radius, penalty, self.objective);
            self.lower_bound = self.lower_bound.max(parts.within(within, penalty));
        }
        self.problem.gap(self.objective, self.lower_bound)
    }

    fn oracle_calls(&self) -> u64 {
        self.method.calls()
    }
}
