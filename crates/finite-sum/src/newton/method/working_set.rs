//! The coordinates that a step works on, and how much of the data is theirs.

use fenchel_linalg::{Design, nonzeros_by_column};
use fenchel_optim::Loss;

use super::{ElasticNetForm, Newton};

/// A working set is all that violates optimality where that is so much of the features: no Gram matrix is in sight.
const MOST: f64 = 0.2;
/// A feature of which so little is missing to violate optimality, as a fraction of `l1`, joins a working set: it may after
/// the step.
const NEAR: f64 = 0.05;
/// The same where a step may be the last because the model is the function.
const NEAR_QUADRATIC: f64 = 0.1;
/// Rows of a dense design whose zeros are counted.
const DENSE_ROWS: usize = 4096;
/// A working set is full when more than this share of it is in the support.
const FULL: f64 = 0.8;

impl<D: Design, L: Loss, R: ElasticNetForm> Newton<'_, '_, D, L, R> {
    /// Every coordinate without l1; else the support and the worst violators, those that nearly are included, at most 50 or
    /// four times the support (16 times where the support has filled the last set).
    pub(super) fn working_set(&mut self) -> Vec<usize> {
        let d = self.problem.d();
        if self.l1 == 0.0 {
            return (0..d).collect();
        }
        let x = &self.point.weights;
        let mut set: Vec<usize> = (0..d).filter(|&c| x[c] != 0.0).collect();
        let near = if self.problem.loss().quadratic() { NEAR_QUADRATIC } else { NEAR };
        let mut others: Vec<(f64, usize)> = (0..d)
            .filter(|&c| x[c] == 0.0)
            .map(|c| (self.gradient[c].abs() - self.l1, c))
            .filter(|(excess, _)| *excess > -near * self.l1)
            .collect();
        // A set that the support has filled was too small by far.
        let filled = set.len() as f64 > FULL * self.last_set as f64 && self.last_set > 0;
        let factor = if filled { 16 } else { 4 };
        let room = (factor * set.len()).max(50).saturating_sub(set.len());
        let violating = others.iter().filter(|(excess, _)| *excess > 0.0).count();
        let most = set.len() + violating;
        let room = if most > 512 && most as f64 >= MOST * d as f64 { violating } else { room };
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
                None => count_nonzeros(self.problem.design()),
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

/// Entries of each column that are not 0; of a dense design about so many, by some of its rows.
fn count_nonzeros<D: Design>(design: &D) -> Vec<usize> {
    let every = design.rows().div_ceil(DENSE_ROWS);
    if !D::DENSE || every == 1 {
        return nonzeros_by_column(design);
    }
    let index: Vec<usize> = (0..design.rows()).step_by(every).collect();
    let mut counts = vec![0; design.columns()];
    for &i in &index {
        design.row_entries(i, |c, a| counts[c] += usize::from(a != 0.0));
    }
    counts.iter().map(|count| count * design.rows() / index.len()).collect()
}
