//! The estimator: hyper-parameters in, a model out.

use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::model::Saved;
use fenchel_optim::{Report, Stop};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::method::{ProjectedGradientSettings, projected_gradient};
use crate::problem::Problem;

/// Least squares with weights `>= 0`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NonnegativeRidge {
    /// Weight of `||w||^2 / 2`, `> 0`.
    pub l2: f64,
    /// When to end.
    pub stop: Stop,
}

impl Default for NonnegativeRidge {
    fn default() -> Self {
        NonnegativeRidge { l2: 1e-2, stop: Stop::at_relative(1e-6) }
    }
}

impl NonnegativeRidge {
    pub fn fit<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<NonnegativeModel, Error> {
        let y = y.into().to_vec();
        let problem = Problem::new(x.as_design()?, &y, self.l2)?;
        let settings = ProjectedGradientSettings { stop: self.stop };
        let solution = projected_gradient(&problem, &settings, None, &mut ())?;
        Ok(NonnegativeModel { weights: solution.state.into(), report: solution.report })
    }
}

/// The fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NonnegativeModel {
    pub weights: Array1<f64>,
    pub report: Report,
}

impl NonnegativeModel {
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        let design = x.as_design()?;
        Invalid::check_length("columns", self.weights.len(), design.columns())?;
        let weights = self.weights.to_vec();
        Ok((0..design.rows()).map(|i| design.row_dot(i, &weights)).collect())
    }

    /// `R^2` of the predictions.
    pub fn score<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<f64, Error> {
        fenchel_metrics::r2(&y.into().to_vec(), &self.predict(x)?.to_vec())
            .map_err(|error| Invalid::Layout { what: "targets", reason: error.to_string() }.into())
    }
}

impl Saved for NonnegativeModel {
    const KIND: &'static str = "non-negative ridge";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let fits = |w: &f64| w.is_finite() && *w >= 0.0;
        self.weights.iter().all(fits).then_some(()).ok_or_else(|| "weights: >= 0".into())
    }
}
