//! The graphical lasso along a grid of penalties, and the choice of a penalty.
//!
//! | criterion | formula, smaller is better | needs |
//! |---|---|---|
//! | [`Path::ebic`] | `n L(Theta) + E log n + 4 gamma E log p`, `E` edges | a covariance matrix and `n` |
//! | [`GraphicalLassoCv`](crate::cross_validation::GraphicalLassoCv) | `L` of held-out samples | data |
//! | [`stars`](crate::select::stars()) | instability of the edges over subsamples | data |
//! | [`stability_selection`](crate::select::stability_selection()) | how often an edge is selected | data |
//!
//! Every point of a path starts from the previous solution and has its own certificate. Points are stored as sparse
//! matrices.
//!
//! Source: Foygel and Drton, NIPS 2010 (EBIC).

use fenchel_linalg::{Invalid, Names};
use fenchel_optim::{Budget, Fit, Report, Status, Stop, end_of_grid};
use serde::{Deserialize, Serialize};

use crate::data::AsStatistics;
use crate::error::Error;
use crate::estimator::GraphicalLasso;
use crate::glasso::{GlassoSettings, GlassoState, Precision, graphical_lasso};
use crate::model::GaussianModel;
use crate::problem::Problem;

/// Models along a grid of penalties.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// From the largest penalty to the smallest.
    pub points: Vec<PathPoint>,
    /// Means, one per variable.
    pub mean: Vec<f64>,
    /// The names of the variables, if the data had them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// Number of samples.
    pub samples: usize,
    /// Standard deviations by which the data were divided; ones on the covariance scale.
    pub scale: Vec<f64>,
}

/// The model at one penalty, in the units of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// The penalty, or the factor of the weights if they are a matrix.
    pub l1: f64,
    /// The precision matrix.
    pub precision: Precision,
    /// `<C, Theta> - log det Theta` on the data.
    pub loss: f64,
    /// `log det Theta`.
    pub log_det: f64,
    /// The report of the fit.
    pub report: Report,
}

impl PathPoint {
    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.precision.edges.len()
    }

    /// `n L + E log n + 4 gamma E log p`.
    pub fn ebic(&self, samples: usize, gamma: f64) -> f64 {
        let (n, p, edges) =
            (samples as f64, self.precision.diagonal.len() as f64, self.edges() as f64);
        n * self.loss + edges * n.ln() + 4.0 * gamma * edges * p.ln()
    }

    /// The model with its dense matrices, given the path of this point, which has means and names. O(p^3).
    ///
    /// # Errors
    /// [`Invalid`] for means of the wrong length or that are not finite; [`Invalid::NotPositiveDefinite`] if the point was changed by hand.
    pub fn model(&self, path: &Path) -> Result<GaussianModel, Error> {
        let Path { mean, names, .. } = path;
        Invalid::check_length("mean", self.precision.diagonal.len(), mean.len())?;
        Invalid::check_finite("mean", mean)?;
        let precision = self.precision.dense();
        let covariance = GlassoState::from_precision(precision.view())?.covariance();
        let (mean, names) = (mean.clone().into(), names.clone());
        Ok(GaussianModel { mean, names, precision, covariance, report: self.report })
    }
}

impl Path {
    /// The point with the smallest [extended BIC](PathPoint::ebic). `gamma = 0` is BIC; 0.5 is the usual choice for `p`
    /// near or above `n`.
    ///
    /// # Errors
    /// [`Invalid`] for a `gamma` that is negative or not finite, and for a path without points.
    pub fn ebic(&self, gamma: f64) -> Result<&PathPoint, Error> {
        Invalid::check_nonnegative("gamma", gamma)?;
        let value = |point: &&PathPoint| point.ebic(self.samples, gamma);
        let best = self.points.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
        Ok(best.ok_or(Invalid::Empty { what: "path" })?)
    }

    /// The warning that the least extended BIC is at an end of the grid.
    ///
    /// # Errors
    /// As [`ebic`](Path::ebic).
    pub fn ebic_warning(&self, gamma: f64) -> Result<Option<&'static str>, Error> {
        let best = self.ebic(gamma)?;
        let place = self.points.iter().position(|point| point.l1 == best.l1).unwrap_or(0);
        Ok(end_of_grid(self.points.len(), place, self.points[0].edges() == 0))
    }

    /// The model of the point with the least extended BIC.
    ///
    /// # Errors
    /// As [`ebic`](Path::ebic) and [`PathPoint::model`].
    pub fn ebic_model(&self, gamma: f64) -> Result<GaussianModel, Error> {
        self.ebic(gamma)?.model(self)
    }
}

/// `count` penalties from `largest` to `ratio * largest`, evenly spaced in the logarithm.
///
/// # Errors
/// [`Invalid::Parameter`] unless `largest > 0`, `0 < ratio <= 1` and `count >= 1`.
pub fn grid(largest: f64, ratio: f64, count: usize) -> Result<Vec<f64>, Error> {
    Invalid::check_positive("largest penalty", largest)?;
    if !(ratio > 0.0 && ratio <= 1.0) {
        return Err(
            Invalid::Parameter { name: "ratio", value: ratio, expected: "in (0, 1]" }.into()
        );
    }
    if count == 0 || count > 1_000_000 {
        let (name, value) = ("count", count as f64);
        return Err(Invalid::Parameter { name, value, expected: "1 to 1,000,000" }.into());
    }
    let step = if count > 1 { ratio.ln() / (count - 1) as f64 } else { 0.0 };
    Ok((0..count).map(|k| largest * (step * k as f64).exp()).collect())
}

impl GraphicalLasso {
    /// Fits a whole path, the largest penalty first. With `PenaltyWeights::Uniform` and `PenaltyWeights::WithDiagonal`, each penalty
    /// replaces the estimator's weight. With `PenaltyWeights::Each`, the matrix of weights is multiplied by each penalty.
    ///
    /// ```
    /// use fenchel_ggm::{GraphicalLasso, Statistics};
    /// use fenchel_ggm::path::grid;
    /// use ndarray::array;
    ///
    /// let c = array![[1.0, 0.6, 0.2], [0.6, 1.0, 0.5], [0.2, 0.5, 1.0]];
    /// let statistics = Statistics::from_covariance(c.view(), 100)?;
    /// let path = GraphicalLasso::default().fit_path(&statistics, &grid(0.6, 0.05, 10)?)?;
    /// assert_eq!(path.points[0].edges(), 0);
    /// let best = path.ebic(0.5)?;
    /// assert_eq!(best.edges(), 2);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](GraphicalLasso::fit); [`Invalid`] for an empty grid or penalties that are negative or not finite.
    pub fn fit_path(
        &self,
        data: &(impl AsStatistics + ?Sized),
        penalties: &[f64],
    ) -> Result<Path, Error> {
        self.fit_path_with(data, penalties, Fit::new())
    }

    /// As [`fit_path`](Self::fit_path), with weights of the rows, a model from which the first fit starts, and a closure that
    /// watches all fits. `Break` ends the path after the current point. Passes are counted for each point; `max_seconds` is
    /// the time of the whole path, which ends with the last point that was finished in time.
    ///
    /// # Errors
    /// As [`fit_path`](Self::fit_path) and [`fit_with`](Self::fit_with).
    pub fn fit_path_with(
        &self,
        data: &(impl AsStatistics + ?Sized),
        penalties: &[f64],
        fit: Fit<'_, GaussianModel>,
    ) -> Result<Path, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        // The covariances take their part of the time too.
        let budget = Budget::new(self.stop);
        let statistics = data.statistics(weights, self.max_memory)?;
        if penalties.is_empty() {
            return Err(Invalid::Empty { what: "grid of penalties" }.into());
        }
        for &l1 in penalties {
            Invalid::check_nonnegative("penalty", l1)?;
        }
        let (covariance, scale) = statistics.scaled(self.scale)?;
        let mut penalties = penalties.to_vec();
        penalties.sort_by(|a, b| b.total_cmp(a));
        let log_scale: f64 = scale.iter().map(|s| 2.0 * s.ln()).sum();
        let start = start.map(|start| GlassoState::in_units(start.precision.view(), &scale));
        let mut state = start.transpose()?;
        let mut points = Vec::with_capacity(penalties.len());
        for l1 in penalties {
            let weights = self.l1.at_penalty(l1);
            let problem = Problem::new(covariance.view(), &weights)?;
            let stop = Stop { max_seconds: budget.left().max_seconds, ..self.stop };
            let (method, max_memory) = (self.method, self.max_memory);
            let settings = GlassoSettings { method, stop, max_memory, ..GlassoSettings::default() };
            let solution = graphical_lasso(&problem, &settings, state.take(), &mut watch)?;
            watch.spend(&solution.report);
            let status = solution.report.status;
            if status == Status::TimeLimit && !points.is_empty() {
                break;
            }
            let mut precision = solution.state.sparse();
            let log_det = solution.state.log_det() - log_scale;
            let mut trace = 0.0;
            for (i, x) in precision.diagonal.iter_mut().enumerate() {
                trace += *x * covariance[[i, i]];
                *x /= scale[i] * scale[i];
            }
            for (i, j, x) in &mut precision.edges {
                let (i, j) = (*i as usize, *j as usize);
                trace += 2.0 * *x * covariance[[i, j]];
                *x /= scale[i] * scale[j];
            }
            let (loss, report) = (trace - log_det, solution.report);
            points.push(PathPoint { l1, precision, loss, log_det, report });
            if status == Status::Stopped {
                break;
            }
            state = Some(solution.state);
        }
        let (mean, samples, scale) = (statistics.mean.to_vec(), statistics.samples, scale.to_vec());
        let names = statistics.names.clone();
        Ok(Path { points, mean, names, samples, scale })
    }
}
