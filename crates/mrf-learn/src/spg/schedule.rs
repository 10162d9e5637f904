//! Schedules: the number of sweeps and of chains per iteration.

use fenchel_linalg::Invalid;
use fenchel_optim::settings;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// How the number of sweeps per iteration is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// Always so many.
    Fixed(usize),
    /// One in the first iteration, and one more in each that follows (Atchade et al. 2014; "SPG-Inc").
    Increasing,
    /// Until the bound of the bias is below half of the gradient mapping.
    Tay(Tay),
    /// Until bias and sampling error together are, with a probability.
    NonAsymptotic(NonAsymptotic),
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule::Tay(Tay::default())
    }
}

settings! {
    /// "Tighten asymptotically": the schedule of section 6 of Geng et al. (UAI 2018).
    #[derive(Copy)]
    pub struct Tay {
        /// The largest number of sweeps per iteration.
        most: usize = 200,
        /// What to do if the influence bound has a spectral radius of 1 or more.
        uncertified: Uncertified = Uncertified::Fixed(10),
    }
}

/// What a schedule does where the bound never falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Uncertified {
    /// This many sweeps.
    Fixed(usize),
    /// As many as the iteration has number, as [`Schedule::Increasing`].
    Grow,
    /// Up to `most`.
    Most,
    /// [`Error::Uncertified`].
    Error,
}

settings! {
    /// The criterion of equation 15 of Geng et al. (UAI 2018). If the sampling error alone is too large, the number of
    /// chains is doubled.
    #[derive(Copy)]
    pub struct NonAsymptotic {
        /// The probability with which the bound of one iteration may fail.
        doubt: f64 = 0.05,
        /// The largest number of sweeps per iteration.
        most: usize = 200,
        /// Chains are not doubled beyond.
        most_chains: usize = 100_000,
    }
}

/// When chains are doubled, whatever the schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum AdaptiveChains {
    /// Never.
    #[default]
    Off,
    /// When the standard error of the gradient exceeds `ratio` times half of the mapping.
    Noise {
        /// 1 is a good choice.
        ratio: f64,
        /// Chains are not doubled beyond.
        most: usize,
    },
    /// When the bound of the sampling error, with probability 0.95, exceeds half of the mapping.
    Bernstein {
        /// Chains are not doubled beyond.
        most: usize,
    },
}

impl Schedule {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let sweeps = match *self {
            Schedule::Fixed(sweeps) => sweeps,
            Schedule::Increasing => 1,
            Schedule::Tay(tay) => {
                if let Uncertified::Fixed(0) = tay.uncertified {
                    0
                } else {
                    tay.most
                }
            }
            Schedule::NonAsymptotic(NonAsymptotic { doubt, most, .. }) => {
                if !(doubt > 0.0 && doubt < 1.0) {
                    let expected = "a probability in (0, 1)";
                    return Err(Invalid::Parameter { name: "doubt", value: doubt, expected }.into());
                }
                most
            }
        };
        Ok(Invalid::check_count("sweeps", sweeps)?)
    }
}

impl AdaptiveChains {
    pub(crate) fn check(&self) -> Result<(), Error> {
        match *self {
            AdaptiveChains::Noise { ratio, .. } => Ok(Invalid::check_positive("ratio", ratio)?),
            AdaptiveChains::Off | AdaptiveChains::Bernstein { .. } => Ok(()),
        }
    }
}
