//! The experiments of Geng, Kuang, Liu, Wright and Page (2018) on sparse binary Markov random fields: stochastic
//! proximal gradient (SPG), and TAY, a rule that sets the number of Gibbs sweeps.
//!
//! | id | figure | what |
//! |---|---|---|
//! | `ml-structure` | Figures 1 and 6 | structure learning with 10 nodes: schedules, pseudo-likelihood |
//! | `ml-structure-20` | Figures 1 and 5 | the same with 20 nodes, for three strengths of the penalty |
//! | `ml-lambda` | Figure 4 | 10 nodes, two more strengths of the penalty |
//! | `ml-bound` | Figure 2 | the error of the gradient and its bounds |
//! | `ml-senate` | Figure 3 | the US Senate, 109th Congress, second session |

mod senate;
mod structure;
mod tightness;

use crate::Experiment;
use crate::documents::{SPG_TAY as DOCUMENT, spg_tay as paper};

/// The experiments in the order of the paper.
pub(crate) const ALL: &[Experiment] = &[
    structure::STRUCTURE,
    structure::LARGER,
    structure::LAMBDA,
    tightness::EXPERIMENT,
    senate::EXPERIMENT,
];
