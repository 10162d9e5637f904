//! The experiments of A. Defazio, PhD thesis 2014, chapters 7 to 9, on Gaussian graphical models.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `gg-27` | Figure 7.1 | scale-free graphs: edges found against false ones |
//! | `gg-28` | Figure 7.2 | hubs and clusters of a network of genes |
//! | `gg-29` | Figure 7.3 | three methods for a proximal operator |
//! | `gg-30` | section 7.5.4 | the cost of three penalties |
//! | `gg-33` | Figure 8.1 | how the work of SHORTCUT grows |
//! | `gg-34` | Figure 8.2 | how many products SHORTCUT's maximum looks at |
//! | `gg-36` | Figure 8.3 | edges found against false ones, seven methods |
//! | `gg-36b` | Figure 8.4 | the same on Erdos-Renyi graphs |
//! | `gg-37` | Figure 8.5 | shares: held-out likelihood after a refit |
//! | `gg-38` | Figure 8.6 | temperatures: the same |
//! | `gg-53` | Table 9.1 | films: item fields beside other recommenders |
//! | `gg-54` | Figure 9.1 | films: test error against iterations |

mod costs;
mod films;
mod graphs;
mod held_out;
mod hubs;
mod iterations;
mod products;
mod prox;
mod roc;
mod scale_free;
mod selection;
mod shortcut;

use crate::Experiment;
use crate::documents::{DEFAZIO as DOCUMENT, defazio as thesis};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] = &[
    graphs::EXPERIMENT,
    hubs::EXPERIMENT,
    prox::EXPERIMENT,
    costs::EXPERIMENT,
    shortcut::EXPERIMENT,
    products::EXPERIMENT,
    roc::PREFERENTIAL,
    roc::RANDOM,
    held_out::STOCKS,
    held_out::CLIMATE,
    films::EXPERIMENT,
    iterations::EXPERIMENT,
];
