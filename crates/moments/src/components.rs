//! How many directions to keep.
//!
//! | rule | assumes | cost |
//! |---|---|---|
//! | [`Components::Fixed`] | the number is known | nothing |
//! | [`Components::EigenGap`], Babichev 2019, section 2.3.1 | the largest drop is after eigenvalue `k` | nothing |
//! | [`Components::EigenRatio`] | the largest ratio of neighbours is at `k` | nothing |
//! | [`Components::ChiSquare`], Li 1991 | SIR or residual pHd, normal features | nothing |
//! | [`Components::Permutation`], Cook and Yin 2001 | directions left out are independent of the rest | `repeats` fits per direction |
//! | [`Components::Ladle`], Luo and Li 2016 | nothing but a gap | `repeats` fits |
//!
//! Chi-squared and permutation rules are sequential: they test "at most `k` directions" for `k` = 0, 1, ... and stop at
//! the first `k` that is not rejected. They keep at least one direction, and all directions that the method can find if
//! every test rejects. The gap, ratio and ladle rules compare eigenvalue `k` with the next one, so of `d` features they
//! keep at most `d - 1` directions.

use std::fmt;

use fenchel_linalg::Invalid;
use fenchel_linalg::text::short;
use serde::{Deserialize, Serialize};

/// How the number of directions is chosen; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Components {
    /// A given number.
    Fixed(usize),
    /// Where `l_k - l_{k+1}` is largest, among at most so many.
    EigenGap(usize),
    /// Where `l_k / l_{k+1}` is largest, among at most so many.
    EigenRatio(usize),
    /// Sequential chi-squared tests at this level.
    ChiSquare(f64),
    /// Sequential permutation tests.
    Permutation {
        /// Level of each test.
        level: f64,
        /// Permutations a test.
        repeats: usize,
        /// Seed of the permutations.
        seed: u64,
    },
    /// Bootstrap variability of the directions plus what the eigenvalues leave.
    Ladle {
        /// Bootstrap samples.
        repeats: usize,
        /// Seed of the resampling.
        seed: u64,
    },
}

impl Default for Components {
    /// `EigenGap(10)`, the rule of D. Babichev, PhD thesis 2019, section 2.3.1.
    fn default() -> Self {
        Components::EigenGap(10)
    }
}

impl fmt::Display for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Components::Fixed(_) => write!(f, "the number was given"),
            Components::EigenGap(_) => write!(f, "the largest drop of the eigenvalues"),
            Components::EigenRatio(_) => {
                write!(f, "the largest ratio of an eigenvalue to the next")
            }
            Components::ChiSquare(level) => {
                write!(f, "chi-squared tests at level {}", short(*level))
            }
            Components::Permutation { level, repeats, .. } => {
                write!(f, "tests by {repeats} permutations at level {}", short(*level))
            }
            Components::Ladle { repeats, .. } => {
                write!(f, "the ladle of {repeats} bootstrap samples")
            }
        }
    }
}

impl Components {
    /// Number of directions that slices should be made for.
    pub(crate) fn hint(&self) -> usize {
        match *self {
            Components::Fixed(k) => k,
            _ => 1,
        }
    }
}

pub(crate) fn check_level(level: f64) -> Result<(), Invalid> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(Invalid::Parameter { name: "level", value: level, expected: "between 0 and 1" })
}
