//! The experiments of D. Babichev, PhD thesis 2019, chapter 4, on multiclass learning as a saddle-point problem, with
//! a method whose steps take sublinear time.
//!
//! | id | figure or table | what |
//! |---|---|---|
//! | `sa-runtime` | Table 4.2 | work of a step against the size |
//! | `sa-race` | Figure 4-2 | the sublinear method, subgradients and mirror prox, with steps of the theory and longer ones |

mod identity;
mod rivals;
mod runtime;

use crate::Experiment;
use crate::documents::{BABICHEV as DOCUMENT, babichev as thesis};

/// The experiments in the order of the thesis.
pub(crate) const ALL: &[Experiment] = &[runtime::EXPERIMENT, rivals::EXPERIMENT];
