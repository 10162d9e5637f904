//! L-BFGS on the whole objective.

use fenchel_linalg::Design;
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, LbfgsState};
use fenchel_optim::{Loss, Observer, Regulariser, Solution};

use crate::methods::smooth::{SmoothPart, point};
use crate::{Error, Point, Problem};

/// L-BFGS on the whole objective, for smooth losses without regulariser (`l2 >= 0`).
///
/// A pass is one evaluation of the objective and its gradient. The initial matrix of L-BFGS is diagonal. It is the
/// inverse square root of the diagonal of the largest Hessian, whose computation counts as half a pass. The
/// certificate is a duality gap for `l2 > 0`, and else the norm of the gradient. The method itself is
/// [`fenchel_optim::lbfgs`].
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth, or a regulariser that is not zero; [`Error::Invalid`] for a start of another shape
/// or settings out of range.
pub fn lbfgs<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &LbfgsSettings,
    start: Option<LbfgsState<Point>>,
    observer: &mut O,
) -> Result<Solution<LbfgsState<Point>>, Error>
where
    D: Design,
    L: Loss,
    R: Regulariser,
    O: Observer<Lbfgs<SmoothPart<'p, 'a, D, L, R>>>,
{
    let stop = problem.batch_stop(&settings.stop)?;
    let settings = &LbfgsSettings { stop, ..settings.clone() };
    problem.check_smooth("lbfgs")?;
    problem.check_unpenalised("lbfgs")?;
    let (at, memory) = start.map(|start| (start.point, start.memory)).unzip();
    let (function, x) = SmoothPart::new(problem, at)?;
    let start = LbfgsState { point: x, memory: memory.unwrap_or_default() };
    let Solution { state, report } =
        fenchel_optim::lbfgs::lbfgs(function, settings, start, observer)?;
    let state = state.map(|x| point(problem.d(), &x));
    Ok(Solution { report: problem.judged(report, &state.point), state })
}
