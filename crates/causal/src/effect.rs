//! The effect of a treatment from a table of observations: standardisation, weighting, and a doubly robust combination.
//!
//! ```text
//! standardisation   mean_i m(1, x_i) - m(0, x_i)                                m: regression of y on treatment and x
//! weighting         weighted mean of the treated minus that of the others        weights 1 / e(x) and 1 / (1 - e(x))
//! doubly robust     mean_i m(1,x) - m(0,x) + a (y - m(1,x)) / e(x) - (1-a) (y - m(0,x)) / (1 - e(x))
//! ```
//!
//! All three methods estimate the adjustment formula with the columns of `x` as the adjustment set. [`adjustment`](crate::adjustment)
//! tells which columns form a valid set. The doubly robust method is consistent if the outcome model or the propensity model is
//! correct. The propensity `e(x)` is a logistic regression and the outcome model `m` a linear regression; both have no penalty and are
//! solved by `fenchel-finite-sum`. Intervals are quantiles of a bootstrap over the rows.
//!
//! Check [`Overlap`] first: if some treated people resemble no untreated person, their effect is an extrapolation with every method.
//!
//! Sources: Hernan and Robins, *Causal Inference: What If*, 2020, chapters 12 and 13. The adjustment formula itself is in R. Le Priol,
//! PhD thesis 2021, equation (2.38).

use fenchel_finite_sum::{ElasticNet, Fit, LogisticRegression};
use fenchel_linalg::Invalid;
use fenchel_linalg::special::sigmoid;
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use fenchel_optim::{Report, Status, Stop, settings};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::parallel::each;

mod columns;
mod overlap;

use columns::{spans, standardised};
pub use overlap::Overlap;
use overlap::overlap;

/// How the two models are used. If the columns of x separate treated and untreated people perfectly, the last two methods are refused
/// with [`Error::Separated`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EffectMethod {
    /// The outcome model alone (the g-formula).
    Standardisation,
    /// The propensity model alone (inverse probability weighting, weights normalised in each arm).
    Weighting,
    /// Both.
    #[default]
    DoublyRobust,
}

settings! {
    /// Average effect of a binary treatment.
    ///
    /// ```
    /// use fenchel_causal::effect::{EffectEstimator, EffectMethod};
    /// use ndarray::array;
    ///
    /// // Within each stratum of x the treated gain 2; the treated have larger x.
    /// let x = array![[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]];
    /// let treated = [false, false, true, false, true, true];
    /// let y = [0.0, 0.0, 2.0, 5.0, 7.0, 7.0];
    /// let estimator = EffectEstimator { bootstrap: 0, ..EffectEstimator::default() };
    /// let model = estimator.fit(x.view(), &treated, &y)?;
    /// assert!((model.effect - 2.0).abs() < 1e-6);
    /// # Ok::<(), fenchel_causal::Error>(())
    /// ```
    pub struct EffectEstimator {
        /// How the two models are used.
        method: EffectMethod = EffectMethod::DoublyRobust,
        /// Columns of x whose slope may differ between the arms in the outcome model.
        interactions: Vec<usize> = Vec::new(),
        /// Resamples for the interval; 0: none.
        bootstrap: usize = 200,
        /// Level of the interval.
        level: f64 = 0.95,
        /// The stopping rule of the regressions.
        stop: Stop = Stop { relative: 1e-10, ..Stop::default() },
        /// Seed of the bootstrap.
        seed: u64 = 0,
    }
}

/// An estimated effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectModel {
    /// The average treatment effect: the mean outcome if everybody were treated, minus the mean outcome if nobody were.
    pub effect: f64,
    /// The mean outcome if everybody were treated.
    pub mean_treated: f64,
    /// The mean outcome if nobody were treated.
    pub mean_control: f64,
    /// The standard deviation over the bootstrap, if there is one.
    pub standard_error: Option<f64>,
    /// Quantiles of the bootstrap, if there is one.
    pub interval: Option<(f64, f64)>,
    /// The number of resamples in which one arm was empty or a model could not be fitted. They are left out of the interval.
    pub failed_resamples: usize,
    /// Overlap diagnostics: how similar the arms are.
    pub overlap: Overlap,
    /// The propensity of every person.
    pub propensity: Array1<f64>,
    /// The report of the propensity regression, with its certificate.
    pub report: Report,
    /// The report of the outcome regression, if the method has one.
    pub outcome_report: Option<Report>,
}

impl Saved for EffectModel {
    const KIND: &'static str = "effect-model";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("effect", self.effect),
            ("mean_treated", self.mean_treated),
            ("mean_control", self.mean_control),
        ] {
            if !value.is_finite() {
                return Err(format!("{name} is {value}; expected a finite number"));
            }
        }
        let difference = self.mean_treated - self.mean_control;
        if self.effect != difference {
            let effect = self.effect;
            return Err(format!(
                "effect is {effect}; the means of the arms differ by {difference}"
            ));
        }
        if let Some(error) = self.standard_error.filter(|e| !(*e >= 0.0 && e.is_finite())) {
            return Err(format!("standard_error is {error}; expected a finite number >= 0"));
        }
        if let Some((low, high)) = self.interval {
            // With few resamples the quantiles need not surround the estimate.
            if !(low <= high && low.is_finite() && high.is_finite()) {
                return Err(format!("interval is ({low}, {high}); expected two rising numbers"));
            }
        }
        if self.interval.is_some() != self.standard_error.is_some() {
            return Err("interval and standard_error: expected both or neither".into());
        }
        if !self.propensity.iter().all(|p| (0.0..=1.0).contains(p)) {
            return Err("propensity outside [0, 1]".into());
        }
        self.overlap.check(self.propensity.len())
    }
}

/// The mean outcomes if everybody and if nobody were treated, and the propensities.
struct Fitted {
    treated: f64,
    control: f64,
    propensity: Array1<f64>,
    report: Report,
    outcome_report: Option<Report>,
}

/// The regression is told apart from a singular one down to about this rounding of the columns.
const SOLVABLE: f64 = 1e-12;

impl EffectEstimator {
    /// Estimates the effect of the treatment on y, adjusting for the columns of x.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no rows, wrong lengths, entries that are not finite, an empty arm, an interaction with a column that does not
    /// exist or that is given twice, a level outside (0, 1), numbers so large that a mean overflows; [`Error::Separated`];
    /// [`Error::Spanned`]; [`Error::FiniteSum`].
    pub fn fit<'a>(
        &self,
        x: ArrayView2<'_, f64>,
        treated: &[bool],
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<EffectModel, Error> {
        self.fit_weighted(x, treated, y, &vec![1.0; x.nrows()])
    }

    /// The same for weighted data: row i stands for `weights[i]` people, and the effect is the mean over all people. Rows of weight 0
    /// are ignored. The bootstrap draws rows and keeps the weight of each row.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights of the wrong length, negative or not finite, and an arm without weight.
    pub fn fit_weighted<'a, 'b>(
        &self,
        x: ArrayView2<'_, f64>,
        treated: &[bool],
        y: impl Into<ArrayView1<'a, f64>>,
        weights: impl Into<ArrayView1<'b, f64>>,
    ) -> Result<EffectModel, Error> {
        let y: Vec<f64> = y.into().to_vec();
        let mut given: Vec<f64> = weights.into().to_vec();
        self.check(x, treated, &y, &given)?;
        // Only ratios of weights count, and sums of the largest would overflow.
        let largest = given.iter().copied().fold(0.0, f64::max);
        given.iter_mut().for_each(|w| *w /= largest);
        let n = x.nrows();
        let (x, noise) = standardised(x, &given);
        let whole = self.once(&x, noise, treated, &y, &given)?;
        let overlap = overlap(&x, treated, &whole.propensity, &given);
        let resample = |k: usize| -> Result<Option<f64>, Error> {
            let mut rng = stream(self.seed, k as u64);
            let mut weights = vec![0.0; n];
            for _ in 0..n {
                let i = rng.random_range(0..n);
                weights[i] += given[i];
            }
            let fitted = self.once(&x, noise, treated, &y, &weights);
            Ok(fitted.ok().map(|f| f.treated - f.control).filter(|e| e.is_finite()))
        };
        let mut draws: Vec<f64> = each(self.bootstrap, resample)?.into_iter().flatten().collect();
        let failed_resamples = self.bootstrap - draws.len();
        draws.sort_by(f64::total_cmp);
        let quantile = |q: f64| {
            let place = q * (draws.len() - 1) as f64;
            let (low, part) = (place.floor() as usize, place.fract());
            draws[low] + part * (draws[(low + 1).min(draws.len() - 1)] - draws[low])
        };
        let tail = (1.0 - self.level) / 2.0;
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance =
            draws.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (draws.len() as f64 - 1.0);
        Ok(EffectModel {
            effect: whole.treated - whole.control,
            mean_treated: whole.treated,
            mean_control: whole.control,
            standard_error: (draws.len() > 1).then(|| variance.sqrt()),
            interval: (draws.len() > 1).then(|| (quantile(tail), quantile(1.0 - tail))),
            failed_resamples,
            overlap,
            propensity: whole.propensity,
            report: whole.report,
            outcome_report: whole.outcome_report,
        })
    }

    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        treated: &[bool],
        y: &[f64],
        weights: &[f64],
    ) -> Result<(), Error> {
        let n = x.nrows();
        if n == 0 {
            return Err(Invalid::Empty { what: "x" }.into());
        }
        Invalid::check_length("treated", n, treated.len())?;
        Invalid::check_length("y", n, y.len())?;
        Invalid::check_length("weights", n, weights.len())?;
        for &w in weights {
            Invalid::check_nonnegative("weight", w)?;
        }
        Invalid::check_finite("y", y)?;
        for ((row, column), &value) in x.indexed_iter() {
            if !value.is_finite() {
                return Err(Invalid::NonFinite { what: "x", row, column, value }.into());
            }
        }
        check_arms(treated, weights)?;
        if let Some(&j) = self.interactions.iter().find(|&&j| j >= x.ncols()) {
            let (value, expected) = (j as f64, "a column of x");
            return Err(Invalid::Parameter { name: "interactions", value, expected }.into());
        }
        let list = &self.interactions;
        if let Some(k) = (1..list.len()).find(|&k| list[..k].contains(&list[k])) {
            let reason = format!("column {} is given twice", list[k]);
            return Err(Invalid::Layout { what: "interactions", reason }.into());
        }
        let coefficients = 1
            + x.ncols()
            + match self.method {
                EffectMethod::Weighting => 0,
                _ => 1 + self.interactions.len(),
            };
        let rows = weights.iter().filter(|w| **w > 0.0).count();
        if rows <= coefficients {
            let reason =
                format!("{rows} rows with weight for {coefficients} coefficients; expected more");
            return Err(Invalid::Layout { what: "x", reason }.into());
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            let (value, expected) = (self.level, "a number in (0, 1)");
            return Err(Invalid::Parameter { name: "level", value, expected }.into());
        }
        Ok(())
    }

    /// The estimate with a weight for every person. `noise` is the rounding of the columns.
    fn once(
        &self,
        x: &Array2<f64>,
        noise: f64,
        treated: &[bool],
        y: &[f64],
        weights: &[f64],
    ) -> Result<Fitted, Error> {
        // A resample may have lost an arm.
        check_arms(treated, weights)?;
        let n = x.nrows();
        let arm: Array1<f64> = treated.iter().map(|&a| f64::from(u8::from(a))).collect();
        let (propensity, report) = {
            let regression = LogisticRegression {
                l2: Some(0.0),
                stop: self.stop,
                ..LogisticRegression::default()
            };
            let model = regression.fit_with(x, &arm, Fit::new().weights(weights))?;
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
            let regression =
                ElasticNet { l1: 0.0, l2: 0.0, stop: self.stop, ..ElasticNet::default() };
            let model = regression.fit_with(&design, y, Fit::new().weights(weights))?;
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
}

fn check_arms(treated: &[bool], weights: &[f64]) -> Result<(), Invalid> {
    for (arm, what) in [(true, "the treated arm"), (false, "the untreated arm")] {
        if !treated.iter().zip(weights).any(|(&a, &w)| a == arm && w > 0.0) {
            return Err(Invalid::Empty { what });
        }
    }
    Ok(())
}
