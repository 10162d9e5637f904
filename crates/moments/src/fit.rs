//! Fits of any [`Reducer`]: its spectrum, the number of directions, the model.

use std::ops::ControlFlow;

use fenchel_linalg::{AsDesign, Invalid, Names};
use fenchel_optim::{
    Certificate, Clock, Fit, Progress, Refusal, Report, SharedWatch, Status, Wall, Watch,
};
use ndarray::Array1;

use crate::blocks::{Blocks, Counted, checked};
use crate::components::Components;
use crate::error::Error;
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::Response;
use crate::spectrum::{Spectrum, Warning};
use crate::subspace::orthonormal;
use crate::whitening::mean_of;

/// Fits a method that needs nothing but the data. The estimators call this function `fit_with`.
///
/// The closure that watches is called at every resample that chooses the number of directions, and when the directions are
/// found. After `Break` the number is that of the resamples so far. Eigenvectors need no start.
///
/// # Errors
/// [`Error::Invalid`] for data of the wrong shape or that are not finite, [`Error::Refused`] for weights, and the errors
/// of the method.
pub fn fit_with<'a, X: AsDesign + ?Sized>(
    method: &dyn Reducer,
    x: &X,
    y: impl Into<Response<'a>>,
    fit: Fit<'_, Reduction>,
) -> Result<Reduction, Error> {
    refuse_weights(method.name(), &fit)?;
    let (data, response) = (checked(x)?, y.into());
    response.check(data.count())?;
    let watch = SharedWatch::from(fit.watch);
    let solve = |data: &dyn Blocks| method.watched_spectrum(data, &response, &watch);
    let model = fit_by(method, &data, &response, &watch, solve)?;
    Ok(watched(model, watch.each()))
}

/// Only methods that need nothing but sums over slices can be weighted.
pub(crate) fn refuse_weights<M>(method: &'static str, fit: &Fit<'_, M>) -> Result<(), Refusal> {
    if fit.weights.is_none() {
        return Ok(());
    }
    let what = "weights: use SIR, SAVE, directional regression or SADE, or repeat the rows";
    Err(Refusal::unsupported(method, what))
}

/// Shows the closure the report of a fit that is done, so that its answer does not matter.
pub(crate) fn watched(model: Reduction, mut watch: Watch) -> Reduction {
    let _ = show(&mut watch, &model.report);
    model
}

/// Whether the rest of a fit in several parts is not wanted.
pub(crate) type Ends<'a> = &'a (dyn Fn() -> bool + Sync);

/// Shows the closure what a fit has spent so far, in one of several parts. Returns whether it wants the end.
pub(crate) fn look(watch: &SharedWatch, Spent { passes, seconds }: Spent) -> bool {
    let certificate = Certificate::Uncertified { objective: None };
    watch.each().show(&Progress { passes, oracle_calls: 0, seconds, certificate }).is_break()
}

/// Shows the closure a report.
pub(crate) fn show(watch: &mut Watch, report: &Report) -> ControlFlow<()> {
    let Report { certificate, passes, oracle_calls, seconds, .. } = *report;
    watch.show(&Progress { passes, oracle_calls, seconds, certificate })
}

/// Fits a method: its spectrum, the number of directions, the model.
///
/// # Errors
/// The errors of the method; [`Error::TooManyComponents`].
pub fn fit_blocks(
    method: &dyn Reducer,
    data: &dyn Blocks,
    response: &Response,
) -> Result<Reduction, Error> {
    response.check(data.count())?;
    let nobody = SharedWatch::from(Watch::nobody());
    fit_by(method, data, response, &nobody, |data| method.spectrum(data, response))
}

/// [`fit_blocks`] with another way to the spectrum of the method.
pub(crate) fn fit_by(
    method: &dyn Reducer,
    data: &dyn Blocks,
    response: &Response,
    watch: &SharedWatch,
    spectrum: impl FnOnce(&dyn Blocks) -> Result<Spectrum, Error>,
) -> Result<Reduction, Error> {
    let wall = Wall::start();
    let data = Counted::new(data);
    let mut spectrum = spectrum(&data)?;
    spectrum.warnings.extend(method.warnings(&data)?);
    let spent = || Spent { passes: data.passes() + spectrum.passes, seconds: wall.seconds() };
    let ends = || look(watch, spent());
    let rule = method.components();
    let k = rule.choose(method, &spectrum, &data, response, &ends)?;
    if watch.stopped() {
        spectrum.status = Status::Stopped;
    }
    let mean = match spectrum.mean.take() {
        Some(mean) => mean,
        None => mean_of(&data)?,
    };
    let spent = Spent { passes: data.passes() + spectrum.passes, seconds: wall.seconds() };
    Ok(finish(method.name(), spectrum, (k, rule), mean, spent)?.named(data.names()))
}

/// What a fit has spent.
pub(crate) struct Spent {
    pub(crate) passes: f64,
    pub(crate) seconds: f64,
}

/// The model of a spectrum and a number of directions, which a rule chose.
pub(crate) fn finish(
    name: &'static str,
    spectrum: Spectrum,
    (k, rule): (usize, Components),
    mean: Array1<f64>,
    spent: Spent,
) -> Result<Reduction, Error> {
    spectrum.check_count(name, k)?;
    Invalid::check_finite("eigenvalues", &spectrum.values.to_vec())?;
    if spectrum.values.iter().all(|&l| l == 0.0) {
        return Err(Error::NoDirection { method: name });
    }
    let loadings = spectrum.leading(k)?.to_owned();
    let directions = orthonormal(loadings.view()).map_err(|error| match error {
        Error::Invalid(Invalid::RankDeficient { rank, columns, .. }) => {
            let reason = format!(
                "of {columns} only {rank} are told apart; scale the features to the same size, or ask for fewer"
            );
            Error::Invalid(Invalid::Layout { what: "directions", reason })
        }
        other => other,
    })?;
    let mut warnings = spectrum.warnings;
    if let (Some(kept), Some(next)) = (spectrum.values.get(k - 1), spectrum.values.get(k)) {
        let ratio = next.abs() / kept.abs();
        if ratio > 0.95 {
            warnings.push(Warning::NoGap { kept: k, ratio });
        }
    }
    let objective: f64 = spectrum.values.iter().take(k).sum();
    Ok(Reduction {
        directions,
        loadings,
        eigenvalues: spectrum.values,
        rule,
        mean,
        names: Names::NONE,
        method: name.to_owned(),
        samples: spectrum.samples,
        slices: spectrum.slices,
        warnings,
        report: Report {
            status: spectrum.status,
            certificate: Certificate::residual(objective, spectrum.residual, 0.0),
            passes: spent.passes,
            oracle_calls: 0,
            seconds: spent.seconds,
        },
    })
}
