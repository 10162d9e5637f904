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

use crate::documents::{BABICHEV, LE_PRIOL};
use crate::{Experiment, Source};

/// Chapter 5 of the first thesis.
pub(crate) const RISKS: &[Experiment] =
    &[variance::EXPERIMENT, priors::EXPERIMENT, bias::EXPERIMENT];

/// Chapter 3 of the second.
pub(crate) const AVERAGES: &[Experiment] = &[averages::EXPERIMENT];

/// A sentence of the first thesis.
const fn le_priol(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(LE_PRIOL, section, quote)
}

/// A sentence of the second.
const fn babichev(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(BABICHEV, section, quote)
}
