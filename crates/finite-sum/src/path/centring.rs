//! Between the problem that a path solves and that of the caller, who may have posed it on columns that are not centred.

use fenchel_erm::parts::Centred;
use fenchel_linalg::Design;
use fenchel_optim::prox::Zero;
use fenchel_optim::{Loss, Regulariser, Report, Stop};

use crate::{Point, Problem};

/// The problem of the caller and the centred copy that is solved in its place; `None` where it is solved itself.
pub(super) struct Centring<'c, 'a, D, L>(
    pub(super) Option<(&'c Problem<'a, D, L, Zero>, &'c Centred)>,
);

impl<D: Design, L: Loss> Centring<'_, '_, D, L> {
    /// A point of the caller, for the problem that is solved.
    pub(super) fn inward(&self, point: Point) -> Point {
        match self.0 {
            None => point,
            Some((problem, centred)) => problem.into_centred(centred, point),
        }
    }

    /// A point of the problem that was solved, and its report, for the caller.
    pub(super) fn outward<E: Design, S: Regulariser>(
        &self,
        on: &Problem<'_, E, L, S>,
        stop: &Stop,
        point: Point,
        report: Report,
    ) -> (Point, Report) {
        match self.0 {
            None => (point, report),
            Some((problem, centred)) => problem.out_of_centred(centred, on, stop, (point, report)),
        }
    }
}
