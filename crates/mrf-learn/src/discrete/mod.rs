//! Networks of variables with any number of states (k-state Potts models), by penalised maximum likelihood.
//!
//! ```text
//! P(x) ~ exp( sum_i h_i(x_i) + sum_{i<j} J_ij(x_i, x_j) ),    x_i in {0, ..., k_i - 1}
//! min_{h, J}  -mean over the data of log P(x) + lambda ( u sum_i ||h_i||_1 + sum_{i<j} ||J_ij|| )
//! ```
//!
//! The statistics are the indicators of every state and of every pair of states. With [`TableNorm::Group`], `||J_ij||`
//! is the Frobenius norm of a table; it sets whole tables to zero. With [`TableNorm::Entries`], it is the sum of the
//! absolute values.
//!
//! | you have | use | what is proved |
//! |---|---|---|
//! | some million joint states, or a graph of small tree width | [`DiscreteMle`] | a duality gap |
//! | more | [`DiscreteSpg`] | a bound of the gradient's error, from the influence bound of tables |
//! | aligned sequences, hundreds of columns | [`potts`](crate::potts) | a duality gap of the pseudo-likelihood |
//!
//! The parameters are not unique, because a constant can be moved from a table into a field. With unpenalised fields,
//! the Frobenius penalty selects the zero-sum gauge: among the tables that describe the same distribution, it has the
//! smallest norm. If all variables have two states, use [`Spg`](crate::Spg), which needs only one bit per variable.

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
pub use spg::{DiscreteSpg, spg_discrete};
