//! Chapter 5 of Le Priol's thesis, on the risk of maximum likelihood and MAP, and chapter 3 of Babichev's, on constant steps.
//!
//! | id | figure | what |
//! |---|---|---|
//! | `ef-1` | Le Priol, Figure 5.1 | risk of the variance of a normal law against `n` |
//! | `ef-2` | Le Priol, Figure 5.5 | which priors are best |
//! | `ef-3` | Le Priol, Figure 5.3 | bias and variance of MAP for mean and variance |
//! | `cs-1` | Babichev, Figure 3-5 | averaged parameters against averaged predictions |

mod averages;
mod bias;
mod priors;
mod variance;

use crate::{Experiment, Source};

/// The experiments in the order of the documents.
pub(crate) const ALL: [Experiment; 4] =
    [variance::EXPERIMENT, priors::EXPERIMENT, bias::EXPERIMENT, averages::EXPERIMENT];

const LE_PRIOL: &str =
    "Le Priol, Optimization Tools for Non-Asymptotic Statistics in Exponential Families (thesis)";
const BABICHEV: &str =
    "Babichev, On efficient methods for high-dimensional statistical estimation (thesis)";

/// A sentence of the first thesis.
const fn le_priol(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(LE_PRIOL, section, quote)
}

/// A sentence of the second.
const fn babichev(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(BABICHEV, section, quote)
}
