//! The settings of a training, by the names of its options or of CRFsuite's parameters.

use fenchel_crf::{Crf, Features, Method, Stop, Support};
use fenchel_optim::{Cadence, MAX_MEMORY};

use super::arguments::{Algorithm, Arguments};
use fenchel_cli::Failure;
use fenchel_cli::say::complain;

/// The parameters, after the translation of CRFsuite's names.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    c1: f64,
    c2: Option<f64>,
    l2: Option<f64>,
    pub(super) min_frequency: u32,
    states: Support,
    transitions: Support,
    pub(super) tolerance: f64,
    max_passes: f64,
    check_every: Option<f64>,
    checkpoint: f64,
}

impl Parameters {
    pub(super) fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let possible = |number: f64| if number != 0.0 { Support::All } else { Support::Observed };
        let support = if arguments.all_pairs { Support::All } else { Support::Observed };
        let mut found = Parameters {
            c1: arguments.c1.unwrap_or(0.0),
            c2: arguments.c2,
            l2: arguments.l2,
            min_frequency: arguments.min_frequency.unwrap_or(0),
            states: support,
            transitions: support,
            tolerance: arguments.tolerance.unwrap_or(1e-4),
            max_passes: arguments.max_passes.unwrap_or(Crf::default().stop.max_passes),
            check_every: arguments.check,
            checkpoint: arguments.checkpoint,
        };
        for parameter in &arguments.parameters {
            let wrong = |reason: &str| Failure::Usage(format!("-p {parameter}: {reason}"));
            let (name, value) =
                parameter.split_once('=').ok_or_else(|| wrong("expected NAME=VALUE"))?;
            let number: f64 = value.parse().map_err(|_| wrong("expected a number"))?;
            match name {
                "c1" => found.c1 = number,
                "c2" if found.l2.is_some() => return Err(wrong("--l2 is given as well")),
                "c2" => found.c2 = Some(number),
                // CRFsuite compares a sum of values with this number, so that 2.5 lets 3 pass.
                "feature.minfreq" if (0.0..=f64::from(u32::MAX)).contains(&number) => {
                    found.min_frequency = number.ceil() as u32;
                }
                "feature.minfreq" => return Err(wrong("expected a number from 0 to 4294967295")),
                "feature.possible_states" => found.states = possible(number),
                "feature.possible_transitions" => found.transitions = possible(number),
                "max_iterations" => found.max_passes = number,
                "epsilon" => found.tolerance = number,
                "num_memories" | "period" | "delta" | "linesearch" | "max_linesearch"
                | "calibration.eta" => {
                    complain(format_args!("-p {parameter} has no counterpart here and is ignored"));
                }
                _ => return Err(wrong("not a parameter; see --help for those that are")),
            }
        }
        found.check()?;
        Ok(found)
    }

    /// Checks the ranges before any data are read, with the names of the options.
    fn check(&self) -> Result<(), Failure> {
        for (name, value) in [("c2", self.c2), ("l2", self.l2)] {
            let value = value.unwrap_or(1.0);
            if !(value > 0.0 && value.is_finite()) {
                let reason = format!("{name} is {value}; expected a finite number > 0");
                return Err(Failure::Usage(reason));
            }
        }
        for (name, value) in [
            ("c1", self.c1),
            ("tolerance", self.tolerance),
            ("max-passes", self.max_passes),
            ("checkpoint", self.checkpoint),
        ] {
            let unlimited = ["max-passes", "checkpoint"].contains(&name);
            if !(value >= 0.0) || value.is_infinite() && !unlimited {
                let reason = format!("{name} is {value}; expected a finite number >= 0");
                return Err(Failure::Usage(reason));
            }
        }
        match self.check_every {
            Some(passes) if !(passes > 0.0) => {
                let reason = format!("check is {passes}; expected a number > 0");
                Err(Failure::Usage(reason))
            }
            _ => Ok(()),
        }
    }

    /// The estimator for a corpus of `n` sequences.
    pub(super) fn estimator(&self, arguments: &Arguments, n: f64) -> Crf {
        let check = match arguments.check {
            Some(passes) => Cadence::Every(passes),
            None if arguments.dev.is_some() || arguments.holdout.is_some() => Cadence::Every(1.0),
            None => Cadence::Adaptive,
        };
        Crf {
            l2: Some(self.l2.unwrap_or(2.0 * self.c2.unwrap_or(1.0) / n)),
            l1: self.c1 / n,
            features: Features {
                states: self.states,
                transitions: self.transitions,
                bias: arguments.bias,
                ends: arguments.bias,
            },
            method: match arguments.algorithm {
                Algorithm::Auto => Method::Auto,
                Algorithm::Sdca => Method::Sdca,
                Algorithm::Lbfgs => Method::Lbfgs,
            },
            max_memory: arguments.max_memory.map_or(MAX_MEMORY, |limit| limit.0),
            stop: Stop {
                relative: self.tolerance,
                max_passes: self.max_passes,
                check,
                ..Stop::default()
            },
            seed: arguments.seed,
        }
    }
}
