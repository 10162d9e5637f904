//! The bootstrap over samples, for any method.

use fenchel_linalg::parallel::try_map;
use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::settings;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::intervals::normal_intervals;
use crate::blocks::{Blocks, Picked, checked};
use crate::components::check_level;
use crate::error::Error;
use crate::fit::fit_blocks;
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::resampling::{check_repeats, kept, resample};
use crate::response::Response;
use crate::subspace::{orthonormal, trace_error};

settings! {
    /// Settings of [`bootstrap`].
    #[derive(Copy)]
    pub struct BootstrapSettings {
        /// Resamples.
        repeats: usize = 200,
        /// Seed of the resampling.
        seed: u64 = 0,
    }
}

/// The bootstrap distribution of the directions of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootstrapDirections {
    /// The fit to the data themselves.
    pub model: Reduction,
    /// Standard deviations of the loadings over the resamples, `d x k`.
    pub errors: Array2<f64>,
    /// Square trace errors between the span of each resample and that of the data, ascending.
    pub distances: Vec<f64>,
    /// The number of degenerate resamples that were left out: those with a constant response, dependent features, or a
    /// class with a single sample. All results are conditional on a resample not being degenerate.
    pub left_out: usize,
}

impl BootstrapDirections {
    /// Lower and upper ends of normal intervals for the loadings at a level such as 0.95.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless the level lies between 0 and 1.
    pub fn intervals(&self, level: f64) -> Result<(Array2<f64>, Array2<f64>), Error> {
        Ok(normal_intervals(&self.model.loadings, &self.errors, level)?)
    }

    /// The square trace error that a share `level` of the resamples stays within: a ball around the span.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless the level lies between 0 and 1; [`Invalid::Empty`] without resamples.
    pub fn radius(&self, level: f64) -> Result<f64, Error> {
        check_level(level)?;
        let rank = (level * self.distances.len() as f64).ceil() as usize;
        let empty = Invalid::Empty { what: "resamples" };
        Ok(*self.distances.get(rank.saturating_sub(1)).ok_or(empty)?)
    }
}

/// Fits a method to the data and to resamples of the data. All fits use the number of directions that was chosen on the
/// data. Degenerate resamples are left out and counted.
///
/// # Errors
/// The errors of the method on the data; [`Invalid::Parameter`] unless there are 2 to 10 million repeats; [`Error::TooFewResamples`] if less than
/// half of the resamples, or less than two, can be fitted.
pub fn bootstrap<'a, X: AsDesign + ?Sized>(
    method: &dyn Reducer,
    x: &X,
    y: impl Into<Response<'a>>,
    settings: &BootstrapSettings,
) -> Result<BootstrapDirections, Error> {
    let data = checked(x)?;
    let response = y.into();
    check_repeats(settings.repeats, 2)?;
    let model = fit_blocks(method, &data, &response)?;
    let (n, d, k) = (data.count(), data.width(), model.components());
    let resamples = try_map(0..settings.repeats, |b| {
        let index = resample(n, settings.seed, b);
        let found = || -> Result<_, Error> {
            let found =
                method.spectrum(&Picked { data: &data, index: &index }, &response.pick(&index)?)?;
            found.check_count(method.name(), k)?;
            let mut loadings = found.leading(k)?.to_owned();
            let distance =
                trace_error(orthonormal(loadings.view())?.view(), model.directions.view())?;
            for j in 0..k {
                let sign = loadings.column(j).dot(&model.loadings.column(j)).signum();
                loadings.column_mut(j).mapv_inplace(|v| v * sign);
            }
            Ok((loadings, distance))
        };
        Ok::<_, Error>(found())
    })?;
    let (resamples, left_out) = kept(resamples, 2)?;
    let count = resamples.len() as f64;
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
    Ok(BootstrapDirections { model, errors, distances, left_out })
}
