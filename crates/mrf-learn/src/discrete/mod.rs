//! Networks of variables with any number of states (k-state Potts models), by penalised maximum likelihood.
//!
//! ```text
//! P(x) ~ exp( sum_i h_i(x_i) + sum_{i<j} J_ij(x_i, x_j) ),    x_i in {0, ..., k_i - 1}
//! min_{h, J}  -mean over the data of log P(x) + lambda ( u sum_i ||h_i||_1 + sum_{i<j} ||J_ij|| )
//! ```
//!
//! The statistics are the indicators of every state and of every pair of states. `||J_ij||` is the Frobenius norm of a table, which makes
//! whole tables vanish ([`TableNorm::Group`]), or the sum of its absolute values ([`TableNorm::Entries`]).
//!
//! | you have | use | what is proved |
//! |---|---|---|
//! | some million states in all, or a graph of small tree width | [`DiscreteMle`] | a duality gap |
//! | more | [`DiscreteSpg`] | a bound of the gradient's error, from the influence bound of tables |
//! | aligned sequences, hundreds of columns | [`potts`](crate::potts) | a duality gap of the pseudo-likelihood |
//!
//! The parameters are not unique: a constant can move from a table into a field. With free fields the Frobenius norm chooses the
//! zero-sum gauge by itself, since that is the smallest of the tables that describe the same distribution. Two-state variables are better served by
//! [`Spg`](crate::Spg), which keeps a bit a variable.

mod data;
mod enumeration;
mod exact;
mod layout;
mod model;
mod oracle;
mod penalty;
mod sampler;
mod spg;

pub use data::DiscreteData;
pub use enumeration::DiscreteEnumeration;
pub use exact::DiscreteMle;
pub use layout::Layout;
pub use model::DiscreteModel;
pub use penalty::{DiscretePenalty, TableNorm, TableStrengths};
pub use sampler::DiscreteSampler;
pub use spg::DiscreteSpg;
