//! Learning sparse discrete Markov random fields.
//!
//! ```math
//! \min_\theta \; -\frac{1}{n} \sum_{i=1}^n \log P_\theta(x_i) + \sum_c s_c |\theta_c|, \qquad P_\theta(x) \propto \exp(\theta \cdot \psi(x))
//! ```
//!
//! In the binary case, `psi` are the variables and their pair products. Otherwise, `psi` are the indicators of the states
//! of each variable and of each pair of variables ([`Coordinates`]). The README of the crate says which method to use when.
#![forbid(unsafe_code)]

pub mod bounds;
mod conditional;
mod data;
mod error;
mod exact;
pub mod layout;
pub mod metrics;
mod model;
mod oracle;
mod penalty;
#[cfg(feature = "plot")]
mod plot;
pub mod potts;
pub mod selection;
pub mod spg;
pub mod synthetic;

pub use conditional::{
    EdgeWeight, InteractionScreening, NodewiseLogistic, PseudoLikelihood, Regression, Rule,
    ScreeningObjective,
};
pub use data::{BinaryEntry, Data, MissingPolicy};
pub use error::Error;
pub use exact::ExactMle;
pub use fenchel_optim::Fit;
pub use layout::{Coordinates, Layout};
pub use model::NetworkModel;
pub use oracle::{Backend, Enumeration, Oracle, TreeOracle};
pub use penalty::{Penalty, Strengths};
#[cfg(feature = "plot")]
pub use plot::contact_map;
pub use selection::Learner;
pub use spg::{
    AdaptiveChains, Averaging, ChainStart, InitialParameters, NonAsymptotic, Schedule, Spg, Tay,
    Tracking, Uncertified, Warning,
};

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
