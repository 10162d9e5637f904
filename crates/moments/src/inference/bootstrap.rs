//! Resampling of samples, for any method.

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::random::stream;
use ndarray::{Array2, ArrayView1, Axis};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, Picked, checked, leading, map_parts};
use crate::model::fit_blocks;
use crate::transform::normal_quantile;
use crate::{Error, Reducer, Reduction, Response, orthonormal, trace_error};

/// Settings of [`bootstrap`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `repeats` | 200 | resamples |
/// | `seed` | 0 | of the resampling |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BootstrapSettings {
    /// Resamples.
    pub repeats: usize,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Default for BootstrapSettings {
    fn default() -> Self {
        BootstrapSettings { repeats: 200, seed: 0 }
    }
}

/// What resamples say about a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootstrapDirections {
    /// The fit to the data themselves.
    pub model: Reduction,
    /// Standard deviations of the loadings over the resamples, `d x k`.
    pub errors: Array2<f64>,
    /// Square trace errors between the span of each resample and that of the data, ascending.
    pub distances: Vec<f64>,
}

impl BootstrapDirections {
    /// Lower and upper ends of normal intervals for the loadings at a level such as 0.95.
    pub fn intervals(&self, level: f64) -> (Array2<f64>, Array2<f64>) {
        let width = &self.errors * normal_quantile(0.5 + 0.5 * level.clamp(0.0, 1.0));
        (&self.model.loadings - &width, &self.model.loadings + &width)
    }

    /// The square trace error that a share `level` of the resamples stays within: a ball around the span.
    pub fn radius(&self, level: f64) -> f64 {
        let rank = (level.clamp(0.0, 1.0) * self.distances.len() as f64).ceil() as usize;
        self.distances.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

/// Fits a method to the data and to resamples of them. The number of directions is that of the data.
///
/// # Errors
/// Those of the method; [`Invalid::Parameter`] for fewer than two repeats.
pub fn bootstrap<'a, X: AsDesign + ?Sized>(
    method: &dyn Reducer,
    x: &X,
    y: impl Into<ArrayView1<'a, f64>>,
    settings: &BootstrapSettings,
) -> Result<BootstrapDirections, Error> {
    let data = checked(x)?;
    let response = Response::numbers(y.into(), data.count())?;
    if settings.repeats < 2 {
        let value = settings.repeats as f64;
        return Err(Invalid::Parameter { name: "repeats", value, expected: "at least 2" }.into());
    }
    let model = fit_blocks(method, &data, &response)?;
    let (n, d, k) = (data.count(), data.width(), model.components());
    let resamples = map_parts(settings.repeats, |b| {
        let mut rng = stream(settings.seed, b as u64);
        let index: Vec<usize> = (0..n).map(|_| rng.random_range(0..n)).collect();
        let found =
            method.spectrum(&Picked { data: &data, index: &index }, &response.pick(&index))?;
        let mut loadings = leading(&found.vectors, k).to_owned();
        let distance = trace_error(orthonormal(loadings.view())?.view(), model.directions.view())?;
        for j in 0..k {
            let sign = loadings.column(j).dot(&model.loadings.column(j)).signum();
            loadings.column_mut(j).mapv_inplace(|v| v * sign);
        }
        Ok((loadings, distance))
    })?;
    let count = settings.repeats as f64;
    let mut mean = Array2::<f64>::zeros((d, k));
    for (loadings, _) in &resamples {
        mean.scaled_add(1.0 / count, loadings);
    }
    let mut errors = Array2::<f64>::zeros((d, k));
    for (loadings, _) in &resamples {
        errors += &(loadings - &mean).mapv(|v| v * v);
    }
    errors.mapv_inplace(|v| (v / (count - 1.0)).sqrt());
    let mut distances: Vec<f64> = resamples.into_iter().map(|(_, distance)| distance).collect();
    distances.sort_unstable_by(f64::total_cmp);
    debug_assert_eq!(errors.len_of(Axis(0)), d);
    Ok(BootstrapDirections { model, errors, distances })
}
