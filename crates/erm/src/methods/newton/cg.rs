//! Newton-CG: Newton steps by conjugate gradients, for smooth problems with many features.
//!
//! The step `w` minimises the model `g.w + (1/2) w'Hw`, `H = A' diag(phi''(t)) A / n + l2 I`, by products
//! `H v = A'(phi'' * (A v)) / n + l2 v` alone: a pass each, on all cores. The unpenalised intercept is the last variable.

use fenchel_linalg::Design;
use fenchel_optim::newton::{NewtonCg, NewtonCgSettings};
use fenchel_optim::{Loss, Observer, Regulariser, Solution};

use crate::methods::smooth::{SmoothPart, point};
use crate::{Error, Point, Problem};

/// Newton-CG for twice differentiable losses with `l2 >= 0` and no other regulariser.
///
/// The batch method for many features and small `l2`: a step costs `1.5` passes and one for each product, at most 200,
/// whatever `d` is, and all of it runs on all cores. Memory: `8 n + 7 d` numbers. Certifies a duality gap where
/// `l2 > 0`, else the norm of the gradient. The method itself is [`fenchel_optim::newton`].
///
/// ```
/// use fenchel_erm::loss::Logistic;
/// use fenchel_erm::prox::Zero;
/// use fenchel_erm::methods::{NewtonCgSettings, newton_cg};
/// use fenchel_erm::prelude::{AsDesign, Status};
/// use fenchel_erm::Problem;
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
/// let solution = newton_cg(&problem, &NewtonCgSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_erm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Refused`] for a loss with a kink, or a regulariser that is not zero; [`Error::Invalid`] for a start of another shape or settings out of
/// range.
pub fn newton_cg<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &NewtonCgSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error>
where
    D: Design,
    L: Loss,
    R: Regulariser,
    O: Observer<NewtonCg<SmoothPart<'p, 'a, D, L, R>>>,
{
    let stop = problem.batch_stop(&settings.stop)?;
    let settings = &NewtonCgSettings { stop, ..settings.clone() };
    problem.check_twice_differentiable("newton_cg")?;
    problem.check_unpenalised("newton_cg")?;
    let (function, start) = SmoothPart::new(problem, start)?;
    let Solution { state, report } =
        fenchel_optim::newton::newton_cg(function, settings, start, observer)?;
    let state = point(problem.d(), &state);
    Ok(Solution { report: problem.judged(report, &state), state })
}
