//! Discrete graphical models: exact and approximate inference.
//!
//! ```text
//! P(x) = exp(sum_f log psi_f(x_f)) / Z,   x_v in {0, ..., card(v) - 1}
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
//! | models too large for a tree | [`bp`], [`mean_field`](mod@mean_field), [`gibbs`], [`binary`], [`ais`](mod@ais) |
//! | number of sweeps of a sampler | [`influence`], [`diagnostics`] |
//!
//! The README of the crate has a longer table.
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
mod stride;
pub mod structure;
pub mod table;
mod text;
pub mod uai;
mod variable;
mod variable_elimination;

pub use ais::{AisEstimate, AisSettings, Ladder, ais, ais_binary};
pub use bayes_net::{
    Answer, BayesNet, BayesNetBuilder, Em, EmFit, Explanation, Findings, MISSING, Prior, Score,
    WeightedSample,
};
pub use binary::{BinaryGibbs, BinaryPairwise, BinaryStart};
pub use bp::{
    BeliefPropagationSettings, Beliefs, EdgeAppearance, MaxBeliefs, Propagation, Schedule,
    TreeReweightedSettings, belief_propagation, max_product, moment_matching, tree_reweighted,
};
pub use dag::{Cpdag, Dag};
pub use elimination::{EliminationReport, Heuristic, OrderingOptions};
pub use error::Error;
pub use evidence::{Evidence, Finding};
pub use factor_graph::FactorGraph;
pub use gibbs::{Gibbs, GibbsSettings, Scan};
pub use graph::{Graph, Labels};
pub use influence::Influence;
pub use junction_tree::{
    Calibrated, CliqueMarginals, Domain, JunctionTree, MaxCalibrated, Posteriors, Ranking,
    TreeCache, Workspace,
};
pub use log_linear::LogLinear;
pub use mean_field::{MeanField, MeanFieldSettings, MeanFieldState, mean_field};
pub use structure::{ExactSearch, HillClimbing, IndependenceTest, LearnedDag, Pc, chow_liu, shd};
pub use table::Table;
pub use variable::{FactorId, VarId};
pub use variable_elimination::variable_elimination;

// What a caller of this crate needs of its floor.
pub use fenchel_optim::random::Order;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
