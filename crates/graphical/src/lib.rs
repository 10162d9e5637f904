//! Discrete graphical models: exact and approximate inference.
//!
//! ```text
//! P(x) = exp(sum_f log psi_f(x_f)) / Z,   x_v in {0, ..., card(v) - 1}
//! ```
//!
//! A model is a [`FactorGraph`]: variables [`VarId`] with numbers of states, factors [`Table`] in logs. What is observed is
//! an [`Evidence`].
#![forbid(unsafe_code)]

pub mod bayes_net;
pub mod bif;
pub mod binary;
pub mod chain;
pub mod dag;
mod error;
mod evidence;
mod factor_graph;
pub mod graph;
mod stride;
mod table;
mod text;
mod variable;

pub use bayes_net::{BayesNet, BayesNetBuilder};
pub use binary::{BinaryGibbs, BinaryPairwise, BinaryScan, BinaryStart};
pub use dag::{Cpdag, Dag};
pub use error::Error;
pub use evidence::{Evidence, Finding};
pub use factor_graph::FactorGraph;
pub use graph::{Graph, Labels};
pub use table::{TABLE_BYTES, Table};
pub use variable::{FactorId, VarId};
