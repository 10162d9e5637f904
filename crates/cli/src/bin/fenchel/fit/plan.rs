//! Which estimator fits, with which settings.

use std::ops::ControlFlow;

use fenchel_cli::Failure;
use fenchel_finite_sum::estimators::{CrossValidated, Score};
use fenchel_finite_sum::prelude::{AsDesign, Progress, Stop};
use fenchel_finite_sum::{
    ElasticNet, ElasticNetCv, Error, LinearSvc, LinearSvcCv, LogisticRegression,
    LogisticRegressionCv, PoissonRegressor, SoftmaxRegression, SoftmaxRegressionCv, SvcLoss,
};
use fenchel_optim::Fit;

use super::{Arguments, Kind};
use crate::data::{Target, numbers};
use crate::model::Model;

/// What is fitted, before any data are read.
pub(super) struct Plan<'a> {
    arguments: &'a Arguments,
    stop: Stop,
}

/// A model, and the table by which its penalty was chosen.
pub(super) struct Outcome {
    pub(super) model: Model,
    pub(super) scores: Option<Scores>,
}

/// The table of a cross-validation.
pub(super) struct Scores {
    pub(super) table: Vec<Score>,
    pub(super) chosen: usize,
    pub(super) text: String,
}

/// The closure that watches a fit.
pub(super) type Watch<'w> = &'w mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send);

impl<'a> Plan<'a> {
    pub(super) fn new(arguments: &'a Arguments) -> Result<Self, Failure> {
        arguments.check()?;
        let refused = |reason: &str| Err(Failure::Usage(reason.to_owned()));
        match arguments.kind {
            Kind::Svc if arguments.l1.is_some_and(|l1| l1 > 0.0) => {
                return refused("--l1: a support vector machine takes --l2 only");
            }
            Kind::Svc if arguments.l1_ratio != [0.0] => {
                return refused("--l1-ratio: a support vector machine takes an l2 penalty only");
            }
            Kind::Poisson if arguments.cv => {
                return refused("--cv is not there for poisson: give --l1 or --l2");
            }
            kind if kind != Kind::Svc && arguments.hinge => {
                return refused("--hinge is a loss of svc");
            }
            _ => {}
        }
        let stop = Stop {
            relative: arguments.tolerance,
            max_passes: arguments.max_passes,
            max_seconds: arguments.max_seconds,
            ..Stop::default()
        };
        Ok(Plan { arguments, stop })
    }

    /// Fits a model. A start of another kind is refused.
    pub(super) fn fit<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: &[Target],
        start: Option<&Model>,
        watch: Watch<'_>,
    ) -> Result<Outcome, Error> {
        if self.arguments.cv {
            return self.cross_validate(x, y, watch);
        }
        let Arguments { no_intercept, seed, .. } = *self.arguments;
        let (intercept, stop) = (!no_intercept, self.stop);
        let l1 = self.arguments.l1.unwrap_or(0.0);
        let l2 = self.arguments.l2;
        /// Fits an estimator, from a start of its kind.
        macro_rules! fit {
            ($estimator:expr, $y:expr, $kind:path) => {{
                let mut fit = Fit::new().watch(watch);
                match start {
                    None => {}
                    Some($kind(model)) => fit = fit.start(model),
                    Some(other) => return Err(another_kind(other)),
                }
                $kind($estimator.fit_with(x, $y, fit)?)
            }};
        }
        let model = match self.arguments.kind {
            Kind::Logistic => {
                let base = LogisticRegression::default();
                fit!(
                    LogisticRegression { l1, l2, intercept, stop, seed, ..base },
                    y,
                    Model::Logistic
                )
            }
            Kind::Softmax => {
                let base = SoftmaxRegression::default();
                fit!(SoftmaxRegression { l1, l2, intercept, stop, seed, ..base }, y, Model::Softmax)
            }
            Kind::Svc => {
                let (loss, base) = (self.loss(), LinearSvc::default());
                fit!(LinearSvc { loss, l2, intercept, stop, seed, ..base }, y, Model::Svc)
            }
            Kind::Linear => {
                let by_default = if l1 > 0.0 { 0.0 } else { 1.0 / y.len().max(1) as f64 };
                let l2 = l2.unwrap_or(by_default);
                fit!(ElasticNet { l1, l2, intercept, stop, seed }, &numbers(y)?, Model::Linear)
            }
            Kind::Poisson => {
                let l2 = l2.unwrap_or(if l1 > 0.0 { 0.0 } else { 1.0 });
                fit!(
                    PoissonRegressor { l1, l2, intercept, stop, seed },
                    &numbers(y)?,
                    Model::Poisson
                )
            }
        };
        Ok(Outcome { model, scores: None })
    }

    /// The loss of a support vector machine.
    fn loss(&self) -> SvcLoss {
        if self.arguments.hinge { SvcLoss::Hinge } else { SvcLoss::SquaredHinge }
    }

    fn cross_validate<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: &[Target],
        watch: Watch<'_>,
    ) -> Result<Outcome, Error> {
        let Arguments { folds, no_intercept, seed, .. } = *self.arguments;
        let (intercept, stop, choose) = (!no_intercept, self.stop, self.arguments.choose.into());
        let l1_ratios = self.arguments.l1_ratio.clone();
        macro_rules! fit {
            ($estimator:ident { $($field:ident),* }, $y:expr, $kind:path) => {{
                let estimator = $estimator {
                    folds, choose, intercept, stop, seed, $($field,)* ..$estimator::default()
                };
                let fitted = estimator.fit_with(x, $y, Fit::new().watch(watch))?;
                let text = fitted.to_string();
                let CrossValidated { model, scores: table, chosen, .. } = fitted;
                Outcome { model: $kind(model), scores: Some(Scores { table, chosen, text }) }
            }};
        }
        Ok(match self.arguments.kind {
            Kind::Logistic => fit!(LogisticRegressionCv { l1_ratios }, y, Model::Logistic),
            Kind::Softmax => fit!(SoftmaxRegressionCv { l1_ratios }, y, Model::Softmax),
            Kind::Svc => {
                let loss = self.loss();
                fit!(LinearSvcCv { loss }, y, Model::Svc)
            }
            // Refused by `new` for counts.
            Kind::Linear | Kind::Poisson => {
                fit!(ElasticNetCv { l1_ratios }, &numbers(y)?, Model::Linear)
            }
        })
    }

    /// The failure of a fit: of a start, or of the data.
    pub(super) fn named(&self, arguments: &Arguments, error: Error) -> Failure {
        match (&error, &arguments.start) {
            (Error::Invalid(fenchel_linalg::Invalid::Layout { what: START, .. }), Some(start)) => {
                Failure::file(start.display().to_string(), error)
            }
            _ => Failure::file(arguments.source.name(), error),
        }
    }
}

/// What the error of a start is about.
const START: &str = "the model of --start";

fn another_kind(start: &Model) -> Error {
    let reason = format!("it is a {}; expected a model of the kind that is fitted", start.kind());
    fenchel_linalg::Invalid::Layout { what: START, reason }.into()
}
