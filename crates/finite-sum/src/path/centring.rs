//! How the points of the problem that a path solves are told to the caller, who may have posed it on columns that are not centred.

use fenchel_erm::parts::Centred;
use fenchel_linalg::Design;
use fenchel_optim::prox::Zero;
use fenchel_optim::{Loss, Regulariser, Report, Stop};

use crate::{Point, Problem};

/// Translates points between the problem of the caller and the one on a design `E` that is solved.
pub(super) trait Centring<E, L> {
    /// A point of the caller, for the problem that is solved.
    fn inward(&self, point: Point) -> Point;

    /// A point of the problem that was solved, and its report, for the caller.
    fn outward<S: Regulariser>(
        &self,
        on: &Problem<'_, E, L, S>,
        stop: &Stop,
        point: Point,
        report: Report,
    ) -> (Point, Report);
}

/// The problem of the caller itself is solved.
pub(super) struct AsGiven;

impl<E, L> Centring<E, L> for AsGiven {
    fn inward(&self, point: Point) -> Point {
        point
    }

    fn outward<S: Regulariser>(
        &self,
        _: &Problem<'_, E, L, S>,
        _: &Stop,
        point: Point,
        report: Report,
    ) -> (Point, Report) {
        (point, report)
    }
}

/// A centred copy is solved.
pub(super) struct OnCopy<'c, 'a, D, L> {
    pub(super) problem: &'c Problem<'a, D, L, Zero>,
    pub(super) centred: &'c Centred,
}

impl<D: Design, E: Design, L: Loss> Centring<E, L> for OnCopy<'_, '_, D, L> {
    fn inward(&self, point: Point) -> Point {
        self.problem.into_centred(self.centred, point)
    }

    fn outward<S: Regulariser>(
        &self,
        on: &Problem<'_, E, L, S>,
        stop: &Stop,
        point: Point,
        report: Report,
    ) -> (Point, Report) {
        self.problem.out_of_centred(self.centred, on, stop, (point, report))
    }
}
