//! The experiments of R. Le Priol, PhD thesis 2021, chapter 4: how fast causal and anticausal models adapt. One is on
//! identification.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `ca-ex1` to `ca-ex4` | Figures 4.5, 4.8, 4.9 | categorical adaptation, dense and sparse prior, cause and effect |
//! | `ca-ex5`, `ca-ex6` | Figures 4.8, 4.9, column 3 | the same, pooled |
//! | `ca-ex7` | Figure 4.10 | intervention on a mechanism |
//! | `ca-ex8` | Figure 4.7b | radius and deviation of the ball of proposition 4.5.2 |
//! | `ca-ex9` | Table 4.1 | the Bayes error of the direction |
//! | `ca-ex10` to `ca-ex12` | Figure 4.6 | normal variables |
//! | `ca-ex13` | section 4.B.4 | the direction learned from adaptation |
//! | `ca-ex14` | theorem 4.D.2 | a counter-example |
//! | `ca-ex15` | section 2.3.3 | kidney stones |

mod adaptation;
pub mod methods;
mod normal;
mod runs;
mod theory;

use crate::Experiment;
use crate::documents::{LE_PRIOL as DOCUMENT, le_priol as thesis};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] = &[
    adaptation::DENSE_CAUSE,
    adaptation::DENSE_EFFECT,
    adaptation::SPARSE_CAUSE,
    adaptation::SPARSE_EFFECT,
    adaptation::DENSE_POOLED,
    adaptation::SPARSE_POOLED,
    adaptation::SINGLE,
    theory::RADIUS,
    theory::BAYES_ERROR,
    normal::CAUSE_DISTANCE,
    normal::EFFECT_DISTANCE,
    normal::ADAPTATION,
    theory::META,
    theory::COUNTER_EXAMPLE,
    theory::KIDNEY_STONES,
];
