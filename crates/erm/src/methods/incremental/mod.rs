//! SAG, SAGA and SVRG, with one common step.
//!
//! The three methods move along the gradient of one term, corrected by a stored gradient of the same term and by an
//! average (A. Defazio, PhD thesis 2014, equations 4.4 and 4.5):
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
//! Here `s_j` is the stored derivative of term `j`, `gbar` the averaged gradient, and `w` the weight of the
//! correction. As in section 4.4 of the thesis, the `l2` term is separate from the terms (item 4), and one number per
//! term is stored (item 1). On sparse data a step costs O(nnz of the row), because the other coordinates are updated
//! later ([`lag`](crate::methods::lag)). With a regulariser that is not separable (groups, balls, total variation),
//! each step includes a proximal step on all weights, which costs O(d).

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
pub use saga::saga_step;
pub use saga::{Saga, SagaSettings, SagaTheory, saga};
pub use sgd::{Sgd, SgdSettings, sgd};
pub use state::IncrementalState;
pub use svrg::round_length;
pub use svrg::{Snapshot, Svrg, SvrgSettings, svrg};
pub use table_method::{TableMethod, TableStart, TableState};
