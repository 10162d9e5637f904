//! Running what was chosen.

use fenchel_linalg::Design;
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::newton::NewtonCgSettings;
use fenchel_optim::prox::L1;
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Budget, Clock, Loss, Regulariser, Report, Solution, StepSize, Stop};

use super::choice::Method;
use super::guarded::Guarded;
use super::head_start::HeadStart;
use crate::gap::Gap;
use crate::methods::dual::{
    CatalystSettings, DualState, QningSettings, SdcaSettings, SdcaStep, catalyst, qning, sdca,
};
use crate::methods::incremental::{SagaSettings, TableState, saga};
use crate::methods::lag::Lagged;
use crate::methods::newton::{
    NewtonSettings, SubsampledNewtonSettings, newton, newton_cg, subsampled_newton,
};
use crate::methods::{CoordinateSettings, coordinate_descent, lbfgs};
use crate::origin::origin;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

/// Rows that dual methods visit one after the other, because their memory is read forward. Single rows take
/// 1.36 times as long in the median of 15 problems.
const RUN: usize = 4;

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

/// One problem with l1, l2, both or neither, and what all methods share.
pub(super) struct Run<'r, 'a, D, L> {
    problem: &'r Problem<'a, D, L, L1>,
    pub(super) l1: f64,
    seed: u64,
    max_memory: Option<u64>,
}

impl<'r, 'a, D: Design + Copy, L: Loss + Copy> Run<'r, 'a, D, L> {
    pub(super) fn of(problem: &'r Problem<'a, D, L, L1>, settings: &AutoSettings) -> Self {
        let AutoSettings { max_memory, seed, .. } = *settings;
        Run { problem, l1: problem.regulariser().strength, seed, max_memory }
    }

    /// Runs one method from a point.
    pub(super) fn run_method(
        &self,
        method: Method,
        start: Option<Point>,
        stop: Stop,
        watch: &mut Guarded<'_>,
    ) -> Result<(Point, Report), Error> {
        let (problem, seed) = (self.problem, self.seed);
        match method {
            Method::Newton => {
                let mut budget = Budget::new(stop);
                let start = match start {
                    None => self.head_start(&mut budget)?,
                    start => start,
                };
                let stop = budget.left();
                let settings = NewtonSettings { max_memory: self.max_memory, seed, stop };
                let Solution { state, report } = newton(problem, &settings, start, watch)?;
                Ok((state, budget.spend(report)))
            }
            Method::CoordinateDescent => {
                let (max_memory, working_set) = (self.max_memory, false);
                let settings = CoordinateSettings {
                    working_set,
                    max_memory,
                    seed,
                    stop,
                    ..Default::default()
                };
                coordinate_descent(problem, &settings, start, watch).map(|s| (s.state, s.report))
            }
            Method::SubsampledNewton => {
                // Only chosen without l1, as the two that follow.
                let max_memory = self.max_memory;
                let settings =
                    SubsampledNewtonSettings { max_memory, seed, stop, ..Default::default() };
                subsampled_newton(problem, &settings, start, watch).map(|s| (s.state, s.report))
            }
            Method::NewtonCg => {
                let settings = NewtonCgSettings { stop, ..NewtonCgSettings::default() };
                newton_cg(problem, &settings, start, watch).map(|s| (s.state, s.report))
            }
            Method::Lbfgs => {
                let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
                let start = start.map(Point::into);
                lbfgs(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
            }
            _ => by_terms(problem, seed, method, start, stop, watch),
        }
    }

    /// A rough solution on a part of the rows, where the rows are many: its cost is that part, and it saves about half of
    /// the steps on all of them. It counts in the report, and against the limits.
    fn head_start<C: Clock>(&self, budget: &mut Budget<C>) -> Result<Option<Point>, Error> {
        let problem = self.problem;
        let Some(head) = HeadStart::of(problem, self.l1) else {
            return Ok(None);
        };
        // A few heavy rows need not be in it.
        if problem.weighted() {
            return Ok(None);
        }
        let part = head.draw(problem.n(), &mut stream(self.seed, 1));
        let targets: Vec<f64> = part.iter().map(|&i| problem.targets()[i]).collect();
        // One class has its optimum at infinity.
        if targets.iter().all(|y| *y == targets[0]) {
            return Ok(None);
        }
        let rows = problem.design().subset(&part);
        let sample = problem.on_rows((&part, &rows), &targets, *problem.regulariser())?;
        let stop = head.stop(budget.left());
        let settings = NewtonSettings { max_memory: self.max_memory, seed: self.seed, stop };
        let Solution { state, mut report } = newton(&sample, &settings, None, &mut ())?;
        report.passes *= head.share();
        budget.spend(report);
        Ok(Some(state))
    }
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
                let run = Run { problem: &smooth, l1: 0.0, seed: 0, max_memory: None };
                let mut nobody = ();
                let mut by = |method, start, stop| {
                    let watch = &mut Guarded::new(method, &mut nobody);
                    run.run_method(method, start, stop, watch).unwrap()
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
        let (x, y) = data(1200, 12);
        let design = Dense::new(x.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, L1 { strength: 1e-3 }, 0.0).unwrap();
        let run = Run { problem: &problem, l1: 1e-3, seed: 0, max_memory: None };
        let watch = Watch(Cell::new(0.0));
        let stop = Stop { max_passes: 60.0, max_seconds: Some(1e3), ..Stop::at_relative(1e-9) };
        let mut budget = Budget::by(&watch, stop);
        assert!(run.head_start(&mut budget).unwrap().is_some());
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
            let (_, report) = run
                .run_method(
                    Method::Newton,
                    None,
                    settings.stop,
                    &mut Guarded::new(Method::Newton, &mut ()),
                )
                .unwrap();
            let most = if max_seconds.is_some() { 0.0 } else { max_passes + 6.0 };
            assert!(report.passes <= most, "{max_passes}: {report}");
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
