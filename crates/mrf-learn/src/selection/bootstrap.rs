//! Confidence intervals of couplings by the Bayesian bootstrap (Rubin 1981).
//!
//! The ordinary bootstrap counts some rows several times and others never. The Bayesian bootstrap instead gives every
//! row a random weight, drawn from an exponential distribution. So all weights are positive: a column that varies in
//! the data varies in every draw, and an unpenalised bias stays finite. The standard deviation of a coupling over the
//! draws agrees with that of the ordinary bootstrap up to O(1/n).

use fenchel_linalg::{Invalid, parallel};
use fenchel_optim::random::stream;
use fenchel_optim::{Fit, MAX_MEMORY, Refusal, settings};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::learner::Learner;
use crate::data::Data;
use crate::error::Error;
use crate::layout::pairs;

settings! {
    /// Settings of the bootstrap of edges.
    #[derive(Copy)]
    pub struct EdgeBootstrap {
        /// Number of fits.
        draws: usize = 200,
        /// Probability of an interval.
        level: f64 = 0.95,
        /// Strength of the penalty in every fit; shrinkage moves intervals towards 0.
        strength: f64 = 0.1,
        /// Seed of the weights.
        seed: u64 = 0,
    }
}

/// The distribution of one coupling over the draws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EdgeInterval {
    /// One variable.
    pub i: u32,
    /// The other, `i < j`.
    pub j: u32,
    /// Lower end.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Upper end.
    pub high: f64,
    /// Share of the draws in which the coupling is not 0.
    pub present: f64,
}

impl EdgeBootstrap {
    /// Intervals of all pairs `i < j`, in order.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for fewer than two draws or a level outside (0, 1); [`Error::Refused`] for more draws than
    /// memory; the errors of the method.
    pub fn intervals(
        &self,
        data: &Data,
        learner: &impl Learner,
    ) -> Result<Vec<EdgeInterval>, Error> {
        if self.draws < 2 {
            let (name, value) = ("draws", self.draws as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 2" }.into());
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            let expected = "a probability in (0, 1)";
            return Err(Invalid::Parameter { name: "level", value: self.level, expected }.into());
        }
        Invalid::check_nonnegative("strength", self.strength)?;
        let p = data.variables() as u64;
        let bytes = (self.draws as u64).saturating_mul(24 + 4 * p * (p + 1));
        Refusal::check_memory("the couplings of all draws", bytes, MAX_MEMORY, "take fewer draws")?;
        let fits = parallel::try_map(0..self.draws, |draw| {
            let mut random = stream(self.seed, draw as u64);
            let weights: Vec<f64> = (0..data.rows())
                .map(|row| -(1.0 - random.random::<f64>()).ln() * data.weight(row))
                .collect();
            let fit = Fit::new().weights(&weights);
            learner.learn(data, self.strength, learner.stop(), fit).map(|model| model.theta)
        })?;
        let mut out = Vec::new();
        for (c, (i, j)) in pairs(data.variables()).enumerate().filter(|(_, (i, j))| i != j) {
            let mut values: Vec<f64> = fits.iter().map(|theta| theta[c]).collect();
            values.sort_by(f64::total_cmp);
            let present = values.iter().filter(|v| **v != 0.0).count() as f64 / values.len() as f64;
            let tail = 0.5 * (1.0 - self.level);
            let (i, j) = (i as u32, j as u32);
            let (low, high) = (quantile(&values, tail), quantile(&values, 1.0 - tail));
            out.push(EdgeInterval { i, j, low, median: quantile(&values, 0.5), high, present });
        }
        Ok(out)
    }
}

/// Linear between the order statistics.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + part * (sorted[high] - sorted[low])
}
