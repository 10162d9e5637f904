//! Uncertainty of edges: debiased estimates and bootstrap intervals.
//!
//! | function | assumes | cost |
//! |---|---|---|
//! | [`debiased`] | normal data and sparse truth: z-scores of `2 Theta - Theta C Theta` | O(p^3) |
//! | [`bootstrap`] | independent rows | one fit per resample |
//!
//! Source: Jankova and van de Geer, Electronic J. Statistics 9, 2015.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;

use crate::covariance::rank::normal_cdf;
use crate::error::Error;
use crate::estimator::GraphicalLasso;
use crate::model::GaussianModel;
use crate::select::{each, within};
use crate::statistics::Statistics;

/// Debiased precision matrix with standard errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Debiased {
    /// `T = 2 Theta - Theta C Theta`.
    pub estimate: Array2<f64>,
    /// `sqrt((Theta_ii Theta_jj + Theta_ij^2) / n)`.
    pub standard_error: Array2<f64>,
}

impl Debiased {
    /// Two-sided p-values of `Theta_ij = 0`.
    pub fn p_values(&self) -> Array2<f64> {
        let mut z = &self.estimate / &self.standard_error;
        z.mapv_inplace(|z| 2.0 * normal_cdf(-z.abs()));
        z
    }

    /// The edges `(i, j, p-value)` that the procedure of Benjamini and Hochberg selects at a false discovery rate,
    /// smallest p-value first.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a rate that is not in `[0, 1]`.
    pub fn edges(&self, rate: f64) -> Result<Vec<(u32, u32, f64)>, Error> {
        if !(0.0..=1.0).contains(&rate) {
            let expected = "in [0, 1]";
            return Err(Invalid::Parameter { name: "rate", value: rate, expected }.into());
        }
        let values = self.p_values();
        let p = values.nrows();
        let mut all = Vec::new();
        for i in 0..p {
            for j in i + 1..p {
                all.push((i as u32, j as u32, values[[i, j]]));
            }
        }
        all.sort_by(|a, b| a.2.total_cmp(&b.2));
        let count = all.len() as f64;
        let last = (0..all.len()).rev().find(|&k| all[k].2 <= rate * (k + 1) as f64 / count);
        all.truncate(last.map_or(0, |k| k + 1));
        Ok(all)
    }
}

/// Removes the first-order bias of a graphical lasso with a penalty near `sqrt(log p / n)`.
///
/// # Errors
/// [`Invalid`] for statistics of the wrong order or without samples.
pub fn debiased(model: &GaussianModel, statistics: &Statistics) -> Result<Debiased, Error> {
    let p = model.variables();
    Invalid::check_length("statistics", p, statistics.variables())?;
    if statistics.samples == 0 {
        let (name, expected) = ("samples", "at least 1");
        return Err(Invalid::Parameter { name, value: 0.0, expected }.into());
    }
    let theta = &model.precision;
    let product = theta.dot(&statistics.covariance).dot(theta);
    let estimate = Array2::from_shape_fn((p, p), |(i, j)| {
        2.0 * theta[[i, j]] - 0.5 * (product[[i, j]] + product[[j, i]])
    });
    let n = statistics.samples as f64;
    let standard_error = Array2::from_shape_fn((p, p), |(i, j)| {
        ((theta[[i, i]] * theta[[j, j]] + theta[[i, j]].powi(2)) / n).sqrt()
    });
    Ok(Debiased { estimate, standard_error })
}

/// Percentile intervals of partial correlations.
#[derive(Debug, Clone, PartialEq)]
pub struct Bootstrap {
    /// Lower ends.
    pub lower: Array2<f64>,
    /// Upper ends.
    pub upper: Array2<f64>,
    /// Share of the resamples with the edge.
    pub frequency: Array2<f64>,
}

/// Refits on `resamples` samples of the rows with replacement; intervals of the given coverage.
///
/// # Errors
/// As [`GraphicalLasso::fit`]; [`Invalid`] for no resamples or more than a million, or a coverage that is not in `(0, 1)`.
pub fn bootstrap<'a>(
    x: impl Into<ArrayView2<'a, f64>>,
    lasso: &GraphicalLasso,
    resamples: usize,
    coverage: f64,
    seed: u64,
) -> Result<Bootstrap, Error> {
    if !(coverage > 0.0 && coverage < 1.0) {
        let expected = "in (0, 1)";
        return Err(Invalid::Parameter { name: "coverage", value: coverage, expected }.into());
    }
    if !(1..=1_000_000).contains(&resamples) {
        let (name, expected) = ("resamples", "1 to 1,000,000");
        return Err(Invalid::Parameter { name, value: resamples as f64, expected }.into());
    }
    let x = x.into();
    if x.nrows() == 0 {
        return Err(Invalid::Empty { what: "data" }.into());
    }
    let (n, p) = x.dim();
    let partials = each(resamples, |k| {
        let mut rng = stream(seed, k as u64);
        let rows: Vec<usize> = (0..n).map(|_| rng.random_range(0..n)).collect();
        let fit = lasso.fit(&x.select(Axis(0), &rows));
        Ok(within("resample", k, fit)?.partial_correlations())
    })?;
    let (mut lower, mut upper) = (Array2::zeros((p, p)), Array2::zeros((p, p)));
    let mut frequency = Array2::zeros((p, p));
    let tail = 0.5 * (1.0 - coverage);
    let rank = |q: f64| ((q * (resamples - 1) as f64).round() as usize).min(resamples - 1);
    for i in 0..p {
        for j in 0..p {
            let mut values: Vec<f64> = partials.iter().map(|m| m[[i, j]]).collect();
            values.sort_unstable_by(f64::total_cmp);
            lower[[i, j]] = values[rank(tail)];
            upper[[i, j]] = values[rank(1.0 - tail)];
            let found = values.iter().filter(|v| **v != 0.0).count();
            frequency[[i, j]] = found as f64 / resamples as f64;
        }
    }
    Ok(Bootstrap { lower, upper, frequency })
}
