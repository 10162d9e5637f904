//! The methods by name, behind one function.

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use fenchel_finite_sum::loss::{Logistic, Poisson, Squared};
use fenchel_finite_sum::methods::lag::Lagged;
use fenchel_finite_sum::methods::newton::{AsElasticNet, NewtonSettings, newton};
use fenchel_finite_sum::methods::{
    CatalystSettings, CoordinateSettings, NewtonCgSettings, SagSettings, SagaSettings,
    SdcaSettings, SdcaStep, SubsampledNewtonSettings, SvrgSettings, catalyst, coordinate_descent,
    lbfgs, newton_cg, sag, saga, sdca, subsampled_newton, svrg,
};
use fenchel_finite_sum::{ElasticNet, Fit, LogisticRegression, PoissonRegressor, Problem};
use fenchel_linalg::{AsDesign, Design};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Loss, Observer, Progress, Report, Stop};
use ndarray::Array1;
use serde::Deserialize;

use crate::files::{Data, Matrix, Task};

/// A method with the settings it has by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// The estimator of the task, which chooses by itself.
    Auto,
    SdcaExact,
    SdcaConstant,
    CatalystExact,
    CatalystConstant,
    Saga,
    Sag,
    Svrg,
    Lbfgs,
    Newton,
    NewtonCg,
    SubsampledNewton,
    CoordinateDescent,
}

/// Weights of the penalties, on the scale of the mean loss.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Penalty {
    pub(crate) l2: f64,
    pub(crate) l1: f64,
}

/// Looks for the first pass at which an objective is met; with `W = false` it neither looks nor costs.
pub(crate) struct Watch<const W: bool> {
    start: Instant,
    seconds: f64,
    objective: f64,
    /// Passes at which the objective was met.
    pub(crate) met: Option<f64>,
}

impl Watch<false> {
    pub(crate) fn idle() -> Self {
        Watch { start: Instant::now(), seconds: 0.0, objective: 0.0, met: None }
    }
}

impl Watch<true> {
    /// Gives up after so many seconds.
    pub(crate) fn new(objective: f64, seconds: f64) -> Self {
        Watch { start: Instant::now(), seconds, objective, met: None }
    }
}

impl<const W: bool> Watch<W> {
    fn look(&mut self, progress: &Progress) -> ControlFlow<()> {
        // Methods show their certificate at the start and the end to everyone.
        if !W {
            return ControlFlow::Continue(());
        }
        if progress.certificate.objective().is_some_and(|objective| objective <= self.objective) {
            self.met = Some(progress.passes);
        }
        if self.met.is_some() || self.start.elapsed().as_secs_f64() > self.seconds {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl<M: ?Sized, const W: bool> Observer<M> for Watch<W> {
    fn watches(&self) -> bool {
        W
    }

    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        self.look(progress)
    }
}

/// Solves from scratch: the checks of the data, the norms of the rows and the solve itself.
pub(crate) fn solve<const W: bool>(
    data: &Data,
    method: Method,
    penalty: Penalty,
    stop: Stop,
    watch: &mut Watch<W>,
) -> Result<(Vec<f64>, Report), Box<dyn Error>> {
    match &data.x {
        Matrix::Sparse(x) => on(x, &data.y, data.task, method, penalty, stop, watch),
        Matrix::Dense(x) => on(x, &data.y, data.task, method, penalty, stop, watch),
    }
}

fn on<X: AsDesign, const W: bool>(
    x: &X,
    y: &Array1<f64>,
    task: Task,
    method: Method,
    penalty: Penalty,
    stop: Stop,
    watch: &mut Watch<W>,
) -> Result<(Vec<f64>, Report), Box<dyn Error>> {
    let Penalty { l2, l1 } = penalty;
    match (method, task) {
        (Method::Auto, Task::Logistic) => {
            let fit = LogisticRegression {
                l2: Some(l2),
                l1,
                intercept: false,
                stop,
                ..LogisticRegression::default()
            };
            let model = if W {
                fit.fit_with(x, y.view(), Fit::new().watch(&mut |progress| watch.look(progress)))?
            } else {
                fit.fit(x, y.view())?
            };
            Ok((model.weights.to_vec(), model.report))
        }
        (Method::Auto, Task::Squared) => {
            let fit = ElasticNet { l2, l1, intercept: false, stop, seed: 0 };
            let model = if W {
                fit.fit_with(x, y.view(), Fit::new().watch(&mut |progress| watch.look(progress)))?
            } else {
                fit.fit(x, y.view())?
            };
            Ok((model.weights.to_vec(), model.report))
        }
        (Method::Auto, Task::Counts) => {
            let fit = PoissonRegressor { l2, l1, intercept: false, stop, seed: 0 };
            let model = if W {
                fit.fit_with(x, y.view(), Fit::new().watch(&mut |progress| watch.look(progress)))?
            } else {
                fit.fit(x, y.view())?
            };
            Ok((model.weights.to_vec(), model.report))
        }
        (_, Task::Logistic) => single(x.as_design()?, y, Logistic, method, penalty, stop, watch),
        (_, Task::Squared) => single(x.as_design()?, y, Squared, method, penalty, stop, watch),
        (_, Task::Counts) => single(x.as_design()?, y, Poisson, method, penalty, stop, watch),
    }
}

/// One method, whatever the problem.
fn single<D: Design + Copy, L: Loss + Copy, const W: bool>(
    design: D,
    y: &Array1<f64>,
    loss: L,
    method: Method,
    Penalty { l2, l1 }: Penalty,
    stop: Stop,
    watch: &mut Watch<W>,
) -> Result<(Vec<f64>, Report), Box<dyn Error>> {
    let targets = y.as_slice().ok_or("targets in one piece")?;
    if l1 > 0.0 {
        let problem = Problem::new(design, targets, loss, L1 { strength: l1 }, l2)?;
        return by_terms(&problem, method, stop, watch);
    }
    let problem = Problem::new(design, targets, loss, Zero, l2)?;
    if method == Method::Lbfgs {
        let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
        let solution = lbfgs(&problem, &settings, None, watch)?;
        return Ok((solution.state.point.weights, solution.report));
    }
    if method == Method::NewtonCg {
        let settings = NewtonCgSettings { stop, ..NewtonCgSettings::default() };
        let solution = newton_cg(&problem, &settings, None, watch)?;
        return Ok((solution.state.weights, solution.report));
    }
    if method == Method::SubsampledNewton {
        let settings = SubsampledNewtonSettings { stop, ..SubsampledNewtonSettings::default() };
        let solution = subsampled_newton(&problem, &settings, None, watch)?;
        return Ok((solution.state.weights, solution.report));
    }
    by_terms(&problem, method, stop, watch)
}

/// The methods that take both regularisers.
fn by_terms<D, L, R, const W: bool>(
    problem: &Problem<'_, D, L, R>,
    method: Method,
    stop: Stop,
    watch: &mut Watch<W>,
) -> Result<(Vec<f64>, Report), Box<dyn Error>>
where
    D: Design,
    L: Loss,
    R: Lagged + AsElasticNet,
{
    let step = match method {
        Method::SdcaConstant | Method::CatalystConstant => SdcaStep::Constant,
        _ => SdcaStep::Exact,
    };
    let (point, report) = match method {
        Method::SdcaExact | Method::SdcaConstant => {
            let settings = SdcaSettings { step, stop, ..SdcaSettings::default() };
            let solution = sdca(problem, &settings, None, watch)?;
            (solution.state.point, solution.report)
        }
        Method::CatalystExact | Method::CatalystConstant => {
            let settings = CatalystSettings { step, stop, ..CatalystSettings::default() };
            let solution = catalyst(problem, &settings, None, watch)?;
            (solution.state.point, solution.report)
        }
        Method::Saga => {
            let settings = SagaSettings { stop, ..SagaSettings::default() };
            let solution = saga(problem, &settings, None, watch)?;
            (solution.state.point, solution.report)
        }
        Method::Sag => {
            let settings = SagSettings { stop, ..SagSettings::default() };
            let solution = sag(problem, &settings, None, watch)?;
            (solution.state.point, solution.report)
        }
        Method::Svrg => {
            let settings = SvrgSettings { stop, ..SvrgSettings::default() };
            let solution = svrg(problem, &settings, None, watch)?;
            (solution.state.point, solution.report)
        }
        Method::Newton => {
            let settings = NewtonSettings { stop, ..NewtonSettings::default() };
            let solution = newton(problem, &settings, None, watch)?;
            (solution.state, solution.report)
        }
        Method::CoordinateDescent => {
            let settings = CoordinateSettings { stop, ..CoordinateSettings::default() };
            let solution = coordinate_descent(problem, &settings, None, watch)?;
            (solution.state, solution.report)
        }
        Method::Auto | Method::Lbfgs | Method::NewtonCg | Method::SubsampledNewton => {
            return Err("not a method for this problem".into());
        }
    };
    Ok((point.weights, report))
}
