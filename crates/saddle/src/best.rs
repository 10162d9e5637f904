//! What a run returns: the best that it has seen.

use fenchel_optim::Certificate;

/// The best that was seen. An objective is about `x` alone and a lower bound holds whatever `x` is, so that with a gap the two blocks are
/// the best ones of different pairs; a residual is about a pair.
pub(crate) struct Best {
    pub(crate) certificate: Certificate,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// How often `x` and `y` became better.
    pub(crate) changes: (u64, u64),
}

impl Best {
    /// Remembers what is better than all before.
    pub(crate) fn consider(&mut self, new: Certificate, x: &[f64], y: &[f64]) {
        use Certificate::Gap;
        let (of_x, of_y) = match (self.certificate, new) {
            (Gap { objective: high, lower_bound: low }, Gap { objective, lower_bound }) => {
                self.certificate = Certificate::gap(objective.min(high), lower_bound.max(low));
                (objective < high, lower_bound > low)
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
