//! Linear models: fits, cross-validation, paths, predictions.

use std::ops::ControlFlow;

use fenchel::linalg::labels::Classes;
use fenchel::linalg::{AsDesign, Names};
use fenchel::linear::estimators::{Choose, CrossValidated, HuberModel, HuberRegressor, Scoring};
use fenchel::linear::loss::{Logistic, Quantile, Squared, SquaredHinge};
use fenchel::linear::path::{Grid, Path, PathPoint, PathSettings, path_from};
use fenchel::linear::prox::{L1, NonnegativeL1, Zero};
use fenchel::linear::{
    ElasticNet, ElasticNetCv, Error, GroupLasso, LinearModel, LinearSvc, LinearSvcCv,
    LogisticModel, LogisticRegression, LogisticRegressionCv, Penalised, PoissonModel,
    PoissonRegressor, Problem, SoftmaxModel, SoftmaxRegression, SoftmaxRegressionCv, SvcLoss,
    SvcModel,
};
use fenchel::metrics::Split;
use fenchel::optim::{Progress, Report};
use fenchel::saddle::{MulticlassL1, MulticlassLoss, Primal};
use ndarray::{Array1, Array2};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Control, Watcher, detached};
use crate::data::{Matrix, Rows, View, owned, with_view};
use crate::error::{Raise, unknown};
use crate::report::{no_report, to_dict};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(least_squares, module)?)?;
    module.add_function(wrap_pyfunction!(group_lasso, module)?)?;
    module.add_function(wrap_pyfunction!(poisson, module)?)?;
    module.add_function(wrap_pyfunction!(quantile, module)?)?;
    module.add_function(wrap_pyfunction!(huber, module)?)?;
    module.add_function(wrap_pyfunction!(logistic, module)?)?;
    module.add_function(wrap_pyfunction!(svc, module)?)?;
    module.add_function(wrap_pyfunction!(softmax, module)?)?;
    module.add_function(wrap_pyfunction!(multiclass_l1, module)?)?;
    module.add_function(wrap_pyfunction!(least_squares_cv, module)?)?;
    module.add_function(wrap_pyfunction!(logistic_cv, module)?)?;
    module.add_function(wrap_pyfunction!(svc_cv, module)?)?;
    module.add_function(wrap_pyfunction!(softmax_cv, module)?)?;
    module.add_function(wrap_pyfunction!(linear_path, module)?)?;
    module.add_function(wrap_pyfunction!(predict, module)?)?;
    module.add_function(wrap_pyfunction!(predict_classes, module)?)?;
    Ok(())
}

/// Weights, intercept and report.
type Margin<'py> = (Bound<'py, PyArray1<f64>>, f64, Bound<'py, PyDict>);
/// Weights with a column a class, intercepts and report.
type Several<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>);
/// Weights and intercept of a former model.
type Start<'py> = (PyReadonlyArray1<'py, f64>, f64);
/// The same with a column a class.
type Starts<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>);
/// Share of the l1 norm, penalty, mean score, standard error, and the scores of the folds.
type Score = (f64, f64, f64, f64, Vec<f64>);

/// A model of one margin.
trait MarginModel {
    /// What a fit returns, without a report.
    fn of(weights: Array1<f64>, intercept: f64) -> Self;
    /// Weights, intercept, report, and the method that was chosen.
    fn parts(self) -> (Array1<f64>, f64, Report, Option<String>);
}

macro_rules! margin_models {
    ($($model:ty { $($field:ident: $value:expr)? };)*) => {$(
        impl MarginModel for $model {
            fn of(weights: Array1<f64>, intercept: f64) -> Self {
                let (names, report) = (Names::default(), no_report());
                Self { weights, intercept, $($field: $value,)? names, report, choice: None }
            }

            fn parts(self) -> (Array1<f64>, f64, Report, Option<String>) {
                let choice = self.choice.map(|choice| choice.to_string());
                (self.weights, self.intercept, self.report, choice)
            }
        }
    )*};
}

margin_models! {
    LinearModel {};
    PoissonModel {};
    LogisticModel<f64> { classes: CODES };
    SvcModel<f64> { classes: CODES };
}

/// The labels of two classes as the Python layer encodes them.
const CODES: [f64; 2] = [0.0, 1.0];

fn model<M: MarginModel>((weights, intercept): Start<'_>) -> M {
    M::of(owned(&weights), intercept)
}

fn margin<M: MarginModel>(py: Python<'_>, model: M) -> PyResult<Margin<'_>> {
    let (weights, intercept, report, choice) = model.parts();
    Ok((weights.into_pyarray(py), intercept, to_dict(py, &report, choice)?))
}

/// `estimator.fit_with` on the data of Python.
macro_rules! fit {
    ($py:expr, $data:expr, $control:expr, $start:expr, $estimator:expr) => {{
        let rows = Rows::read($data)?;
        let view = rows.view()?;
        let start = $start;
        let estimator = $estimator;
        $control.run($py, |watch| {
            with_view!(view.x, x => estimator.fit_with(&x, view.y, view.fit(start.as_ref(), watch)))
        })
    }};
}

/// Least squares: `penalty` is the weight of the l1 norm, and of half the squared l2 norm. If `positive`, no weight is below 0.
#[pyfunction]
#[pyo3(signature = (data, control, penalty, intercept, positive, start=None))]
fn least_squares<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    penalty: (f64, f64),
    intercept: bool,
    positive: bool,
    start: Option<Start<'py>>,
) -> PyResult<Margin<'py>> {
    let ((l1, l2), stop, seed) = (penalty, control.stop(), control.seed);
    let start = start.map(model::<LinearModel>);
    if positive {
        let (loss, regulariser) = (Squared, NonnegativeL1 { strength: l1 });
        let estimator = Penalised { loss, regulariser, l2, intercept, stop, seed };
        return margin(py, fit!(py, data, control, start, estimator)?);
    }
    let estimator = ElasticNet { l1, l2, intercept, stop, seed };
    margin(py, fit!(py, data, control, start, estimator)?)
}

#[pyfunction]
#[pyo3(signature = (data, control, groups, penalty, intercept, start=None))]
fn group_lasso<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    groups: Vec<Vec<usize>>,
    penalty: (f64, f64),
    intercept: bool,
    start: Option<Start<'py>>,
) -> PyResult<Margin<'py>> {
    let ((group, l1), stop, seed) = (penalty, control.stop(), control.seed);
    let estimator = GroupLasso { groups, group, l1, intercept, stop, seed };
    margin(py, fit!(py, data, control, start.map(model), estimator)?)
}

#[pyfunction]
#[pyo3(signature = (data, control, penalty, intercept, start=None))]
fn poisson<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    penalty: (f64, f64),
    intercept: bool,
    start: Option<Start<'py>>,
) -> PyResult<Margin<'py>> {
    let ((l1, l2), stop, seed) = (penalty, control.stop(), control.seed);
    let estimator = PoissonRegressor { l1, l2, intercept, stop, seed };
    margin(py, fit!(py, data, control, start.map(model), estimator)?)
}

/// The quantile `tau`.
#[pyfunction]
fn quantile<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    tau: f64,
    l2: f64,
    intercept: bool,
) -> PyResult<Margin<'py>> {
    let (loss, regulariser) = (Quantile { tau }, Zero);
    let (stop, seed) = (control.stop(), control.seed);
    let estimator = Penalised { loss, regulariser, l2, intercept, stop, seed };
    margin(py, fit!(py, data, control, None, estimator)?)
}

/// Regression with outliers: the model, and the scale of the noise. `start` has the scale too.
#[pyfunction]
#[pyo3(signature = (data, control, epsilon, l2, intercept, start=None))]
fn huber<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    epsilon: f64,
    l2: f64,
    intercept: bool,
    start: Option<(Start<'py>, f64)>,
) -> PyResult<(Margin<'py>, f64)> {
    let (stop, seed) = (control.stop(), control.seed);
    let estimator = HuberRegressor { epsilon, l2, intercept, stop, seed };
    let start = start.map(|(start, scale)| HuberModel { linear: model(start), scale });
    let HuberModel { linear, scale } = fit!(py, data, control, start, estimator)?;
    Ok((margin(py, linear)?, scale))
}

/// Two classes, with the codes 0 and 1.
#[pyfunction]
#[pyo3(signature = (data, control, penalty, intercept, start=None))]
fn logistic<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    penalty: (f64, f64),
    intercept: bool,
    start: Option<Start<'py>>,
) -> PyResult<Margin<'py>> {
    let ((l1, l2), stop, seed) = (penalty, control.stop(), control.seed);
    let base = LogisticRegression::default();
    let estimator = LogisticRegression { l1, l2: Some(l2), intercept, stop, seed, ..base };
    margin(py, fit!(py, data, control, start.map(model), estimator)?)
}

/// Two classes, with the codes 0 and 1. An l1 norm goes with the squared hinge alone.
#[pyfunction]
fn svc<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    loss: &str,
    penalty: (f64, f64),
    intercept: bool,
) -> PyResult<Margin<'py>> {
    let (loss, stop, seed) = (svc_loss(loss)?, control.stop(), control.seed);
    let (l1, l2) = penalty;
    if l1 == 0.0 {
        let base = LinearSvc::default();
        let estimator = LinearSvc { loss, l2: Some(l2), intercept, stop, seed, ..base };
        return margin(py, fit!(py, data, control, None, estimator)?);
    }
    if loss == SvcLoss::Hinge {
        return Err(unknown("loss", "hinge", "'squared_hinge' for an l1 penalty"));
    }
    let (loss, regulariser) = (SquaredHinge, L1 { strength: l1 });
    let estimator = Penalised { loss, regulariser, l2, intercept, stop, seed };
    let rows = Rows::read(data)?;
    let view = rows.view()?;
    let signs = view.y.mapv(|code| 2.0 * code - 1.0);
    let model = control.run(py, |watch| {
        with_view!(view.x, x => estimator.fit_with(&x, signs.view(), view.fit(None, watch)))
    })?;
    margin(py, model)
}

/// Several classes, with the codes 0, 1, ...; `penalty` is the weight of the l1 norm, of the norms of rows, and of half the
/// squared l2 norm.
#[pyfunction]
#[pyo3(signature = (data, control, penalty, intercept, start=None))]
fn softmax<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    penalty: (f64, f64, f64),
    intercept: bool,
    start: Option<Starts<'py>>,
) -> PyResult<Several<'py>> {
    let ((l1, group, l2), stop, seed) = (penalty, control.stop(), control.seed);
    let base = SoftmaxRegression::default();
    let estimator = SoftmaxRegression { l1, group, l2: Some(l2), intercept, stop, seed, ..base };
    let start = start.map(|(weights, intercepts)| {
        softmax_model(weights.as_array().to_owned(), owned(&intercepts))
    });
    several(py, fit!(py, data, control, start.transpose()?, estimator)?)
}

#[pyfunction]
#[pyo3(signature = (data, control, loss, norm, penalty, intercept, standardise))]
fn multiclass_l1<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    loss: &str,
    norm: &str,
    penalty: f64,
    intercept: bool,
    standardise: bool,
) -> PyResult<Several<'py>> {
    let loss = match loss {
        "hinge" => MulticlassLoss::Hinge,
        "log_loss" => MulticlassLoss::Softmax,
        other => return Err(unknown("loss", other, "'hinge' or 'log_loss'")),
    };
    let norm = match norm {
        "l1" => Primal::Entries,
        "rows" => Primal::Rows,
        other => return Err(unknown("norm", other, "'l1' or 'rows'")),
    };
    let (stop, seed, base) = (control.stop(), control.seed, MulticlassL1::default());
    let estimator =
        MulticlassL1 { loss, norm, penalty, intercept, standardise, stop, seed, ..base };
    let model = fit!(py, data, control, None, estimator)?;
    let mut weights = Array2::zeros((model.features, model.classes.len()));
    for (feature, class, weight) in model.weights {
        weights[[feature as usize, class as usize]] = weight;
    }
    let method = Some(format!("{:?}", model.solver));
    let report = to_dict(py, &model.report, method)?;
    Ok((weights.into_pyarray(py), model.intercepts.into_pyarray(py), report))
}

fn several(py: Python<'_>, model: SoftmaxModel<f64>) -> PyResult<Several<'_>> {
    let report = to_dict(py, &model.report, model.choice.map(|choice| choice.to_string()))?;
    Ok((model.weights.into_pyarray(py), model.intercepts.into_pyarray(py), report))
}

fn softmax_model(weights: Array2<f64>, intercepts: Array1<f64>) -> PyResult<SoftmaxModel<f64>> {
    let codes: Vec<f64> = (0..weights.ncols()).map(|code| code as f64).collect();
    let (classes, _) = Classes::from_labels(&codes).map_err(Raise::raise)?;
    let (names, report) = (Names::default(), no_report());
    Ok(SoftmaxModel { weights, intercepts, classes, names, report, choice: None })
}

/// Penalties, and shares of the l1 norm, to try; how many folds, and by which score.
#[derive(FromPyObject)]
struct Search {
    grid: Option<Vec<f64>>,
    count: usize,
    smallest: f64,
    l1_ratios: Vec<f64>,
    folds: usize,
    splits: Option<Vec<Split>>,
    scoring: String,
    one_standard_error: bool,
}

impl Search {
    fn grid(&self) -> Grid {
        match &self.grid {
            Some(given) => Grid::Given(given.clone()),
            None => Grid::Log { count: self.count, smallest: self.smallest },
        }
    }

    /// The grid, or what the crate takes by default where nothing was asked for.
    fn grid_or_default(&self) -> Option<Grid> {
        (self.grid.is_some() || self.count > 0).then(|| self.grid())
    }

    fn choose(&self) -> Choose {
        if self.one_standard_error { Choose::OneStandardError } else { Choose::Best }
    }

    fn scoring(&self) -> PyResult<Scoring> {
        match self.scoring.as_str() {
            "neg_log_loss" => Ok(Scoring::LogLoss),
            "accuracy" => Ok(Scoring::Errors),
            "roc_auc" => Ok(Scoring::Auc),
            other => Err(unknown("scoring", other, "'accuracy', 'neg_log_loss' or 'roc_auc'")),
        }
    }
}

/// The scores, and the number of the chosen one.
fn table<M>(fitted: CrossValidated<M>) -> (M, Vec<Score>, usize) {
    let scores = fitted.scores.into_iter();
    let row = |s: fenchel::linear::estimators::Score| {
        (s.l1_ratio, s.penalty, s.mean, s.standard_error, s.folds)
    };
    (fitted.model, scores.map(row).collect(), fitted.chosen)
}

#[pyfunction]
fn least_squares_cv<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    search: Search,
    intercept: bool,
) -> PyResult<(Margin<'py>, Vec<Score>, usize)> {
    let (stop, seed) = (control.stop(), control.seed);
    let Search { folds, ref splits, ref l1_ratios, .. } = search;
    let (l1_ratios, splits) = (l1_ratios.clone(), splits.clone());
    let (choose, grid) = (search.choose(), search.grid_or_default());
    let estimator = ElasticNetCv { l1_ratios, folds, splits, choose, grid, intercept, stop, seed };
    let (model, scores, chosen) = table(fit!(py, data, control, None, estimator)?);
    Ok((margin(py, model)?, scores, chosen))
}

#[pyfunction]
fn logistic_cv<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    search: Search,
    intercept: bool,
) -> PyResult<(Margin<'py>, Vec<Score>, usize)> {
    let estimator = LogisticRegressionCv {
        l1_ratios: search.l1_ratios.clone(),
        folds: search.folds,
        splits: search.splits.clone(),
        choose: search.choose(),
        grid: search.grid_or_default(),
        scoring: search.scoring()?,
        intercept,
        stop: control.stop(),
        seed: control.seed,
        ..LogisticRegressionCv::default()
    };
    let (model, scores, chosen) = table(fit!(py, data, control, None, estimator)?);
    Ok((margin(py, model)?, scores, chosen))
}

#[pyfunction]
fn svc_cv<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    search: Search,
    loss: &str,
    intercept: bool,
) -> PyResult<(Margin<'py>, Vec<Score>, usize)> {
    let estimator = LinearSvcCv {
        loss: svc_loss(loss)?,
        folds: search.folds,
        splits: search.splits.clone(),
        choose: search.choose(),
        grid: search.grid_or_default(),
        scoring: search.scoring()?,
        intercept,
        stop: control.stop(),
        seed: control.seed,
        ..LinearSvcCv::default()
    };
    let (model, scores, chosen) = table(fit!(py, data, control, None, estimator)?);
    Ok((margin(py, model)?, scores, chosen))
}

#[pyfunction]
fn softmax_cv<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    search: Search,
    intercept: bool,
) -> PyResult<(Several<'py>, Vec<Score>, usize)> {
    let estimator = SoftmaxRegressionCv {
        l1_ratios: search.l1_ratios.clone(),
        folds: search.folds,
        splits: search.splits.clone(),
        choose: search.choose(),
        grid: search.grid_or_default(),
        scoring: search.scoring()?,
        intercept,
        stop: control.stop(),
        seed: control.seed,
        ..SoftmaxRegressionCv::default()
    };
    let (model, scores, chosen) = table(fit!(py, data, control, None, estimator)?);
    Ok((several(py, model)?, scores, chosen))
}

/// Penalties, weights with a column a penalty, intercepts, reports.
type PathParts<'py> =
    (Vec<f64>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Vec<Bound<'py, PyDict>>);

/// The path of least squares (`"squared"`), or of two classes with targets -1 and +1 (`"logistic"`).
#[pyfunction]
fn linear_path<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    loss: &str,
    search: Search,
    intercept: bool,
) -> PyResult<PathParts<'py>> {
    let &[l1_ratio] = &search.l1_ratios[..] else {
        return Err(PyValueError::new_err("l1_ratio: expected one number for a path"));
    };
    let settings = PathSettings {
        l1_ratio,
        grid: search.grid(),
        intercept,
        seed: control.seed,
        stop: control.stop(),
        ..PathSettings::default()
    };
    let rows = Rows::read(data)?;
    let view = rows.view()?;
    let (targets, weights) = (view.y.to_vec(), view.weights.map(|weights| weights.to_vec()));
    let path = match loss {
        "squared" => control
            .run(py, |watch| with_view!(view.x, x => path_of(&x, &targets, Squared, weights, &settings, watch))),
        "logistic" => control
            .run(py, |watch| with_view!(view.x, x => path_of(&x, &targets, Logistic, weights, &settings, watch))),
        other => Err(unknown("loss", other, "'squared' or 'logistic'")),
    }?;
    let mut weights = Array2::zeros((path.features, path.points.len()));
    for (k, point) in path.points.iter().enumerate() {
        for (&feature, &weight) in point.support.iter().zip(&point.weights) {
            weights[[feature, k]] = weight;
        }
    }
    let penalties = path.points.iter().map(|point| point.penalty).collect();
    let intercepts: Array1<f64> = path.points.iter().map(|point| point.intercept).collect();
    let reports = path.points.iter().map(|point| to_dict(py, &point.report, None));
    let reports = reports.collect::<PyResult<_>>()?;
    Ok((penalties, weights.into_pyarray(py), intercepts.into_pyarray(py), reports))
}

fn path_of<X: AsDesign, L: fenchel::optim::Loss + Clone>(
    x: &X,
    targets: &[f64],
    loss: L,
    weights: Option<Vec<f64>>,
    settings: &PathSettings,
    watch: Watcher<'_>,
) -> Result<Path, Error> {
    let problem = Problem::new(x.as_design()?, targets, loss, Zero, 0.0)?;
    let problem = if settings.intercept { problem.with_intercept() } else { problem };
    let problem = match weights {
        Some(weights) => problem.with_weights(&weights)?,
        None => problem,
    };
    let mut observer = |progress: &Progress, _: &PathPoint| -> ControlFlow<()> { watch(progress) };
    path_from(&problem, settings, None, &mut observer)
}

/// One number a row: `x w + b` through `"identity"`, `"exp"` or `"sigmoid"`.
#[pyfunction]
fn predict<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    weights: PyReadonlyArray1<'py, f64>,
    intercept: f64,
    link: &str,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, weights) = (Matrix::read(x)?, owned(&weights));
    let view = x.view()?;
    let of = |view: View<'_>| -> Result<Array1<f64>, Error> {
        with_view!(view, x => match link {
            "exp" => PoissonModel::of(weights, intercept).predict(&x),
            "sigmoid" => LogisticModel::of(weights, intercept).predict_proba(&x),
            _ => LinearModel::of(weights, intercept).predict(&x),
        })
    };
    Ok(detached(py, || of(view))?.into_pyarray(py))
}

/// One number a row and class: `x W + b`, through the softmax if `probabilities`.
#[pyfunction]
fn predict_classes<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    weights: PyReadonlyArray2<'py, f64>,
    intercepts: PyReadonlyArray1<'py, f64>,
    probabilities: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let x = Matrix::read(x)?;
    let view = x.view()?;
    let model = softmax_model(weights.as_array().to_owned(), owned(&intercepts))?;
    let of = |view: View<'_>| {
        with_view!(view, x => if probabilities {
            model.predict_proba(&x)
        } else {
            model.decision_function(&x)
        })
    };
    Ok(detached(py, || of(view))?.into_pyarray(py))
}

fn svc_loss(loss: &str) -> PyResult<SvcLoss> {
    match loss {
        "hinge" => Ok(SvcLoss::Hinge),
        "squared_hinge" => Ok(SvcLoss::SquaredHinge),
        other => Err(unknown("loss", other, "'hinge' or 'squared_hinge'")),
    }
}
