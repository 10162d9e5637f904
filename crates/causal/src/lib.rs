//! Causal graphs, identification with checked estimands, and how fast cause-effect models adapt.
#![forbid(unsafe_code)]

pub mod adjustment;
pub mod admg;
pub mod calculus;
pub mod distance;
pub mod equivalence;
mod error;
pub mod estimand;
pub mod identify;
pub mod latent;
mod node_set;
pub mod table;

pub use admg::{Admg, Query};
pub use error::Error;
pub use estimand::{Estimand, Expr};
pub use identify::{Hedge, Witness, identify};
pub use latent::LatentModel;
pub use node_set::NodeSet;
pub use table::ProbabilityTable;
