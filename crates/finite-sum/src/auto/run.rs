//! Running what was chosen.

use std::ops::ControlFlow;

use fenchel_linalg::{Design, Subset};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{ElasticNet, Zero};
use fenchel_optim::random::stream;
use fenchel_optim::{Loss, Observer, Progress, Report, Solution, Status, Stop};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::choice::{Choice, Method, many_rows};
use crate::dual::{CatalystSettings, DualState, SdcaSettings, SdcaStep, catalyst, sdca};
use crate::newton::{
    ElasticNetForm, NewtonCgSettings, NewtonCgState, NewtonSettings, newton, newton_cg,
};
use crate::{Error, Point, Problem, lbfgs};

/// A method that needs this many times its predicted passes is given up.
const PATIENCE: f64 = 3.0;
/// Before so many passes no method is.
const LEAST: f64 = 50.0;

/// Settings of [`auto`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `memory_limit` | 4 GiB | for a Hessian or a copy by columns |
/// | `seed` | 0 | of visiting orders and samples |
/// | `stop` | see [`Stop`] | when to end; its relative tolerance takes part in the choice |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AutoSettings {
    /// Largest size of what a method may allocate, in bytes.
    pub memory_limit: u64,
    /// Seed of visiting orders and samples.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for AutoSettings {
    fn default() -> Self {
        AutoSettings { memory_limit: 4 << 30, seed: 0, stop: Stop::default() }
    }
}

/// Where [`auto`] ended, and how it got there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoState {
    /// The point.
    pub point: Point,
    /// What was chosen and why.
    pub choice: Choice,
}

/// Solves a problem with l1, l2, both or neither by the method that suits it: see [the module](super).
///
/// The observer sees the progress and the [`Method`] at work. Costs and certificates are those of the method; the
/// report adds up what both took if there was a change. A choice costs O(n).
///
/// # Errors
/// [`Error::NeedsStrongConvexity`] for a loss with a kink without l2; [`Error::MemoryLimit`] if only Newton's method can
/// treat the loss and its memory is not allowed; [`Error::Invalid`] for a start of another shape or settings out of
/// range.
pub fn auto<'a, D, L, R, O>(
    problem: &Problem<'a, D, L, R>,
    settings: &AutoSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<AutoState>, Error>
where
    D: Design + Copy,
    L: Loss + Copy,
    R: ElasticNetForm + Clone,
    O: Observer<Method>,
{
    let AutoSettings { memory_limit, seed, stop } = *settings;
    stop.check()?;
    if let Some(start) = &start {
        problem.check_point(start)?;
    }
    let ElasticNet { l1, l2 } = problem.regulariser().weights();
    if l1 == 0.0 && !R::IDENTITY {
        let smooth = problem.clone().penalised(Zero, problem.l2() + l2)?;
        return auto(&smooth, settings, start, observer);
    }
    let mut choice = Choice::of(problem, l1, stop.relative, memory_limit)?;
    let second = choice.second();
    let patience = (PATIENCE * choice.predicted()).max(LEAST);
    let first_stop = Stop {
        max_passes: if second.is_some() { stop.max_passes.min(patience) } else { stop.max_passes },
        ..stop
    };
    let mut run = Run { problem, l1, seed, memory_limit, observer, before: None };
    let (mut point, mut report) = run.by(choice.method, start, first_stop)?;
    let gave_up = report.status == Status::PassLimit && first_stop.max_passes < stop.max_passes;
    if let Some(second) = second.filter(|_| gave_up || report.status == Status::Stalled) {
        choice.switched = Some(second);
        let rest = Stop {
            max_passes: (stop.max_passes - report.passes).max(0.0),
            max_seconds: stop.max_seconds.map(|limit| (limit - report.seconds).max(0.0)),
            ..stop
        };
        run.before = Some(report);
        let after;
        (point, after) = run.by(second, Some(point), rest)?;
        report = Report {
            passes: report.passes + after.passes,
            oracle_calls: report.oracle_calls + after.oracle_calls,
            seconds: report.seconds + after.seconds,
            ..after
        };
    }
    Ok(Solution { state: AutoState { point, choice }, report })
}

/// One problem and what all methods share.
struct Run<'r, 'a, D, L, R, O> {
    problem: &'r Problem<'a, D, L, R>,
    l1: f64,
    seed: u64,
    memory_limit: u64,
    observer: &'r mut O,
    /// The account of the method that was given up.
    before: Option<Report>,
}

impl<D, L, R, O> Run<'_, '_, D, L, R, O>
where
    D: Design + Copy,
    L: Loss + Copy,
    R: ElasticNetForm + Clone,
    O: Observer<Method>,
{
    fn by(
        &mut self,
        method: Method,
        start: Option<Point>,
        stop: Stop,
    ) -> Result<(Point, Report), Error> {
        let (problem, seed) = (self.problem, self.seed);
        let mut show = Show { observer: &mut *self.observer, method, before: self.before };
        match method {
            Method::Sdca => {
                let settings = SdcaSettings { seed, stop, ..SdcaSettings::default() };
                let solution = sdca(problem, &settings, None, &mut show)?;
                Ok((solution.state.point, solution.report))
            }
            Method::Catalyst => {
                let step = step(problem);
                let settings = CatalystSettings { step, seed, stop, ..CatalystSettings::default() };
                let start = start.map(|point| dual_state(problem, point));
                let solution = catalyst(problem, &settings, start, &mut show)?;
                Ok((solution.state.point, solution.report))
            }
            Method::Newton => {
                let head = match &start {
                    None => self.head_start(stop)?,
                    Some(_) => None,
                };
                let mut show = Show { observer: &mut *self.observer, method, before: self.before };
                let settings = NewtonSettings { memory_limit: self.memory_limit, seed, stop };
                let start = start.or_else(|| head.as_ref().map(|head| head.state.clone()));
                let Solution { state, mut report } = newton(problem, &settings, start, &mut show)?;
                if let Some(head) = head {
                    report.passes += 0.1 * head.report.passes;
                    report.seconds += head.report.seconds;
                }
                Ok((state, report))
            }
            Method::NewtonCg => {
                // Only chosen without l1, as L-BFGS.
                let smooth = problem.clone().penalised(Zero, problem.l2())?;
                let settings = NewtonCgSettings { stop, ..NewtonCgSettings::default() };
                let start = start.map(NewtonCgState::from);
                let solution = newton_cg(&smooth, &settings, start, &mut show)?;
                Ok((solution.state.point, solution.report))
            }
            Method::Lbfgs => {
                let smooth = problem.clone().penalised(Zero, problem.l2())?;
                let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
                let solution = lbfgs(&smooth, &settings, start, &mut show)?;
                Ok((solution.state, solution.report))
            }
        }
    }

    /// A rough solution on a tenth of the rows, where the rows are many: its cost is a tenth, and it saves
    /// about half of the steps on all of them. It counts in the report.
    fn head_start(&self, stop: Stop) -> Result<Option<Solution<Point>>, Error> {
        let problem = self.problem;
        // Without a regulariser a sample may be separable, and its solution at infinity. A few heavy rows need not
        // be in it.
        let bounded = self.l1 + problem.strong_convexity() > 0.0;
        if !many_rows(problem) || !bounded || problem.weighted() {
            return Ok(None);
        }
        let mut index: Vec<usize> = (0..problem.n()).collect();
        let (tenth, _) = index.partial_shuffle(&mut stream(self.seed, 1), problem.n() / 10);
        let targets: Vec<f64> = tenth.iter().map(|&i| problem.targets()[i]).collect();
        // One class has its optimum at infinity.
        if targets.iter().all(|y| *y == targets[0]) {
            return Ok(None);
        }
        let rows = Subset::new(*problem.design(), tenth);
        let regulariser = problem.regulariser().weights();
        let sample = Problem::new(rows, &targets, *problem.loss(), regulariser, problem.l2())?;
        let sample = if problem.intercept() { sample.with_intercept() } else { sample };
        let max_seconds = stop.max_seconds;
        let stop = Stop { max_passes: 100.0, max_seconds, ..Stop::at_relative(1e-2) };
        let settings = NewtonSettings { memory_limit: self.memory_limit, seed: self.seed, stop };
        Ok(Some(newton(&sample, &settings, None, &mut Silent::<O>(std::marker::PhantomData))?))
    }
}

/// Shows an observer of [`auto`] the progress of a method.
struct Show<'o, O> {
    observer: &'o mut O,
    method: Method,
    before: Option<Report>,
}

impl<M: ?Sized, O: Observer<Method>> Observer<M> for Show<'_, O> {
    const WATCHES: bool = O::WATCHES;

    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        let mut progress = *progress;
        if let Some(before) = &self.before {
            progress.passes += before.passes;
            progress.oracle_calls += before.oracle_calls;
            progress.seconds += before.seconds;
        }
        self.observer.observe(&progress, &self.method)
    }
}

/// Sees nothing, but lets the clock run where `O` would.
struct Silent<O>(std::marker::PhantomData<O>);

impl<M: ?Sized, O: Observer<Method>> Observer<M> for Silent<O> {
    const WATCHES: bool = O::WATCHES;

    fn observe(&mut self, _: &Progress, _: &M) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The constant step saves exponentials and costs passes where a few rows are long.
fn step<D: Design, L: Loss, R: ElasticNetForm>(problem: &Problem<'_, D, L, R>) -> SdcaStep {
    let even = problem.largest_norm_squared() <= 4.0 * problem.mean_norm_squared();
    if problem.loss().quadratic() || !even { SdcaStep::Exact } else { SdcaStep::Constant }
}

/// The dual variables that belong to a point, `phi_i'` at its margins.
fn dual_state<D: Design, L: Loss, R: ElasticNetForm>(
    problem: &Problem<'_, D, L, R>,
    point: Point,
) -> DualState {
    let mut dual = vec![0.0; problem.n()];
    problem.margins(&point, &mut dual);
    problem.differentiate(&mut dual, 1.0);
    DualState::new(point, dual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use fenchel_linalg::Dense;
    use fenchel_optim::prox::L1;
    use ndarray::Array2;

    fn data(n: usize, d: usize) -> (Array2<f64>, Vec<f64>) {
        let x = Array2::from_shape_fn((n, d), |(i, j)| ((i * 37 + j * 11 + i * j) as f64).sin());
        let y = (0..n).map(|i| if (i as f64).cos() + x[[i, 0]] > 0.0 { 1.0 } else { -1.0 });
        let y = y.collect();
        (x, y)
    }

    /// The second method starts where the first gave up and proves the same optimum.
    #[test]
    fn every_method_takes_over_from_every_other() {
        let (x, y) = data(120, 8);
        let design = Dense::new(x.view()).unwrap();
        let smooth = Problem::new(design, &y, Logistic, Zero, 1e-3).unwrap().with_intercept();
        let stop = Stop::at_relative(1e-9);
        let optimum = auto(&smooth, &AutoSettings { stop, ..Default::default() }, None, &mut ());
        let optimum = optimum.unwrap().report.certificate.objective().unwrap();
        let early = Stop { max_passes: 2.0, ..stop };
        let methods = [Method::Catalyst, Method::Newton, Method::NewtonCg, Method::Lbfgs];
        for first in methods {
            for second in methods {
                let mut run = Run {
                    problem: &smooth,
                    l1: 0.0,
                    seed: 0,
                    memory_limit: u64::MAX,
                    observer: &mut (),
                    before: None,
                };
                let (point, report) = run.by(first, None, early).unwrap();
                run.before = Some(report);
                let (_, report) = run.by(second, Some(point), stop).unwrap();
                assert_eq!(report.status, Status::Converged, "{first:?} {second:?}: {report}");
                let found = report.certificate.objective().unwrap();
                assert!((found - optimum).abs() <= 2e-9 * optimum, "{first:?} {second:?}");
            }
        }
    }

    /// Without l2 and with the memory of Newton taken away afterwards, the guard finds no second method; with it, it
    /// switches once and the report adds up.
    #[test]
    fn the_passes_of_both_methods_add_up() {
        let (x, y) = data(60, 5);
        let design = Dense::new(x.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, L1 { strength: 1e-3 }, 0.0).unwrap();
        let settings = AutoSettings { stop: Stop::at_relative(1e-8), ..Default::default() };
        let mut seen: Vec<(Method, f64)> = Vec::new();
        let mut watch = |progress: &Progress, method: &Method| {
            seen.push((*method, progress.passes));
            ControlFlow::Continue(())
        };
        let solution = auto(&problem, &settings, None, &mut watch).unwrap();
        assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
        assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        assert_eq!(seen[0].0, solution.state.choice.method);
        let last = solution.state.choice.switched.unwrap_or(solution.state.choice.method);
        assert_eq!(seen.last().unwrap().0, last);
        let starved = AutoSettings { memory_limit: 100, ..settings };
        let other = auto(&problem, &starved, None, &mut ()).unwrap();
        assert_eq!(other.state.choice.method, Method::Catalyst);
        let (a, b) = (solution.report.certificate, other.report.certificate);
        assert!((a.objective().unwrap() - b.objective().unwrap()).abs() <= 2e-8);
    }

    #[test]
    fn bad_starts_and_settings_are_refused() {
        let (x, y) = data(10, 2);
        let design = Dense::new(x.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, Zero, 0.1).unwrap();
        let short = Some(Point::zero(1));
        assert!(auto(&problem, &AutoSettings::default(), short, &mut ()).is_err());
        let stop = Stop { relative: -1.0, ..Stop::default() };
        let settings = AutoSettings { stop, ..AutoSettings::default() };
        assert!(auto(&problem, &settings, None, &mut ()).is_err());
    }
}
