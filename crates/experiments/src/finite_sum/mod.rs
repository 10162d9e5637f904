//! The experiments of A. Defazio, PhD thesis 2014, chapters 1 to 5, on incremental gradient methods.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `fs-ex1` | Figure 3.1 | classification in the big-data regime |
//! | `fs-ex2` | Figure 3.2 | regression in the big-data regime |
//! | `fs-ex3` | Figure 4.1 | all methods with l2, steps tuned |
//! | `fs-ex4` | Figure 4.2 | methods with l1, no strong convexity |
//! | `fs-ex5` | Table 5.1 | access orders |
//! | `fs-ex6` | Theorem 5.1 | the lower bound and its worst case |
//! | `fs-ex7` | Figure 1.1 | early and late stages: SGD, L-BFGS, SAGA |
//! | `fs-ex8` | Section 2.3.3 | accelerated SDCA, and what a wrong constant costs it |

mod acceleration;
mod classification;
mod early_late;
mod lower_bound;
mod methods;
mod orders;
mod regression;
mod rotating;
pub(crate) mod sets;
mod sparse;
mod tasks;
mod tuned;

use crate::Experiment;
use crate::documents::{DEFAZIO as DOCUMENT, defazio as thesis};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] = &[
    classification::EXPERIMENT,
    regression::EXPERIMENT,
    tuned::EXPERIMENT,
    sparse::EXPERIMENT,
    orders::EXPERIMENT,
    lower_bound::EXPERIMENT,
    early_late::EXPERIMENT,
    acceleration::EXPERIMENT,
];
