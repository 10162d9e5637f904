//! From a state to a run, and back.

use super::super::state::{Lagging, Run, SumState, Trail};
use super::{FiniteSum, Incremental, REFRESH, Reference};
use crate::lag::Composite;

impl<T: FiniteSum, R: Composite> Incremental<'_, '_, T, R> {
    /// Goes on where a run of the same method on the same sum stood, and not at all otherwise.
    pub(super) fn follow(&mut self, trail: Trail) {
        let (n, d) = (self.sum.terms.terms(), self.x.len());
        let (reference, centre, capacity) = (&self.reference, &self.centre, self.powers.capacity());
        let vector = |v: &[f64]| v.len() == d && v.iter().all(|v| v.is_finite());
        let largest = self.table.iter().fold(f64::MIN_POSITIVE, |m: f64, g| m.max(g.abs()));
        let pulled = |average: &[f64], centre: &Option<(Vec<f64>, f64)>, c: usize| {
            average[c] + centre.as_ref().map_or(0.0, |(y, kappa)| kappa * y[c])
        };
        // Up to the rounding of updates.
        let of_table = |lagging: &Lagging| {
            let own = |c| pulled(&self.average, centre, c);
            let kept = |c| pulled(&lagging.average, &lagging.centre, c);
            matches!(reference, Reference::Snapshot { .. })
                || (0..d).all(|c| {
                    let size = largest + self.average[c].abs() + lagging.average[c].abs();
                    (own(c) - kept(c)).abs() <= 1e-9 * size
                })
        };
        let fits = |run: &Run| {
            let Run::Incremental(lagging) = run else { return false };
            let snapshot_fits = match (reference, &lagging.snapshot) {
                (Reference::Table { .. }, None) => true,
                (Reference::Snapshot { .. }, Some((point, _))) => vector(point),
                _ => false,
            };
            let centre_fits = match (centre, &lagging.centre, &lagging.momentum) {
                (None, None, None) => true,
                (Some((_, kappa)), Some((y, weight)), Some((_, old))) => {
                    kappa == weight && vector(y) && vector(old)
                }
                _ => false,
            };
            snapshot_fits
                && centre_fits
                && vector(&lagging.x)
                && vector(&lagging.average)
                && lagging.steps < REFRESH * n
                && lagging.now <= capacity
                && lagging.done.len() == d
                && lagging.done.iter().all(|&done| done <= lagging.now)
                && of_table(lagging)
        };
        let (step, shown) = (self.step, &self.shown);
        let followed = trail.follow(self.name, step, self.sum, shown, &mut self.visits, fits);
        let Some(Run::Incremental(lagging)) = followed else { return };
        let Lagging { x, average, steps, done, now, snapshot, centre, momentum } = lagging;
        (self.x, self.average, self.steps) = (x, average, steps);
        (self.done, self.now) = (done, now);
        (self.centre, self.momentum) = (centre, momentum);
        if let (Reference::Snapshot { point, since, .. }, Some(kept)) =
            (&mut self.reference, snapshot)
        {
            (*point, *since) = kept;
        }
    }

    /// The state to return, at the point that is shown.
    pub(in super::super) fn into_state(mut self) -> SumState {
        if self.restored {
            return self.shown.into();
        }
        let snapshot = match self.reference {
            Reference::Table { .. } => None,
            Reference::Snapshot { point, since, .. } => Some((point, since)),
        };
        let run = Run::Incremental(Lagging {
            x: self.x,
            average: self.average,
            steps: self.steps,
            done: self.done,
            now: self.now,
            snapshot,
            centre: self.centre,
            momentum: self.momentum,
        });
        let trail = Trail::new(self.name, self.step, self.sum, &self.shown, &self.visits, run);
        if self.fill {
            self.table.clear();
        }
        SumState { point: self.shown, table: self.table, trail: Some(trail) }
    }
}
