//! Places of a run that it may come back to.

use fenchel_linalg::Design;
use fenchel_optim::{Loss, Separable};

use super::{Ascent, Bias};
use crate::Point;
use crate::methods::dual::state::DualState;

impl<D: Design, L: Loss, R: Separable> Ascent<'_, '_, D, L, R> {
    /// Dual variables and all that is read off them.
    pub(in crate::methods::dual) fn place(&self) -> DualPlace {
        (self.state.dual.clone(), self.direction.clone(), self.bias)
    }

    /// Goes back to a place, and to the proximal centre that its direction belongs to.
    pub(in crate::methods::dual) fn go_back(
        &mut self,
        (dual, direction, bias): &DualPlace,
        centre: &[f64],
    ) {
        self.state.dual.clone_from(dual);
        self.direction.clone_from(direction);
        self.bias = *bias;
        self.centre.copy_from_slice(centre);
    }

    /// Keeps what was certified, where that is not an average, as the best so far.
    pub(in crate::methods::dual) fn keep(&mut self) {
        let best = self.best.take();
        self.best = Some(copied(best, &self.state));
    }

    /// Goes back to the best state, where the run is to end.
    pub(in crate::methods::dual) fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.state = best;
            self.restored = true;
        }
    }
}

/// Dual variables, their direction and intercept.
pub(in crate::methods::dual) type DualPlace = (Vec<f64>, Vec<f64>, Option<Bias>);

/// A copy of point and dual variables, in the memory of an older one.
pub(in crate::methods::dual) fn copied(memory: Option<DualState>, of: &DualState) -> DualState {
    let mut copy = memory.unwrap_or_else(|| DualState::new(Point::default(), Vec::new()));
    copy.point.clone_from(&of.point);
    copy.dual.clone_from(&of.dual);
    copy
}
