//! The method that suits a problem of several classes.
//!
//! | case | method |
//! |---|---|
//! | a regulariser that ties the weights together | [`fista`](super::fista) |
//! | l1 or another separable regulariser | [`catalyst`](super::catalyst) |
//! | none, few features and classes | [`newton`](super::newton) |
//! | none, long rows and a well conditioned dual | [`catalyst`](super::catalyst), which is SDCA for `beta >= 1` |
//! | none, else | [`newton_cg`](super::newton_cg) |
//!
//! `beta = n mu / mean L_i`. Without regulariser the choice is that of the fewest predicted batch passes. The model is that of
//! one data set, handwritten digits (1,797 rows, 64 features, 10 classes): Newton-CG took 49, 99, 208, 438 passes to 1e-6 for
//! `beta` = 4, 0.4, 0.04, 0.001, and dual ascent 7, 21, 171 and more than 600 passes of the price of 8; a pass that Newton's
//! method counts for its Hessian took 2.5. As in the binary case ([`auto`](mod@crate::auto)) the second best method takes over
//! once.

use fenchel_linalg::Design;
use fenchel_optim::fista::FistaSettings;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::newton::NewtonCgSettings;
use fenchel_optim::prox::Zero;
use fenchel_optim::{Observer, Regulariser, Report, Separable, Solution, Stop};
use serde::{Deserialize, Serialize};

use super::ascent::{MulticlassSettings, MulticlassState, catalyst};
use super::batch::{fista, lbfgs};
use super::newton::{hessian_bytes, hessian_cost, newton, newton_cg};
use super::problem::{CURVATURE, MulticlassPoint, MulticlassProblem};
use crate::Error;
use crate::auto::{AutoSettings, Automatic, Choice, Method, Reason, Show, relay};
use crate::newton::NewtonSettings;

/// A pass of exact dual steps with its share of certificates, in batch passes: as much again for rows in random order, and
/// a price a row for the exponentials, in entries.
const DUAL_PASS: f64 = 1.5;
const DUAL_ROW: f64 = 400.0;

/// A pass that Newton's method counts for its Hessian, in batch passes.
const NEWTON_PASS: f64 = 2.5;

/// Steps that Newton's method is predicted to need.
const NEWTON_STEPS: f64 = 6.0;

/// Where [`auto`] ended, and how it got there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MulticlassAutoState {
    /// The point.
    pub point: MulticlassPoint,
    /// What was chosen and why.
    pub choice: Choice,
}

/// Solves a problem of several classes by the method that suits it, as [`auto`](crate::auto()) does for one margin.
///
/// The observer sees the progress and the [`Method`] at work.
///
/// # Errors
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn auto<D, R, O>(
    problem: &MulticlassProblem<'_, D, R>,
    settings: &AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &mut O,
) -> Result<Solution<MulticlassAutoState>, Error>
where
    D: Design + Copy,
    R: Automatic,
    O: Observer<Method>,
{
    settings.stop.check()?;
    if let Some(start) = &start {
        problem.check_point(start)?;
    }
    R::solve_multiclass(problem, settings, start, observer)
}

/// Without regulariser.
pub(crate) fn smooth<D, O>(
    problem: &MulticlassProblem<'_, D, Zero>,
    settings: &AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &mut O,
) -> Result<Solution<MulticlassAutoState>, Error>
where
    D: Design + Copy,
    O: Observer<Method>,
{
    let AutoSettings { memory_limit, seed, stop } = *settings;
    let mut choice = choose(problem, stop.relative, memory_limit);
    let by = |method, start, stop, show: &mut Show<'_, O>| {
        let Solution { state, report } = match method {
            Method::Newton => {
                let settings = NewtonSettings { memory_limit, seed, stop };
                newton(problem, &settings, start, show)?
            }
            Method::NewtonCg => {
                let settings = NewtonCgSettings { stop, ..NewtonCgSettings::default() };
                newton_cg(problem, &settings, start, show)?
            }
            Method::Lbfgs => {
                let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
                lbfgs(problem, &settings, start, show)?
            }
            _ => return ascend(problem, seed, start, stop, show),
        };
        Ok((state, report))
    };
    let (point, report) = relay(&mut choice, stop, start, observer, by)?;
    Ok(Solution { state: MulticlassAutoState { point, choice }, report })
}

/// With a separable regulariser.
pub(crate) fn separable<D, R, O>(
    problem: &MulticlassProblem<'_, D, R>,
    settings: &AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &mut O,
) -> Result<Solution<MulticlassAutoState>, Error>
where
    D: Design + Copy,
    R: Separable,
    O: Observer<Method>,
{
    let AutoSettings { seed, stop, .. } = *settings;
    let beta = conditioning(problem);
    let mut choice = Choice { beta, ..Choice::only(Method::Catalyst, Reason::Dual) };
    let by = |_, start, stop, show: &mut Show<'_, O>| ascend(problem, seed, start, stop, show);
    let (point, report) = relay(&mut choice, stop, start, observer, by)?;
    Ok(Solution { state: MulticlassAutoState { point, choice }, report })
}

/// With any regulariser.
pub(crate) fn joint<D, R, O>(
    problem: &MulticlassProblem<'_, D, R>,
    settings: &AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &mut O,
) -> Result<Solution<MulticlassAutoState>, Error>
where
    D: Design + Copy,
    R: Regulariser,
    O: Observer<Method>,
{
    let beta = conditioning(problem);
    let mut choice = Choice { beta, ..Choice::only(Method::Fista, Reason::JointRegulariser) };
    let by = |_, start, stop, show: &mut Show<'_, O>| {
        let settings = FistaSettings { stop, ..FistaSettings::default() };
        let Solution { state, report } = fista(problem, &settings, start, show)?;
        Ok((state, report))
    };
    let (point, report) = relay(&mut choice, settings.stop, start, observer, by)?;
    Ok(Solution { state: MulticlassAutoState { point, choice }, report })
}

fn ascend<D: Design, R: Separable, O: Observer<Method>>(
    problem: &MulticlassProblem<'_, D, R>,
    seed: u64,
    start: Option<MulticlassPoint>,
    stop: Stop,
    show: &mut Show<'_, O>,
) -> Result<(MulticlassPoint, Report), Error> {
    let settings = MulticlassSettings { seed, stop, ..MulticlassSettings::default() };
    let start = start.map(|point| MulticlassState::at(problem, point));
    let Solution { state, report } = catalyst(problem, &settings, start, show)?;
    Ok((state.point, report))
}

/// `beta = n mu / mean L_i`
fn conditioning<D: Design, R: Regulariser>(problem: &MulticlassProblem<'_, D, R>) -> f64 {
    let mean = CURVATURE * problem.mean_norm_squared();
    let mu = problem.strong_convexity();
    if mean > 0.0 { problem.n() as f64 * mu / mean } else { f64::INFINITY }
}

/// Chooses for a problem without regulariser.
fn choose<D: Design>(
    problem: &MulticlassProblem<'_, D, Zero>,
    relative: f64,
    memory_limit: u64,
) -> Choice {
    let beta = conditioning(problem);
    let newton_step = if hessian_bytes(problem) <= memory_limit {
        1.5 + hessian_cost(problem)
    } else {
        f64::INFINITY
    };
    let scale = if relative > 0.0 { -relative.log10() } else { 12.0 } / 6.0;
    // Passes to 1e-6 on handwritten digits, wine and iris, unless Newton's method is cheaper there anyway.
    let (ascent, newton_cg) = match beta {
        b if b >= 2.0 => (8.0, 50.0),
        b if b >= 0.1 => (20.0, 100.0),
        b if b >= 0.005 => (150.0, 200.0),
        b => (150.0 * (0.005 / b.max(1e-300)).sqrt(), 400.0),
    };
    let (ascent, newton_cg) = (scale * ascent, scale * newton_cg);
    let entries = problem.design().stored().max(1) as f64 / problem.n() as f64;
    let pass = DUAL_PASS + DUAL_ROW / entries;
    let dual = if problem.l2() > 0.0 { pass * ascent } else { f64::INFINITY };
    let newton = NEWTON_PASS * NEWTON_STEPS * newton_step;
    let (method, promised) = match () {
        () if newton <= dual.min(newton_cg) => (Method::Newton, NEWTON_STEPS * newton_step),
        () if newton_cg <= dual => (Method::NewtonCg, newton_cg),
        () => (Method::Catalyst, ascent),
    };
    let only = Choice::only(method, Reason::Cost);
    Choice { beta, newton_step, newton, newton_cg, dual, promised, ..only }
}
