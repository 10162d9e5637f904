//! The estimator: hyper-parameters in, a model out.

use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::{Report, Stop, model::Saved};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::method::{ProjectedGradientSettings, projected_gradient};
use crate::problem::Problem;

/// Least squares with weights `>= 0`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
    pub fn fit<'y>(
        &self,
        x: &impl AsDesign,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<NonnegativeModel> {
        let y = y.into().to_vec();
        let problem = Problem::new(x.as_design()?, &y, self.l2)?;
        let settings = ProjectedGradientSettings { stop: self.stop };
        let solution = projected_gradient(&problem, &settings, None, &mut ())?;
        Ok(NonnegativeModel { weights: solution.state, report: solution.report })
    }
}

/// The fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NonnegativeModel {
    pub weights: Vec<f64>,
    pub report: Report,
}

impl NonnegativeModel {
    pub fn predict(&self, x: &impl AsDesign) -> Result<Array1<f64>> {
        let design = x.as_design()?;
        Invalid::check_length("columns", self.weights.len(), design.columns())?;
        Ok((0..design.rows()).map(|i| design.row_dot(i, &self.weights)).collect())
    }

    /// `R^2` of the predictions.
    pub fn score<'y>(&self, x: &impl AsDesign, y: impl Into<ArrayView1<'y, f64>>) -> Result<f64> {
        fenchel_metrics::r2(y.into(), &self.predict(x)?)
            .map_err(|error| Invalid::Layout { what: "targets", reason: error.to_string() }.into())
    }
}

impl Saved for NonnegativeModel {
    const KIND: &'static str = "non-negative ridge";
    const VERSION: u32 = 1;

    fn check(&self) -> std::result::Result<(), String> {
        let fits = self.weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        fits.then_some(()).ok_or_else(|| "weights: expected finite numbers >= 0".into())
    }
}
