//! The coordinates that a step works on.

use super::iterate::Iterate;
use crate::methods::newton::screening::Candidates;

/// A working set was much too small if more than this share of it is in the support: the next one is four times as large as
/// otherwise. By judgement.
const FULL: f64 = 0.8;

/// The choice of the working sets.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkingSet {
    /// On a path: the features that may be in the support.
    pub(super) candidates: Candidates,
    /// Size of the last one.
    size: usize,
}

impl WorkingSet {
    /// Every coordinate without l1; else the support and the worst violators, at most the larger of 50 and twice the support (eight
    /// times, where the support has filled the last set). Twice as many violators took 1.06 times as long in the geometric mean of 78
    /// problems, two of which led to this, and 1.12 on the 42 with dense data.
    pub(super) fn choose(&mut self, iterate: &Iterate, l1: f64) -> Vec<usize> {
        let (x, gradient) = (&iterate.point.weights, &iterate.gradient);
        if l1 == 0.0 {
            return (0..x.len()).collect();
        }
        let mut set: Vec<usize> = (0..x.len()).filter(|&c| x[c] != 0.0).collect();
        let mut others: Vec<(f64, usize)> = (0..x.len())
            .filter(|&c| x[c] == 0.0)
            .map(|c| (gradient[c].abs() - l1, c))
            .filter(|(excess, _)| *excess > 0.0)
            .collect();
        let filled = set.len() as f64 > FULL * self.size as f64 && self.size > 0;
        let factor = if filled { 8 } else { 2 };
        // More columns than rows are linearly dependent: the set has no more than that, or than twice the support.
        let most = iterate.gap.margins.len().max(2 * set.len());
        let room = (factor * set.len()).min(most).max(50).saturating_sub(set.len());
        if others.len() > room {
            others.select_nth_unstable_by(room, |a, b| b.0.total_cmp(&a.0));
            others.truncate(room);
        }
        set.extend(others.into_iter().map(|(_, c)| c));
        set.sort_unstable();
        self.size = set.len();
        set
    }
}
