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

mod columns;
mod estimate;
mod method;
mod model;
mod overlap;

use fenchel_linalg::Invalid;
use fenchel_linalg::parallel::try_map;
use fenchel_optim::random::stream;
use fenchel_optim::{Budget, Fit, MAX_MEMORY, Refusal, SharedWatch, Stop, settings};
use ndarray::{Array2, ArrayView1, ArrayView2};
use rand::RngExt;

use crate::error::Error;
use columns::standardised;
use estimate::{Regressions, check_arms};
pub use method::EffectMethod;
pub use model::EffectModel;
pub use overlap::Overlap;
use overlap::overlap;

/// Bytes of a resample while it waits for a core, and of its effect.
const RESAMPLE: u64 = 64;

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
        self.fit_with(x, treated, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows and a closure that watches all regressions. Row i stands for `weights[i]`
    /// people, and the effect is the mean over all people. Rows of weight 0 are ignored. The bootstrap draws rows and keeps the
    /// weight of each row. Resamples after `Break`, or after `stop.max_seconds`, count as failed.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights of the wrong length, negative or not finite, and an arm without weight;
    /// [`Error::Refused`] for a start: the regressions have none.
    pub fn fit_with<'a>(
        &self,
        x: ArrayView2<'_, f64>,
        treated: &[bool],
        y: impl Into<ArrayView1<'a, f64>>,
        fit: Fit<'_, EffectModel>,
    ) -> Result<EffectModel, Error> {
        if fit.start.is_some() {
            let what = "a start: its regressions are solved from zero";
            return Err(Refusal::unsupported("EffectEstimator", what).into());
        }
        let y: Vec<f64> = y.into().to_vec();
        let n = x.nrows();
        let mut given = fit.weights.map_or_else(|| vec![1.0; n], |weights| weights.to_vec());
        self.check(x, treated, &y, &given)?;
        let bytes = (self.bootstrap as u64).saturating_mul(RESAMPLE);
        Refusal::check_memory("the resamples", bytes, MAX_MEMORY, "take fewer resamples")?;
        // Without columns everybody has the same propensity, as with a column of zeros: a randomised trial.
        let zeros = Array2::zeros((n, 1));
        let x = if x.ncols() == 0 { zeros.view() } else { x };
        // Only ratios of weights count, and sums of the largest would overflow.
        let largest = given.iter().copied().fold(0.0, f64::max);
        given.iter_mut().for_each(|w| *w /= largest);
        let (x, noise) = standardised(x, &given);
        let (watch, budget) = (SharedWatch::from(fit.watch), Budget::new(self.stop));
        let regressions = Regressions {
            method: self.method,
            interactions: &self.interactions,
            x: &x,
            noise,
            treated,
            y: &y,
            watch: &watch,
        };
        let whole = regressions.estimate(&given, budget.left())?;
        let overlap = overlap(&x, treated, &whole.propensity, &given);
        let ended = || watch.stopped() || budget.left().max_seconds == Some(0.0);
        let resample = |k: usize| -> Result<Option<f64>, Error> {
            if ended() {
                return Ok(None);
            }
            let mut rng = stream(self.seed, k as u64);
            let mut weights = vec![0.0; n];
            for _ in 0..n {
                let i = rng.random_range(0..n);
                weights[i] += given[i];
            }
            let fitted = regressions.estimate(&weights, budget.left());
            let effect = fitted.ok().map(|f| f.treated - f.control);
            Ok(effect.filter(|e| e.is_finite() && !ended()))
        };
        let mut draws: Vec<f64> =
            try_map(0..self.bootstrap, resample)?.into_iter().flatten().collect();
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
        Invalid::check_weights("weights", n, weights.iter())?;
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
}
