//! Outputs of a run: its records and warnings, averages of the iterates, and the objective by annealed importance sampling.

use fenchel_graphical::ais::AisSettings;
use fenchel_linalg::Invalid;
use fenchel_optim::settings;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Whether and how iterates are averaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Averaging {
    /// Not at all.
    #[default]
    Off,
    /// The mean of all iterates, as in Geng et al. (UAI 2018), theorem 7. It is dense: a coupling that was ever nonzero
    /// stays nonzero.
    All,
    /// The mean of about the last half of the iterates. A parameter that is 0 in at least half of these is set to 0. So
    /// this average is sparse, and less noisy than the last iterate.
    Tail,
}

settings! {
    /// The objective along a run, with `log Z` estimated by annealed importance sampling. The estimate has its own random
    /// streams, so the run takes exactly the same steps with and without tracking.
    #[derive(Copy)]
    pub struct Tracking {
        /// Iterations between two estimates.
        every: usize = 10,
        /// Steps and chains of an estimate; 500 sweeps of 512 chains unless changed.
        ais: AisSettings = AisSettings::default(),
    }
}

impl Tracking {
    pub(super) fn check(&self) -> Result<(), Error> {
        Ok(Invalid::check_positive("track (every)", self.every as f64)?)
    }
}

/// An estimate of `g(theta)`, in nats per row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveEstimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error, that of `log Z`.
    pub standard_error: f64,
}

/// One iteration, as the trace of a fit keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpgRecord {
    /// Sweeps of the chains, `t`.
    pub sweeps: usize,
    /// Number of chains, `q >= 2`.
    pub chains: usize,
    /// The step, `a`.
    pub step: f64,
    /// `norm(G)`, the proximal gradient mapping.
    pub mapping: f64,
    /// The bound on the bias of the gradient after these sweeps.
    pub bias_bound: f64,
    /// The standard error of the gradient, `sqrt(sum V / q)`.
    pub noise: f64,
    /// The spectral radius of the influence bound, if it was computed (every tenth iteration, or when a schedule needs it).
    pub radius: Option<f64>,
    /// Whether the bound is below half of the mapping.
    pub certified: bool,
    /// Couplings that are not 0 after the step.
    pub edges: usize,
    /// The objective after the step, where [`Spg::track`](crate::Spg::track) asked for it.
    #[serde(default)]
    pub objective: Option<ObjectiveEstimate>,
}

/// What to know about a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Warning {
    /// The step exceeds `2 / lambda_max(Cov psi)` over the chains, so iterates oscillate. Use [`StepSize::Theory`](fenchel_optim::StepSize::Theory).
    StepTooLarge {
        /// The step.
        step: f64,
        /// `2 / lambda_max`.
        limit: f64,
    },
    /// From this iteration on the spectral radius of the influence bound was 1 or more, so there is no bound on the error.
    Uncertified {
        /// The iteration, counted from 0.
        iteration: usize,
    },
    /// Rows with a missing value were left out of the data.
    RowsDropped {
        /// How many.
        dropped: usize,
        /// How many were kept.
        kept: usize,
    },
    /// A parameter was held at `max_parameter`.
    Clamped {
        /// The iteration, counted from 0.
        iteration: usize,
    },
}

/// Sums of the iterates since the last power of two and since the one before. The older sum always covers the last half
/// of the run.
#[derive(Debug, Clone)]
pub(super) struct Average {
    kind: Averaging,
    rounds: usize,
    older: Sum,
    newer: Sum,
}

#[derive(Debug, Clone)]
struct Sum {
    count: usize,
    sum: Vec<f64>,
    nonzero: Vec<u32>,
}

impl Sum {
    fn new(m: usize) -> Self {
        Sum { count: 0, sum: vec![0.0; m], nonzero: vec![0; m] }
    }

    fn add(&mut self, theta: &[f64]) {
        self.count += 1;
        for ((sum, count), &theta) in self.sum.iter_mut().zip(&mut self.nonzero).zip(theta) {
            *sum += theta;
            *count += u32::from(theta != 0.0);
        }
    }
}

impl Average {
    pub(super) fn new(kind: Averaging, m: usize) -> Self {
        let m = if kind == Averaging::Off { 0 } else { m };
        Average { kind, rounds: 0, older: Sum::new(m), newer: Sum::new(m) }
    }

    pub(super) fn add(&mut self, theta: &[f64]) {
        if self.kind == Averaging::Off {
            return;
        }
        self.rounds += 1;
        self.older.add(theta);
        if self.kind == Averaging::Tail {
            self.newer.add(theta);
            if self.rounds.is_power_of_two() {
                let empty = Sum::new(theta.len());
                self.older = std::mem::replace(&mut self.newer, empty);
            }
        }
    }

    pub(super) fn value(self) -> Option<Vec<f64>> {
        let Sum { count, mut sum, nonzero } = self.older;
        let share = 1.0 / count.max(1) as f64;
        sum.iter_mut().for_each(|sum| *sum *= share);
        match self.kind {
            Averaging::Off => return None,
            Averaging::All => {}
            Averaging::Tail => {
                for (sum, nonzero) in sum.iter_mut().zip(nonzero) {
                    if 2 * nonzero as usize <= count {
                        *sum = 0.0;
                    }
                }
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_have_what_they_say() {
        let series: Vec<[f64; 2]> = (1..=37)
            .map(|k| [f64::from(k), if k % 3 == 0 || k < 10 { 1.0 } else { 0.0 }])
            .collect();
        let mut all = Average::new(Averaging::All, 2);
        let mut tail = Average::new(Averaging::Tail, 2);
        for (k, theta) in series.iter().enumerate() {
            all.add(theta);
            tail.add(theta);
            let first = k + 2 - tail.older.count;
            // Iterates `first..=k + 1` are the last half, and at most three quarters and one.
            assert!(2 * tail.older.count > k && 4 * tail.older.count <= 3 * (k + 1) + 4);
            let mean = (first + k + 1) as f64 / 2.0;
            assert!((tail.clone().value().unwrap()[0] - mean).abs() < 1e-12);
        }
        assert_eq!(all.value().unwrap()[0], 19.0);
        assert_eq!(tail.value().unwrap()[1], 0.0);
        assert!(Average::new(Averaging::Off, 2).value().is_none());
    }
}
