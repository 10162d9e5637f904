//! Gaussian graphical models.

use fenchel::ggm::joint::{Coupling, JointGraphicalLasso};
use fenchel::ggm::scale_free::DegreePrior;
use fenchel::ggm::{
    Error, GaussianModel, GraphicalLasso, GraphicalLassoCv, LatentGraphicalLasso, PenaltyWeights,
    Scale, ScaleFree, Statistics,
};
use fenchel::linalg::Names;
use fenchel::metrics::Split;
use fenchel::optim::{Fit, Stop};
use ndarray::Array1;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Control, detached};
use crate::data::{Matrix, with_view};
use crate::error::{Raise, unknown};
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(graphical_lasso, module)?)?;
    module.add_function(wrap_pyfunction!(graphical_lasso_cv, module)?)?;
    module.add_function(wrap_pyfunction!(latent_graphical_lasso, module)?)?;
    module.add_function(wrap_pyfunction!(scale_free, module)?)?;
    module.add_function(wrap_pyfunction!(joint_graphical_lasso, module)?)?;
    module.add_function(wrap_pyfunction!(gaussian_log_density, module)?)?;
    Ok(())
}

/// Mean, precision, covariance and report.
type Gaussian<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyDict>,
);

/// A model, its penalty, and the scores of all penalties.
type CrossValidated<'py> = (Gaussian<'py>, f64, (Vec<f64>, Vec<f64>, Vec<f64>, Vec<Vec<f64>>));

fn gaussian(py: Python<'_>, model: GaussianModel) -> PyResult<Gaussian<'_>> {
    let report = to_dict(py, &model.report, None)?;
    let (mean, precision) = (model.mean.into_pyarray(py), model.precision.into_pyarray(py));
    Ok((mean, precision, model.covariance.into_pyarray(py), report))
}

/// The limits of a fit whose tolerance is absolute or relative.
fn stop_of(control: &Control) -> Stop {
    Stop { absolute: control.stop().relative, ..control.stop() }
}

fn scale_of(correlation: bool) -> Scale {
    if correlation { Scale::Correlation } else { Scale::Covariance }
}

fn penalty_of(l1: f64, diagonal: bool) -> PenaltyWeights {
    if diagonal { PenaltyWeights::WithDiagonal(l1) } else { PenaltyWeights::Uniform(l1) }
}

/// The arguments of a fit that all models share.
macro_rules! fit {
    ($py:expr, $x:expr, $weights:expr, $control:expr, $estimator:expr) => {{
        let matrix = Matrix::read($x)?;
        let (view, estimator) = (matrix.view()?, $estimator);
        let own = $weights.as_ref().map(|weights: &PyReadonlyArray1<'_, f64>| {
            weights.as_array().to_owned()
        });
        $control.run($py, |watch| {
            let weights = own.as_ref().map(|weights: &Array1<f64>| weights.view());
            let fit = Fit { weights, ..Fit::new().watch(watch) };
            with_view!(view, x => estimator.fit_with(&x, fit))
        })
    }};
}

/// The rows of `x` are samples or, if `precomputed`, those of a covariance matrix.
#[pyfunction]
fn graphical_lasso<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
    l1: f64,
    diagonal: bool,
    correlation: bool,
    precomputed: bool,
) -> PyResult<Gaussian<'py>> {
    let (stop, scale) = (stop_of(&control), scale_of(correlation));
    let base = GraphicalLasso::default();
    let estimator = GraphicalLasso { l1: penalty_of(l1, diagonal), scale, stop, ..base };
    if precomputed {
        let covariance: PyReadonlyArray2<'py, f64> = x.extract()?;
        // The number of samples plays no part in the fit.
        let statistics = Statistics::from_covariance(covariance.as_array(), 2);
        let statistics = statistics.map_err(Raise::raise)?;
        let model =
            control.run(py, |watch| estimator.fit_with(&statistics, Fit::new().watch(watch)));
        return gaussian(py, model?);
    }
    gaussian(py, fit!(py, x, weights, control, estimator)?)
}

/// The model, the penalty that was chosen, all penalties, their losses and standard errors, and the losses of the folds; without
/// penalties there are `count` of them.
#[pyfunction]
fn graphical_lasso_cv<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
    penalties: (Option<Vec<f64>>, usize),
    folds: (usize, Option<Vec<Split>>),
    one_standard_error: bool,
    correlation: bool,
) -> PyResult<CrossValidated<'py>> {
    let (stop, scale, seed) = (stop_of(&control), scale_of(correlation), control.seed);
    let ((penalties, count), (folds, splits)) = (penalties, folds);
    let base = GraphicalLassoCv::default();
    let count = if count > 0 { count } else { base.count };
    let estimator = GraphicalLassoCv {
        penalties,
        count,
        folds,
        splits,
        one_standard_error,
        scale,
        stop,
        seed,
        ..base
    };
    let found = fit!(py, x, weights, control, estimator)?;
    let scores = (found.penalties, found.loss, found.standard_error, found.folds);
    Ok((gaussian(py, found.model)?, found.l1, scores))
}

/// The model of the observed variables, their precision given the hidden ones, and the loadings of these.
#[pyfunction]
fn latent_graphical_lasso<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
    l1: f64,
    rank_penalty: f64,
    correlation: bool,
) -> PyResult<(Gaussian<'py>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>)> {
    let (stop, scale) = (stop_of(&control), scale_of(correlation));
    let base = LatentGraphicalLasso::default();
    let l1 = PenaltyWeights::Uniform(l1);
    let estimator = LatentGraphicalLasso { l1, rank_penalty, scale, stop, ..base };
    let found = fit!(py, x, weights, control, estimator)?;
    let (sparse, loadings) = (found.sparse.into_pyarray(py), found.loadings.into_pyarray(py));
    Ok((gaussian(py, found.observed)?, sparse, loadings))
}

#[pyfunction]
fn scale_free<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
    strength: f64,
    correlation: bool,
) -> PyResult<Gaussian<'py>> {
    let (stop, scale) = (stop_of(&control), scale_of(correlation));
    let prior = DegreePrior::default();
    let estimator = ScaleFree { prior, strength, scale, stop, ..ScaleFree::default() };
    gaussian(py, fit!(py, x, weights, control, estimator)?)
}

/// One model a group of rows.
#[pyfunction]
fn joint_graphical_lasso<'py>(
    py: Python<'py>,
    groups: Vec<PyReadonlyArray2<'py, f64>>,
    control: Control,
    l1: f64,
    similarity: f64,
    coupling: &str,
    correlation: bool,
) -> PyResult<Vec<Gaussian<'py>>> {
    let coupling = match coupling {
        "group" => Coupling::Group,
        "fused" => Coupling::Fused,
        other => return Err(unknown("coupling", other, "'group' or 'fused'")),
    };
    let (stop, scale) = (stop_of(&control), scale_of(correlation));
    let base = JointGraphicalLasso::default();
    let estimator = JointGraphicalLasso { l1, similarity, coupling, scale, stop, ..base };
    let groups: Vec<_> = groups.iter().map(|group| group.as_array()).collect();
    let found = control.run(py, |watch| estimator.fit_with(&groups, Fit::new().watch(watch)))?;
    found.models.into_iter().map(|model| gaussian(py, model)).collect()
}

/// The logarithm of the density of each row.
#[pyfunction]
fn gaussian_log_density<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    mean: PyReadonlyArray1<'py, f64>,
    precision: PyReadonlyArray2<'py, f64>,
    covariance: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let matrix = Matrix::read(x)?;
    let view = matrix.view()?;
    let model = GaussianModel {
        names: Names::default(),
        mean: mean.as_array().to_owned(),
        precision: precision.as_array().to_owned(),
        covariance: covariance.as_array().to_owned(),
        report: crate::report::no_report(),
    };
    let density = || -> Result<Array1<f64>, Error> { with_view!(view, x => model.log_density(&x)) };
    Ok(detached(py, density)?.into_pyarray(py))
}
