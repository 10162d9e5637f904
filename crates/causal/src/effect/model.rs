//! What an estimate of an effect consists of, and what a file must fulfil.

use fenchel_optim::Report;
use fenchel_optim::model::Saved;
use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::overlap::Overlap;

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
