//! Which methods a regulariser is open to, and the solver that goes by it.

use fenchel_linalg::Design;
use fenchel_optim::fista::FistaSettings;
use fenchel_optim::prox::{
    ElasticNet, FusedLasso, GroupLasso, GroupMax, Interval, L1, L1Ball, L2Ball, L2Norm,
    NonnegativeL1, Simplex, SparseGroupLasso, TotalVariation, WeightedL1, Zero,
};
use fenchel_optim::{Budget, Loss, Observer, Regulariser, Solution, Status};

use super::choice::{Choice, Method};
use super::guarded::{Guarded, guarded};
use super::run::{AutoSettings, elastic_net, separable};
use super::state::AutoState;
use crate::multiclass::{MulticlassAuto, MulticlassPoint, MulticlassProblem, auto as multiclass};
use crate::{Error, Point, Problem, fista};

/// Solves a problem by the method that suits it: see [the module](super).
///
/// Dense data of which at most a quarter is not 0 is copied without its zeros, 12 bytes an entry.
///
/// All methods go on from a given point; dual ascent, which knows dual variables only, from those that belong to it, scaled to
/// where the dual value is the largest. That is as good as the point for a smooth loss; at a kink any dual variable may belong
/// to a point, and a start saves half of the passes at best, little for small `l2`.
///
/// Where nothing is penalised and the logistic loss ends at a point that separates the classes, the status is
/// [`Status::NoMinimiser`]: the point is proof of it.
///
/// The observer sees the progress and the [`Method`] at work. Costs and certificates are those of the method; the
/// report adds up what both took if there was a change. A choice costs O(n).
///
/// # Errors
/// [`Error::Refused`] for a loss with a kink without l2, if only Newton's method can treat the loss and its memory is not
/// allowed, or for a loss with a kink or without a curvature
/// bound under a regulariser that is not separable; [`Error::Invalid`] for a start of another shape or settings out of
/// range.
pub fn auto<D, L, R, O>(
    problem: &Problem<'_, D, L, R>,
    settings: &AutoSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<AutoState>, Error>
where
    D: Design + Copy,
    L: Loss + Copy,
    R: Automatic,
    O: Observer<Method>,
{
    settings.stop.check()?;
    let start = start.map(|mut point| {
        problem.check_point(&point)?;
        if !problem.intercept() {
            point.intercept = 0.0;
        }
        Ok::<_, Error>(point)
    });
    let mut solution = R::solve(problem, settings, start.transpose()?, observer)?;
    let report = &mut solution.report;
    let ended = matches!(report.status, Status::Converged | Status::Stalled | Status::Diverged);
    if ended && problem.recedes_along(&solution.state.point) {
        report.status = Status::NoMinimiser;
    }
    Ok(solution)
}

/// A regulariser that [`auto`](super::auto()) takes.
///
/// What it does by default is FISTA, which takes any regulariser: for one of your own,
/// `impl Automatic for MyPenalty {}`.
pub trait Automatic: Regulariser + Clone {
    /// Solves a problem by the methods that this regulariser is open to. The start has been checked.
    ///
    /// # Errors
    /// Those of the methods.
    fn solve<D, L, O>(
        problem: &Problem<'_, D, L, Self>,
        settings: &AutoSettings,
        start: Option<Point>,
        observer: &mut O,
    ) -> Result<Solution<AutoState>, Error>
    where
        D: Design + Copy,
        L: Loss + Copy,
        O: Observer<Method>,
    {
        let by = |_, start: Option<Point>, stop, watch: &mut Guarded<'_, O>| {
            let settings = FistaSettings { stop, ..FistaSettings::default() };
            let start = start.map(Point::into);
            let Solution { state, report } = fista(problem, &settings, start, watch)?;
            Ok((state.point, report))
        };
        guarded(Choice::joint(problem), Budget::new(settings.stop), start, observer, by)
    }

    /// The same for several classes.
    ///
    /// # Errors
    /// Those of the methods.
    fn solve_multiclass<D, O>(
        problem: &MulticlassProblem<'_, D, Self>,
        settings: &AutoSettings,
        start: Option<MulticlassPoint>,
        observer: &mut O,
    ) -> Result<Solution<MulticlassAuto>, Error>
    where
        D: Design + Copy,
        O: Observer<Method>,
    {
        multiclass::joint(problem, settings, start, observer)
    }
}

macro_rules! solved_by {
    ($solver:ident, $multiclass:ident: $($regulariser:ty),*) => {$(
        impl Automatic for $regulariser {
            fn solve<D, L, O>(
                problem: &Problem<'_, D, L, Self>,
                settings: &AutoSettings,
                start: Option<Point>,
                observer: &mut O,
            ) -> Result<Solution<AutoState>, Error>
            where
                D: Design + Copy,
                L: Loss + Copy,
                O: Observer<Method>,
            {
                $solver(problem, settings, start, observer)
            }

            fn solve_multiclass<D, O>(
                problem: &MulticlassProblem<'_, D, Self>,
                settings: &AutoSettings,
                start: Option<MulticlassPoint>,
                observer: &mut O,
            ) -> Result<Solution<MulticlassAuto>, Error>
            where
                D: Design + Copy,
                O: Observer<Method>,
            {
                multiclass::$multiclass(problem, settings, start, observer)
            }
        }
    )*};
}

solved_by!(elastic_net, smooth: Zero);
solved_by!(elastic_net, separable: L1, ElasticNet);
solved_by!(separable, separable: Interval, WeightedL1, NonnegativeL1);
impl Automatic for GroupLasso {}
impl Automatic for GroupMax {}
impl Automatic for SparseGroupLasso {}
impl Automatic for L2Norm {}
impl Automatic for L1Ball {}
impl Automatic for L2Ball {}
impl Automatic for Simplex {}
impl Automatic for TotalVariation {}
impl Automatic for FusedLasso {}

/// What it refers to is copied: the methods are those of the regulariser itself.
impl<R: Automatic> Automatic for &R {
    fn solve<D, L, O>(
        problem: &Problem<'_, D, L, Self>,
        settings: &AutoSettings,
        start: Option<Point>,
        observer: &mut O,
    ) -> Result<Solution<AutoState>, Error>
    where
        D: Design + Copy,
        L: Loss + Copy,
        O: Observer<Method>,
    {
        let own = R::clone(problem.regulariser());
        R::solve(&problem.clone().penalised(own, problem.l2())?, settings, start, observer)
    }

    fn solve_multiclass<D, O>(
        problem: &MulticlassProblem<'_, D, Self>,
        settings: &AutoSettings,
        start: Option<MulticlassPoint>,
        observer: &mut O,
    ) -> Result<Solution<MulticlassAuto>, Error>
    where
        D: Design + Copy,
        O: Observer<Method>,
    {
        let own = R::clone(problem.regulariser());
        R::solve_multiclass(
            &problem.clone().penalised(own, problem.l2())?,
            settings,
            start,
            observer,
        )
    }
}
