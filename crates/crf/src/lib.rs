//! Linear-chain conditional random fields with certified training.
#![forbid(unsafe_code)]

mod builder;
mod dataset;
mod error;
mod estimator;
mod finite_sum;
mod instance;
mod layout;
mod lbfgs;
mod model;
mod objective;
mod oeg;
mod problem;
mod radius;
mod sag;
mod scheme;
mod sdca;
pub mod synthetic;
mod tagger;
pub mod text;
mod vocabulary;
mod weights;

pub use builder::{Corpus, CorpusBuilder};
pub use dataset::{Dataset, Sequence, Token};
pub use error::Error;
pub use estimator::{Crf, Method};
pub use finite_sum::CrfFiniteSum;
pub use instance::Instance;
pub use lbfgs::{Likelihood, lbfgs, owlqn};
pub use model::CrfModel;
pub use oeg::{Oeg, OegSettings, oeg};
pub use problem::{Features, Problem, Support};
pub use radius::{radius_heuristic, radius_upper};
pub use sag::{Sag, SagSampling, SagSettings, sag};
pub use scheme::LabelScheme;
pub use sdca::{
    DualState, Init, NewtonStart, Sampling, Sdca, SdcaSettings, SdcaStep, memory, sdca,
};
pub use tagger::Tagger;
pub use vocabulary::Vocabulary;
pub use weights::Weights;

// What a caller of this crate needs of its floor.
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::{Progress, Report, Status, Stop};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
