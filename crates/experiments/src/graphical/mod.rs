//! An experiment about R. Le Priol, PhD thesis 2021, section 2.3.2, on probabilistic graphical models.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `gr-sl` | section 2.3.2 | structure learning: graphs of two known networks from their samples |

mod structure;

use crate::Experiment;
use crate::documents::{LE_PRIOL as DOCUMENT, le_priol as thesis};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] = &[structure::EXPERIMENT];
