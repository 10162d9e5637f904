//! Linear programs and matrix games.

use fenchel::optim::{Certificate, Fit, Stop};
use fenchel::saddle::methods::PdhgSettings;
use fenchel::saddle::{
    Error, LinearProgram, LpOutcome, LpSettings, MatrixGame, exact_game, linear_program_with,
};
use ndarray::Array1;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::Control;
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(linprog, module)?)?;
    module.add_function(wrap_pyfunction!(game, module)?)?;
    Ok(())
}

/// A vector of numbers.
type Vector<'py> = Option<Bound<'py, PyArray1<f64>>>;
/// What was found, a point, multipliers or a ray, the objective, and the report.
type Solved<'py> = (&'static str, Vector<'py>, Vector<'py>, Option<f64>, Bound<'py, PyDict>);

/// `min c'x` with `equal.0 x = equal.1`, `least.0 x >= least.1` and bounds.
#[pyfunction]
fn linprog<'py>(
    py: Python<'py>,
    cost: PyReadonlyArray1<'py, f64>,
    equal: (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>),
    least: (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>),
    bounds: (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
    control: Control,
) -> PyResult<Solved<'py>> {
    let (cost, low, high) = (cost.as_array(), bounds.0.as_array(), bounds.1.as_array());
    let (a, b) = (equal.0.as_array(), equal.1.as_array());
    let (g, h) = (least.0.as_array(), least.1.as_array());
    let Stop { relative: tolerance, max_passes, .. } = control.stop();
    let settings = LpSettings { tolerance, max_passes, ..LpSettings::default() };
    let solution = control.run(py, |watch| {
        let program = LinearProgram::new(cost)?.equal(a, b)?.at_least(g, h)?.within(low, high)?;
        linear_program_with(&program, &settings, Fit::<()>::new().watch(watch).watch)
    })?;
    let report = to_dict(py, &solution.report, None)?;
    let array = |of: Vec<f64>| Some(Array1::from(of).into_pyarray(py));
    Ok(match solution.outcome {
        LpOutcome::Optimal { x, y, objective } => {
            ("optimal", array(x), array(y), Some(objective), report)
        }
        LpOutcome::Infeasible { ray } => ("infeasible", None, array(ray), None, report),
        LpOutcome::Unbounded { x, ray } => ("unbounded", array(x), array(ray), None, report),
        LpOutcome::Undecided => ("undecided", None, None, None, report),
    })
}

/// Strategies of both players, bounds of the value from below and above, and the report.
#[pyfunction]
fn game<'py>(
    py: Python<'py>,
    payments: PyReadonlyArray2<'py, f64>,
    control: Control,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, (f64, f64), Bound<'py, PyDict>)>
{
    let payments = payments.as_array();
    let settings = PdhgSettings { stop: control.stop(), ..PdhgSettings::default() };
    let (state, report) = control.run(py, |watch| {
        let game = MatrixGame::new(payments)?;
        let mut observer = |progress: &fenchel::optim::Progress, _: &_| watch(progress);
        let solution = exact_game(&game, &settings, None, &mut observer)?;
        Ok::<_, Error>((solution.state, solution.report))
    })?;
    let bounds = match report.certificate {
        Certificate::Gap { objective, lower_bound, .. } => (lower_bound, objective),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let array = |of: Vec<f64>| Array1::from(of).into_pyarray(py);
    Ok((array(state.x), array(state.y), bounds, to_dict(py, &report, None)?))
}
