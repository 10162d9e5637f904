//! SAG, SAGA and SVRG: one kernel.
//!
//! The three methods move along a gradient of one term, corrected by a remembered one
//! (Defazio's thesis, equations 4.4 and 4.5):
//!
//! ```text
//! t = a_j.x + b;   g = phi'(t; y_j);   delta = g - s_j
//! x <- prox( (1 - step l2) x - step (w delta a_j + gbar), step )
//! ```
//!
//! | method | `s_j` | `gbar` | `w` |
//! |---|---|---|---|
//! | [`saga`] | derivative when `j` was last visited | mean of `s_i a_i`, kept up to date | 1 (unbiased) |
//! | [`sag`] | the same | the same | 1/n (biased, less variance) |
//! | [`svrg`] | derivative at the last snapshot | full gradient at the snapshot | 1 |
//!
//! The term `l2` is explicit (thesis, section 4.4 item 4); one number a term is stored (item 1); on
//! sparse data a step costs O(nnz of the row), the rest is caught up with later ([`lag`](crate::methods::lag)). A regulariser that ties
//! the weights together (groups, balls, total variation) takes a proximal step on all of them, O(d) a step.

mod kernel;
mod mean;
mod sag;
mod saga;
mod search;
mod sgd;
mod state;
mod svrg;
mod table_method;

pub use sag::{Sag, SagSettings, sag};
pub(crate) use saga::saga_step;
pub use saga::{Saga, SagaSettings, SagaTheory, saga};
pub use sgd::{Sgd, SgdSettings, sgd};
pub use state::IncrementalState;
pub(crate) use svrg::round_length;
pub use svrg::{Snapshot, Svrg, SvrgSettings, svrg};
pub use table_method::{TableMethod, TableStart, TableState};
