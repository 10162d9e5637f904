//! Running what was chosen.

use fenchel_linalg::Design;
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::newton::NewtonCgSettings;
use fenchel_optim::prox::L1;
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Budget, Clock, Loss, Regulariser, Report, Solution, StepSize, Stop};
use rand::RngExt;

use super::choice::Method;
use super::guarded::Guarded;
use crate::gap::Gap;
use crate::methods::dual::{
    CatalystSettings, DualState, QningSettings, SdcaSettings, SdcaStep, catalyst, qning, sdca,
};
use crate::methods::incremental::{SagaSettings, TableState, saga};
use crate::methods::lag::Lagged;
use crate::methods::newton::{
    NewtonSettings, SubsampledNewtonSettings, newton, newton_cg, subsampled_newton,
};
use crate::methods::{CoordinateSettings, FistaSettings, coordinate_descent, fista, lbfgs};
use crate::origin::origin;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

/// Rows that dual methods visit one after the other, because their memory is read forward. Single rows take
/// 1.36 times as long in the median of 15 problems.
const RUN: usize = 4;

/// Rows for each feature from which Newton's method with l1 begins on a part of them. Without it the time was 1.2 times as long in the
/// median of 16 problems on eight sets, and 1.5 in that of the six on real data.
const MANY: usize = 100;
/// The most passes over the part, by judgement.
const BACKSTOP: f64 = 100.0;
/// With at most this many features the first working set of Newton's method has all of them. By judgement.
const FEW: usize = 50;

settings! {
    /// Settings of [`auto`](super::auto()).
    pub struct AutoSettings {
        /// Largest size of a Hessian or a copy of the data, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of visiting orders and samples.
        seed: u64 = 0,
        /// When to end; its relative tolerance takes part in the choice.
        stop: Stop = Stop::default(),
    }
}

/// The methods that look at one term at a time. Without a conjugate there is only SAGA: a branch that is decided when it is compiled,
/// so that a loss has the code of one side.
pub(super) fn by_terms<D: Design + Copy, L: Loss + Copy, R: Lagged>(
    problem: &Problem<'_, D, L, R>,
    seed: u64,
    method: Method,
    start: Option<Point>,
    stop: Stop,
    watch: &mut Guarded<'_>,
) -> Result<(Point, Report), Error> {
    if !L::HAS_DUAL {
        let step = StepSize::Backtracking;
        let settings = SagaSettings { step, seed, stop, ..SagaSettings::default() };
        let start = start.map(|point| {
            let DualState { point, dual, .. } = dual_state(problem, point);
            TableState::new(point, dual)
        });
        return saga(problem, &settings, start, watch).map(|s| (s.state.point, s.report));
    }
    match method {
        Method::Catalyst => {
            let (step, order) = (step(problem), Order::Runs(RUN));
            let settings =
                CatalystSettings { step, order, seed, stop, ..CatalystSettings::default() };
            let start = start.map(|point| dual_state(problem, point));
            catalyst(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
        }
        Method::Qning => {
            let settings = QningSettings { seed, stop, ..QningSettings::default() };
            let start = start.map(|point| dual_state(problem, point));
            qning(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
        }
        _ => {
            // Most dual variables of a loss with a kink end at a bound, where there is no gap.
            let kinked = !problem.loss().twice_differentiable();
            let order = if kinked { Order::Gap } else { Order::Runs(RUN) };
            let settings = SdcaSettings { order, seed, stop, ..SdcaSettings::default() };
            let start = start.map(|at| promising(problem, at));
            sdca(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
        }
    }
}

/// The methods that read all rows at a time.
pub(super) fn by_passes<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    method: Method,
    start: Option<Point>,
    stop: Stop,
    watch: &mut Guarded<'_>,
) -> Result<(Point, Report), Error> {
    match method {
        Method::Fista => by_fista(problem, start, stop, watch),
        Method::Lbfgs => {
            let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
            let start = start.map(Point::into);
            lbfgs(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
        }
        _ => {
            let settings = NewtonCgSettings { stop, ..NewtonCgSettings::default() };
            newton_cg(problem, &settings, start, watch).map(|s| (s.state, s.report))
        }
    }
}

/// By FISTA, which takes every regulariser.
pub(super) fn by_fista<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    start: Option<Point>,
    stop: Stop,
    watch: &mut Guarded<'_>,
) -> Result<(Point, Report), Error> {
    let settings = FistaSettings { stop, ..FistaSettings::default() };
    let start = start.map(Point::into);
    fista(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
}

/// All methods for l1, l2, both or neither.
pub(super) fn by_any<D: Design + Copy, L: Loss + Copy>(
    problem: &Problem<'_, D, L, L1>,
    (max_memory, seed): (Option<u64>, u64),
    method: Method,
    start: Option<Point>,
    stop: Stop,
    watch: &mut Guarded<'_>,
) -> Result<(Point, Report), Error> {
    match method {
        Method::Newton => {
            let mut budget = Budget::new(stop);
            let begin = |budget: &mut _| head_start(problem, (max_memory, seed), budget);
            let start = start.map_or_else(|| begin(&mut budget), |start| Ok(Some(start)))?;
            let settings = NewtonSettings { max_memory, seed, stop: budget.left() };
            let Solution { state, report } = newton(problem, &settings, start, watch)?;
            Ok((state, budget.spend(report)))
        }
        Method::CoordinateDescent => {
            let settings = CoordinateSettings {
                working_set: false,
                max_memory,
                seed,
                stop,
                ..Default::default()
            };
            coordinate_descent(problem, &settings, start, watch).map(|s| (s.state, s.report))
        }
        // Without l1, like the batch methods.
        Method::SubsampledNewton => {
            let settings =
                SubsampledNewtonSettings { max_memory, seed, stop, ..Default::default() };
            subsampled_newton(problem, &settings, start, watch).map(|s| (s.state, s.report))
        }
        Method::NewtonCg | Method::Lbfgs | Method::Fista => {
            by_passes(problem, method, start, stop, watch)
        }
        _ => by_terms(problem, seed, method, start, stop, watch),
    }
}

/// A rough solution on one random row of every 5 or 10 neighbours, where rows are many and l1 is positive: its cost is that part, and it
/// saves about half of the steps on all of them. It counts in the report, and against the limits.
fn head_start<D: Design + Copy, L: Loss + Copy, C: Clock>(
    problem: &Problem<'_, D, L, L1>,
    (max_memory, seed): (Option<u64>, u64),
    budget: &mut Budget<C>,
) -> Result<Option<Point>, Error> {
    let (n, d) = (problem.n(), problem.d());
    let (one_in, relative) = if n >= 1000 * d { (10, 1e-2) } else { (5, 0.1) };
    // One Gram matrix of few features is the whole of a quadratic problem.
    let whole = problem.loss().quadratic() && d <= FEW;
    // A few heavy rows need not be in the part.
    if problem.regulariser().strength == 0.0 || n < MANY * d || whole || problem.weighted() {
        return Ok(None);
    }
    let (mut rng, blocks) = (stream(seed, 1), (0..n).step_by(one_in));
    // Ascending: memory is read forward.
    let part: Vec<usize> =
        blocks.map(|from| rng.random_range(from..n.min(from + one_in))).collect();
    let targets: Vec<f64> = part.iter().map(|&i| problem.targets()[i]).collect();
    // One class has its optimum at infinity.
    if targets.iter().all(|y| *y == targets[0]) {
        return Ok(None);
    }
    let rows = problem.design().subset(&part);
    let sample = problem.on_rows((&part, &rows), &targets, *problem.regulariser())?;
    let Stop { max_passes, max_seconds, .. } = budget.left();
    let max_passes = f64::min(BACKSTOP, one_in as f64 * max_passes);
    let stop = Stop { max_passes, max_seconds, ..Stop::at_relative(relative) };
    let settings = NewtonSettings { max_memory, seed, stop };
    let Solution { state, mut report } = newton(&sample, &settings, None, &mut ())?;
    report.passes /= one_in as f64;
    budget.spend(report);
    Ok(Some(state))
}

/// The constant step saves exponentials and costs passes where a few rows are long.
fn step<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> SdcaStep {
    let even = problem.largest_norm_squared() <= 4.0 * problem.mean_norm_squared();
    if problem.loss().quadratic() || !even { SdcaStep::Exact } else { SdcaStep::Constant }
}

/// The start of a method that follows its dual variables: the multiple of those that belong to a point which is worth most, or zeros
/// and the intercept of a cold start if it is worth no more. The point is what the run must not end above.
fn promising<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    point: Point,
) -> DualState {
    let DualState { mut point, dual, .. } = dual_state(problem, point);
    let worth = Gap::new(problem).best_multiple(problem, &dual);
    let dual = worth.unwrap_or_else(|| {
        let smooth = problem.loss().curvature().is_finite();
        point.intercept = if smooth { origin(problem).intercept } else { 0.0 };
        vec![0.0; problem.n()]
    });
    DualState::new(point, dual)
}

/// The dual variables that belong to a point, `phi_i'` at its margins.
fn dual_state<D: Design, L: Loss, R: Regulariser>(
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
    use crate::auto::auto;
    use crate::loss::Logistic;
    use fenchel_linalg::Dense;
    use fenchel_optim::prox::Zero;
    use fenchel_optim::{Progress, Status};
    use ndarray::Array2;
    use std::cell::Cell;
    use std::ops::ControlFlow;

    fn data(n: usize, d: usize) -> (Array2<f64>, Vec<f64>) {
        let x = Array2::from_shape_fn((n, d), |(i, j)| ((i * 37 + j * 11 + i * j) as f64).sin());
        let y = (0..n).map(|i| if (i as f64).cos() + x[[i, 0]] > 0.0 { 1.0 } else { -1.0 });
        let y = y.collect();
        (x, y)
    }

    /// Dense data that is mostly zeros has the optimum of the same data stored sparse.
    #[test]
    fn zeros_of_dense_data_are_left_out() {
        let (mut x, y) = data(90, 40);
        x.indexed_iter_mut().filter(|((i, j), _)| (i + j) % 6 != 0).for_each(|(_, a)| *a = 0.0);
        let settings = AutoSettings { stop: Stop::at_relative(1e-9), ..Default::default() };
        let dense = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, 0.02).unwrap();
        let found = auto(&dense, &settings, None, &mut ()).unwrap();
        assert_ne!(found.state.choice.method, Method::Newton);
        let exact = newton(
            &dense,
            &NewtonSettings { stop: settings.stop, ..Default::default() },
            None,
            &mut (),
        );
        let exact = exact.unwrap();
        assert_eq!(found.report.status, Status::Converged, "{}", found.report);
        // The certificate is that of the point on the data as it was given.
        let certificate = dense.certify(&found.state.point).unwrap();
        let objective = found.report.certificate.objective().unwrap();
        assert!((certificate.objective().unwrap() - objective).abs() <= 1e-14);
        let best = exact.report.certificate.objective().unwrap();
        assert!((objective - best).abs() <= 2e-9 * best);
    }

    /// The second method starts where the first gave up and proves the same optimum.
    #[test]
    fn every_method_takes_over_from_every_other() {
        let (x, y) = data(120, 8);
        let design = Dense::new(x.view()).unwrap();
        let none = L1 { strength: 0.0 };
        let smooth = Problem::new(design, &y, Logistic, none, 1e-3).unwrap().with_intercept();
        let stop = Stop::at_relative(1e-9);
        let optimum = auto(&smooth, &AutoSettings { stop, ..Default::default() }, None, &mut ());
        let optimum = optimum.unwrap().report.certificate.objective().unwrap();
        let early = Stop { max_passes: 2.0, ..stop };
        let methods = [
            Method::Catalyst,
            Method::Qning,
            Method::Newton,
            Method::SubsampledNewton,
            Method::NewtonCg,
            Method::Lbfgs,
        ];
        for first in methods {
            for second in methods {
                let mut nobody = ();
                let mut by = |method, start, stop| {
                    let watch = &mut Guarded::new(method, &mut nobody);
                    by_any(&smooth, (None, 0), method, start, stop, watch).unwrap()
                };
                let (point, _) = by(first, None, early);
                let (_, report) = by(second, Some(point), stop);
                assert_eq!(report.status, Status::Converged, "{first:?} {second:?}: {report}");
                let found = report.certificate.objective().unwrap();
                assert!((found - optimum).abs() <= 2e-9 * optimum, "{first:?} {second:?}");
            }
        }
    }

    /// An observer sees the passes go on and the method at work; without the memory for Newton's method another one finds
    /// the same optimum.
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
        let starved = AutoSettings { max_memory: Some(100), ..settings };
        let other = auto(&problem, &starved, None, &mut ()).unwrap();
        assert_eq!(other.state.choice.method, Method::Qning);
        let (a, b) = (solution.report.certificate, other.report.certificate);
        assert!((a.objective().unwrap() - b.objective().unwrap()).abs() <= 2e-8);
    }

    /// The head start takes its passes and its seconds from those of the call.
    #[test]
    fn a_head_start_counts_against_the_limits() {
        struct Watch(Cell<f64>);
        impl Clock for &Watch {
            /// Every reading takes a second.
            fn seconds(&self) -> f64 {
                self.0.set(self.0.get() + 1.0);
                self.0.get()
            }
        }
        // One row of five, and one of ten.
        for (n, d) in [(1200, 12), (2000, 2)] {
            let (x, y) = data(n, d);
            let design = Dense::new(x.view()).unwrap();
            let problem = Problem::new(design, &y, Logistic, L1 { strength: 1e-3 }, 0.0).unwrap();
            let watch = Watch(Cell::new(0.0));
            let stop = Stop { max_passes: 60.0, max_seconds: Some(1e3), ..Stop::at_relative(1e-9) };
            let mut budget = Budget::by(&watch, stop);
            assert!(head_start(&problem, (None, 0), &mut budget).unwrap().is_some());
            let spent = *budget.spent().unwrap();
            assert!(spent.passes > 0.0);
            let left = budget.left();
            assert_eq!(left.max_passes, 60.0 - spent.passes);
            // Two readings before this one.
            assert_eq!(left.max_seconds, Some(1e3 - 2.0));
            // The whole call keeps to its limits, and no time is no step.
            for (max_passes, max_seconds) in [(1.5, None), (2.5, None), (60.0, Some(0.0))] {
                let settings = AutoSettings {
                    stop: Stop { max_passes, max_seconds, ..stop },
                    ..Default::default()
                };
                let mut nobody = ();
                let watch = &mut Guarded::new(Method::Newton, &mut nobody);
                let ended = by_any(&problem, (None, 0), Method::Newton, None, settings.stop, watch);
                let (_, report) = ended.unwrap();
                let most = if max_seconds.is_some() { 0.0 } else { max_passes + 6.0 };
                assert!(report.passes <= most, "{max_passes}: {report}");
            }
        }
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
