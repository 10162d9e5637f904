//! Discrete graphical models: exact and approximate inference.
//!
//! ```math
//! P(x) = \frac{1}{Z} \exp \sum_f \log \psi_f(x_f), \qquad x_v \in \{0, \dots, \mathrm{card}(v) - 1\}
//! ```
//!
//! A model is a [`FactorGraph`]: variables [`VarId`] with their numbers of states, and factors, which are [`Table`]s of
//! logarithms. Observations are an [`Evidence`]. The modules answer these questions:
//!
//! | question | use |
//! |---|---|
//! | all marginals, log Z, maxima, draws; one structure and many sets of evidence | [`JunctionTree`], compiled once |
//! | a single posterior | [`variable_elimination`](fn@variable_elimination) |
//! | the cost of exact inference | [`elimination`] |
//! | chains, with labels or for training | [`chain`] |
//! | tables of conditional probabilities | [`BayesNet`] |
//! | graphs from data | [`structure`] |
//! | parameters shared by several factors | [`LogLinear`] |
//! | models too large for a tree | [`bp`], [`mean_field`], [`gibbs`], [`binary`], [`ais`] |
//! | number of sweeps of a sampler | [`influence`], [`diagnostics`] |
//!
//! `docs/sources/graphical.md` says which section of which document is where.
#![forbid(unsafe_code)]

pub mod ais;
pub mod bayes_net;
pub mod bif;
pub mod binary;
pub mod bp;
pub mod chain;
mod columns;
pub mod dag;
pub mod diagnostics;
pub mod elimination;
mod error;
mod evidence;
mod factor_graph;
mod files;
pub mod gibbs;
pub mod graph;
pub mod influence;
pub mod junction_tree;
mod log_linear;
pub mod mean_field;
pub mod networks;
#[cfg(feature = "plot")]
mod plot;
mod stride;
pub mod structure;
pub mod table;
mod text;
pub mod uai;
mod variable;
mod variable_elimination;

pub use bayes_net::{BayesNet, MISSING, Prior, StructureScore};
pub use binary::BinaryPairwise;
pub use dag::{Cpdag, Dag};
pub use elimination::{Heuristic, OrderingOptions};
pub use error::Error;
pub use evidence::{Evidence, Finding};
pub use factor_graph::FactorGraph;
pub use fenchel_optim::Fit;
pub use graph::Graph;
pub use influence::Influence;
pub use junction_tree::JunctionTree;
pub use log_linear::LogLinear;
pub use table::Table;
pub use variable::{FactorId, VarId};
pub use variable_elimination::variable_elimination;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
