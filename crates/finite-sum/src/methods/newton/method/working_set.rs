//! The coordinates that a step works on, and how much of the data is theirs.

use fenchel_linalg::{Design, nonzeros_by_column};
use fenchel_optim::Loss;

use super::{AsElasticNet, Newton};

/// A working set is full when more than this share of it is in the support.
const FULL: f64 = 0.8;

impl<D: Design, L: Loss, R: AsElasticNet> Newton<'_, '_, D, L, R> {
    /// Every coordinate without l1; else the support and the worst violators, at most 50 or
    /// four times the support (16 times where the support has filled the last set).
    pub(super) fn working_set(&mut self) -> Vec<usize> {
        let d = self.problem.d();
        if self.l1 == 0.0 {
            return (0..d).collect();
        }
        let x = &self.point.weights;
        let mut set: Vec<usize> = (0..d).filter(|&c| x[c] != 0.0).collect();
        let mut others: Vec<(f64, usize)> = (0..d)
            .filter(|&c| x[c] == 0.0)
            .map(|c| (self.gradient[c].abs() - self.l1, c))
            .filter(|(excess, _)| *excess > 0.0)
            .collect();
        // A set that the support has filled was too small by far.
        let filled = set.len() as f64 > FULL * self.last_set as f64 && self.last_set > 0;
        let factor = if filled { 16 } else { 4 };
        // More columns than rows depend on each other: no more of them, but twice the support.
        let most = self.problem.n().max(2 * set.len());
        let room = (factor * set.len()).min(most).max(50).saturating_sub(set.len());
        if others.len() > room {
            others.select_nth_unstable_by(room, |a, b| b.0.total_cmp(&a.0));
            others.truncate(room);
        }
        set.extend(others.into_iter().map(|(_, c)| c));
        set.sort_unstable();
        self.last_set = set.len();
        set
    }

    /// The entries of each column, once, where they are asked for.
    pub(super) fn count(&mut self) {
        if self.counts.is_empty() && self.l1 > 0.0 {
            self.counts = match &self.columns {
                Some(columns) => (0..self.problem.d()).map(|c| columns.stored(c)).collect(),
                None => nonzeros_by_column(self.problem.design()),
            };
        }
    }

    /// Entries of the design that belong to a working set.
    pub(super) fn stored(&self, set: &[usize]) -> usize {
        if self.l1 > 0.0 {
            set.iter().map(|&c| self.counts[c]).sum()
        } else {
            self.problem.design().stored()
        }
    }
}
