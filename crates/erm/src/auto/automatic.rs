//! `auto` and `batch`, and the methods that each regulariser allows.

use std::ops::Deref;

use fenchel_linalg::{Design, Nonzeros};
use fenchel_optim::prox::{L1, L1L2};
use fenchel_optim::{Budget, Loss, Observer, Regulariser, Solution, Stop};

use super::case::conditioning;
use super::choice::{AutoState, Choice, JOINT, Method};
use super::guarded::{Guarded, guarded};
use super::run::{AutoSettings, by_any, by_fista, by_passes, by_terms};
use crate::methods::lag::{Call, Composite, Lagged};
use crate::methods::newton::AsElasticNet;
use crate::on_centred;
use crate::shared::check_whole;
use crate::{Error, Point, Problem};

/// Solves a problem by the method that suits it: see [the module](super).
///
/// Dense data of which at most a quarter is not 0 is copied without its zeros, 12 bytes an entry. Where the problem has an intercept
/// and columns whose mean exceeds ten standard deviations (years, kelvins), a copy in which they are centred is solved; the answer is
/// one for the columns as they are, and so is its certificate. A copy that would not fit into `max_memory` is not made.
///
/// All methods continue from a given point. Dual ascent works on dual variables: it takes those that belong to the point, scaled to the
/// largest dual value. For a smooth loss this is as good as the point itself. For a loss with a kink many dual variables belong to a
/// point, so that a start saves half of the passes at best, and few for small `l2`.
///
/// Where nothing is penalised and a hyperplane separates the classes of the logistic loss, be it through some of the rows, the
/// status is [`NoMinimiser`](fenchel_optim::Status::NoMinimiser), as that of each method called directly.
///
/// Rows that are spread over processes ([`Design::spread`]) are refused: [`batch`](super::batch()) takes them.
///
/// The observer sees the progress and the [`Method`] at work. If a second method took over, the report adds up the costs of both.
/// A choice costs O(n).
///
/// # Errors
/// [`Error::Refused`] for a loss with a kink without l2, if only Newton's method can treat the loss and its memory is not
/// allowed, or for a loss with a kink or without a curvature
/// bound under a regulariser that is not separable; [`Error::Invalid`] for a start of another shape or settings out of
/// range.
pub fn auto<D: Design + Copy, L: Loss + Copy, R: Composite>(
    problem: &Problem<'_, D, L, R>,
    settings: &AutoSettings,
    start: Option<Point>,
    observer: &mut dyn Observer<Method>,
) -> Result<Solution<AutoState>, Error> {
    settings.stop.check()?;
    check_whole(problem.design())?;
    let start = start.map(|mut point| {
        problem.check_start(&point)?;
        if !problem.intercept() {
            point.intercept = 0.0;
        }
        Ok::<_, Error>(point)
    });
    let (start, budget) = (start.transpose()?, Budget::new(settings.stop));
    let Some(centred) = problem.centred(settings.max_memory) else {
        return R::dispatch(Binary { problem, settings, start, observer });
    };
    let start = start.map(|start| problem.into_centred(&centred, start));
    let settings = &AutoSettings { stop: budget.left(), ..settings.clone() };
    on_centred!(centred, design => {
        let on = &problem.seen_through(design, problem.regulariser().clone())?;
        let Solution { state, report } =
            R::dispatch(Binary { problem: on, settings, start, observer })?;
        let ended = (state.point, report);
        let (point, report) = problem.out_of_centred(&centred, on, &settings.stop, ended);
        Ok(Solution { state: AutoState { point, ..state }, report })
    })
}

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
    let by = |method, start, stop, watch: &mut Guarded<'_>| {
        by_passes(problem, method, start, stop, watch)
    };
    guarded(
        Choice::only(method, "the rows are spread over processes"),
        Budget::new(*stop),
        start,
        observer,
        by,
    )
}

/// A problem of one margin.
struct Binary<'c, 'a, D, L, R> {
    problem: &'c Problem<'a, D, L, R>,
    settings: &'c AutoSettings,
    start: Option<Point>,
    observer: &'c mut dyn Observer<Method>,
}

impl<D, L, R> Call<R> for Binary<'_, '_, D, L, R>
where
    D: Design + Copy,
    L: Loss + Copy,
    R: Regulariser + Clone,
{
    type Solved = Result<Solution<AutoState>, Error>;

    fn elastic_net(self) -> Self::Solved
    where
        R: AsElasticNet + Lagged,
    {
        let Binary { problem, settings, start, observer } = self;
        let L1L2 { l1, l2 } = problem.regulariser().weights();
        // One type for all of them: every method is compiled once, not once a regulariser.
        let problem = &problem.clone().penalised(L1 { strength: l1 }, problem.l2() + l2)?;
        let budget = Budget::new(settings.stop);
        match Nonzeros::if_worth(problem.design(), settings.max_memory) {
            Some(copy) => {
                as_stored(&problem.stored_as(copy.view()), settings, budget, start, observer)
            }
            None => as_stored(problem, settings, budget, start, observer),
        }
    }

    fn general(self) -> Self::Solved
    where
        R: Composite,
    {
        let Binary { problem, settings, start, observer } = self;
        if let Some(sum) = problem.regulariser().coordinates() {
            let problem = &problem.clone().penalised(sum.clone(), problem.l2())?;
            let by = |method, start, stop, watch: &mut Guarded<'_>| match method {
                Method::Fista => by_fista(problem, start, stop, watch),
                _ => by_terms(problem, settings.seed, method, start, stop, watch),
            };
            let (choice, budget) = (Choice::by_terms(problem)?, Budget::new(settings.stop));
            return guarded(choice, budget, start, observer, by);
        }
        let by = |_, start, stop, watch: &mut Guarded<'_>| by_fista(problem, start, stop, watch);
        let choice = Choice { beta: conditioning(problem), ..Choice::only(Method::Fista, JOINT) };
        guarded(choice, Budget::new(settings.stop), start, observer, by)
    }

    fn owned<S: Composite>(self) -> Self::Solved
    where
        R: Deref<Target = S>,
    {
        let Binary { problem, settings, start, observer } = self;
        let own = S::clone(problem.regulariser());
        let problem = &problem.clone().penalised(own, problem.l2())?;
        S::dispatch(Binary { problem, settings, start, observer })
    }
}

/// With l1, l2, both or neither, on the data as it is stored.
fn as_stored<D, L>(
    problem: &Problem<'_, D, L, L1>,
    settings: &AutoSettings,
    budget: Budget,
    start: Option<Point>,
    observer: &mut dyn Observer<Method>,
) -> Result<Solution<AutoState>, Error>
where
    D: Design + Copy,
    L: Loss + Copy,
{
    let AutoSettings { max_memory, seed, .. } = *settings;
    let choice = match problem.loss().twice_differentiable() {
        true => Choice::of(problem, budget.left().relative, max_memory)?,
        false => Choice::by_terms(problem)?,
    };
    let by = |method, start, stop, watch: &mut Guarded<'_>| {
        by_any(problem, (max_memory, seed), method, start, stop, watch)
    };
    guarded(choice, budget, start, observer, by)
}
