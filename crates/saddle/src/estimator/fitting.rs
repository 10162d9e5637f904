//! What the estimator keeps of what a method shows.

use fenchel_optim::{Certificate, Iterative, Stop};

use super::engine::{Columns, Engine, objective, within};
use crate::multiclass::Multiclass;

/// Weights are cut off below one of these shares of the largest one, where the objective hardly minds: entropies leave no zeros.
const CUTS: [f64; 3] = [0.1, 0.03, 0.01];
/// The least share that is tried for the weights that are returned: a small gap pays for small weights only, which are many.
const LEAST: f64 = 1e-3;
/// The part of the gap that zeros may cost.
const PRICE: f64 = 0.05;

/// A method, the best weights that it has shown, and nothing worse than no weights at all.
pub(super) struct Fitting<'a> {
    problem: &'a Multiclass<'a>,
    pub(super) engine: Engine<'a>,
    objective: f64,
    pub(super) best: Columns,
    lower_bound: f64,
}

impl<'a> Fitting<'a> {
    pub(super) fn new(problem: &'a Multiclass<'a>, engine: Engine<'a>) -> Self {
        let objective = objective(problem, &vec![]);
        Fitting { problem, engine, objective, best: vec![], lower_bound: f64::NEG_INFINITY }
    }

    fn consider(&mut self, columns: Columns) {
        let value = objective(self.problem, &columns);
        let tops = columns.iter().flat_map(|(_, c)| c).fold(0.0_f64, |m, u| m.max(u.abs()));
        let room = PRICE * (value - self.lower_bound).max(0.0);
        let room = if room.is_finite() { room } else { 0.0 };
        let mut chosen = (value, columns);
        for share in CUTS {
            let mut pruned = chosen.1.clone();
            cut(&mut pruned, share * tops);
            let without = objective(self.problem, &pruned);
            if without <= value + room {
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
    /// The best weights without as many of the small ones as a twentieth of the gap pays for, while the tolerance stays met. Where the gap is
    /// large, they cost no more than a twentieth of the objective, nor of what the weights gain over none.
    pub(super) fn thinned(self, stop: &Stop) -> Columns {
        let gap = self.objective - self.lower_bound;
        let gain = (objective(self.problem, &vec![]) - self.objective).max(0.0);
        let tolerance = stop.tolerance(Some(self.objective));
        let room = if gap <= tolerance { tolerance - gap } else { f64::INFINITY };
        let paid = PRICE * gap.min(self.objective.abs()).min(gain);
        let ceiling = self.objective + room.min(paid);
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

/// Entries below the threshold become 0, and columns of zeros go.
pub(super) fn cut(columns: &mut Columns, threshold: f64) {
    for (_, column) in columns.iter_mut() {
        column.iter_mut().filter(|u| u.abs() < threshold).for_each(|u| *u = 0.0);
    }
    columns.retain(|(_, column)| column.iter().any(|u| *u != 0.0));
}

impl Iterative for Fitting<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.engine.advance(passes)
    }

    fn certify(&mut self) -> Certificate {
        let (radius, penalty) = (self.problem.radius(), self.problem.penalty());
        for (columns, parts) in self.engine.shown(self.problem) {
            if let Some(columns) = columns {
                self.consider(columns);
            }
            let within = within(radius, penalty, self.objective);
            self.lower_bound = self.lower_bound.max(parts.within(within, penalty));
        }
        Certificate::gap(self.objective, self.lower_bound)
    }

    fn oracle_calls(&self) -> u64 {
        self.engine.calls()
    }
}
