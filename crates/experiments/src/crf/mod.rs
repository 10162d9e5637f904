//! The experiments of Le Priol, Piche and Lacoste-Julien (2018) on adaptive stochastic dual coordinate ascent (SDCA)
//! for conditional random fields.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `crf-table1` | Table 1 | the four data sets: sizes and memory |
//! | `crf-41` | Figure 2 | sampling schemes |
//! | `crf-42` | Figure 3 | share of adaptive draws |
//! | `crf-43` | Figures 4 and 6 | the methods on the four data sets |
//! | `crf-45` | Figure 7 | test errors |
//! | `crf-46` | Figure 8 | precision of the line search |
//! | `crf-47` | Figure 9 | estimated against true gap |
//! | `crf-trees` | section 3.2 | algorithm 2 on trees |
//! | `crf-start` | appendix A.1 | the start of dual methods |
//! | `crf-oeg` | section 7 | gap sampling for OEG |
//! | `crf-acc` | section 7 | accelerated SDCA |

mod acceleration;
mod errors;
mod line_search;
mod methods;
mod oeg;
mod runs;
mod sampling;
mod sizes;
mod start;
mod tasks;
mod trees;

use crate::Experiment;
use crate::documents::ADAPTIVE_SDCA as DOCUMENT;

/// The experiments in the order of the paper.
pub(crate) const ALL: &[Experiment] = &[
    sizes::TABLE_1,
    sampling::FIGURE_2,
    sampling::FIGURE_3,
    methods::FIGURE_4,
    errors::FIGURE_7,
    line_search::FIGURE_8,
    sampling::FIGURE_9,
    trees::TREES,
    start::START,
    oeg::OEG,
    acceleration::ACCELERATION,
];
