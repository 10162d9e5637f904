//! One estimate: the two regressions, and how a method combines them.

use fenchel_finite_sum::{ElasticNet, Fit, LogisticRegression};
use fenchel_linalg::Invalid;
use fenchel_linalg::special::sigmoid;
use fenchel_optim::{Report, SharedWatch, Status, Stop};
use ndarray::{Array1, Array2, Axis};

use super::columns::spans;
use super::method::EffectMethod;
use crate::error::Error;

/// The mean outcomes if everybody and if nobody were treated, and the propensities.
pub(super) struct Fitted {
    pub(super) treated: f64,
    pub(super) control: f64,
    pub(super) propensity: Array1<f64>,
    pub(super) report: Report,
    pub(super) outcome_report: Option<Report>,
}

/// The regression is told apart from a singular one down to about this rounding of the columns.
const SOLVABLE: f64 = 1e-12;

/// The data of a fit, and what its regressions share.
pub(super) struct Regressions<'a, 'w> {
    pub(super) method: EffectMethod,
    pub(super) interactions: &'a [usize],
    /// Standardised.
    pub(super) x: &'a Array2<f64>,
    /// The rounding of the columns.
    pub(super) noise: f64,
    pub(super) treated: &'a [bool],
    pub(super) y: &'a [f64],
    pub(super) watch: &'a SharedWatch<'w>,
}

impl Regressions<'_, '_> {
    /// The estimate with a weight for every person. `stop` holds for each of the regressions.
    pub(super) fn estimate(&self, weights: &[f64], stop: Stop) -> Result<Fitted, Error> {
        let Regressions { x, noise, treated, y, .. } = *self;
        // A resample may have lost an arm.
        check_arms(treated, weights)?;
        let n = x.nrows();
        let arm: Array1<f64> = treated.iter().map(|&a| f64::from(u8::from(a))).collect();
        let (propensity, report) = {
            let regression =
                LogisticRegression { l2: Some(0.0), stop, ..LogisticRegression::default() };
            let model = regression.fit_with(x, &arm, self.fit(weights))?;
            let fitted = x.dot(&model.weights).mapv(|t| sigmoid(t + model.intercept));
            (fitted, model.report)
        };
        if self.method != EffectMethod::Standardisation {
            let bound = |on: bool, start: f64, pick: fn(f64, f64) -> f64| {
                let arm = (0..n).filter(|&i| treated[i] == on && weights[i] > 0.0);
                arm.map(|i| propensity[i]).fold(start, pick)
            };
            if bound(true, 1.0, f64::min) > bound(false, 0.0, f64::max) {
                return Err(Error::Separated);
            }
        }
        let mut outcome_report = None;
        let total: f64 = weights.iter().sum();
        let outcome = |a: f64| {
            let k = x.ncols();
            Array2::from_shape_fn((n, 1 + k + self.interactions.len()), |(i, j)| {
                let a = if a.is_nan() { arm[i] } else { a };
                match j {
                    0 => a,
                    j if j <= k => x[(i, j - 1)],
                    j => a * x[(i, self.interactions[j - 1 - k])],
                }
            })
        };
        let mut predict = || -> Result<(Array1<f64>, Array1<f64>), Error> {
            let design = outcome(f64::NAN);
            let (treatment, rest) = design.view().split_at(Axis(1), 1);
            if spans(rest, treatment.column(0), weights, noise.max(SOLVABLE)) {
                return Err(Error::Spanned);
            }
            let regression = ElasticNet { l1: 0.0, l2: 0.0, stop, ..ElasticNet::default() };
            let model = regression.fit_with(&design, y, self.fit(weights))?;
            // What rounding keeps unfinished is not determined.
            if model.report.status == Status::Stalled {
                return Err(Error::Spanned);
            }
            outcome_report = Some(model.report);
            let at = |a: f64| outcome(a).dot(&model.weights) + model.intercept;
            Ok((at(1.0), at(0.0)))
        };
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            values.zip(weights).map(|(v, w)| v * w).sum::<f64>() / total
        };
        let (treated, control) = match self.method {
            EffectMethod::Standardisation => {
                let (one, zero) = predict()?;
                (mean(&mut one.into_iter()), mean(&mut zero.into_iter()))
            }
            EffectMethod::Weighting => {
                let side = |on: bool| {
                    let (mut sum, mut all) = (0.0, 0.0);
                    for i in 0..n {
                        if treated[i] == on {
                            let w =
                                weights[i] / if on { propensity[i] } else { 1.0 - propensity[i] };
                            sum += w * y[i];
                            all += w;
                        }
                    }
                    sum / all
                };
                (side(true), side(false))
            }
            EffectMethod::DoublyRobust => {
                let (one, zero) = predict()?;
                // Each correction divides by the propensity of one's own arm, which is not 0.
                let correction = |i: usize, on: bool, fitted: f64, p: f64| {
                    fitted + if treated[i] == on { (y[i] - fitted) / p } else { 0.0 }
                };
                let up = |i: usize| correction(i, true, one[i], propensity[i]);
                let down = |i: usize| correction(i, false, zero[i], 1.0 - propensity[i]);
                (mean(&mut (0..n).map(up)), mean(&mut (0..n).map(down)))
            }
        };
        Invalid::check_finite("the mean outcome of an arm", &[treated, control])?;
        Ok(Fitted { treated, control, propensity, report, outcome_report })
    }

    fn fit<'f, M>(&'f self, weights: &'f [f64]) -> Fit<'f, M> {
        Fit { weights: Some(weights.into()), watch: self.watch.each(), ..Fit::new() }
    }
}

pub(super) fn check_arms(treated: &[bool], weights: &[f64]) -> Result<(), Invalid> {
    for (arm, what) in [(true, "the treated arm"), (false, "the untreated arm")] {
        if !treated.iter().zip(weights).any(|(&a, &w)| a == arm && w > 0.0) {
            return Err(Invalid::Empty { what });
        }
    }
    Ok(())
}
