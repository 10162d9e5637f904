//! The effect of a treatment from a table of people: standardisation, weighting, and both.
//!
//! ```text
//! standardisation   mean_i m(1, x_i) - m(0, x_i)                                m: regression of y on treatment and x
//! weighting         weighted mean of the treated minus that of the others        weights 1 / e(x) and 1 / (1 - e(x))
//! doubly robust     mean_i m(1,x) - m(0,x) + a (y - m(1,x)) / e(x) - (1-a) (y - m(0,x)) / (1 - e(x))
//! ```
//!
//! All three estimate the adjustment formula for x; which columns belong there is a question for [`adjustment`](crate::adjustment). The
//! doubly robust one is right if either model is. The propensity `e(x)` is a logistic regression, the outcome a linear one, both without a
//! penalty and solved by `fenchel-finite-sum`. Intervals are quantiles of a bootstrap over the rows.
//!
//! Look at [`Overlap`] first: where nobody like a treated person is untreated, no method helps.
//!
//! Source: not in the thesis, which has the formula (2.38); Hernan and Robins, Causal Inference: What If, 2020, chapters 12 and 13.

use fenchel_finite_sum::{ElasticNet, LogisticRegression};
use fenchel_linalg::Invalid;
use fenchel_linalg::special::sigmoid;
use fenchel_optim::Stop;
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::adapt::each;

/// How the two models are used.
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

/// Average effect of a binary treatment.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `method` | doubly robust | see the module |
/// | `interactions` | none | columns of x whose slope may differ between the arms in the outcome model |
/// | `bootstrap` | 200 | resamples for the interval; 0: none |
/// | `level` | 0.95 | of the interval |
/// | `stop` | relative 1e-10 | of both regressions |
/// | `seed` | 0 | of the bootstrap |
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EffectEstimator {
    /// How the two models are used.
    pub method: EffectMethod,
    /// Columns of x that interact with the treatment in the outcome model.
    pub interactions: Vec<usize>,
    /// Resamples of the bootstrap.
    pub bootstrap: usize,
    /// Level of the interval.
    pub level: f64,
    /// When the regressions end.
    pub stop: Stop,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for EffectEstimator {
    fn default() -> Self {
        EffectEstimator {
            method: EffectMethod::DoublyRobust,
            interactions: Vec::new(),
            bootstrap: 200,
            level: 0.95,
            stop: Stop { relative: 1e-10, ..Stop::default() },
            seed: 0,
        }
    }
}

/// Whether treated and untreated people are alike enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Smallest and largest propensity among the treated.
    pub treated: (f64, f64),
    /// The same among the others.
    pub control: (f64, f64),
    /// The effective number of treated people after weighting, `(sum w)^2 / sum w^2`.
    pub effective_treated: f64,
    /// The same of the others.
    pub effective_control: f64,
    /// The share of people with a propensity below 0.05 or above 0.95.
    pub extreme: f64,
    /// The largest standardised difference of means of a column between the arms, before weighting.
    pub imbalance: f64,
    /// The same after weighting; above 0.1 is commonly taken as a warning.
    pub imbalance_weighted: f64,
}

/// An estimated effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectModel {
    /// The mean outcome if everybody were treated minus that if nobody were.
    pub effect: f64,
    /// The mean outcome if everybody were treated.
    pub mean_treated: f64,
    /// The mean outcome if nobody were.
    pub mean_control: f64,
    /// The standard deviation over the bootstrap; NaN without one.
    pub standard_error: f64,
    /// Quantiles of the bootstrap; NaN without one.
    pub interval: (f64, f64),
    /// Resamples in which one arm was empty or a model could not be fitted; left out.
    pub failed_resamples: usize,
    /// How alike the arms are.
    pub overlap: Overlap,
    /// The propensity of every person.
    pub propensity: Array1<f64>,
}

impl Saved for EffectModel {
    const KIND: &'static str = "effect-model";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        if !self.effect.is_finite() {
            return Err(format!("effect is {}; expected a finite number", self.effect));
        }
        let inside = |p: &f64| (0.0..=1.0).contains(p);
        if self.propensity.iter().all(inside) {
            Ok(())
        } else {
            Err("propensity outside [0, 1]".into())
        }
    }
}

/// Means if everybody and if nobody were treated, and the propensities.
struct Fitted {
    treated: f64,
    control: f64,
    propensity: Array1<f64>,
}

impl EffectEstimator {
    /// Estimates the effect of the treatment on y, adjusting for the columns of x.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no rows, lengths, entries that are not finite, an empty arm, an interaction with a column that does not
    /// exist, a level outside (0, 1); [`Error::FiniteSum`].
    pub fn fit<'a>(
        &self,
        x: ArrayView2<'_, f64>,
        treated: &[bool],
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<EffectModel, Error> {
        let y: Vec<f64> = y.into().to_vec();
        self.check(x, treated, &y)?;
        let n = x.nrows();
        let x = standardised(x);
        let whole = self.once(&x, treated, &y, &vec![1.0; n])?;
        let overlap = overlap(&x, treated, &whole.propensity);
        let resample = |k: usize| -> Result<Option<f64>, Error> {
            let mut rng = stream(self.seed, k as u64);
            let mut weights = vec![0.0; n];
            (0..n).for_each(|_| weights[rng.random_range(0..n)] += 1.0);
            let fitted = self.once(&x, treated, &y, &weights);
            Ok(fitted.ok().map(|f| f.treated - f.control).filter(|e| e.is_finite()))
        };
        let mut draws: Vec<f64> = each(self.bootstrap, resample)?.into_iter().flatten().collect();
        let failed_resamples = self.bootstrap - draws.len();
        draws.sort_by(f64::total_cmp);
        let quantile = |q: f64| {
            if draws.is_empty() {
                return f64::NAN;
            }
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
            standard_error: if draws.len() > 1 { variance.sqrt() } else { f64::NAN },
            interval: (quantile(tail), quantile(1.0 - tail)),
            failed_resamples,
            overlap,
            propensity: whole.propensity,
        })
    }

    fn check(&self, x: ArrayView2<'_, f64>, treated: &[bool], y: &[f64]) -> Result<(), Error> {
        let n = x.nrows();
        if n == 0 {
            return Err(Invalid::Empty { what: "x" }.into());
        }
        Invalid::check_length("treated", n, treated.len())?;
        Invalid::check_length("y", n, y.len())?;
        Invalid::check_finite("y", y)?;
        for ((row, column), &value) in x.indexed_iter() {
            if !value.is_finite() {
                return Err(Invalid::NonFinite { what: "x", row, column, value }.into());
            }
        }
        let ones = treated.iter().filter(|a| **a).count();
        if ones == 0 || ones == n {
            let what = if ones == 0 { "the treated arm" } else { "the untreated arm" };
            return Err(Invalid::Empty { what }.into());
        }
        if let Some(&j) = self.interactions.iter().find(|&&j| j >= x.ncols()) {
            let (value, expected) = (j as f64, "a column of x");
            return Err(Invalid::Parameter { name: "interactions", value, expected }.into());
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            let (value, expected) = (self.level, "a number in (0, 1)");
            return Err(Invalid::Parameter { name: "level", value, expected }.into());
        }
        Ok(())
    }

    /// The estimate with a weight for every person.
    fn once(
        &self,
        x: &Array2<f64>,
        treated: &[bool],
        y: &[f64],
        weights: &[f64],
    ) -> Result<Fitted, Error> {
        let n = x.nrows();
        let arm: Array1<f64> = treated.iter().map(|&a| f64::from(u8::from(a))).collect();
        let propensity = {
            let regression = LogisticRegression {
                l2: Some(0.0),
                stop: self.stop,
                ..LogisticRegression::default()
            };
            let model = regression.fit_weighted(x, &arm, weights)?;
            x.dot(&model.weights).mapv(|t| sigmoid(t + model.intercept))
        };
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
        let predict = || -> Result<(Array1<f64>, Array1<f64>), Error> {
            let regression =
                ElasticNet { l1: 0.0, l2: 0.0, stop: self.stop, ..ElasticNet::default() };
            let model = regression.fit_weighted(&outcome(f64::NAN), y, weights)?;
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
                let up = |i: usize| one[i] + arm[i] * (y[i] - one[i]) / propensity[i];
                let down =
                    |i: usize| zero[i] + (1.0 - arm[i]) * (y[i] - zero[i]) / (1.0 - propensity[i]);
                (mean(&mut (0..n).map(up)), mean(&mut (0..n).map(down)))
            }
        };
        Ok(Fitted { treated, control, propensity })
    }
}

/// Columns of mean 0 and variance 1; constant ones become 0. The fits do not change, their conditioning does.
fn standardised(x: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut out = x.to_owned();
    for mut column in out.columns_mut() {
        let mean = column.mean().unwrap_or(0.0);
        column -= mean;
        let size = (column.dot(&column) / column.len() as f64).sqrt();
        if size > 0.0 {
            column /= size;
        }
    }
    out
}

fn overlap(x: &Array2<f64>, treated: &[bool], propensity: &Array1<f64>) -> Overlap {
    let pick = |on: bool| (0..treated.len()).filter(move |&i| treated[i] == on);
    let range = |on: bool| {
        pick(on).map(|i| propensity[i]).fold((1.0_f64, 0.0_f64), |(a, b), p| (a.min(p), b.max(p)))
    };
    let weight = |i: usize| 1.0 / if treated[i] { propensity[i] } else { 1.0 - propensity[i] };
    let effective = |on: bool| {
        let (sum, square) =
            pick(on).fold((0.0, 0.0), |(s, q), i| (s + weight(i), q + weight(i) * weight(i)));
        sum * sum / square
    };
    let difference = |weighted: bool| {
        let mean = |j: usize, on: bool| {
            let w = |i: usize| if weighted { weight(i) } else { 1.0 };
            let (sum, all) =
                pick(on).fold((0.0, 0.0), |(s, a), i| (s + w(i) * x[(i, j)], a + w(i)));
            sum / all
        };
        // Columns have variance 1 over everybody.
        (0..x.ncols()).map(|j| (mean(j, true) - mean(j, false)).abs()).fold(0.0, f64::max)
    };
    let extreme = propensity.iter().filter(|p| !(0.05..=0.95).contains(*p)).count();
    Overlap {
        treated: range(true),
        control: range(false),
        effective_treated: effective(true),
        effective_control: effective(false),
        extreme: extreme as f64 / treated.len() as f64,
        imbalance: difference(false),
        imbalance_weighted: difference(true),
    }
}
