//! An experiment about R. Le Priol, PhD thesis 2021, section 2.3.2, on probabilistic graphical models.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `gr-sl` | section 2.3.2 | structure learning: graphs of two known networks from their samples |

mod structure;

use crate::documents::LE_PRIOL as DOCUMENT;
use crate::{Experiment, Source};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] = &[structure::EXPERIMENT];

/// A sentence of the thesis.
const fn thesis(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(DOCUMENT, section, quote)
}
