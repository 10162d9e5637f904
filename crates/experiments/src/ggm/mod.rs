//! The experiments of chapters 8 and 9 of Defazio's thesis, on Gaussian graphical models.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `gg-34` | Figure 8.2 | how many products SHORTCUT's maximum looks at |
//! | `gg-36` | Figure 8.3 | edges found against false ones, seven methods |
//! | `gg-53` | Table 9.1 | films: item fields beside other recommenders |
//! | `gg-54` | Figure 9.1 | films: test error against iterations |

mod films;
mod iterations;
mod products;
mod roc;

use crate::documents::DEFAZIO as DOCUMENT;
use crate::{Experiment, Source};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] =
    &[products::EXPERIMENT, roc::EXPERIMENT, films::EXPERIMENT, iterations::EXPERIMENT];

/// A sentence of the thesis.
const fn thesis(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(DOCUMENT, section, quote)
}
