//! Data with missing entries, coded as NaN.
//!
//! | function | what | when |
//! |---|---|---|
//! | [`mean_imputed`] | missing entries are set to the column's mean, which shrinks covariances | few are missing |
//! | [`pairwise`] | each covariance from the rows that have both entries, then the nearest positive semidefinite matrix | any pattern, completely at random |
//! | [`em`] | maximum likelihood of the observed entries, with an optional penalty | missing at random |
//!
//! Source: Stadler and Buehlmann, Statistics and Computing 22, 2012; A. Defazio, PhD thesis 2014, section 9.10.1.

use fenchel_linalg::{Invalid, Names, factor};
use fenchel_optim::{Budget, Fit, MAX_MEMORY, Status, Stop};
use ndarray::{Array1, Array2, ArrayView2};

use crate::covariance::rank::nearest_correlation;
use crate::error::Error;
use crate::estimator::GraphicalLasso;
use crate::model::GaussianModel;
use crate::statistics::{Scale, Statistics, check_order};

fn check(x: ArrayView2<f64>) -> Result<Array1<f64>, Error> {
    if x.nrows() < 2 || x.ncols() == 0 {
        return Err(Invalid::Empty { what: "data (at least two rows)" }.into());
    }
    let mut means = Array1::zeros(x.ncols());
    for (column, values) in x.columns().into_iter().enumerate() {
        let (mut sum, mut count) = (0.0, 0.0);
        for (row, &value) in values.iter().enumerate() {
            if value.is_infinite() {
                return Err(Invalid::NonFinite { what: "data", row, column, value }.into());
            }
            if !value.is_nan() {
                sum += value;
                count += 1.0;
            }
        }
        if count == 0.0 {
            let reason = format!("column {column} has no entry that is not missing");
            return Err(Invalid::Layout { what: "data", reason }.into());
        }
        means[column] = sum / count;
    }
    Ok(means)
}

/// Statistics with missing entries set to the means of their columns.
///
/// # Errors
/// [`Invalid`] for infinite entries, columns without any entry, and fewer than two rows.
pub fn mean_imputed<'a>(x: impl Into<ArrayView2<'a, f64>>) -> Result<Statistics, Error> {
    let x = x.into();
    let means = check(x)?;
    let full =
        Array2::from_shape_fn(
            x.raw_dim(),
            |(i, j)| {
                if x[[i, j]].is_nan() { means[j] } else { x[[i, j]] }
            },
        );
    Statistics::from_data(&full)
}

/// Statistics from all pairs of observed entries. If the correlation matrix has negative eigenvalues,
/// [`nearest_correlation`] repairs it. Also returns the distance by which the correlations were changed.
///
/// # Errors
/// As [`mean_imputed`], and for pairs of columns without a common row.
pub fn pairwise<'a>(x: impl Into<ArrayView2<'a, f64>>) -> Result<(Statistics, f64), Error> {
    let x = x.into();
    let means = check(x)?;
    let p = x.ncols();
    check_order(p, MAX_MEMORY)?;
    let mut c = Array2::<f64>::zeros((p, p));
    for i in 0..p {
        for j in 0..=i {
            let (mut sum, mut count) = (0.0, 0.0);
            for row in x.rows() {
                let product = (row[i] - means[i]) * (row[j] - means[j]);
                if !product.is_nan() {
                    sum += product;
                    count += 1.0;
                }
            }
            if count == 0.0 {
                let reason = format!("columns {j} and {i} have no common row");
                return Err(Invalid::Layout { what: "data", reason }.into());
            }
            c[[i, j]] = sum / count;
            c[[j, i]] = sum / count;
        }
    }
    let scale = c.diag().mapv(f64::sqrt);
    let raw = Array2::from_shape_fn((p, p), |(i, j)| {
        let unit = scale[i] * scale[j];
        if i == j {
            1.0
        } else if unit > 0.0 {
            c[[i, j]] / unit
        } else {
            0.0
        }
    });
    let repaired = nearest_correlation(raw.view(), 1e-8)?;
    let covariance =
        Array2::from_shape_fn((p, p), |(i, j)| repaired.correlation[[i, j]] * scale[i] * scale[j]);
    Ok((
        Statistics { covariance, mean: means, names: Names::NONE, samples: x.nrows() },
        repaired.distance,
    ))
}

/// The result of [`em`].
#[derive(Debug, Clone)]
pub struct Em {
    /// The model; its report is that of the last graphical lasso.
    pub model: GaussianModel,
    /// Expected statistics of the last iteration.
    pub statistics: Statistics,
    /// `-(2/n)` times the log-likelihood of the observed entries, plus the penalty, without constants, before every
    /// iteration. It does not increase by more than `tolerance`.
    pub objective: Vec<f64>,
    /// `Converged`; `PassLimit` if the limit on iterations was reached, or on the passes of the last graphical lasso;
    /// `TimeLimit` if the time of `lasso.stop` was over.
    pub status: Status,
}

/// Expectation maximisation (EM). The E step computes conditional means and covariances of the missing entries. The M
/// step is a graphical lasso on the expected statistics. EM runs until the objective changes by at most `tolerance`,
/// for at most `iterations`, or until the time of `lasso.stop` is over. An iteration costs O(n u^3) with `u` missing entries per row.
///
/// [`Scale::Correlation`] here refers to the standard deviations of [`mean_imputed`], so the units of the penalty are
/// the same in all iterations.
///
/// # Errors
/// As [`mean_imputed`] and [`GraphicalLasso::fit`].
pub fn em<'a>(
    x: impl Into<ArrayView2<'a, f64>>,
    lasso: &GraphicalLasso,
    iterations: usize,
    tolerance: f64,
) -> Result<Em, Error> {
    Invalid::check_nonnegative("tolerance", tolerance)?;
    let x = x.into();
    let (n, p) = x.dim();
    let first = mean_imputed(x)?;
    let (covariance, units) = match lasso.scale {
        Scale::Covariance => (first.covariance.clone(), Array1::ones(p)),
        Scale::Correlation => first.on(Scale::Correlation)?,
    };
    // Centred, so that no digits go where means are large.
    let z = (&x - &first.mean) / &units;
    let mut logs = 0.0;
    for (unit, column) in units.iter().zip(z.columns()) {
        let known = column.iter().filter(|z| !z.is_nan()).count();
        logs += 2.0 * unit.ln() * known as f64 / n as f64;
    }
    // Each lasso starts from the last model and is at least as accurate as the iterations are to be: then nothing rises.
    let stop = Stop {
        absolute: lasso.stop.absolute.min(tolerance),
        relative: lasso.stop.relative.min(tolerance),
        ..lasso.stop
    };
    let budget = Budget::new(stop);
    let lasso = GraphicalLasso { scale: Scale::Covariance, stop, ..lasso.clone() };
    let within_time = || GraphicalLasso {
        stop: Stop { max_seconds: budget.left().max_seconds, ..stop },
        ..lasso.clone()
    };
    let mut statistics =
        Statistics { covariance, mean: Array1::zeros(p), names: Names::NONE, samples: n };
    let mut model = within_time().fit(&statistics)?;
    let mut objective: Vec<f64> = Vec::new();
    let mut status = Status::PassLimit;
    for _ in 0..iterations {
        let (loss, next) = expected(z.view(), &model)?;
        let mut penalty = 0.0;
        for ((i, j), v) in model.precision.indexed_iter() {
            if *v != 0.0 {
                penalty += lasso.l1.at(i, j) * v.abs();
            }
        }
        let value = loss + penalty + logs;
        let settled = objective.last().is_some_and(|last| (last - value).abs() <= tolerance);
        objective.push(value);
        // A lasso that had no time for a step has not settled.
        if model.report.status == Status::TimeLimit || budget.left().max_seconds == Some(0.0) {
            status = Status::TimeLimit;
            break;
        }
        if settled {
            // Nor has one that may do no passes.
            let limited = model.report.status == Status::PassLimit;
            status = if limited { Status::PassLimit } else { Status::Converged };
            break;
        }
        model = within_time().fit_with(&next, Fit::new().start(&model))?;
        statistics = next;
    }
    let back = |mean: &Array1<f64>| &first.mean + &(mean * &units);
    statistics.mean = back(&statistics.mean);
    statistics.covariance.indexed_iter_mut().for_each(|((i, j), c)| *c *= units[i] * units[j]);
    let mut model = model.in_units(&units);
    model.mean = back(&model.mean);
    Ok(Em { model, statistics, objective, status })
}

/// Minus twice the mean log-likelihood of the observed entries, without its constant, and the expected statistics.
fn expected(x: ArrayView2<f64>, model: &GaussianModel) -> Result<(f64, Statistics), Error> {
    let (n, p) = x.dim();
    let mut mean = Array1::<f64>::zeros(p);
    let mut second = Array2::<f64>::zeros((p, p));
    let mut loss = 0.0;
    let log_det = factor::cholesky(model.precision.view())?.log_det();
    for row in x.rows() {
        let known: Vec<(usize, f64)> =
            row.iter().copied().enumerate().filter(|v| !v.1.is_nan()).collect();
        let given = model.condition(&known)?;
        let mut full = row.to_owned();
        for (at, &i) in given.variables.iter().enumerate() {
            full[i] = given.mean[at];
        }
        for (a, &i) in given.variables.iter().enumerate() {
            for (b, &j) in given.variables.iter().enumerate() {
                second[[i, j]] += given.covariance[[a, b]];
            }
        }
        // The density of what is known: the joint one at the conditional mean over the conditional one there.
        let d = &full - &model.mean;
        let missing = if given.variables.is_empty() {
            0.0
        } else {
            factor::cholesky(given.covariance.view())?.log_det()
        };
        loss += model.precision.dot(&d).dot(&d) - log_det - missing;
        mean += &full;
        for i in 0..p {
            for j in 0..p {
                second[[i, j]] += full[i] * full[j];
            }
        }
    }
    mean /= n as f64;
    second /= n as f64;
    let covariance =
        Array2::from_shape_fn((p, p), |(i, j)| second[[i.max(j), i.min(j)]] - mean[i] * mean[j]);
    Ok((loss / n as f64, Statistics { covariance, mean, names: Names::NONE, samples: n }))
}
