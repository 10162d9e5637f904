//! A problem for the method, its solution, and the observer of its parameters.

use std::ops::ControlFlow;

use fenchel_optim::{Observer, Progress, Regulariser, Report, run};

use super::method::SpgMethod;
use super::missing::Missing;
use super::record::{SpgRecord, Warning};
use super::sampler::Sampler;
use super::settings::Spg;
use crate::error::Error;

/// The objective `A(theta) - theta.target + h(theta)`, with `A` estimated from chains.
pub struct SpgProblem<'a, S, R> {
    /// Chains of the model.
    pub sampler: S,
    /// Means of the statistics over the data.
    pub target: Vec<f64>,
    /// `h`.
    pub regulariser: R,
    /// The cells to redraw. If there are any, the model of the sampler must be binary.
    pub missing: Option<Missing>,
    /// Chains, schedule, step and so on. Its penalty and coordinates are ignored; `target` and `regulariser` define them.
    pub settings: &'a Spg,
}

/// The result of [`spg`].
#[derive(Debug, Clone)]
pub struct SpgSolution<S> {
    /// The last iterate.
    pub theta: Vec<f64>,
    /// The average of all iterates, if requested.
    pub average: Option<Vec<f64>>,
    /// One record per iteration.
    pub trace: Vec<SpgRecord>,
    /// What to know about the run.
    pub warnings: Vec<Warning>,
    /// How it ended.
    pub report: Report,
    /// The chains after the last iteration. A later [`spg`] can start from them and from `theta` to continue the run.
    pub sampler: S,
}

/// Runs the stochastic proximal gradient method from `theta`.
///
/// # Errors
/// [`Error::Uncertified`] where the schedule refuses to go on; what the sampler refuses; settings out of range.
pub fn spg<S, R, O>(
    problem: SpgProblem<'_, S, R>,
    theta: Vec<f64>,
    observer: &mut O,
) -> Result<SpgSolution<S>, Error>
where
    S: Sampler,
    R: Regulariser,
    O: for<'m> Observer<SpgMethod<'m, S, R>>,
{
    let SpgProblem { sampler, target, regulariser, missing, settings } = problem;
    settings.check()?;
    let mut method = SpgMethod::new(sampler, target, regulariser, missing, settings, theta)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let SpgMethod { sampler, theta, average, trace, warnings, failure, .. } = method;
    match failure {
        Some(error) => Err(error),
        None => {
            Ok(SpgSolution { theta, average: average.value(), trace, warnings, report, sampler })
        }
    }
}

/// An observer of the parameters, as one of the method.
pub(crate) struct Parameters<'a, O>(pub(crate) &'a mut O);

impl<S, R, O: Observer<[f64]>> Observer<SpgMethod<'_, S, R>> for Parameters<'_, O> {
    fn watches(&self) -> bool {
        self.0.watches()
    }

    fn polls(&self) -> bool {
        self.0.polls()
    }

    fn observe(&mut self, progress: &Progress, method: &SpgMethod<'_, S, R>) -> ControlFlow<()> {
        self.0.observe(progress, &method.theta)
    }

    fn poll(&mut self, progress: &Progress, method: &SpgMethod<'_, S, R>) -> ControlFlow<()> {
        self.0.poll(progress, &method.theta)
    }
}
