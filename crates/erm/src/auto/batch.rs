//! The batch method for a problem.

use fenchel_linalg::Design;
use fenchel_optim::{Budget, Loss, Observer, Regulariser, Solution, Stop};

use super::choice::{Choice, Method, Reason};
use super::guarded::{Guarded, guarded};
use super::state::AutoState;
use crate::methods::{FistaSettings, LbfgsSettings, NewtonCgSettings, fista, lbfgs, newton_cg};
use crate::{Error, Point, Problem};

/// Solves a problem by a batch method: L-BFGS, FISTA under a regulariser, Newton-CG for a loss without a curvature bound. It takes rows
/// that are spread over processes ([`Design::spread`]), which [`auto`](super::auto()) refuses. There all processes call it together, and
/// their observers answer alike.
///
/// # Errors
/// [`Error::Refused`] for a loss with a kink, or one without a curvature bound under a regulariser; [`Error::Invalid`] for a start of
/// another shape or settings out of range.
pub fn batch<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    stop: &Stop,
    start: Option<Point>,
    observer: &mut dyn Observer<Method>,
) -> Result<Solution<AutoState>, Error> {
    let method = match () {
        () if !problem.regulariser().is_zero() => Method::Fista,
        () if problem.loss().curvature().is_finite() => Method::Lbfgs,
        () => Method::NewtonCg,
    };
    let by = |method, start: Option<Point>, stop, watch: &mut Guarded<'_>| match method {
        Method::Fista => {
            let settings = FistaSettings { stop, ..FistaSettings::default() };
            let Solution { state, report } =
                fista(problem, &settings, start.map(Point::into), watch)?;
            Ok((state.point, report))
        }
        Method::Lbfgs => {
            let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
            let Solution { state, report } =
                lbfgs(problem, &settings, start.map(Point::into), watch)?;
            Ok((state.point, report))
        }
        _ => {
            let settings = NewtonCgSettings { stop, ..NewtonCgSettings::default() };
            let Solution { state, report } = newton_cg(problem, &settings, start, watch)?;
            Ok((state, report))
        }
    };
    guarded(Choice::only(method, Reason::SpreadRows), Budget::new(*stop), start, observer, by)
}
