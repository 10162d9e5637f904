//! The experiments of D. Babichev, PhD thesis 2019, chapter 2, on moment methods for multi-index models.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `mo-e1` | Figure 2-2 | the density of the features |
//! | `mo-e2` | Figure 2-3 | SIR against SADE, rational model |
//! | `mo-e3` | Figure 2-4 | SADE, SPHD, PHD+, staircase |
//! | `mo-e4` | Figure 2-5 | the same, classification |
//! | `mo-e5` | Figure 2-6 | the same, quadratic model |
//! | `mo-e6` | Figure 2-7 | learned score on a grid |
//! | `mo-e7` | Figure 2-8 | one step against two steps, quadratic model |
//! | `mo-e8` | Figures 2-9 to 2-11 | the same, rational model, more features |
//! | `mo-e9` | Figure 2-12 | more and more features, MAVE |
//! | `mo-e10` | Table 2.1 | which method sees what |

mod bandwidth;
mod contour;
mod curves;
mod dimension;
mod exact;
mod failures;
mod grid;

use crate::Experiment;
use crate::documents::{BABICHEV as DOCUMENT, babichev as thesis};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] = &[
    contour::EXPERIMENT,
    exact::RATIONAL,
    exact::STAIRCASE,
    exact::CLASSIFICATION,
    exact::QUADRATIC,
    grid::EXPERIMENT,
    bandwidth::QUADRATIC,
    bandwidth::RATIONAL,
    dimension::EXPERIMENT,
    failures::EXPERIMENT,
];
