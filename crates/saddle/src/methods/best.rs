//! The best points and bounds of a run, which it returns.

use fenchel_optim::Certificate;

/// The best points so far. An objective depends on `x` only, and a lower bound is valid whatever `x` is. So, if
/// certificates are gaps, the best `x` and the best `y` may come from different pairs. A residual belongs to a pair.
pub(crate) struct Best {
    pub(crate) certificate: Certificate,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// The numbers of improvements of `x` and of `y`.
    pub(crate) changes: (u64, u64),
}

impl Best {
    /// Stores `x` or `y` if it is better than all before.
    pub(crate) fn consider(&mut self, new: Certificate, x: &[f64], y: &[f64]) {
        use Certificate::Gap;
        let (of_x, of_y) = match (self.certificate, new) {
            (
                Gap { objective: high, lower_bound: low, rounding: known },
                Gap { objective, lower_bound, rounding },
            ) => {
                let moved = (objective < high, lower_bound > low);
                let rounding = match moved {
                    (true, true) => rounding,
                    (false, false) => known,
                    _ => rounding + known,
                };
                let (best, bound) = (objective.min(high), lower_bound.max(low));
                self.certificate = Certificate::gap_within(best, bound, rounding);
                moved
            }
            (old, new) if new.value() < old.value() => {
                self.certificate = new;
                (true, true)
            }
            _ => return,
        };
        if of_x {
            self.x.copy_from_slice(x);
            self.changes.0 += 1;
        }
        if of_y {
            self.y.copy_from_slice(y);
            self.changes.1 += 1;
        }
    }
}
