//! Dimension reduction for regression.

use fenchel::linalg::AsDesign;
use fenchel::moments::{
    Components, DirectionalRegression, Error, LearnedSade, Mave, Opg, Phd, Reduction, Response,
    Save, ScoreMatching, Sir, Slicing, Sphd,
};
use fenchel::optim::{Fit, Stop};
use ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Control, Watcher};
use crate::data::{Rows, with_view};
use crate::error::unknown;
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(reduce, module)?)?;
    Ok(())
}

/// Directions and loadings as columns, eigenvalues, the mean, warnings, and the report.
type Reduced<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Vec<String>,
    Bound<'py, PyDict>,
);

/// Which method, and what all have in common.
#[derive(FromPyObject)]
struct Method {
    name: String,
    /// Whether the response is a class.
    classes: bool,
    /// `"fixed"`, `"eigen_gap"`, `"eigen_ratio"`, `"chi_square"`, `"permutation"` or `"ladle"`, with its number.
    components: (String, f64),
    /// The number of slices; 0 for one that suits the data.
    slices: usize,
    /// Samples around which planes are fitted.
    base_points: usize,
}

impl Method {
    fn components(&self, seed: u64) -> PyResult<Components> {
        let (rule, number) = (self.components.0.as_str(), self.components.1);
        Ok(match rule {
            "fixed" => Components::Fixed(number as usize),
            "eigen_gap" => Components::EigenGap(number as usize),
            "eigen_ratio" => Components::EigenRatio(number as usize),
            "chi_square" => Components::ChiSquare(number),
            "permutation" => Components::Permutation { level: number, repeats: 199, seed },
            "ladle" => Components::Ladle { repeats: number as usize, seed },
            other => return Err(unknown("n_components", other, "a number or the name of a rule")),
        })
    }

    fn slicing(&self) -> Slicing {
        if self.slices == 0 { Slicing::Auto } else { Slicing::EqualCount(self.slices) }
    }

    fn fit<X: AsDesign>(
        &self,
        x: &X,
        y: ArrayView1<'_, f64>,
        components: Components,
        stop: Stop,
        fit: Fit<'_, Reduction>,
    ) -> Result<Reduction, Error> {
        let codes: Vec<f64> = if self.classes { y.to_vec() } else { vec![] };
        let y: Response<'_> = if self.classes { Response::classes(&codes)? } else { y.into() };
        let (slicing, base_points) = (self.slicing(), self.base_points);
        match self.name.as_str() {
            "SIR" => Sir { components, slicing }.fit_with(x, y, fit),
            "SAVE" => Save { components, slicing, ..Save::default() }.fit_with(x, y, fit),
            "DR" => {
                let base = DirectionalRegression::default();
                DirectionalRegression { components, slicing, ..base }.fit_with(x, y, fit)
            }
            "PHD" => Phd { components, ..Phd::default() }.fit_with(x, y, fit),
            "SADE" => {
                LearnedSade { components, slicing, ..LearnedSade::default() }.fit_with(x, y, fit)
            }
            "SPHD" => {
                let score = ScoreMatching::default().fit(x)?;
                Sphd { components, slicing, ..Sphd::default() }.fit_with(x, y, &score, fit)
            }
            "OPG" => Opg { components, base_points }.fit_with(x, y, fit),
            _ => {
                let directions = self.components.1 as usize;
                Mave { directions, base_points, stop }.fit_with(x, y, fit)
            }
        }
    }
}

#[pyfunction]
fn reduce<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    method: Method,
) -> PyResult<Reduced<'py>> {
    let rows = Rows::read(data)?;
    let view = rows.view()?;
    let components = method.components(control.seed)?;
    let stop = Stop { absolute: control.stop().relative, relative: 0.0, ..control.stop() };
    let fit = |watch: Watcher<'_>| {
        let fit = view.fit(None, watch);
        with_view!(view.x, x => method.fit(&x, view.y, components, stop, fit))
    };
    let found = control.run(py, fit)?;
    let report = to_dict(py, &found.report, None)?;
    let warnings = found.warnings.iter().map(ToString::to_string).collect();
    Ok((
        found.directions.into_pyarray(py),
        found.loadings.into_pyarray(py),
        found.eigenvalues.into_pyarray(py),
        found.mean.into_pyarray(py),
        warnings,
        report,
    ))
}
